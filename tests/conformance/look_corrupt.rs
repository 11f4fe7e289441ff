//! Rows that cannot be understood: they are named, and the list goes on.
//!
//! Each case ends with a ledger whose owner switched the rules off. Next: `audit.rs`, what the laws
//! say of such a ledger.

#![expect(clippy::panic, reason = "what a case does not find fails it")]

use ledgertop::ledger::query::Query;
use ledgertop::ledger::view::{JobName, JobOrder};
use ledgertop::store::StoreError;

use crate::audit::tamper;
use crate::ledger::Ledger;
use crate::steps::*;

pub(crate) async fn a_row_that_cannot_be_understood_is_named_and_the_list_goes_on(ledger: &Ledger) {
    let batch: Vec<_> = (0..5).map(|number| job(&format!("k{number}"))).collect();
    enqueue(ledger, &batch).await;
    let bad = batch[2].id;
    tamper(
        ledger,
        &format!("UPDATE jobs SET state = 'fini\u{1b}shed' WHERE id = '{bad}'"),
    )
    .await;
    let mut look = ledger.url().look();
    for order in [
        JobOrder::OldestFirst,
        JobOrder::NewestFirst,
        JobOrder::CreatedLast,
    ] {
        let (mut read, mut unreadable) = (0, Vec::new());
        let mut after = None;
        loop {
            let page = look.jobs(&Query::default(), order, after.as_ref(), 1).await;
            let Ok(page) = page else { panic!("{page:?}") };
            read += page.jobs.len();
            unreadable.extend(page.unreadable);
            let Some(next) = page.next else { break };
            after = Some(next);
        }
        assert_eq!(read, 4, "{order:?}");
        let [row] = unreadable.as_slice() else {
            panic!("{unreadable:?}")
        };
        assert_eq!(row.job.as_str(), bad.to_string());
        assert_eq!((row.column, row.value.as_str()), ("state", "fini␛shed"));
    }
    let story = look.story(&JobName::Id(bad)).await;
    assert!(
        matches!(story, Err(StoreError::Corrupt { .. })),
        "{story:?}"
    );
    let other = look.story(&JobName::Id(batch[1].id)).await;
    assert!(matches!(other, Ok(Some(_))), "{other:?}");
}

pub(crate) async fn an_event_that_cannot_be_understood_is_told_among_the_others(ledger: &Ledger) {
    let id = enqueue_one(ledger, "k").await;
    let claimed = claim_one(ledger).await;
    settle(ledger, &claimed, succeed()).await;
    let change =
        format!("UPDATE job_events SET event = 'begun' WHERE job_id = '{id}' AND version = 2");
    tamper(ledger, &change).await;
    let mut look = ledger.url().look();
    let story = look.story(&JobName::Id(id)).await;
    let Ok(Some(story)) = story else {
        panic!("{story:?}")
    };
    let read: Vec<bool> = story.events.iter().map(Result::is_ok).collect();
    assert_eq!(read, [true, false, true]);
}

//! What a console reads: a base, then exactly the events since.
//!
//! The same under concurrent writers with long and rolled-back transactions is in
//! `tests/feed_postgres.rs`.

#![expect(clippy::expect_used, reason = "what a case does not find fails it")]

use std::collections::BTreeMap;
use std::time::Duration;

use ledgertop::board::Board;
use ledgertop::ledger::event::EventKind;
use ledgertop::ledger::feed::{Base, Cell};
use ledgertop::ledger::job::{Operation, Verdict};
use ledgertop::ledger::state::State;
use ledgertop::ledger::text::SafeText;
use ledgertop::store::Feed;

use crate::ledger::Ledger;
use crate::steps::*;

/// The cells of a base, sorted and merged.
fn cells(base: &Base) -> Vec<Cell> {
    let mut counts: BTreeMap<Cell, u64> = BTreeMap::new();
    for cell in &base.cells {
        let place = Cell {
            count: 0,
            ..cell.clone()
        };
        *counts.entry(place).or_default() += cell.count;
    }
    counts
        .into_iter()
        .map(|(place, count)| Cell { count, ..place })
        .collect()
}

/// Reads the feed to its end into the board.
async fn catch_up(feed: &mut dyn Feed, board: &mut Board) -> usize {
    let mut read = 0;
    loop {
        let batch = feed.next().await.expect("the feed goes on");
        read += batch.events.len();
        batch.events.iter().for_each(|event| board.apply(event));
        if !batch.more {
            return read;
        }
    }
}

async fn some_of_everything(ledger: &Ledger) {
    for state in State::ALL {
        job_in(ledger, state).await;
        job_in(ledger, state).await;
    }
}

pub(crate) async fn a_base_counts_every_live_job_once(ledger: &Ledger) {
    one_attempt(ledger).await;
    some_of_everything(ledger).await;
    let base = ledger.feed().base().await.expect("a base");
    for state in State::ALL {
        let counted: u64 = base
            .cells
            .iter()
            .filter(|cell| cell.state == state)
            .map(|cell| cell.count)
            .sum();
        assert_eq!(counted, if state.is_terminal() { 0 } else { 2 }, "{state}");
    }
    let clock = ledger.now_ms().await;
    assert!((clock - 60_000..=clock).contains(&base.as_of.millis()));
    assert!(base.recent_since <= base.as_of);
    let stored = ledger
        .value("SELECT CAST(count(*) AS text) FROM job_events")
        .await;
    assert_eq!(base.recent.len().to_string(), stored, "all of it is recent");
    assert!(base.recent.is_sorted_by_key(|event| event.at));
}

pub(crate) async fn a_board_fed_by_events_equals_a_recount(ledger: &Ledger) {
    one_attempt(ledger).await;
    some_of_everything(ledger).await;
    let mut feed = ledger.feed();
    let mut board = Board::load(&feed.base().await.expect("a base"));
    assert_eq!(
        catch_up(feed.as_mut(), &mut board).await,
        0,
        "nothing happened since"
    );

    some_of_everything(ledger).await;
    let dead = job_in(ledger, State::Dead).await;
    operate(ledger, dead, Operation::Redrive).await;
    let waiting = job_in(ledger, State::RetryWait).await;
    operate(ledger, waiting, Operation::Promote).await;
    let running = job_in(ledger, State::Running).await;
    operate(ledger, running, Operation::Revoke).await;
    enqueue_one(ledger, "a").await;
    let held = claim_for(ledger.store().await, WORKER, 1, Duration::ZERO).await;
    let store = ledger.store().await;
    store
        .renew(WORKER, &[lease_of(&held[0])], Duration::ZERO)
        .await
        .expect("renewed");
    sweep(ledger).await;
    let held = claim_one(ledger).await;
    settle(ledger, &held, Verdict::Release).await;
    let read = catch_up(feed.as_mut(), &mut board).await;
    assert!(read > 20, "{read} events");

    let recount = ledger.feed().base().await.expect("a recount");
    assert_eq!(board.cells(), cells(&recount));
    assert_eq!(board.mismatches(), 0);
}

pub(crate) async fn every_event_comes_once_and_a_jobs_own_in_order(ledger: &Ledger) {
    one_attempt(ledger).await;
    let mut feed = ledger.feed();
    feed.base().await.expect("a base");
    let mut seen: BTreeMap<uuid::Uuid, u32> = BTreeMap::new();
    let mut count = 0;
    for _round in 0..3 {
        some_of_everything(ledger).await;
        loop {
            let batch = feed.next().await.expect("events");
            for event in &batch.events {
                let last = seen.insert(event.job, event.version).unwrap_or(0);
                assert_eq!(event.version, last + 1, "{} of {}", event.kind, event.job);
                count += 1;
            }
            if !batch.more {
                break;
            }
        }
    }
    let stored = ledger
        .value("SELECT CAST(count(*) AS text) FROM job_events")
        .await;
    assert_eq!(count.to_string(), stored);
}

pub(crate) async fn an_event_carries_all_that_a_fold_needs(ledger: &Ledger) {
    let mut feed = ledger.feed();
    feed.base().await.expect("a base");
    let id = enqueue_one(ledger, "a").await;
    let claimed = claim_one(ledger).await;
    settle(ledger, &claimed, retry(Duration::from_secs(60))).await;
    let events = feed.next().await.expect("events").events;
    let kinds: Vec<EventKind> = events.iter().map(|event| event.kind).collect();
    assert_eq!(
        kinds,
        [EventKind::Enqueue, EventKind::Claim, EventKind::Retry]
    );
    let failed = &events[2];
    assert_eq!((failed.job, failed.version, failed.attempt), (id, 3, 1));
    assert_eq!(
        (failed.from, failed.to),
        (Some(State::Running), State::RetryWait)
    );
    assert_eq!(failed.from_since, Some(events[1].at));
    assert_eq!(failed.queue.as_str(), QUEUE);
    assert_eq!(failed.worker.as_ref().map(SafeText::as_str), Some(WORKER));
    assert_eq!(
        failed.failure.reason.as_ref().map(SafeText::as_str),
        Some("timeout")
    );
    assert_eq!(
        failed.available_at,
        Some(failed.at.plus(Duration::from_secs(60)))
    );
    assert_eq!(failed.lease_expires_at, Some(claimed.lease_expires_at));
    assert_eq!(failed.first_attempt_at, Some(claimed.first_attempt_at));
}

pub(crate) async fn hostile_text_is_safe_before_it_reaches_a_screen(ledger: &Ledger) {
    let mut feed = ledger.feed();
    feed.base().await.expect("a base");
    let mut new = job("key \u{1b}]0;owned\u{7}");
    "queue \u{202e}evil".clone_into(&mut new.queue);
    let id = enqueue_as(ledger, new).await;
    let events = feed.next().await.expect("events").events;
    assert_eq!(events[0].queue.as_str(), "queue <U+202E>evil");
    assert_eq!(
        read(ledger, id).await.idempotency_key.as_str(),
        "key ␛]0;owned␇"
    );
    let base = ledger.feed().base().await.expect("a base");
    assert_eq!(base.cells[0].queue.as_str(), "queue <U+202E>evil");
}

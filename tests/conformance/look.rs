//! Looking up: lists by every test of the filter language, in every order, page by page; one job's
//! story; leases; dead letters in groups; what operators did.
//!
//! Next: `look/oracle.rs`, the same language naively.

#![expect(clippy::panic, reason = "what a case does not find fails it")]

use std::collections::BTreeSet;
use std::time::Duration;

use ledgertop::ledger::error_class::ErrorClass;
use ledgertop::ledger::query::{Comparison, Query, Term, Test};
use ledgertop::ledger::state::State;
use ledgertop::ledger::view::{Count, JobCursor, JobOrder, ListedJob};
use ledgertop::store::look::{Look, Reach};

use crate::ledger::Ledger;
use crate::steps::*;

#[path = "look/oracle.rs"]
mod oracle;

use oracle::{begins, chosen, is, must, not, query, sample};

const ORDERS: [JobOrder; 3] = [
    JobOrder::OldestFirst,
    JobOrder::NewestFirst,
    JobOrder::CreatedLast,
];

/// All jobs for which the query holds, read in pages of that size.
async fn listed(look: &mut dyn Look, query: &Query, order: JobOrder, page: u32) -> Vec<ListedJob> {
    let mut jobs = Vec::new();
    let mut after: Option<JobCursor> = None;
    loop {
        let page = look
            .jobs(query, order, after.as_ref(), page)
            .await
            .unwrap_or_else(|error| panic!("{query:?}: {error}"));
        assert_eq!(page.unreadable, []);
        jobs.extend(page.jobs);
        let Some(next) = page.next else { return jobs };
        assert_ne!(Some(&next), after.as_ref(), "the same page again");
        after = Some(next);
    }
}

fn keys(jobs: &[ListedJob]) -> BTreeSet<String> {
    jobs.iter()
        .map(|job| job.row.idempotency_key.as_str().to_owned())
        .collect()
}

/// Queries of several tests.
fn several() -> [Vec<Term>; 9] {
    use Comparison::{AtLeast, Equal, Less};
    [
        vec![must(Test::Queue(is("mail"))), must(Test::Queue(is("sms")))],
        vec![not(Test::Queue(is("mail"))), not(Test::Queue(is("sms")))],
        vec![
            must(Test::Queue(begins("mail"))),
            not(Test::Queue(is("mail"))),
        ],
        vec![
            must(Test::State(State::Dead)),
            must(Test::State(State::Quarantined)),
            must(Test::State(State::RetryWait)),
            not(Test::Class(ErrorClass::Permanent)),
        ],
        vec![
            must(Test::State(State::Ready)),
            not(Test::State(State::Ready)),
        ],
        vec![
            must(Test::Attempts(AtLeast, 1)),
            must(Test::Attempts(Less, 2)),
        ],
        vec![
            must(Test::Attempts(Equal, 0)),
            must(Test::Attempts(Equal, 1)),
        ],
        vec![
            must(Test::Error("field".to_owned())),
            must(Test::Error("still".to_owned())),
        ],
        vec![
            must(Test::Queue(is("bills"))),
            must(Test::Tenant(is("t7"))),
            must(Test::Key(begins("b"))),
            not(Test::Worker(is("w1"))),
        ],
    ]
}

/// Queries that ask about everything that a list shows.
fn queries(all: &[ListedJob]) -> Vec<Query> {
    use Comparison::{AtLeast, AtMost, Equal, Less, More};
    let middle = &all[all.len() / 2].row;
    let mut tests = vec![
        Test::Id(middle.id),
        Test::Key(is("t7:invoice_184:collect")),
        Test::Key(begins("t7:")),
        Test::Key(begins("100%_\\*'")),
        Test::Key(is("100%_\\*'\"; DROP TABLE jobs")),
        Test::Key(is("nobody\0")),
        Test::Queue(is("mail")),
        Test::Queue(begins("mail")),
        Test::Queue(begins("ma_l")),
        Test::Queue(begins("")),
        Test::Kind(is("send")),
        Test::Tenant(is("t7")),
        Test::Tenant(is("")),
        Test::Tenant(begins("t7")),
        Test::Reason(is("timeout")),
        Test::Reason(begins("s")),
        Test::Worker(begins("w3")),
        Test::Worker(is("w30")),
        Test::Policy(is(ONCE)),
        Test::Attempts(AtLeast, 1),
        Test::Attempts(Equal, 0),
        Test::Attempts(Less, 1),
        Test::Redrives(More, 0),
        Test::Unsettled(AtLeast, 1),
        Test::Unsettled(AtMost, 0),
        Test::Since(middle.state_since),
        Test::Until(middle.state_since),
        Test::Error("missing".to_owned()),
        Test::Error("100% OF".to_owned()),
        Test::Error(String::new()),
    ];
    tests.extend(State::ALL.map(Test::State));
    tests.extend(ErrorClass::ALL.map(Test::Class));
    let mut queries = vec![query(Vec::new())];
    for test in &tests {
        queries.push(query(vec![must(test.clone())]));
        queries.push(query(vec![not(test.clone())]));
        for state in [State::Ready, State::Quarantined, State::Pending] {
            queries.push(query(vec![must(Test::State(state)), must(test.clone())]));
        }
    }
    queries.extend(several().map(query));
    queries
}

pub(crate) async fn every_test_of_the_language_finds_what_it_says(ledger: &Ledger) {
    sample(ledger).await;
    let mut look = ledger.url().look();
    let all = listed(&mut *look, &Query::default(), JobOrder::CreatedLast, 500).await;
    assert!(all.len() > 20, "{}", all.len());
    for query in queries(&all) {
        let expected = chosen(&query, &all);
        for order in ORDERS {
            let found = listed(&mut *look, &query, order, 3).await;
            assert_eq!(keys(&found), expected, "{query:?} {order:?}");
            assert_eq!(found.len(), expected.len(), "{query:?}: a job twice");
        }
        let many = u64::try_from(expected.len()).unwrap_or(u64::MAX);
        let count = look
            .count(&query, 1_000)
            .await
            .unwrap_or_else(|error| panic!("{query:?}: {error}"));
        assert_eq!(count, Count::Exact(many), "{query:?}");
        let reach = look.reach(&query, JobOrder::OldestFirst).await;
        assert_eq!(reach.ok(), Some(Reach::Indexed), "a ledger this small");
    }
    let few = look.count(&Query::default(), 3).await;
    assert_eq!(few.ok(), Some(Count::AtLeast(3)));
}

pub(crate) async fn ages_parents_and_children_are_asked_of_the_database(ledger: &Ledger) {
    sample(ledger).await;
    let mut look = ledger.url().look();
    let all = listed(&mut *look, &Query::default(), JobOrder::OldestFirst, 500).await;
    let hour = Duration::from_secs(3_600);
    for (comparison, found) in [
        (Comparison::Less, all.len()),
        (Comparison::AtMost, all.len()),
        (Comparison::Equal, 0),
        (Comparison::AtLeast, 0),
        (Comparison::More, 0),
    ] {
        let asked = query(vec![must(Test::Age(comparison, hour))]);
        let jobs = listed(&mut *look, &asked, JobOrder::OldestFirst, 10).await;
        assert_eq!(jobs.len(), found, "{comparison:?}");
    }
    // The age of the middle one: it and all before it are that old, and those much later are not.
    let middle = all[all.len() / 2].row.state_since;
    let age = look
        .jobs(&Query::default(), JobOrder::OldestFirst, None, 1)
        .await;
    let age = age.map(|page| page.as_of.since(middle)).unwrap_or_default();
    let old = query(vec![must(Test::Age(
        Comparison::AtLeast,
        age.saturating_sub(MS),
    ))]);
    let old = keys(&listed(&mut *look, &old, JobOrder::OldestFirst, 10).await);
    for job in &all {
        if job.row.state_since <= middle {
            assert!(old.contains(job.row.idempotency_key.as_str()));
        }
    }
    let children = query(vec![must(Test::Parent(is("family")))]);
    let children = listed(&mut *look, &children, JobOrder::OldestFirst, 10).await;
    assert_eq!(keys(&children), names(&["family:1", "family:2"]));
    let orphans = query(vec![not(Test::Parent(begins("fam")))]);
    let orphans = listed(&mut *look, &orphans, JobOrder::CreatedLast, 10).await;
    assert_eq!(orphans.len(), all.len() - 2);
}

const MS: Duration = Duration::from_millis(1);

fn names(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

pub(crate) async fn each_order_is_total_and_pages_are_its_pieces(ledger: &Ledger) {
    // One statement gives every job the same moment where the clock allows it: ties.
    let batch: Vec<_> = (0..20).map(|number| job(&format!("k{number}"))).collect();
    enqueue(ledger, &batch).await;
    sample(ledger).await;
    let mut look = ledger.url().look();
    let live = query(vec![
        not(Test::State(State::Succeeded)),
        not(Test::State(State::Discarded)),
    ]);
    for asked in [Query::default(), live] {
        for order in ORDERS {
            let whole = listed(&mut *look, &asked, order, 500).await;
            for page in [1, 2, 7] {
                assert_eq!(listed(&mut *look, &asked, order, page).await, whole);
            }
            let place = |job: &ListedJob| (job.row.state_since, job.row.id);
            let ordered = whole.windows(2).all(|pair| match order {
                JobOrder::OldestFirst => place(&pair[0]) < place(&pair[1]),
                JobOrder::NewestFirst => place(&pair[0]) > place(&pair[1]),
                JobOrder::CreatedLast => pair[0].row.id > pair[1].row.id,
            });
            assert!(ordered, "{order:?}");
        }
    }
}

//! Looking up: lists by every test of the filter language, in every order, page by page; one job's
//! story; leases; dead letters in groups; what operators did.
//!
//! Next: `look/oracle.rs`, the same language naively.

#![expect(clippy::panic, reason = "what a case does not find fails it")]

use std::collections::BTreeSet;
use std::time::Duration;

use ledgertop::ledger::error_class::ErrorClass;
use ledgertop::ledger::job::Operation;
use ledgertop::ledger::query::{Comparison, Query, Term, Test};
use ledgertop::ledger::state::State;
use ledgertop::ledger::view::{ActKind, Count, JobCursor, JobName, JobOrder, JobStory, ListedJob};
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

pub(crate) async fn rows_that_change_between_pages_are_neither_skipped_nor_told_twice(
    ledger: &Ledger,
) {
    let batch: Vec<_> = (0..9).map(|number| job(&format!("k{number}"))).collect();
    enqueue(ledger, &batch).await;
    let mut look = ledger.url().look();
    let ready = query(vec![must(Test::State(State::Ready))]);
    let order = JobOrder::OldestFirst;
    let first = look.jobs(&ready, order, None, 4).await.ok();
    let Some(first) = first else {
        panic!("no page")
    };
    // Two of the page before leave the state, and a job comes: the rest is told as it was.
    claim(ledger.store().await, WORKER, 2).await;
    enqueue_one(ledger, "late").await;
    let mut rest = Vec::new();
    let mut after = first.next;
    while let Some(cursor) = after {
        let page = look.jobs(&ready, order, Some(&cursor), 4).await;
        let Ok(page) = page else { panic!("no page") };
        rest.extend(page.jobs);
        after = page.next;
    }
    let told: Vec<String> = first
        .jobs
        .iter()
        .chain(&rest)
        .map(|job| job.row.idempotency_key.to_string())
        .collect();
    let unique: BTreeSet<&String> = told.iter().collect();
    assert_eq!((told.len(), unique.len()), (10, 10), "{told:?}");
}

async fn story_of(look: &mut dyn Look, name: JobName) -> JobStory {
    match look.story(&name).await {
        Ok(Some(story)) => story,
        other => panic!("{name:?}: {other:?}"),
    }
}

pub(crate) async fn a_story_holds_all_that_happened_to_a_job_and_its_family(ledger: &Ledger) {
    sample(ledger).await;
    let mut look = ledger.url().look();
    let story = story_of(&mut *look, JobName::Key("b1".to_owned())).await;
    let events: Vec<&str> = story
        .events
        .iter()
        .map(|event| match event {
            Ok(entry) => entry.doing.event.name(),
            Err(unreadable) => panic!("{unreadable:?}"),
        })
        .collect();
    let happened = ["enqueue", "claim", "reject", "redrive", "claim", "reject"];
    assert_eq!(events, happened);
    assert_eq!((story.left_out, story.job.row.redrives), (0, 1));
    assert_eq!(
        story.rules.as_ref().map(|rules| rules.max_attempts),
        Some(6)
    );
    assert!(story.first_attempt_at.is_some() && story.parent.is_none());
    let same = story_of(&mut *look, JobName::Id(story.job.row.id)).await;
    assert_eq!((same.events, same.job), (story.events, story.job));
    let family = story_of(&mut *look, JobName::Key("family".to_owned())).await;
    let children: Vec<(&str, bool)> = family
        .children
        .iter()
        .map(|child| (child.idempotency_key.as_str(), child.required))
        .collect();
    assert_eq!(children, [("family:1", true), ("family:2", false)]);
    assert_eq!(family.children_count, Count::Exact(2));
    let child = story_of(&mut *look, JobName::Key("family:1".to_owned())).await;
    let parent = child.parent.and_then(|parent| parent.job);
    assert_eq!(parent, Some((family.job.row.id, State::Pending)));
    for nobody in ["nobody", "", "no\0body"] {
        let none = look.story(&JobName::Key(nobody.to_owned())).await;
        assert!(matches!(none, Ok(None)), "{none:?}");
    }
    let none = look.story(&JobName::Id(uuid::Uuid::now_v7())).await;
    assert!(matches!(none, Ok(None)), "{none:?}");
}

pub(crate) async fn of_a_job_with_very_many_events_the_first_and_the_last_are_read(
    ledger: &Ledger,
) {
    let id = enqueue_one(ledger, "busy").await;
    let again = vec![job("busy"); 1_000];
    enqueue(ledger, &again).await;
    enqueue(ledger, &again[..200]).await;
    let mut look = ledger.url().look();
    let story = story_of(&mut *look, JobName::Id(id)).await;
    assert_eq!((story.events.len(), story.left_out), (1_000, 201));
    let versions: Vec<u32> = story
        .events
        .iter()
        .flatten()
        .map(|each| each.version)
        .collect();
    assert_eq!((versions[0], versions[499]), (1, 500));
    assert_eq!((versions[500], versions[999]), (702, 1_201));
}

pub(crate) async fn leases_come_in_the_order_of_their_ends_with_their_renewals(ledger: &Ledger) {
    let batch: Vec<_> = (0..5).map(|number| job(&format!("k{number}"))).collect();
    enqueue(ledger, &batch).await;
    let store = ledger.store().await;
    claim_for(store, WORKER, 2, Duration::from_secs(500)).await;
    let expired = claim_for(store, "w2", 1, Duration::ZERO).await;
    let renewed = claim_for(store, "w2", 1, LEASE).await;
    for _each in 0..3 {
        let lease = lease_of(&renewed[0]);
        let outcomes = store.renew("w2", &[lease], Duration::from_secs(900)).await;
        assert!(outcomes.is_ok(), "{outcomes:?}");
    }
    let mut look = ledger.url().look();
    let mut told = Vec::new();
    let mut after = None;
    loop {
        let page = look.leases(&Query::default(), after.as_ref(), 1).await;
        let Ok(page) = page else { panic!("{page:?}") };
        told.extend(page.leases);
        let Some(next) = page.next else { break };
        after = Some(next);
    }
    assert_eq!(told.len(), 4);
    assert_eq!(told[0].job.row.id, expired[0].id);
    assert!(told[0].job.lease_expires_at <= Some(told[0].claimed_at.plus(MS)));
    assert_eq!((told[3].job.row.id, told[3].renewals), (renewed[0].id, 3));
    assert_eq!(told[1].renewals, 0);
    let of_one = query(vec![must(Test::Worker(is(WORKER)))]);
    let page = look.leases(&of_one, None, 10).await;
    assert_eq!(page.ok().map(|page| page.leases.len()), Some(2));
    let elsewhere = query(vec![must(Test::State(State::Dead))]);
    let page = look.leases(&elsewhere, None, 10).await;
    assert_eq!(page.ok().map(|page| page.leases.len()), Some(0));
}

pub(crate) async fn dead_letters_are_grouped_and_those_that_died_again_are_counted(
    ledger: &Ledger,
) {
    sample(ledger).await;
    let mut look = ledger.url().look();
    let all = look.dead_letters(&Query::default()).await;
    let Ok(all) = all else { panic!("{all:?}") };
    let letters = query(vec![
        must(Test::State(State::Dead)),
        must(Test::State(State::Quarantined)),
    ]);
    let listed = listed(&mut *look, &letters, JobOrder::OldestFirst, 100).await;
    let many = u64::try_from(listed.len()).unwrap_or(0);
    assert_eq!(all.counted, Count::Exact(many));
    let sum: u64 = all
        .groups
        .iter()
        .map(|group| group.dead + group.quarantined)
        .sum();
    assert_eq!((sum, all.beyond), (many, 0));
    let still = all
        .groups
        .iter()
        .find(|group| group.fingerprint.as_str() == "field '…' is still MISSING");
    let Some(still) = still else {
        panic!("{:?}", all.groups)
    };
    assert_eq!((still.quarantined, still.died_again, still.dead), (1, 1, 0));
    let revoked = all.groups.iter().map(|group| group.unsettled).sum::<u64>();
    assert_eq!(revoked, 1);
    let of_queue = query(vec![
        must(Test::Queue(is("bills"))),
        must(Test::Redrives(Comparison::Equal, 0)),
    ]);
    let some = look.dead_letters(&of_queue).await;
    assert_eq!(some.ok().map(|some| some.counted), Some(Count::Exact(2)));
}

pub(crate) async fn acts_of_operators_are_told_the_newest_first_and_page_by_page(ledger: &Ledger) {
    one_attempt(ledger).await;
    let id = job_in(ledger, State::Quarantined).await;
    operate(ledger, id, Operation::Redrive).await;
    operate(ledger, id, Operation::Quarantine).await;
    operate(ledger, id, Operation::Discard).await;
    let mut look = ledger.url().look();
    let mut told = Vec::new();
    let mut before = None;
    loop {
        let page = look.audit(before.as_ref(), 1).await;
        let Ok(page) = page else { panic!("{page:?}") };
        told.extend(page.acts);
        let Some(next) = page.next else { break };
        before = Some(next);
    }
    let what: Vec<(&str, &str)> = told
        .iter()
        .map(|act| match &act.what {
            ActKind::Job {
                event, to, id: job, ..
            } => {
                assert_eq!(*job, id);
                (event.name(), to.name())
            }
            other @ ActKind::Plan { .. } => panic!("{other:?}"),
        })
        .collect();
    let happened = [
        ("discard", "discarded"),
        ("quarantine", "quarantined"),
        ("redrive", "ready"),
    ];
    assert_eq!(what, happened);
    assert_eq!(
        told[0].note.as_ref().map(AsRef::as_ref),
        Some("because Discard")
    );
    assert_eq!(told[0].actor.as_str(), OPERATOR);
}

pub(crate) async fn a_look_up_that_was_dropped_leaves_the_next_working(ledger: &Ledger) {
    let batch: Vec<_> = (0..50).map(|number| job(&format!("k{number}"))).collect();
    enqueue(ledger, &batch).await;
    let mut look = ledger.url().look();
    for polls in 0..30 {
        // Dropped after so many steps, wherever that is.
        let asked = Query::default();
        let mut call = look.jobs(&asked, JobOrder::OldestFirst, None, 50);
        let mut steps = 0;
        std::future::poll_fn(|context| {
            steps += 1;
            if call.as_mut().poll(context).is_ready() || steps > polls {
                return std::task::Poll::Ready(());
            }
            std::task::Poll::Pending
        })
        .await;
    }
    let page = look
        .jobs(&Query::default(), JobOrder::OldestFirst, None, 50)
        .await;
    assert_eq!(page.ok().map(|page| page.jobs.len()), Some(50));
}

//! The filter language once more, naively, over jobs in memory: what lists are compared with.
//!
//! Owns a ledger of jobs that differ in everything a query can ask about. Next: `../look.rs`, the
//! cases.

#![expect(clippy::panic, reason = "a sample that cannot be made fails the test")]

use std::collections::BTreeSet;
use std::time::Duration;

use ledgertop::ledger::error_class::ErrorClass;
use ledgertop::ledger::job::{Claimed, Failed, NewJob, Operation, ParentLink, Verdict};
use ledgertop::ledger::query::{Comparison, Pattern, Query, Term, Test};
use ledgertop::ledger::view::ListedJob;
use uuid::Uuid;

use crate::ledger::Ledger;
use crate::steps::*;

const HOUR: Duration = Duration::from_secs(3_600);

/// A condition of a query.
pub(crate) const fn must(test: Test) -> Term {
    Term {
        negated: false,
        test,
    }
}

/// A condition with `!` before it.
pub(crate) const fn not(test: Test) -> Term {
    Term {
        negated: true,
        test,
    }
}

pub(crate) const fn query(terms: Vec<Term>) -> Query {
    Query { terms }
}

pub(crate) fn is(text: &str) -> Pattern {
    Pattern::Is(text.to_owned())
}

pub(crate) fn begins(text: &str) -> Pattern {
    Pattern::Begins(text.to_owned())
}

fn matches_text(pattern: &Pattern, text: Option<&str>) -> bool {
    text.is_some_and(|text| match pattern {
        Pattern::Is(whole) => text == whole,
        Pattern::Begins(start) => text.starts_with(start.as_str()),
    })
}

fn compares(comparison: Comparison, found: u32, asked: u32) -> bool {
    match comparison {
        Comparison::Less => found < asked,
        Comparison::AtMost => found <= asked,
        Comparison::Equal => found == asked,
        Comparison::AtLeast => found >= asked,
        Comparison::More => found > asked,
    }
}

/// Whether a test holds for a job; ages, parents and plans are not in a list.
fn holds(test: &Test, job: &ListedJob) -> bool {
    let row = &job.row;
    match test {
        Test::Id(id) => row.id == *id,
        Test::Key(pattern) => matches_text(pattern, Some(row.idempotency_key.as_str())),
        Test::Queue(pattern) => matches_text(pattern, Some(row.queue.as_str())),
        Test::Kind(pattern) => matches_text(pattern, Some(row.kind.as_str())),
        Test::Tenant(pattern) => matches_text(pattern, Some(row.tenant.as_str())),
        Test::State(state) => row.state == *state,
        Test::Class(class) => job.class == Some(*class),
        Test::Reason(pattern) => matches_text(pattern, job.reason.as_ref().map(AsRef::as_ref)),
        Test::Worker(pattern) => matches_text(pattern, job.worker.as_ref().map(AsRef::as_ref)),
        Test::Policy(pattern) => matches_text(pattern, Some(job.policy.as_str())),
        Test::Attempts(comparison, asked) => compares(*comparison, row.attempt, *asked),
        Test::Redrives(comparison, asked) => compares(*comparison, row.redrives, *asked),
        Test::Unsettled(comparison, asked) => compares(*comparison, job.unsettled, *asked),
        Test::Since(moment) => row.state_since >= *moment,
        Test::Until(moment) => row.state_since < *moment,
        Test::Error(words) => job.error.as_ref().is_some_and(|error| {
            error
                .as_str()
                .to_ascii_lowercase()
                .contains(&words.to_ascii_lowercase())
        }),
        Test::Parent(_) | Test::Plan(_) | Test::Age(..) => panic!("{test:?} is not in a list"),
    }
}

/// Whether any of the tests named with a value will do.
fn is_alternative(test: &Test) -> bool {
    match test {
        Test::Attempts(comparison, _)
        | Test::Redrives(comparison, _)
        | Test::Unsettled(comparison, _)
        | Test::Age(comparison, _) => *comparison == Comparison::Equal,
        Test::Since(_) | Test::Until(_) | Test::Error(_) => false,
        _of_values => true,
    }
}

/// The keys of the jobs for which the query holds.
pub(crate) fn chosen(query: &Query, jobs: &[ListedJob]) -> BTreeSet<String> {
    let same = |one: &Test, other: &Test| {
        std::mem::discriminant(one) == std::mem::discriminant(other) && is_alternative(other)
    };
    jobs.iter()
        .filter(|job| {
            query.terms.iter().all(|term| {
                if term.negated {
                    !holds(&term.test, job)
                } else if is_alternative(&term.test) {
                    query
                        .terms
                        .iter()
                        .filter(|other| !other.negated && same(&term.test, &other.test))
                        .any(|other| holds(&other.test, job))
                } else {
                    holds(&term.test, job)
                }
            })
        })
        .map(|job| job.row.idempotency_key.as_str().to_owned())
        .collect()
}

fn failure(class: ErrorClass, reason: &str, error: &str) -> Failed {
    Failed {
        class,
        reason: reason.to_owned(),
        error: error.to_owned(),
    }
}

fn again(reason: &str, error: &str, delay: Duration) -> Verdict {
    Verdict::Retry {
        failure: failure(ErrorClass::Transient, reason, error),
        delay,
    }
}

fn for_good(reason: &str, error: &str) -> Verdict {
    Verdict::Reject {
        failure: failure(ErrorClass::Permanent, reason, error),
    }
}

fn named(queue: &str, kind: &str, tenant: &str, key: &str) -> NewJob {
    let mut new = NewJob::new(Uuid::now_v7(), queue, kind, key);
    tenant.clone_into(&mut new.tenant);
    new
}

/// Claims a job by its id for a worker of that name.
async fn begin(ledger: &Ledger, id: Uuid, worker: &str) -> Claimed {
    use ledgertop::ledger::job::Disposition;
    let store = ledger.store().await;
    match store.begin(id, worker, LEASE).await {
        Ok(Disposition::Run(claimed)) => *claimed,
        other => panic!("{other:?}"),
    }
}

async fn run(ledger: &Ledger, new: NewJob, worker: &str, verdict: Verdict) -> Uuid {
    let id = enqueue_as(ledger, new).await;
    let claimed = begin(ledger, id, worker).await;
    settle_as(ledger, worker, lease_of(&claimed), verdict).await;
    id
}

/// A ledger of jobs that differ in everything a query can ask about.
pub(crate) async fn sample(ledger: &Ledger) {
    one_attempt(ledger).await;
    for state in ledgertop::ledger::state::State::ALL {
        job_in(ledger, state).await;
    }
    enqueue_as(
        ledger,
        named("mail", "send", "t7", "t7:invoice_184:collect"),
    )
    .await;
    enqueue_as(
        ledger,
        named("mail", "send", "t70", "t70:invoice_184:collect"),
    )
    .await;
    enqueue_as(
        ledger,
        named("mail_bulk", "send", "", "100%_\\*'\"; DROP TABLE jobs"),
    )
    .await;
    enqueue_as(ledger, named("sms", "send", "t7", "t7:Invoice_185:collect")).await;
    let mut later = named("sms", "remind", "t8", "t8:later");
    later.available_at = Some(ledgertop::ledger::time::Timestamp::from_millis(
        ledger.now_ms().await + 3_600_000,
    ));
    enqueue_as(ledger, later).await;
    let mut parent = named("digest", "digest", "t7", "family");
    parent.awaits_children = true;
    let mut child = named("images", "image", "t7", "family:1");
    child.parent = Some(ParentLink {
        key: "family".to_owned(),
        required: true,
    });
    let mut other = named("images", "image", "t7", "family:2");
    other.parent = Some(ParentLink {
        key: "family".to_owned(),
        required: false,
    });
    enqueue(ledger, &[parent, child, other]).await;
    let waits = again("rate_limited", "slow down: 429", HOUR);
    run(ledger, named("mail", "send", "t9", "m1"), "w1", waits).await;
    let waits = again("timeout", "no answer within 30 s", HOUR);
    run(ledger, named("mail", "send", "t7", "m2"), "w2", waits).await;
    let ends = for_good("schema_violation", "field 'Total' is MISSING");
    let bad = run(ledger, named("bills", "bill", "t7", "b1"), "w2", ends).await;
    operate(ledger, bad, Operation::Redrive).await;
    let claimed = begin(ledger, bad, "w3").await;
    let ends = for_good("schema_violation", "field 'Total' is still MISSING");
    settle_as(ledger, "w3", lease_of(&claimed), ends).await;
    let mut once = named("bills", "bill", "t1", "b2");
    ONCE.clone_into(&mut once.policy);
    run(
        ledger,
        once,
        "w1",
        again("timeout", "took 100% of 5 s", HOUR),
    )
    .await;
    let held = enqueue_as(ledger, named("bills", "bill", "t2", "b3")).await;
    begin(ledger, held, "w30").await;
    let revoked = enqueue_as(ledger, named("bills", "bill", "t2", "b4")).await;
    begin(ledger, revoked, "w3").await;
    operate(ledger, revoked, Operation::Revoke).await;
    run(ledger, named("bills", "bill", "t2", "b5"), "w3", succeed()).await;
}

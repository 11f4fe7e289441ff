//! What people do: every operation, from every state, with the version that was seen.
//!
//! Next: `laws.rs`, what the database itself refuses.

#![expect(clippy::expect_used, reason = "what a case does not find fails it")]

use ledgertop::ledger::event::{ActorKind, EventKind};
use ledgertop::ledger::job::{Operation, Outcome};
use ledgertop::ledger::state::State;
use ledgertop::ledger::transition;
use ledgertop::store::Act;
use uuid::Uuid;

use crate::ledger::Ledger;
use crate::steps::*;

const OPERATIONS: [(Operation, EventKind, State); 5] = [
    (
        Operation::Quarantine,
        EventKind::Quarantine,
        State::Quarantined,
    ),
    (Operation::Revoke, EventKind::Revoke, State::Quarantined),
    (Operation::Redrive, EventKind::Redrive, State::Ready),
    (Operation::Promote, EventKind::Promote, State::Ready),
    (Operation::Discard, EventKind::Discard, State::Discarded),
];

pub(crate) async fn each_operation_does_what_the_table_allows_and_nothing_else(ledger: &Ledger) {
    one_attempt(ledger).await;
    for from in State::ALL {
        for (operation, event, to) in OPERATIONS {
            let id = job_in(ledger, from).await;
            let version = read(ledger, id).await.version;
            let outcome = operate(ledger, id, operation).await;
            let row = read(ledger, id).await;
            if transition::find(event, Some(from), to, ActorKind::Operator).is_some() {
                let version = version + 1;
                assert_eq!(
                    outcome,
                    Outcome::Applied { state: to, version },
                    "{from} {event}"
                );
                assert_eq!((row.state, row.version), (to, version), "{from} {event}");
                let last = format!(
                    "SELECT event || ' by ' || actor_kind || ' ' || actor || ' ' || note \
                     FROM job_events WHERE job_id = '{id}' AND version = {version}"
                );
                let expected = format!("{event} by operator {OPERATOR} because {operation:?}");
                assert_eq!(ledger.value(&last).await, expected);
            } else {
                let refused = Outcome::Refused {
                    state: from,
                    version,
                };
                assert_eq!(outcome, refused, "{from} {event}");
                assert_eq!((row.state, row.version), (from, version), "{from} {event}");
            }
        }
    }
}

pub(crate) async fn a_redrive_keeps_id_and_key_and_begins_a_fresh_budget(ledger: &Ledger) {
    one_attempt(ledger).await;
    let mut new = job("a");
    ONCE.clone_into(&mut new.policy);
    let id = enqueue_as(ledger, new).await;
    for drive in 0..3 {
        let claimed = claim_one(ledger).await;
        assert_eq!(
            (claimed.id, claimed.attempt, claimed.redrives),
            (id, 1, drive)
        );
        settle(ledger, &claimed, retry(std::time::Duration::ZERO)).await;
        assert_eq!(read(ledger, id).await.state, State::Dead);
        operate(ledger, id, Operation::Redrive).await;
        let row = read(ledger, id).await;
        assert_eq!(
            (row.attempt, row.redrives, row.fence),
            (0, drive + 1, drive + 1)
        );
        assert_eq!(row.idempotency_key.as_str(), "a");
    }
}

pub(crate) async fn a_promoted_job_is_ready_at_once(ledger: &Ledger) {
    one_attempt(ledger).await;
    let id = job_in(ledger, State::RetryWait).await;
    operate(ledger, id, Operation::Promote).await;
    let row = read(ledger, id).await;
    assert_eq!(row.state, State::Ready);
    assert!(row.available_at <= row.state_since);
}

pub(crate) async fn the_last_failure_stays_when_a_job_is_set_aside_or_sent_back(ledger: &Ledger) {
    one_attempt(ledger).await;
    let id = job_in(ledger, State::Dead).await;
    operate(ledger, id, Operation::Quarantine).await;
    operate(ledger, id, Operation::Redrive).await;
    let carried = format!(
        "SELECT CAST(count(*) AS text) FROM job_events WHERE job_id = '{id}' \
         AND event IN ('exhaust', 'quarantine', 'redrive') AND reason = 'timeout' \
         AND error_class = 'transient'"
    );
    assert_eq!(ledger.value(&carried).await, "3");
    let kept = format!("SELECT reason FROM jobs WHERE id = '{id}'");
    assert_eq!(ledger.value(&kept).await, "timeout");
}

pub(crate) async fn an_act_on_a_version_that_has_passed_changes_nothing(ledger: &Ledger) {
    one_attempt(ledger).await;
    let id = job_in(ledger, State::Dead).await;
    let seen = act(ledger, id, Operation::Discard).await;
    operate(ledger, id, Operation::Redrive).await;
    let row = read(ledger, id).await;
    let stale = Outcome::Stale {
        state: State::Ready,
        version: row.version,
    };
    assert_eq!(operate_as(ledger, &seen).await, stale);
    for version in [0, row.version + 1, u32::MAX] {
        let wrong = Act {
            version,
            operation: Operation::Quarantine,
            ..seen.clone()
        };
        assert_eq!(operate_as(ledger, &wrong).await, stale, "version {version}");
    }
    assert_eq!(read(ledger, id).await, row);
    let nobody = Act {
        job: Uuid::now_v7(),
        ..seen
    };
    assert_eq!(operate_as(ledger, &nobody).await, Outcome::NotFound);
}

pub(crate) async fn of_two_operators_one_acts_and_the_other_is_told(ledger: &Ledger) {
    one_attempt(ledger).await;
    for _round in 0..5 {
        let id = job_in(ledger, State::Dead).await;
        let first = act(ledger, id, Operation::Redrive).await;
        let second = Act {
            actor: "another operator".to_owned(),
            operation: Operation::Discard,
            ..first.clone()
        };
        let (one, two) = (ledger.another_store().await, ledger.another_store().await);
        let (one, two) = tokio::join!(one.operate(&first), two.operate(&second));
        let outcomes = [one.expect("answered"), two.expect("answered")];
        let applied = outcomes
            .iter()
            .filter(|outcome| matches!(outcome, Outcome::Applied { .. }))
            .count();
        let stale = outcomes
            .iter()
            .filter(|outcome| matches!(outcome, Outcome::Stale { .. }))
            .count();
        assert_eq!((applied, stale), (1, 1), "{outcomes:?}");
    }
}

pub(crate) async fn an_act_repeated_after_a_lost_answer_learns_what_it_did(ledger: &Ledger) {
    one_attempt(ledger).await;
    let id = job_in(ledger, State::Dead).await;
    let redrive = act(ledger, id, Operation::Redrive).await;
    let first = operate_as(ledger, &redrive).await;
    assert!(matches!(
        first,
        Outcome::Applied {
            state: State::Ready,
            ..
        }
    ));
    operate(ledger, id, Operation::Quarantine).await;
    assert_eq!(operate_as(ledger, &redrive).await, first);
    assert_eq!(count_events(ledger, "redrive").await, "1");
}

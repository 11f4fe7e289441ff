//! What the database holds every writer to, in any language: SQL written by hand here.
//!
//! Next: `feed.rs`, what a console reads.

#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "what a case does not find fails it"
)]

use std::time::Duration;

use ledgertop::ledger::event::{ActorKind, EventKind};
use ledgertop::ledger::job::{Enqueued, Operation};
use ledgertop::ledger::state::State;
use ledgertop::ledger::time::Timestamp;
use ledgertop::ledger::transition::{self, TABLE, Transition};
use ledgertop::store::DatabaseKind;
use uuid::Uuid;

use crate::ledger::Ledger;
use crate::steps::*;

pub(crate) async fn whatever_the_table_does_not_hold_is_refused_by_name(ledger: &Ledger) {
    one_attempt(ledger).await;
    let mut connection = ledger.connect().await;
    let mut refused = 0;
    for from in State::ALL {
        let id = job_in(ledger, from).await;
        let version = read(ledger, id).await.version;
        for (event, to, actor) in combinations() {
            if transition::find(event, Some(from), to, actor).is_some() {
                continue;
            }
            let update = format!(
                "UPDATE jobs SET event = '{event}', state = '{to}', actor_kind = '{actor}', \
                 actor = '{WORKER}', version = version + 1 WHERE id = '{id}'"
            );
            let said = connection
                .run(&update)
                .await
                .expect_err("the table does not hold it");
            let named = said.contains(&id.to_string()) && said.contains(event.name());
            // A CHECK of SQLite may come before the triggers; it names its rule.
            assert!(
                named || said.contains("jobs_"),
                "{from} {event} {to} {actor}: {said}"
            );
            if named {
                assert!(said.contains("legal"), "it names the alternatives: {said}");
            }
            refused += 1;
        }
        assert_eq!(
            read(ledger, id).await.version,
            version,
            "nothing was changed"
        );
    }
    assert_eq!(refused, 18 * 8 * 8 * 4 - legal_moves_from_a_state());
}

fn combinations() -> impl Iterator<Item = (EventKind, State, ActorKind)> {
    EventKind::ALL.into_iter().flat_map(|event| {
        State::ALL.into_iter().flat_map(move |to| {
            ActorKind::ALL
                .into_iter()
                .map(move |actor| (event, to, actor))
        })
    })
}

fn legal_moves_from_a_state() -> usize {
    TABLE
        .iter()
        .filter(|row| row.from.is_some())
        .map(|row| row.actors.len())
        .sum()
}

pub(crate) async fn every_move_of_the_table_can_be_made_by_hand_and_leaves_its_event(
    ledger: &Ledger,
) {
    one_attempt(ledger).await;
    let mut walked = 0;
    for row in &TABLE {
        let Some(from) = row.from else { continue };
        for actor in row.actors {
            let id = ready_for(ledger, row, from).await;
            let version = read(ledger, id).await.version;
            let name = match actor {
                ActorKind::Worker => WORKER,
                ActorKind::Producer | ActorKind::System | ActorKind::Operator => "by hand",
            };
            let update = format!(
                "UPDATE jobs SET event = '{}', state = '{}', actor_kind = '{actor}', \
                 actor = '{name}', note = 'walked', version = version + 1{} WHERE id = '{id}'",
                row.event,
                row.to,
                details(ledger, row)
            );
            if let Err(said) = ledger.sql(&update).await {
                panic!("{from} {} {} as {actor}: {said}", row.event, row.to);
            }
            let last = format!(
                "SELECT event || ' ' || from_state || ' ' || to_state || ' ' || actor_kind || \
                 ' ' || actor || ' ' || note FROM job_events \
                 WHERE job_id = '{id}' AND version = {}",
                version + 1
            );
            let expected = format!("{} {from} {} {actor} {name} walked", row.event, row.to);
            assert_eq!(ledger.value(&last).await, expected);
            walked += 1;
        }
    }
    assert_eq!(walked, legal_moves_from_a_state());
}

/// A job in the state `from` for which the move of `row` is within the budgets and due.
async fn ready_for(ledger: &Ledger, row: &Transition, from: State) -> Uuid {
    let key = Uuid::now_v7().to_string();
    // Alone in its queue, so that the claim takes this one.
    let mut new = job(&key);
    new.queue.clone_from(&key);
    match (row.event, from) {
        (EventKind::LeaseExpire | EventKind::Exhaust, State::Running) => {
            let spent = row.to == State::Dead;
            new.policy = (if spent { ONCE } else { "default" }).into();
            enqueue_as(ledger, new).await;
            claim_in(ledger, &key, Duration::ZERO).await.id
        }
        (EventKind::Due, State::RetryWait) => {
            let id = enqueue_as(ledger, new).await;
            let claimed = claim_in(ledger, &key, LEASE).await;
            settle(ledger, &claimed, retry(Duration::ZERO)).await;
            id
        }
        (EventKind::Due, State::Pending) => {
            let soon = ledger.now_ms().await + 40;
            new.available_at = Some(Timestamp::from_millis(soon));
            let id = enqueue_as(ledger, new).await;
            while ledger.now_ms().await <= soon {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            id
        }
        _any_other => job_in(ledger, from).await,
    }
}

/// What a person must say beside event, state, actor and version.
fn details(ledger: &Ledger, row: &Transition) -> String {
    let failure = ", error_class = 'transient', reason = 'timeout'";
    match row.event {
        EventKind::Claim => format!(
            ", worker = '{WORKER}', lease_expires_at = {}",
            ledger.moment(60_000)
        ),
        EventKind::Renew => format!(", lease_expires_at = {}", ledger.moment(120_000)),
        EventKind::Retry => format!("{failure}, available_at = {}", ledger.moment(60_000)),
        EventKind::Exhaust | EventKind::Reject | EventKind::LeaseExpire => failure.to_owned(),
        EventKind::Enqueue
        | EventKind::ChildrenDone
        | EventKind::Succeed
        | EventKind::Release
        | EventKind::Due
        | EventKind::Promote
        | EventKind::Quarantine
        | EventKind::Revoke
        | EventKind::Redrive
        | EventKind::Discard
        | EventKind::Duplicate
        | EventKind::StaleRefused => String::new(),
    }
}

pub(crate) async fn a_job_enqueued_by_hand_is_a_job_like_any_other(ledger: &Ledger) {
    let insert = "INSERT INTO jobs (idempotency_key, queue, kind) \
                  VALUES ('by hand', 'thumbnails', 'render')";
    ledger.sql(insert).await.expect("the least that is needed");
    let claimed = claim_one(ledger).await;
    assert_eq!(claimed.idempotency_key, "by hand");
    assert_eq!(claimed.id.get_version_num(), 7);
    assert_eq!(history(ledger, claimed.id).await, ["enqueue", "claim"]);
    assert_eq!(
        enqueue(ledger, &[job("by hand")]).await,
        [Enqueued::Duplicate(claimed.id)]
    );
}

pub(crate) async fn a_change_without_a_step_of_the_version_is_refused(ledger: &Ledger) {
    let id = enqueue_one(ledger, "a").await;
    for change in [
        "state = 'quarantined'",
        "event = 'quarantine', state = 'quarantined', actor_kind = 'operator'",
        "event = 'quarantine', state = 'quarantined', actor_kind = 'operator', \
         version = version + 2",
        "attempt = 5",
        "available_at = available_at",
        "note = 'only a note'",
    ] {
        let update = format!("UPDATE jobs SET {change} WHERE id = '{id}'");
        let said = ledger.sql(&update).await.expect_err(change);
        assert!(said.contains(&id.to_string()), "{change}: {said}");
    }
    assert_eq!(read(ledger, id).await.version, 1);
}

pub(crate) async fn a_legal_event_may_not_change_anything_else(ledger: &Ledger) {
    let id = enqueue_one(ledger, "a").await;
    let held = claim_one(ledger).await;
    assert_eq!(held.id, id);
    let done = format!(
        "event = 'succeed', state = 'succeeded', actor_kind = 'worker', actor = '{WORKER}', \
         version = version + 1"
    );
    let extras = [
        "attempt = 0".to_owned(),
        "fence = fence + 1".to_owned(),
        "redrives = 7".to_owned(),
        "unsettled = unsettled + 1".to_owned(),
        "policy_version = 2".to_owned(),
        format!("available_at = {}", ledger.moment(-60_000)),
        format!("first_attempt_at = {}", ledger.moment(-60_000)),
        "error_class = 'transient', reason = 'timeout'".to_owned(),
    ];
    for extra in extras {
        let update = format!("UPDATE jobs SET {done}, {extra} WHERE id = '{id}'");
        let said = ledger.sql(&update).await.expect_err(&extra);
        assert!(said.contains(&id.to_string()), "{extra}: {said}");
    }
    let stranger = format!(
        "UPDATE jobs SET event = 'succeed', state = 'succeeded', actor_kind = 'worker', \
         actor = 'a stranger', version = version + 1 WHERE id = '{id}'"
    );
    let said = ledger.sql(&stranger).await.expect_err("it holds no lease");
    assert!(said.contains("a stranger"), "{said}");
    let update = format!("UPDATE jobs SET {done} WHERE id = '{id}'");
    ledger
        .sql(&update)
        .await
        .expect("without the extras it is legal");
}

pub(crate) async fn what_is_out_of_bounds_is_refused_whoever_writes_it(ledger: &Ledger) {
    let ready = enqueue_one(ledger, "ready").await;
    let mut other = job("running");
    "running".clone_into(&mut other.queue);
    let running = enqueue_as(ledger, other).await;
    claim_in(ledger, "running", LEASE).await;
    let long = "x".repeat(2_001);
    let (name, minute) = ("x".repeat(201), ledger.moment(60_000));
    let claim = "event = 'claim', state = 'running'";
    let reject = "event = 'reject', state = 'quarantined'";
    let succeed = "event = 'succeed', state = 'succeeded'";
    let changes = [
        (
            ready,
            WORKER,
            format!("{claim}, lease_expires_at = {}", ledger.moment(90_000_000)),
        ),
        (
            ready,
            WORKER,
            format!("{claim}, worker = '{name}', lease_expires_at = {minute}"),
        ),
        (
            ready,
            &*name,
            format!("{claim}, lease_expires_at = {minute}"),
        ),
        (ready, "", format!("{claim}, lease_expires_at = {minute}")),
        (ready, WORKER, claim.to_owned()),
        (
            running,
            WORKER,
            format!("{reject}, error_class = 'transient', reason = 'No word'"),
        ),
        (
            running,
            WORKER,
            format!("{reject}, error_class = 'sudden', reason = 'timeout'"),
        ),
        (
            running,
            WORKER,
            format!("{reject}, error_class = 'transient'"),
        ),
        (
            running,
            WORKER,
            format!("{reject}, error_class = 'transient', reason = 'timeout', error = '{long}'"),
        ),
        (running, WORKER, format!("{succeed}, output_ref = '{long}'")),
        (running, WORKER, format!("{succeed}, note = '{long}'")),
    ];
    for (id, actor, change) in changes {
        let update = format!(
            "UPDATE jobs SET {change}, actor_kind = 'worker', actor = '{actor}', \
             version = version + 1 WHERE id = '{id}'"
        );
        ledger.sql(&update).await.expect_err(&change);
    }
    assert_eq!(history(ledger, ready).await, ["enqueue"]);
    assert_eq!(history(ledger, running).await, ["enqueue", "claim"]);
}

pub(crate) async fn what_names_a_job_never_changes(ledger: &Ledger) {
    let id = enqueue_one(ledger, "a").await;
    for change in [
        "idempotency_key = 'b'",
        "queue = 'other'",
        "kind = 'other'",
        "payload = '{\"x\": 1}'",
        "tenant = 'other'",
    ] {
        let update = format!(
            "UPDATE jobs SET event = 'quarantine', state = 'quarantined', \
             actor_kind = 'operator', actor = 'x', version = version + 1, {change} \
             WHERE id = '{id}'"
        );
        let said = ledger.sql(&update).await.expect_err(change);
        assert!(said.contains("never change"), "{change}: {said}");
    }
}

pub(crate) async fn history_is_written_once_and_by_the_ledger_alone(ledger: &Ledger) {
    let id = enqueue_one(ledger, "a").await;
    let mut attempts = vec![
        "UPDATE job_events SET actor = 'nobody'".to_owned(),
        format!("UPDATE job_events SET note = 'x' WHERE job_id = '{id}'"),
        "DELETE FROM job_events".to_owned(),
        "DELETE FROM jobs".to_owned(),
        "UPDATE transitions SET to_state = 'ready'".to_owned(),
        "DELETE FROM transitions".to_owned(),
        "INSERT INTO transitions (event, from_state, to_state, actor_kind, fence_step, \
         attempt_step, failure, unsettled_step) VALUES ('claim', 'dead', 'running', 'worker', \
         0, 'keep', 'silent', 0)"
            .to_owned(),
        "UPDATE policies SET max_attempts = 100".to_owned(),
        "DELETE FROM policies".to_owned(),
    ];
    if ledger.kind() == DatabaseKind::Postgres {
        attempts.extend(
            ["job_events", "jobs CASCADE", "transitions", "policies"]
                .map(|table| format!("TRUNCATE {table}")),
        );
        attempts.push(format!(
            "INSERT INTO job_events (job_id, version, event, to_state, at, queue, attempt, \
             fence, actor_kind, actor, policy, policy_version, tx, db_user) VALUES ('{id}', 2, \
             'redrive', 'ready', now(), 'q', 0, 0, 'operator', 'x', 'default', 1, \
             pg_current_xact_id(), 'x')"
        ));
    } else {
        attempts.push(format!(
            "INSERT INTO job_events (job_id, version, event, to_state, at, queue, attempt, \
             fence, actor_kind, actor, policy, policy_version) VALUES ('{id}', 2, 'redrive', \
             'ready', 1, 'q', 0, 0, 'operator', 'x', 'default', 1)"
        ));
    }
    for attempt in attempts {
        ledger.sql(&attempt).await.expect_err(&attempt);
    }
    assert_eq!(history(ledger, id).await, ["enqueue"]);
}

pub(crate) async fn a_crash_in_the_middle_leaves_nothing_half_done(ledger: &Ledger) {
    let id = enqueue_one(ledger, "a").await;
    let mut connection = ledger.connect().await;
    connection.run("BEGIN").await.expect("a transaction");
    let change = format!(
        "UPDATE jobs SET event = 'quarantine', state = 'quarantined', actor_kind = 'operator', \
         actor = 'x', version = version + 1 WHERE id = '{id}'"
    );
    connection.run(&change).await.expect("a legal change");
    let insert = "INSERT INTO jobs (idempotency_key, queue, kind) VALUES ('b', 'q', 'k')";
    connection.run(insert).await.expect("a legal job");
    drop(connection);

    // The server notices at its own time; whoever writes next waits for it.
    let outcome = operate(ledger, id, Operation::Quarantine).await;
    assert!(matches!(
        outcome,
        ledgertop::ledger::job::Outcome::Applied { version: 2, .. }
    ));
    assert_eq!(history(ledger, id).await, ["enqueue", "quarantine"]);
    assert_eq!(
        ledger
            .value("SELECT CAST(count(*) AS text) FROM jobs")
            .await,
        "1"
    );
}

pub(crate) async fn rows_equal_the_last_event_of_their_history(ledger: &Ledger) {
    one_attempt(ledger).await;
    for state in State::ALL {
        job_in(ledger, state).await;
    }
    let odd = "SELECT CAST(count(*) AS text) FROM jobs j LEFT JOIN job_events e \
               ON e.job_id = j.id AND e.version = j.version \
               WHERE e.job_id IS NULL OR e.to_state <> j.state OR e.at <> j.updated_at \
               OR e.attempt <> j.attempt OR e.fence <> j.fence OR e.actor <> j.actor";
    assert_eq!(ledger.value(odd).await, "0");
    let gaps = "SELECT CAST(count(*) AS text) FROM (SELECT job_id FROM job_events \
                GROUP BY job_id HAVING max(version) <> count(*) OR min(version) <> 1) odd";
    assert_eq!(ledger.value(gaps).await, "0");
}

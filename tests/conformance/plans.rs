//! Plans: frozen, approved, carried out under a lease, and held to all of it by the database.
//!
//! How a plan goes on is tested beside the rule itself (`src/ledger/plan`); here a case takes the
//! steps one by one. Next: `laws.rs`.

#![expect(clippy::panic, reason = "a step that cannot be taken fails the test")]

use std::collections::BTreeSet;
use std::time::Duration;

use ledgertop::ledger::error_class::ErrorClass;
use ledgertop::ledger::job::{Failed, Operation, Outcome, Verdict};
use ledgertop::ledger::plan::{
    JobOutcome, PLAN_TABLE, Pace, Plan, PlanEvent, PlanState, Progress, Standing, Step, StopWhy,
    Target, next_step,
};
use ledgertop::ledger::state::State;
use ledgertop::store::StoreError;
use ledgertop::store::plans::{
    Advanced, Hold, NewPlan, PlanAct, PlanJobsPage, PlanOutcome, Plans, Taken,
};
use uuid::Uuid;

use crate::ledger::Ledger;
use crate::steps::{
    LEASE, OPERATOR, WORKER, act, claim_in, count_events, history, job_in, lease_of, one_attempt,
    operate, operate_as, read, settle, succeed,
};

const EXECUTOR: &str = "an executor";

fn given<T>(answer: Result<T, StoreError>) -> T {
    answer.unwrap_or_else(|error| panic!("{error}"))
}

fn new_plan(operation: Operation) -> NewPlan {
    NewPlan {
        id: Uuid::now_v7(),
        operation,
        query: "queue:thumbnails".to_owned(),
        reason: "the cause is mended".to_owned(),
        actor: OPERATOR.to_owned(),
        pace: Pace::of(operation),
    }
}

async fn seen(ledger: &Ledger, jobs: &[Uuid]) -> Vec<Target> {
    let mut targets = Vec::new();
    for job in jobs {
        let version = read(ledger, *job).await.version;
        targets.push(Target { job: *job, version });
    }
    targets
}

async fn draft(ledger: &Ledger, operation: Operation, jobs: &[Uuid]) -> Uuid {
    let plans = ledger.store().await.plans();
    let new = new_plan(operation);
    given(plans.draft(&new).await);
    let targets = seen(ledger, jobs).await;
    given(plans.freeze(new.id, &targets).await);
    new.id
}

async fn act_on(ledger: &Ledger, plan: Uuid, event: PlanEvent) -> PlanOutcome {
    let act = PlanAct {
        plan,
        event,
        actor: OPERATOR.to_owned(),
        note: format!("because {event}"),
    };
    given(ledger.store().await.plans().act_on_plan(&act).await)
}

async fn approved(ledger: &Ledger, operation: Operation, jobs: &[Uuid]) -> Uuid {
    let plan = draft(ledger, operation, jobs).await;
    let outcome = act_on(ledger, plan, PlanEvent::Approve).await;
    assert_eq!(outcome, PlanOutcome::Applied(PlanState::Running));
    plan
}

async fn take(plans: &dyn Plans, plan: Uuid, lease: Duration) -> Hold {
    match given(plans.take(plan, EXECUTOR, lease).await) {
        Taken::Held(hold) => hold,
        other => panic!("the plan is not to be had: {other:?}"),
    }
}

async fn observe(ledger: &Ledger, hold: &Hold) -> Standing {
    let plans = ledger.store().await.plans();
    match given(plans.observe(hold).await) {
        Some(standing) => standing,
        None => panic!("the hold is lost"),
    }
}

async fn advance(ledger: &Ledger, hold: &Hold, batch: u32, most: u32) -> Advanced {
    let plans = ledger.store().await.plans();
    match given(plans.advance(hold, batch, most).await) {
        Some(advanced) => advanced,
        None => panic!("the hold is lost"),
    }
}

async fn plan(ledger: &Ledger, plan: Uuid) -> Plan {
    let found = given(ledger.store().await.plans().plan(plan).await);
    found.unwrap_or_else(|| panic!("plan {plan} is gone"))
}

async fn outcomes(ledger: &Ledger, plan: Uuid) -> Vec<JobOutcome> {
    let page = PlanJobsPage {
        limit: 100,
        ..PlanJobsPage::default()
    };
    let jobs = given(ledger.store().await.plans().plan_jobs(plan, page).await);
    jobs.iter().map(|job| job.outcome).collect()
}

async fn moves(ledger: &Ledger, plan: Uuid) -> Vec<PlanEvent> {
    let entries = given(ledger.store().await.plans().plan_history(plan, 100).await);
    entries.iter().rev().map(|entry| entry.event).collect()
}

async fn dead_letters(ledger: &Ledger, count: usize) -> Vec<Uuid> {
    let mut jobs = Vec::new();
    for _each in 0..count {
        jobs.push(job_in(ledger, State::Quarantined).await);
    }
    jobs
}

/// Claims a job in the queue of its own and settles it.
async fn run(ledger: &Ledger, job: Uuid, verdict: Verdict) {
    let queue = read(ledger, job).await.queue.to_string();
    let claimed = claim_in(ledger, &queue, LEASE).await;
    settle(ledger, &claimed, verdict).await;
}

fn reject_for(reason: &str) -> Verdict {
    Verdict::Reject {
        failure: Failed {
            class: ErrorClass::Permanent,
            reason: reason.to_owned(),
            error: "again".to_owned(),
        },
    }
}

/// What the counts of a plan are when its jobs are counted anew.
async fn recount(ledger: &Ledger, plan: Uuid) -> Progress {
    let mut progress = Progress::default();
    for outcome in outcomes(ledger, plan).await {
        progress.total += 1;
        let count = match outcome {
            JobOutcome::Waiting => &mut progress.waiting,
            JobOutcome::Open => &mut progress.open,
            JobOutcome::Applied | JobOutcome::Succeeded => &mut progress.succeeded,
            JobOutcome::Failed => &mut progress.failed,
            JobOutcome::Stale => &mut progress.stale,
            JobOutcome::Refused => &mut progress.refused,
            JobOutcome::Missing => &mut progress.missing,
        };
        *count += 1;
    }
    progress
}

pub(crate) async fn the_table_of_plan_transitions_is_the_table(ledger: &Ledger) {
    let rows = ledger
        .rows(
            "SELECT event || ' ' || from_state || ' ' || to_state || ' ' || actor_kind \
             FROM plan_transitions",
        )
        .await;
    let stored: BTreeSet<String> = rows.into_iter().flatten().flatten().collect();
    let expected: BTreeSet<String> = PLAN_TABLE
        .iter()
        .map(|row| {
            let from = row.from.map_or("", PlanState::name);
            format!("{} {from} {} {}", row.event, row.to, row.actor)
        })
        .collect();
    assert_eq!(stored, expected);
}

pub(crate) async fn a_redrive_goes_one_job_first_and_widens_while_it_holds(ledger: &Ledger) {
    one_attempt(ledger).await;
    let jobs = dead_letters(ledger, 3).await;
    let plan_id = approved(ledger, Operation::Redrive, &jobs).await;
    let hold = take(ledger.store().await.plans(), plan_id, LEASE).await;

    let step = next_step(&observe(ledger, &hold).await);
    assert_eq!(step, Step::Apply { batch: 0, most: 1 });
    assert_eq!(advance(ledger, &hold, 0, 1).await.applied, 1);
    assert_eq!(read(ledger, jobs[0]).await.state, State::Ready);
    assert_eq!(read(ledger, jobs[0]).await.redrives, 1);
    assert_eq!(read(ledger, jobs[1]).await.state, State::Quarantined);
    let events = format!(
        "SELECT actor || ': ' || note || ' ' || CAST(plan AS text) FROM job_events \
         WHERE job_id = '{}' AND event = 'redrive'",
        jobs[0]
    );
    assert_eq!(
        ledger.value(&events).await,
        format!("{OPERATOR}: the cause is mended {plan_id}")
    );
    assert!(matches!(
        next_step(&observe(ledger, &hold).await),
        Step::Wait(_)
    ));

    run(ledger, jobs[0], succeed()).await;
    let step = next_step(&observe(ledger, &hold).await);
    assert_eq!(step, Step::Apply { batch: 1, most: 10 });
    assert_eq!(advance(ledger, &hold, 1, 10).await.applied, 2);
    for job in &jobs[1..] {
        run(ledger, *job, succeed()).await;
    }
    assert_eq!(next_step(&observe(ledger, &hold).await), Step::Finish);
    let plans = ledger.store().await.plans();
    assert!(given(
        plans.conclude(&hold, PlanEvent::Finish, EXECUTOR, "").await
    ));
    let done = plan(ledger, plan_id).await;
    assert_eq!((done.state, done.executor), (PlanState::Done, None));
    assert_eq!(done.progress, recount(ledger, plan_id).await);
    assert_eq!((done.progress.total, done.progress.succeeded), (3, 3));
    assert_eq!(
        moves(ledger, plan_id).await,
        [
            PlanEvent::Draft,
            PlanEvent::Approve,
            PlanEvent::Take,
            PlanEvent::Finish
        ]
    );
}

pub(crate) async fn a_job_that_fails_again_as_one_did_before_stops_the_plan(ledger: &Ledger) {
    one_attempt(ledger).await;
    let jobs = dead_letters(ledger, 4).await;
    let plan_id = approved(ledger, Operation::Redrive, &jobs).await;
    let hold = take(ledger.store().await.plans(), plan_id, LEASE).await;
    advance(ledger, &hold, 0, 1).await;
    run(ledger, jobs[0], reject_for("rejected")).await;
    // A reason that none of them had: the canary is dead, but not again.
    let standing = observe(ledger, &hold).await;
    assert_eq!(next_step(&standing), Step::Stop(StopWhy::Canary));
    let plans = ledger.store().await.plans();
    assert!(given(
        plans
            .conclude(&hold, PlanEvent::Stop, EXECUTOR, "the canary died")
            .await
    ));
    let stopped = plan(ledger, plan_id).await;
    assert_eq!(stopped.state, PlanState::Stopped);
    assert_eq!(
        stopped.stop_reason.map(|why| why.to_string()).as_deref(),
        Some("the canary died")
    );

    // Resumed, it begins again with one job, alone, and the old failure is behind it.
    let resumed = act_on(ledger, plan_id, PlanEvent::Resume).await;
    assert_eq!(resumed, PlanOutcome::Applied(PlanState::Running));
    let hold = take(ledger.store().await.plans(), plan_id, LEASE).await;
    let step = next_step(&observe(ledger, &hold).await);
    assert_eq!(step, Step::Apply { batch: 1, most: 1 });
    advance(ledger, &hold, 1, 1).await;
    run(ledger, jobs[1], reject_for("malformed")).await;
    let step = next_step(&observe(ledger, &hold).await);
    let again = StopWhy::Again {
        job: jobs[1],
        reason: "malformed".into(),
    };
    assert_eq!(step, Step::Stop(again));
    assert_eq!(recount(ledger, plan_id).await.failed, 2);
    for job in &jobs[2..] {
        assert_eq!(read(ledger, *job).await.redrives, 0, "it stays where it is");
    }
}

pub(crate) async fn jobs_that_changed_are_left_alone_and_named(ledger: &Ledger) {
    one_attempt(ledger).await;
    let jobs = dead_letters(ledger, 4).await;
    let plan_id = draft(ledger, Operation::Discard, &jobs).await;
    let plans = ledger.store().await.plans();
    let nobody = Target {
        job: Uuid::now_v7(),
        version: 1,
    };
    assert_eq!(given(plans.freeze(plan_id, &[nobody]).await), 1);
    let done = job_in(ledger, State::Succeeded).await;
    let targets = seen(ledger, &[done]).await;
    given(plans.freeze(plan_id, &targets).await);
    act_on(ledger, plan_id, PlanEvent::Approve).await;
    // Somebody was quicker with two of them.
    operate(ledger, jobs[1], Operation::Redrive).await;
    operate(ledger, jobs[2], Operation::Discard).await;

    let hold = take(plans, plan_id, LEASE).await;
    let step = next_step(&observe(ledger, &hold).await);
    assert!(matches!(step, Step::Apply { batch: 0, .. }), "{step:?}");
    let advanced = advance(ledger, &hold, 0, 1_000).await;
    let expected = Advanced {
        applied: 2,
        stale: 2,
        refused: 1,
        missing: 1,
    };
    assert_eq!(advanced, expected);
    assert_eq!(
        outcomes(ledger, plan_id).await,
        [
            JobOutcome::Applied,
            JobOutcome::Stale,
            JobOutcome::Stale,
            JobOutcome::Applied,
            JobOutcome::Missing,
            JobOutcome::Refused
        ]
    );
    assert_eq!(read(ledger, jobs[1]).await.state, State::Ready);
    assert_eq!(count_events(ledger, "discard").await, "3");
    assert_eq!(next_step(&observe(ledger, &hold).await), Step::Finish);
    let progress = plan(ledger, plan_id).await.progress;
    assert_eq!(progress, recount(ledger, plan_id).await);
}

pub(crate) async fn what_was_approved_never_changes(ledger: &Ledger) {
    one_attempt(ledger).await;
    let jobs = dead_letters(ledger, 2).await;
    let plans = ledger.store().await.plans();
    let plan_id = approved(ledger, Operation::Redrive, &jobs[..1]).await;
    let late = seen(ledger, &jobs[1..]).await;
    let refused = plans.freeze(plan_id, &late).await;
    assert!(
        matches!(refused, Err(StoreError::Refused { .. })),
        "{refused:?}"
    );
    for by_hand in [
        format!("UPDATE plan_jobs SET job_id = '{}'", jobs[1]),
        "UPDATE plan_jobs SET version = version + 1".to_owned(),
        "UPDATE plan_jobs SET reason = 'other'".to_owned(),
        "DELETE FROM plan_jobs".to_owned(),
        "UPDATE plan_jobs SET outcome = 'succeeded'".to_owned(),
        "DELETE FROM plans".to_owned(),
        "DELETE FROM plan_events".to_owned(),
        "UPDATE plan_events SET actor = 'nobody'".to_owned(),
        "UPDATE plans SET reason = 'another'".to_owned(),
        "UPDATE plans SET operation = 'discard'".to_owned(),
        "UPDATE plans SET state = 'done'".to_owned(),
        "UPDATE plans SET state = 'done', event = 'finish', version = version + 1".to_owned(),
        "UPDATE plans SET fence = fence + 1".to_owned(),
        "DELETE FROM plan_transitions".to_owned(),
    ] {
        let answer = ledger.sql(&by_hand).await;
        assert!(answer.is_err(), "'{by_hand}' went through");
    }
    assert_eq!(plan(ledger, plan_id).await.state, PlanState::Running);
}

pub(crate) async fn a_job_is_in_a_plan_once_and_operated_on_once(ledger: &Ledger) {
    one_attempt(ledger).await;
    let jobs = dead_letters(ledger, 1).await;
    let plans = ledger.store().await.plans();
    let plan_id = draft(ledger, Operation::Redrive, &jobs).await;
    let twice = seen(ledger, &[jobs[0], jobs[0]]).await;
    assert_eq!(given(plans.freeze(plan_id, &twice).await), 0);
    act_on(ledger, plan_id, PlanEvent::Approve).await;
    let hold = take(plans, plan_id, LEASE).await;
    advance(ledger, &hold, 0, 10).await;
    run(ledger, jobs[0], reject_for("malformed")).await;
    assert_eq!(advance(ledger, &hold, 0, 10).await, Advanced::default());
    // Nor by hand, under the name of the plan.
    let version = read(ledger, jobs[0]).await.version;
    let by_hand = format!(
        "UPDATE jobs SET event = 'redrive', state = 'ready', actor_kind = 'operator', actor = 'x', \
         plan = '{plan_id}', version = version + 1 WHERE id = '{}' AND version = {version}",
        jobs[0]
    );
    let said = ledger.sql(&by_hand).await.err().unwrap_or_default();
    assert!(said.contains("is not an approved plan"), "{said}");
    assert_eq!(count_events(ledger, "redrive").await, "1");
}

pub(crate) async fn no_event_names_a_plan_that_is_not_under_way(ledger: &Ledger) {
    one_attempt(ledger).await;
    let jobs = dead_letters(ledger, 1).await;
    let plan_id = draft(ledger, Operation::Redrive, &jobs).await;
    for plan in [plan_id, Uuid::now_v7()] {
        let by_hand = format!(
            "UPDATE jobs SET event = 'redrive', state = 'ready', actor_kind = 'operator', \
             actor = 'x', plan = '{plan}', version = version + 1 WHERE id = '{}'",
            jobs[0]
        );
        assert!(ledger.sql(&by_hand).await.is_err(), "{plan}");
    }
    // Without the plan it is an act like any other, also where the row still names an old one.
    act_on(ledger, plan_id, PlanEvent::Approve).await;
    let hold = take(ledger.store().await.plans(), plan_id, LEASE).await;
    advance(ledger, &hold, 0, 1).await;
    let by_hand = format!(
        "UPDATE jobs SET event = 'quarantine', state = 'quarantined', actor_kind = 'operator', \
         actor = 'x', version = version + 1 WHERE id = '{}'",
        jobs[0]
    );
    ledger
        .sql(&by_hand)
        .await
        .unwrap_or_else(|error| panic!("{error}"));
    let of_plan = format!(
        "SELECT CAST(count(*) AS text) FROM job_events WHERE plan = '{plan_id}' \
         AND actor_kind = 'operator'"
    );
    assert_eq!(ledger.value(&of_plan).await, "1");
}

pub(crate) async fn of_many_executors_one_holds_the_plan(ledger: &Ledger) {
    one_attempt(ledger).await;
    let jobs = dead_letters(ledger, 2).await;
    let plan_id = approved(ledger, Operation::Redrive, &jobs).await;
    let stores = [
        ledger.another_store().await,
        ledger.another_store().await,
        ledger.another_store().await,
        ledger.another_store().await,
    ];
    let short = Duration::from_millis(700);
    let taken = tokio::join!(
        stores[0].plans().take(plan_id, "one", short),
        stores[1].plans().take(plan_id, "two", short),
        stores[2].plans().take(plan_id, "three", short),
        stores[3].plans().take(plan_id, "four", short),
    );
    let mut holds = Vec::new();
    let mut told = 0;
    for taken in [taken.0, taken.1, taken.2, taken.3] {
        match given(taken) {
            Taken::Held(hold) => holds.push(hold),
            Taken::Busy(plan) => {
                told += 1;
                assert!(plan.executor.is_some() && plan.lease_expires_at.is_some());
            }
            Taken::NotFound => panic!("the plan is there"),
        }
    }
    assert_eq!((holds.len(), told), (1, 3));

    // When the lease is over another takes it, and the first can do nothing any more.
    let plans = ledger.store().await.plans();
    let next = loop {
        match given(plans.take(plan_id, EXECUTOR, LEASE).await) {
            Taken::Held(hold) => break hold,
            Taken::Busy(_) => tokio::time::sleep(Duration::from_millis(20)).await,
            Taken::NotFound => panic!("the plan is there"),
        }
    };
    assert_eq!(next.fence, holds[0].fence + 1);
    assert_eq!(given(plans.advance(&holds[0], 0, 1).await), None);
    assert_eq!(given(plans.observe(&holds[0]).await), None);
    let stop = plans
        .conclude(&holds[0], PlanEvent::Stop, "one", "late")
        .await;
    assert!(!given(stop));
    given(plans.let_go(&holds[0]).await);
    assert_eq!(advance(ledger, &next, 0, 1).await.applied, 1);
    // Whoever lets go leaves it to the next at once.
    assert!(given(plans.plans_under_way(10).await).is_empty());
    given(plans.let_go(&next).await);
    let free = given(plans.plans_under_way(10).await);
    assert_eq!(free.len(), 1);
    assert!(free[0].runs);
    take(plans, plan_id, LEASE).await;
}

pub(crate) async fn a_plan_moves_as_its_table_says_and_its_executor_is_told(ledger: &Ledger) {
    one_attempt(ledger).await;
    let jobs = dead_letters(ledger, 2).await;
    let plans = ledger.store().await.plans();
    let empty = draft(ledger, Operation::Redrive, &[]).await;
    let act = PlanAct {
        plan: empty,
        event: PlanEvent::Approve,
        actor: OPERATOR.to_owned(),
        note: "nothing".to_owned(),
    };
    let refused = plans.act_on_plan(&act).await;
    assert!(
        matches!(refused, Err(StoreError::Refused { .. })),
        "{refused:?}"
    );

    let plan_id = approved(ledger, Operation::Redrive, &jobs).await;
    let hold = take(plans, plan_id, LEASE).await;
    let paused = act_on(ledger, plan_id, PlanEvent::Pause).await;
    assert_eq!(paused, PlanOutcome::Applied(PlanState::Paused));
    assert_eq!(given(plans.advance(&hold, 0, 1).await), None);
    assert_eq!(given(plans.observe(&hold).await), None);
    let taken = given(plans.take(plan_id, EXECUTOR, LEASE).await);
    assert!(matches!(taken, Taken::Busy(_)), "{taken:?}");
    // The same act asked for again was done; another's is told.
    let again = act_on(ledger, plan_id, PlanEvent::Pause).await;
    assert_eq!(again, PlanOutcome::Applied(PlanState::Paused));
    let other = PlanAct {
        actor: "another operator".to_owned(),
        plan: plan_id,
        event: PlanEvent::Pause,
        note: "me too".to_owned(),
    };
    let told = given(plans.act_on_plan(&other).await);
    assert_eq!(told, PlanOutcome::Refused(PlanState::Paused));
    let cancelled = act_on(ledger, plan_id, PlanEvent::Cancel).await;
    assert_eq!(cancelled, PlanOutcome::Applied(PlanState::Cancelled));
    let resumed = act_on(ledger, plan_id, PlanEvent::Resume).await;
    assert_eq!(resumed, PlanOutcome::Refused(PlanState::Cancelled));
    assert_eq!(
        act_on(ledger, Uuid::now_v7(), PlanEvent::Pause).await,
        PlanOutcome::NotFound
    );
    for job in jobs {
        assert_eq!(read(ledger, job).await.state, State::Quarantined);
    }
}

pub(crate) async fn the_ends_of_a_plan_that_nobody_carries_out_are_recorded(ledger: &Ledger) {
    one_attempt(ledger).await;
    let jobs = dead_letters(ledger, 2).await;
    let plans = ledger.store().await.plans();
    let plan_id = approved(ledger, Operation::Redrive, &jobs).await;
    let hold = take(plans, plan_id, LEASE).await;
    advance(ledger, &hold, 0, 2).await;
    act_on(ledger, plan_id, PlanEvent::Cancel).await;
    let open = given(plans.plans_under_way(10).await);
    assert_eq!(open.len(), 1);
    assert!(!open[0].runs);
    assert_eq!(given(plans.settle_plan(plan_id).await), 0);
    run(ledger, jobs[0], succeed()).await;
    // Set aside by a person: it did not fail for the old reason.
    operate(ledger, jobs[1], Operation::Quarantine).await;
    assert_eq!(given(plans.settle_plan(plan_id).await), 2);
    assert_eq!(
        outcomes(ledger, plan_id).await,
        [JobOutcome::Succeeded, JobOutcome::Failed]
    );
    let page = PlanJobsPage {
        outcome: Some(JobOutcome::Failed),
        limit: 10,
        ..PlanJobsPage::default()
    };
    let failed = given(plans.plan_jobs(plan_id, page).await);
    assert_eq!(failed.len(), 1);
    assert_eq!(failed[0].result.class, None);
    assert_eq!(
        failed[0]
            .had
            .reason
            .as_ref()
            .map(ToString::to_string)
            .as_deref(),
        Some("malformed")
    );
    assert!(given(plans.plans_under_way(10).await).is_empty());
}

pub(crate) async fn every_operation_works_in_bulk(ledger: &Ledger) {
    one_attempt(ledger).await;
    for (operation, from, to) in [
        (Operation::Quarantine, State::Ready, State::Quarantined),
        (Operation::Revoke, State::Running, State::Quarantined),
        (Operation::Redrive, State::Dead, State::Ready),
        (Operation::Promote, State::RetryWait, State::Ready),
        (Operation::Discard, State::Dead, State::Discarded),
    ] {
        let mut jobs = Vec::new();
        for _each in 0..3 {
            jobs.push(job_in(ledger, from).await);
        }
        let plan_id = approved(ledger, operation, &jobs).await;
        let hold = take(ledger.store().await.plans(), plan_id, LEASE).await;
        assert_eq!(
            advance(ledger, &hold, 0, 10).await.applied,
            3,
            "{operation:?}"
        );
        for job in &jobs {
            let row = read(ledger, *job).await;
            assert_eq!(row.state, to, "{operation:?}");
        }
        let newest = given(ledger.store().await.plans().plans(1).await);
        assert_eq!(newest[0].id, plan_id);
        assert_eq!(newest[0].progress, recount(ledger, plan_id).await);
    }
}

pub(crate) async fn a_revoke_outlives_renewals_and_nothing_else(ledger: &Ledger) {
    one_attempt(ledger).await;
    let store = ledger.store().await;
    for in_bulk in [false, true] {
        let id = job_in(ledger, State::Running).await;
        let revoke = act(ledger, id, Operation::Revoke).await;
        let plan_id = draft(ledger, Operation::Revoke, &[id]).await;
        let claimed = ledgertop::ledger::job::LeaseRef { job: id, fence: 1 };
        for _each in 0..2 {
            given(store.renew(WORKER, &[claimed], LEASE).await);
        }
        if in_bulk {
            act_on(ledger, plan_id, PlanEvent::Approve).await;
            let hold = take(store.plans(), plan_id, LEASE).await;
            assert_eq!(advance(ledger, &hold, 0, 1).await.applied, 1);
        } else {
            let outcome = operate_as(ledger, &revoke).await;
            assert!(matches!(outcome, Outcome::Applied { .. }), "{outcome:?}");
            assert_eq!(operate_as(ledger, &revoke).await, outcome, "asked again");
        }
        assert_eq!(
            history(ledger, id).await,
            ["enqueue", "claim", "renew", "renew", "revoke"]
        );
    }

    // Another claim of the same job is another matter.
    let id = job_in(ledger, State::Running).await;
    let revoke = act(ledger, id, Operation::Revoke).await;
    let queue = read(ledger, id).await.queue.to_string();
    let released = ledgertop::ledger::job::LeaseRef { job: id, fence: 1 };
    crate::steps::settle_as(ledger, WORKER, released, Verdict::Release).await;
    let again = claim_in(ledger, &queue, LEASE).await;
    assert_eq!(lease_of(&again).fence, 2);
    let outcome = operate_as(ledger, &revoke).await;
    assert!(matches!(outcome, Outcome::Stale { .. }), "{outcome:?}");
}

//! The jobs of plans found by a filter, and plans as lists and the audit show them.
//!
//! Next: `laws.rs`.

#![expect(clippy::panic, reason = "a step that cannot be taken fails the test")]

use ledgertop::ledger::job::Operation;
use ledgertop::ledger::plan::{JobOutcome, Pace, PlanEvent, PlanState};
use ledgertop::ledger::query::{Comparison, Pattern, Query, Term, Test};
use ledgertop::ledger::state::State;
use ledgertop::ledger::view::{ActKind, AuditPage};
use ledgertop::store::StoreError;
use ledgertop::store::plans::{NewPlan, PlanAct, PlanJobsPage, PlanOutline};
use uuid::Uuid;

use crate::ledger::Ledger;
use crate::steps::{OPERATOR, job_in, one_attempt, operate, read};

fn given<T>(answer: Result<T, StoreError>) -> T {
    answer.unwrap_or_else(|error| panic!("{error}"))
}

async fn draft(ledger: &Ledger, operation: Operation) -> Uuid {
    let new = NewPlan {
        id: Uuid::now_v7(),
        operation,
        query: "state:quarantined".to_owned(),
        reason: "mended".to_owned(),
        actor: OPERATOR.to_owned(),
        pace: Pace::of(operation),
    };
    given(ledger.store().await.plans().draft(&new).await);
    new.id
}

fn every(tests: Vec<Test>) -> Query {
    let term = |test| Term {
        negated: false,
        test,
    };
    Query {
        terms: tests.into_iter().map(term).collect(),
    }
}

pub(crate) async fn a_filter_freezes_the_jobs_that_it_holds_for_and_no_other(ledger: &Ledger) {
    one_attempt(ledger).await;
    let plans = ledger.store().await.plans();
    let mut dead_letters = Vec::new();
    for state in [State::Quarantined, State::Dead, State::Quarantined] {
        dead_letters.push(job_in(ledger, state).await);
    }
    for state in State::ALL {
        if !state.is_dead_letter() {
            job_in(ledger, state).await;
        }
    }
    operate(ledger, dead_letters[2], Operation::Redrive).await;
    operate(ledger, dead_letters[2], Operation::Quarantine).await;

    let all = draft(ledger, Operation::Redrive).await;
    let everything = every(Vec::new());
    let frozen = plans.freeze_where(all, Operation::Redrive, &everything, 10);
    assert_eq!(given(frozen.await), 3);
    let outline = given(plans.outline(all).await);
    assert_eq!(
        outline,
        PlanOutline {
            as_of: outline.as_of,
            states: vec![(State::Dead, 1), (State::Quarantined, 2)],
            oldest: Some(read(ledger, dead_letters[0]).await.state_since),
            unsettled: 0,
            redriven_before: 1,
        }
    );
    // Again, and the jobs are in it already.
    let frozen = plans.freeze_where(all, Operation::Redrive, &everything, 10);
    assert_eq!(given(frozen.await), 0);

    let queue = read(ledger, dead_letters[1]).await.queue.to_string();
    let one = draft(ledger, Operation::Discard).await;
    let narrow = every(vec![
        Test::Queue(Pattern::Is(queue)),
        Test::Redrives(Comparison::AtMost, 0),
    ]);
    let frozen = plans.freeze_where(one, Operation::Discard, &narrow, 10);
    assert_eq!(given(frozen.await), 1);

    let none = draft(ledger, Operation::Redrive).await;
    let succeeded = every(vec![Test::State(State::Succeeded)]);
    let frozen = plans.freeze_where(none, Operation::Redrive, &succeeded, 10);
    assert_eq!(given(frozen.await), 0);
    let refused = plans.freeze_where(none, Operation::Redrive, &everything, 2);
    let refused = refused.await.map_err(|error| error.to_string());
    let said = refused.err().unwrap_or_default();
    assert!(said.contains("more than 2 jobs"), "{said}");
    assert_eq!(given(plans.outline(none).await), PlanOutline::default());
}

pub(crate) async fn plans_are_looked_up_and_stand_in_the_audit(ledger: &Ledger) {
    one_attempt(ledger).await;
    let plans = ledger.store().await.plans();
    let job = job_in(ledger, State::Dead).await;
    let plan = draft(ledger, Operation::Redrive).await;
    given(
        plans
            .freeze_where(plan, Operation::Redrive, &every(Vec::new()), 10)
            .await,
    );
    for event in [PlanEvent::Approve, PlanEvent::Pause] {
        let act = PlanAct {
            plan,
            event,
            actor: OPERATOR.to_owned(),
            note: format!("so {event}"),
        };
        given(plans.act_on_plan(&act).await);
    }
    operate(ledger, job, Operation::Quarantine).await;

    let mut look = ledger.url().look();
    let found = given(look.plan(plan).await).unwrap_or_else(|| panic!("it is there"));
    assert_eq!(found.state, PlanState::Paused);
    assert_eq!(
        found
            .stop_reason
            .as_ref()
            .map(ToString::to_string)
            .as_deref(),
        Some("so pause")
    );
    assert_eq!(given(look.plans(5).await), [found]);
    assert_eq!(given(look.plan(Uuid::now_v7()).await), None);
    let page = PlanJobsPage {
        limit: 5,
        ..PlanJobsPage::default()
    };
    let jobs = given(look.plan_jobs(plan, page).await);
    assert_eq!(jobs.len(), 1);
    assert_eq!((jobs[0].job, jobs[0].outcome), (job, JobOutcome::Waiting));
    let history = given(look.plan_history(plan, 2).await);
    let events: Vec<PlanEvent> = history.iter().map(|entry| entry.event).collect();
    assert_eq!(events, [PlanEvent::Pause, PlanEvent::Approve]);

    // One after the other, also across pages.
    let mut seen = Vec::new();
    let mut page = AuditPage::default();
    loop {
        page = given(look.audit(page.next.as_ref(), 1).await);
        seen.extend(page.acts.iter().map(|act| match &act.what {
            ActKind::Job { event, .. } => event.to_string(),
            ActKind::Plan {
                operation,
                step,
                jobs,
            } => {
                assert_eq!(act.plan, Some(plan));
                format!("{} {step} {jobs}", operation.name())
            }
        }));
        if page.next.is_none() {
            break;
        }
    }
    assert_eq!(seen, ["quarantine", "redrive pause 1", "redrive approve 1"]);
}

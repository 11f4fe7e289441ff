//! Histories for tests: jobs that make legal moves and leave the events and rows that the database
//! would leave. Written from the triggers and apart from the replay that is tested on it.

use std::time::Duration;

use proptest::prelude::*;

use crate::ledger::audit::{
    ApprovedPlan, Chapter, Children, CurrentRow, Doing, Ending, Entry, LastFailure, Moment,
    Outline, Page, PolicyRef, Rules,
};
use crate::ledger::error_class::ErrorClass;
use crate::ledger::event::{ActorKind, EventKind};
use crate::ledger::policy::Policy;
use crate::ledger::state::State;
use crate::ledger::text::SafeText;
use crate::ledger::transition::{
    AttemptStep, Failure, FenceStep, TABLE, Transition, UnsettledStep,
};

use super::{Report, Verifier};

/// The moment at which histories begin: 2026-11-30T02:45:00Z.
pub(super) const BEGIN: Moment = Moment::from_millis(1_796_006_700_000);

/// A redrive that was approved when histories begin.
pub(super) const PLAN: &str = "0197e3f0-0000-7000-8000-00000000000a";
/// One that was approved after they have ended.
pub(super) const LATE_PLAN: &str = "0197e3f0-0000-7000-8000-00000000000b";

fn approved(id: &str, approved_at: Moment) -> ApprovedPlan {
    ApprovedPlan {
        id: text(id),
        operation: text("redrive"),
        approved_at,
    }
}

/// The rules of every test: two versions of one policy, and two plans.
pub(super) fn rules() -> Rules {
    let first = Policy {
        max_attempts: 3,
        max_age: Duration::from_mins(10),
        ..Policy::default_v1()
    };
    let second = Policy {
        version: 2,
        max_attempts: 2,
        ..first.clone()
    };
    Rules {
        policies: vec![first, second],
        plans: vec![
            approved(PLAN, BEGIN),
            approved(LATE_PLAN, BEGIN.plus(Duration::from_hours(24_000))),
        ],
    }
}

fn policy(named: &PolicyRef) -> Policy {
    let policies = rules().policies;
    policies
        .into_iter()
        .find(|policy| policy.version == named.version)
        .unwrap()
}

pub(super) fn text(said: &str) -> SafeText {
    SafeText::new(said)
}

/// What a move leaves open.
#[derive(Debug, Clone, Copy)]
pub(super) struct Choice {
    pick: u16,
    wait_us: u64,
    span_ms: u64,
    name: u8,
}

/// Choices for the life of one job.
pub(super) fn choices(most: usize) -> impl Strategy<Value = Vec<Choice>> {
    let wait = prop_oneof![1 => Just(0), 3 => 0_u64..90_000_000];
    let choice =
        (any::<u16>(), wait, 0_u64..200_000, 0_u8..4).prop_map(|(pick, wait_us, span_ms, name)| {
            Choice {
                pick,
                wait_us,
                span_ms,
                name,
            }
        });
    prop::collection::vec(choice, 1..most)
}

/// One job with everything that it left.
#[derive(Debug, Clone)]
pub(super) struct Story {
    pub(super) entries: Vec<Entry>,
    pub(super) row: CurrentRow,
    pub(super) now: Moment,
}

impl Story {
    /// A job that is enqueued, ready at once.
    pub(super) fn ready() -> Self {
        Self::enqueue(State::Ready, Children::NotAwaited, Duration::ZERO)
    }

    /// A job that is enqueued into that state; a parent where it awaits `children`.
    pub(super) fn enqueue(to: State, children: Children, wait: Duration) -> Self {
        let doing = Doing {
            event: EventKind::Enqueue,
            actor_kind: ActorKind::Producer,
            actor: text("shop"),
            note: None,
            plan: None,
        };
        let policy = PolicyRef {
            name: text("default"),
            version: 1,
        };
        let row = CurrentRow {
            idempotency_key: text("invoice_1"),
            queue: text("billing"),
            created_at: BEGIN,
            state: to,
            state_since: BEGIN,
            updated_at: BEGIN,
            version: 1,
            fence: 0,
            attempt: 0,
            redrives: 0,
            unsettled: 0,
            available_at: BEGIN.plus(wait),
            first_attempt_at: None,
            worker: None,
            lease_expires_at: None,
            policy: policy.clone(),
            output_ref: None,
            failure: LastFailure::default(),
            doing: doing.clone(),
            children,
        };
        let entry = Entry {
            version: 1,
            at: BEGIN,
            doing,
            from: None,
            from_since: None,
            to,
            queue: row.queue.clone(),
            attempt: 0,
            fence: 0,
            worker: None,
            failure: LastFailure::default(),
            policy,
            first_attempt_at: None,
            available_at: (to == State::Pending).then_some(row.available_at),
            lease_expires_at: None,
            from_lease_expires_at: None,
            output_ref: None,
            idempotency_key: Some(row.idempotency_key.clone()),
        };
        Self {
            entries: vec![entry],
            row,
            now: BEGIN,
        }
    }

    /// The life that the choices make: each a legal move, as far as there is one.
    pub(super) fn of(choices: &[Choice]) -> Self {
        let mut choices = choices.iter();
        let mut story = match choices.next() {
            None => Self::ready(),
            Some(first) => match first.pick % 3 {
                0 => Self::ready(),
                1 => Self::enqueue(State::Pending, Children::Done, Duration::ZERO),
                _ => {
                    let wait = Duration::from_millis(first.span_ms + 1);
                    Self::enqueue(State::Pending, Children::NotAwaited, wait)
                }
            },
        };
        for choice in choices {
            story.choose(choice);
        }
        story
    }

    fn choose(&mut self, choice: &Choice) {
        self.now = self.now.plus(Duration::from_micros(choice.wait_us));
        let from = Some(self.row.state);
        let legal: Vec<&Transition> = TABLE
            .iter()
            .filter(|row| row.from == from && self.may(row.event))
            .collect();
        let step = *legal.get(usize::from(choice.pick) % legal.len()).unwrap();
        let span = Duration::from_millis(choice.span_ms);
        self.make(step, span, choice.name);
    }

    /// Whether the triggers would let it through now, or once its moment has come.
    fn may(&self, event: EventKind) -> bool {
        let pending = self.row.state == State::Pending;
        let parent = self.row.children != Children::NotAwaited;
        match event {
            EventKind::ChildrenDone => parent,
            EventKind::Due => !pending || !parent,
            _ => true,
        }
    }

    /// Makes the move to `to` a second after the last, by the first of those who may.
    pub(super) fn then(mut self, event: EventKind, to: State) -> Self {
        self.now = self.now.plus(Duration::from_secs(1));
        let from = Some(self.row.state);
        let step = TABLE
            .iter()
            .find(|row| row.event == event && row.from == from && row.to == to)
            .unwrap();
        self.make(step, Duration::from_secs(30), 0);
        self
    }

    /// The job is claimed and its attempt ends so.
    pub(super) fn attempt(self, event: EventKind, to: State) -> Self {
        self.then(EventKind::Claim, State::Running).then(event, to)
    }

    fn make(&mut self, step: &Transition, span: Duration, name: u8) {
        let old = self.row.clone();
        let step = self.judged(step, span);
        let new = &mut self.row;
        new.version += 1;
        new.updated_at = self.now;
        if step.to != old.state {
            new.state_since = self.now;
        }
        new.state = step.to;
        new.fence += u32::from(step.fence == FenceStep::Next);
        new.unsettled += u32::from(step.unsettled == UnsettledStep::Next);
        new.attempt = match step.attempt {
            AttemptStep::Keep => old.attempt,
            AttemptStep::Next => old.attempt + 1,
            AttemptStep::GiveBack => old.attempt - 1,
            AttemptStep::Reset => 0,
        };
        if step.failure == Failure::Entered {
            let reasons = ["timeout", "rate_limited", "unavailable", "server_error"];
            new.failure = LastFailure {
                class: Some(ErrorClass::Transient),
                reason: Some(text(reasons.get(usize::from(name)).unwrap())),
                error: Some(text(&format!("message {name}"))),
            };
        }
        self.particulars(&old, step, span, name);
        self.record(&old, step);
    }

    /// The move that the budgets make of the one that was meant; waits for its moment.
    fn judged(&mut self, step: &Transition, span: Duration) -> &'static Transition {
        if step.event == EventKind::Due {
            self.now = self.now.max(self.row.available_at);
        }
        if step.event == EventKind::LeaseExpire {
            self.now = self.now.max(self.row.lease_expires_at.unwrap());
        }
        let rules = policy(&self.row.policy);
        let first = self.row.first_attempt_at.unwrap_or(self.now);
        let spent_at = |next: Moment| {
            self.row.attempt >= rules.max_attempts || next > first.plus(rules.max_age)
        };
        let (event, to) = match step.event {
            EventKind::Retry if spent_at(self.now.plus(span)) => (EventKind::Exhaust, State::Dead),
            EventKind::LeaseExpire if spent_at(self.now) => (EventKind::LeaseExpire, State::Dead),
            EventKind::LeaseExpire => (EventKind::LeaseExpire, State::Ready),
            other => (other, step.to),
        };
        TABLE
            .iter()
            .find(|row| {
                let alike = row.event == event && row.actors == step.actors;
                alike && row.from == step.from && row.to == to
            })
            .unwrap()
    }

    fn particulars(&mut self, old: &CurrentRow, step: &Transition, span: Duration, name: u8) {
        let rules = policy(&old.policy);
        let new = &mut self.row;
        let mut actor = format!("{}{name}", step.actors.first().unwrap());
        match step.event {
            EventKind::Claim => {
                new.worker = Some(text(&actor));
                new.lease_expires_at = Some(self.now.plus(span));
                new.first_attempt_at = old.first_attempt_at.or(Some(self.now));
            }
            EventKind::Renew => {
                new.lease_expires_at = old.lease_expires_at.max(Some(self.now.plus(span)));
            }
            EventKind::Retry => new.available_at = self.now.plus(span),
            EventKind::Exhaust if old.attempt < rules.max_attempts => {
                let until = old.first_attempt_at.unwrap().plus(rules.max_age);
                new.available_at = until.plus(span).plus(Duration::from_micros(1));
            }
            EventKind::Promote => new.available_at = new.available_at.min(self.now),
            EventKind::Redrive => {
                new.available_at = new.available_at.min(self.now);
                new.first_attempt_at = None;
                new.redrives += 1;
                new.policy.version = if name == 0 { 2 } else { old.policy.version };
            }
            EventKind::Succeed => new.output_ref = Some(text(&format!("receipts/{name}"))),
            _ => {}
        }
        if new.state != State::Running {
            new.worker = None;
            new.lease_expires_at = None;
        }
        let settles = new.state != State::Running || step.event == EventKind::Renew;
        if old.state == State::Running && settles && step.actors == [ActorKind::Worker] {
            actor = old.worker.clone().unwrap().to_string();
        }
        new.doing = Doing {
            event: step.event,
            actor_kind: *step.actors.first().unwrap(),
            actor: text(&actor),
            note: (name == 1).then(|| text("said so")),
            plan: None,
        };
    }

    fn record(&mut self, old: &CurrentRow, step: &Transition) {
        let new = &self.row;
        let mut failure = new.failure.clone();
        if step.failure == Failure::Silent {
            failure = LastFailure::default();
        }
        if step.failure != Failure::Entered {
            failure.error = None;
        }
        let waits = |row: &CurrentRow| row.state.waits_for_a_moment().then_some(row.available_at);
        self.entries.push(Entry {
            version: new.version,
            at: new.updated_at,
            doing: new.doing.clone(),
            from: Some(old.state),
            from_since: Some(old.state_since),
            to: new.state,
            queue: new.queue.clone(),
            attempt: new.attempt,
            fence: new.fence,
            worker: new.worker.clone().or_else(|| old.worker.clone()),
            failure,
            policy: new.policy.clone(),
            first_attempt_at: new.first_attempt_at.or(old.first_attempt_at),
            available_at: waits(new).or_else(|| waits(old)),
            lease_expires_at: new.lease_expires_at.or(old.lease_expires_at),
            from_lease_expires_at: old
                .lease_expires_at
                .filter(|_end| step.event == EventKind::Renew),
            output_ref: new
                .output_ref
                .clone()
                .filter(|_output| step.event == EventKind::Succeed),
            idempotency_key: None,
        });
    }

    /// The last event.
    pub(super) fn last(&mut self) -> &mut Entry {
        self.entries.last_mut().unwrap()
    }

    /// As an audit reads it.
    pub(super) fn chapter(&self) -> Chapter {
        Chapter {
            job: text("a job"),
            entries: self.entries.iter().cloned().map(Ok).collect(),
            ending: Ending::Row(Box::new(self.row.clone())),
        }
    }

    /// What is found in a ledger of this one job.
    pub(super) fn judge(&self) -> Report {
        judge(vec![self.chapter()])
    }
}

/// What is found in a ledger that is read in one page.
pub(super) fn judge(chapters: Vec<Chapter>) -> Report {
    judge_pages(vec![chapters])
}

/// What is found in a ledger that is read in these pages.
pub(super) fn judge_pages(pages: Vec<Vec<Chapter>>) -> Report {
    let mut verifier = Verifier::new(Outline::default(), 100);
    for chapters in pages {
        verifier.page(&Page {
            rules: rules(),
            chapters,
            numbered: 0,
        });
    }
    verifier.finish()
}

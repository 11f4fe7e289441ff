//! Stories of jobs, written by hand as runs that the table of transitions allows.

use std::time::Duration;

use ledgertop::ledger::audit::{Doing, Entry, LastFailure, Moment, PolicyRef, Unreadable};
use ledgertop::ledger::error_class::ErrorClass;
use ledgertop::ledger::event::{ActorKind, EventKind};
use ledgertop::ledger::job::JobRow;
use ledgertop::ledger::policy::Policy;
use ledgertop::ledger::state::State;
use ledgertop::ledger::text::SafeText;
use ledgertop::ledger::time::Timestamp;
use ledgertop::ledger::transition::{self, AttemptStep, FenceStep, UnsettledStep};
use ledgertop::ledger::view::{Count, JobStory, ListedJob, Relative};
use serde_json::json;
use uuid::Uuid;

use super::sample::NOW_S;

/// The names in a story.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Names {
    pub(crate) key: &'static str,
    pub(crate) queue: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) tenant: &'static str,
    pub(crate) worker: &'static str,
    pub(crate) operator: &'static str,
    pub(crate) error: &'static str,
    pub(crate) note: &'static str,
}

/// Names as they are on most days.
pub(crate) const PLAIN: Names = Names {
    key: "tenant_7:invoice_184:collect",
    queue: "billing",
    kind: "collect_invoice",
    tenant: "tenant_7",
    worker: "pay-7f9c",
    operator: "mara@ssh:10.0.3.9",
    error: "POST /v2/charges: 422 field 'vat_id' is missing",
    note: "INC-2231: schema fixed in 4.2, trying one",
};

/// Names as strangers send them.
pub(crate) const HOSTILE: Names = Names {
    key: "図書館:\u{1b}]0;title\u{7}:🚀🇩🇪",
    queue: "שלום עולם",
    kind: "e\u{301}te\u{301}",
    tenant: "مرحبا بالعالم",
    worker: "\u{202e}gnp.exe\u{200b}\r\n",
    operator: "ﷺ\u{301}\u{302}\u{303}",
    error: "\u{1b}[2J\u{1b}[31mred 図書館 がありません\n",
    note: "🚀 launches \u{9b}31m 🇩🇪 שלום",
};

/// A job's run, step by step; every step is held against the table.
pub(crate) struct Run {
    names: Names,
    events: Vec<Result<Entry, Unreadable>>,
    state: Option<State>,
    version: u32,
    fence: u32,
    attempt: u32,
    redrives: u32,
    unsettled: u32,
    at_us: i64,
    since_us: i64,
    first_attempt: Option<Moment>,
    failure: LastFailure,
    lease: Option<Moment>,
}

/// Who does a step.
pub(crate) type Who = ActorKind;

impl Run {
    /// A job that does not exist yet, `ago` seconds before the story is read.
    pub(crate) fn new(names: Names, ago: i64) -> Self {
        let at_us = (NOW_S - ago) * 1_000_000;
        Self {
            names,
            events: Vec::new(),
            state: None,
            version: 0,
            fence: 0,
            attempt: 0,
            redrives: 0,
            unsettled: 0,
            at_us,
            since_us: at_us,
            first_attempt: None,
            failure: LastFailure::default(),
            lease: None,
        }
    }

    /// After `millis`, `event` leads to `to`.
    pub(crate) fn step(mut self, millis: i64, event: EventKind, to: State, who: Who) -> Self {
        let row = transition::find(event, self.state, to, who);
        assert!(
            row.is_some(),
            "{who} may not {event} {:?} → {to}",
            self.state
        );
        let row = row.unwrap();
        self.at_us += millis * 1_000;
        self.version += 1;
        let at = Moment::from_micros(self.at_us);
        if row.fence == FenceStep::Next {
            self.fence += 1;
        }
        self.attempt = match row.attempt {
            AttemptStep::Keep => self.attempt,
            AttemptStep::Next => self.attempt + 1,
            AttemptStep::GiveBack => self.attempt - 1,
            AttemptStep::Reset => 0,
        };
        if row.unsettled == UnsettledStep::Next {
            self.unsettled += 1;
        }
        if event == EventKind::Redrive {
            self.redrives += 1;
            self.first_attempt = None;
        }
        if event == EventKind::Claim {
            self.first_attempt.get_or_insert(at);
        }
        if matches!(event, EventKind::Claim | EventKind::Renew) {
            self.lease = Some(at.plus(Duration::from_mins(5)));
        }
        let failure = self.failed(row.failure, event);
        let (actor, note) = self.words(event, who);
        let worker = self.state == Some(State::Running) || to == State::Running;
        self.events.push(Ok(Entry {
            version: self.version,
            at,
            doing: Doing {
                event,
                actor_kind: who,
                actor: SafeText::new(actor),
                note: note.map(SafeText::new),
                plan: None,
            },
            from: self.state,
            from_since: self.state.map(|_| Moment::from_micros(self.since_us)),
            to,
            queue: SafeText::new(self.names.queue),
            attempt: self.attempt,
            fence: self.fence,
            worker: worker.then(|| SafeText::new(self.names.worker)),
            failure,
            policy: PolicyRef {
                name: SafeText::new("default"),
                version: 1,
            },
            first_attempt_at: self.first_attempt,
            available_at: (to == State::RetryWait).then(|| at.plus(Duration::from_secs(90))),
            lease_expires_at: self.lease.filter(|_| worker),
            from_lease_expires_at: None,
            output_ref: (to == State::Succeeded).then(|| SafeText::new("s3://out/184.pdf")),
            idempotency_key: None,
        }));
        if self.state != Some(to) {
            self.since_us = self.at_us;
        }
        self.state = Some(to);
        self
    }

    fn failed(&mut self, what: transition::Failure, event: EventKind) -> LastFailure {
        match what {
            transition::Failure::Silent => LastFailure::default(),
            transition::Failure::Carried => self.failure.clone(),
            transition::Failure::Entered => {
                self.failure = self.failure_of(event);
                self.failure.clone()
            }
        }
    }

    fn failure_of(&self, event: EventKind) -> LastFailure {
        let (class, reason, error) = match event {
            EventKind::LeaseExpire => (
                ErrorClass::Transient,
                "lease_expired",
                "the lease ran out before the attempt was settled",
            ),
            EventKind::Reject => (ErrorClass::Permanent, "schema_violation", self.names.error),
            _ if self.attempt.is_multiple_of(2) => (
                ErrorClass::Transient,
                "rate_limited",
                "429, Retry-After: 90",
            ),
            _ => (ErrorClass::Transient, "timeout", "no answer in 30 s"),
        };
        LastFailure {
            class: Some(class),
            reason: Some(SafeText::new(reason)),
            error: Some(SafeText::new(error)),
        }
    }

    fn words(&self, event: EventKind, who: Who) -> (&'static str, Option<&'static str>) {
        match who {
            Producer => ("intake", None),
            Worker => (
                self.names.worker,
                (event == EventKind::StaleRefused).then_some("succeed with fence 2"),
            ),
            System => ("housekeeping", None),
            Operator => (self.names.operator, Some(self.names.note)),
        }
    }

    /// The event of this number can no longer be read.
    pub(crate) fn corrupt(mut self, number: usize) -> Self {
        self.events[number - 1] = Err(Unreadable {
            version: i64::try_from(number).ok(),
            column: "reason",
            value: SafeText::new("t\u{1b}imeout"),
        });
        self
    }

    /// What is read of it, `left_out` events in its middle left out.
    pub(crate) fn story(self, left_out: usize) -> JobStory {
        let Names {
            key,
            queue,
            kind,
            tenant,
            ..
        } = self.names;
        let mut events = self.events;
        let shown = events.len() - left_out;
        events.drain(shown / 2..shown / 2 + left_out);
        let moment = |us: i64| Timestamp::from_millis(us / 1_000);
        let state = self.state.unwrap();
        let running = state == State::Running;
        JobStory {
            as_of: Timestamp::from_seconds(NOW_S),
            job: ListedJob {
                row: JobRow {
                    id: Uuid::from_u128(0x0193_7d2a_0b3c_7def_8123_4567_89ab_cdef),
                    idempotency_key: SafeText::new(key),
                    queue: SafeText::new(queue),
                    kind: SafeText::new(kind),
                    tenant: SafeText::new(tenant),
                    state,
                    state_since: moment(self.since_us),
                    version: self.version,
                    fence: self.fence,
                    attempt: self.attempt,
                    redrives: self.redrives,
                    available_at: moment(self.at_us),
                    output_ref: None,
                },
                created_at: match &events[0] {
                    Ok(entry) => moment(entry.at.micros()),
                    Err(_) => Timestamp::default(),
                },
                class: self.failure.class,
                reason: self.failure.reason.clone(),
                error: self.failure.error.clone(),
                worker: running.then(|| SafeText::new(self.names.worker)),
                lease_expires_at: self
                    .lease
                    .filter(|_| running)
                    .map(|lease| moment(lease.micros())),
                policy: SafeText::new("default"),
                policy_version: 1,
                unsettled: self.unsettled,
            },
            event_id: Some(SafeText::new("evt_8Zk2")),
            schema_version: Some(SafeText::new("2")),
            payload: json!({"invoice": "in_184", "iban": "DE89 3704 0044", "amount": 4_200}),
            first_attempt_at: self.first_attempt.map(|first| moment(first.micros())),
            rules: Some(Policy::default_v1()),
            parent: None,
            children: Vec::new(),
            children_count: Count::Exact(0),
            events,
            left_out: u64::try_from(left_out).unwrap(),
        }
    }
}

use ActorKind::{Operator, Producer, System, Worker};
use EventKind as E;
use State as S;

/// A job that everything happened to, in quarantine at last.
pub(crate) fn eventful(names: Names) -> Run {
    Run::new(names, 7_421)
        .step(0, E::Enqueue, S::Ready, Producer)
        .step(1_240, E::Claim, S::Running, Worker)
        .step(30_004, E::Retry, S::RetryWait, Worker)
        .step(91_000, E::Due, S::Ready, System)
        .step(400, E::Claim, S::Running, Worker)
        .step(61_000, E::Renew, S::Running, Worker)
        .step(300_120, E::LeaseExpire, S::Ready, System)
        .step(2_100, E::StaleRefused, S::Ready, Worker)
        .step(800, E::Claim, S::Running, Worker)
        .step(5, E::Duplicate, S::Running, Producer)
        .step(210, E::Retry, S::RetryWait, Worker)
        .step(45_000, E::Promote, S::Ready, Operator)
        .step(90, E::Claim, S::Running, Worker)
        .step(1_204, E::Reject, S::Quarantined, Worker)
        .step(3_600_000, E::Redrive, S::Ready, Operator)
        .step(12, E::Claim, S::Running, Worker)
        .step(388, E::Reject, S::Quarantined, Worker)
}

/// A job that was just made.
pub(crate) fn fresh(names: Names) -> JobStory {
    Run::new(names, 14)
        .step(0, E::Enqueue, S::Ready, Producer)
        .story(0)
}

/// A parent that a worker holds, past the end of its lease.
pub(crate) fn held(names: Names) -> JobStory {
    let run = Run::new(names, 1_300)
        .step(0, E::Enqueue, S::Pending, Producer)
        .step(600_000, E::ChildrenDone, S::Ready, System)
        .step(350_000, E::Claim, S::Running, Worker);
    let child = |number: u8, required, state| Relative {
        idempotency_key: SafeText::new(&format!("{}:image_{number}", names.key)),
        required,
        job: Some((Uuid::from_u128(u128::from(number)), state)),
    };
    JobStory {
        parent: Some(Relative {
            idempotency_key: SafeText::new("tenant_7:month_11"),
            required: true,
            job: None,
        }),
        children: vec![
            child(1, true, S::Succeeded),
            child(2, true, S::Succeeded),
            child(3, false, S::Dead),
        ],
        children_count: Count::Exact(3),
        ..run.story(0)
    }
}

/// A job with very many events, most of them left out.
pub(crate) fn endless(names: Names) -> JobStory {
    let mut run = Run::new(names, 90_000).step(0, E::Enqueue, S::Ready, Producer);
    for _ in 0..2_499 {
        run = run
            .step(1_000, E::Claim, S::Running, Worker)
            .step(2_000, E::Duplicate, S::Running, Producer)
            .step(3_000, E::Retry, S::RetryWait, Worker)
            .step(9_000, E::Due, S::Ready, System);
    }
    run.step(500, E::Claim, S::Running, Worker)
        .step(500, E::Exhaust, S::Dead, Worker)
        .story(9_000)
}

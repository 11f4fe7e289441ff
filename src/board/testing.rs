//! Runs for tests: jobs that walk THE table at random, the events they leave, and their rows, kept
//! as the database keeps them. What a board says is compared with a count of the rows.
//!
//! A run is made from a list of [`Choice`]s, one an event, so that a property that fails shrinks to
//! few choices, and the rows after the first k events are those of the first k choices.

use std::collections::BTreeMap;
use std::time::Duration;

use proptest::prelude::*;
use uuid::Uuid;

use crate::ledger::error_class::{ErrorClass, REASONS};
use crate::ledger::event::{Event, EventKind, FailureKey};
use crate::ledger::feed::{Base, Cell};
use crate::ledger::num;
use crate::ledger::state::State;
use crate::ledger::text::SafeText;
use crate::ledger::time::Timestamp;
use crate::ledger::transition::{AttemptStep, Failure, TABLE, Transition};

/// The moment at which runs begin: 2026-11-30T02:45:00Z.
pub(crate) const BEGIN: Timestamp = Timestamp::from_seconds(1_796_006_700);

/// How many jobs a run has at most.
const JOBS: u8 = 12;

/// What happens next, to which job.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Choice {
    /// Which job; its queue follows from it.
    job: u8,
    /// Which of the legal moves, and by whom.
    pick: u16,
    /// How long after the choice before.
    wait_ms: u32,
    /// How much earlier the event says it happened: its transaction was long.
    late_ms: u32,
    /// How long a lease or a wait lasts.
    span_ms: u32,
    /// Which worker, and which reason.
    name: u8,
}

/// Choices for a run of up to `most` events; up to about an hour long.
pub(crate) fn choices(most: usize) -> impl Strategy<Value = Vec<Choice>> {
    let wait = prop_oneof![4 => 0_u32..3_000, 1 => 0_u32..60_000, 1 => Just(0)];
    let late = prop_oneof![3 => Just(0), 1 => 0_u32..8_000];
    let choice = (0..JOBS, any::<u16>(), wait, late, 0_u32..90_000, 0_u8..6).prop_map(
        |(job, pick, wait_ms, late_ms, span_ms, name)| Choice {
            job,
            pick,
            wait_ms,
            late_ms,
            span_ms,
            name,
        },
    );
    prop::collection::vec(choice, 1..most)
}

/// A job as the table `jobs` holds it.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub(crate) id: Uuid,
    pub(crate) queue: SafeText,
    pub(crate) version: u32,
    pub(crate) state: State,
    pub(crate) since: Timestamp,
    pub(crate) updated_at: Timestamp,
    pub(crate) attempt: u32,
    pub(crate) first_attempt_at: Option<Timestamp>,
    pub(crate) available_at: Timestamp,
    pub(crate) lease_expires_at: Option<Timestamp>,
    pub(crate) worker: Option<SafeText>,
    pub(crate) failure: FailureKey,
}

/// Jobs with the events they left.
#[derive(Debug, Clone)]
pub(crate) struct Run {
    /// In the order in which they were committed.
    pub(crate) events: Vec<Event>,
    /// The moment of the last choice; no event is later.
    pub(crate) now: Timestamp,
    rows: BTreeMap<u8, Row>,
}

impl Run {
    /// The run that the choices make.
    pub(crate) fn of(choices: &[Choice]) -> Self {
        let mut run = Self {
            events: Vec::new(),
            now: BEGIN,
            rows: BTreeMap::new(),
        };
        for choice in choices {
            run.step(choice);
        }
        run
    }

    /// The rows as they are now.
    pub(crate) fn rows(&self) -> impl Iterator<Item = &Row> {
        self.rows.values()
    }

    /// What a database would count now, with the events at or after `recent_since`.
    pub(crate) fn base(&self, recent_since: Timestamp) -> Base {
        let recent = self.events.iter().filter(|event| event.at >= recent_since);
        Base {
            as_of: self.now,
            cells: self.cells(),
            recent: recent.cloned().collect(),
            recent_since,
        }
    }

    /// The live rows, counted.
    pub(crate) fn cells(&self) -> Vec<Cell> {
        let mut cells: BTreeMap<Cell, u64> = BTreeMap::new();
        for row in self.rows().filter(|row| !row.state.is_terminal()) {
            *cells.entry(row.cell()).or_default() += 1;
        }
        let mut counted: Vec<Cell> = cells
            .into_iter()
            .map(|(cell, count)| Cell { count, ..cell })
            .collect();
        counted.sort();
        counted
    }

    fn step(&mut self, choice: &Choice) {
        self.now = self.now.plus(millis(choice.wait_ms));
        let said = self.now.minus(millis(choice.late_ms));
        let before = self.rows.get(&choice.job);
        let from = before.map(|row| row.state);
        let legal: Vec<&Transition> = TABLE.iter().filter(|row| row.from == from).collect();
        let pick = usize::from(choice.pick);
        let row = *legal.get(pick % legal.len()).unwrap();
        let at = before.map_or(said, |row| row.updated_at.max(said));
        let queues = ["thumbnails", "digest", "billing", "図書館"];
        let queue = queues.get(usize::from(choice.job) % queues.len()).unwrap();
        let detail = Detail {
            pick: choice.pick >> 8,
            span: millis(choice.span_ms),
            name: choice.name,
        };
        let new = blank(u32::from(choice.job), queue, at);
        let (after, event) = change(before, new, row, (at, detail));
        self.rows.insert(choice.job, after);
        self.events.push(event);
    }
}

/// What a move leaves open.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Detail {
    /// By whom, of those who may.
    pub(crate) pick: u16,
    /// How long the lease or the wait lasts that begins.
    pub(crate) span: Duration,
    /// Which worker, and which failure; see [`failure`].
    pub(crate) name: u8,
}

/// A run written out by hand, in seconds after [`BEGIN`].
#[derive(Debug, Clone, Default)]
pub(crate) struct Script {
    rows: BTreeMap<u32, Row>,
    pub(crate) events: Vec<Event>,
    detail: Option<Detail>,
}

/// The moment that many seconds after [`BEGIN`].
pub(crate) fn at(seconds: u64) -> Timestamp {
    BEGIN.plus(Duration::from_secs(seconds))
}

impl Script {
    /// From here on, leases and waits last `span`, and workers and failures are those of `name`.
    pub(crate) fn with(&mut self, span: Duration, name: u8) {
        self.detail = Some(Detail {
            pick: 0,
            span,
            name,
        });
    }

    /// A job of `queue` makes the legal move to `to`, by the first of those who may cause it.
    pub(crate) fn step(&mut self, seconds: u64, job: (&str, u32), event: EventKind, to: State) {
        let (queue, id) = job;
        let before = self.rows.get(&id);
        let from = before.map(|row| row.state);
        let legal = |row: &&Transition| row.event == event && row.from == from && row.to == to;
        let row = TABLE.iter().find(legal).unwrap();
        let detail = self.detail.unwrap_or(Detail {
            pick: 0,
            span: Duration::from_mins(1),
            name: 0,
        });
        let new = blank(id, queue, at(seconds));
        let (after, event) = change(before, new, row, (at(seconds), detail));
        self.rows.insert(id, after);
        self.events.push(event);
    }

    /// A job of `queue` is enqueued.
    pub(crate) fn enqueue(&mut self, seconds: u64, job: (&str, u32)) {
        self.step(seconds, job, EventKind::Enqueue, State::Ready);
    }

    /// A ready job is claimed, and at the same moment its attempt ends by `event`.
    pub(crate) fn attempt(&mut self, seconds: u64, job: (&str, u32), event: EventKind, to: State) {
        self.step(seconds, job, EventKind::Claim, State::Running);
        self.step(seconds, job, event, to);
    }

    /// A job is enqueued, and at the same moment claimed and rejected.
    pub(crate) fn reject(&mut self, seconds: u64, job: (&str, u32)) {
        self.enqueue(seconds, job);
        self.attempt(seconds, job, EventKind::Reject, State::Quarantined);
    }
}

impl Row {
    fn cell(&self) -> Cell {
        let waits = self.state.waits_for_a_moment();
        let failed = self.state == State::RetryWait || self.state.is_dead_letter();
        Cell {
            queue: self.queue.clone(),
            state: self.state,
            since_s: self.since.second(),
            failure: if failed {
                self.failure.clone()
            } else {
                FailureKey::default()
            },
            available_s: waits.then(|| self.available_at.second()),
            lease_expires_s: self.lease_expires_at.map(Timestamp::second),
            worker: self.worker.clone(),
            count: 0,
        }
    }
}

fn millis(millis: u32) -> Duration {
    Duration::from_millis(u64::from(millis))
}

/// A job before anything is known of it.
fn blank(id: u32, queue: &str, at: Timestamp) -> Row {
    Row {
        id: Uuid::from_u128(u128::from(id)),
        queue: SafeText::new(queue),
        version: 0,
        state: State::Pending,
        since: at,
        updated_at: at,
        attempt: 0,
        first_attempt_at: None,
        available_at: at,
        lease_expires_at: None,
        worker: None,
        failure: FailureKey::default(),
    }
}

/// Another failure for each name.
pub(crate) fn failure(name: u8) -> FailureKey {
    let (reason, class) = REASONS.get(usize::from(name) % REASONS.len()).unwrap();
    FailureKey {
        class: Some(*class),
        reason: Some(SafeText::new(reason)),
    }
}

/// Does to a row what the database does, and leaves the event that its trigger leaves. `blank` is
/// the row of a job that is new.
fn change(
    before: Option<&Row>,
    blank: Row,
    step: &Transition,
    (at, detail): (Timestamp, Detail),
) -> (Row, Event) {
    let old = before.cloned().unwrap_or(blank);
    let span = detail.span;
    let mut new = old.clone();
    new.version += 1;
    new.updated_at = at;
    new.state = step.to;
    if before.is_none() || old.state != step.to {
        new.since = at;
    }
    new.attempt = match step.attempt {
        AttemptStep::Keep => old.attempt,
        AttemptStep::Next => old.attempt + 1,
        AttemptStep::GiveBack => old.attempt.saturating_sub(1),
        AttemptStep::Reset => 0,
    };
    if step.failure == Failure::Entered {
        new.failure = failure(detail.name);
        if step.event == EventKind::LeaseExpire {
            new.failure = FailureKey {
                class: Some(ErrorClass::Transient),
                reason: Some(SafeText::new("lease_expired")),
            };
        }
    }
    match step.event {
        EventKind::Claim => {
            new.worker = Some(SafeText::new(&format!("w{}", detail.name)));
            new.lease_expires_at = Some(at.plus(span));
            new.first_attempt_at = old.first_attempt_at.or(Some(at));
        }
        EventKind::Renew => {
            new.lease_expires_at = old.lease_expires_at.map(|end| end.plus(span));
        }
        EventKind::Retry => new.available_at = at.plus(span),
        EventKind::Enqueue if step.to == State::Pending => new.available_at = at.plus(span),
        EventKind::Redrive => {
            new.first_attempt_at = None;
            new.available_at = at;
        }
        EventKind::Promote => new.available_at = at,
        EventKind::Enqueue
        | EventKind::ChildrenDone
        | EventKind::Succeed
        | EventKind::Exhaust
        | EventKind::Reject
        | EventKind::Release
        | EventKind::LeaseExpire
        | EventKind::Due
        | EventKind::Quarantine
        | EventKind::Revoke
        | EventKind::Discard
        | EventKind::Duplicate
        | EventKind::StaleRefused => {}
    }
    if new.state != State::Running {
        new.worker = None;
        new.lease_expires_at = None;
    }
    let event = event(before, &new, step, detail);
    (new, event)
}

fn event(before: Option<&Row>, new: &Row, step: &Transition, detail: Detail) -> Event {
    let actor = step
        .actors
        .get(usize::from(detail.pick) % step.actors.len())
        .unwrap();
    let old_wait = before.filter(|row| row.state.waits_for_a_moment());
    let new_wait = new.state.waits_for_a_moment().then_some(new);
    Event {
        job: new.id,
        version: new.version,
        kind: step.event,
        at: new.updated_at,
        queue: new.queue.clone(),
        from: step.from,
        from_since: before.map(|row| row.since),
        to: step.to,
        attempt: new.attempt,
        actor_kind: *actor,
        actor: SafeText::new(actor.name()),
        worker: new
            .worker
            .clone()
            .or_else(|| before.and_then(|row| row.worker.clone())),
        failure: if step.failure == Failure::Silent {
            FailureKey::default()
        } else {
            new.failure.clone()
        },
        available_at: new_wait.or(old_wait).map(|row| row.available_at),
        lease_expires_at: new
            .lease_expires_at
            .or_else(|| before.and_then(|row| row.lease_expires_at)),
        from_lease_expires_at: before
            .filter(|_| step.event == EventKind::Renew)
            .and_then(|row| row.lease_expires_at),
        first_attempt_at: new
            .first_attempt_at
            .or_else(|| before.and_then(|row| row.first_attempt_at)),
        note: None,
    }
}

/// How many of `items` there are, as a counter.
pub(crate) fn many(items: impl Iterator) -> u64 {
    num::count(items.count())
}

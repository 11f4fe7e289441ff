//! The store's edge: what a database holds as text and integers becomes the domain's types here, or
//! an error that names the job and the column. Nothing behind this file meets a raw value.
//!
//! Owns the checks; knows no driver: `sqlite` and `postgres` read their rows into the `Raw…` types
//! and call `check`. Text that people will see becomes [`SafeText`] on the way. Next on the walk of
//! a row to a cell: [`crate::ledger::feed`], then `Board::apply`.

use std::collections::HashSet;
use std::fmt::Display;
use std::time::Duration;

use uuid::Uuid;

use super::{BATCH_MAX, StoreError};
use crate::ledger::error_class::ErrorClass;
use crate::ledger::event::{ActorKind, Event, EventKind, FailureKey};
use crate::ledger::feed::Cell;
use crate::ledger::job::{Claimed, Disposition, JobRow, NewJob, Operation, Settlement, Verdict};
use crate::ledger::num;
use crate::ledger::policy::{OnUnknown, Policy};
use crate::ledger::state::State;
use crate::ledger::text::SafeText;
use crate::ledger::time::Timestamp;
use crate::ledger::transition;

/// How much of a value that cannot be read is shown, in characters.
const SHOWN_MAX: usize = 80;

/// Whether settling these may make a job ready.
pub(crate) fn frees_work(settlements: &[Settlement]) -> bool {
    settlements
        .iter()
        .any(|settlement| match settlement.verdict {
            Verdict::Release => true,
            Verdict::Succeed { .. } | Verdict::Retry { .. } | Verdict::Reject { .. } => false,
        })
}

/// The error for a value that cannot be understood.
pub(crate) fn corrupt(job: impl Display, column: &'static str, value: impl Display) -> StoreError {
    let value: String = value.to_string().chars().take(SHOWN_MAX).collect();
    StoreError::Corrupt {
        job: SafeText::new(&job.to_string()),
        column,
        value: SafeText::new(&value),
    }
}

/// A state by its name.
pub(crate) fn state(
    job: impl Display,
    column: &'static str,
    text: &str,
) -> Result<State, StoreError> {
    State::parse(text).ok_or_else(|| corrupt(job, column, text))
}

/// An integer that counts something and is therefore not negative and fits 32 bits.
pub(crate) fn counter(
    job: impl Display,
    column: &'static str,
    value: i64,
) -> Result<u32, StoreError> {
    u32::try_from(value).map_err(|_out_of_range| corrupt(job, column, value))
}

/// A span stored in milliseconds; a negative one counts as none.
pub(crate) fn span(millis: i64) -> Duration {
    Duration::from_millis(num::unsigned(millis))
}

/// A span as the milliseconds that are stored; saturates.
pub(crate) fn millis(span: Duration) -> i64 {
    i64::try_from(span.as_millis()).unwrap_or(i64::MAX)
}

/// The longest span that is stored: 100 years, as the checks of `policies` have it.
const SPAN_MAX_MS: i64 = 3_155_760_000_000;

/// A span as milliseconds, no longer than what a database adds to a moment without overflow.
pub(crate) fn bound_millis(span: Duration) -> i64 {
    millis(span).min(SPAN_MAX_MS)
}

/// The event that a verdict asks for; a retry beyond the budget becomes an exhaust.
pub(crate) const fn verdict_event(verdict: &Verdict) -> EventKind {
    match verdict {
        Verdict::Succeed { .. } => EventKind::Succeed,
        Verdict::Retry { .. } => EventKind::Retry,
        Verdict::Reject { .. } => EventKind::Reject,
        Verdict::Release => EventKind::Release,
    }
}

/// What an operation is in the table of transitions: its event, the state it leads to, and the
/// states it may leave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Move {
    pub(crate) event: EventKind,
    pub(crate) to: State,
    pub(crate) from: Vec<State>,
}

impl Move {
    /// Read from the table, for `actor`.
    pub(crate) fn of(operation: Operation, actor: ActorKind) -> Self {
        let (event, to) = (operation.event(), operation.leads_to());
        let from = State::ALL
            .into_iter()
            .filter(|from| transition::find(event, Some(*from), to, actor).is_some())
            .collect();
        Self { event, to, from }
    }
}

/// What a transport is told about a delivery of a job that cannot be claimed. `None` for a job that
/// can: another writer was quicker, look again.
pub(crate) const fn disposition(state: State) -> Option<Disposition> {
    match state {
        State::Ready => None,
        State::Pending | State::RetryWait => Some(Disposition::AlreadyScheduled),
        State::Running => Some(Disposition::AlreadyRunning),
        State::Succeeded => Some(Disposition::AlreadySucceeded),
        State::Dead | State::Quarantined | State::Discarded => Some(Disposition::SetAside(state)),
    }
}

/// Refuses a batch for its first job that breaks a bound, naming the job's place and key.
pub(crate) fn refuse_bad_jobs(jobs: &[NewJob]) -> Result<(), StoreError> {
    if jobs.len() > BATCH_MAX {
        let message = format!("{} jobs at once, at most {BATCH_MAX} are taken", jobs.len());
        return Err(refused("enqueue", &message));
    }
    for (place, job) in jobs.iter().enumerate() {
        if let Err(bad) = job.check() {
            let key: String = job.idempotency_key.chars().take(SHOWN_MAX).collect();
            let number = place.saturating_add(1);
            let message = format!("job {number} of {} (key '{key}'): {bad}", jobs.len());
            return Err(refused("enqueue", &message));
        }
    }
    Ok(())
}

fn refused(operation: &'static str, message: &str) -> StoreError {
    StoreError::Refused {
        operation,
        message: SafeText::new(message),
    }
}

/// The longest beginning of `text` that has at most `max` bytes and ends between two characters,
/// without the NUL characters that no database keeps in text.
pub(crate) fn cut(text: &str, max: usize) -> String {
    let mut kept: String = text.chars().filter(|each| *each != '\0').collect();
    while kept.len() > max {
        kept.pop();
    }
    kept
}

fn safe(text: Option<&str>) -> Option<SafeText> {
    text.map(SafeText::new)
}

fn failure(
    job: impl Display,
    class: Option<&str>,
    reason: Option<&str>,
) -> Result<FailureKey, StoreError> {
    let class = match class {
        Some(text) => {
            Some(ErrorClass::parse(text).ok_or_else(|| corrupt(job, "error_class", text))?)
        }
        None => None,
    };
    Ok(FailureKey {
        class,
        reason: safe(reason),
    })
}

/// A row of `job_events` as it is stored.
#[derive(Debug)]
pub(crate) struct RawEvent<'r> {
    pub(crate) job: Uuid,
    pub(crate) version: i64,
    pub(crate) event: &'r str,
    pub(crate) at: Timestamp,
    pub(crate) queue: &'r str,
    pub(crate) from_state: Option<&'r str>,
    pub(crate) from_since: Option<Timestamp>,
    pub(crate) to_state: &'r str,
    pub(crate) attempt: i64,
    pub(crate) actor_kind: &'r str,
    pub(crate) actor: &'r str,
    pub(crate) worker: Option<&'r str>,
    pub(crate) error_class: Option<&'r str>,
    pub(crate) reason: Option<&'r str>,
    pub(crate) available_at: Option<Timestamp>,
    pub(crate) lease_expires_at: Option<Timestamp>,
    pub(crate) from_lease_expires_at: Option<Timestamp>,
    pub(crate) first_attempt_at: Option<Timestamp>,
    pub(crate) note: Option<&'r str>,
}

impl RawEvent<'_> {
    /// The event, if every column can be understood.
    pub(crate) fn check(self) -> Result<Event, StoreError> {
        let job = self.job;
        let from = match self.from_state {
            Some(text) => Some(state(job, "from_state", text)?),
            None => None,
        };
        Ok(Event {
            job,
            version: counter(job, "version", self.version)?,
            kind: EventKind::parse(self.event).ok_or_else(|| corrupt(job, "event", self.event))?,
            at: self.at,
            queue: SafeText::new(self.queue),
            from,
            from_since: self.from_since,
            to: state(job, "to_state", self.to_state)?,
            attempt: counter(job, "attempt", self.attempt)?,
            actor_kind: ActorKind::parse(self.actor_kind)
                .ok_or_else(|| corrupt(job, "actor_kind", self.actor_kind))?,
            actor: SafeText::new(self.actor),
            worker: safe(self.worker),
            failure: failure(job, self.error_class, self.reason)?,
            available_at: self.available_at,
            lease_expires_at: self.lease_expires_at,
            from_lease_expires_at: self.from_lease_expires_at,
            first_attempt_at: self.first_attempt_at,
            note: safe(self.note),
        })
    }
}

/// A row of the base load's counts.
#[derive(Debug)]
pub(crate) struct RawCell<'r> {
    pub(crate) queue: &'r str,
    pub(crate) state: &'r str,
    pub(crate) since_s: i64,
    pub(crate) error_class: Option<&'r str>,
    pub(crate) reason: Option<&'r str>,
    pub(crate) available_s: Option<i64>,
    pub(crate) lease_expires_s: Option<i64>,
    pub(crate) worker: Option<&'r str>,
    pub(crate) count: i64,
}

impl RawCell<'_> {
    /// The cell, if every column can be understood.
    pub(crate) fn check(self) -> Result<Cell, StoreError> {
        Ok(Cell {
            queue: SafeText::new(self.queue),
            state: state("-", "state", self.state)?,
            since_s: self.since_s,
            failure: failure("-", self.error_class, self.reason)?,
            available_s: self.available_s,
            lease_expires_s: self.lease_expires_s,
            worker: safe(self.worker),
            count: num::unsigned(self.count),
        })
    }
}

/// The names that occur in one reading, each kept once: a base of a million groups names fifty
/// queues.
#[derive(Debug, Default)]
pub(crate) struct Names(HashSet<SafeText>);

impl Names {
    /// The cell with names that are shared.
    pub(crate) fn of_cell(&mut self, mut cell: Cell) -> Cell {
        self.share(Some(&mut cell.queue));
        self.share(cell.failure.reason.as_mut());
        self.share(cell.worker.as_mut());
        cell
    }

    /// The event with names that are shared; a note is rarely said twice.
    pub(crate) fn of_event(&mut self, mut event: Event) -> Event {
        self.share(Some(&mut event.queue));
        self.share(Some(&mut event.actor));
        self.share(event.failure.reason.as_mut());
        self.share(event.worker.as_mut());
        event
    }

    fn share(&mut self, name: Option<&mut SafeText>) {
        let Some(name) = name else { return };
        if let Some(known) = self.0.get(name) {
            name.clone_from(known);
        } else {
            self.0.insert(name.clone());
        }
    }
}

/// A row of `policies` as it is stored.
#[derive(Debug)]
pub(crate) struct RawPolicy<'r> {
    pub(crate) name: &'r str,
    pub(crate) version: i64,
    pub(crate) max_attempts: i64,
    pub(crate) max_age_ms: i64,
    pub(crate) backoff_base_ms: i64,
    pub(crate) backoff_cap_ms: i64,
    pub(crate) retry_after_cap_ms: i64,
    pub(crate) on_unknown: &'r str,
}

impl RawPolicy<'_> {
    /// The policy, if every column can be understood.
    pub(crate) fn check(self) -> Result<Policy, StoreError> {
        Ok(Policy {
            name: self.name.to_owned(),
            version: counter("-", "policy_version", self.version)?,
            max_attempts: counter("-", "max_attempts", self.max_attempts)?,
            max_age: span(self.max_age_ms),
            backoff_base: span(self.backoff_base_ms),
            backoff_cap: span(self.backoff_cap_ms),
            retry_after_cap: span(self.retry_after_cap_ms),
            on_unknown: OnUnknown::parse(self.on_unknown)
                .ok_or_else(|| corrupt("-", "on_unknown", self.on_unknown))?,
        })
    }
}

/// A claimed job as the claiming statement returns it.
#[derive(Debug)]
pub(crate) struct RawClaim<'r> {
    pub(crate) id: Uuid,
    pub(crate) fence: i64,
    pub(crate) version: i64,
    pub(crate) attempt: i64,
    pub(crate) redrives: i64,
    pub(crate) queue: &'r str,
    pub(crate) kind: &'r str,
    pub(crate) tenant: &'r str,
    pub(crate) idempotency_key: &'r str,
    pub(crate) payload: serde_json::Value,
    pub(crate) schema_version: Option<&'r str>,
    pub(crate) claimed_at: Timestamp,
    pub(crate) lease_expires_at: Timestamp,
    pub(crate) first_attempt_at: Timestamp,
    pub(crate) policy: &'r Policy,
}

impl RawClaim<'_> {
    /// The claimed job, if every column can be understood.
    pub(crate) fn check(self) -> Result<Claimed, StoreError> {
        let job = self.id;
        Ok(Claimed {
            id: job,
            fence: counter(job, "fence", self.fence)?,
            version: counter(job, "version", self.version)?,
            attempt: counter(job, "attempt", self.attempt)?,
            redrives: counter(job, "redrives", self.redrives)?,
            queue: self.queue.to_owned(),
            kind: self.kind.to_owned(),
            tenant: self.tenant.to_owned(),
            idempotency_key: self.idempotency_key.to_owned(),
            payload: self.payload,
            schema_version: self.schema_version.map(str::to_owned),
            claimed_at: self.claimed_at,
            lease_expires_at: self.lease_expires_at,
            first_attempt_at: self.first_attempt_at,
            policy: self.policy.clone(),
        })
    }
}

/// A row of `jobs` as listings show it.
#[derive(Debug)]
pub(crate) struct RawJob<'r> {
    pub(crate) id: Uuid,
    pub(crate) idempotency_key: &'r str,
    pub(crate) queue: &'r str,
    pub(crate) kind: &'r str,
    pub(crate) tenant: &'r str,
    pub(crate) state: &'r str,
    pub(crate) state_since: Timestamp,
    pub(crate) version: i64,
    pub(crate) fence: i64,
    pub(crate) attempt: i64,
    pub(crate) redrives: i64,
    pub(crate) available_at: Timestamp,
    pub(crate) output_ref: Option<&'r str>,
}

impl RawJob<'_> {
    /// The job, if every column can be understood.
    pub(crate) fn check(self) -> Result<JobRow, StoreError> {
        let job = self.id;
        Ok(JobRow {
            id: job,
            idempotency_key: SafeText::new(self.idempotency_key),
            queue: SafeText::new(self.queue),
            kind: SafeText::new(self.kind),
            tenant: SafeText::new(self.tenant),
            state: state(job, "state", self.state)?,
            state_since: self.state_since,
            version: counter(job, "version", self.version)?,
            fence: counter(job, "fence", self.fence)?,
            attempt: counter(job, "attempt", self.attempt)?,
            redrives: counter(job, "redrives", self.redrives)?,
            available_at: self.available_at,
            output_ref: safe(self.output_ref),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unreadable_value_names_job_and_column_and_is_safe_to_show() {
        let error = state("a job", "to_state", "fini\u{1b}shed").expect_err("it is no state");
        assert_eq!(
            error.to_string(),
            "job a job: column 'to_state' holds 'fini␛shed', which this program cannot read"
        );
        let long = corrupt("-", "event", "x".repeat(10_000)).to_string();
        assert!(long.len() < 200, "{long}");
        assert!(counter("-", "version", -1).is_err());
    }

    #[test]
    fn text_is_cut_between_characters_and_keeps_no_nul() {
        assert_eq!(cut("a\0b", 10), "ab");
        assert_eq!(cut("ééé", 5), "éé");
        assert_eq!(cut("abc", 3), "abc");
    }

    #[test]
    fn spans_survive_the_way_to_a_database_and_back() {
        for span_ in [
            Duration::ZERO,
            Duration::from_millis(1),
            Duration::from_hours(24),
        ] {
            assert_eq!(span(millis(span_)), span_);
        }
        assert_eq!(millis(Duration::MAX), i64::MAX);
        assert_eq!(span(-5), Duration::ZERO);
    }
}

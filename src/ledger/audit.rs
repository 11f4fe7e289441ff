//! What an audit reads of a ledger: every job's row beside its events, as they are stored.
//!
//! Unlike [`super::feed`], which delivers what boards count, this keeps all that the ledger's laws
//! speak about, to the microsecond, and it delivers what cannot be understood as a value of its
//! own, so that one bad row is reported and does not end the audit. It knows no database and no
//! law. Next: `store::Audit`, which fills it, and `verify`, which judges it.

use std::fmt;
use std::time::Duration;

use super::error_class::ErrorClass;
use super::event::{ActorKind, EventKind};
use super::policy::Policy;
use super::state::State;
use super::text::SafeText;
use super::time::Timestamp;

/// A moment by the database's clock, as exact as the database keeps it: microseconds since
/// 1970-01-01 UTC. The extremes stand for PostgreSQL's `infinity` and `-infinity`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Moment(i64);

impl Moment {
    /// From microseconds since 1970-01-01 UTC.
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// From milliseconds since 1970-01-01 UTC; saturates.
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis.saturating_mul(1_000))
    }

    /// Microseconds since 1970-01-01 UTC.
    pub const fn micros(self) -> i64 {
        self.0
    }

    /// This moment moved forward; saturates.
    #[must_use]
    pub fn plus(self, by: Duration) -> Self {
        let by = i64::try_from(by.as_micros()).unwrap_or(i64::MAX);
        Self(self.0.saturating_add(by))
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millis = Timestamp::from_millis(self.0.div_euclid(1_000)).rfc3339();
        let micros = self.0.rem_euclid(1_000);
        if micros == 0 {
            return f.write_str(&millis);
        }
        write!(f, "{}{micros:03}Z", millis.trim_end_matches('Z'))
    }
}

/// A failure with its message.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LastFailure {
    /// The class.
    pub class: Option<ErrorClass>,
    /// The registered reason.
    pub reason: Option<SafeText>,
    /// The message.
    pub error: Option<SafeText>,
}

/// Who did it, and what they said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Doing {
    /// What happened.
    pub event: EventKind,
    /// In which role it was done.
    pub actor_kind: ActorKind,
    /// Under which name.
    pub actor: SafeText,
    /// What was said about it.
    pub note: Option<SafeText>,
    /// The plan that it was a part of.
    pub plan: Option<SafeText>,
}

/// Names one version of a policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyRef {
    /// Its name.
    pub name: SafeText,
    /// Its version.
    pub version: u32,
}

impl fmt::Display for PolicyRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}' version {}", self.name, self.version)
    }
}

/// One event, as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its number among the job's events.
    pub version: u32,
    /// When.
    pub at: Moment,
    /// What was done, and by whom.
    pub doing: Doing,
    /// The state before; `None` for the event that creates the job.
    pub from: Option<State>,
    /// When the state before was entered.
    pub from_since: Option<Moment>,
    /// The state after.
    pub to: State,
    /// The job's queue.
    pub queue: SafeText,
    /// The attempts counted after the event.
    pub attempt: u32,
    /// The fence after the event.
    pub fence: u32,
    /// The holder of the lease that the event takes, moves or ends.
    pub worker: Option<SafeText>,
    /// The failure recorded or carried.
    pub failure: LastFailure,
    /// The policy after the event.
    pub policy: PolicyRef,
    /// When the first attempt of the drive began.
    pub first_attempt_at: Option<Moment>,
    /// The moment that the waiting state entered or left waits for.
    pub available_at: Option<Moment>,
    /// The end of the lease taken, moved or ended.
    pub lease_expires_at: Option<Moment>,
    /// For `renew`: the end of the lease before.
    pub from_lease_expires_at: Option<Moment>,
    /// For `succeed`: where the output is.
    pub output_ref: Option<SafeText>,
    /// Of the event that creates a job, where the database keeps it there (SQLite): the key.
    pub idempotency_key: Option<SafeText>,
}

/// One job's current row, as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CurrentRow {
    /// The key.
    pub idempotency_key: SafeText,
    /// The queue.
    pub queue: SafeText,
    /// When it was created.
    pub created_at: Moment,
    /// The state.
    pub state: State,
    /// When the state was entered.
    pub state_since: Moment,
    /// When the row changed last.
    pub updated_at: Moment,
    /// How many events it has.
    pub version: u32,
    /// The fence of its last claim or revocation.
    pub fence: u32,
    /// The attempts counted.
    pub attempt: u32,
    /// How often it was redriven.
    pub redrives: u32,
    /// The attempts that began and were never settled by their worker.
    pub unsettled: u32,
    /// When it may run.
    pub available_at: Moment,
    /// When the first attempt of this drive began.
    pub first_attempt_at: Option<Moment>,
    /// The holder of the lease.
    pub worker: Option<SafeText>,
    /// The end of the lease.
    pub lease_expires_at: Option<Moment>,
    /// The policy.
    pub policy: PolicyRef,
    /// Where the output is.
    pub output_ref: Option<SafeText>,
    /// The last failure.
    pub failure: LastFailure,
    /// What happened last.
    pub doing: Doing,
    /// Whether it is a parent, and how its children stand.
    pub children: Children,
}

/// The required children that a job waits, or waited, for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Children {
    /// The job is no parent that waits.
    NotAwaited,
    /// All of them have succeeded.
    Done,
    /// One of them has not succeeded.
    Open,
}

/// A stored value that cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// The event's number as it is stored, where it stands in an event.
    pub version: Option<i64>,
    /// The column.
    pub column: &'static str,
    /// What it holds, bounded.
    pub value: SafeText,
}

/// The end of a job's part of the log, read at one instant together with its row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// More events of the job may follow, on the next page.
    Open,
    /// The events are complete, and this is the row beside them.
    Row(Box<CurrentRow>),
    /// The events are complete, and the row cannot be understood.
    Unreadable(Unreadable),
    /// The events are complete, and there is no row.
    Missing,
}

/// What one page holds of one job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chapter {
    /// The job's id, as it is stored.
    pub job: SafeText,
    /// Events in order of version, after those of earlier pages.
    pub entries: Vec<Result<Entry, Unreadable>>,
    /// Whether the job ends here.
    pub ending: Ending,
}

/// A plan that was approved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovedPlan {
    /// Its id, as it is stored.
    pub id: SafeText,
    /// What it does, as it is stored.
    pub operation: SafeText,
    /// When it was approved.
    pub approved_at: Moment,
}

/// What the laws refer to besides the jobs themselves.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rules {
    /// Every version of every policy.
    pub policies: Vec<Policy>,
    /// Every approved plan.
    pub plans: Vec<ApprovedPlan>,
}

/// A part of a ledger, read at one instant.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Page {
    /// What the laws refer to, at that instant.
    pub rules: Rules,
    /// Jobs in the order of the database, those of earlier pages left out but for one that was
    /// [`Ending::Open`].
    pub chapters: Vec<Chapter>,
    /// How many of the page's events had a number up to [`Outline::last_event`].
    pub numbered: u64,
}

/// What is known of a ledger before its first page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Outline {
    /// When the audit began, by the database's clock.
    pub as_of: Timestamp,
    /// About how many events there are, where the database has an idea.
    pub events: Option<u64>,
    /// The number of the last event, where the database numbers the events of all jobs without a
    /// gap (SQLite).
    pub last_event: Option<u64>,
}

/// Jobs that have the same key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Twins {
    /// The key.
    pub idempotency_key: SafeText,
    /// How many jobs have it.
    pub jobs: u64,
    /// The first of them, by id.
    pub first: SafeText,
    /// The last of them, by id.
    pub last: SafeText,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_shows_the_microseconds_it_has() {
        let whole = Moment::from_millis(1_796_006_700_120);
        assert_eq!(whole.to_string(), "2026-11-30T02:45:00.120Z");
        let fine = Moment::from_micros(1_796_006_700_120_045);
        assert_eq!(fine.to_string(), "2026-11-30T02:45:00.120045Z");
        assert_eq!(
            Moment::from_micros(-1).to_string(),
            "1969-12-31T23:59:59.999999Z"
        );
    }

    #[test]
    fn the_far_ends_of_time_do_not_panic() {
        for micros in [i64::MIN, i64::MAX] {
            let moment = Moment::from_micros(micros);
            assert!(!moment.to_string().is_empty());
            assert!(moment.plus(Duration::MAX) >= moment);
        }
    }
}

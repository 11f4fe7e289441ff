//! What look-ups bring to a screen, a listing or a JSON document: jobs, one job with its timeline,
//! groups of dead letters, leases and operator acts. Every text in it is [`SafeText`].
//!
//! Knows no database and no terminal. Next: `store::Look`, which fills it.

use serde_json::Value;
use uuid::Uuid;

use super::audit::{Entry, Unreadable};
use super::error_class::ErrorClass;
use super::event::EventKind;
use super::job::{JobRow, Operation};
use super::policy::Policy;
use super::state::State;
use super::text::SafeText;
use super::time::Timestamp;

/// A number of jobs, and whether it is all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Count {
    /// Exactly this many.
    Exact(u64),
    /// At least this many; counting was bounded.
    AtLeast(u64),
}

/// In which order jobs are listed. Every order ends with the id, so that it is total and a page has
/// an unambiguous end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum JobOrder {
    /// The longest in their present state first.
    #[default]
    OldestFirst,
    /// The last to enter their present state first.
    NewestFirst,
    /// By creation, the last one first: by the moment within the id, to the millisecond.
    CreatedLast,
}

/// Where a page ended: the last row's place in the order. Survives changes of the rows before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobCursor {
    /// The state's beginning, in microseconds since 1970-01-01 UTC.
    pub since_us: i64,
    /// The job.
    pub id: Uuid,
}

/// Where a page of operator acts ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditCursor {
    /// The act's moment, in microseconds since 1970-01-01 UTC.
    pub at_us: i64,
    /// The job, or the plan.
    pub id: Uuid,
    /// The job's version, or the number of the plan's step.
    pub version: i64,
}

/// A row that holds a value which cannot be understood: it is named, and the list goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadableJob {
    /// The job, as it is stored.
    pub job: SafeText,
    /// The column.
    pub column: &'static str,
    /// What it holds, bounded.
    pub value: SafeText,
}

/// A job in a list: [`JobRow`] and what lists show besides.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedJob {
    /// The row.
    pub row: JobRow,
    /// When it was created.
    pub created_at: Timestamp,
    /// The last failure's class.
    pub class: Option<ErrorClass>,
    /// The last failure's reason.
    pub reason: Option<SafeText>,
    /// The last failure's message, bounded.
    pub error: Option<SafeText>,
    /// The holder of the lease.
    pub worker: Option<SafeText>,
    /// When the lease ends.
    pub lease_expires_at: Option<Timestamp>,
    /// The policy's name.
    pub policy: SafeText,
    /// The version of it.
    pub policy_version: u32,
    /// The attempts that began and whose outcome nobody reported.
    pub unsettled: u32,
}

/// A page of jobs.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct JobPage {
    /// When it was read, by the database's clock.
    pub as_of: Timestamp,
    /// The jobs, in order.
    pub jobs: Vec<ListedJob>,
    /// Jobs of this page that cannot be understood.
    pub unreadable: Vec<UnreadableJob>,
    /// Where the next page begins; `None` after the last.
    pub next: Option<JobCursor>,
}

/// How a job is named by a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobName {
    /// By its id.
    Id(Uuid),
    /// By its idempotency key.
    Key(String),
}

/// One job with everything its screen shows, read at one instant.
#[derive(Debug, Clone, PartialEq)]
pub struct JobStory {
    /// When it was read, by the database's clock.
    pub as_of: Timestamp,
    /// The job as lists show it.
    pub job: ListedJob,
    /// The id of the outside event that asked for it.
    pub event_id: Option<SafeText>,
    /// The version of the payload's schema.
    pub schema_version: Option<SafeText>,
    /// The payload, as it is stored: hostile, and masked before it is shown.
    pub payload: Value,
    /// When the first attempt of this drive began.
    pub first_attempt_at: Option<Timestamp>,
    /// The rules it is under, where they are found.
    pub rules: Option<Policy>,
    /// The parent's key and, where it exists, its id and state.
    pub parent: Option<Relative>,
    /// The children, required ones first; bounded.
    pub children: Vec<Relative>,
    /// How many children there are.
    pub children_count: Count,
    /// The events in order of version: all of them, or the first and the last of very many.
    pub events: Vec<Result<Entry, Unreadable>>,
    /// How many events between them are left out.
    pub left_out: u64,
}

/// A parent or a child.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Relative {
    /// Its key.
    pub idempotency_key: SafeText,
    /// Whether the parent waits for the child.
    pub required: bool,
    /// Its id and state, where it exists.
    pub job: Option<(Uuid, State)>,
}

/// Dead letters alike in class, reason and the fingerprint of their error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadLetterGroup {
    /// The class.
    pub class: Option<ErrorClass>,
    /// The reason.
    pub reason: Option<SafeText>,
    /// The error with numbers, ids and addresses folded; also the title of the group.
    pub fingerprint: SafeText,
    /// How many are `dead`.
    pub dead: u64,
    /// How many are `quarantined`.
    pub quarantined: u64,
    /// When the oldest entered its state.
    pub first_at: Timestamp,
    /// When the newest did.
    pub last_at: Timestamp,
    /// How many of them were redriven before and died again.
    pub died_again: u64,
    /// How many of them have an attempt whose outcome is unknown.
    pub unsettled: u64,
    /// The queues, most affected first, with their counts; bounded.
    pub queues: Vec<(SafeText, u64)>,
    /// The tenants, alike.
    pub tenants: Vec<(SafeText, u64)>,
    /// The policy versions, alike.
    pub policies: Vec<(SafeText, u64)>,
    /// A job of the group, the newest, to begin with.
    pub sample: Uuid,
}

/// Dead letters, grouped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadLetters {
    /// When they were read, by the database's clock.
    pub as_of: Timestamp,
    /// Groups, the largest first; bounded.
    pub groups: Vec<DeadLetterGroup>,
    /// How many dead letters are in groups beyond the bound.
    pub beyond: u64,
    /// Dead letters that cannot be understood; bounded.
    pub unreadable: Vec<UnreadableJob>,
    /// How many dead letters were grouped, and whether that is all of them.
    pub counted: Count,
}

/// A lease in flight.
#[derive(Debug, Clone, PartialEq)]
pub struct Lease {
    /// The job that is held.
    pub job: ListedJob,
    /// When it was claimed.
    pub claimed_at: Timestamp,
    /// How often it was renewed since.
    pub renewals: u32,
}

/// Leases, the first to end first; expired ones lead.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LeasePage {
    /// When it was read, by the database's clock.
    pub as_of: Timestamp,
    /// The leases.
    pub leases: Vec<Lease>,
    /// Running jobs of this page that cannot be understood.
    pub unreadable: Vec<UnreadableJob>,
    /// Where the next page begins: `since_us` is the end of the lease.
    pub next: Option<JobCursor>,
}

/// What an operator did: an event of a job, or of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperatorAct {
    /// When.
    pub at: Timestamp,
    /// Who, from where: the identity as the event holds it.
    pub actor: SafeText,
    /// The role of the database that it came through, where the database keeps it.
    pub db_user: Option<SafeText>,
    /// What.
    pub what: ActKind,
    /// Why.
    pub note: Option<SafeText>,
    /// The plan it was part of.
    pub plan: Option<Uuid>,
}

/// What an operator act was about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ActKind {
    /// An act on one job.
    Job {
        /// The job.
        id: Uuid,
        /// Its version after.
        version: u32,
        /// Its queue.
        queue: SafeText,
        /// The event.
        event: EventKind,
        /// The state before.
        from: Option<State>,
        /// The state after.
        to: State,
    },
    /// An act on a plan: approved, paused, resumed, cancelled, stopped, done.
    Plan {
        /// What the plan does.
        operation: Operation,
        /// What was done to it.
        step: SafeText,
        /// How many jobs it holds.
        jobs: u64,
    },
}

/// A page of operator acts, the newest first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AuditPage {
    /// When it was read, by the database's clock.
    pub as_of: Timestamp,
    /// The acts. Those of one plan on its jobs are many: they are here as well, and screens fold
    /// them under the plan.
    pub acts: Vec<OperatorAct>,
    /// Acts of this page that cannot be understood.
    pub unreadable: Vec<UnreadableJob>,
    /// The next page begins before this act.
    pub next: Option<AuditCursor>,
}

//! What lists and stories are as JSON. A change of these shapes is a change for every program that
//! reads them: keys are added, never renamed; `docs/lists.md` says what each means, and a test
//! holds the two together.

use std::io::{self, Write};
use std::time::Duration;

use serde::Serialize;
use uuid::Uuid;

use crate::ledger::audit::{Entry, Unreadable};
use crate::ledger::error_class::ErrorClass;
use crate::ledger::num;
use crate::ledger::policy::Policy;
use crate::ledger::state::State;
use crate::ledger::text::SafeText;
use crate::ledger::time::Timestamp;
use crate::ledger::view::{
    ActKind, Count, DeadLetterGroup, DeadLetters, JobOrder, JobStory, Lease, ListedJob,
    OperatorAct, Relative, UnreadableJob,
};

/// Prints a document.
pub(crate) fn write(document: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, document)?;
    writeln!(out)
}

/// The name of an order, as `--order` takes it.
pub(crate) const fn order(order: JobOrder) -> &'static str {
    match order {
        JobOrder::OldestFirst => "oldest",
        JobOrder::NewestFirst => "newest",
        JobOrder::CreatedLast => "created",
    }
}

fn text(moment: Option<Timestamp>) -> Option<String> {
    moment.map(Timestamp::rfc3339)
}

fn seconds(span: Duration) -> f64 {
    num::ratio(u64::try_from(span.as_millis()).unwrap_or(u64::MAX)) / 1_000.0
}

/// `{"count": 12, "exact": true}`
#[derive(Debug, Serialize)]
pub(crate) struct Counted {
    count: u64,
    exact: bool,
}

impl Counted {
    pub(crate) const fn of(count: Count) -> Self {
        match count {
            Count::Exact(count) => Self { count, exact: true },
            Count::AtLeast(count) => Self {
                count,
                exact: false,
            },
        }
    }
}

/// A row that cannot be understood.
#[derive(Debug, Serialize)]
pub(crate) struct Unread {
    job: SafeText,
    column: &'static str,
    value: SafeText,
}

impl Unread {
    pub(crate) fn all(rows: Vec<UnreadableJob>) -> Vec<Self> {
        rows.into_iter()
            .map(|row| Self {
                job: row.job,
                column: row.column,
                value: row.value,
            })
            .collect()
    }
}

/// A job in a list.
#[derive(Debug, Serialize)]
pub(crate) struct Job {
    id: Uuid,
    key: SafeText,
    queue: SafeText,
    kind: SafeText,
    tenant: SafeText,
    state: &'static str,
    state_since: String,
    age_s: f64,
    created_at: String,
    available_at: String,
    version: u32,
    fence: u32,
    attempts: u32,
    redrives: u32,
    unsettled: u32,
    class: Option<ErrorClass>,
    reason: Option<SafeText>,
    error: Option<SafeText>,
    worker: Option<SafeText>,
    lease_expires_at: Option<String>,
    policy: SafeText,
    policy_version: u32,
    output_ref: Option<SafeText>,
}

impl Job {
    pub(crate) fn of(job: &ListedJob, as_of: Timestamp) -> Self {
        let row = &job.row;
        Self {
            id: row.id,
            key: row.idempotency_key.clone(),
            queue: row.queue.clone(),
            kind: row.kind.clone(),
            tenant: row.tenant.clone(),
            state: row.state.name(),
            state_since: row.state_since.rfc3339(),
            age_s: seconds(as_of.since(row.state_since)),
            created_at: job.created_at.rfc3339(),
            available_at: row.available_at.rfc3339(),
            version: row.version,
            fence: row.fence,
            attempts: row.attempt,
            redrives: row.redrives,
            unsettled: job.unsettled,
            class: job.class,
            reason: job.reason.clone(),
            error: job.error.clone(),
            worker: job.worker.clone(),
            lease_expires_at: text(job.lease_expires_at),
            policy: job.policy.clone(),
            policy_version: job.policy_version,
            output_ref: row.output_ref.clone(),
        }
    }
}

/// `ledgertop jobs --json`
#[derive(Debug, Serialize)]
pub(crate) struct JobList {
    pub(crate) as_of: String,
    pub(crate) filter: SafeText,
    pub(crate) order: &'static str,
    pub(crate) jobs: Vec<Job>,
    pub(crate) unreadable: Vec<Unread>,
    pub(crate) more: bool,
}

/// `ledgertop jobs --count --json`
#[derive(Debug, Serialize)]
pub(crate) struct JobsCounted {
    pub(crate) filter: SafeText,
    #[serde(flatten)]
    pub(crate) counted: Counted,
}

/// A lease.
#[derive(Debug, Serialize)]
pub(crate) struct InHand {
    #[serde(flatten)]
    job: Job,
    claimed_at: String,
    held_s: f64,
    left_s: Option<f64>,
    expired: bool,
    renewals: u32,
}

impl InHand {
    pub(crate) fn of(lease: &Lease, as_of: Timestamp) -> Self {
        let end = lease.job.lease_expires_at;
        Self {
            job: Job::of(&lease.job, as_of),
            claimed_at: lease.claimed_at.rfc3339(),
            held_s: seconds(as_of.since(lease.claimed_at)),
            left_s: end.map(|end| seconds(end.since(as_of)) - seconds(as_of.since(end))),
            expired: end.is_some_and(|end| end <= as_of),
            renewals: lease.renewals,
        }
    }
}

/// `ledgertop leases --json`
#[derive(Debug, Serialize)]
pub(crate) struct LeaseList {
    pub(crate) as_of: String,
    pub(crate) filter: SafeText,
    pub(crate) leases: Vec<InHand>,
    pub(crate) unreadable: Vec<Unread>,
    pub(crate) more: bool,
}

#[derive(Debug, Serialize)]
struct Named {
    name: SafeText,
    count: u64,
}

fn named(names: Vec<(SafeText, u64)>) -> Vec<Named> {
    names
        .into_iter()
        .map(|(name, count)| Named { name, count })
        .collect()
}

#[derive(Debug, Serialize)]
struct Group {
    class: Option<ErrorClass>,
    reason: Option<SafeText>,
    fingerprint: SafeText,
    dead: u64,
    quarantined: u64,
    first_at: String,
    last_at: String,
    died_again: u64,
    unsettled: u64,
    queues: Vec<Named>,
    tenants: Vec<Named>,
    policies: Vec<Named>,
    sample: Uuid,
}

impl Group {
    fn of(group: DeadLetterGroup) -> Self {
        Self {
            class: group.class,
            reason: group.reason,
            fingerprint: group.fingerprint,
            dead: group.dead,
            quarantined: group.quarantined,
            first_at: group.first_at.rfc3339(),
            last_at: group.last_at.rfc3339(),
            died_again: group.died_again,
            unsettled: group.unsettled,
            queues: named(group.queues),
            tenants: named(group.tenants),
            policies: named(group.policies),
            sample: group.sample,
        }
    }
}

/// `ledgertop dead-letters --json`
#[derive(Debug, Serialize)]
pub(crate) struct Letters {
    as_of: String,
    filter: SafeText,
    grouped: Counted,
    groups: Vec<Group>,
    beyond: u64,
    unreadable: Vec<Unread>,
}

impl Letters {
    pub(crate) fn of(letters: DeadLetters, filter: SafeText) -> Self {
        Self {
            as_of: letters.as_of.rfc3339(),
            filter,
            grouped: Counted::of(letters.counted),
            groups: letters.groups.into_iter().map(Group::of).collect(),
            beyond: letters.beyond,
            unreadable: Unread::all(letters.unreadable),
        }
    }
}

#[derive(Debug, Serialize)]
#[serde(tag = "on", rename_all = "snake_case")]
enum On {
    Job {
        id: Uuid,
        version: u32,
        queue: SafeText,
        event: &'static str,
        from: Option<&'static str>,
        to: &'static str,
    },
    Plan {
        step: SafeText,
        jobs: u64,
    },
}

/// An operator's act.
#[derive(Debug, Serialize)]
pub(crate) struct Act {
    at: String,
    actor: SafeText,
    db_user: Option<SafeText>,
    note: Option<SafeText>,
    plan: Option<Uuid>,
    #[serde(flatten)]
    on: On,
}

impl Act {
    pub(crate) fn of(act: OperatorAct) -> Self {
        Self {
            at: act.at.rfc3339(),
            actor: act.actor,
            db_user: act.db_user,
            note: act.note,
            plan: act.plan,
            on: match act.what {
                ActKind::Job {
                    id,
                    version,
                    queue,
                    event,
                    from,
                    to,
                } => On::Job {
                    id,
                    version,
                    queue,
                    event: event.name(),
                    from: from.map(State::name),
                    to: to.name(),
                },
                ActKind::Plan {
                    operation: _,
                    step,
                    jobs,
                } => On::Plan { step, jobs },
            },
        }
    }
}

/// `ledgertop audit --json`
#[derive(Debug, Serialize)]
pub(crate) struct Audit {
    pub(crate) as_of: String,
    pub(crate) acts: Vec<Act>,
    pub(crate) unreadable: Vec<Unread>,
    pub(crate) more: bool,
}

#[derive(Debug, Serialize)]
struct Rules {
    max_attempts: u32,
    max_age_s: f64,
    backoff_base_s: f64,
    backoff_cap_s: f64,
    retry_after_cap_s: f64,
    on_unknown: &'static str,
}

impl Rules {
    fn of(policy: &Policy) -> Self {
        Self {
            max_attempts: policy.max_attempts,
            max_age_s: seconds(policy.max_age),
            backoff_base_s: seconds(policy.backoff_base),
            backoff_cap_s: seconds(policy.backoff_cap),
            retry_after_cap_s: seconds(policy.retry_after_cap),
            on_unknown: policy.on_unknown.name(),
        }
    }
}

#[derive(Debug, Serialize)]
struct Kin {
    key: SafeText,
    required: bool,
    id: Option<Uuid>,
    state: Option<&'static str>,
}

impl Kin {
    fn of(relative: &Relative) -> Self {
        Self {
            key: relative.idempotency_key.clone(),
            required: relative.required,
            id: relative.job.map(|(id, _state)| id),
            state: relative.job.map(|(_id, state)| state.name()),
        }
    }
}

#[derive(Debug, Serialize)]
struct Happened {
    version: u32,
    event: &'static str,
    at: String,
    from: Option<&'static str>,
    to: &'static str,
    dwell_s: Option<f64>,
    attempt: u32,
    fence: u32,
    actor_kind: &'static str,
    actor: SafeText,
    worker: Option<SafeText>,
    class: Option<ErrorClass>,
    reason: Option<SafeText>,
    error: Option<SafeText>,
    note: Option<SafeText>,
    plan: Option<SafeText>,
    policy: SafeText,
    policy_version: u32,
    output_ref: Option<SafeText>,
}

impl Happened {
    fn of(entry: &Entry) -> Self {
        Self {
            version: entry.version,
            event: entry.doing.event.name(),
            at: entry.at.to_string(),
            from: entry.from.map(State::name),
            to: entry.to.name(),
            dwell_s: crate::cli::job::dwell(entry).map(seconds),
            attempt: entry.attempt,
            fence: entry.fence,
            actor_kind: entry.doing.actor_kind.name(),
            actor: entry.doing.actor.clone(),
            worker: entry.worker.clone(),
            class: entry.failure.class,
            reason: entry.failure.reason.clone(),
            error: entry.failure.error.clone(),
            note: entry.doing.note.clone(),
            plan: entry.doing.plan.clone(),
            policy: entry.policy.name.clone(),
            policy_version: entry.policy.version,
            output_ref: entry.output_ref.clone(),
        }
    }
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Told {
    Event(Box<Happened>),
    Unreadable {
        version: Option<i64>,
        unreadable: &'static str,
        value: SafeText,
    },
}

impl Told {
    fn of(event: &Result<Entry, Unreadable>) -> Self {
        match event {
            Ok(entry) => Self::Event(Box::new(Happened::of(entry))),
            Err(unreadable) => Self::Unreadable {
                version: unreadable.version,
                unreadable: unreadable.column,
                value: unreadable.value.clone(),
            },
        }
    }
}

/// `ledgertop job --json`
#[derive(Debug, Serialize)]
pub(crate) struct Story {
    as_of: String,
    #[serde(flatten)]
    job: Job,
    event_id: Option<SafeText>,
    schema_version: Option<SafeText>,
    /// Only where it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    payload: Option<serde_json::Value>,
    first_attempt_at: Option<String>,
    rules: Option<Rules>,
    parent: Option<Kin>,
    children: Vec<Kin>,
    children_count: Counted,
    events: Vec<Told>,
    events_left_out: u64,
}

impl Story {
    pub(crate) fn of(story: &JobStory, payload: Option<serde_json::Value>) -> Self {
        Self {
            as_of: story.as_of.rfc3339(),
            job: Job::of(&story.job, story.as_of),
            event_id: story.event_id.clone(),
            schema_version: story.schema_version.clone(),
            payload,
            first_attempt_at: text(story.first_attempt_at),
            rules: story.rules.as_ref().map(Rules::of),
            parent: story.parent.as_ref().map(Kin::of),
            children: story.children.iter().map(Kin::of).collect(),
            children_count: Counted::of(story.children_count),
            events: story.events.iter().map(Told::of).collect(),
            events_left_out: story.left_out,
        }
    }
}

//! A job as it is asked for and as a worker receives it.

use std::time::Duration;

use serde_json::Value;
use uuid::Uuid;

use super::error_class::ErrorClass;
use super::event::{ActorKind, EventKind};
use super::policy::Policy;
use super::state::State;
use super::text::SafeText;
use super::time::Timestamp;
use super::transition;

/// The longest idempotency key, in bytes.
pub const KEY_MAX_BYTES: usize = 512;
/// The longest queue, kind, tenant, event id, schema version, policy or actor name, in bytes.
pub const NAME_MAX_BYTES: usize = 200;
/// The largest payload, in bytes of JSON: payloads carry references, not bodies.
pub const PAYLOAD_MAX_BYTES: usize = 16_384;
/// The longest error text, note or output reference that is kept, in bytes; longer text is cut.
pub const TEXT_MAX_BYTES: usize = 2_000;

/// Who acts, as events record it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actor {
    /// In which role.
    pub kind: ActorKind,
    /// Under which name; cut to [`NAME_MAX_BYTES`] when written.
    pub name: String,
}

/// The link from a child to its parent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParentLink {
    /// The parent's idempotency key. The parent may be enqueued later, or together with the child.
    pub key: String,
    /// Whether the parent waits for this child to succeed.
    pub required: bool,
}

/// A job to be enqueued. Construction does not check it; [`NewJob::check`] does, and so does the
/// database.
#[derive(Debug, Clone, PartialEq)]
pub struct NewJob {
    /// The id it shall have: a UUIDv7. Ignored when the key exists already.
    pub id: Uuid,
    /// Names the business operation, e.g. `tenant_7:invoice_184:collect`; unique in the ledger.
    pub idempotency_key: String,
    /// The queue.
    pub queue: String,
    /// What a worker is asked to do, e.g. `render_thumbnail`.
    pub kind: String,
    /// Whose work it is; empty where tenants play no part.
    pub tenant: String,
    /// The id of the outside event that asked for it, e.g. of a webhook.
    pub event_id: Option<String>,
    /// The version of the payload's schema.
    pub schema_version: Option<String>,
    /// References and parameters, at most [`PAYLOAD_MAX_BYTES`].
    pub payload: Value,
    /// Not before this moment; `None` for at once.
    pub available_at: Option<Timestamp>,
    /// The policy's name; its newest version is taken.
    pub policy: String,
    /// The parent that waits for this job.
    pub parent: Option<ParentLink>,
    /// Whether this job is a parent: it stays pending until every required child has succeeded.
    pub awaits_children: bool,
}

impl NewJob {
    /// A job with the least that is needed, due at once, under the `default` policy.
    pub fn new(id: Uuid, queue: &str, kind: &str, idempotency_key: &str) -> Self {
        Self {
            id,
            idempotency_key: idempotency_key.to_owned(),
            queue: queue.to_owned(),
            kind: kind.to_owned(),
            tenant: String::new(),
            event_id: None,
            schema_version: None,
            payload: Value::Object(serde_json::Map::new()),
            available_at: None,
            policy: "default".to_owned(),
            parent: None,
            awaits_children: false,
        }
    }

    /// Checks every bound that the database checks too, so that one bad job of a batch is named
    /// before the batch is sent.
    ///
    /// # Errors
    /// The first field that is empty, too long or holds a NUL character.
    pub fn check(&self) -> Result<(), BadJob> {
        let required = [
            ("idempotency_key", &self.idempotency_key, KEY_MAX_BYTES),
            ("queue", &self.queue, NAME_MAX_BYTES),
            ("kind", &self.kind, NAME_MAX_BYTES),
            ("policy", &self.policy, NAME_MAX_BYTES),
        ];
        for (field, text, max) in required {
            if text.is_empty() {
                return Err(BadJob::Empty { field });
            }
            check_text(field, text, max)?;
        }
        check_text("tenant", &self.tenant, NAME_MAX_BYTES)?;
        let optional = [
            ("event_id", &self.event_id, NAME_MAX_BYTES),
            ("schema_version", &self.schema_version, NAME_MAX_BYTES),
        ];
        for (field, text, max) in optional {
            if let Some(text) = text {
                check_text(field, text, max)?;
            }
        }
        if let Some(parent) = &self.parent {
            check_text("parent_key", &parent.key, KEY_MAX_BYTES)?;
        }
        if holds_nul(&self.payload) {
            return Err(BadJob::Nul { field: "payload" });
        }
        let payload = self.payload.to_string();
        if payload.len() > PAYLOAD_MAX_BYTES {
            return Err(BadJob::TooLong {
                field: "payload",
                bytes: payload.len(),
                max: PAYLOAD_MAX_BYTES,
            });
        }
        Ok(())
    }
}

/// Whether a text or a name in `value` holds a NUL: PostgreSQL's jsonb cannot keep one, so
/// neither may SQLite. The depth is that of a parsed document, which the parser bounds.
fn holds_nul(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\0'),
        Value::Array(items) => items.iter().any(holds_nul),
        Value::Object(fields) => fields
            .iter()
            .any(|(name, value)| name.contains('\0') || holds_nul(value)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

fn check_text(field: &'static str, text: &str, max: usize) -> Result<(), BadJob> {
    if text.len() > max {
        return Err(BadJob::TooLong {
            field,
            bytes: text.len(),
            max,
        });
    }
    if text.contains('\0') {
        return Err(BadJob::Nul { field });
    }
    Ok(())
}

/// Why a job cannot be enqueued.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadJob {
    /// A field that must say something is empty.
    #[error("'{field}' is empty")]
    Empty {
        /// The field.
        field: &'static str,
    },
    /// A field is longer than the ledger keeps.
    #[error(
        "'{field}' has {bytes} bytes, at most {max} are kept; \
         store the body elsewhere and enqueue a reference"
    )]
    TooLong {
        /// The field.
        field: &'static str,
        /// Its size.
        bytes: usize,
        /// The bound.
        max: usize,
    },
    /// A field holds a NUL character, which no database keeps in text.
    #[error("'{field}' holds a NUL character, which the ledger cannot keep")]
    Nul {
        /// The field.
        field: &'static str,
    },
}

/// What became of one enqueue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Enqueued {
    /// The job was created under this id.
    Created(Uuid),
    /// The key was there already: this is the job that has it, and a `duplicate` event was
    /// recorded.
    Duplicate(Uuid),
}

/// A job in the hands of a worker: what it needs to run the handler and to settle the attempt.
#[derive(Debug, Clone, PartialEq)]
pub struct Claimed {
    /// The job.
    pub id: Uuid,
    /// The fence of this claim; every settle and renewal names it.
    pub fence: u32,
    /// The job's version after the claim.
    pub version: u32,
    /// The number of this attempt, from 1.
    pub attempt: u32,
    /// How often the job was redriven.
    pub redrives: u32,
    /// The queue.
    pub queue: String,
    /// The kind.
    pub kind: String,
    /// The tenant, or empty.
    pub tenant: String,
    /// The key that every effect of the job carries.
    pub idempotency_key: String,
    /// The payload.
    pub payload: Value,
    /// The version of the payload's schema.
    pub schema_version: Option<String>,
    /// When the claim was made, by the database's clock.
    pub claimed_at: Timestamp,
    /// When the lease ends, by the database's clock.
    pub lease_expires_at: Timestamp,
    /// When the first attempt of this drive began.
    pub first_attempt_at: Timestamp,
    /// The retry rules the job is under.
    pub policy: Policy,
}

/// Names one claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LeaseRef {
    /// The job.
    pub job: Uuid,
    /// The fence of the claim.
    pub fence: u32,
}

/// How an attempt ended, as it is to be settled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The work is done; the output reference is written with the completion.
    Succeed {
        /// Where the output is, at most [`TEXT_MAX_BYTES`].
        output_ref: Option<String>,
    },
    /// The attempt failed and shall be retried after `delay`. The database turns this into
    /// `exhaust` when the attempt budget is spent or when the next attempt would begin past the age
    /// budget.
    Retry {
        /// Why.
        failure: Failed,
        /// How long to wait, from the moment of settling.
        delay: Duration,
    },
    /// The attempt failed permanently.
    Reject {
        /// Why.
        failure: Failed,
    },
    /// The attempt is given back unfinished (orderly shutdown).
    Release,
}

/// A typed failure with its message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failed {
    /// The class.
    pub class: ErrorClass,
    /// The registered reason, see [`super::error_class::valid_reason`].
    pub reason: String,
    /// The message, kept for people; cut to [`TEXT_MAX_BYTES`].
    pub error: String,
}

/// One attempt to be settled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settlement {
    /// The claim.
    pub lease: LeaseRef,
    /// How it ended.
    pub verdict: Verdict,
}

/// What became of one operation on one job. Never a silent success.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It was done; the job is now in this state at this version.
    Applied {
        /// The state after.
        state: State,
        /// The version after.
        version: u32,
    },
    /// The fence or the version named is no longer the job's; nothing was changed (a refused settle
    /// or renewal leaves a `stale_refused` event).
    Stale {
        /// The state the job is in.
        state: State,
        /// The job's version.
        version: u32,
    },
    /// The table of transitions does not allow it from the state the job is in; nothing was
    /// changed.
    Refused {
        /// The state the job is in.
        state: State,
        /// The job's version.
        version: u32,
    },
    /// There is no such job.
    NotFound,
}

/// What a transport learns when it asks to begin an attempt of a job (row C3).
#[derive(Debug, Clone, PartialEq)]
pub enum Disposition {
    /// Run it: it is claimed.
    Run(Box<Claimed>),
    /// It has succeeded already; acknowledge the delivery.
    AlreadySucceeded,
    /// It waits in the ledger for a moment or for children; acknowledge the delivery.
    AlreadyScheduled,
    /// Another worker holds it; acknowledge the delivery.
    AlreadyRunning,
    /// It is a dead letter, or was discarded; acknowledge the delivery.
    SetAside(State),
    /// No such job.
    NotFound,
}

/// What an operator does to one job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Set a job aside.
    Quarantine,
    /// Take a running job from its worker and set it aside.
    Revoke,
    /// Send a dead letter back to work.
    Redrive,
    /// End a retry wait early.
    Promote,
    /// Close a dead letter for good.
    Discard,
}

impl Operation {
    /// Every operation.
    pub const ALL: [Self; 5] = [
        Self::Quarantine,
        Self::Revoke,
        Self::Redrive,
        Self::Promote,
        Self::Discard,
    ];

    /// The name in the database, on screens and in JSON: that of its event.
    pub const fn name(self) -> &'static str {
        self.event().name()
    }

    /// The operation of that name, if there is one.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|each| each.name() == name)
    }

    /// The event that it causes.
    pub const fn event(self) -> EventKind {
        match self {
            Self::Quarantine => EventKind::Quarantine,
            Self::Revoke => EventKind::Revoke,
            Self::Redrive => EventKind::Redrive,
            Self::Promote => EventKind::Promote,
            Self::Discard => EventKind::Discard,
        }
    }

    /// The state that it leads to.
    pub const fn leads_to(self) -> State {
        match self {
            Self::Quarantine | Self::Revoke => State::Quarantined,
            Self::Redrive | Self::Promote => State::Ready,
            Self::Discard => State::Discarded,
        }
    }

    /// Whether the table of transitions lets an operator do it to a job in this state.
    pub fn may_leave(self, from: State) -> bool {
        let (event, to) = (self.event(), self.leads_to());
        transition::find(event, Some(from), to, ActorKind::Operator).is_some()
    }
}

/// A queue and a tenant in it that have ready jobs; workers share their capacity over lanes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lane {
    /// The queue.
    pub queue: String,
    /// The tenant, or empty.
    pub tenant: String,
}

/// One job, as listings and details show it.
#[derive(Debug, Clone, PartialEq)]
pub struct JobRow {
    /// The job.
    pub id: Uuid,
    /// Its key.
    pub idempotency_key: SafeText,
    /// Its queue.
    pub queue: SafeText,
    /// Its kind.
    pub kind: SafeText,
    /// Its tenant, or empty.
    pub tenant: SafeText,
    /// Its state.
    pub state: State,
    /// When the state was entered.
    pub state_since: Timestamp,
    /// Its version.
    pub version: u32,
    /// The fence of its last claim.
    pub fence: u32,
    /// The attempts counted.
    pub attempt: u32,
    /// How often it was redriven.
    pub redrives: u32,
    /// When it may run.
    pub available_at: Timestamp,
    /// Where its output is.
    pub output_ref: Option<SafeText>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_nul_in_a_payload_is_refused_and_text_that_only_speaks_of_one_is_not() {
        let mut job = NewJob::new(Uuid::nil(), "mail", "send", "key");
        for bad in [
            json!({"a": "x\u{0}"}),
            json!({"a\u{0}": 1}),
            json!([["\u{0}"]]),
        ] {
            job.payload = bad;
            assert_eq!(job.check(), Err(BadJob::Nul { field: "payload" }));
        }
        job.payload = json!({"pattern": "\\u0000"});
        assert_eq!(job.check(), Ok(()));
    }
}

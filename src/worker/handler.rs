//! What a worker runs: a [`Handler`] per kind of job, and how it says what came of an attempt.
//!
//! A handler knows neither the ledger nor the lease. It gets the job and says `Done`, or a failure
//! that is typed by class and reason; the policy decides what follows (row C5). Next:
//! [`super::attempt`].

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::ledger::error_class::{ErrorClass, REASONS};
use crate::ledger::job::Claimed;
use crate::ledger::time::Timestamp;

pub mod exec;
pub mod http;
mod tail;

/// Does the work of jobs.
///
/// The same job may be run again after a crash: effects carry [`Claimed::idempotency_key`], so that
/// the second run finds the first one's effect. The future is dropped when its timeout passes, when
/// the lease is lost, and at the end of a shutdown's grace.
#[async_trait]
pub trait Handler: Send + Sync {
    /// Runs one attempt.
    ///
    /// # Errors
    /// Why the attempt failed, typed.
    async fn run(&self, job: &Claimed, context: &Context) -> Result<Done, HandlerError>;
}

/// An attempt that did its work.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Done {
    /// Where the output is; written in the transaction that completes the job.
    pub output_ref: Option<String>,
}

/// An attempt that failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{class} failure, {reason}: {error}")]
pub struct HandlerError {
    /// The class, which decides scheduling.
    pub class: ErrorClass,
    /// The registered reason, which people count by.
    pub reason: String,
    /// The message, kept for people.
    pub error: String,
    /// How long the far side asked us to stay away (`Retry-After`).
    pub retry_after: Option<Duration>,
}

impl HandlerError {
    /// A failure by a reason of the table of known failures ([`REASONS`]); any other reason is
    /// unknown.
    pub fn known(reason: &str, error: impl Into<String>) -> Self {
        let class = REASONS
            .iter()
            .find(|(known, _)| *known == reason)
            .map_or(ErrorClass::Unknown, |(_, class)| *class);
        Self {
            class,
            reason: reason.to_owned(),
            error: error.into(),
            retry_after: None,
        }
    }

    /// The same failure with the wait that the far side asked for.
    #[must_use]
    pub fn retry_after(self, wait: Duration) -> Self {
        Self {
            retry_after: Some(wait),
            ..self
        }
    }
}

/// What an attempt may ask of its worker.
#[derive(Debug, Clone)]
pub struct Context {
    pub(super) cancelled: CancellationToken,
    pub(super) claimed_at: Timestamp,
    pub(super) began: Instant,
}

impl Context {
    /// Ends when the attempt shall stop: a handler that works outside its own future (a child
    /// process, a thread) watches it, others are dropped anyway.
    pub fn cancelled(&self) -> &CancellationToken {
        &self.cancelled
    }

    /// Now by the database's clock, carried on from the claim by the monotonic clock: a step of the
    /// wall clock does not show.
    pub fn now(&self) -> Timestamp {
        self.claimed_at.plus(self.began.elapsed())
    }
}

/// Handlers by the kind of job.
#[derive(Clone, Default)]
pub struct Handlers {
    by_kind: HashMap<String, Arc<dyn Handler>>,
    other: Option<Arc<dyn Handler>>,
}

impl Handlers {
    /// No handlers yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// One handler for every kind.
    pub fn all(handler: Arc<dyn Handler>) -> Self {
        Self {
            by_kind: HashMap::new(),
            other: Some(handler),
        }
    }

    /// Adds the handler of one kind.
    #[must_use]
    pub fn on(mut self, kind: &str, handler: Arc<dyn Handler>) -> Self {
        self.by_kind.insert(kind.to_owned(), handler);
        self
    }

    /// The handler of that kind.
    pub fn of(&self, kind: &str) -> Option<&Arc<dyn Handler>> {
        self.by_kind.get(kind).or(self.other.as_ref())
    }
}

impl std::fmt::Debug for Handlers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Handlers")
            .field("kinds", &self.by_kind.keys())
            .field("other", &self.other.is_some())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_of_the_table_brings_its_class_and_any_other_is_unknown() {
        let refused = HandlerError::known("connection_refused", "port 443");
        assert_eq!(refused.class, ErrorClass::Transient);
        let schema = HandlerError::known("schema_violation", "");
        assert_eq!(schema.class, ErrorClass::Permanent);
        let odd = HandlerError::known("moon_phase", "");
        assert_eq!(odd.class, ErrorClass::Unknown);
    }
}

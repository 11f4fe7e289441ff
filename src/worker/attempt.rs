//! One attempt: the handler under its timeout, with panics caught, and its end put as a verdict.
//!
//! Knows the handler and the policy, not the ledger. Next: [`super::flight`], where the verdict
//! waits to be settled.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use rand::Rng;

use super::handler::{Context, Done, Handler, HandlerError};
use crate::ledger::error_class::{ErrorClass, valid_reason};
use crate::ledger::job::{Claimed, Failed, TEXT_MAX_BYTES, Verdict};

/// How an attempt ended.
#[derive(Debug)]
pub(super) enum Ended {
    /// The handler returned.
    Returned(Result<Done, HandlerError>),
    /// The handler panicked with this message.
    Panicked(String),
    /// The handler took longer than its timeout and was dropped.
    TimedOut(Duration),
    /// The handler was told to stop and was dropped.
    Cancelled,
    /// No handler is registered for the kind.
    NoHandler,
}

/// Runs `handler` on `job` until it returns, panics, takes longer than `timeout` or is told to
/// stop.
pub(super) async fn run(
    handler: Option<Arc<dyn Handler>>,
    job: Arc<Claimed>,
    context: Context,
    timeout: Duration,
) -> Ended {
    let Some(handler) = handler else {
        return Ended::NoHandler;
    };
    // A handler that has panicked is never polled again, and what it shares is its own affair.
    let work = AssertUnwindSafe(handler.run(&job, &context)).catch_unwind();
    tokio::select! {
        biased;
        ended = work => match ended {
            Ok(result) => Ended::Returned(result),
            Err(panic) => Ended::Panicked(panic_text(panic.as_ref())),
        },
        () = context.cancelled.cancelled() => Ended::Cancelled,
        () = tokio::time::sleep(timeout) => Ended::TimedOut(timeout),
    }
}

/// The message of a panic, where it is text.
pub(super) fn panic_text(panic: &(dyn Any + Send)) -> String {
    panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a message".to_owned())
}

/// The verdict on an attempt that ended; `None` where the policy leaves it for an operator to
/// judge.
pub(super) fn judge(job: &Claimed, ended: Ended, random: &mut impl Rng) -> Option<Verdict> {
    let failure = match ended {
        Ended::Returned(Ok(done)) => {
            return Some(Verdict::Succeed {
                output_ref: done.output_ref.as_deref().map(bounded),
            });
        }
        Ended::Returned(Err(failure)) => failure,
        Ended::Panicked(message) => HandlerError::known("panic", message),
        Ended::TimedOut(limit) => HandlerError::known(
            "timeout",
            format!("the handler took longer than {limit:?} and was stopped"),
        ),
        Ended::Cancelled => HandlerError::known(
            "lease_expired",
            "the lease ended before it could be renewed; the handler was stopped",
        ),
        Ended::NoHandler => HandlerError::known(
            "no_handler",
            format!("this worker has no handler for kind '{}'", job.kind),
        ),
    };
    let retry_after = failure.retry_after;
    job.policy
        .judge(job.attempt, typed(failure), retry_after, random)
}

/// The failure as the ledger takes it. A reason that is not a short word would make the ledger
/// refuse the whole batch; it is a mistake of the handler's, so the failure counts as not
/// classified.
fn typed(failure: HandlerError) -> Failed {
    if valid_reason(&failure.reason) {
        Failed {
            class: failure.class,
            reason: failure.reason,
            error: bounded(&failure.error),
        }
    } else {
        Failed {
            class: ErrorClass::Unknown,
            reason: "unclassified".to_owned(),
            error: bounded(&format!("reason '{}': {}", failure.reason, failure.error)),
        }
    }
}

/// Text of at most [`TEXT_MAX_BYTES`] without NUL characters, which no database keeps.
fn bounded(text: &str) -> String {
    let mut kept = String::with_capacity(text.len().min(TEXT_MAX_BYTES));
    for each in text.chars() {
        let each = if each == '\0' {
            char::REPLACEMENT_CHARACTER
        } else {
            each
        };
        if kept.len() + each.len_utf8() > TEXT_MAX_BYTES {
            break;
        }
        kept.push(each);
    }
    kept
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng as _;
    use rand_chacha::ChaCha8Rng;
    use uuid::Uuid;

    use super::*;
    use crate::ledger::policy::{OnUnknown, Policy};
    use crate::ledger::time::Timestamp;

    fn job(on_unknown: OnUnknown) -> Claimed {
        Claimed {
            id: Uuid::nil(),
            fence: 1,
            version: 2,
            attempt: 1,
            redrives: 0,
            queue: "q".to_owned(),
            kind: "kind".to_owned(),
            tenant: String::new(),
            idempotency_key: "key".to_owned(),
            payload: serde_json::Value::Null,
            schema_version: None,
            claimed_at: Timestamp::default(),
            lease_expires_at: Timestamp::default(),
            first_attempt_at: Timestamp::default(),
            policy: Policy {
                on_unknown,
                ..Policy::default_v1()
            },
        }
    }

    fn verdict(ended: Ended, on_unknown: OnUnknown) -> Option<Verdict> {
        judge(&job(on_unknown), ended, &mut ChaCha8Rng::seed_from_u64(3))
    }

    fn failure(verdict: Option<Verdict>) -> Failed {
        match verdict.unwrap() {
            Verdict::Retry { failure, .. } | Verdict::Reject { failure } => failure,
            other @ (Verdict::Succeed { .. } | Verdict::Release) => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_panic_is_unknown_and_a_timeout_is_transient() {
        let panic = failure(verdict(
            Ended::Panicked("boom".to_owned()),
            OnUnknown::BoundedRetry,
        ));
        assert_eq!(
            (panic.class, panic.reason.as_str(), panic.error.as_str()),
            (ErrorClass::Unknown, "panic", "boom")
        );
        let late = failure(verdict(
            Ended::TimedOut(Duration::from_secs(3)),
            OnUnknown::Hold,
        ));
        assert_eq!(
            (late.class, late.reason.as_str()),
            (ErrorClass::Transient, "timeout")
        );
    }

    #[test]
    fn an_unknown_failure_is_held_where_the_policy_says_so() {
        assert_eq!(
            verdict(Ended::Panicked(String::new()), OnUnknown::Hold),
            None
        );
    }

    #[test]
    fn a_message_given_as_a_reason_counts_as_unclassified() {
        let sloppy = HandlerError::known("Socket hang up!", "ECONNRESET");
        let failed = failure(verdict(
            Ended::Returned(Err(sloppy)),
            OnUnknown::BoundedRetry,
        ));
        assert_eq!(failed.reason, "unclassified");
        assert_eq!(failed.error, "reason 'Socket hang up!': ECONNRESET");
    }

    #[test]
    fn error_texts_are_cut_at_a_character_and_hold_no_nul() {
        let text = bounded(&"é\0".repeat(TEXT_MAX_BYTES));
        assert!(text.len() <= TEXT_MAX_BYTES && text.len() > TEXT_MAX_BYTES - 4);
        assert!(!text.contains('\0'));
    }

    struct Panics;

    #[async_trait::async_trait]
    impl Handler for Panics {
        async fn run(&self, _: &Claimed, _: &Context) -> Result<Done, HandlerError> {
            panic!("at the disco");
        }
    }

    struct Hangs;

    #[async_trait::async_trait]
    impl Handler for Hangs {
        async fn run(&self, _: &Claimed, _: &Context) -> Result<Done, HandlerError> {
            std::future::pending().await
        }
    }

    async fn ended(handler: Arc<dyn Handler>, context: Context) -> Ended {
        let job = Arc::new(job(OnUnknown::BoundedRetry));
        run(Some(handler), job, context, Duration::from_millis(20)).await
    }

    fn context() -> Context {
        Context {
            cancelled: tokio_util::sync::CancellationToken::new(),
            claimed_at: Timestamp::default(),
            began: tokio::time::Instant::now(),
        }
    }

    #[tokio::test]
    async fn a_handler_that_panics_or_hangs_ends_its_attempt_and_nothing_else() {
        let panicked = ended(Arc::new(Panics), context()).await;
        assert!(matches!(panicked, Ended::Panicked(text) if text == "at the disco"));
        let hung = ended(Arc::new(Hangs), context()).await;
        assert!(matches!(hung, Ended::TimedOut(_)));
        let told = context();
        told.cancelled.cancel();
        assert!(matches!(
            ended(Arc::new(Hangs), told).await,
            Ended::Cancelled
        ));
    }
}

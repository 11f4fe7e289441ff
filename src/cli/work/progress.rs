//! What a worker's log says of its attempts: each failure by its class and reason, and every ten
//! seconds how many there were. The ledger's events are the record; this is for whoever looks at
//! the process.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::{MissedTickBehavior, interval};

use crate::ledger::job::Claimed;
use crate::ledger::text::SafeText;
use crate::worker::{Context, Done, Handler, HandlerError};

/// How often progress is told, where there was any.
const TELL_EVERY: Duration = Duration::from_secs(10);

/// Attempts so far.
#[derive(Debug, Default)]
pub(super) struct Counters {
    begun: AtomicU64,
    done: AtomicU64,
    failed: AtomicU64,
    /// Ended in any way, also by being dropped.
    ended: AtomicU64,
}

/// A handler whose attempts are counted.
pub(super) struct Counted {
    /// Does the work.
    pub(super) handler: Arc<dyn Handler>,
    /// Counts it.
    pub(super) counters: Arc<Counters>,
}

/// Counts the end of an attempt, however it ends.
struct End<'a>(&'a Counters);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.ended.fetch_add(1, Ordering::Relaxed);
    }
}

#[async_trait]
impl Handler for Counted {
    async fn run(&self, job: &Claimed, context: &Context) -> Result<Done, HandlerError> {
        self.counters.begun.fetch_add(1, Ordering::Relaxed);
        let _end = End(&self.counters);
        let result = self.handler.run(job, context).await;
        match &result {
            Ok(_) => {
                self.counters.done.fetch_add(1, Ordering::Relaxed);
            }
            // The error's text may hold what a log must not; the ledger keeps it.
            Err(error) => {
                self.counters.failed.fetch_add(1, Ordering::Relaxed);
                tracing::info!(
                    job = %job.id, queue = %SafeText::new(&job.queue), attempt = job.attempt,
                    class = %error.class, reason = %SafeText::new(&error.reason),
                    retry_after_s = error.retry_after.map(|wait| wait.as_secs()),
                    "attempt failed"
                );
            }
        }
        result
    }
}

/// Tells how far it is, for ever.
pub(super) async fn tell(counters: Arc<Counters>) {
    let mut tick = interval(TELL_EVERY);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut told = (0, 0);
    loop {
        tick.tick().await;
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let ended = read(&counters.ended);
        let begun = read(&counters.begun);
        if (begun, ended) != told {
            told = (begun, ended);
            tracing::info!(
                begun,
                in_flight = begun.saturating_sub(ended),
                done = read(&counters.done),
                failed = read(&counters.failed),
                "progress"
            );
        }
    }
}

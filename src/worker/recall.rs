//! Taking up what a claim brought whose answer was lost.
//!
//! Such jobs are in this worker's name and nobody runs them: left alone they wait for their lease
//! and spend an attempt. So the ledger is asked which jobs the worker holds, and those that it does
//! not know of are begun. That is right because a name is of one process and of no other, before or
//! after it, and because nothing else is asked meanwhile that could move a job in or out of its
//! hands. Next: [`super::flight`].

use std::sync::Arc;

use tokio::time::Instant;

use super::engine::Engine;
use crate::ledger::job::{Claimed, LeaseRef};
use crate::store::{BATCH_MAX, StoreError};

/// The most jobs that are asked for: a worker holds no more.
const HELD_MAX: usize = BATCH_MAX;

impl Engine {
    /// Asks what the worker holds, where a claim's answer was lost and no exchange is under way.
    pub(super) fn begin_recall(&mut self, now: Instant) {
        let busy = self.calls.recall.is_some() || self.calls.exchange.is_some();
        if self.unsure.is_none() || busy || self.settle_pause.after(now).is_some() {
            return;
        }
        let (store, worker) = (Arc::clone(&self.store), self.options.name.clone());
        let most = u32::try_from(HELD_MAX).unwrap_or(u32::MAX);
        self.calls.recall = Some(Box::pin(async move { store.held(&worker, most).await }));
    }

    /// Takes in what it holds. Leases count from before the claim was sent.
    pub(super) fn recalled(&mut self, result: Result<Vec<Claimed>, StoreError>) {
        let error = match result {
            Ok(held) => {
                self.settle_pause.end();
                if let Some(sent) = self.unsure.take() {
                    self.take_up(held, sent);
                }
                return;
            }
            Err(error) => error,
        };
        tracing::warn!(%error, "could not ask what a claim brought whose answer was lost");
        if error.is_transient() {
            self.settle_pause.lengthen(Instant::now(), &mut self.random);
        } else {
            // It will not be told: those jobs come back with their leases.
            self.unsure = None;
        }
    }

    fn take_up(&mut self, held: Vec<Claimed>, sent: Instant) {
        for job in held {
            let lease = LeaseRef {
                job: job.id,
                fence: job.fence,
            };
            if !self.flight.knows(lease) {
                tracing::info!(job = %lease.job, "taken up: the answer to its claim was lost");
                self.start(job, sent);
            }
        }
    }
}

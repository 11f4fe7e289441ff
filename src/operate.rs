//! What a person does to jobs: who they are, what will change before it does, and what became of
//! it.
//!
//! Console and command line act through [`Operate`] and nothing else. It is made from a store that
//! may write, and only where operating is permitted: under `--read-only` no code path has one. The
//! walk: [`preview`], what will change; then [`Operate::act`] for one job, or a plan for more; then
//! [`receipt`], what became of it. Decides nothing about transitions: that is
//! [`crate::ledger::transition`]'s.

use std::sync::Arc;

use crate::ledger::job::{Operation, Outcome};
use crate::ledger::plan::PLAN_BATCH_MAX;
pub use crate::ledger::plan::Target;
use crate::store::{Act, Store, StoreError};

pub mod operator;
pub mod preview;
pub mod receipt;

pub use operator::Operator;
pub use preview::{Preview, Skipped, Skips};
pub use receipt::{Receipt, Scope};

/// From how many jobs on an act is confirmed by typing their number.
pub const TYPED_COUNT_FROM: u64 = 20;

/// How often an act is asked for again whose answer was lost: asking again is safe, and tells what
/// it did.
const TRIES: u32 = 3;

/// The handle that acts. Holds a store that may write, and who acts.
#[derive(Clone)]
pub struct Operate {
    store: Arc<dyn Store>,
    operator: Operator,
}

impl std::fmt::Debug for Operate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Operate")
            .field("operator", &self.operator)
            .finish_non_exhaustive()
    }
}

impl Operate {
    /// Acts on the ledger of `store` as `operator`.
    pub const fn new(store: Arc<dyn Store>, operator: Operator) -> Self {
        Self { store, operator }
    }

    /// Who acts.
    pub const fn operator(&self) -> &Operator {
        &self.operator
    }

    /// Acts on one job, if it is as it was seen; the receipt says what became of it. `command` is
    /// the equal command line without the job.
    ///
    /// # Errors
    /// Where the ledger cannot be reached, or the answer was lost again and again
    /// ([`StoreError::OutcomeUnknown`]): asking again is safe.
    pub async fn act(
        &self,
        operation: Operation,
        target: Target,
        reason: &str,
    ) -> Result<Receipt, StoreError> {
        let act = Act {
            operation,
            job: target.job,
            version: target.version,
            actor: self.operator.actor(),
            note: reason.to_owned(),
        };
        let mut tries = 0;
        let outcome = loop {
            tries += 1;
            match self.store.operate(&act).await {
                Err(StoreError::OutcomeUnknown { .. }) if tries < TRIES => {}
                answered => break answered?,
            }
        };
        Ok(self.receipt(operation, reason, &[(target, outcome)]))
    }

    /// The receipt of acts on single jobs.
    fn receipt(&self, operation: Operation, reason: &str, done: &[(Target, Outcome)]) -> Receipt {
        let mut receipt = Receipt::new(operation, reason, &self.operator.actor());
        for (target, outcome) in done {
            receipt.add(target.job, *outcome);
        }
        receipt
    }
}

/// The most jobs that one transaction of a plan operates on.
pub const CHUNK_MAX: u32 = PLAN_BATCH_MAX;

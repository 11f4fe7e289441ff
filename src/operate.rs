//! What a person does to jobs: who they are, what will change before it does, and what became of
//! it.
//!
//! Console and command line act through [`Operate`] and nothing else. It is made from a store that
//! may write, and only where operating is permitted: under `--read-only` no code path has one. The
//! walk: [`preview`], what will change; then [`Operate::act`] for one job, or a plan for more; then
//! [`receipt`], what became of it. Decides nothing about transitions: that is
//! [`crate::ledger::transition`]'s.

use std::future::Future;
use std::sync::Arc;

use uuid::Uuid;

use crate::ledger::job::{Operation, Outcome};
pub use crate::ledger::plan::Target;
use crate::ledger::plan::{PLAN_BATCH_MAX, Pace, Plan, PlanEvent};
use crate::ledger::query::Query;
use crate::ledger::text::SafeText;
use crate::store::plans::{NewPlan, PlanAct, PlanOutcome};
use crate::store::{Act, BATCH_MAX, Store, StoreError};

pub mod executor;
pub mod operator;
pub mod preview;
pub mod receipt;

pub use executor::{Ended, Executor};
pub use operator::Operator;
pub use preview::{Preview, Skipped, Skips};
pub use receipt::{Receipt, Scope};

/// From how many jobs on an act is confirmed by typing their number.
pub const TYPED_COUNT_FROM: u64 = 20;

/// The most jobs that one plan freezes from a filter: a few seconds of work for the database.
pub const FREEZE_MAX: u64 = 200_000;

/// How often an act is asked for again whose answer was lost: asking again is safe, and tells what
/// it did.
const TRIES: u32 = 3;

/// What is to be done in bulk, and how.
#[derive(Debug, Clone, Copy)]
pub struct Order<'a> {
    /// What is done to each job.
    pub operation: Operation,
    /// The filter that names the jobs, as it was written; empty where they are named one by one.
    pub query: &'a str,
    /// Why.
    pub reason: &'a str,
    /// How the plan advances.
    pub pace: Pace,
}

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
        let outcome = again(|| self.store.operate(&act)).await?;
        Ok(self.receipt(operation, reason, &[(target, outcome)]))
    }

    /// Makes a draft of a plan on these jobs. It is shown, then approved or cancelled.
    ///
    /// # Errors
    /// Where the ledger cannot be reached or refuses a value; a draft that was begun stays one.
    pub async fn draft(&self, order: &Order<'_>, targets: &[Target]) -> Result<Plan, StoreError> {
        let plan = self.begin(order).await?;
        for piece in targets.chunks(BATCH_MAX) {
            let freeze = || self.store.plans().freeze(plan, piece);
            again(freeze).await?;
        }
        self.plan(plan).await
    }

    /// Makes a draft of a plan on every job for which `query` holds now and that the operation may
    /// take, counted exactly.
    ///
    /// # Errors
    /// As [`Operate::draft`], and where there are more than [`FREEZE_MAX`] jobs.
    pub async fn draft_where(&self, order: &Order<'_>, query: &Query) -> Result<Plan, StoreError> {
        let plan = self.begin(order).await?;
        let plans = self.store.plans();
        // Asked again after a lost answer it would add jobs that came meanwhile: it is not.
        plans
            .freeze_where(plan, order.operation, query, FREEZE_MAX)
            .await?;
        self.plan(plan).await
    }

    /// What a draft will change, counted exactly.
    ///
    /// # Errors
    /// Where the ledger cannot be reached.
    pub async fn preview(&self, plan: &Plan) -> Result<Preview, StoreError> {
        let outline = self.store.plans().outline(plan.id).await?;
        Ok(Preview::of_plan(plan, &outline))
    }

    async fn begin(&self, order: &Order<'_>) -> Result<Uuid, StoreError> {
        let new = NewPlan {
            id: Uuid::now_v7(),
            operation: order.operation,
            query: order.query.to_owned(),
            reason: order.reason.to_owned(),
            actor: self.operator.actor(),
            pace: order.pace,
        };
        again(|| self.store.plans().draft(&new)).await?;
        Ok(new.id)
    }

    /// Approves, pauses, resumes or cancels a plan.
    ///
    /// # Errors
    /// Where the ledger cannot be reached, or refuses the act for another cause than the plan's
    /// state.
    pub async fn act_on_plan(
        &self,
        plan: Uuid,
        event: PlanEvent,
        reason: &str,
    ) -> Result<PlanOutcome, StoreError> {
        let act = PlanAct {
            plan,
            event,
            actor: self.operator.actor(),
            note: reason.to_owned(),
        };
        again(|| self.store.plans().act_on_plan(&act)).await
    }

    /// A plan as it stands.
    ///
    /// # Errors
    /// Where the ledger cannot be reached or has no such plan.
    pub async fn plan(&self, plan: Uuid) -> Result<Plan, StoreError> {
        let found = self.store.plans().plan(plan).await?;
        found.ok_or_else(|| StoreError::Refused {
            operation: "plan",
            message: SafeText::new(&format!("there is no plan {plan}")),
        })
    }

    /// Who carries plans out for this operator; shown as such while it holds one.
    pub fn executor(&self) -> Executor {
        Executor::new(Arc::clone(&self.store), &self.operator.actor())
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

/// Asks again where the answer was lost: each of these calls then tells what it did before.
async fn again<T, F>(mut call: impl FnMut() -> F) -> Result<T, StoreError>
where
    F: Future<Output = Result<T, StoreError>>,
{
    let mut tries = 1;
    loop {
        match call().await {
            Err(StoreError::OutcomeUnknown { .. }) if tries < TRIES => tries += 1,
            answered => return answered,
        }
    }
}

/// The most jobs that one transaction of a plan operates on.
pub const CHUNK_MAX: u32 = PLAN_BATCH_MAX;

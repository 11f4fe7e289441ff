//! Plans in a ledger: the calls that make one, carry it out and read it.
//!
//! Every call is one short transaction. Who carries a plan out holds it under a lease and a fence
//! ([`Hold`]): a call with an old one changes nothing and says so. How a plan goes on is decided in
//! [`crate::ledger::plan::next_step`]; what may become of it, and that a job is operated on at most
//! once per plan, the database enforces. Next: `operate`, which carries plans out.

use std::time::Duration;

use async_trait::async_trait;
use uuid::Uuid;

use super::StoreError;
use crate::ledger::job::Operation;
use crate::ledger::plan::{
    JobOutcome, Pace, Plan, PlanEntry, PlanEvent, PlanJob, PlanState, Standing, Target,
};
use crate::ledger::query::Query;
use crate::ledger::state::State;
use crate::ledger::time::Timestamp;

pub(super) mod freeze;
pub(super) mod row;

/// The most plans, jobs or moves of one page.
pub const PLANS_PAGE_MAX: u32 = 500;

/// A plan to be made. It is a draft: jobs are frozen into it, then it is approved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPlan {
    /// The id it shall have: a UUIDv7.
    pub id: Uuid,
    /// What it does to each job.
    pub operation: Operation,
    /// The filter that its jobs are frozen from, as it was written; empty where they were named.
    pub query: String,
    /// Why; the note of every event that it causes.
    pub reason: String,
    /// Who; the actor of every event of a job that it causes.
    pub actor: String,
    /// How it advances.
    pub pace: Pace,
}

/// An operator's act on a plan: approve, pause, resume or cancel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanAct {
    /// Which.
    pub plan: Uuid,
    /// What.
    pub event: PlanEvent,
    /// Who.
    pub actor: String,
    /// Why.
    pub note: String,
}

/// What became of an act on a plan. Never a silent success.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlanOutcome {
    /// It was done: the plan is now in this state.
    Applied(PlanState),
    /// No such move from the state that the plan is in; nothing was changed.
    Refused(PlanState),
    /// There is no such plan.
    NotFound,
}

/// An executor's hold on a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hold {
    /// Which.
    pub plan: Uuid,
    /// The fence of this hold.
    pub fence: u32,
    /// How long the lease lasts from each call on.
    pub lease: Duration,
}

/// What became of the wish to carry a plan out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Taken {
    /// It is held.
    Held(Hold),
    /// It is not to be had: another executor has it, or it is not under way; the plan as it is.
    Busy(Box<Plan>),
    /// There is no such plan.
    NotFound,
}

/// What one transaction of an executor did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Advanced {
    /// Jobs that were changed.
    pub applied: u32,
    /// Jobs that had changed since they were frozen; left alone.
    pub stale: u32,
    /// Jobs that the operation may not take; left alone.
    pub refused: u32,
    /// Jobs that are not there.
    pub missing: u32,
}

/// What a plan holds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PlanOutline {
    /// When it was counted, by the database's clock.
    pub as_of: Timestamp,
    /// Jobs by the state in which they were frozen.
    pub states: Vec<(State, u64)>,
    /// Since when the one is in its state that is in it longest.
    pub oldest: Option<Timestamp>,
    /// Jobs with an attempt whose outcome nobody reported.
    pub unsettled: u64,
    /// Jobs that were redriven before.
    pub redriven_before: u64,
}

/// A plan that has something to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnderWay {
    /// Which.
    pub plan: Uuid,
    /// Whether an executor may take it; else only the ends of its jobs are to be recorded.
    pub runs: bool,
}

/// Which jobs of a plan to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PlanJobsPage {
    /// From this place on.
    pub from: u32,
    /// With this outcome only.
    pub outcome: Option<JobOutcome>,
    /// At most so many, at most [`PLANS_PAGE_MAX`].
    pub limit: u32,
}

/// The plans of a ledger that may be written to.
#[async_trait]
pub trait Plans: Send + Sync {
    /// Makes a draft. Asking again with the same id changes nothing.
    ///
    /// # Errors
    /// Where the ledger cannot be reached or refuses a value.
    async fn draft(&self, plan: &NewPlan) -> Result<(), StoreError>;

    /// Freezes jobs into a draft, at most [`super::BATCH_MAX`], behind those that are in it. A job
    /// that is in it already stays as it was frozen. Returns how many were added.
    ///
    /// # Errors
    /// Where the ledger cannot be reached, or the plan is no draft any more.
    async fn freeze(&self, plan: Uuid, targets: &[Target]) -> Result<u64, StoreError>;

    /// Freezes into a draft every job for which `query` holds at this moment and that `operation`
    /// may take, in one transaction; how many. More than `at_most` are refused, and none is frozen.
    ///
    /// # Errors
    /// Where the ledger cannot be reached, the plan is no draft any more, or there are too many.
    async fn freeze_where(
        &self,
        plan: Uuid,
        operation: Operation,
        query: &Query,
        at_most: u64,
    ) -> Result<u64, StoreError>;

    /// What a plan holds, counted: of a draft, before it is approved.
    ///
    /// # Errors
    /// Where the ledger cannot be reached.
    async fn outline(&self, plan: Uuid) -> Result<PlanOutline, StoreError>;

    /// An operator's act, where the plan's state lets it. One that was made before and whose answer
    /// was lost is answered as it was then.
    ///
    /// # Errors
    /// Where the ledger cannot be reached, or a plan without jobs is approved.
    async fn act_on_plan(&self, act: &PlanAct) -> Result<PlanOutcome, StoreError>;

    /// Takes a plan that is under way and that nobody carries out.
    ///
    /// # Errors
    /// Where the ledger cannot be reached.
    async fn take(&self, plan: Uuid, executor: &str, lease: Duration) -> Result<Taken, StoreError>;

    /// Records how redriven jobs ended, keeps the hold, and says where the plan stands. `None`
    /// where the hold is lost.
    ///
    /// # Errors
    /// Where the ledger cannot be reached.
    async fn observe(&self, hold: &Hold) -> Result<Option<Standing>, StoreError>;

    /// Operates on the next waiting jobs, at most `most`, as part of `batch`, and marks them, in
    /// one transaction. `None` where the hold is lost. After a lost answer it must not be asked
    /// again without another [`Plans::observe`].
    ///
    /// # Errors
    /// Where the ledger cannot be reached.
    async fn advance(
        &self,
        hold: &Hold,
        batch: u32,
        most: u32,
    ) -> Result<Option<Advanced>, StoreError>;

    /// Ends the executor's work: `stop` or `finish`. Whether it was the executor's to end.
    ///
    /// # Errors
    /// Where the ledger cannot be reached, or jobs wait and it is no stop.
    async fn conclude(
        &self,
        hold: &Hold,
        event: PlanEvent,
        executor: &str,
        why: &str,
    ) -> Result<bool, StoreError>;

    /// Lets go of a plan before the lease ends, so that another may take it at once.
    ///
    /// # Errors
    /// Where the ledger cannot be reached.
    async fn let_go(&self, hold: &Hold) -> Result<(), StoreError>;

    /// Records how redriven jobs of a plan ended that nobody carries out any more; how many.
    ///
    /// # Errors
    /// Where the ledger cannot be reached.
    async fn settle_plan(&self, plan: Uuid) -> Result<u64, StoreError>;

    /// The plans that have something to be done and that nobody carries out, at most `limit`.
    ///
    /// # Errors
    /// Where the ledger cannot be reached.
    async fn plans_under_way(&self, limit: u32) -> Result<Vec<UnderWay>, StoreError>;

    /// One plan.
    ///
    /// # Errors
    /// Where the ledger cannot be reached.
    async fn plan(&self, plan: Uuid) -> Result<Option<Plan>, StoreError>;

    /// The newest plans, at most `limit`.
    ///
    /// # Errors
    /// Where the ledger cannot be reached.
    async fn plans(&self, limit: u32) -> Result<Vec<Plan>, StoreError>;

    /// Jobs of a plan, in their order.
    ///
    /// # Errors
    /// Where the ledger cannot be reached.
    async fn plan_jobs(&self, plan: Uuid, page: PlanJobsPage) -> Result<Vec<PlanJob>, StoreError>;

    /// The last moves of a plan, the newest first.
    ///
    /// # Errors
    /// Where the ledger cannot be reached.
    async fn plan_history(&self, plan: Uuid, limit: u32) -> Result<Vec<PlanEntry>, StoreError>;
}

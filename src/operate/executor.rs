//! Carries plans out: holds one under a lease, takes the step that the rule says, and looks again.
//!
//! Owns no rule: [`next_step`] says what is to be done, the store does it in one transaction, and
//! before every step the plan is read anew. So an executor may die anywhere: whatever was committed
//! is counted, the lease runs out, and another goes on from there, each job at most once. Next:
//! `store::Plans`.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::ledger::plan::{Plan, PlanEvent, PlanState, Standing, Step, next_step};
use crate::store::plans::{Hold, Taken, UnderWay};
use crate::store::{Store, StoreError};

/// How long an executor's lease lasts: for so long nobody goes on with a plan whose executor died.
pub const LEASE: Duration = Duration::from_secs(10);
/// How often plans are looked for that nobody carries out.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// The most plans that one process carries out at a time.
const PLANS_MAX: u32 = 8;
/// The pause after the ledger was out of reach.
const PAUSE: Duration = Duration::from_millis(500);

/// Who carries plans out, and how.
#[derive(Clone)]
pub struct Executor {
    store: Arc<dyn Store>,
    name: String,
    lease: Duration,
}

impl std::fmt::Debug for Executor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Executor")
            .field("name", &self.name)
            .field("lease", &self.lease)
            .finish_non_exhaustive()
    }
}

/// How the work on a plan ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// The plan is over, stopped, or held by an operator: as it is now.
    Rests(Box<Plan>),
    /// Another executor has it, or it is not under way: as it is now.
    Busy(Box<Plan>),
    /// This executor was asked to end; the plan is left for another.
    LetGo,
    /// There is no such plan.
    NotFound,
}

impl Executor {
    /// An executor on the ledger of `store`. Its name is shown while it holds a plan.
    pub fn new(store: Arc<dyn Store>, name: &str) -> Self {
        Self {
            store,
            name: name.to_owned(),
            lease: LEASE,
        }
    }

    /// With another lease than [`LEASE`].
    #[must_use]
    pub fn with_lease(self, lease: Duration) -> Self {
        Self { lease, ..self }
    }

    /// Carries one plan out until it rests or `stop` asks to end; tells `watch` where it stands
    /// before each step.
    ///
    /// # Errors
    /// Where the plan cannot be taken because the ledger cannot be reached, or what was done cannot
    /// be read. Once it is held, the ledger is asked again and again.
    pub async fn run(
        &self,
        plan: Uuid,
        stop: &CancellationToken,
        mut watch: impl FnMut(&Standing) + Send,
    ) -> Result<Ended, StoreError> {
        let plans = self.store.plans();
        let hold = match plans.take(plan, &self.name, self.lease).await? {
            Taken::Held(hold) => hold,
            Taken::Busy(plan) => return Ok(Ended::Busy(plan)),
            Taken::NotFound => return Ok(Ended::NotFound),
        };
        loop {
            if stop.is_cancelled() {
                plans.let_go(&hold).await?;
                return Ok(Ended::LetGo);
            }
            let wait = match self.step(&hold, &mut watch).await {
                Ok(Next::Wait(wait)) => wait,
                Ok(Next::Rest) => return self.rests(plan).await,
                Err(error) if error.is_transient() => {
                    tracing::warn!(%plan, %error, "a step of the plan is asked for again");
                    PAUSE
                }
                Err(error) => {
                    self.stop_for(&hold, &error).await?;
                    return self.rests(plan).await;
                }
            };
            tokio::select! {
                () = stop.cancelled() => {}
                () = sleep(wait) => {}
            }
        }
    }

    /// Reads where the plan stands and does what is next.
    async fn step(
        &self,
        hold: &Hold,
        watch: &mut (impl FnMut(&Standing) + Send),
    ) -> Result<Next, StoreError> {
        let plans = self.store.plans();
        let Some(standing) = plans.observe(hold).await? else {
            return Ok(Next::Rest);
        };
        watch(&standing);
        let conclude = |event, why: String| async move {
            plans.conclude(hold, event, &self.name, &why).await?;
            Ok(Next::Rest)
        };
        match next_step(&standing) {
            Step::Apply { batch, most } => match plans.advance(hold, batch, most).await? {
                Some(_advanced) => Ok(Next::Wait(Duration::ZERO)),
                None => Ok(Next::Rest),
            },
            Step::Wait(wait) => Ok(Next::Wait(wait)),
            Step::Stop(why) => conclude(PlanEvent::Stop, why.to_string()).await,
            Step::Finish => conclude(PlanEvent::Finish, String::new()).await,
            Step::Leave => Ok(Next::Rest),
        }
    }

    /// A step that the ledger refuses would be refused for ever: the plan stops and says why.
    async fn stop_for(&self, hold: &Hold, error: &StoreError) -> Result<(), StoreError> {
        tracing::error!(plan = %hold.plan, %error, "the plan stops");
        let why = error.to_string();
        let plans = self.store.plans();
        plans
            .conclude(hold, PlanEvent::Stop, &self.name, &why)
            .await?;
        Ok(())
    }

    /// The plan as it was left. One that is still under way was taken by another executor.
    async fn rests(&self, plan: Uuid) -> Result<Ended, StoreError> {
        Ok(match self.store.plans().plan(plan).await? {
            Some(plan) if plan.state == PlanState::Running => Ended::Busy(Box::new(plan)),
            Some(plan) => Ended::Rests(Box::new(plan)),
            None => Ended::NotFound,
        })
    }

    /// Carries out whatever approved plan nobody carries out, and records the ends of jobs of those
    /// that rest, until `stop`. So a plan goes on when the terminal of its operator is gone.
    pub async fn carry_on(self, stop: CancellationToken) {
        let mut tasks = JoinSet::new();
        let mut in_hand = HashSet::new();
        while !stop.is_cancelled() {
            while let Some(done) = tasks.try_join_next() {
                match done {
                    Ok(plan) => drop(in_hand.remove(&plan)),
                    Err(error) => {
                        // A panic: which plan it was is not told; its lease runs out.
                        tracing::error!(%error, "the work on a plan ended early");
                        in_hand.clear();
                    }
                }
            }
            match self.store.plans().plans_under_way(PLANS_MAX).await {
                Ok(found) => {
                    for under_way in found {
                        let room = tasks.len() < usize::try_from(PLANS_MAX).unwrap_or(1);
                        if !under_way.runs {
                            self.settle(under_way).await;
                        } else if room && in_hand.insert(under_way.plan) {
                            let (executor, stop) = (self.clone(), stop.clone());
                            tasks.spawn(async move { executor.carry(under_way.plan, stop).await });
                        }
                    }
                }
                Err(error) => tracing::warn!(%error, "plans cannot be looked for"),
            }
            tokio::select! {
                () = stop.cancelled() => {}
                () = sleep(LOOK_EVERY) => {}
            }
        }
        // Each lets go of its plan, so that another process takes it at once.
        while tasks.join_next().await.is_some() {}
    }

    async fn carry(&self, plan: Uuid, stop: CancellationToken) -> Uuid {
        match self.run(plan, &stop, |_standing| {}).await {
            Ok(ended) => tracing::info!(%plan, ?ended, "the work on a plan ended"),
            Err(error) => tracing::warn!(%plan, %error, "a plan cannot be carried out"),
        }
        plan
    }

    async fn settle(&self, rests: UnderWay) {
        if let Err(error) = self.store.plans().settle_plan(rests.plan).await {
            tracing::warn!(plan = %rests.plan, %error, "ends of jobs cannot be recorded");
        }
    }
}

/// What follows a step.
enum Next {
    /// The next step, after this time.
    Wait(Duration),
    /// Nothing: the plan rests, or the hold is lost.
    Rest,
}

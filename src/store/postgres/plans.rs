//! Plans in PostgreSQL: bind, run, map.
//!
//! An executor's transaction holds the plan's row first and then the jobs by ascending id; nothing
//! else takes both. Next: `plans/work.rs`, the transactions.

use std::time::Duration;

use async_trait::async_trait;
use uuid::Uuid;

use super::PostgresStore;
use crate::ledger::job::{NAME_MAX_BYTES, Operation, TEXT_MAX_BYTES};
use crate::ledger::plan::{Plan, PlanEntry, PlanEvent, PlanJob, Standing, Target};
use crate::ledger::query::Query;
use crate::store::StoreError;
use crate::store::plans::{
    Advanced, Hold, NewPlan, PlanAct, PlanJobsPage, PlanOutcome, PlanOutline, Plans, Taken,
    UnderWay,
};
use crate::store::row::{bound_millis, cut};

pub(super) mod reads;
mod work;

#[async_trait]
impl Plans for PostgresStore {
    async fn draft(&self, plan: &NewPlan) -> Result<(), StoreError> {
        self.line.run(&work::Draft(plan)).await
    }

    async fn freeze(&self, plan: Uuid, targets: &[Target]) -> Result<u64, StoreError> {
        self.line.run(&work::Freeze { plan, targets }).await
    }

    async fn freeze_where(
        &self,
        plan: Uuid,
        operation: Operation,
        query: &Query,
        at_most: u64,
    ) -> Result<u64, StoreError> {
        let work = work::FreezeWhere {
            plan,
            operation,
            query,
            at_most,
        };
        self.line.run(&work).await
    }

    async fn outline(&self, plan: Uuid) -> Result<PlanOutline, StoreError> {
        self.line.run(&reads::Outline(plan)).await
    }

    async fn act_on_plan(&self, act: &PlanAct) -> Result<PlanOutcome, StoreError> {
        let work = work::ActOnPlan {
            act,
            actor: cut(&act.actor, NAME_MAX_BYTES),
            note: cut(&act.note, TEXT_MAX_BYTES),
        };
        self.line.run(&work).await
    }

    async fn take(&self, plan: Uuid, executor: &str, lease: Duration) -> Result<Taken, StoreError> {
        let work = work::Take {
            plan,
            executor: cut(executor, NAME_MAX_BYTES),
            lease,
        };
        self.line.run(&work).await
    }

    async fn observe(&self, hold: &Hold) -> Result<Option<Standing>, StoreError> {
        self.line.run(&work::Observe(hold)).await
    }

    async fn advance(
        &self,
        hold: &Hold,
        batch: u32,
        most: u32,
    ) -> Result<Option<Advanced>, StoreError> {
        let work = work::Advance { hold, batch, most };
        let advanced = self.line.run(&work).await?;
        self.hints.send();
        Ok(advanced)
    }

    async fn conclude(
        &self,
        hold: &Hold,
        event: PlanEvent,
        executor: &str,
        why: &str,
    ) -> Result<bool, StoreError> {
        let work = work::Conclude {
            hold,
            event,
            executor: cut(executor, NAME_MAX_BYTES),
            why: cut(why, TEXT_MAX_BYTES),
        };
        self.line.run(&work).await
    }

    async fn let_go(&self, hold: &Hold) -> Result<(), StoreError> {
        self.line.run(&work::LetGo(hold)).await
    }

    async fn settle_plan(&self, plan: Uuid) -> Result<u64, StoreError> {
        self.line.run(&work::Settle(plan)).await
    }

    async fn plans_under_way(&self, limit: u32) -> Result<Vec<UnderWay>, StoreError> {
        self.line.run(&reads::UnderWays(limit)).await
    }

    async fn plan(&self, plan: Uuid) -> Result<Option<Plan>, StoreError> {
        self.line.run(&reads::One(plan)).await
    }

    async fn plans(&self, limit: u32) -> Result<Vec<Plan>, StoreError> {
        self.line.run(&reads::Newest(limit)).await
    }

    async fn plan_jobs(&self, plan: Uuid, page: PlanJobsPage) -> Result<Vec<PlanJob>, StoreError> {
        self.line.run(&reads::Jobs { plan, page }).await
    }

    async fn plan_history(&self, plan: Uuid, limit: u32) -> Result<Vec<PlanEntry>, StoreError> {
        self.line.run(&reads::History { plan, limit }).await
    }
}

/// A lease in milliseconds; at most a day, as the table has it.
fn lease_ms(lease: Duration) -> i64 {
    bound_millis(lease.min(Duration::from_hours(24)))
}

/// A number as the column has it; one that does not fit was never given out.
fn int(value: u32) -> i32 {
    i32::try_from(value).unwrap_or(i32::MAX)
}

//! Plans in SQLite: bind, run, map.
//!
//! An executor that only looks writes nothing: see [`work::observe`]. Next: `plans/work.rs`, the
//! transactions.

use std::time::Duration;

use async_trait::async_trait;
use uuid::Uuid;

use super::SqliteStore;
use crate::ledger::job::Operation;
use crate::ledger::plan::{Plan, PlanEntry, PlanEvent, PlanJob, Standing, Target};
use crate::ledger::query::Query;
use crate::store::StoreError;
use crate::store::plans::{
    Advanced, Hold, NewPlan, PlanAct, PlanJobsPage, PlanOutcome, PlanOutline, Plans, Taken,
    UnderWay,
};

pub(super) mod reads;
mod work;

#[async_trait]
impl Plans for SqliteStore {
    async fn draft(&self, plan: &NewPlan) -> Result<(), StoreError> {
        let call = self.access.writing("draft");
        call.within(work::draft(&call, plan)).await
    }

    async fn freeze(&self, plan: Uuid, targets: &[Target]) -> Result<u64, StoreError> {
        let call = self.access.writing("freeze");
        call.within(work::freeze(&call, plan, targets)).await
    }

    async fn freeze_where(
        &self,
        plan: Uuid,
        operation: Operation,
        query: &Query,
        at_most: u64,
    ) -> Result<u64, StoreError> {
        let call = self.access.writing("freeze");
        let which = (plan, operation, query);
        call.within(work::freeze_where(&call, which, at_most)).await
    }

    async fn outline(&self, plan: Uuid) -> Result<PlanOutline, StoreError> {
        let call = self.access.reading("outline of a plan");
        call.within(async {
            let found = reads::outline(&mut *call.reader().await?, plan).await;
            found.map_err(|fault| fault.explain(&call))
        })
        .await
    }

    async fn act_on_plan(&self, act: &PlanAct) -> Result<PlanOutcome, StoreError> {
        let call = self.access.writing("act on a plan");
        call.within(work::act(&call, act)).await
    }

    async fn take(&self, plan: Uuid, executor: &str, lease: Duration) -> Result<Taken, StoreError> {
        let call = self.access.writing("take a plan");
        call.within(work::take(&call, plan, executor, lease)).await
    }

    async fn observe(&self, hold: &Hold) -> Result<Option<Standing>, StoreError> {
        let call = self.access.writing("observe a plan");
        call.within(work::observe(&call, hold)).await
    }

    async fn advance(
        &self,
        hold: &Hold,
        batch: u32,
        most: u32,
    ) -> Result<Option<Advanced>, StoreError> {
        let call = self.access.writing("advance a plan");
        let advanced = call.within(work::advance(&call, hold, batch, most)).await?;
        self.hint.changed();
        Ok(advanced)
    }

    async fn conclude(
        &self,
        hold: &Hold,
        event: PlanEvent,
        executor: &str,
        why: &str,
    ) -> Result<bool, StoreError> {
        let call = self.access.writing("conclude a plan");
        call.within(work::conclude(&call, hold, event, (executor, why)))
            .await
    }

    async fn let_go(&self, hold: &Hold) -> Result<(), StoreError> {
        let call = self.access.writing("let go of a plan");
        call.within(work::let_go(&call, hold)).await
    }

    async fn settle_plan(&self, plan: Uuid) -> Result<u64, StoreError> {
        let call = self.access.writing("settle a plan");
        call.within(work::settle_plan(&call, plan)).await
    }

    async fn plans_under_way(&self, limit: u32) -> Result<Vec<UnderWay>, StoreError> {
        let call = self.access.reading("plans under way");
        call.within(async { reads::under_way(&call, &mut *call.reader().await?, limit).await })
            .await
    }

    async fn plan(&self, plan: Uuid) -> Result<Option<Plan>, StoreError> {
        let call = self.access.reading("plan");
        call.within(async {
            let found = reads::one(&mut *call.reader().await?, plan).await;
            found.map_err(|fault| fault.explain(&call))
        })
        .await
    }

    async fn plans(&self, limit: u32) -> Result<Vec<Plan>, StoreError> {
        let call = self.access.reading("plans");
        call.within(async {
            let found = reads::newest(&mut *call.reader().await?, limit).await;
            found.map_err(|fault| fault.explain(&call))
        })
        .await
    }

    async fn plan_jobs(&self, plan: Uuid, page: PlanJobsPage) -> Result<Vec<PlanJob>, StoreError> {
        let call = self.access.reading("plan jobs");
        call.within(async {
            let found = reads::jobs(&mut *call.reader().await?, plan, page).await;
            found.map_err(|fault| fault.explain(&call))
        })
        .await
    }

    async fn plan_history(&self, plan: Uuid, limit: u32) -> Result<Vec<PlanEntry>, StoreError> {
        let call = self.access.reading("plan history");
        call.within(async {
            let found = reads::history(&mut *call.reader().await?, plan, limit).await;
            found.map_err(|fault| fault.explain(&call))
        })
        .await
    }
}

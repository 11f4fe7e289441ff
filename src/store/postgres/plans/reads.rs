//! Plans read: one, the newest, the jobs of one, its history.
//!
//! Next: [`crate::store::plans::row`], which checks what was read.

use std::borrow::Cow;

use sqlx::Row as _;
use sqlx::postgres::{PgConnection, PgRow};
use uuid::Uuid;

use super::super::call::{Fault, Work};
use super::super::rows::{int, maybe_moment, moment};
use crate::ledger::plan::{FailedAgain, Plan, PlanEntry, PlanJob, Standing};
use crate::store::fault::Effect;
use crate::store::plans::row::{
    FAILURES_MAX, RawOutline, RawPlan, RawPlanEntry, RawPlanJob, RawStanding, failure, outline,
};
use crate::store::plans::{PLANS_PAGE_MAX, PlanJobsPage, PlanOutline, UnderWay};

/// The static text of a statement under `assets/sql/postgres`.
macro_rules! statement {
    ($name:literal) => {
        include_str!(concat!("../../../../assets/sql/postgres/", $name, ".sql"))
    };
}
pub(super) use statement;

/// One plan.
#[derive(Debug)]
pub(in crate::store::postgres) struct One(pub(in crate::store::postgres) Uuid);

/// The newest plans.
#[derive(Debug)]
pub(in crate::store::postgres) struct Newest(pub(in crate::store::postgres) u32);

/// Jobs of a plan.
#[derive(Debug)]
pub(in crate::store::postgres) struct Jobs {
    pub(in crate::store::postgres) plan: Uuid,
    pub(in crate::store::postgres) page: PlanJobsPage,
}

/// The moves of a plan.
#[derive(Debug)]
pub(in crate::store::postgres) struct History {
    pub(in crate::store::postgres) plan: Uuid,
    pub(in crate::store::postgres) limit: u32,
}

/// Plans that have something to be done.
#[derive(Debug)]
pub(super) struct UnderWays(pub(super) u32);

impl Work for One {
    type Answer = Option<Plan>;
    const OPERATION: &'static str = "plan";
    const EFFECT: Effect = Effect::None;

    async fn run(&self, connection: &mut PgConnection) -> Result<Option<Plan>, Fault> {
        let found = sqlx::query(statement!("plan"))
            .bind(self.0)
            .fetch_optional(connection)
            .await?;
        found.as_ref().map(plan).transpose()
    }
}

impl Work for Newest {
    type Answer = Vec<Plan>;
    const OPERATION: &'static str = "plans";
    const EFFECT: Effect = Effect::None;

    async fn run(&self, connection: &mut PgConnection) -> Result<Vec<Plan>, Fault> {
        let found = sqlx::query(statement!("plans"))
            .bind(i64::from(self.0.min(PLANS_PAGE_MAX)))
            .fetch_all(connection)
            .await?;
        found.iter().map(plan).collect()
    }
}

impl Work for Jobs {
    type Answer = Vec<PlanJob>;
    const OPERATION: &'static str = "plan jobs";
    const EFFECT: Effect = Effect::None;

    async fn run(&self, connection: &mut PgConnection) -> Result<Vec<PlanJob>, Fault> {
        let found = sqlx::query(statement!("plan_jobs"))
            .bind(self.plan)
            .bind(super::int(self.page.from))
            .bind(self.page.outcome.map_or("", |outcome| outcome.name()))
            .bind(i64::from(self.page.limit.min(PLANS_PAGE_MAX)))
            .fetch_all(connection)
            .await?;
        found.iter().map(plan_job).collect()
    }
}

impl Work for History {
    type Answer = Vec<PlanEntry>;
    const OPERATION: &'static str = "plan history";
    const EFFECT: Effect = Effect::None;

    async fn run(&self, connection: &mut PgConnection) -> Result<Vec<PlanEntry>, Fault> {
        let found = sqlx::query(statement!("plan_events"))
            .bind(self.plan)
            .bind(i64::from(self.limit.min(PLANS_PAGE_MAX)))
            .fetch_all(connection)
            .await?;
        found.iter().map(|row| entry(self.plan, row)).collect()
    }
}

/// What a plan holds.
#[derive(Debug)]
pub(super) struct Outline(pub(super) Uuid);

impl Work for Outline {
    type Answer = PlanOutline;
    const OPERATION: &'static str = "outline of a plan";
    const EFFECT: Effect = Effect::None;

    async fn run(&self, connection: &mut PgConnection) -> Result<PlanOutline, Fault> {
        let found = sqlx::query(statement!("plan_outline"))
            .bind(self.0)
            .fetch_all(connection)
            .await?;
        let read = |row| {
            Ok(RawOutline {
                state: text(row, "state")?,
                jobs: row.try_get("jobs")?,
                oldest: maybe_moment(row, "oldest")?,
                unsettled: row.try_get("unsettled")?,
                redriven: row.try_get("redriven")?,
                as_of: moment(row, "as_of")?,
            })
        };
        let rows: Result<Vec<RawOutline<'_>>, sqlx::Error> = found.iter().map(read).collect();
        Ok(outline(self.0, &rows?)?)
    }
}

impl Work for UnderWays {
    type Answer = Vec<UnderWay>;
    const OPERATION: &'static str = "plans under way";
    const EFFECT: Effect = Effect::None;

    async fn run(&self, connection: &mut PgConnection) -> Result<Vec<UnderWay>, Fault> {
        let found = sqlx::query(statement!("plans_under_way"))
            .bind(i64::from(self.0.min(PLANS_PAGE_MAX)))
            .fetch_all(connection)
            .await?;
        let under_way = |row: &PgRow| {
            Ok(UnderWay {
                plan: row.try_get("id")?,
                runs: row.try_get("runs")?,
            })
        };
        found.iter().map(under_way).collect()
    }
}

/// Where a plan stands.
pub(super) async fn standing(
    connection: &mut PgConnection,
    plan: Uuid,
) -> Result<Option<Standing>, Fault> {
    let found = sqlx::query(statement!("plan_standing"))
        .bind(plan)
        .fetch_optional(&mut *connection)
        .await?;
    let Some(row) = found else {
        return Ok(None);
    };
    let failures = failures(connection, plan).await?;
    let more = RawStanding {
        batch_open: row.try_get("batch_open")?,
        batch_failed: row.try_get("batch_failed")?,
        chunk_age_ms: row.try_get("chunk_age_ms")?,
    };
    Ok(Some(raw(&row)?.standing(more, failures)?))
}

async fn failures(connection: &mut PgConnection, plan: Uuid) -> Result<Vec<FailedAgain>, Fault> {
    let found = sqlx::query(statement!("plan_failures"))
        .bind(plan)
        .bind(i64::from(FAILURES_MAX))
        .fetch_all(connection)
        .await?;
    let read = |row: &PgRow| {
        let key = (row.try_get("result_class")?, row.try_get("result_reason")?);
        Ok(failure(
            row.try_get("job_id")?,
            key,
            row.try_get("had_before")?,
        )?)
    };
    found.iter().map(read).collect()
}

pub(super) fn plan(row: &PgRow) -> Result<Plan, Fault> {
    Ok(raw(row)?.check()?)
}

fn text<'r>(row: &'r PgRow, column: &str) -> Result<Cow<'r, str>, sqlx::Error> {
    row.try_get(column).map(Cow::Borrowed)
}

fn text_if<'r>(row: &'r PgRow, column: &str) -> Result<Option<Cow<'r, str>>, sqlx::Error> {
    let read: Option<&str> = row.try_get(column)?;
    Ok(read.map(Cow::Borrowed))
}

fn int_if(row: &PgRow, column: &str) -> Result<Option<i64>, sqlx::Error> {
    let read: Option<i32> = row.try_get(column)?;
    Ok(read.map(i64::from))
}

fn raw(row: &PgRow) -> Result<RawPlan<'_>, sqlx::Error> {
    Ok(RawPlan {
        id: row.try_get("id")?,
        operation: text(row, "operation")?,
        query: text(row, "query")?,
        reason: text(row, "reason")?,
        created_by: text(row, "created_by")?,
        created_at: moment(row, "created_at")?,
        canary: row.try_get("canary")?,
        pace: [
            int(row, "batch_max")?,
            int(row, "rate_per_s")?,
            int(row, "stop_percent")?,
        ],
        state: text(row, "state")?,
        updated_at: moment(row, "updated_at")?,
        version: int(row, "version")?,
        batch: [
            int(row, "batch")?,
            int(row, "first_batch")?,
            int(row, "batch_jobs")?,
            int(row, "chunk")?,
        ],
        counts: [
            row.try_get("total")?,
            row.try_get("waiting")?,
            row.try_get("open")?,
            row.try_get("applied")?,
            row.try_get("succeeded")?,
            row.try_get("failed")?,
            row.try_get("stale")?,
            row.try_get("refused")?,
            row.try_get("missing")?,
        ],
        executor: text_if(row, "executor")?,
        lease_expires_at: maybe_moment(row, "lease_expires_at")?,
        note: text_if(row, "note")?,
    })
}

fn plan_job(row: &PgRow) -> Result<PlanJob, Fault> {
    let raw = RawPlanJob {
        position: int(row, "position")?,
        job: row.try_get("job_id")?,
        version: int(row, "version")?,
        had: [text_if(row, "error_class")?, text_if(row, "reason")?],
        batch: int_if(row, "batch")?,
        outcome: text_if(row, "outcome")?,
        version_after: int_if(row, "version_after")?,
        result: [
            text_if(row, "result_class")?,
            text_if(row, "result_reason")?,
        ],
    };
    Ok(raw.check()?)
}

fn entry(plan: Uuid, row: &PgRow) -> Result<PlanEntry, Fault> {
    let raw = RawPlanEntry {
        plan,
        number: int(row, "number")?,
        event: text(row, "event")?,
        to_state: text(row, "to_state")?,
        at: moment(row, "at")?,
        actor: text(row, "actor")?,
        note: text_if(row, "note")?,
    };
    Ok(raw.check()?)
}

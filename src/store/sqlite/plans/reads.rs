//! Plans read: one, the newest, the jobs of one, its history.
//!
//! Next: [`crate::store::plans::row`], which checks what was read.

use sqlx::SqliteConnection;
use sqlx::sqlite::SqliteRow;
use uuid::Uuid;

use super::super::access::Call;
use super::super::columns::Columns;
pub(super) use super::super::look::Fault;
use crate::ledger::plan::{FailedAgain, Plan, PlanEntry, PlanJob, Standing};
use crate::store::StoreError;
use crate::store::plans::row::{
    self, FAILURES_MAX, RawOutline, RawPlan, RawPlanEntry, RawPlanJob, RawStanding, failure,
};
use crate::store::plans::{PLANS_PAGE_MAX, PlanJobsPage, PlanOutline, UnderWay};

/// The static text of a statement under `assets/sql/sqlite`.
macro_rules! statement {
    ($name:literal) => {
        include_str!(concat!("../../../../assets/sql/sqlite/", $name, ".sql"))
    };
}
pub(super) use statement;

/// One plan.
pub(in crate::store::sqlite) async fn one(
    connection: &mut SqliteConnection,
    id: Uuid,
) -> Result<Option<Plan>, Fault> {
    let found = sqlx::query(statement!("plan"))
        .bind(id.hyphenated().to_string())
        .fetch_optional(connection)
        .await?;
    found.as_ref().map(plan).transpose()
}

/// The newest plans.
pub(in crate::store::sqlite) async fn newest(
    connection: &mut SqliteConnection,
    limit: u32,
) -> Result<Vec<Plan>, Fault> {
    let found = sqlx::query(statement!("plans"))
        .bind(limit.min(PLANS_PAGE_MAX))
        .fetch_all(connection)
        .await?;
    found.iter().map(plan).collect()
}

/// Jobs of a plan.
pub(in crate::store::sqlite) async fn jobs(
    connection: &mut SqliteConnection,
    plan: Uuid,
    page: PlanJobsPage,
) -> Result<Vec<PlanJob>, Fault> {
    let found = sqlx::query(statement!("plan_jobs"))
        .bind(plan.hyphenated().to_string())
        .bind(page.from)
        .bind(page.outcome.map_or("", |outcome| outcome.name()))
        .bind(page.limit.min(PLANS_PAGE_MAX))
        .fetch_all(connection)
        .await?;
    found.iter().map(plan_job).collect()
}

/// The moves of a plan.
pub(in crate::store::sqlite) async fn history(
    connection: &mut SqliteConnection,
    plan: Uuid,
    limit: u32,
) -> Result<Vec<PlanEntry>, Fault> {
    let found = sqlx::query(statement!("plan_events"))
        .bind(plan.hyphenated().to_string())
        .bind(limit.min(PLANS_PAGE_MAX))
        .fetch_all(connection)
        .await?;
    found.iter().map(|row| entry(plan, row)).collect()
}

/// What a plan holds.
pub(super) async fn outline(
    connection: &mut SqliteConnection,
    plan: Uuid,
) -> Result<PlanOutline, Fault> {
    let found = sqlx::query(statement!("plan_outline"))
        .bind(plan.hyphenated().to_string())
        .fetch_all(connection)
        .await?;
    let read = |row| {
        let columns = Columns(row);
        Ok(RawOutline {
            state: columns.shown("state")?,
            jobs: columns.integer("jobs")?,
            oldest: columns.moment_if("oldest")?,
            unsettled: columns.integer("unsettled")?,
            redriven: columns.integer("redriven")?,
            as_of: columns.moment("as_of")?,
        })
    };
    let rows: Result<Vec<RawOutline<'_>>, sqlx::Error> = found.iter().map(read).collect();
    Ok(row::outline(plan, &rows?)?)
}

/// Plans that have something to be done.
pub(super) async fn under_way(
    call: &Call<'_>,
    connection: &mut SqliteConnection,
    limit: u32,
) -> Result<Vec<UnderWay>, StoreError> {
    let found = sqlx::query(statement!("plans_under_way"))
        .bind(limit.min(PLANS_PAGE_MAX))
        .fetch_all(connection)
        .await
        .map_err(|error| call.explain(&error))?;
    let read = |row: &SqliteRow| {
        let columns = Columns(row);
        Ok(UnderWay {
            plan: columns.id("id")?,
            runs: columns.integer("runs")? != 0,
        })
    };
    let all: Result<Vec<UnderWay>, sqlx::Error> = found.iter().map(read).collect();
    all.map_err(|error| call.explain(&error))
}

/// Where a plan stands.
pub(super) async fn standing(
    connection: &mut SqliteConnection,
    plan: Uuid,
) -> Result<Option<Standing>, Fault> {
    let found = sqlx::query(statement!("plan_standing"))
        .bind(plan.hyphenated().to_string())
        .fetch_optional(&mut *connection)
        .await?;
    let Some(row) = found else {
        return Ok(None);
    };
    let columns = Columns(&row);
    let more = RawStanding {
        batch_open: columns.integer("batch_open")?,
        batch_failed: columns.integer("batch_failed")?,
        chunk_age_ms: columns.integer("chunk_age_ms")?,
    };
    let failures = failures(connection, plan).await?;
    Ok(Some(raw(columns)?.standing(more, failures)?))
}

async fn failures(
    connection: &mut SqliteConnection,
    plan: Uuid,
) -> Result<Vec<FailedAgain>, Fault> {
    let found = sqlx::query(statement!("plan_failures"))
        .bind(plan.hyphenated().to_string())
        .bind(FAILURES_MAX)
        .fetch_all(connection)
        .await?;
    let read = |row: &SqliteRow| {
        let columns = Columns(row);
        let (class, reason) = (
            columns.shown("result_class")?,
            columns.shown_if("result_reason")?,
        );
        let had_before = columns.integer("had_before")? != 0;
        let key = (class.as_ref(), reason.as_deref());
        Ok(failure(columns.id("job_id")?, key, had_before)?)
    };
    found.iter().map(read).collect()
}

fn plan(row: &SqliteRow) -> Result<Plan, Fault> {
    Ok(raw(Columns(row))?.check()?)
}

fn raw(columns: Columns<'_>) -> Result<RawPlan<'_>, sqlx::Error> {
    Ok(RawPlan {
        id: columns.id("id")?,
        operation: columns.shown("operation")?,
        query: columns.shown("query")?,
        reason: columns.shown("reason")?,
        created_by: columns.shown("created_by")?,
        created_at: columns.moment("created_at")?,
        canary: columns.integer("canary")? != 0,
        pace: [
            columns.integer("batch_max")?,
            columns.integer("rate_per_s")?,
            columns.integer("stop_percent")?,
        ],
        state: columns.shown("state")?,
        updated_at: columns.moment("updated_at")?,
        version: columns.integer("version")?,
        batch: [
            columns.integer("batch")?,
            columns.integer("first_batch")?,
            columns.integer("batch_jobs")?,
            columns.integer("chunk")?,
        ],
        counts: [
            columns.integer("total")?,
            columns.integer("waiting")?,
            columns.integer("open")?,
            columns.integer("applied")?,
            columns.integer("succeeded")?,
            columns.integer("failed")?,
            columns.integer("stale")?,
            columns.integer("refused")?,
            columns.integer("missing")?,
        ],
        executor: columns.shown_if("executor")?,
        lease_expires_at: columns.moment_if("lease_expires_at")?,
        note: columns.shown_if("note")?,
    })
}

fn plan_job(row: &SqliteRow) -> Result<PlanJob, Fault> {
    let columns = Columns(row);
    let raw = RawPlanJob {
        position: columns.integer("position")?,
        job: columns.id("job_id")?,
        version: columns.integer("version")?,
        had: [
            columns.shown_if("error_class")?,
            columns.shown_if("reason")?,
        ],
        batch: columns.integer_if("batch")?,
        outcome: columns.shown_if("outcome")?,
        version_after: columns.integer_if("version_after")?,
        result: [
            columns.shown_if("result_class")?,
            columns.shown_if("result_reason")?,
        ],
    };
    Ok(raw.check()?)
}

fn entry(plan: Uuid, row: &SqliteRow) -> Result<PlanEntry, Fault> {
    let columns = Columns(row);
    let raw = RawPlanEntry {
        plan,
        number: columns.integer("number")?,
        event: columns.shown("event")?,
        to_state: columns.shown("to_state")?,
        at: columns.moment("at")?,
        actor: columns.shown("actor")?,
        note: columns.shown_if("note")?,
    };
    Ok(raw.check()?)
}

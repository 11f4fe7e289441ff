//! What a query will cost, asked of the planner: it knows how common a value is.
//!
//! Next: [`crate::store::look::Reach`].

use serde_json::Value as Json;
use sqlx::Row as _;
use sqlx::postgres::PgConnection;

use super::sql::DIALECT;
use super::{Limits, now, statement};
use crate::ledger::num;
use crate::ledger::query::Query;
use crate::ledger::view::JobOrder;
use crate::store::look::{self, Branch, Clause, Path, Reach};
use crate::store::postgres::call::Fault;

/// The page that is planned.
const PAGE: u32 = 100;
/// Plans beyond this cost took more than about 0.3 s where they were measured: 100,000 rows read
/// one by one cost 12,000.
const COST_MAX: f64 = 15_000.0;

pub(super) async fn reach(
    connection: &mut PgConnection,
    query: &Query,
    order: JobOrder,
) -> Result<Reach, Fault> {
    let path = Path::of(query, order);
    if path.is_led(query, order) {
        return Ok(Reach::Indexed);
    }
    let now = now(connection).await?;
    let limits = Limits::new(order, None, PAGE);
    let Some(clause) = look::jobs(query, &DIALECT, &limits.bounds(now)) else {
        return Ok(Reach::Indexed);
    };
    let mut explain = Clause::default();
    explain.sql("EXPLAIN (FORMAT JSON) ").add(&clause);
    let plan: Json = statement(explain)
        .build_query_scalar()
        .fetch_one(&mut *connection)
        .await?;
    let cost = plan.pointer("/0/Plan/Total Cost").and_then(Json::as_f64);
    if cost.is_some_and(|cost| cost <= COST_MAX) {
        return Ok(Reach::Indexed);
    }
    let jobs = size(connection, &path).await?;
    Ok(Reach::Scan { jobs })
}

/// About how many jobs there are on the way.
async fn size(connection: &mut PgConnection, path: &Path) -> Result<u64, Fault> {
    let mut indexes: Vec<&str> = match path {
        Path::Nowhere => Vec::new(),
        Path::Anchored(_) | Path::Walk(_) => vec!["jobs"],
        Path::Branches(branches) => branches.iter().map(|branch| index(*branch)).collect(),
    };
    indexes.sort_unstable();
    indexes.dedup();
    let sizes = sqlx::query(include_str!(
        "../../../../assets/sql/postgres/look_sizes.sql"
    ))
    .fetch_all(connection)
    .await?;
    let mut jobs = 0_u64;
    for row in &sizes {
        if indexes.contains(&row.try_get::<&str, _>("name")?) {
            jobs = jobs.saturating_add(num::unsigned(row.try_get("jobs")?));
        }
    }
    Ok(jobs)
}

const fn index(branch: Branch) -> &'static str {
    match branch {
        Branch::PendingUntilDue | Branch::RetryWait => "jobs_waiting",
        Branch::PendingForChildren => "jobs_parents",
        Branch::Ready => "jobs_ready",
        Branch::Running => "jobs_leases",
        Branch::Dead | Branch::Quarantined => "jobs_dead_letters",
        Branch::Succeeded | Branch::Discarded => "jobs",
    }
}

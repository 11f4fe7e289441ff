//! The statements of lists, in pieces: the same shape for both databases.
//!
//! Owns orders, cursors and the merging of branches. A page is found by the place of the last row
//! before it, never by a number of rows to skip. Next: `postgres/look.rs` and `sqlite/look.rs`,
//! which bind and run them.

use super::clause::{Clause, Dialect, Value, conditions, in_states};
use super::path::{Branch, Path};
use crate::ledger::query::Query;
use crate::ledger::state::State;
use crate::ledger::view::{JobCursor, JobOrder};

/// The columns of a listed job; see [`super::row::RawListed`].
const LISTED: &str = "j.id, j.idempotency_key, j.queue, j.kind, j.tenant, j.state, j.state_since, \
    j.version, j.fence, j.attempt, j.redrives, j.available_at, j.output_ref, j.created_at, \
    j.error_class, j.reason, j.error, j.worker, j.lease_expires_at, j.policy, j.policy_version, \
    j.unsettled";

/// The columns of a dead letter that is grouped.
const GROUPED: &str = "j.id, j.state, j.state_since, j.error_class, j.reason, j.error, j.queue, \
    j.tenant, j.policy, j.policy_version, j.redrives, j.unsettled";

/// How many renewals followed the claim that holds a job: events from the last back to that claim.
const RENEWALS: &str = ", (SELECT count(*) FROM job_events e WHERE e.job_id = j.id \
    AND e.event = 'renew' AND e.version > coalesce((SELECT c.version FROM job_events c \
    WHERE c.job_id = j.id AND c.event = 'claim' ORDER BY c.version DESC LIMIT 1), 0)) AS renewals";

/// What limits a page.
#[derive(Debug, Clone, Copy)]
pub(in crate::store) struct Bounds<'a> {
    /// The order.
    pub(in crate::store) order: JobOrder,
    /// Where the page before ended.
    pub(in crate::store) after: Option<&'a JobCursor>,
    /// At most so many rows.
    pub(in crate::store) rows: u64,
    /// The moment that ages are counted from.
    pub(in crate::store) now_us: i64,
}

/// A page of jobs; `None` where the query can hold for none.
pub(in crate::store) fn jobs(
    query: &Query,
    dialect: &Dialect,
    bounds: &Bounds<'_>,
) -> Option<Clause> {
    let rest = conditions(query, dialect, bounds.now_us);
    let one = |condition: &Clause| {
        let mut select = Clause::default();
        select
            .sql("SELECT ")
            .sql(LISTED)
            .sql(" FROM jobs j WHERE ")
            .add(condition)
            .add(&rest)
            .add(&after(bounds))
            .sql(order_by(bounds.order))
            .add(&limit(bounds.rows, dialect));
        select
    };
    Some(match Path::of(query, bounds.order) {
        Path::Nowhere => return None,
        Path::Anchored(states) | Path::Walk(states) => one(&any_of(&states)),
        Path::Branches(branches) => {
            let selects: Vec<Clause> = branches
                .iter()
                .map(|branch| one(&only(*branch, dialect)))
                .collect();
            match selects.as_slice() {
                [alone] => alone.clone(),
                several => {
                    let mut merged = Clause::default();
                    merged
                        .sql("SELECT * FROM ")
                        .add(&union(several))
                        .sql(" j")
                        .sql(order_by(bounds.order))
                        .add(&limit(bounds.rows, dialect));
                    merged
                }
            }
        }
    })
}

/// How many jobs there are, counted up to `bounds.rows`; `None` where the query can hold for none.
pub(in crate::store) fn count(
    query: &Query,
    dialect: &Dialect,
    bounds: &Bounds<'_>,
) -> Option<Clause> {
    let rest = conditions(query, dialect, bounds.now_us);
    let one = |condition: &Clause| {
        let mut select = Clause::default();
        select
            .sql("SELECT 1 AS one FROM jobs j WHERE ")
            .add(condition)
            .add(&rest)
            .add(&limit(bounds.rows, dialect));
        select
    };
    let selects = match Path::of(query, JobOrder::OldestFirst) {
        Path::Nowhere => return None,
        Path::Anchored(states) | Path::Walk(states) => vec![one(&any_of(&states))],
        Path::Branches(branches) => branches
            .iter()
            .map(|branch| one(&only(*branch, dialect)))
            .collect(),
    };
    let mut counted = Clause::default();
    counted
        .sql("SELECT count(*) FROM (SELECT * FROM ")
        .add(&union(&selects))
        .sql(" found")
        .add(&limit(bounds.rows, dialect))
        .sql(") bounded");
    Some(counted)
}

/// A page of leases, the first to end first; `None` where the query can hold for none.
pub(in crate::store) fn leases(
    query: &Query,
    dialect: &Dialect,
    bounds: &Bounds<'_>,
) -> Option<Clause> {
    if !query.states().contains(&State::Running) {
        return None;
    }
    let mut page = Clause::default();
    page.sql("SELECT j.*")
        .sql(RENEWALS)
        .sql(" FROM (SELECT ")
        .sql(LISTED)
        .sql(" FROM jobs j WHERE ")
        .add(&only(Branch::Running, dialect))
        .add(&conditions(query, dialect, bounds.now_us));
    if let Some(after) = bounds.after {
        page.sql(" AND (j.lease_expires_at, j.id) > (")
            .bind(Value::Moment(after.since_us))
            .sql(", ")
            .bind(Value::Id(after.id))
            .sql(")");
    }
    page.sql(" ORDER BY j.lease_expires_at, j.id")
        .add(&limit(bounds.rows, dialect))
        .sql(") j ORDER BY j.lease_expires_at, j.id");
    Some(page)
}

/// Dead letters to be grouped, the newest `bounds.rows` of each state; `None` where the query can
/// hold for none.
pub(in crate::store) fn dead_letters(
    query: &Query,
    dialect: &Dialect,
    bounds: &Bounds<'_>,
) -> Option<Clause> {
    let states: Vec<State> = query
        .states()
        .into_iter()
        .filter(|state| state.is_dead_letter())
        .collect();
    let rest = conditions(query, dialect, bounds.now_us);
    let selects: Vec<Clause> = Branch::of_all(&states)
        .into_iter()
        .map(|branch| {
            let mut select = Clause::default();
            select
                .sql("SELECT ")
                .sql(GROUPED)
                .sql(" FROM jobs j WHERE ")
                .add(&only(branch, dialect))
                .add(&rest)
                .sql(order_by(JobOrder::NewestFirst))
                .add(&limit(bounds.rows, dialect));
            select
        })
        .collect();
    if selects.is_empty() {
        return None;
    }
    let mut read = Clause::default();
    read.sql("SELECT * FROM ").add(&union(&selects)).sql(" j");
    Some(read)
}

/// `(SELECT * FROM (...) b UNION ALL SELECT * FROM (...) b)`: each part has an order and a limit
/// of its own.
fn union(selects: &[Clause]) -> Clause {
    let mut union = Clause::default();
    union.sql("(");
    for (place, select) in selects.iter().enumerate() {
        if place > 0 {
            union.sql(" UNION ALL ");
        }
        union.sql("SELECT * FROM (").add(select).sql(") b");
    }
    union.sql(")");
    union
}

fn only(branch: Branch, dialect: &Dialect) -> Clause {
    let mut clause = Clause::default();
    clause.sql((dialect.branch)(branch));
    clause
}

fn any_of(states: &[State]) -> Clause {
    let mut clause = Clause::default();
    clause.sql("true").add(&in_states(states));
    clause
}

fn limit(rows: u64, dialect: &Dialect) -> Clause {
    let mut clause = Clause::default();
    clause
        .sql(" LIMIT ")
        .bind(Value::Number(i64::try_from(rows).unwrap_or(i64::MAX)))
        .sql(dialect.limit_end);
    clause
}

const fn order_by(order: JobOrder) -> &'static str {
    match order {
        JobOrder::OldestFirst => " ORDER BY j.state_since, j.id",
        JobOrder::NewestFirst => " ORDER BY j.state_since DESC, j.id DESC",
        JobOrder::CreatedLast => " ORDER BY j.id DESC",
    }
}

/// That a job comes after the page before.
fn after(bounds: &Bounds<'_>) -> Clause {
    let mut clause = Clause::default();
    let Some(cursor) = bounds.after else {
        return clause;
    };
    match bounds.order {
        JobOrder::CreatedLast => clause.sql(" AND j.id < ").bind(Value::Id(cursor.id)),
        JobOrder::OldestFirst => place(clause.sql(" AND (j.state_since, j.id) > ("), cursor),
        JobOrder::NewestFirst => place(clause.sql(" AND (j.state_since, j.id) < ("), cursor),
    };
    clause
}

fn place<'c>(clause: &'c mut Clause, cursor: &JobCursor) -> &'c mut Clause {
    clause
        .bind(Value::Moment(cursor.since_us))
        .sql(", ")
        .bind(Value::Id(cursor.id))
        .sql(")")
}

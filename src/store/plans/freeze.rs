//! Freezing the jobs of a filter: exactly those for which it holds then, in one statement.
//!
//! The conditions are those of the lists, so that what was listed is what is frozen. Next:
//! `super::row`.

use uuid::Uuid;

use crate::ledger::job::Operation;
use crate::ledger::num;
use crate::ledger::query::Query;
use crate::ledger::state::State;
use crate::store::look::{Clause, Dialect, Value, conditions, in_states};

/// What limits a freezing.
#[derive(Debug, Clone, Copy)]
pub(in crate::store) struct Frozen {
    /// The draft.
    pub(in crate::store) plan: Uuid,
    /// What it does: only jobs that it may take are frozen.
    pub(in crate::store) operation: Operation,
    /// The moment that ages are counted from.
    pub(in crate::store) now_us: i64,
    /// One job more than this tells that there are too many.
    pub(in crate::store) at_most: u64,
}

/// The statement; `None` where the filter can hold for no job that the operation may take.
pub(in crate::store) fn statement(
    query: &Query,
    dialect: &Dialect,
    frozen: &Frozen,
) -> Option<Clause> {
    let states: Vec<State> = query
        .states()
        .into_iter()
        .filter(|state| frozen.operation.may_leave(*state))
        .collect();
    if states.is_empty() {
        return None;
    }
    let plan = || Value::Id(frozen.plan);
    let mut insert = Clause::default();
    insert
        .sql(
            "INSERT INTO plan_jobs (plan, position, job_id, version, state, error_class, reason) \
             SELECT ",
        )
        .bind(plan())
        .sql(
            ", f.first + row_number() OVER (ORDER BY j.state_since, j.id) - 1, j.id, j.version, \
             j.state, j.error_class, j.reason \
             FROM (SELECT coalesce(max(x.position) + 1, 0) AS first FROM plan_jobs x \
             WHERE x.plan = ",
        )
        .bind(plan())
        .sql(") f CROSS JOIN jobs j WHERE NOT EXISTS (SELECT 1 FROM plan_jobs y WHERE y.plan = ")
        .bind(plan())
        .sql(" AND y.job_id = j.id)")
        .add(&in_states(&states))
        .add(&conditions(query, dialect, frozen.now_us))
        .sql(" LIMIT ")
        .bind(Value::Number(num::signed(frozen.at_most.saturating_add(1))))
        .sql(dialect.limit_end);
    Some(insert)
}

/// Why nothing was frozen.
pub(in crate::store) fn too_many(at_most: u64) -> String {
    format!(
        "the filter holds for more than {at_most} jobs, more than one plan takes; narrow it, for \
         example by queue or age"
    )
}

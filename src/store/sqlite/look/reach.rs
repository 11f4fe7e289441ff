//! What a query will cost: SQLite keeps no numbers about values, so the jobs that lie on the way
//! are counted in their index, up to a bound.
//!
//! Next: [`crate::store::look::Reach`].

use sqlx::SqliteConnection;

use super::count;
use super::session::Fault;
use crate::ledger::num;
use crate::ledger::query::{Query, Term, Test};
use crate::ledger::state::State;
use crate::ledger::view::{Count, JobOrder};
use crate::store::look::{Path, Reach, SCAN_MIN, anchors};
use crate::store::sqlite::access::statement;

/// The most entries of an index that are counted: about 50 ms.
const COUNT_MAX: u64 = 1_000_000;

pub(super) async fn reach(
    connection: &mut SqliteConnection,
    query: &Query,
    order: JobOrder,
) -> Result<Reach, Fault> {
    let path = Path::of(query, order);
    if path.is_led(query, order) {
        return Ok(Reach::Indexed);
    }
    let all: i64 = sqlx::query_scalar(statement!("look_size"))
        .fetch_one(&mut *connection)
        .await?;
    let all = num::unsigned(all);
    if all <= SCAN_MIN {
        return Ok(Reach::Indexed);
    }
    let jobs = match path {
        Path::Nowhere => 0,
        Path::Walk(_) => all,
        Path::Anchored(_) => up_to(count(connection, &anchors(query), SCAN_MIN).await?, all),
        Path::Branches(branches) if branches.iter().any(|branch| !branch.is_indexed()) => all,
        Path::Branches(_) => {
            let on_the_way = counted_on_the_way(query);
            up_to(count(connection, &on_the_way, COUNT_MAX).await?, all)
        }
    };
    Ok(if jobs <= SCAN_MIN {
        Reach::Indexed
    } else {
        Reach::Scan { jobs }
    })
}

/// The terms that an index narrows the way by: states, and the queue and the tenant of ready jobs.
fn counted_on_the_way(query: &Query) -> Query {
    let states = query.states();
    let mut terms = Vec::new();
    if states == [State::Ready] {
        let narrows =
            |term: &&Term| !term.negated && matches!(term.test, Test::Queue(_) | Test::Tenant(_));
        terms.extend(query.terms.iter().filter(narrows).cloned());
    }
    terms.extend(states.into_iter().map(wanted));
    Query { terms }
}

/// What was counted, or all where it was not counted to its end.
const fn up_to(counted: Count, all: u64) -> u64 {
    match counted {
        Count::Exact(jobs) => jobs,
        Count::AtLeast(_) => all,
    }
}

const fn wanted(state: State) -> Term {
    Term {
        negated: false,
        test: Test::State(state),
    }
}

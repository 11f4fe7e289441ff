//! What a query will cost: SQLite keeps no numbers about values, so the jobs that lie on the way
//! are counted in their index, up to a bound.
//!
//! Next: [`crate::store::look::Reach`].

use sqlx::SqliteConnection;

use super::count;
use super::session::Fault;
use crate::ledger::num;
use crate::ledger::query::{Query, Term, Test};
use crate::ledger::view::{Count, JobOrder};
use crate::store::look::{Path, Reach, SCAN_MIN};
use crate::store::sqlite::access::statement;

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
        Path::Anchored(_) | Path::Walk(_) => all,
        Path::Branches(branches) if branches.iter().any(|branch| !branch.is_indexed()) => all,
        Path::Branches(_) => {
            let states = Query {
                terms: query.states().into_iter().map(wanted).collect(),
            };
            match count(connection, &states, SCAN_MIN).await? {
                Count::Exact(jobs) => jobs,
                // Not counted to the end: as many as there may be.
                Count::AtLeast(_) => all,
            }
        }
    };
    Ok(if jobs <= SCAN_MIN {
        Reach::Indexed
    } else {
        Reach::Scan { jobs }
    })
}

const fn wanted(state: crate::ledger::state::State) -> Term {
    Term {
        negated: false,
        test: Test::State(state),
    }
}

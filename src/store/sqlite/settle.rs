//! Settling attempts: what is current is applied by one statement, the rest is told apart one by
//! one.
//!
//! Next: [`super::claim`].

use std::collections::{HashMap, HashSet};

use serde::Serialize;
use sqlx::SqliteConnection;
use uuid::Uuid;

use super::access::{Call, statement};
use super::columns::Columns;
use crate::ledger::error_class::{ErrorClass, valid_reason};
use crate::ledger::job::{Failed, LeaseRef, Outcome, Settlement, TEXT_MAX_BYTES, Verdict};
use crate::ledger::state::State;
use crate::store::StoreError;
use crate::store::row::{self, counter, cut, verdict_event};

/// A settlement as the statements read it.
#[derive(Serialize)]
struct Row<'a>(
    Uuid,
    u32,
    &'static str,
    Option<&'static str>,
    Option<&'a str>,
    Option<String>,
    i64,
    Option<String>,
);

impl<'a> Row<'a> {
    fn new(settlement: &'a Settlement) -> Self {
        let LeaseRef { job, fence } = settlement.lease;
        let event = verdict_event(&settlement.verdict).name();
        let failed = |failure: &'a Failed, delay| {
            let error = cut(&failure.error, TEXT_MAX_BYTES);
            let (class, reason) = (failure.class.name(), failure.reason.as_str());
            Row(
                job,
                fence,
                event,
                Some(class),
                Some(reason),
                Some(error),
                delay,
                None,
            )
        };
        match &settlement.verdict {
            Verdict::Succeed { output_ref } => {
                let output = output_ref.as_deref().map(|text| cut(text, TEXT_MAX_BYTES));
                Row(job, fence, event, None, None, None, 0, output)
            }
            Verdict::Retry { failure, delay } => failed(failure, row::bound_millis(*delay)),
            Verdict::Reject { failure } => failed(failure, 0),
            Verdict::Release => Row(job, fence, event, None, None, None, 0, None),
        }
    }
}

/// Settles, inside the caller's transaction; one outcome a settlement, in order.
pub(crate) async fn settle(
    call: &Call<'_>,
    connection: &mut SqliteConnection,
    worker: &str,
    settlements: &[Settlement],
) -> Result<Vec<Outcome>, StoreError> {
    if settlements.is_empty() {
        return Ok(Vec::new());
    }
    check_reasons(call, settlements)?;
    let first = first_of_each(settlements);
    let rows: Vec<Row<'_>> = first
        .iter()
        .filter_map(|position| settlements.get(*position))
        .map(Row::new)
        .collect();
    let applied = sqlx::query(statement!("settle"))
        .bind(json(call, &rows)?)
        .bind(worker)
        .fetch_all(&mut *connection)
        .await
        .map_err(|error| call.explain(&error))?;
    let applied = applied_by_lease(call, &applied)?;
    let mut outcomes: Vec<Option<Outcome>> = vec![None; settlements.len()];
    for position in first {
        if let (Some(settlement), Some(outcome)) =
            (settlements.get(position), outcomes.get_mut(position))
        {
            *outcome = applied.get(&settlement.lease).copied();
        }
    }
    for (settlement, outcome) in settlements.iter().zip(&mut outcomes) {
        if outcome.is_none() {
            *outcome = Some(not_current(call, connection, worker, settlement).await?);
        }
    }
    Ok(outcomes.into_iter().flatten().collect())
}

/// The positions of the first settlement of each lease.
fn first_of_each(settlements: &[Settlement]) -> Vec<usize> {
    let mut seen = HashSet::with_capacity(settlements.len());
    let numbered = settlements.iter().enumerate();
    numbered
        .filter(|(_, settlement)| seen.insert(settlement.lease))
        .map(|(position, _)| position)
        .collect()
}

/// The outcomes of the rows that a statement changed.
pub(super) fn applied_by_lease(
    call: &Call<'_>,
    rows: &[sqlx::sqlite::SqliteRow],
) -> Result<HashMap<LeaseRef, Outcome>, StoreError> {
    let mut applied = HashMap::with_capacity(rows.len());
    for row in rows {
        let columns = Columns(row);
        let read = || Ok((columns.id("id")?, columns.integer("fence")?));
        let (job, fence) = read().map_err(|error| call.explain(&error))?;
        let (state, version) = state_and_version(call, columns, job)?;
        let fence = counter(job, "fence", fence)?;
        applied.insert(LeaseRef { job, fence }, Outcome::Applied { state, version });
    }
    Ok(applied)
}

/// The columns `state` and `version`.
pub(super) fn state_and_version(
    call: &Call<'_>,
    columns: Columns<'_>,
    job: Uuid,
) -> Result<(State, u32), StoreError> {
    let read = || Ok((columns.shown("state")?, columns.integer("version")?));
    let (state, version) = read().map_err(|error| call.explain(&error))?;
    Ok((
        row::state(job, "state", &state)?,
        counter(job, "version", version)?,
    ))
}

/// What became of a settlement that did not apply: its attempt was settled in this very way before
/// (the caller lost the answer and asks again), or it is stale, or there is no such job.
async fn not_current(
    call: &Call<'_>,
    connection: &mut SqliteConnection,
    worker: &str,
    settlement: &Settlement,
) -> Result<Outcome, StoreError> {
    let job = settlement.lease.job;
    let before = sqlx::query(statement!("settled_before"))
        .bind(json(call, &[Row::new(settlement)])?)
        .bind(worker)
        .fetch_optional(&mut *connection)
        .await
        .map_err(|error| call.explain(&error))?;
    match before {
        Some(row) => {
            let (state, version) = state_and_version(call, Columns(&row), job)?;
            Ok(Outcome::Applied { state, version })
        }
        None => stale(call, connection, worker, job).await,
    }
}

/// Records that a settle or a renewal with an old fence was refused.
pub(super) async fn stale(
    call: &Call<'_>,
    connection: &mut SqliteConnection,
    worker: &str,
    job: Uuid,
) -> Result<Outcome, StoreError> {
    let noted = sqlx::query(statement!("stale"))
        .bind(job.hyphenated().to_string())
        .bind(worker)
        .fetch_optional(connection)
        .await
        .map_err(|error| call.explain(&error))?;
    match noted {
        Some(row) => {
            let (state, version) = state_and_version(call, Columns(&row), job)?;
            Ok(Outcome::Stale { state, version })
        }
        None => Ok(Outcome::NotFound),
    }
}

/// Refuses a reason that is no word before anything is sent, naming the job.
fn check_reasons(call: &Call<'_>, settlements: &[Settlement]) -> Result<(), StoreError> {
    for settlement in settlements {
        let failure = match &settlement.verdict {
            Verdict::Retry { failure, .. } | Verdict::Reject { failure } => failure,
            Verdict::Succeed { .. } | Verdict::Release => continue,
        };
        if !valid_reason(&failure.reason) {
            return Err(call.refused(&format!(
                "job {}: reason '{}' is not a word of a-z, 0-9 and _",
                settlement.lease.job,
                cut(&failure.reason, 80)
            )));
        }
    }
    Ok(())
}

/// Rows as the parameter of a statement.
pub(super) fn json<T: Serialize>(call: &Call<'_>, rows: &[T]) -> Result<String, StoreError> {
    serde_json::to_string(rows).map_err(|error| call.refused(&error.to_string()))
}

/// Sets a job aside whose columns this program cannot read, so that it cannot stand in the way of
/// the others of its lane: rejected for good, in the transaction that claimed it.
pub(super) async fn reject_unreadable(
    call: &Call<'_>,
    connection: &mut SqliteConnection,
    worker: &str,
    lease: LeaseRef,
    error: String,
) -> Result<(), StoreError> {
    let failure = Failed {
        class: ErrorClass::Permanent,
        reason: "malformed".to_owned(),
        error,
    };
    let verdict = Verdict::Reject { failure };
    let settlement = Settlement { lease, verdict };
    settle(call, connection, worker, &[settlement])
        .await
        .map(drop)
}

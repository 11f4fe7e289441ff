//! The transactions that make a plan and carry it out.
//!
//! Next: `reads`, what is read of plans.

use std::time::Duration;

use sqlx::SqliteConnection;
use uuid::Uuid;

use super::super::access::Call;
use super::super::columns::Columns;
use super::super::look;
use super::reads::{self, Fault, statement};
use crate::ledger::event::ActorKind;
use crate::ledger::job::{NAME_MAX_BYTES, Operation, TEXT_MAX_BYTES};
use crate::ledger::plan::{PlanEvent, Standing, Target};
use crate::ledger::query::Query;
use crate::store::StoreError;
use crate::store::plans::freeze::{self, Frozen};
use crate::store::plans::row::{advanced, mark, operation};
use crate::store::plans::{Advanced, Hold, NewPlan, PlanAct, PlanOutcome, Taken};
use crate::store::row::{Move, bound_millis, counter, cut};

/// The longest lease, as for jobs.
const LEASE_MAX: Duration = Duration::from_hours(24);

fn lease_ms(lease: Duration) -> i64 {
    bound_millis(lease.min(LEASE_MAX))
}

fn text(id: Uuid) -> String {
    id.hyphenated().to_string()
}

/// Makes a draft.
pub(super) async fn draft(call: &Call<'_>, plan: &NewPlan) -> Result<(), StoreError> {
    let mut transaction = call.begin().await?;
    sqlx::query(statement!("plan_draft"))
        .bind(text(plan.id))
        .bind(plan.operation.name())
        .bind(cut(&plan.query, TEXT_MAX_BYTES))
        .bind(cut(&plan.reason, TEXT_MAX_BYTES))
        .bind(cut(&plan.actor, NAME_MAX_BYTES))
        .bind(plan.pace.canary)
        .bind(plan.pace.batch_max)
        .bind(plan.pace.rate_per_s)
        .bind(plan.pace.stop_percent)
        .execute(&mut *transaction)
        .await
        .map_err(|error| call.explain(&error))?;
    call.commit(transaction).await
}

/// Freezes jobs into a draft.
pub(super) async fn freeze(
    call: &Call<'_>,
    plan: Uuid,
    targets: &[Target],
) -> Result<u64, StoreError> {
    let pairs: Vec<(String, u32)> = targets
        .iter()
        .map(|target| (text(target.job), target.version))
        .collect();
    let mut transaction = call.begin().await?;
    let done = sqlx::query(statement!("plan_freeze"))
        .bind(text(plan))
        .bind(serde_json::json!(pairs).to_string())
        .execute(&mut *transaction)
        .await
        .map_err(|error| call.explain(&error))?;
    call.commit(transaction).await?;
    Ok(done.rows_affected())
}

/// Freezes the jobs of a filter into a draft.
pub(super) async fn freeze_where(
    call: &Call<'_>,
    (plan, operation, query): (Uuid, Operation, &Query),
    at_most: u64,
) -> Result<u64, StoreError> {
    let mut transaction = call.begin().await?;
    let now = look::now(&mut transaction).await;
    let now = now.map_err(|fault| fault.explain(call))?;
    let frozen = Frozen {
        plan,
        operation,
        now_us: now.millis().saturating_mul(1_000),
        at_most,
    };
    let Some(clause) = freeze::statement(query, &look::DIALECT, &frozen) else {
        return Ok(0);
    };
    let mut insert = look::bound(clause);
    // Made for these values and never again.
    let done = insert
        .build()
        .persistent(false)
        .execute(&mut *transaction)
        .await
        .map_err(|error| call.explain(&error))?
        .rows_affected();
    if done > at_most {
        return Err(call.refused(&freeze::too_many(at_most)));
    }
    call.commit(transaction).await?;
    Ok(done)
}

/// An operator's act on a plan.
pub(super) async fn act(call: &Call<'_>, act: &PlanAct) -> Result<PlanOutcome, StoreError> {
    let (actor, note) = (
        cut(&act.actor, NAME_MAX_BYTES),
        cut(&act.note, TEXT_MAX_BYTES),
    );
    let mut transaction = call.begin().await?;
    let done = sqlx::query(statement!("plan_act"))
        .bind(text(act.plan))
        .bind(act.event.name())
        .bind(act.event.leads_to().name())
        .bind(&actor)
        .bind(&note)
        .fetch_optional(&mut *transaction)
        .await
        .map_err(|error| call.explain(&error))?;
    if done.is_some() {
        call.commit(transaction).await?;
        return Ok(PlanOutcome::Applied(act.event.leads_to()));
    }
    let explain = |fault: Fault| fault.explain(call);
    let found = reads::one(&mut transaction, act.plan).await;
    let Some(plan) = found.map_err(explain)? else {
        return Ok(PlanOutcome::NotFound);
    };
    let last = reads::history(&mut transaction, act.plan, 1).await;
    // Its answer was lost, and it is asked for again.
    let done_before = last.map_err(explain)?.first().is_some_and(|entry| {
        let said = entry
            .note
            .as_ref()
            .is_some_and(|said| said.as_str() == note);
        entry.event == act.event && entry.actor.as_str() == actor && said
    });
    Ok(if done_before {
        PlanOutcome::Applied(plan.state)
    } else {
        PlanOutcome::Refused(plan.state)
    })
}

/// An executor takes a plan.
pub(super) async fn take(
    call: &Call<'_>,
    plan: Uuid,
    executor: &str,
    lease: Duration,
) -> Result<Taken, StoreError> {
    let mut transaction = call.begin().await?;
    let taken = sqlx::query(statement!("plan_take"))
        .bind(text(plan))
        .bind(cut(executor, NAME_MAX_BYTES))
        .bind(lease_ms(lease))
        .fetch_optional(&mut *transaction)
        .await
        .map_err(|error| call.explain(&error))?;
    if let Some(row) = taken {
        let fence = Columns(&row)
            .integer("fence")
            .map_err(|error| call.explain(&error))?;
        call.commit(transaction).await?;
        return Ok(Taken::Held(Hold {
            plan,
            fence: counter(plan, "fence", fence)?,
            lease,
        }));
    }
    let found = reads::one(&mut transaction, plan).await;
    let found = found.map_err(|fault| fault.explain(call))?;
    Ok(found.map_or(Taken::NotFound, |plan| Taken::Busy(Box::new(plan))))
}

/// Where a plan stands. Writes only where jobs have ended or half of the lease is over: looking
/// costs no turn of the one writer.
pub(super) async fn observe(call: &Call<'_>, hold: &Hold) -> Result<Option<Standing>, StoreError> {
    let seen = held(call, hold).await?;
    let Some(left_ms) = seen.left_ms else {
        return Ok(None);
    };
    let half = lease_ms(hold.lease) / 2;
    if !seen.ended && left_ms > half {
        let standing = reads::standing(&mut *call.reader().await?, hold.plan).await;
        return standing.map_err(|fault| fault.explain(call));
    }
    let mut transaction = call.begin().await?;
    let kept = sqlx::query(statement!("plan_hold"))
        .bind(text(hold.plan))
        .bind(hold.fence)
        .bind(lease_ms(hold.lease))
        .fetch_optional(&mut *transaction)
        .await
        .map_err(|error| call.explain(&error))?;
    if kept.is_none() {
        return Ok(None);
    }
    settle(call, &mut transaction, hold.plan).await?;
    let standing = reads::standing(&mut transaction, hold.plan).await;
    let standing = standing.map_err(|fault| fault.explain(call))?;
    call.commit(transaction).await?;
    Ok(standing)
}

/// How a hold is doing.
#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    /// For how long it is still held; `None` where it is not.
    left_ms: Option<i64>,
    /// Whether jobs have ended that are still counted as open.
    ended: bool,
}

async fn held(call: &Call<'_>, hold: &Hold) -> Result<Seen, StoreError> {
    let row = sqlx::query(statement!("plan_held"))
        .bind(text(hold.plan))
        .bind(hold.fence)
        .fetch_optional(&mut *call.reader().await?)
        .await
        .map_err(|error| call.explain(&error))?;
    let Some(row) = row else {
        return Ok(Seen::default());
    };
    let columns = Columns(&row);
    let read = || {
        Ok(Seen {
            left_ms: match columns.integer("held")? {
                0 => None,
                _ => Some(columns.integer("left_ms")?),
            },
            ended: columns.integer("ended")? != 0,
        })
    };
    read().map_err(|error| call.explain(&error))
}

/// Operates on the next jobs.
pub(super) async fn advance(
    call: &Call<'_>,
    hold: &Hold,
    batch: u32,
    most: u32,
) -> Result<Option<Advanced>, StoreError> {
    let mut transaction = call.begin().await?;
    let entered = sqlx::query(statement!("plan_step"))
        .bind(text(hold.plan))
        .bind(hold.fence)
        .bind(lease_ms(hold.lease))
        .bind(batch)
        .fetch_optional(&mut *transaction)
        .await
        .map_err(|error| call.explain(&error))?;
    let Some(entered) = entered else {
        return Ok(None);
    };
    let columns = Columns(&entered);
    let read = || {
        Ok([
            columns.shown("operation")?,
            columns.shown("created_by")?,
            columns.shown("reason")?,
        ])
    };
    let [doing, actor, reason] = read().map_err(|error| call.explain(&error))?;
    let apply = Apply {
        plan: hold.plan,
        batch,
        most,
        legal: Move::of(operation(hold.plan, &doing)?, ActorKind::Operator),
        mark: mark(operation(hold.plan, &doing)?),
        said: (&actor, &reason),
    };
    let done = apply.run(call, &mut transaction).await?;
    sqlx::query(statement!("plan_chunk"))
        .bind(text(hold.plan))
        .bind(done.applied)
        .execute(&mut *transaction)
        .await
        .map_err(|error| call.explain(&error))?;
    call.commit(transaction).await?;
    Ok(Some(done))
}

/// The next jobs, ready to be operated on.
struct Apply<'a> {
    plan: Uuid,
    batch: u32,
    most: u32,
    legal: Move,
    mark: &'static str,
    /// By whom, and why.
    said: (&'a str, &'a str),
}

impl Apply<'_> {
    /// Marks the next jobs, then operates on those that were marked to be.
    async fn run(
        &self,
        call: &Call<'_>,
        connection: &mut SqliteConnection,
    ) -> Result<Advanced, StoreError> {
        let marked = sqlx::query(statement!("plan_mark"))
            .bind(text(self.plan))
            .bind(self.most)
            .bind(self.batch)
            .bind(self.legal.event.name())
            .bind(self.legal.to.name())
            .bind(self.mark)
            .fetch_all(&mut *connection)
            .await
            .map_err(|error| call.explain(&error))?;
        let read = || {
            let row = |row| {
                Ok((
                    Columns(row).integer("position")?,
                    Columns(row).text("outcome")?,
                ))
            };
            marked
                .iter()
                .map(row)
                .collect::<Result<Vec<(i64, &str)>, sqlx::Error>>()
        };
        let marks = read().map_err(|error| call.explain(&error))?;
        let done = advanced(marks.iter().map(|(_place, outcome)| *outcome));
        let places = marks.iter().map(|(place, _outcome)| *place);
        let (Some(first), Some(last)) = (places.clone().min(), places.max()) else {
            return Ok(done);
        };
        let changed = sqlx::query(statement!("plan_apply"))
            .bind(text(self.plan))
            .bind(first)
            .bind(last)
            .bind(self.mark)
            .bind(self.legal.event.name())
            .bind(self.legal.to.name())
            .bind(self.said.0)
            .bind(self.said.1)
            .execute(connection)
            .await
            .map_err(|error| call.explain(&error))?;
        if changed.rows_affected() != u64::from(done.applied) {
            return Err(call.refused(
                "the clock of this machine was set back: the plan goes on when it has caught up",
            ));
        }
        Ok(done)
    }
}

/// The executor ends its work.
pub(super) async fn conclude(
    call: &Call<'_>,
    hold: &Hold,
    event: PlanEvent,
    (executor, why): (&str, &str),
) -> Result<bool, StoreError> {
    let why = cut(why, TEXT_MAX_BYTES);
    let mut transaction = call.begin().await?;
    let done = sqlx::query(statement!("plan_conclude"))
        .bind(text(hold.plan))
        .bind(hold.fence)
        .bind(event.name())
        .bind(event.leads_to().name())
        .bind(cut(executor, NAME_MAX_BYTES))
        .bind(Some(why).filter(|why| !why.is_empty()))
        .fetch_optional(&mut *transaction)
        .await
        .map_err(|error| call.explain(&error))?;
    call.commit(transaction).await?;
    Ok(done.is_some())
}

/// The executor lets go.
pub(super) async fn let_go(call: &Call<'_>, hold: &Hold) -> Result<(), StoreError> {
    let mut transaction = call.begin().await?;
    sqlx::query(statement!("plan_let_go"))
        .bind(text(hold.plan))
        .bind(hold.fence)
        .execute(&mut *transaction)
        .await
        .map_err(|error| call.explain(&error))?;
    call.commit(transaction).await
}

/// Records how redriven jobs of a plan ended that nobody carries out any more.
pub(super) async fn settle_plan(call: &Call<'_>, plan: Uuid) -> Result<u64, StoreError> {
    let nobody = Hold {
        plan,
        fence: 0,
        lease: Duration::ZERO,
    };
    if !held(call, &nobody).await?.ended {
        return Ok(0);
    }
    let mut transaction = call.begin().await?;
    let settled = settle(call, &mut transaction, plan).await?;
    call.commit(transaction).await?;
    Ok(settled)
}

async fn settle(
    call: &Call<'_>,
    connection: &mut SqliteConnection,
    plan: Uuid,
) -> Result<u64, StoreError> {
    sqlx::query(statement!("plan_settle"))
        .bind(text(plan))
        .execute(connection)
        .await
        .map(|done| done.rows_affected())
        .map_err(|error| call.explain(&error))
}

//! The transactions that make a plan and carry it out.
//!
//! Next: `reads`, what is read of plans.

use std::time::Duration;

use sqlx::postgres::{PgConnection, PgRow};
use sqlx::{Connection as _, Row as _};
use uuid::Uuid;

use super::super::call::{Fault, Work};
use super::super::look;
use super::super::rows::int as read_int;
use super::reads::{self, statement};
use super::{int, lease_ms};
use crate::ledger::event::ActorKind;
use crate::ledger::job::{NAME_MAX_BYTES, Operation, TEXT_MAX_BYTES};
use crate::ledger::plan::{PlanEvent, PlanState, Standing, Target, may};
use crate::ledger::query::Query;
use crate::ledger::text::SafeText;
use crate::store::StoreError;
use crate::store::fault::Effect;
use crate::store::plans::freeze::{self, Frozen};
use crate::store::plans::row::{advanced, mark, operation};
use crate::store::plans::{Advanced, Hold, NewPlan, PlanAct, PlanOutcome, Taken};
use crate::store::row::{Move, counter, cut};

/// Makes a draft.
#[derive(Debug)]
pub(super) struct Draft<'a>(pub(super) &'a NewPlan);

impl Work for Draft<'_> {
    type Answer = ();
    const OPERATION: &'static str = "draft";
    const EFFECT: Effect = Effect::Change;

    async fn run(&self, connection: &mut PgConnection) -> Result<(), Fault> {
        let plan = self.0;
        sqlx::query(statement!("plan_draft"))
            .bind(plan.id)
            .bind(plan.operation.name())
            .bind(cut(&plan.query, TEXT_MAX_BYTES))
            .bind(cut(&plan.reason, TEXT_MAX_BYTES))
            .bind(cut(&plan.actor, NAME_MAX_BYTES))
            .bind(plan.pace.canary)
            .bind(int(plan.pace.batch_max))
            .bind(int(plan.pace.rate_per_s))
            .bind(i32::from(plan.pace.stop_percent))
            .execute(connection)
            .await?;
        Ok(())
    }
}

/// Freezes jobs into a draft.
#[derive(Debug)]
pub(super) struct Freeze<'a> {
    pub(super) plan: Uuid,
    pub(super) targets: &'a [Target],
}

impl Work for Freeze<'_> {
    type Answer = u64;
    const OPERATION: &'static str = "freeze";
    const EFFECT: Effect = Effect::Change;

    async fn run(&self, connection: &mut PgConnection) -> Result<u64, Fault> {
        let jobs: Vec<Uuid> = self.targets.iter().map(|target| target.job).collect();
        let versions: Vec<i32> = self
            .targets
            .iter()
            .map(|target| int(target.version))
            .collect();
        let done = sqlx::query(statement!("plan_freeze"))
            .bind(self.plan)
            .bind(jobs)
            .bind(versions)
            .execute(connection)
            .await?;
        Ok(done.rows_affected())
    }
}

/// Freezes the jobs of a filter into a draft.
#[derive(Debug)]
pub(super) struct FreezeWhere<'a> {
    pub(super) plan: Uuid,
    pub(super) operation: Operation,
    pub(super) query: &'a Query,
    pub(super) at_most: u64,
}

impl Work for FreezeWhere<'_> {
    type Answer = u64;
    const OPERATION: &'static str = "freeze";
    const EFFECT: Effect = Effect::Change;

    async fn run(&self, connection: &mut PgConnection) -> Result<u64, Fault> {
        let mut transaction = connection.begin().await?;
        let frozen = Frozen {
            plan: self.plan,
            operation: self.operation,
            now_us: look::now(&mut transaction).await?.micros(),
            at_most: self.at_most,
        };
        let Some(clause) = freeze::statement(self.query, &look::DIALECT, &frozen) else {
            return Ok(0);
        };
        let mut insert = look::statement(clause);
        // Made for these values and never again.
        let insert = insert.build().persistent(false);
        let done = insert.execute(&mut *transaction).await?.rows_affected();
        if done > self.at_most {
            transaction.rollback().await?;
            return Err(Fault::Store(StoreError::Refused {
                operation: Self::OPERATION,
                message: SafeText::new(&freeze::too_many(self.at_most)),
            }));
        }
        transaction.commit().await?;
        Ok(done)
    }
}

/// An operator's act on a plan.
#[derive(Debug)]
pub(super) struct ActOnPlan<'a> {
    pub(super) act: &'a PlanAct,
    pub(super) actor: String,
    pub(super) note: String,
}

impl Work for ActOnPlan<'_> {
    type Answer = PlanOutcome;
    const OPERATION: &'static str = "act on a plan";
    const EFFECT: Effect = Effect::Change;

    async fn run(&self, connection: &mut PgConnection) -> Result<PlanOutcome, Fault> {
        let event = self.act.event;
        let from: Vec<&str> = PlanState::ALL
            .into_iter()
            .filter(|state| may(event, *state))
            .map(PlanState::name)
            .collect();
        let done = sqlx::query(statement!("plan_act"))
            .bind(self.act.plan)
            .bind(event.name())
            .bind(event.leads_to().name())
            .bind(from)
            .bind(&self.actor)
            .bind(&self.note)
            .fetch_optional(&mut *connection)
            .await?;
        if done.is_some() {
            return Ok(PlanOutcome::Applied(event.leads_to()));
        }
        let Some(plan) = reads::One(self.act.plan).run(&mut *connection).await? else {
            return Ok(PlanOutcome::NotFound);
        };
        let last = reads::History {
            plan: self.act.plan,
            limit: 1,
        };
        let last = last.run(connection).await?;
        // Its answer was lost, and it is asked for again.
        let done_before = last.first().is_some_and(|entry| {
            entry.event == event
                && entry.actor.as_str() == self.actor
                && entry
                    .note
                    .as_ref()
                    .is_some_and(|note| note.as_str() == self.note)
        });
        Ok(if done_before {
            PlanOutcome::Applied(plan.state)
        } else {
            PlanOutcome::Refused(plan.state)
        })
    }
}

/// An executor takes a plan.
#[derive(Debug)]
pub(super) struct Take {
    pub(super) plan: Uuid,
    pub(super) executor: String,
    pub(super) lease: Duration,
}

impl Work for Take {
    type Answer = Taken;
    const OPERATION: &'static str = "take a plan";
    const EFFECT: Effect = Effect::Change;

    async fn run(&self, connection: &mut PgConnection) -> Result<Taken, Fault> {
        let taken = sqlx::query(statement!("plan_take"))
            .bind(self.plan)
            .bind(&self.executor)
            .bind(lease_ms(self.lease))
            .fetch_optional(&mut *connection)
            .await?;
        if let Some(row) = taken {
            return Ok(Taken::Held(Hold {
                plan: self.plan,
                fence: counter(self.plan, "fence", read_int(&row, "fence")?)?,
                lease: self.lease,
            }));
        }
        let found = reads::One(self.plan).run(connection).await?;
        Ok(found.map_or(Taken::NotFound, |plan| Taken::Busy(Box::new(plan))))
    }
}

/// Records ends, keeps the hold, reads where the plan stands.
#[derive(Debug)]
pub(super) struct Observe<'a>(pub(super) &'a Hold);

impl Work for Observe<'_> {
    type Answer = Option<Standing>;
    const OPERATION: &'static str = "observe a plan";
    const EFFECT: Effect = Effect::Change;

    async fn run(&self, connection: &mut PgConnection) -> Result<Option<Standing>, Fault> {
        let hold = self.0;
        let mut transaction = connection.begin().await?;
        let kept = sqlx::query(statement!("plan_hold"))
            .bind(hold.plan)
            .bind(int(hold.fence))
            .bind(lease_ms(hold.lease))
            .fetch_optional(&mut *transaction)
            .await?;
        if kept.is_none() {
            transaction.rollback().await?;
            return Ok(None);
        }
        Settle(hold.plan).run(&mut transaction).await?;
        let standing = reads::standing(&mut transaction, hold.plan).await?;
        transaction.commit().await?;
        Ok(standing)
    }
}

/// Operates on the next jobs.
#[derive(Debug)]
pub(super) struct Advance<'a> {
    pub(super) hold: &'a Hold,
    pub(super) batch: u32,
    pub(super) most: u32,
}

impl Work for Advance<'_> {
    type Answer = Option<Advanced>;
    const OPERATION: &'static str = "advance a plan";
    const EFFECT: Effect = Effect::Change;

    async fn run(&self, connection: &mut PgConnection) -> Result<Option<Advanced>, Fault> {
        let plan = self.hold.plan;
        let mut transaction = connection.begin().await?;
        let held = sqlx::query(statement!("plan_step"))
            .bind(plan)
            .bind(int(self.hold.fence))
            .bind(lease_ms(self.hold.lease))
            .bind(int(self.batch))
            .fetch_optional(&mut *transaction)
            .await?;
        let Some(held) = held else {
            transaction.rollback().await?;
            return Ok(None);
        };
        let done = self.apply(&mut transaction, &held).await?;
        sqlx::query(statement!("plan_chunk"))
            .bind(plan)
            .bind(int(done.applied))
            .execute(&mut *transaction)
            .await?;
        transaction.commit().await?;
        Ok(Some(done))
    }
}

impl Advance<'_> {
    async fn apply(&self, connection: &mut PgConnection, held: &PgRow) -> Result<Advanced, Fault> {
        let plan = self.hold.plan;
        let operation = operation(plan, held.try_get("operation")?)?;
        let legal = Move::of(operation, ActorKind::Operator);
        let from: Vec<&str> = legal.from.iter().map(|state| state.name()).collect();
        let actor: &str = held.try_get("created_by")?;
        let reason: &str = held.try_get("reason")?;
        let marked = sqlx::query(statement!("plan_apply"))
            .bind(plan)
            .bind(i64::from(self.most))
            .bind(int(self.batch))
            .bind(legal.event.name())
            .bind(legal.to.name())
            .bind(from)
            .bind(actor)
            .bind(reason)
            .bind(mark(operation))
            .fetch_all(connection)
            .await?;
        let outcomes = marked
            .iter()
            .map(|row| row.try_get("outcome"))
            .collect::<Result<Vec<&str>, _>>()?;
        Ok(advanced(outcomes))
    }
}

/// The executor ends its work.
#[derive(Debug)]
pub(super) struct Conclude<'a> {
    pub(super) hold: &'a Hold,
    pub(super) event: PlanEvent,
    pub(super) executor: String,
    pub(super) why: String,
}

impl Work for Conclude<'_> {
    type Answer = bool;
    const OPERATION: &'static str = "conclude a plan";
    const EFFECT: Effect = Effect::Change;

    async fn run(&self, connection: &mut PgConnection) -> Result<bool, Fault> {
        let done = sqlx::query(statement!("plan_conclude"))
            .bind(self.hold.plan)
            .bind(int(self.hold.fence))
            .bind(self.event.name())
            .bind(self.event.leads_to().name())
            .bind(&self.executor)
            .bind(Some(&self.why).filter(|why| !why.is_empty()))
            .fetch_optional(connection)
            .await?;
        Ok(done.is_some())
    }
}

/// The executor lets go.
#[derive(Debug)]
pub(super) struct LetGo<'a>(pub(super) &'a Hold);

impl Work for LetGo<'_> {
    type Answer = ();
    const OPERATION: &'static str = "let go of a plan";
    const EFFECT: Effect = Effect::Change;

    async fn run(&self, connection: &mut PgConnection) -> Result<(), Fault> {
        sqlx::query(statement!("plan_let_go"))
            .bind(self.0.plan)
            .bind(int(self.0.fence))
            .execute(connection)
            .await?;
        Ok(())
    }
}

/// Records how redriven jobs ended.
#[derive(Debug)]
pub(super) struct Settle(pub(super) Uuid);

impl Work for Settle {
    type Answer = u64;
    const OPERATION: &'static str = "settle a plan";
    const EFFECT: Effect = Effect::Change;

    async fn run(&self, connection: &mut PgConnection) -> Result<u64, Fault> {
        let done = sqlx::query(statement!("plan_settle"))
            .bind(self.0)
            .execute(connection)
            .await?;
        Ok(done.rows_affected())
    }
}

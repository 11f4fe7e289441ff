//! An operator's act on one job: done where the version is the one that was seen and the table of
//! transitions allows it, and never a silent success.
//!
//! Owns the binding; asks [`crate::ledger::transition`] what is legal. Next: `reads`.

use sqlx::postgres::PgConnection;

use super::call::{Fault, Work};
use super::rows;
use crate::ledger::event::ActorKind;
use crate::ledger::job::{NAME_MAX_BYTES, Outcome, TEXT_MAX_BYTES};
use crate::store::Act;
use crate::store::fault::Effect;
use crate::store::row::{Move, cut};

/// An act, ready to be bound.
#[derive(Debug)]
pub(super) struct Operate<'a> {
    act: &'a Act,
    legal: Move,
    version: i32,
    actor: String,
    note: String,
}

impl<'a> Operate<'a> {
    pub(super) fn new(act: &'a Act) -> Self {
        Self {
            act,
            legal: Move::of(act.operation, ActorKind::Operator),
            // A version that does not fit was never given out, and matches nothing.
            version: i32::try_from(act.version).unwrap_or(-1),
            actor: cut(&act.actor, NAME_MAX_BYTES),
            note: cut(&act.note, TEXT_MAX_BYTES),
        }
    }

    /// Why nothing was changed.
    async fn explain(&self, connection: &mut PgConnection) -> Result<Outcome, Fault> {
        let found = sqlx::query(include_str!("../../../assets/sql/postgres/operated.sql"))
            .bind(self.act.job)
            .bind(self.version)
            .bind(self.legal.event.name())
            .bind(&self.actor)
            .bind(&self.note)
            .fetch_optional(connection)
            .await?;
        let Some(row) = found else {
            return Ok(Outcome::NotFound);
        };
        if let Some((state, version)) = rows::done_before(self.act.job, &row)? {
            return Ok(Outcome::Applied { state, version });
        }
        let (state, version) = rows::standing(self.act.job, &row)?;
        let seen = version == self.act.version;
        Ok(if seen && !self.legal.from.contains(&state) {
            Outcome::Refused { state, version }
        } else {
            Outcome::Stale { state, version }
        })
    }
}

impl Work for Operate<'_> {
    type Answer = Outcome;
    const OPERATION: &'static str = "operate";
    const EFFECT: Effect = Effect::Change;

    async fn run(&self, connection: &mut PgConnection) -> Result<Outcome, Fault> {
        let from: Vec<&str> = self.legal.from.iter().map(|state| state.name()).collect();
        let done = sqlx::query(include_str!("../../../assets/sql/postgres/operate.sql"))
            .bind(self.act.job)
            .bind(self.version)
            .bind(self.legal.event.name())
            .bind(self.legal.to.name())
            .bind(from)
            .bind(&self.actor)
            .bind(&self.note)
            .fetch_optional(&mut *connection)
            .await?;
        match done {
            Some(row) => {
                let (state, version) = rows::standing(self.act.job, &row)?;
                Ok(Outcome::Applied { state, version })
            }
            None => self.explain(connection).await,
        }
    }
}

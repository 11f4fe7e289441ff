//! A ledger in PostgreSQL: the store and the feed.
//!
//! Binds values, runs statements and maps rows through [`super::row`]; no rule lives here: budgets
//! are decided in the settling statement, everything else by the triggers. Each call is one short
//! transaction with a deadline. Next: `postgres/call.rs`, how a call gets there.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use sqlx::postgres::PgConnectOptions;
use tokio::time::Instant;
use uuid::Uuid;

use super::audit::Pages;
use super::{Act, Audit, ClaimRequest, Exchanged, Feed, Look, Plans, Store, StoreError, Swept};
use crate::ledger::job::{
    Actor, Claimed, Disposition, Enqueued, JobRow, Lane, LeaseRef, NAME_MAX_BYTES, NewJob, Outcome,
    Settlement,
};
use crate::ledger::policy::Policy;
use crate::ledger::text::SafeText;
use crate::store::remembered::Remembered;
use crate::store::row::{bound_millis, cut, frees_work};

mod audit;
mod begin;
mod call;
mod connect;
mod enqueue;
mod exchange;
mod feed;
mod hint;
mod look;
mod moment;
mod operate;
mod plans;
mod reads;
mod rows;
mod session;
mod sweep;

use call::{Fault, Line, Work};
use connect::Limits;
use hint::Hints;

/// Makes the list of applied migrations.
pub(crate) const SCHEMA_TABLE: &str = include_str!("../../assets/sql/postgres/schema_table.sql");
/// One `init` at a time.
pub(crate) const SCHEMA_LOCK: &str = include_str!("../../assets/sql/postgres/schema_lock.sql");

/// Opens a ledger for reading and writing, after a look at its schema.
pub(crate) async fn open_store(
    options: &PgConnectOptions,
    ledger: &SafeText,
    patience: Duration,
) -> Result<Arc<dyn Store>, StoreError> {
    let limits = Limits::of(patience);
    let pool = connect::pool(options, limits);
    // Differs from process to process, which is all that pauses need.
    let seed = u64::from(std::process::id());
    let line = Line::new(pool.clone(), ledger.clone(), limits, seed);
    line.run(&CheckSchema(ledger)).await?;
    let session = connect::store_session(options, limits);
    Ok(Arc::new(PostgresStore {
        line,
        hints: Hints::new(pool, session),
        policies: Remembered::default(),
    }))
}

/// A feed that connects at its first reading.
pub(crate) fn feed(options: &PgConnectOptions, ledger: &SafeText) -> Box<dyn Feed> {
    Box::new(feed::PostgresFeed::new(
        connect::feed_session(options),
        ledger.clone(),
    ))
}

/// A reading of the whole ledger, which connects when it begins.
pub(crate) fn audit(options: &PgConnectOptions, ledger: &SafeText) -> Box<dyn Audit> {
    let session = connect::feed_session(options);
    Box::new(Pages::new(audit::PostgresAudit::new(
        session,
        ledger.clone(),
    )))
}

/// Look-ups, over a connection that is made at the first one.
pub(crate) fn look(options: &PgConnectOptions, ledger: &SafeText) -> Box<dyn Look> {
    Box::new(look::PostgresLook::new(
        connect::feed_session(options),
        ledger.clone(),
    ))
}

struct CheckSchema<'a>(&'a SafeText);

impl Work for CheckSchema<'_> {
    type Answer = ();
    const OPERATION: &'static str = "open";
    const EFFECT: super::fault::Effect = super::fault::Effect::None;

    async fn run(&self, connection: &mut sqlx::PgConnection) -> Result<(), Fault> {
        connect::check_schema(connection, self.0).await
    }
}

/// The store of a ledger in PostgreSQL.
struct PostgresStore {
    line: Line,
    hints: Hints,
    policies: Remembered,
}

impl PostgresStore {
    /// Finds out about the settlements that had no outcome, and fills in what it found.
    async fn settle_rest(
        &self,
        give_up: Instant,
        worker: &str,
        settlements: &[Settlement],
        outcomes: Vec<Option<Outcome>>,
    ) -> Result<Vec<Outcome>, StoreError> {
        let open: Vec<&Settlement> = settlements
            .iter()
            .zip(&outcomes)
            .filter_map(|(settlement, outcome)| outcome.is_none().then_some(settlement))
            .collect();
        if open.is_empty() {
            return Ok(outcomes.into_iter().flatten().collect());
        }
        let found = self
            .line
            .run_until(give_up, &exchange::Refuse::settlements(worker, &open))
            .await?;
        Ok(fill(outcomes, found))
    }
}

/// Puts what was found into the gaps, in order. There are as many of one as of the other.
fn fill(outcomes: Vec<Option<Outcome>>, found: Vec<Outcome>) -> Vec<Outcome> {
    let mut found = found.into_iter();
    outcomes
        .into_iter()
        .map(|outcome| {
            outcome
                .or_else(|| found.next())
                .unwrap_or(Outcome::NotFound)
        })
        .collect()
}

#[async_trait]
impl Store for PostgresStore {
    async fn enqueue(&self, jobs: &[NewJob], by: &Actor) -> Result<Vec<Enqueued>, StoreError> {
        if jobs.is_empty() {
            return Ok(Vec::new());
        }
        let enqueued = self.line.run(&enqueue::Enqueue::new(jobs, by)?).await?;
        self.hints.send();
        Ok(enqueued)
    }

    async fn exchange(
        &self,
        worker: &str,
        settlements: &[Settlement],
        claim: Option<&ClaimRequest>,
    ) -> Result<Exchanged, StoreError> {
        let work = exchange::Exchange::new(&self.policies, worker, settlements, claim);
        let give_up = self.line.give_up_at();
        let (outcomes, mut exchanged) = self.line.run_until(give_up, &work).await?;
        if frees_work(settlements) {
            self.hints.send();
        }
        exchanged.outcomes = self
            .settle_rest(give_up, worker, settlements, outcomes)
            .await?;
        Ok(exchanged)
    }

    async fn begin(
        &self,
        job: Uuid,
        worker: &str,
        lease: Duration,
    ) -> Result<Disposition, StoreError> {
        let work = begin::Begin {
            policies: &self.policies,
            job,
            worker: cut(worker, NAME_MAX_BYTES),
            lease_ms: bound_millis(lease),
        };
        self.line.run(&work).await
    }

    async fn renew(
        &self,
        worker: &str,
        leases: &[LeaseRef],
        lease: Duration,
    ) -> Result<Vec<Outcome>, StoreError> {
        let work = exchange::Renew {
            worker: cut(worker, NAME_MAX_BYTES),
            leases,
            lease_ms: bound_millis(lease),
        };
        let give_up = self.line.give_up_at();
        let outcomes = self.line.run_until(give_up, &work).await?;
        let open: Vec<LeaseRef> = leases
            .iter()
            .zip(&outcomes)
            .filter_map(|(lease, outcome)| outcome.is_none().then_some(*lease))
            .collect();
        if open.is_empty() {
            return Ok(outcomes.into_iter().flatten().collect());
        }
        let found = self
            .line
            .run_until(give_up, &exchange::Refuse::renewals(worker, open))
            .await?;
        Ok(fill(outcomes, found))
    }

    async fn held(&self, worker: &str, limit: u32) -> Result<Vec<Claimed>, StoreError> {
        let worker = cut(worker, NAME_MAX_BYTES);
        let policies = &self.policies;
        let work = reads::Held {
            policies,
            worker,
            limit,
        };
        self.line.run(&work).await
    }

    async fn sweep(&self, system: &str, limit: u32) -> Result<Swept, StoreError> {
        let work = sweep::Sweep {
            system: cut(system, NAME_MAX_BYTES),
            limit,
        };
        let swept = self.line.run(&work).await?;
        if !swept.is_empty() {
            self.hints.send();
        }
        Ok(swept)
    }

    async fn operate(&self, act: &Act) -> Result<Outcome, StoreError> {
        let outcome = self.line.run(&operate::Operate::new(act)).await?;
        self.hints.send();
        Ok(outcome)
    }

    async fn lanes(&self, queues: &[String], limit: u32) -> Result<Vec<Lane>, StoreError> {
        self.line.run(&reads::Lanes { queues, limit }).await
    }

    async fn policies(&self) -> Result<Vec<Policy>, StoreError> {
        self.line.run(&reads::Policies).await
    }

    async fn apply_policy(&self, policy: &Policy, by: &Actor) -> Result<u32, StoreError> {
        let by = &by.name;
        self.line.run(&reads::ApplyPolicy { policy, by }).await
    }

    async fn job(&self, job: Uuid) -> Result<Option<JobRow>, StoreError> {
        self.line.run(&reads::Job(job)).await
    }

    fn plans(&self) -> &dyn Plans {
        self
    }

    async fn wait_for_hint(&self, timeout: Duration) {
        self.hints.wait(timeout).await;
    }
}

//! Settling and claiming in one statement, renewing leases, and what becomes of a lease that is no
//! longer current.
//!
//! Owns the binding of settlements. Budgets are decided in the statement, rules by the triggers.
//! Next: `sweep`.

use std::collections::{BTreeSet, HashMap};

use sqlx::postgres::{PgConnection, PgRow};
use sqlx::{Connection as _, Row as _};
use uuid::Uuid;

use super::call::{Fault, Work};
use super::reads::policy_of;
use super::rows;
use crate::ledger::job::{LeaseRef, NAME_MAX_BYTES, Outcome, Settlement, TEXT_MAX_BYTES, Verdict};
use crate::ledger::state::State;
use crate::store::fault::Effect;
use crate::store::remembered::Remembered;
use crate::store::row::{bound_millis, cut, verdict_event};
use crate::store::{ClaimRequest, Exchanged};

/// Fences are integers in the database; one that does not fit was never given out.
fn fence_value(fence: u32) -> i32 {
    i32::try_from(fence).unwrap_or(-1)
}

/// Settlements as the parallel arrays that the statement unnests.
#[derive(Debug, Default)]
struct Columns {
    ids: Vec<Uuid>,
    fences: Vec<i32>,
    verdicts: Vec<&'static str>,
    outputs: Vec<Option<String>>,
    classes: Vec<Option<&'static str>>,
    reasons: Vec<Option<String>>,
    errors: Vec<Option<String>>,
    delays: Vec<Option<i64>>,
}

impl Columns {
    /// By ascending id, as every writer of more than one row locks them.
    fn by_id(settlements: &[Settlement]) -> Self {
        let mut ordered: Vec<&Settlement> = settlements.iter().collect();
        ordered.sort_by_key(|settlement| settlement.lease.job);
        Self::of(&ordered)
    }

    fn of(settlements: &[&Settlement]) -> Self {
        let mut columns = Self::default();
        for settlement in settlements {
            columns.push(settlement);
        }
        columns
    }

    fn push(&mut self, settlement: &Settlement) {
        let (output, failure, delay) = match &settlement.verdict {
            Verdict::Succeed { output_ref } => (output_ref.as_deref(), None, None),
            Verdict::Retry { failure, delay } => (None, Some(failure), Some(bound_millis(*delay))),
            Verdict::Reject { failure } => (None, Some(failure), None),
            Verdict::Release => (None, None, None),
        };
        self.ids.push(settlement.lease.job);
        self.fences.push(fence_value(settlement.lease.fence));
        self.verdicts
            .push(verdict_event(&settlement.verdict).name());
        self.outputs
            .push(output.map(|text| cut(text, TEXT_MAX_BYTES)));
        self.classes.push(failure.map(|failed| failed.class.name()));
        self.reasons
            .push(failure.map(|failed| failed.reason.clone()));
        self.errors
            .push(failure.map(|failed| cut(&failed.error, TEXT_MAX_BYTES)));
        self.delays.push(delay);
    }
}

/// Lanes as parallel arrays.
#[derive(Debug, Default)]
struct Lanes {
    queues: Vec<String>,
    tenants: Vec<String>,
    limits: Vec<i64>,
    lease_ms: i64,
}

impl Lanes {
    fn of(claim: Option<&ClaimRequest>) -> Self {
        let mut lanes = Self::default();
        if let Some(claim) = claim {
            lanes.lease_ms = bound_millis(claim.lease);
            for share in &claim.shares {
                lanes.queues.push(share.lane.queue.clone());
                lanes.tenants.push(share.lane.tenant.clone());
                lanes.limits.push(i64::from(share.limit));
            }
        }
        lanes
    }
}

/// Settles and claims. Outcomes of settlements that were not current are `None`.
#[derive(Debug)]
pub(super) struct Exchange<'a> {
    policies: &'a Remembered,
    worker: String,
    settlements: &'a [Settlement],
    columns: Columns,
    lanes: Lanes,
}

/// What came of it: an outcome for each settlement that was current.
type Settled = (Vec<Option<Outcome>>, Exchanged);

impl<'a> Exchange<'a> {
    pub(super) fn new(
        policies: &'a Remembered,
        worker: &str,
        settlements: &'a [Settlement],
        claim: Option<&ClaimRequest>,
    ) -> Self {
        Self {
            policies,
            settlements,
            worker: cut(worker, NAME_MAX_BYTES),
            columns: Columns::by_id(settlements),
            lanes: Lanes::of(claim),
        }
    }
}

impl Lanes {
    /// The turn of a lane among those asked.
    fn turn(&self, queue: &str, tenant: &str) -> usize {
        let mut asked = self.queues.iter().zip(&self.tenants);
        asked
            .position(|(a, b)| a == queue && b == tenant)
            .unwrap_or(usize::MAX)
    }
}

impl Work for Exchange<'_> {
    type Answer = Settled;
    const OPERATION: &'static str = "exchange";
    const EFFECT: Effect = Effect::Change;

    async fn run(&self, connection: &mut PgConnection) -> Result<Settled, Fault> {
        let rows = sqlx::query(include_str!("../../../assets/sql/postgres/exchange.sql"))
            .bind(&self.columns.ids)
            .bind(&self.columns.fences)
            .bind(&self.columns.verdicts)
            .bind(&self.columns.outputs)
            .bind(&self.columns.classes)
            .bind(&self.columns.reasons)
            .bind(&self.columns.errors)
            .bind(&self.columns.delays)
            .bind(&self.worker)
            .bind(&self.lanes.queues)
            .bind(&self.lanes.tenants)
            .bind(&self.lanes.limits)
            .bind(self.lanes.lease_ms)
            .fetch_all(&mut *connection)
            .await?;
        let mut settled = HashMap::new();
        let mut claimed = Vec::new();
        for row in &rows {
            let id: Uuid = row.try_get("id")?;
            if row.try_get::<Option<&str>, _>("queue")?.is_none() {
                let (state, version) = rows::standing(id, row)?;
                let fence = rows::fence(id, row)?;
                let lease = LeaseRef { job: id, fence };
                settled.insert(lease, Outcome::Applied { state, version });
            } else {
                let policy = policy_of(self.policies, connection, row).await?;
                let job = rows::claimed(row, &policy)?;
                claimed.push((self.lanes.turn(&job.queue, &job.tenant), job));
            }
        }
        claimed.sort_by_key(|(turn, job)| (*turn, job.id));
        // The first settlement of a lease is the one that counts; a second in one call is stale.
        let take = |settlement: &Settlement| settled.remove(&settlement.lease);
        let outcomes = self.settlements.iter().map(take).collect();
        let exchanged = Exchanged {
            outcomes: Vec::new(),
            claimed: claimed.into_iter().map(|(_, job)| job).collect(),
        };
        Ok((outcomes, exchanged))
    }
}

/// Finds out about leases that were not current: settled the same way before by this very worker
/// (the answer was lost), or stale, which is recorded.
///
/// This is a second transaction, after the exchange's. Nothing can come between that matters: a
/// fence only rises, so what was not current then is not current now, and what was settled before
/// stays so. Within the exchange's own statement it would cost every exchange, for what hardly ever
/// happens, and hold back jobs just claimed behind the lock of one that another writer holds.
#[derive(Debug)]
pub(super) struct Refuse {
    worker: String,
    leases: Vec<LeaseRef>,
    /// Empty where these are renewals.
    columns: Columns,
}

impl Refuse {
    /// The settlements that had no outcome.
    pub(super) fn settlements(worker: &str, settlements: &[&Settlement]) -> Self {
        Self {
            worker: cut(worker, NAME_MAX_BYTES),
            leases: settlements.iter().map(|each| each.lease).collect(),
            columns: Columns::of(settlements),
        }
    }

    /// The renewals that had no outcome. A renewal leaves nothing to recognise it by: a second one
    /// simply moves the lease again.
    pub(super) fn renewals(worker: &str, leases: Vec<LeaseRef>) -> Self {
        Self {
            worker: cut(worker, NAME_MAX_BYTES),
            leases,
            columns: Columns::default(),
        }
    }

    /// What came of those that were made before, by their place in the call.
    async fn settled_before(
        &self,
        connection: &mut PgConnection,
    ) -> Result<HashMap<i64, Outcome>, Fault> {
        let mut found = HashMap::new();
        if self.columns.ids.is_empty() {
            return Ok(found);
        }
        let rows = sqlx::query(include_str!(
            "../../../assets/sql/postgres/settled_already.sql"
        ))
        .bind(&self.columns.ids)
        .bind(&self.columns.fences)
        .bind(&self.columns.verdicts)
        .bind(&self.worker)
        .bind(&self.columns.outputs)
        .bind(&self.columns.classes)
        .bind(&self.columns.reasons)
        .fetch_all(connection)
        .await?;
        for row in &rows {
            let (state, version) = rows::standing(row.try_get("id")?, row)?;
            let outcome = Outcome::Applied { state, version };
            found.insert(row.try_get("place")?, outcome);
        }
        Ok(found)
    }
}

impl Work for Refuse {
    type Answer = Vec<Outcome>;
    const OPERATION: &'static str = "stale_refused";
    const EFFECT: Effect = Effect::Change;

    async fn run(&self, connection: &mut PgConnection) -> Result<Vec<Outcome>, Fault> {
        let mut transaction = connection.begin().await?;
        let before = self.settled_before(&mut transaction).await?;
        let stale: BTreeSet<Uuid> = (1..)
            .zip(&self.leases)
            .filter(|(place, _)| !before.contains_key(place))
            .map(|(_, lease)| lease.job)
            .collect();
        let ids: Vec<Uuid> = stale.into_iter().collect();
        let rows = sqlx::query(include_str!(
            "../../../assets/sql/postgres/stale_refused.sql"
        ))
        .bind(ids)
        .bind(&self.worker)
        .fetch_all(&mut *transaction)
        .await?;
        transaction.commit().await?;
        let refused = by_job(&rows)?;
        let outcome = |(place, lease): (i64, &LeaseRef)| {
            before.get(&place).copied().unwrap_or_else(|| {
                refused
                    .get(&lease.job)
                    .map_or(Outcome::NotFound, |&(state, version)| Outcome::Stale {
                        state,
                        version,
                    })
            })
        };
        Ok((1..).zip(&self.leases).map(outcome).collect())
    }
}

fn by_job(rows: &[PgRow]) -> Result<HashMap<Uuid, (State, u32)>, Fault> {
    let mut found = HashMap::new();
    for row in rows {
        let job = row.try_get("id")?;
        found.insert(job, rows::standing(job, row)?);
    }
    Ok(found)
}

/// Moves the end of leases. Outcomes of leases that were not current are `None`.
#[derive(Debug)]
pub(super) struct Renew<'a> {
    pub(super) worker: String,
    pub(super) leases: &'a [LeaseRef],
    pub(super) lease_ms: i64,
}

impl Work for Renew<'_> {
    type Answer = Vec<Option<Outcome>>;
    const OPERATION: &'static str = "renew";
    const EFFECT: Effect = Effect::Change;

    async fn run(&self, connection: &mut PgConnection) -> Result<Self::Answer, Fault> {
        // By ascending id, as every writer of more than one row locks them.
        let ordered: BTreeSet<(Uuid, u32)> = self
            .leases
            .iter()
            .map(|lease| (lease.job, lease.fence))
            .collect();
        let (ids, fences): (Vec<Uuid>, Vec<i32>) = ordered
            .into_iter()
            .map(|(job, fence)| (job, fence_value(fence)))
            .unzip();
        let rows = sqlx::query(include_str!("../../../assets/sql/postgres/renew.sql"))
            .bind(ids)
            .bind(fences)
            .bind(&self.worker)
            .bind(self.lease_ms)
            .fetch_all(connection)
            .await?;
        let mut renewed = HashMap::new();
        for row in &rows {
            let job: Uuid = row.try_get("id")?;
            let fence = rows::fence(job, row)?;
            let (state, version) = rows::standing(job, row)?;
            renewed.insert(LeaseRef { job, fence }, Outcome::Applied { state, version });
        }
        let outcome = |lease| renewed.get(lease).copied();
        Ok(self.leases.iter().map(outcome).collect())
    }
}

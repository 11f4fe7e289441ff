//! A ledger in a SQLite file: the store.
//!
//! Binds values, runs statements and maps rows through [`super::row`]; no rule lives here. SQLite
//! has one writer at a time: writing transactions take turns inside this process, and between
//! processes by `BEGIN IMMEDIATE`. Each file under `sqlite/` owns one kind of call. Next:
//! [`access`], what all of them stand on, then `feed`.

mod access;
mod audit;
mod claim;
mod columns;
mod connect;
mod enqueue;
mod exchange;
mod feed;
mod hint;
mod lease;
mod look;
mod operate;
mod plans;
mod policy;
mod settle;
mod sweep;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use uuid::Uuid;

use super::audit::Pages;
use super::{Act, Audit, ClaimRequest, Exchanged, Feed, Look, Plans, Store, StoreError, Swept};
use crate::ledger::job::{
    Actor, Claimed, Disposition, Enqueued, JobRow, Lane, LeaseRef, NAME_MAX_BYTES, NewJob, Outcome,
    Settlement,
};
use crate::ledger::policy::Policy;
use crate::ledger::text::SafeText;
use crate::store::row::{cut, frees_work};
use access::Access;
use hint::Hint;
use policy::Policies;

pub(crate) use connect::connect_to_create;

/// Makes the list of applied migrations.
pub(crate) const SCHEMA_TABLE: &str = include_str!("../../assets/sql/sqlite/schema_table.sql");

/// Opens a ledger for reading and writing.
pub(crate) async fn open_store(
    path: &Path,
    ledger: &SafeText,
    patience: Duration,
) -> Result<Arc<dyn Store>, StoreError> {
    let access = Access::open(path, ledger, patience).await?;
    Ok(Arc::new(SqliteStore {
        access,
        hint: Hint::default(),
        policies: Policies::default(),
    }))
}

/// A feed that connects at its first reading.
pub(crate) fn feed(path: &Path, ledger: &SafeText) -> Box<dyn Feed> {
    Box::new(feed::SqliteFeed::new(path, ledger))
}

/// A reading of the whole ledger, which connects when it begins.
pub(crate) fn audit(path: &Path, ledger: &SafeText) -> Box<dyn Audit> {
    Box::new(Pages::new(audit::SqliteAudit::new(path, ledger)))
}

/// Look-ups, over a connection that is made at the first one.
pub(crate) fn look(path: &Path, ledger: &SafeText) -> Box<dyn Look> {
    Box::new(look::SqliteLook::new(path, ledger))
}

/// A ledger in a SQLite file.
struct SqliteStore {
    access: Access,
    hint: Hint,
    policies: Policies,
}

#[async_trait]
impl Store for SqliteStore {
    async fn enqueue(&self, jobs: &[NewJob], by: &Actor) -> Result<Vec<Enqueued>, StoreError> {
        let call = self.access.writing("enqueue");
        let enqueued = call.within(enqueue::enqueue(&call, jobs, by)).await?;
        self.hint.changed();
        Ok(enqueued)
    }

    async fn exchange(
        &self,
        worker: &str,
        settlements: &[Settlement],
        claim: Option<&ClaimRequest>,
    ) -> Result<Exchanged, StoreError> {
        let call = self.access.writing("exchange");
        let worker = cut(worker, NAME_MAX_BYTES);
        let work = exchange::exchange(&call, &self.policies, &worker, settlements, claim);
        let exchanged = call.within(work).await?;
        if frees_work(settlements) {
            self.hint.changed();
        }
        Ok(exchanged)
    }

    async fn begin(
        &self,
        job: Uuid,
        worker: &str,
        lease: Duration,
    ) -> Result<Disposition, StoreError> {
        let call = self.access.writing("begin");
        let worker = cut(worker, NAME_MAX_BYTES);
        call.within(lease::begin(&call, &self.policies, job, &worker, lease))
            .await
    }

    async fn renew(
        &self,
        worker: &str,
        leases: &[LeaseRef],
        lease: Duration,
    ) -> Result<Vec<Outcome>, StoreError> {
        let call = self.access.writing("renew");
        let worker = cut(worker, NAME_MAX_BYTES);
        call.within(lease::renew(&call, &worker, leases, lease))
            .await
    }

    async fn held(&self, worker: &str, limit: u32) -> Result<Vec<Claimed>, StoreError> {
        let call = self.access.writing("held");
        let worker = cut(worker, NAME_MAX_BYTES);
        call.within(lease::held(&call, &self.policies, &worker, limit))
            .await
    }

    async fn sweep(&self, system: &str, limit: u32) -> Result<Swept, StoreError> {
        let call = self.access.writing("sweep");
        let system = cut(system, NAME_MAX_BYTES);
        let swept = call.within(sweep::sweep(&call, &system, limit)).await?;
        if !swept.is_empty() {
            self.hint.changed();
        }
        Ok(swept)
    }

    async fn operate(&self, act: &Act) -> Result<Outcome, StoreError> {
        let call = self.access.writing("operate");
        let outcome = call.within(operate::operate(&call, act)).await?;
        self.hint.changed();
        Ok(outcome)
    }

    async fn lanes(&self, queues: &[String], limit: u32) -> Result<Vec<Lane>, StoreError> {
        let before = self.hint.now();
        let call = self.access.reading("lanes");
        let lanes = call.within(claim::lanes(&call, queues, limit)).await?;
        self.hint.looked(before);
        Ok(lanes)
    }

    async fn policies(&self) -> Result<Vec<Policy>, StoreError> {
        let call = self.access.reading("policies");
        call.within(policy::newest(&call)).await
    }

    async fn apply_policy(&self, policy: &Policy, by: &Actor) -> Result<u32, StoreError> {
        let call = self.access.writing("apply_policy");
        call.within(policy::apply(&call, policy, by)).await
    }

    async fn job(&self, job: Uuid) -> Result<Option<JobRow>, StoreError> {
        let call = self.access.reading("job");
        call.within(operate::job(&call, job)).await
    }

    fn plans(&self) -> &dyn Plans {
        self
    }

    async fn wait_for_hint(&self, timeout: Duration) {
        self.hint.wait(&self.access, timeout).await;
    }
}

//! The way from a worker to its ledger, which the demo can cut: calls made meanwhile wait, as they
//! do on a network that drops packets, and go on when it is whole again.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::watch;
use uuid::Uuid;

use crate::ledger::job::{
    Actor, Claimed, Disposition, Enqueued, JobRow, Lane, LeaseRef, NewJob, Outcome, Settlement,
};
use crate::ledger::policy::Policy;
use crate::store::{Act, ClaimRequest, Exchanged, Plans, Store, StoreError, Swept};

/// Whether calls pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Link {
    /// They do.
    Whole,
    /// They wait.
    Cut,
}

/// A store behind a network.
pub(super) struct Network {
    store: Arc<dyn Store>,
    link: watch::Receiver<Link>,
}

impl Network {
    /// The way to `store`, and the switch that cuts it.
    pub(super) fn new(store: Arc<dyn Store>) -> (Self, watch::Sender<Link>) {
        let (switch, link) = watch::channel(Link::Whole);
        (Self { store, link }, switch)
    }

    /// Waits while the link is cut. A switch that is gone has left it whole.
    async fn pass(&self) -> &dyn Store {
        let mut link = self.link.clone();
        if let Err(gone) = link.wait_for(|link| *link == Link::Whole).await {
            tracing::debug!(%gone, "nobody is left to cut the link");
        }
        self.store.as_ref()
    }
}

#[async_trait]
impl Store for Network {
    async fn enqueue(&self, jobs: &[NewJob], by: &Actor) -> Result<Vec<Enqueued>, StoreError> {
        self.pass().await.enqueue(jobs, by).await
    }

    async fn exchange(
        &self,
        worker: &str,
        settlements: &[Settlement],
        claim: Option<&ClaimRequest>,
    ) -> Result<Exchanged, StoreError> {
        let store = self.pass().await;
        store.exchange(worker, settlements, claim).await
    }

    async fn begin(
        &self,
        job: Uuid,
        worker: &str,
        lease: Duration,
    ) -> Result<Disposition, StoreError> {
        self.pass().await.begin(job, worker, lease).await
    }

    async fn renew(
        &self,
        worker: &str,
        leases: &[LeaseRef],
        lease: Duration,
    ) -> Result<Vec<Outcome>, StoreError> {
        self.pass().await.renew(worker, leases, lease).await
    }

    async fn held(&self, worker: &str, limit: u32) -> Result<Vec<Claimed>, StoreError> {
        self.pass().await.held(worker, limit).await
    }

    async fn sweep(&self, system: &str, limit: u32) -> Result<Swept, StoreError> {
        self.pass().await.sweep(system, limit).await
    }

    async fn operate(&self, act: &Act) -> Result<Outcome, StoreError> {
        self.pass().await.operate(act).await
    }

    async fn lanes(&self, queues: &[String], limit: u32) -> Result<Vec<Lane>, StoreError> {
        self.pass().await.lanes(queues, limit).await
    }

    async fn policies(&self) -> Result<Vec<Policy>, StoreError> {
        self.pass().await.policies().await
    }

    async fn apply_policy(&self, policy: &Policy, by: &Actor) -> Result<u32, StoreError> {
        self.pass().await.apply_policy(policy, by).await
    }

    async fn job(&self, job: Uuid) -> Result<Option<JobRow>, StoreError> {
        self.pass().await.job(job).await
    }

    fn plans(&self) -> &dyn Plans {
        self.store.plans()
    }

    async fn wait_for_hint(&self, timeout: Duration) {
        self.store.wait_for_hint(timeout).await;
    }
}

//! A way to a real ledger that fails as networks do: before a change is made, after it was made, or
//! by saying nothing. The ledger behind it is real, and so is every change that gets through.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use ledgertop::ledger::job::{
    Actor, Claimed, Disposition, Enqueued, JobRow, Lane, LeaseRef, NewJob, Outcome, Settlement,
};
use ledgertop::ledger::policy::Policy;
use ledgertop::store::{Act, ClaimRequest, Exchanged, Plans, Store, StoreError, Swept};
use tokio::sync::watch;
use uuid::Uuid;

/// How the way is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// Everything gets through.
    Open,
    /// Calls wait until it is open again.
    Hangs,
    /// Nothing gets through, and the caller learns that.
    Closed,
    /// Exchanges and renewals are made, and the answer of every second one or so is lost.
    LosesAnswers,
    /// The next claim that brings a job is made and its answer is lost; then everything gets
    /// through.
    LosesOneClaim,
}

/// A store behind such a way.
pub(crate) struct Faulty {
    store: Arc<dyn Store>,
    way: watch::Sender<Way>,
    calls: AtomicU64,
    /// Exchanges and renewals answered since the way was last open.
    answered: AtomicU64,
}

impl Faulty {
    pub(crate) fn new(store: Arc<dyn Store>) -> Self {
        Self {
            store,
            way: watch::Sender::new(Way::Open),
            calls: AtomicU64::new(0),
            answered: AtomicU64::new(0),
        }
    }

    pub(crate) fn set(&self, way: Way) {
        self.answered.store(0, Ordering::SeqCst);
        self.way.send_replace(way);
    }

    /// How many exchanges and renewals were answered since the way last changed.
    pub(crate) fn answered(&self) -> u64 {
        self.answered.load(Ordering::SeqCst)
    }

    /// The store, where a call gets to it.
    async fn pass(&self) -> Result<&dyn Store, StoreError> {
        let mut way = self.way.subscribe();
        let now = *way
            .wait_for(|way| *way != Way::Hangs)
            .await
            .expect("the sender is in self");
        match now {
            Way::Open | Way::Hangs | Way::LosesAnswers | Way::LosesOneClaim => {
                Ok(self.store.as_ref())
            }
            Way::Closed => Err(StoreError::Unreachable {
                ledger: "a far ledger".into(),
                message: "the way is closed".into(),
            }),
        }
    }

    /// The answer of a call that was made, where it is not lost.
    fn back<T>(&self, answer: Result<T, StoreError>) -> Result<T, StoreError> {
        let call = self.calls.fetch_add(1, Ordering::SeqCst);
        // Knuth's multiplicative hash: every second call or so, without a rhythm that the caller's
        // own could fall in with.
        let lost = call.wrapping_mul(2_654_435_761) >> 13 & 1 == 0;
        if *self.way.borrow() == Way::LosesAnswers && lost {
            return Err(answer_lost());
        }
        self.answered.fetch_add(1, Ordering::SeqCst);
        answer
    }
}

fn answer_lost() -> StoreError {
    StoreError::OutcomeUnknown {
        operation: "a call",
        message: "the answer was lost".into(),
    }
}

#[async_trait]
impl Store for Faulty {
    async fn enqueue(&self, jobs: &[NewJob], by: &Actor) -> Result<Vec<Enqueued>, StoreError> {
        self.pass().await?.enqueue(jobs, by).await
    }

    async fn exchange(
        &self,
        worker: &str,
        settlements: &[Settlement],
        claim: Option<&ClaimRequest>,
    ) -> Result<Exchanged, StoreError> {
        let store = self.pass().await?;
        let answer = store.exchange(worker, settlements, claim).await;
        let brings = answer
            .as_ref()
            .is_ok_and(|exchanged| !exchanged.claimed.is_empty());
        if brings && *self.way.borrow() == Way::LosesOneClaim {
            self.set(Way::Open);
            return Err(answer_lost());
        }
        self.back(answer)
    }

    async fn begin(
        &self,
        job: Uuid,
        worker: &str,
        lease: Duration,
    ) -> Result<Disposition, StoreError> {
        self.pass().await?.begin(job, worker, lease).await
    }

    async fn renew(
        &self,
        worker: &str,
        leases: &[LeaseRef],
        lease: Duration,
    ) -> Result<Vec<Outcome>, StoreError> {
        let store = self.pass().await?;
        self.back(store.renew(worker, leases, lease).await)
    }

    async fn held(&self, worker: &str, limit: u32) -> Result<Vec<Claimed>, StoreError> {
        let store = self.pass().await?;
        self.back(store.held(worker, limit).await)
    }

    async fn sweep(&self, system: &str, limit: u32) -> Result<Swept, StoreError> {
        self.pass().await?.sweep(system, limit).await
    }

    async fn operate(&self, act: &Act) -> Result<Outcome, StoreError> {
        self.pass().await?.operate(act).await
    }

    async fn lanes(&self, queues: &[String], limit: u32) -> Result<Vec<Lane>, StoreError> {
        self.pass().await?.lanes(queues, limit).await
    }

    async fn policies(&self) -> Result<Vec<Policy>, StoreError> {
        self.pass().await?.policies().await
    }

    async fn apply_policy(&self, policy: &Policy, by: &Actor) -> Result<u32, StoreError> {
        self.pass().await?.apply_policy(policy, by).await
    }

    async fn job(&self, job: Uuid) -> Result<Option<JobRow>, StoreError> {
        self.pass().await?.job(job).await
    }

    fn plans(&self) -> &dyn Plans {
        self.store.plans()
    }

    async fn wait_for_hint(&self, timeout: Duration) {
        self.store.wait_for_hint(timeout).await;
    }
}

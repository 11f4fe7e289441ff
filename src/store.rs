//! Access to a ledger: one trait for writing, one for reading the feed, one for auditing
//! all of it, and their errors.
//!
//! The implementations in `sqlite` and `postgres` bind values, run statements and map rows. No rule
//! lives in them: rules are in [`crate::ledger`] and in the database's triggers. A [`Feed`] and
//! an [`Audit`] are made from a connection that cannot write; a [`Store`] exists only where
//! something is to be written.
//! Next on the walk of a row to a cell: [`crate::ledger::feed`].

use std::time::Duration;

use async_trait::async_trait;
use uuid::Uuid;

use crate::ledger::feed::{Base, Batch};
use crate::ledger::job::{
    Actor, Claimed, Disposition, Enqueued, JobRow, Lane, LeaseRef, NewJob, Operation, Outcome,
    Settlement,
};
use crate::ledger::policy::Policy;

pub mod audit;
pub mod error;
mod fault;
pub mod look;
pub mod migrate;
pub mod plans;
mod postgres;
mod remembered;
mod row;
mod sqlite;
pub mod url;

pub use audit::Audit;
pub use error::StoreError;
pub use look::Look;
pub use migrate::init;
pub use plans::Plans;
pub use url::{DatabaseKind, LedgerUrl};

/// The most jobs that one call enqueues, claims, settles or renews: keeps statements, locks and
/// memory bounded. Callers cut their work into pieces of this size.
pub const BATCH_MAX: usize = 1_000;

/// How long a call waits for the database where nobody says otherwise: for a statement, and half as
/// long for another's lock. The call itself ends soon after that, with or without an answer.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// How many jobs to take from one lane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaneShare {
    /// Where from.
    pub lane: Lane,
    /// At most this many.
    pub limit: u32,
}

/// A wish for work: the oldest ready jobs of each lane, skipping what other workers are taking.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimRequest {
    /// The worker's name, as events and leases show it.
    pub worker: String,
    /// How long each lease lasts.
    pub lease: Duration,
    /// From which lanes, how many. The sum is at most [`BATCH_MAX`].
    pub shares: Vec<LaneShare>,
}

/// What an exchange brought: one outcome per settlement, in order, and the jobs claimed.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Exchanged {
    /// In the order of the settlements given.
    pub outcomes: Vec<Outcome>,
    /// Claimed jobs, in the order of their lanes.
    pub claimed: Vec<Claimed>,
}

/// An operator's act on one job, bound to what was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Act {
    /// What to do.
    pub operation: Operation,
    /// To which job.
    pub job: Uuid,
    /// The version that was seen; another one makes the act stale.
    pub version: u32,
    /// Who.
    pub actor: String,
    /// Why, for the event.
    pub note: String,
}

/// What one sweep of housekeeping did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Swept {
    /// Jobs whose moment had come.
    pub due: u64,
    /// Leases that had run out.
    pub expired: u64,
    /// Parents whose required children have all succeeded.
    pub parents: u64,
}

impl Swept {
    /// Whether anything was done.
    pub const fn is_empty(self) -> bool {
        self.due == 0 && self.expired == 0 && self.parents == 0
    }
}

/// A ledger that may be written to. Every call is one short transaction.
#[async_trait]
pub trait Store: Send + Sync {
    /// Enqueues jobs in one transaction: all of them, or none. A key that exists already (in the
    /// ledger or earlier in `jobs`) is a duplicate, recorded as an event of the job that has it.
    ///
    /// # Errors
    /// Where a job breaks a bound, names a policy that does not exist or a parent that has begun,
    /// or the ledger cannot be reached; nothing was enqueued (`StoreError::Unknown…`: it may have
    /// been).
    async fn enqueue(&self, jobs: &[NewJob], by: &Actor) -> Result<Vec<Enqueued>, StoreError>;

    /// Settles attempts and claims the next jobs in one transaction. Either part may be empty. A
    /// settlement whose fence is no longer current changes nothing but leaves a `stale_refused`
    /// event. One that the same worker made before for the same claim is answered as it was then
    /// and leaves nothing: after a lost answer, asking again is safe and tells the true outcome.
    ///
    /// # Errors
    /// Where the ledger cannot be reached or refuses a settlement as a whole.
    async fn exchange(
        &self,
        worker: &str,
        settlements: &[Settlement],
        claim: Option<&ClaimRequest>,
    ) -> Result<Exchanged, StoreError>;

    /// Begins an attempt of one named job on behalf of a transport (row C3). Anything but
    /// `Disposition::Run` and `NotFound` leaves a `duplicate` event: the delivery was one too many.
    ///
    /// # Errors
    /// Where the ledger cannot be reached.
    async fn begin(
        &self,
        job: Uuid,
        worker: &str,
        lease: Duration,
    ) -> Result<Disposition, StoreError>;

    /// Moves the end of leases to `lease` from now. One outcome per lease, in order.
    ///
    /// # Errors
    /// Where the ledger cannot be reached.
    async fn renew(
        &self,
        worker: &str,
        leases: &[LeaseRef],
        lease: Duration,
    ) -> Result<Vec<Outcome>, StoreError>;

    /// The running jobs that are in that worker's name under a lease that has not run out, at most
    /// `limit`: what it holds, though it may not know it because the answer to a claim was lost.
    /// Only whoever is the one bearer of the name may go on with them.
    ///
    /// # Errors
    /// Where the ledger cannot be reached, or a job cannot be read.
    async fn held(&self, worker: &str, limit: u32) -> Result<Vec<Claimed>, StoreError>;

    /// One sweep of housekeeping, at most `limit` jobs of each kind: what is due becomes ready,
    /// leases that ran out are taken back, parents whose children are done become ready.
    ///
    /// # Errors
    /// Where the ledger cannot be reached.
    async fn sweep(&self, system: &str, limit: u32) -> Result<Swept, StoreError>;

    /// An operator's act on one job, where its version is the one that was seen.
    ///
    /// # Errors
    /// Where the ledger cannot be reached.
    async fn operate(&self, act: &Act) -> Result<Outcome, StoreError>;

    /// The lanes of `queues` (all queues where empty) that have ready jobs, at most `limit`.
    ///
    /// # Errors
    /// Where the ledger cannot be reached.
    async fn lanes(&self, queues: &[String], limit: u32) -> Result<Vec<Lane>, StoreError>;

    /// The newest version of every policy.
    ///
    /// # Errors
    /// Where the ledger cannot be reached.
    async fn policies(&self) -> Result<Vec<Policy>, StoreError>;

    /// Makes `policy`'s rules the newest version of its name; returns that version. Rules equal to
    /// the newest version's make no new one. `policy.version` is ignored.
    ///
    /// # Errors
    /// Where the ledger cannot be reached or a rule is out of its range.
    async fn apply_policy(&self, policy: &Policy, by: &Actor) -> Result<u32, StoreError>;

    /// The job with this id.
    ///
    /// # Errors
    /// Where the ledger cannot be reached.
    async fn job(&self, job: Uuid) -> Result<Option<JobRow>, StoreError>;

    /// The plans of this ledger.
    fn plans(&self) -> &dyn Plans;

    /// Waits until another process may have made something ready, or until `timeout`. Only a hint:
    /// the caller looks for work either way.
    async fn wait_for_hint(&self, timeout: Duration);
}

/// A reading of a ledger's events through a connection that cannot write.
#[async_trait]
pub trait Feed: Send {
    /// Counts every live job at one instant and starts the feed there.
    ///
    /// # Errors
    /// Where the ledger cannot be reached, is not a ledger, is newer than this program, or holds a
    /// value that cannot be understood.
    async fn base(&mut self) -> Result<Base, StoreError>;

    /// The events committed since the last reading.
    ///
    /// # Errors
    /// As [`Feed::base`]; after an error the next reading starts where the last good one ended.
    async fn next(&mut self) -> Result<Batch, StoreError>;
}

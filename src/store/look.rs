//! Looking things up for a person: lists, one job, groups, leases, acts.
//!
//! Every call is one short read through a connection that cannot write, with a deadline in the
//! database, and reads a page: memory is bounded whatever the ledger holds. Dropping a call's
//! future cancels it. Next: `sqlite`, `postgres`.

use async_trait::async_trait;
use uuid::Uuid;

use super::StoreError;
use super::plans::PlanJobsPage;
use crate::ledger::plan::{Plan, PlanEntry, PlanJob};
use crate::ledger::query::Query;
use crate::ledger::view::{
    AuditCursor, AuditPage, Count, DeadLetters, JobCursor, JobName, JobOrder, JobPage, JobStory,
    LeasePage,
};

mod clause;
mod page;
mod path;
pub(in crate::store) mod row;

pub(in crate::store) use clause::{Begins, Clause, Dialect, Piece, Value, conditions, in_states};
pub(in crate::store) use page::{Bounds, count, dead_letters, jobs, leases};
pub(in crate::store) use path::{Branch, Path, anchors};

/// The most rows of one page.
pub const PAGE_MAX: u32 = 500;
/// The most events of one job that are read: half of them its first, half its last.
pub const EVENTS_MAX: u32 = 1_000;
/// The most children of one job that are named.
pub const CHILDREN_MAX: u32 = 200;
/// The most children of one job that are counted.
pub(in crate::store) const CHILDREN_COUNTED_MAX: u64 = 10_000;
/// The most dead letters of a state that are read to be grouped, the newest first.
pub const DEAD_LETTERS_MAX: u64 = 250_000;
/// The most dead letters that cannot be understood and are named.
pub(in crate::store) const UNREADABLE_MAX: usize = 100;
/// From this many jobs on, that they must be read one by one is said before it is done.
pub(in crate::store) const SCAN_MIN: u64 = 100_000;

/// The rows of a page that was asked for: at least one, at most [`PAGE_MAX`].
pub(in crate::store) fn page_rows(limit: u32) -> u64 {
    u64::from(limit.clamp(1, PAGE_MAX))
}

/// How much a query will cost, told before it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// An index leads to the jobs.
    Indexed,
    /// Jobs must be read one by one, about this many at most.
    Scan {
        /// About how many.
        jobs: u64,
    },
}

/// Look-ups through a connection that cannot write.
#[async_trait]
pub trait Look: Send {
    /// Whether an index leads to the first jobs of `query` in `order`. Cheap: reads no jobs.
    ///
    /// # Errors
    /// Where the ledger cannot be reached.
    async fn reach(&mut self, query: &Query, order: JobOrder) -> Result<Reach, StoreError>;

    /// A page of the jobs for which `query` holds; at most `limit` (≤ [`PAGE_MAX`]).
    ///
    /// # Errors
    /// Where the ledger cannot be reached or the deadline passes.
    async fn jobs(
        &mut self,
        query: &Query,
        order: JobOrder,
        after: Option<&JobCursor>,
        limit: u32,
    ) -> Result<JobPage, StoreError>;

    /// How many jobs `query` holds for, counting no further than `at_most`.
    ///
    /// # Errors
    /// As [`Look::jobs`].
    async fn count(&mut self, query: &Query, at_most: u64) -> Result<Count, StoreError>;

    /// One job with its timeline.
    ///
    /// # Errors
    /// Where the ledger cannot be reached or the job's row cannot be understood.
    async fn story(&mut self, job: &JobName) -> Result<Option<JobStory>, StoreError>;

    /// The dead letters for which `query` holds, grouped.
    ///
    /// # Errors
    /// As [`Look::jobs`].
    async fn dead_letters(&mut self, query: &Query) -> Result<DeadLetters, StoreError>;

    /// A page of leases for which `query` holds, the first to end first.
    ///
    /// # Errors
    /// As [`Look::jobs`].
    async fn leases(
        &mut self,
        query: &Query,
        after: Option<&JobCursor>,
        limit: u32,
    ) -> Result<LeasePage, StoreError>;

    /// A page of operator acts, the newest first.
    ///
    /// # Errors
    /// As [`Look::jobs`].
    async fn audit(
        &mut self,
        before: Option<&AuditCursor>,
        limit: u32,
    ) -> Result<AuditPage, StoreError>;

    /// One plan.
    ///
    /// # Errors
    /// As [`Look::jobs`].
    async fn plan(&mut self, plan: Uuid) -> Result<Option<Plan>, StoreError>;

    /// The newest plans, at most `limit`.
    ///
    /// # Errors
    /// As [`Look::jobs`].
    async fn plans(&mut self, limit: u32) -> Result<Vec<Plan>, StoreError>;

    /// Jobs of a plan, in their order.
    ///
    /// # Errors
    /// As [`Look::jobs`].
    async fn plan_jobs(
        &mut self,
        plan: Uuid,
        page: PlanJobsPage,
    ) -> Result<Vec<PlanJob>, StoreError>;

    /// The last moves of a plan, the newest first, at most `limit`.
    ///
    /// # Errors
    /// As [`Look::jobs`].
    async fn plan_history(&mut self, plan: Uuid, limit: u32) -> Result<Vec<PlanEntry>, StoreError>;
}

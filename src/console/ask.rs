//! What the console asks of the ledger beyond its feed, and what comes back.
//!
//! A screen says what it wants as a [`Request`]; each asking gets a [`Ticket`], and an answer
//! counts only where its ticket is still waited for. Nothing here asks anybody: [`super::effects`]
//! does. Next: [`super::model::Asking`], a screen's side of it.

use std::time::Duration;

use crate::ledger::job::Operation;
use crate::ledger::plan::Plan;
use crate::ledger::query::Query;
use crate::ledger::text::SafeText;
use crate::ledger::view::{
    AuditCursor, AuditPage, Count, DeadLetters, JobCursor, JobName, JobOrder, JobPage, JobStory,
    LeasePage,
};
use crate::operate::Preview;
use crate::store::look::Reach;

/// The number of an asking; none is given twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Ticket(pub u64);

/// One question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// Whether an index leads to the first jobs.
    Reach {
        /// Of which.
        query: Query,
        /// In which order.
        order: JobOrder,
    },
    /// A page of jobs.
    Jobs {
        /// Which.
        query: Query,
        /// In which order.
        order: JobOrder,
        /// Where the page begins; `None` for the first.
        after: Option<JobCursor>,
        /// At most this many.
        limit: u32,
    },
    /// How many jobs there are.
    Count {
        /// Which.
        query: Query,
        /// Counting goes no further.
        at_most: u64,
    },
    /// What an act on these jobs would change.
    Preview(Box<Asked>),
    /// One job with its timeline.
    Story(JobName),
    /// Dead letters, grouped.
    DeadLetters(Query),
    /// A page of leases.
    Leases {
        /// Of which jobs.
        query: Query,
        /// Where the page begins; `None` for the first.
        after: Option<JobCursor>,
        /// At most this many.
        limit: u32,
    },
    /// The newest plans.
    Plans {
        /// At most this many.
        limit: u32,
    },
    /// A page of operator acts.
    Audit {
        /// Where the page begins; `None` for the newest.
        before: Option<AuditCursor>,
        /// At most this many.
        limit: u32,
    },
}

/// What an act is asked for on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// What would be done.
    pub operation: Operation,
    /// To which jobs.
    pub query: Query,
    /// How many were named one by one; `None` where a filter names them.
    pub named: Option<u64>,
    /// At most so many are read.
    pub at_most: u64,
}

/// The kinds of questions. Of each kind at most one is open: a newer one takes its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// [`Request::Reach`].
    Reach,
    /// [`Request::Jobs`].
    Jobs,
    /// [`Request::Count`].
    Count,
    /// [`Request::Preview`].
    Preview,
    /// [`Request::Story`].
    Story,
    /// [`Request::DeadLetters`].
    DeadLetters,
    /// [`Request::Leases`].
    Leases,
    /// [`Request::Plans`].
    Plans,
    /// [`Request::Audit`].
    Audit,
}

impl Request {
    /// Its kind.
    pub const fn kind(&self) -> Kind {
        match self {
            Self::Reach { .. } => Kind::Reach,
            Self::Jobs { .. } => Kind::Jobs,
            Self::Count { .. } => Kind::Count,
            Self::Preview(_) => Kind::Preview,
            Self::Story(_) => Kind::Story,
            Self::DeadLetters(_) => Kind::DeadLetters,
            Self::Leases { .. } => Kind::Leases,
            Self::Plans { .. } => Kind::Plans,
            Self::Audit { .. } => Kind::Audit,
        }
    }

    /// What is being done, for an error that says so.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Reach { .. } => "planning the filter",
            Self::Jobs { .. } => "listing jobs",
            Self::Count { .. } => "counting the jobs listed",
            Self::Preview(_) => "reading the jobs of an act",
            Self::Story(_) => "reading the job",
            Self::DeadLetters(_) => "grouping dead letters",
            Self::Leases { .. } => "listing leases",
            Self::Plans { .. } => "listing plans",
            Self::Audit { .. } => "listing operator acts",
        }
    }
}

/// One answer; its kind is the request's.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// To [`Request::Reach`].
    Reach(Reach),
    /// To [`Request::Jobs`].
    Jobs(JobPage),
    /// To [`Request::Count`].
    Count(Count),
    /// To [`Request::Preview`].
    Preview(Box<Preview>),
    /// To [`Request::Story`]; `None` where there is no such job.
    Story(Option<Box<JobStory>>),
    /// To [`Request::DeadLetters`].
    DeadLetters(DeadLetters),
    /// To [`Request::Leases`].
    Leases(LeasePage),
    /// To [`Request::Plans`].
    Plans(Vec<Plan>),
    /// To [`Request::Audit`].
    Audit(AuditPage),
}

/// Why there is no answer, and when the question is asked again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Why.
    pub error: SafeText,
    /// In how long it is asked again without anybody's doing.
    pub retry_in: Duration,
}

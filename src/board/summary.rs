//! What a board says at a moment: the numbers of the overview, ready for a screen, for JSON and for
//! a monitor alike. Nothing on a screen comes from anywhere else.

use std::time::Duration;

use crate::ledger::event::{ActorKind, EventKind, FailureKey};
use crate::ledger::state::State;
use crate::ledger::text::SafeText;
use crate::ledger::time::Timestamp;
use uuid::Uuid;

/// The whole board as of a moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// The moment, by the database's clock.
    pub as_of: Timestamp,
    /// How long the window of rates by reason, flow and times is.
    pub window: Duration,
    /// From when the window's numbers are complete; later than `as_of − window` while it still
    /// fills, and then counts of the window are "at least".
    pub window_since: Timestamp,
    /// At most three sentences, worst first.
    pub headline: Vec<Headline>,
    /// Everything together, as if it were one queue (its name is empty).
    pub total: QueueSummary,
    /// Each queue that has live jobs or events in the window, worst first.
    pub queues: Vec<QueueSummary>,
    /// The latest events, newest first; bounded.
    pub ticker: Vec<Tick>,
}

impl Summary {
    /// Whether every number is exact; depth and ages always are, counts of the window are once it
    /// is full.
    pub fn is_exact(&self) -> bool {
        self.window_since <= self.as_of.minus(self.window)
    }
}

/// One sentence about one queue, computed from its numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Headline {
    /// Which queue; empty for the ledger as a whole.
    pub queue: SafeText,
    /// How bad.
    pub level: Level,
    /// The sentence without the queue's name, e.g.
    /// `oldest ready 14m (limit 2m), growing: 3.1/s in, 0.4/s out; 83 % of retries rate_limited`.
    pub text: String,
}

/// How a queue or a number stands against its limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Level {
    /// Within its limits.
    #[default]
    Fine,
    /// Past a limit that calls for a look.
    Warning,
    /// Past a limit that calls for an act.
    Critical,
}

/// Every number of one queue, or of all together.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct QueueSummary {
    /// The queue's name.
    pub queue: SafeText,
    /// The worst of its limits.
    pub level: Level,
    /// Jobs by state.
    pub depth: Depth,
    /// How long the oldest ready job has been ready.
    pub oldest_ready_age: Option<Duration>,
    /// The age distribution of ready jobs, exact to the second.
    pub ready_age: Option<Percentiles>,
    /// Ready jobs by age; the bounds are [`SPREAD_BOUNDS_S`].
    pub ready_spread: [u64; SPREAD_BUCKETS],
    /// Leases in flight.
    pub leases: LeaseSummary,
    /// Retries in the window by class and reason, most first.
    pub retries: Vec<RetrySummary>,
    /// Jobs that became the queue's work (enqueue, redrive) a second, over the last minute.
    pub in_per_s: f64,
    /// Jobs that stopped being its work (succeeded, dead, quarantined) a second, over the last
    /// minute.
    pub out_per_s: f64,
    /// How long the backlog lasts at these rates.
    pub drain: Drain,
    /// Ready depth over the window, oldest first, [`HISTORY_POINTS`] points; `None` where the
    /// window does not reach back so far.
    pub ready_history: Vec<Option<u64>>,
    /// Dead letters.
    pub dead_letters: DeadLetterSummary,
    /// Counts and times in the window.
    pub flow: FlowSummary,
}

/// How many buckets an age spread has.
pub const SPREAD_BUCKETS: usize = 8;
/// Upper bounds of the age spread's buckets but the last, in seconds:
/// 5 s, 15 s, 1 m, 5 m, 15 m, 1 h, 6 h.
pub const SPREAD_BOUNDS_S: [u64; SPREAD_BUCKETS - 1] = [5, 15, 60, 300, 900, 3_600, 21_600];
/// How many points the history of ready depth has.
pub const HISTORY_POINTS: usize = 30;

/// Jobs by state; `succeeded` and `discarded` only grow and are not counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Depth {
    /// Waiting for their first due time or for children.
    pub pending: u64,
    /// May run now.
    pub ready: u64,
    /// Held by a worker.
    pub running: u64,
    /// Waiting for their next attempt.
    pub retry_wait: u64,
    /// Budget spent.
    pub dead: u64,
    /// Failed permanently or set aside.
    pub quarantined: u64,
}

impl Depth {
    /// Jobs that are work now: ready, running and waiting for a retry.
    pub fn at_work(self) -> u64 {
        self.ready
            .saturating_add(self.running)
            .saturating_add(self.retry_wait)
    }
}

/// Percentiles of a distribution, nearest rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Percentiles {
    /// Half are at most this.
    pub p50: Duration,
    /// 95 in 100 are at most this.
    pub p95: Duration,
    /// 99 in 100 are at most this.
    pub p99: Duration,
}

/// Leases in flight.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LeaseSummary {
    /// All of them.
    pub in_flight: u64,
    /// Those that end within [`NEAR_EXPIRY`] and have not ended yet.
    pub near_expiry: u64,
    /// Those that have ended and were not reclaimed yet.
    pub expired: u64,
    /// How long the longest has been held.
    pub oldest_age: Option<Duration>,
    /// Jobs held by worker, most first.
    pub by_worker: Vec<(SafeText, u64)>,
}

/// A lease that ends within this time is near expiry. Renewed after a third, a lease of 9 s or more
/// only gets there when a renewal is late.
pub const NEAR_EXPIRY: Duration = Duration::from_secs(5);

/// Retries of one class and reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetrySummary {
    /// Which.
    pub failure: FailureKey,
    /// How many in the window.
    pub count: u64,
    /// How many in the window before it; `None` where the feed does not reach back so far.
    pub before: Option<u64>,
    /// Jobs now waiting because of it.
    pub waiting: u64,
    /// When the next of them is due, from now; zero if it is due already.
    pub next_due_in: Option<Duration>,
}

/// How long a backlog lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Drain {
    /// There is no backlog.
    #[default]
    Empty,
    /// It grows, or nothing leaves.
    Never,
    /// At the present rates it is gone after this time.
    In(Duration),
    /// The rates are not known yet.
    Unknown,
}

/// Dead letters: jobs in `dead` or `quarantined`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DeadLetterSummary {
    /// How long the oldest dead job has been dead.
    pub oldest_dead_age: Option<Duration>,
    /// How long the oldest quarantined job has been there.
    pub oldest_quarantined_age: Option<Duration>,
    /// Dead letters by age; the bounds are [`SPREAD_BOUNDS_S`].
    pub spread: [u64; SPREAD_BUCKETS],
    /// Net growth an hour, over the window.
    pub growth_per_h: f64,
    /// How many by class and reason, most first.
    pub by_reason: Vec<(FailureKey, u64)>,
}

impl DeadLetterSummary {
    /// The age of the oldest dead letter of either kind.
    pub fn oldest_age(&self) -> Option<Duration> {
        self.oldest_dead_age.max(self.oldest_quarantined_age)
    }
}

/// Counts and times in the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FlowSummary {
    /// Leases that ran out.
    pub lease_expirations: u64,
    /// Repeated enqueues and deliveries that were suppressed.
    pub duplicates: u64,
    /// Late settles and renewals that were refused.
    pub stale_refused: u64,
    /// Jobs whose budget was spent.
    pub exhausted: u64,
    /// Time from the first attempt to succeeded, dead or quarantined; within 1 %.
    pub time_to_terminal: Option<Percentiles>,
}

/// One line of the ticker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tick {
    /// The job.
    pub job: Uuid,
    /// When.
    pub at: Timestamp,
    /// The queue.
    pub queue: SafeText,
    /// What.
    pub kind: EventKind,
    /// From which state.
    pub from: Option<State>,
    /// To which state.
    pub to: State,
    /// In which role.
    pub actor_kind: ActorKind,
    /// By whom.
    pub actor: SafeText,
    /// Why, where a failure plays a part.
    pub failure: FailureKey,
    /// What the actor said.
    pub note: Option<SafeText>,
}

//! What a feed delivers: once a [`Base`], the counts at one instant, then [`Batch`]es of the events
//! committed since. Together they are all that a board is ever made of.

use super::event::{Event, FailureKey};
use super::state::State;
use super::text::SafeText;
use super::time::Timestamp;

/// A number of jobs alike in everything a board counts by, at the instant of the base.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cell {
    /// The queue.
    pub queue: SafeText,
    /// The state; only the states of [`State::LIVE`] occur.
    pub state: State,
    /// The second in which that state was entered, since 1970-01-01 UTC.
    pub since_s: i64,
    /// `retry_wait`, `dead`, `quarantined`: the last failure; else empty.
    pub failure: FailureKey,
    /// `pending`, `retry_wait`: the second the jobs wait for (rounded down).
    pub available_s: Option<i64>,
    /// `running`: the second in which the lease ends (rounded down).
    pub lease_expires_s: Option<i64>,
    /// `running`: the holder of the lease.
    pub worker: Option<SafeText>,
    /// How many jobs.
    pub count: u64,
}

/// The counts of all live jobs at one instant, and the recent events that windows are filled from.
#[derive(Debug, Clone, Default)]
pub struct Base {
    /// The instant, by the database's clock.
    pub as_of: Timestamp,
    /// Every live job, counted.
    pub cells: Vec<Cell>,
    /// Events before the base, oldest first, for rates and windows only; bounded.
    pub recent: Vec<Event>,
    /// The moment from which `recent` is complete; `as_of` where nothing could be read in time.
    pub recent_since: Timestamp,
}

/// The events committed since the last reading, each exactly once, a job's own in order of version.
#[derive(Debug, Clone, Default)]
pub struct Batch {
    /// When this was read, by the database's clock.
    pub as_of: Timestamp,
    /// The events.
    pub events: Vec<Event>,
    /// Whether more were waiting than one reading takes; read again at once.
    pub more: bool,
}

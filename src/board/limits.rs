//! The limits that a queue's numbers are held against. What the config says about them ends up
//! here, resolved; nothing here reads a file. Next: [`super::headline`], which judges by them.

use std::collections::BTreeMap;
use std::time::Duration;

/// Two marks for one number: above the first it calls for a look, above the second for an act.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bound<T> {
    /// Above this it calls for a look.
    pub warning: T,
    /// Above this it calls for an act. Not below `warning`.
    pub critical: T,
}

/// The limits of one queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueLimits {
    /// How long the oldest ready job has been ready.
    pub oldest_ready: Bound<Duration>,
    /// How long the oldest dead letter has waited for a person.
    pub oldest_dead_letter: Bound<Duration>,
    /// Net growth of dead letters an hour, measured over the window.
    pub dead_letters_per_h: Bound<u64>,
    /// Leases that ended more than [`LEASE_GRACE`] ago and were not reclaimed.
    pub expired_leases: Bound<u64>,
    /// For how long a backlog may fail to shrink before that is a warning.
    pub drain_never: Duration,
}

/// How long after its end a lease may wait to be reclaimed before it counts against a limit:
/// housekeeping sweeps every few seconds.
pub const LEASE_GRACE: Duration = Duration::from_secs(30);

impl Default for QueueLimits {
    fn default() -> Self {
        Self {
            oldest_ready: Bound {
                warning: Duration::from_mins(2),
                critical: Duration::from_mins(10),
            },
            oldest_dead_letter: Bound {
                warning: Duration::from_hours(24),
                critical: Duration::from_hours(7 * 24),
            },
            dead_letters_per_h: Bound {
                warning: 60,
                critical: 600,
            },
            expired_leases: Bound {
                warning: 0,
                critical: 100,
            },
            drain_never: Duration::from_mins(2),
        }
    }
}

/// The limits of every queue.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Limits {
    /// For queues that are not named.
    pub default: QueueLimits,
    /// For queues of exactly these names, in place of `default`.
    pub queues: BTreeMap<String, QueueLimits>,
}

impl Limits {
    /// The limits of the queue of that name.
    pub fn of(&self, queue: &str) -> &QueueLimits {
        self.queues.get(queue).unwrap_or(&self.default)
    }
}

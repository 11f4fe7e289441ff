//! The hint that something may have become ready: at once from calls of this process, within a few
//! tens of milliseconds from others.
//!
//! Owns a count of the changes noticed. SQLite tells a connection cheaply whether another one has
//! committed (`PRAGMA data_version`); asked on the writing connection it leaves out what this
//! process did itself, which is counted where it is done. Next: `super::feed`.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout_at};

use super::access::Access;

/// How often other processes are looked for, in the first moments of a wait and later: an idle
/// worker costs next to nothing, and one between two jobs is woken soon.
const EAGER: Duration = Duration::from_millis(5);
const CALM: Duration = Duration::from_millis(40);
const EAGER_FOR: Duration = Duration::from_millis(200);

/// What the waiting calls of one store share.
pub(crate) struct Hint {
    /// Changes noticed so far.
    changes: watch::Sender<u64>,
    /// How many of them the last look at the lanes has seen.
    seen: AtomicU64,
    /// What `data_version` was when it was last asked for; 0 before that.
    data_version: AtomicI64,
}

impl Default for Hint {
    fn default() -> Self {
        Self {
            changes: watch::Sender::new(0),
            seen: AtomicU64::new(0),
            data_version: AtomicI64::new(0),
        }
    }
}

impl Hint {
    /// Something may have become ready.
    pub(crate) fn changed(&self) {
        self.changes
            .send_modify(|count| *count = count.wrapping_add(1));
    }

    /// The changes noticed so far; taken before a look.
    pub(crate) fn now(&self) -> u64 {
        *self.changes.borrow()
    }

    /// A look has seen everything up to `before`.
    pub(crate) fn looked(&self, before: u64) {
        self.seen.fetch_max(before, Ordering::Relaxed);
    }

    /// Waits for a change that no look has seen yet.
    pub(crate) async fn wait(&self, access: &Access, limit: Duration) {
        let began = Instant::now();
        let end = began + limit;
        let mut changes = self.changes.subscribe();
        while *changes.borrow_and_update() <= self.seen.load(Ordering::Relaxed) {
            let now = Instant::now();
            if now >= end {
                return;
            }
            let pause = if now - began < EAGER_FOR { EAGER } else { CALM };
            let pause_end = end.min(now + pause);
            match timeout_at(pause_end, changes.changed()).await {
                Ok(Ok(())) => return,
                // The sender lives as long as this borrow of it.
                Ok(Err(_closed)) => sleep(pause).await,
                Err(_elapsed) => self.look_for_others(access).await,
            }
        }
    }

    /// Counts a change if another process has committed since the last time this was asked.
    async fn look_for_others(&self, access: &Access) {
        // A busy writing connection means that this process is at work; the next look will do.
        let Some(mut connection) = access.idle_writer() else {
            return;
        };
        let asked = sqlx::query_scalar::<_, i64>("PRAGMA data_version");
        // A ledger that cannot be asked gives no hint; the caller's next call learns why.
        let Ok(version) = asked.fetch_one(&mut *connection).await else {
            return;
        };
        let before = self.data_version.swap(version, Ordering::Relaxed);
        if before != 0 && before != version {
            self.changed();
        }
    }
}

//! A backlog of more events than one reading takes, read page by page inside one snapshot.
//!
//! Owns where the next page begins, and the events that came before their job's turn. Pages follow
//! the index of transactions, so that each costs what it brings; but a transaction that waited for
//! the lock of a later one has a lower number and writes the later event. Such an event, and those
//! of its job after it, are kept until the one before was delivered. Next: `snapshot`.

use std::collections::HashSet;

use uuid::Uuid;

use super::snapshot::Snapshot;
use crate::ledger::event::Event;

/// A place in the order of pages: transaction, job, version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) tx: i64,
    pub(super) job: Uuid,
    pub(super) version: i32,
}

/// An event of a page.
#[derive(Debug, Clone)]
pub(super) struct Turn {
    pub(super) event: Event,
    /// The transaction of the job's event before this one, where it comes later in this order.
    pub(super) after_tx: Option<i64>,
}

/// What is being read in pages.
#[derive(Debug, Clone)]
pub(super) struct Pages {
    pub(super) target: Snapshot,
    /// The last event read.
    pub(super) last: Place,
    /// Read, and not to be delivered yet; few, for each waited for a lock.
    kept: Vec<Turn>,
}

impl Pages {
    /// Before the first page of what `target` sees.
    pub(super) const fn begin(target: Snapshot) -> Self {
        let last = Place {
            tx: 0,
            job: Uuid::nil(),
            version: 0,
        };
        Self {
            target,
            last,
            kept: Vec::new(),
        }
    }

    /// Takes in a page that reached up to `last`, where more are to come, and gives what may be
    /// delivered.
    pub(super) fn turn(&mut self, page: Vec<Turn>, last: Option<Place>) -> Vec<Event> {
        // Everything of the transactions below was read; of this one perhaps not.
        let frontier = last.map_or(i64::MAX, |last| last.tx);
        self.last = last.unwrap_or(self.last);
        let mut waiting = std::mem::take(&mut self.kept);
        waiting.extend(page);
        waiting.sort_unstable_by_key(|turn| (turn.event.job, turn.event.version));
        let mut held_up = HashSet::new();
        let mut ready = Vec::with_capacity(waiting.len());
        for turn in waiting {
            let too_early = turn.after_tx.is_some_and(|before| before >= frontier);
            if too_early || held_up.contains(&turn.event.job) {
                held_up.insert(turn.event.job);
                self.kept.push(turn);
            } else {
                ready.push(turn.event);
            }
        }
        ready
    }
}

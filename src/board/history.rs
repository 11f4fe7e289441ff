//! How deep the ready queue was: net changes by slot of the window, walked backwards from the depth
//! that is counted now. So a board that was just loaded knows the past of its queues from the
//! events alone.

use std::collections::BTreeMap;

use super::summary::HISTORY_POINTS;
use super::window::{Reach, WINDOW, seconds};
use crate::ledger::num;
use crate::ledger::time::Timestamp;

/// Net changes of the ready depth by slot. Slots are aligned to the clock, so that a drawn history
/// moves only when a slot ends.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct ReadyHistory {
    changes: BTreeMap<i64, i64>,
}

/// The length of a slot in seconds.
fn slot_s() -> i64 {
    let points = num::signed(num::count(HISTORY_POINTS));
    seconds(WINDOW) / points.max(1)
}

fn slot(second: i64) -> i64 {
    second.div_euclid(slot_s())
}

impl ReadyHistory {
    /// Notes that the ready depth changed by `change` in second `second`.
    pub(crate) fn note(&mut self, second: i64, change: i64) {
        let net = self.changes.entry(slot(second)).or_default();
        *net = net.saturating_add(change);
    }

    /// Forgets what no window reaches any more.
    pub(crate) fn prune(&mut self, horizon: i64) {
        self.changes = self.changes.split_off(&slot(horizon));
    }

    /// The depth at the end of each slot of the window, oldest first; the last is the depth now.
    /// `None` where events are not complete since that end.
    pub(crate) fn points(&self, ready: u64, reach: Reach) -> Vec<Option<u64>> {
        let now = slot(reach.now_s());
        let mut depth = num::signed(ready);
        let mut points = vec![Some(ready)];
        let mut later = i64::MAX;
        for back in 1..num::signed(num::count(HISTORY_POINTS)) {
            let ended = now.saturating_sub(back);
            let changed: i64 = self
                .changes
                .range(ended.saturating_add(1)..=later)
                .map(|(_, change)| change)
                .sum();
            depth = depth.saturating_sub(changed);
            later = ended;
            let end = Timestamp::from_seconds(ended.saturating_add(1).saturating_mul(slot_s()));
            let known = end >= reach.complete_since;
            points.push(known.then(|| num::unsigned(depth)));
        }
        points.reverse();
        points
    }
}

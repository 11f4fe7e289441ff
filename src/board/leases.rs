//! Leases in flight: who holds how many, since when, and when they end.

use super::ages;
use super::counted::Parted;
use super::seconds::Seconds;
use super::summary::{LeaseSummary, NEAR_EXPIRY};
use super::window::{Reach, seconds};
use crate::ledger::text::SafeText;

/// What running jobs of one worker differ by: the second of the claim, and the second in which the
/// lease ends.
type Lease = (i64, Option<i64>);

/// Every lease of one queue.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Leases {
    by_worker: Parted<Option<SafeText>, Lease>,
    /// The same leases by the second in which they end.
    ends: Seconds,
}

impl Leases {
    pub(crate) fn total(&self) -> u64 {
        self.by_worker.total()
    }

    pub(crate) fn add(&mut self, worker: Option<&SafeText>, lease: Lease, times: u64) {
        self.by_worker.add(&worker.cloned(), lease, times);
        if let (_, Some(end)) = lease {
            self.ends.add(end, times);
        }
    }

    #[must_use = "what is not there cannot be taken away"]
    pub(crate) fn remove(&mut self, worker: Option<&SafeText>, lease: Lease) -> bool {
        self.by_worker.remove(&worker.cloned(), &lease)
            && lease.1.is_none_or(|end| self.ends.remove(end, 1))
    }

    /// Every lease with its holder and how often it occurs.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Option<&SafeText>, Lease, u64)> {
        self.by_worker.iter().flat_map(|(worker, leases)| {
            leases
                .iter()
                .map(move |(lease, count)| (worker.as_ref(), *lease, count))
        })
    }

    /// How many ended at least `grace_s` whole seconds before the second that it is. A lease that
    /// ends in this very second counts as not ended.
    pub(crate) fn ended(&self, now_s: i64, grace_s: i64) -> u64 {
        self.ends.before(now_s.saturating_sub(grace_s))
    }

    /// When the first lease ends, or ended.
    pub(crate) fn first_end(&self) -> Option<i64> {
        self.ends.first()
    }

    pub(crate) fn summary(&self, reach: Reach) -> LeaseSummary {
        let now_s = reach.now_s();
        let expired = self.ended(now_s, 0);
        let near = now_s.saturating_add(seconds(NEAR_EXPIRY));
        let mut by_worker: Vec<(SafeText, u64)> = self
            .by_worker
            .iter()
            .filter_map(|(worker, leases)| Some((worker.clone()?, leases.total())))
            .collect();
        most_first(&mut by_worker);
        LeaseSummary {
            in_flight: self.total(),
            near_expiry: self
                .ends
                .before(near.saturating_add(1))
                .saturating_sub(expired),
            expired,
            oldest_age: self
                .by_worker
                .first()
                .map(|(since, _)| ages::age(now_s, *since)),
            by_worker,
        }
    }
}

/// Sorts counts, most first and then by name, so that the order is stable.
pub(crate) fn most_first<K: Ord>(counts: &mut [(K, u64)]) {
    counts.sort_by(|(a, many), (b, more)| more.cmp(many).then_with(|| a.cmp(b)));
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::ledger::time::Timestamp;

    #[test]
    fn a_lease_is_near_its_end_for_five_seconds_and_then_expired() {
        let mut leases = Leases::default();
        let worker = SafeText::new("w1");
        leases.add(Some(&worker), (40, Some(100)), 1);
        let at = |now_s| {
            let summary = leases.summary(Reach {
                now: Timestamp::from_seconds(now_s),
                complete_since: Timestamp::from_seconds(0),
            });
            (summary.near_expiry, summary.expired, summary.oldest_age)
        };
        let held = |seconds| Some(Duration::from_secs(seconds));
        assert_eq!(at(94), (0, 0, held(54)));
        assert_eq!(at(95), (1, 0, held(55)));
        assert_eq!(at(100), (1, 0, held(60)));
        assert_eq!(at(101), (0, 1, held(61)));
    }
}

//! How long jobs took from their first attempt to their end, over the window, in bounded memory.
//!
//! A log-linear histogram by slices of a minute. Log-linear buckets and their error bound: Gil
//! Tene, HdrHistogram; each power of two is cut into 64 equal buckets, so that a value and the
//! middle of its bucket differ by at most 1 part in 128.

use std::collections::BTreeMap;
use std::time::Duration;

use super::ages::rank;
use super::summary::Percentiles;
use super::window::{Reach, WINDOW};
use crate::ledger::event::Event;
use crate::ledger::state::State;

/// Each power of two has `2^PART_BITS` buckets.
const PART_BITS: u32 = 6;
const PARTS: u64 = 1 << PART_BITS;

/// Longer times count as this long: 2^40 ms, 34 years.
const MAX_MILLIS: u64 = (1 << 40) - 1;

/// How many buckets there are: 64 exact ones and 64 for each further power of two.
const BUCKETS: usize = 64 * (40 - 6 + 1);

/// How long a slice is, in seconds. The window of times is exact to a slice.
const SLICE_S: i64 = 60;

/// Times of one queue: by slice, by bucket, how many.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Times {
    slices: BTreeMap<i64, BTreeMap<u16, u64>>,
}

/// The bucket of a time.
fn bucket(millis: u64) -> u16 {
    let millis = millis.min(MAX_MILLIS);
    // How often the value must be halved until it is below 2 * PARTS; below that, buckets are
    // exact.
    let halvings = (u64::BITS - millis.leading_zeros()).saturating_sub(PART_BITS + 1);
    let bucket = u64::from(halvings) * PARTS + (millis >> halvings);
    u16::try_from(bucket).unwrap_or(u16::MAX)
}

/// The middle of a bucket, in milliseconds.
fn middle(bucket: u64) -> u64 {
    let halvings = (bucket / PARTS).saturating_sub(1);
    let part = bucket - halvings * PARTS;
    (part << halvings) + ((1 << halvings) >> 1)
}

/// The time that an event ends: from the first attempt to the moment in which the job succeeds or
/// becomes a dead letter.
fn ended(event: &Event) -> Option<Duration> {
    let was_work = event
        .from
        .is_some_and(|from| !from.is_terminal() && !from.is_dead_letter());
    let ends = event.to == State::Succeeded || event.to.is_dead_letter();
    let first = event.first_attempt_at.filter(|_| was_work && ends)?;
    Some(event.at.since(first))
}

impl Times {
    /// Notes an event.
    pub(crate) fn note(&mut self, event: &Event) {
        if let Some(time) = ended(event) {
            let millis = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
            let slice = event.at.second().div_euclid(SLICE_S);
            *self
                .slices
                .entry(slice)
                .or_default()
                .entry(bucket(millis))
                .or_default() += 1;
        }
    }

    /// Forgets what no window reaches any more.
    pub(crate) fn prune(&mut self, horizon: i64) {
        self.slices = self.slices.split_off(&horizon.div_euclid(SLICE_S));
    }
}

/// Times of the window, added up: room to add the times of any number of queues.
#[derive(Debug, Clone)]
pub(crate) struct Sum {
    counts: Vec<u64>,
    total: u64,
}

impl Default for Sum {
    fn default() -> Self {
        Self {
            counts: vec![0; BUCKETS],
            total: 0,
        }
    }
}

impl Sum {
    /// Adds the times of the window.
    pub(crate) fn add(&mut self, times: &Times, reach: Reach) {
        let first = reach.first_s(WINDOW).div_euclid(SLICE_S);
        for slice in times.slices.range(first..).map(|(_, slice)| slice) {
            for (bucket, count) in slice {
                if let Some(sum) = self.counts.get_mut(usize::from(*bucket)) {
                    *sum += count;
                    self.total += count;
                }
            }
        }
    }

    /// Adds another sum.
    pub(crate) fn merge(&mut self, other: &Self) {
        for (sum, count) in self.counts.iter_mut().zip(&other.counts) {
            *sum += count;
        }
        self.total += other.total;
    }

    /// Empties the sum.
    pub(crate) fn clear(&mut self) {
        if self.total > 0 {
            self.counts.fill(0);
            self.total = 0;
        }
    }

    /// The percentiles, each within 1 %; `None` if nothing ended.
    pub(crate) fn percentiles(&self) -> Option<Percentiles> {
        if self.total == 0 {
            return None;
        }
        let mut ranks = [50, 95, 99].map(|percent| (rank(self.total, percent), 0));
        let mut seen = 0_u64;
        for (bucket, count) in (0_u64..).zip(&self.counts) {
            let before = seen;
            seen += count;
            for (rank, value) in &mut ranks {
                if (before..seen).contains(&rank.saturating_sub(1)) {
                    *value = middle(bucket);
                }
            }
        }
        let [p50, p95, p99] = ranks.map(|(_, millis)| Duration::from_millis(millis));
        Some(Percentiles { p50, p95, p99 })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_middle_of_a_bucket_is_within_1_percent(
            millis in 0..=MAX_MILLIS, halvings in 0_u32..40,
        ) {
            let millis = millis >> halvings;
            let said = middle(u64::from(bucket(millis)));
            prop_assert!(said.abs_diff(millis) * 100 <= millis, "{said} for {millis}");
        }

        #[test]
        fn buckets_are_in_order(a in 0..=MAX_MILLIS, b in 0..=MAX_MILLIS, halvings in 0_u32..40) {
            let (a, b) = (a >> halvings, b >> halvings);
            prop_assert!((a <= b) == (bucket(a) <= bucket(b)) || bucket(a) == bucket(b));
            prop_assert!(usize::from(bucket(a)) < BUCKETS);
        }
    }

    #[test]
    fn the_longest_time_has_a_bucket() {
        assert_eq!(usize::from(bucket(u64::MAX)), BUCKETS - 1);
        assert_eq!(bucket(0), 0);
    }
}

//! Ages, asked of a multiset of the seconds in which jobs entered a state. An age is a number of
//! whole seconds and never negative: a second that lies ahead of `now` counts as just now.

use std::time::Duration;

use super::seconds::Seconds;
use super::summary::{Percentiles, SPREAD_BOUNDS_S, SPREAD_BUCKETS};
use crate::ledger::num;

/// The age of something that began in second `since`.
pub(crate) fn age(now_s: i64, since: i64) -> Duration {
    Duration::from_secs(num::unsigned(now_s.saturating_sub(since)))
}

/// The age of the oldest.
pub(crate) fn oldest(since: &Seconds, now_s: i64) -> Option<Duration> {
    since.first().map(|first| age(now_s, first))
}

/// The nearest-rank position, from 1, of a percentile among `total`: ⌈total · percent ⁄ 100⌉.
pub(crate) fn rank(total: u64, percent: u64) -> u64 {
    total.saturating_mul(percent).div_ceil(100).max(1)
}

/// The percentiles of the ages; `None` if there are none.
pub(crate) fn percentiles(since: &Seconds, now_s: i64) -> Option<Percentiles> {
    // The youngest come last, so a rank among ages counts from the end.
    let at = |percent| {
        let index = since.total().checked_sub(rank(since.total(), percent))?;
        since.nth(index).map(|second| age(now_s, second))
    };
    Some(Percentiles {
        p50: at(50)?,
        p95: at(95)?,
        p99: at(99)?,
    })
}

/// How many are of which age; an age at a bound falls into the bucket above it.
pub(crate) fn spread(since: &Seconds, now_s: i64) -> [u64; SPREAD_BUCKETS] {
    let mut spread = [0; SPREAD_BUCKETS];
    if since.is_empty() {
        return spread;
    }
    let mut younger = 0;
    for (bucket, bound) in spread.iter_mut().zip(SPREAD_BOUNDS_S) {
        // age < bound  <=>  since > now - bound
        let first = now_s.saturating_sub(num::signed(bound)).saturating_add(1);
        let up_to = since.since(first);
        *bucket = up_to.saturating_sub(younger);
        younger = up_to;
    }
    let [.., last] = &mut spread;
    *last = since.total().saturating_sub(younger);
    spread
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(ages: &[i64]) -> Seconds {
        let mut seconds = Seconds::default();
        for age in ages {
            seconds.add(1_000_000 - age, 1);
        }
        seconds
    }

    #[test]
    fn percentiles_are_ages_that_occur() {
        let hundred: Vec<i64> = (1..=100).collect();
        let percentiles = percentiles(&of(&hundred), 1_000_000).unwrap();
        let in_s = [percentiles.p50, percentiles.p95, percentiles.p99].map(|age| age.as_secs());
        assert_eq!(in_s, [50, 95, 99]);
    }

    #[test]
    fn one_job_is_every_percentile() {
        let percentiles = percentiles(&of(&[7]), 1_000_000).unwrap();
        assert_eq!(percentiles.p50, Duration::from_secs(7));
        assert_eq!(percentiles.p99, Duration::from_secs(7));
        assert_eq!(super::percentiles(&Seconds::default(), 1_000_000), None);
    }

    #[test]
    fn an_age_at_a_bound_falls_into_the_bucket_above() {
        let ages = of(&[
            0, 4, 5, 14, 15, 59, 60, 300, 900, 3_600, 21_599, 21_600, 900_000,
        ]);
        assert_eq!(spread(&ages, 1_000_000), [2, 2, 2, 1, 1, 1, 2, 2]);
    }

    #[test]
    fn what_lies_ahead_is_just_now() {
        let ahead = of(&[-30]);
        assert_eq!(oldest(&ahead, 1_000_000), Some(Duration::ZERO));
        assert_eq!(spread(&ahead, 1_000_000), [1, 0, 0, 0, 0, 0, 0, 0]);
    }
}

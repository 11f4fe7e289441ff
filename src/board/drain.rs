//! How long a backlog lasts, and when there is one at all.

use std::time::Duration;

use super::summary::{Depth, Drain};
use crate::ledger::num;

/// A ready job that waits longer than this is backlog, however few there are.
const PATIENCE: Duration = Duration::from_mins(1);

/// A queue that keeps up takes its oldest ready job sooner than this.
const LAGS_BEHIND: Duration = Duration::from_secs(10);

/// Fewer jobs than this are work in flight rather than a backlog that grows.
const TRIVIAL: u64 = 10;

/// The longest drain time that is said; whatever lasts longer is as good as this.
const LONGEST_S: f64 = 3.2e9;

/// What drain time follows from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Backlog {
    pub(crate) depth: Depth,
    pub(crate) oldest_ready_age: Option<Duration>,
    pub(crate) in_per_s: f64,
    pub(crate) out_per_s: f64,
    /// Whether the rates are those of a whole minute.
    pub(crate) rates_known: bool,
}

impl Backlog {
    /// How long the backlog lasts.
    ///
    /// A queue that keeps up always has a few jobs in flight, and then arrivals and departures are
    /// equal: that is no backlog. There is one that does not shrink if a job has been ready for
    /// more than a minute, or if more arrives than departs and either the oldest ready job lags
    /// behind or what is there exceeds a minute's departures.
    pub(crate) fn drain(&self) -> Drain {
        let jobs = self.depth.at_work();
        if jobs == 0 {
            return Drain::Empty;
        }
        if !self.rates_known {
            return Drain::Unknown;
        }
        let waits = |long: Duration| self.oldest_ready_age.is_some_and(|age| age >= long);
        let net = self.out_per_s - self.in_per_s;
        if net > 0.0 {
            if jobs < TRIVIAL && !waits(LAGS_BEHIND) {
                // The difference of two equal rates is noise, and a size over noise says nothing.
                return Drain::Empty;
            }
            let seconds = (num::ratio(jobs) / net).min(LONGEST_S);
            return Drain::In(Duration::from_secs(num::floor(seconds)));
        }
        if waits(PATIENCE) {
            return Drain::Never;
        }
        let exceeds_a_minute = num::ratio(jobs) > self.out_per_s * 60.0;
        if net < 0.0 && jobs >= TRIVIAL && (waits(LAGS_BEHIND) || exceeds_a_minute) {
            return Drain::Never;
        }
        let nothing_happens = self.in_per_s <= 0.0 && self.out_per_s <= 0.0;
        if nothing_happens {
            // Long attempts, or retries not yet due: the rates say nothing about when they end.
            return Drain::Unknown;
        }
        Drain::Empty
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn backlog(ready: u64, oldest_s: u64, in_per_s: f64, out_per_s: f64) -> Backlog {
        Backlog {
            depth: Depth {
                ready,
                ..Depth::default()
            },
            oldest_ready_age: (ready > 0).then(|| Duration::from_secs(oldest_s)),
            in_per_s,
            out_per_s,
            rates_known: true,
        }
    }

    #[test]
    fn a_backlog_that_shrinks_is_gone_after_its_size_over_the_net_rate() {
        let drain = backlog(212, 38, 12.0, 12.4).drain();
        let Drain::In(time) = drain else {
            panic!("{drain:?}");
        };
        assert_eq!(time.as_secs(), 529);
    }

    #[test]
    fn a_backlog_that_grows_or_stands_is_never_gone() {
        assert_eq!(backlog(12_480, 840, 3.1, 0.4).drain(), Drain::Never);
        assert_eq!(backlog(1, 61, 0.0, 0.0).drain(), Drain::Never);
        assert_eq!(backlog(500, 20, 25.0, 0.0).drain(), Drain::Never);
        assert_eq!(backlog(587, 20, 29.3, 17.2).drain(), Drain::Never);
    }

    #[test]
    fn retries_that_pile_up_are_a_backlog_too() {
        let mut broken = backlog(0, 0, 3.1, 0.4);
        broken.depth.retry_wait = 311;
        assert_eq!(broken.drain(), Drain::Never);
    }

    #[test]
    fn a_queue_that_keeps_up_has_no_backlog() {
        assert_eq!(backlog(0, 0, 5.0, 5.0).drain(), Drain::Empty);
        assert_eq!(backlog(5, 2, 12.0, 12.0).drain(), Drain::Empty);
        assert_eq!(backlog(9, 2, 12.0, 11.9).drain(), Drain::Empty);
        assert_eq!(backlog(1, 0, 3.4, 3.41).drain(), Drain::Empty);
        let lags = backlog(1, 11, 3.0, 4.0).drain();
        assert_eq!(lags, Drain::In(Duration::from_secs(1)));
        assert_eq!(backlog(9, 2, 0.2, 0.0).drain(), Drain::Empty);
        assert_eq!(backlog(10, 2, 0.2, 0.0).drain(), Drain::Never);
    }

    #[test]
    fn nothing_is_said_while_nothing_is_known() {
        let mut fresh = backlog(5, 90, 0.0, 0.0);
        fresh.rates_known = false;
        assert_eq!(fresh.drain(), Drain::Unknown);
        let mut waiting = backlog(0, 0, 0.0, 0.0);
        waiting.depth.retry_wait = 1;
        assert_eq!(waiting.drain(), Drain::Unknown);
    }
}

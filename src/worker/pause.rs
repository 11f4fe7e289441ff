//! Waits between tries at a ledger that does not answer: growing, capped, and partly by chance, so
//! that many workers do not come back at the same moment.

use std::time::Duration;

use rand::Rng;
use tokio::time::Instant;

use crate::ledger::backoff;

/// The first wait is about this long.
const FIRST: Duration = Duration::from_millis(50);
/// No wait is longer: a ledger that is back is found within this time.
const LONGEST: Duration = Duration::from_secs(2);

/// The tries so far, and when the next may begin.
#[derive(Debug, Default)]
pub(super) struct Pause {
    tries: u32,
    until: Option<Instant>,
}

impl Pause {
    /// A try failed at `now`; returns the moment of the next.
    pub(super) fn lengthen(&mut self, now: Instant, random: &mut impl Rng) -> Instant {
        self.tries = self.tries.saturating_add(1);
        let half = backoff::ceiling(FIRST, LONGEST, self.tries) / 2;
        let until = now + half + backoff::full_jitter(half, half, 1, random);
        self.until = Some(until);
        until
    }

    /// A try was answered.
    pub(super) fn end(&mut self) {
        *self = Self::default();
    }

    /// The moment before which nothing is tried, if it lies after `now`.
    pub(super) fn after(&self, now: Instant) -> Option<Instant> {
        self.until.filter(|until| *until > now)
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng as _;
    use rand_chacha::ChaCha8Rng;

    use super::*;

    #[test]
    fn waits_grow_to_their_cap_and_end_with_an_answer() {
        let now = Instant::now();
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let mut pause = Pause::default();
        for _ in 0..40 {
            let until = pause.lengthen(now, &mut random);
            assert!(until > now && until <= now + LONGEST);
        }
        assert!(pause.after(now).unwrap() >= now + LONGEST / 2);
        pause.end();
        assert_eq!(pause.after(now), None);
    }
}

//! How long a failed job waits: capped exponential backoff with full jitter.
//!
//! Source: Marc Brooker, "Exponential Backoff and Jitter" (AWS Architecture Blog, 2015), "Full
//! Jitter":
//! `sleep = random_between(0, min(cap, base * 2 ** attempt))`; attempts count from 1 here, so the
//! exponent is n − 1.

use std::time::Duration;

use rand::{Rng, RngExt as _};

/// The longest wait before attempt `n + 1`: `min(cap, base · 2^(n−1))`, saturating for every `n`.
/// `n = 0` counts as the first attempt.
pub fn ceiling(base: Duration, cap: Duration, n: u32) -> Duration {
    let exponent = n.saturating_sub(1);
    let factor = if exponent < 32 {
        1_u32.checked_shl(exponent)
    } else {
        None
    };
    factor
        .and_then(|factor| base.checked_mul(factor))
        .map_or_else(
            // 2^32 or more of anything but nothing is past every cap in use.
            || if base.is_zero() { Duration::ZERO } else { cap },
            |wait| wait.min(cap),
        )
}

/// A wait drawn evenly from `[0, ceiling(base, cap, n)]`, in whole milliseconds.
pub fn full_jitter(base: Duration, cap: Duration, n: u32, random: &mut impl Rng) -> Duration {
    let most = u64::try_from(ceiling(base, cap, n).as_millis()).unwrap_or(u64::MAX);
    Duration::from_millis(random.random_range(0..=most))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand::SeedableRng as _;
    use rand_chacha::ChaCha8Rng;

    use super::*;

    #[test]
    fn the_ceiling_doubles_until_the_cap() {
        let base = Duration::from_secs(5);
        let cap = Duration::from_secs(60);
        let waits: Vec<u64> = (1..=6).map(|n| ceiling(base, cap, n).as_secs()).collect();
        assert_eq!(waits, [5, 10, 20, 40, 60, 60]);
    }

    proptest! {
        #[test]
        fn every_attempt_number_waits_within_the_cap(
            base in 0_u64..=u64::MAX / 2, cap in 0_u64..=u64::MAX / 2, n: u32, seed: u64,
        ) {
            let (base, cap) = (Duration::from_millis(base), Duration::from_millis(cap));
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            prop_assert!(full_jitter(base, cap, n, &mut random) <= cap);
            prop_assert!(ceiling(base, cap, n) <= ceiling(base, cap, n.saturating_add(1)));
        }
    }

    #[test]
    fn waits_are_spread_evenly_over_the_whole_range() {
        // χ² over 16 bins of 16,000 draws; 39.25 is the 0.999 quantile for 15 degrees of freedom.
        let mut random = ChaCha8Rng::seed_from_u64(7);
        let (base, cap) = (Duration::from_millis(16_000), Duration::from_hours(1));
        let mut bins = [0_u32; 16];
        for _ in 0..16_000 {
            let wait = full_jitter(base, cap, 1, &mut random).as_millis();
            let bin = usize::try_from(wait * 16 / 16_001).unwrap();
            *bins.get_mut(bin).unwrap() += 1;
        }
        let chi: f64 = bins
            .iter()
            .map(|n| (f64::from(*n) - 1000.0).powi(2) / 1000.0)
            .sum();
        assert!(chi < 39.25, "χ² = {chi}, bins {bins:?}");
    }
}

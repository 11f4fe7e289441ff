//! Times as they are gathered, and what a process holds in memory. Next: [`crate::place`], where
//! the measured ledgers are.

use std::time::{Duration, Instant};

use ledgertop::ledger::num;

/// Times of the same thing done again and again.
#[derive(Debug, Default)]
pub(crate) struct Sample(Vec<Duration>);

impl Sample {
    /// Times `work`, and keeps the time.
    pub(crate) fn time<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let started = Instant::now();
        let done = work();
        self.push(started.elapsed());
        done
    }

    pub(crate) fn push(&mut self, time: Duration) {
        self.0.push(time);
    }

    /// The time that `percent` of a hundred stay within, nearest rank, in milliseconds.
    pub(crate) fn ms(&self, percent: usize) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let rank = (sorted.len() * percent).div_ceil(100).max(1);
        sorted.get(rank - 1).copied().map_or(f64::NAN, ms)
    }
}

/// A time in milliseconds.
pub(crate) fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// The middle one of some figures.
pub(crate) fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_unstable_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(f64::NAN)
}

/// So many things in that time, a second.
pub(crate) fn per_second(things: u64, time: Duration) -> f64 {
    num::ratio(things) / time.as_secs_f64()
}

/// What this process holds in memory, and the most it ever held, in MiB; Linux only.
pub(crate) fn resident_mib() -> Option<(f64, f64)> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let field = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name))?;
        let kib = line.split_whitespace().nth(1)?.parse::<f64>().ok()?;
        Some(kib / 1024.0)
    };
    Some((field("VmRSS:")?, field("VmHWM:")?))
}

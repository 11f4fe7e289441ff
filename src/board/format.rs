//! How numbers are said, once for the console, the command line and the headline: ages coarse, so
//! that a screen is still while nothing happens, limits exactly, latencies to what matters, counts
//! with separators, rates with one decimal.

use std::time::Duration;

use crate::ledger::num;
use crate::ledger::time::Timestamp;

const MINUTE_S: u64 = 60;
const HOUR_S: u64 = 3_600;
const DAY_S: u64 = 86_400;

/// An age or a wait, rounded down to a coarse unit: `12s`, `4m`, `3h`, `3d 4h`, `412d`.
pub fn coarse(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0..MINUTE_S => format!("{seconds}s"),
        MINUTE_S..HOUR_S => format!("{}m", seconds / MINUTE_S),
        HOUR_S..DAY_S => format!("{}h", seconds / HOUR_S),
        _ => {
            let (days, hours) = (seconds / DAY_S, seconds % DAY_S / HOUR_S);
            if hours == 0 || days >= 100 {
                format!("{days}d")
            } else {
                format!("{days}d {hours}h")
            }
        }
    }
}

/// A limit, in full: `2m`, `1h 30m`, `1d`, `90s` is `1m 30s`. Parts below a second are left out.
pub fn exact(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let parts = [
        (seconds / DAY_S, "d"),
        (seconds % DAY_S / HOUR_S, "h"),
        (seconds % HOUR_S / MINUTE_S, "m"),
        (seconds % MINUTE_S, "s"),
    ];
    let said: Vec<String> = parts
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, unit)| format!("{count}{unit}"))
        .collect();
    if said.is_empty() {
        "0s".to_owned()
    } else {
        said.join(" ")
    }
}

/// A latency, to two or three digits: `240ms`, `1.2s`, then as [`coarse`].
pub fn latency(duration: Duration) -> String {
    let millis = duration.as_millis();
    match millis {
        0..1_000 => format!("{millis}ms"),
        1_000..10_000 => format!("{}.{}s", millis / 1_000, millis % 1_000 / 100),
        _ => coarse(duration),
    }
}

/// A count with a comma before each group of three digits: `12,480`.
pub fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut said = String::with_capacity(digits.len() + digits.len() / 3);
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            said.push(',');
        }
        said.push(digit);
    }
    said
}

/// A rate a second: `0.4`, `12.0`, `480`, `1,234`. What is above zero is never said to be zero.
pub fn rate(per_s: f64) -> String {
    if per_s >= 99.95 {
        count(num::floor(per_s.round()))
    } else if per_s > 0.0 && per_s < 0.05 {
        "<0.1".to_owned()
    } else {
        format!("{:.1}", per_s.max(0.0))
    }
}

/// A share of a whole in whole percent, rounded down so that 100 means all: `83`.
pub fn percent(part: u64, whole: u64) -> u64 {
    if whole == 0 {
        return 0;
    }
    let percent = u128::from(part) * 100 / u128::from(whole);
    u64::try_from(percent).unwrap_or(u64::MAX)
}

/// The time of day of a moment in UTC: `02:58`.
pub fn time_of_day(at: Timestamp) -> String {
    at.datetime().format("%H:%M").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_coarse() {
        let said = [
            0, 12, 59, 60, 299, 3_599, 3_600, 86_399, 86_400, 273_600, 35_600_000,
        ]
        .map(|seconds| coarse(Duration::from_secs(seconds)));
        let expected = [
            "0s", "12s", "59s", "1m", "4m", "59m", "1h", "23h", "1d", "3d 4h", "412d",
        ];
        assert_eq!(said, expected);
    }

    #[test]
    fn limits_are_said_in_full() {
        let said =
            [0, 90, 120, 5_400, 86_400, 604_800].map(|seconds| exact(Duration::from_secs(seconds)));
        assert_eq!(said, ["0s", "1m 30s", "2m", "1h 30m", "1d", "7d"]);
    }

    #[test]
    fn latencies_keep_what_matters() {
        let said = [0, 7, 240, 1_000, 1_250, 9_999, 12_345, 260_000]
            .map(|millis| latency(Duration::from_millis(millis)));
        let expected = ["0ms", "7ms", "240ms", "1.0s", "1.2s", "9.9s", "12s", "4m"];
        assert_eq!(said, expected);
    }

    #[test]
    fn counts_have_separators() {
        let said = [0, 999, 1_000, 12_480, 1_234_567].map(count);
        assert_eq!(said, ["0", "999", "1,000", "12,480", "1,234,567"]);
    }

    #[test]
    fn rates_say_zero_only_for_nothing() {
        let said = [0.0, 0.016, 0.4, 12.0, 99.94, 99.96, 1_234.4].map(rate);
        assert_eq!(said, ["0.0", "<0.1", "0.4", "12.0", "99.9", "100", "1,234"]);
    }

    #[test]
    fn a_hundred_percent_means_all() {
        assert_eq!(percent(999, 1_000), 99);
        assert_eq!(percent(7, 7), 100);
        assert_eq!(percent(0, 0), 0);
        assert_eq!(percent(u64::MAX, u64::MAX), 100);
    }
}

//! What the console says about numbers beyond [`crate::board::format`]: numbers that have to fit a
//! column, growth, changes, the drain of a backlog. It knows nothing of a screen.

use std::time::Duration;

use crate::board::format::{coarse, count};
use crate::board::summary::Drain;
use crate::ledger::num;

use super::text;

/// An age where there is one, else `–`.
pub fn maybe_age(value: Option<Duration>) -> String {
    value.map_or_else(|| NOTHING.to_owned(), coarse)
}

/// Stands where there is no value.
pub const NOTHING: &str = "–";

/// A counter in at most `most` columns: grouped where it fits, else shortened (`12.4k`, `3.1M`),
/// cut down so that it never says more than there is.
pub fn count_within(value: u64, most: u16) -> String {
    let full = count(value);
    if text::columns(&full) <= most {
        return full;
    }
    for (unit, size) in [
        ("k", 1_000_u64),
        ("M", 1_000_000),
        ("G", 1_000_000_000),
        ("T", 1_000_000_000_000),
    ] {
        let whole = value / size;
        let tenth = value % size / (size / 10);
        for short in [format!("{whole}.{tenth}{unit}"), format!("{whole}{unit}")] {
            if whole < 1_000 && text::columns(&short) <= most {
                return short;
            }
        }
    }
    text::cut(&full, most)
}

/// A net growth an hour: `+52/h`, `−3/h`, `steady`.
pub fn growth(per_h: f64) -> String {
    if per_h.abs() < 0.5 || per_h.is_nan() {
        return "steady".to_owned();
    }
    let sign = if per_h > 0.0 { '+' } else { '−' };
    format!("{sign}{}/h", count(num::floor(per_h.abs() + 0.5)))
}

/// How long a backlog lasts.
pub fn drain(drain: Drain) -> String {
    match drain {
        Drain::Empty => NOTHING.to_owned(),
        Drain::Never => "never".to_owned(),
        Drain::In(time) => coarse(time),
        Drain::Unknown => "…".to_owned(),
    }
}

/// How a count stands against the one before: `+31%`, `−4%`, `new`, `same`; nothing where there is
/// no count before.
pub fn change(count: u64, before: Option<u64>) -> String {
    let Some(before) = before else {
        return String::new();
    };
    if before == 0 {
        return if count == 0 { "same" } else { "new" }.to_owned();
    }
    if count == before {
        return "same".to_owned();
    }
    let share = num::ratio(count.abs_diff(before)) / num::ratio(before);
    let sign = if count > before { '+' } else { '−' };
    let percent = num::floor(share * 100.0 + 0.5);
    if percent >= 1_000 {
        let factor = num::floor(num::ratio(count) / num::ratio(before));
        return format!("×{factor}");
    }
    format!("{sign}{percent}%")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_shortened_to_fit() {
        assert_eq!(count_within(12_480, 6), "12,480");
        assert_eq!(count_within(12_480, 5), "12.4k");
        assert_eq!(count_within(12_480, 4), "12k");
        assert_eq!(count_within(5_120_000, 6), "5.1M");
        assert_eq!(count_within(u64::MAX, 3), "18…");
        for columns in 0..30 {
            for value in [0, 9, 1_234, 999_999, 123_456_789, u64::MAX] {
                assert!(text::columns(&count_within(value, columns)) <= columns);
            }
        }
    }

    #[test]
    fn growth_has_a_direction() {
        assert_eq!(growth(51.6), "+52/h");
        assert_eq!(growth(-3.0), "−3/h");
        assert_eq!(growth(0.2), "steady");
    }

    #[test]
    fn a_change_says_from_what() {
        assert_eq!(change(131, Some(100)), "+31%");
        assert_eq!(change(96, Some(100)), "−4%");
        assert_eq!(change(3, Some(0)), "new");
        assert_eq!(change(3, Some(3)), "same");
        assert_eq!(change(3, None), "");
        assert_eq!(change(5_000, Some(100)), "×50");
    }
}

//! Conversions between number types that never wrap: a value that does not fit becomes the nearest
//! one that does. Everything that counts, measures or draws uses these instead of `as`.

/// `u64` to `f64` for ratios and rates. Exact below 2^53, which no counter of a ledger reaches.
#[expect(clippy::cast_precision_loss, reason = "counters stay below 2^53")]
pub const fn ratio(value: u64) -> f64 {
    value as f64
}

/// A length or index as a counter.
pub fn count(value: usize) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}

/// A counter as a length or index; saturates at `usize::MAX`.
pub fn index(value: u64) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}

/// A signed number from a database as a counter; negative becomes 0.
pub fn unsigned(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(0)
}

/// A counter as the signed number that databases store; saturates at `i64::MAX`.
pub fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// A length as terminal columns or rows; saturates at `u16::MAX`.
pub fn columns(value: usize) -> u16 {
    u16::try_from(value).unwrap_or(u16::MAX)
}

/// A non-negative `f64` rounded down to a counter; NaN and negatives become 0, large values
/// saturate.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a float-to-int cast saturates and maps NaN to 0, which is what is wanted here"
)]
pub const fn floor(value: f64) -> u64 {
    value as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_do_not_fit_become_the_nearest_that_do() {
        assert_eq!(unsigned(-1), 0);
        assert_eq!(signed(u64::MAX), i64::MAX);
        assert_eq!(columns(70_000), u16::MAX);
        assert_eq!(floor(-1.0), 0);
        assert_eq!(floor(f64::NAN), 0);
        assert_eq!(floor(1e300), u64::MAX);
        assert_eq!(floor(2.9), 2);
    }
}

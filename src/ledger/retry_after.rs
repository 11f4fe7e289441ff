//! The `Retry-After` header (RFC 9110, section 10.2.3): whole seconds, or an HTTP date.

use std::time::{Duration, SystemTime};

use super::time::Timestamp;

/// The wait that a `Retry-After` value asks for, seen from `now`; `None` where it is neither a
/// number of seconds nor a date. A date in the past asks for no wait; a number too large to hold
/// asks for the longest, which the policy clips.
pub fn parse(value: &str, now: Timestamp) -> Option<Duration> {
    let value = value.trim_matches([' ', '\t']);
    if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(Duration::from_secs(value.parse().unwrap_or(u64::MAX)));
    }
    let date = httpdate::parse_http_date(value).ok()?;
    let seconds = date.duration_since(SystemTime::UNIX_EPOCH).ok()?.as_secs();
    Some(Timestamp::from_seconds(super::num::signed(seconds)).since(now))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn seconds_and_dates_are_understood() {
        let now = Timestamp::from_seconds(784_111_777); // Sun, 06 Nov 1994 08:49:37 GMT
        assert_eq!(parse("120", now), Some(Duration::from_secs(120)));
        assert_eq!(parse(" 0 ", now), Some(Duration::ZERO));
        let late = "Sun, 06 Nov 1994 08:50:07 GMT";
        assert_eq!(parse(late, now), Some(Duration::from_secs(30)));
        assert_eq!(
            parse("Sun, 06 Nov 1994 08:49:07 GMT", now),
            Some(Duration::ZERO)
        );
    }

    #[test]
    fn hostile_values_are_no_wait_or_the_longest() {
        let now = Timestamp::from_seconds(0);
        for value in ["", "-1", "+5", "1e9", "1.5", "soon", "١٢", "\u{0}5"] {
            assert_eq!(parse(value, now), None, "{value:?}");
        }
        let huge = "9".repeat(400);
        assert_eq!(parse(&huge, now), Some(Duration::from_secs(u64::MAX)));
    }

    proptest! {
        #[test]
        fn any_value_at_any_time_is_survived(value in any::<String>(), now: i64) {
            let _wait = parse(&value, Timestamp::from_millis(now));
        }
    }
}

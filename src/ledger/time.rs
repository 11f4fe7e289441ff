//! A moment by the database's clock, in whole milliseconds since 1970-01-01 UTC.
//!
//! Both databases are read into this one type: PostgreSQL's microseconds are cut to milliseconds,
//! SQLite stores milliseconds. A moment never comes from the local clock; see [`Timestamp::plus`]
//! for how a console lets a database's clock run on between two readings.

use std::fmt;
use std::time::Duration;

use chrono::{DateTime, SecondsFormat, Utc};

/// A moment by the database's clock: milliseconds since 1970-01-01 UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(i64);

impl Timestamp {
    /// From milliseconds since 1970-01-01 UTC.
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// From whole seconds since 1970-01-01 UTC; saturates.
    pub const fn from_seconds(seconds: i64) -> Self {
        Self(seconds.saturating_mul(1_000))
    }

    /// From a calendar date and time.
    pub const fn from_datetime(datetime: DateTime<Utc>) -> Self {
        Self(datetime.timestamp_millis())
    }

    /// Milliseconds since 1970-01-01 UTC.
    pub const fn millis(self) -> i64 {
        self.0
    }

    /// The whole second this moment falls in, since 1970-01-01 UTC; earlier moments are negative.
    pub const fn second(self) -> i64 {
        self.0.div_euclid(1_000)
    }

    /// As a calendar date and time; the extremes of `chrono` where it does not reach.
    pub fn datetime(self) -> DateTime<Utc> {
        DateTime::from_timestamp_millis(self.0).unwrap_or(if self.0 < 0 {
            DateTime::<Utc>::MIN_UTC
        } else {
            DateTime::<Utc>::MAX_UTC
        })
    }

    /// This moment moved forward; saturates.
    #[must_use]
    pub fn plus(self, by: Duration) -> Self {
        Self(
            self.0
                .saturating_add(i64::try_from(by.as_millis()).unwrap_or(i64::MAX)),
        )
    }

    /// This moment moved back; saturates.
    #[must_use]
    pub fn minus(self, by: Duration) -> Self {
        Self(
            self.0
                .saturating_sub(i64::try_from(by.as_millis()).unwrap_or(i64::MAX)),
        )
    }

    /// How long ago `earlier` was; zero if it lies ahead, so that an age is never negative.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// RFC 3339 in UTC with milliseconds, e.g. `2026-11-30T03:07:42.120Z`: the form of every text
    /// twin.
    pub fn rfc3339(self) -> String {
        self.datetime().to_rfc3339_opts(SecondsFormat::Millis, true)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.rfc3339())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_is_never_negative() {
        let early = Timestamp::from_seconds(10);
        let late = Timestamp::from_seconds(70);
        assert_eq!(late.since(early), Duration::from_secs(60));
        assert_eq!(early.since(late), Duration::ZERO);
    }

    #[test]
    fn extremes_do_not_panic() {
        for millis in [i64::MIN, i64::MAX, -1, 0, 2_147_483_648_000] {
            let moment = Timestamp::from_millis(millis);
            assert!(!moment.rfc3339().is_empty());
            assert!(moment.plus(Duration::MAX) >= moment);
            assert!(moment.minus(Duration::MAX) <= moment);
        }
        assert_eq!(Timestamp::from_millis(-1).second(), -1);
    }

    #[test]
    fn the_year_2038_is_an_ordinary_year() {
        assert_eq!(
            Timestamp::from_seconds(2_147_483_648).rfc3339(),
            "2038-01-19T03:14:08.000Z"
        );
    }
}

//! How moments are shown: in UTC, in local time, or as ages. Moments are the database's; the
//! process's own clock only says how long ago one was read. Next: [`super::screen`].

use std::time::Duration;

use chrono::{DateTime, Local, TimeZone, Utc};

use crate::board::format::coarse;
use crate::ledger::time::Timestamp;

/// How moments are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TimeStyle {
    /// Coordinated universal time.
    #[default]
    Utc,
    /// The time of a place.
    Local,
    /// How long ago.
    Relative,
}

impl TimeStyle {
    /// The next of the cycle.
    #[must_use]
    pub const fn next(self) -> Self {
        match self {
            Self::Utc => Self::Local,
            Self::Local => Self::Relative,
            Self::Relative => Self::Utc,
        }
    }

    /// Its name in the config and in the footer.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Utc => "utc",
            Self::Local => "local",
            Self::Relative => "relative",
        }
    }

    /// The style of that name, if there is one.
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Utc, Self::Local, Self::Relative]
            .into_iter()
            .find(|style| style.name() == name)
    }
}

/// Which place local time is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LocalZone {
    /// Where this machine is, as it was set up.
    #[default]
    Machine,
    /// A named place, e.g. `Europe/Berlin`.
    Named(chrono_tz::Tz),
}

/// How precisely a moment is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precision {
    /// To the minute.
    Minute,
    /// To the second.
    Second,
}

/// How moments are shown, and of which place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Clock {
    /// In which style.
    pub style: TimeStyle,
    /// Where local time is asked for.
    pub zone: LocalZone,
}

impl Clock {
    /// The time of day with its zone: `03:07Z`, `04:07:42 +01:00`, `04:07 CET`. In relative style
    /// UTC: a header needs a moment to refer to.
    pub fn time_of_day(self, at: Timestamp, precision: Precision) -> String {
        let utc = calendar(at);
        match (self.style, self.zone) {
            (TimeStyle::Utc | TimeStyle::Relative, _) => utc
                .format(pattern(precision, "%H:%MZ", "%H:%M:%SZ"))
                .to_string(),
            (TimeStyle::Local, LocalZone::Machine) => with_zone(utc, &Local, precision, "%:z"),
            (TimeStyle::Local, LocalZone::Named(zone)) => with_zone(utc, &zone, precision, "%Z"),
        }
    }

    /// A moment in at most eight columns, seen from `now`: `03:07:42`, `29 Nov` where it was
    /// another day, `12s` in relative style.
    pub fn moment(self, at: Timestamp, now: Timestamp) -> String {
        let (at_utc, now_utc) = (calendar(at), calendar(now));
        match (self.style, self.zone) {
            (TimeStyle::Relative, _) => coarse(now.since(at)),
            (TimeStyle::Utc, _) => of_day(&at_utc, &now_utc),
            (TimeStyle::Local, LocalZone::Machine) => of_day(
                &at_utc.with_timezone(&Local),
                &now_utc.with_timezone(&Local),
            ),
            (TimeStyle::Local, LocalZone::Named(zone)) => {
                of_day(&at_utc.with_timezone(&zone), &now_utc.with_timezone(&zone))
            }
        }
    }
}

impl Clock {
    /// A moment with its date where it was another day than `now`: `03:07:42`, `29 Nov 22:14:03`;
    /// `12s ago` in relative style. At most [`STAMP`] columns in this millennium.
    pub fn stamp(self, at: Timestamp, now: Timestamp) -> String {
        let (at_utc, now_utc) = (calendar(at), calendar(now));
        match (self.style, self.zone) {
            (TimeStyle::Relative, _) => format!("{} ago", coarse(now.since(at))),
            (TimeStyle::Utc, _) => stamped(&at_utc, &now_utc),
            (TimeStyle::Local, LocalZone::Machine) => stamped(
                &at_utc.with_timezone(&Local),
                &now_utc.with_timezone(&Local),
            ),
            (TimeStyle::Local, LocalZone::Named(zone)) => {
                stamped(&at_utc.with_timezone(&zone), &now_utc.with_timezone(&zone))
            }
        }
    }
}

/// The columns of a moment with its date, and of one without.
pub const STAMP: u16 = 15;

/// The moment as a date, at most some millennia away: beyond, no zone can be applied.
fn calendar(at: Timestamp) -> DateTime<Utc> {
    const FAR_S: i64 = 200_000_000_000;
    let seconds = at.second().clamp(-FAR_S, FAR_S);
    DateTime::from_timestamp(seconds, 0).unwrap_or_default()
}

const fn pattern(precision: Precision, minute: &'static str, second: &'static str) -> &'static str {
    match precision {
        Precision::Minute => minute,
        Precision::Second => second,
    }
}

fn with_zone<Z>(utc: DateTime<Utc>, zone: &Z, precision: Precision, suffix: &str) -> String
where
    Z: TimeZone,
    Z::Offset: std::fmt::Display,
{
    let time = pattern(precision, "%H:%M", "%H:%M:%S");
    utc.with_timezone(zone)
        .format(&format!("{time} {suffix}"))
        .to_string()
}

fn of_day<Z>(at: &DateTime<Z>, now: &DateTime<Z>) -> String
where
    Z: TimeZone,
    Z::Offset: std::fmt::Display,
{
    let same_day = at.date_naive() == now.date_naive();
    let form = if same_day { "%H:%M:%S" } else { "%-d %b" };
    at.format(form).to_string()
}

fn stamped<Z>(at: &DateTime<Z>, now: &DateTime<Z>) -> String
where
    Z: TimeZone,
    Z::Offset: std::fmt::Display,
{
    let same_day = at.date_naive() == now.date_naive();
    let form = if same_day {
        "%H:%M:%S"
    } else {
        "%-d %b %H:%M:%S"
    };
    at.format(form).to_string()
}

/// How long the refresh interval is, in words: `250ms`, `1s`, `30s`, `1m`.
pub fn interval(interval: Duration) -> String {
    if interval < Duration::from_secs(1) {
        format!("{}ms", interval.as_millis())
    } else {
        coarse(interval)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(style: TimeStyle) -> Clock {
        Clock {
            style,
            zone: LocalZone::Named(chrono_tz::Europe::Berlin),
        }
    }

    #[test]
    fn moments_name_their_zone() {
        let at = Timestamp::from_seconds(1_796_007_762);
        let utc = clock(TimeStyle::Utc);
        assert_eq!(utc.time_of_day(at, Precision::Second), "03:02:42Z");
        assert_eq!(utc.time_of_day(at, Precision::Minute), "03:02Z");
        assert_eq!(
            clock(TimeStyle::Local).time_of_day(at, Precision::Minute),
            "04:02 CET"
        );
        assert_eq!(
            clock(TimeStyle::Relative).time_of_day(at, Precision::Minute),
            "03:02Z"
        );
    }

    #[test]
    fn another_day_is_named() {
        let now = Timestamp::from_seconds(1_796_007_762);
        let earlier = now.minus(Duration::from_hours(4));
        assert_eq!(clock(TimeStyle::Utc).moment(now, now), "03:02:42");
        assert_eq!(clock(TimeStyle::Utc).moment(earlier, now), "29 Nov");
        assert_eq!(clock(TimeStyle::Relative).moment(earlier, now), "4h");
        assert_eq!(clock(TimeStyle::Utc).stamp(now, now), "03:02:42");
        assert_eq!(clock(TimeStyle::Utc).stamp(earlier, now), "29 Nov 23:02:42");
        assert_eq!(clock(TimeStyle::Relative).stamp(earlier, now), "4h ago");
    }

    #[test]
    fn extremes_do_not_panic() {
        for millis in [i64::MIN, 0, i64::MAX] {
            let at = Timestamp::from_millis(millis);
            for style in [TimeStyle::Utc, TimeStyle::Local, TimeStyle::Relative] {
                assert!(
                    !clock(style)
                        .moment(at, Timestamp::from_millis(0))
                        .is_empty()
                );
                assert!(!clock(style).time_of_day(at, Precision::Minute).is_empty());
            }
        }
    }
}

//! The settings that have a choice or a range: one definition each, which flags, environment and
//! file all read through, so that the three take the same values and refuse the rest in the same
//! words.

use std::fmt;
use std::ops::RangeInclusive;
use std::time::Duration;

use super::duration;

/// A setting with a fixed list of values.
pub trait Choice: Copy + fmt::Debug + Sized + 'static {
    /// Every value.
    const ALL: &'static [Self];

    /// The value's name in flags, environment and file.
    fn name(self) -> &'static str;

    /// The value of that name, if there is one.
    fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|value| value.name() == text)
    }

    /// What is allowed, as errors say it: `'a', 'b' or 'c'`.
    fn allowed() -> String {
        let names: Vec<String> = Self::ALL
            .iter()
            .map(|value| format!("'{}'", value.name()))
            .collect();
        match names.split_last() {
            Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
            Some(_) | None => names.join(""),
        }
    }
}

/// The colours of the console.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Theme {
    /// Hues chosen to be told apart by everyone.
    #[default]
    Standard,
    /// Stronger contrast, for projectors and bright rooms.
    HighContrast,
    /// No hues: words, shapes, bold and reverse only.
    Mono,
}

impl Choice for Theme {
    const ALL: &'static [Self] = &[Self::Standard, Self::HighContrast, Self::Mono];

    fn name(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::HighContrast => "high_contrast",
            Self::Mono => "mono",
        }
    }
}

/// What the terminal's background is like; a terminal is never asked, since it may not answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Background {
    /// From `COLORFGBG` where the terminal sets it, else dark.
    #[default]
    Auto,
    /// Dark.
    Dark,
    /// Light.
    Light,
}

impl Choice for Background {
    const ALL: &'static [Self] = &[Self::Auto, Self::Dark, Self::Light];

    fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Dark => "dark",
            Self::Light => "light",
        }
    }
}

/// In which time zone screens show moments. Text for machines is always in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TimeZone {
    /// UTC, so that two people see the same.
    #[default]
    Utc,
    /// The time zone of this machine.
    Local,
    /// None: how long ago.
    Relative,
    /// A named one.
    Named(chrono_tz::Tz),
}

impl TimeZone {
    /// What is allowed, as errors say it.
    pub const ALLOWED: &'static str =
        "'utc', 'local', 'relative' or a name such as 'Europe/Berlin'";

    /// The time zone of that name, if there is one.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "utc" => Some(Self::Utc),
            "local" => Some(Self::Local),
            "relative" => Some(Self::Relative),
            name => name.parse().ok().map(Self::Named),
        }
    }

    /// Its name in flags, environment and file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Utc => "utc",
            Self::Local => "local",
            Self::Relative => "relative",
            Self::Named(zone) => zone.name(),
        }
    }
}

/// A range of durations that a setting takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DurationRange {
    /// The shortest.
    pub min: Duration,
    /// The longest.
    pub max: Duration,
}

impl DurationRange {
    /// The duration that `text` says, where it lies in the range.
    pub fn parse(self, text: &str) -> Option<Duration> {
        duration::parse(text).filter(|value| (self.min..=self.max).contains(value))
    }

    /// What is allowed, as errors say it.
    pub fn allowed(self) -> String {
        format!(
            "a duration from {} to {}, such as \"{}\"",
            duration::text(self.min),
            duration::text(self.max),
            duration::text(self.min.max(Duration::from_secs(30)).min(self.max)),
        )
    }
}

/// How often the console reads its ledgers. Faster than four times a second no one reads; slower
/// than a minute is not live.
pub const REFRESH: DurationRange = DurationRange {
    min: Duration::from_millis(250),
    max: Duration::from_mins(1),
};

/// The refresh where nothing else is said.
pub const REFRESH_DEFAULT: Duration = Duration::from_secs(1);

/// Waits and ages of policies: from none to a year.
pub const POLICY_DURATION: DurationRange = DurationRange {
    min: Duration::ZERO,
    max: Duration::from_hours(24 * 366),
};

/// Ages that limits are about: from a second to a year.
pub const LIMIT_AGE: DurationRange = DurationRange {
    min: Duration::from_secs(1),
    max: Duration::from_hours(24 * 366),
};

/// Numbers that limits are about.
pub const LIMIT_COUNT: RangeInclusive<u64> = 0..=1_000_000_000;

/// How many attempts a policy may allow.
pub const POLICY_ATTEMPTS: RangeInclusive<u64> = 1..=1_000_000;

/// How many jobs a worker may hold at a time.
pub const CONCURRENCY: RangeInclusive<u64> = 1..=1_000;

/// The statuses of HTTP answers that may be given a meaning.
pub const HTTP_STATUS: RangeInclusive<u16> = 200..=599;

/// The exit codes of commands that may be given a meaning.
pub const EXIT_CODE: RangeInclusive<u16> = 0..=255;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_choice_is_found_by_its_own_name() {
        for theme in Theme::ALL {
            assert_eq!(Theme::parse(theme.name()), Some(*theme));
        }
        for background in Background::ALL {
            assert_eq!(Background::parse(background.name()), Some(*background));
        }
        assert_eq!(Theme::allowed(), "'standard', 'high_contrast' or 'mono'");
    }

    #[test]
    fn time_zones_have_names_of_the_tz_database() {
        for name in ["utc", "local", "relative", "Europe/Berlin", "Asia/Kolkata"] {
            assert_eq!(TimeZone::parse(name).map(TimeZone::name), Some(name));
        }
        assert_eq!(TimeZone::parse("Mars/Olympus"), None);
    }

    #[test]
    fn a_range_says_what_it_takes() {
        assert_eq!(REFRESH.parse("1s"), Some(Duration::from_secs(1)));
        assert_eq!(REFRESH.parse("10ms"), None);
        assert_eq!(
            REFRESH.allowed(),
            "a duration from 250ms to 1m, such as \"30s\""
        );
    }
}

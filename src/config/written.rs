//! The config file as it is written: every key optional, every value with its line, nothing
//! decided.
//!
//! This file is the one list of the keys that a config may hold. What they mean together with
//! flags, the environment and the defaults is decided in [`super::resolve`].

use std::collections::BTreeMap;
use std::time::Duration;

use toml::de::DeTable;

use super::error::{Mistake, Problem};
use super::section::{At, Reading, Section};
use super::settings::{
    Background, CONCURRENCY, EXIT_CODE, HTTP_STATUS, LIMIT_AGE, LIMIT_COUNT, POLICY_ATTEMPTS,
    POLICY_DURATION, REFRESH, Theme, TimeZone,
};
use super::url::UrlText;
use crate::ledger::job::NAME_MAX_BYTES;
use crate::ledger::meaning::Meaning;
use crate::ledger::policy::OnUnknown;
use crate::ledger::text::SafeText;

/// What a ledger's URL may be, as errors say it.
pub(super) const URL_ALLOWED: &str = "\"sqlite:PATH\" or \"postgres://USER@HOST/DATABASE\"";

/// A whole file.
#[derive(Debug, Default)]
pub struct Written {
    /// `ledger = "NAME"`: which ledger is meant where nothing else says so.
    pub ledger: Option<At<String>>,
    /// `[ledgers.NAME]`.
    pub ledgers: BTreeMap<String, WrittenLedger>,
    /// `[console]`.
    pub console: WrittenConsole,
    /// `[limits]`, for every queue.
    pub limits: WrittenLimits,
    /// `[limits.queues.NAME]`, over those.
    pub queue_limits: BTreeMap<String, WrittenLimits>,
    /// `[keys]`: from an action to the keys that do it.
    pub keys: BTreeMap<String, At<Vec<String>>>,
    /// `[policies.NAME]`.
    pub policies: BTreeMap<String, WrittenPolicy>,
    /// `[work]`.
    pub work: WrittenWork,
    /// `[operate] name`: who acts.
    pub operator: Option<At<String>>,
}

/// `[ledgers.NAME]`.
#[derive(Debug)]
pub struct WrittenLedger {
    /// Where it is.
    pub url: At<UrlText>,
    /// Whether it may only be looked at.
    pub read_only: Option<At<bool>>,
    /// Whether the console may act on its jobs.
    pub operate: Option<At<bool>>,
}

/// `[console]`.
#[derive(Debug, Default)]
pub struct WrittenConsole {
    /// How often to read.
    pub refresh: Option<At<Duration>>,
    /// Which colours.
    pub theme: Option<At<Theme>>,
    /// On which background.
    pub background: Option<At<Background>>,
    /// In which time zone.
    pub time_zone: Option<At<TimeZone>>,
    /// Whether the terminal's clipboard may be written to.
    pub copy: Option<At<bool>>,
}

/// `[limits]` or `[limits.queues.NAME]`.
#[derive(Debug, Clone, Default)]
pub struct WrittenLimits {
    /// `oldest_ready`: how long the oldest ready job may have been ready.
    pub oldest_ready: WrittenBound<Duration>,
    /// `oldest_dead_letter`: how long the oldest dead letter may have been one.
    pub oldest_dead_letter: WrittenBound<Duration>,
    /// `dead_letters_per_h`: how fast dead letters may grow.
    pub dead_letters_per_h: WrittenBound<u64>,
    /// `expired_leases`: how many leases may be over and not reclaimed.
    pub expired_leases: WrittenBound<u64>,
    /// `drain_never`: for how long a backlog may fail to shrink.
    pub drain_never: Option<At<Duration>>,
}

/// Two marks for one number: `KEY` calls for a look, `KEY_critical` for an act.
#[derive(Debug, Clone)]
pub struct WrittenBound<T> {
    /// `KEY`.
    pub warning: Option<At<T>>,
    /// `KEY_critical`.
    pub critical: Option<At<T>>,
}

impl<T> Default for WrittenBound<T> {
    fn default() -> Self {
        Self {
            warning: None,
            critical: None,
        }
    }
}

/// `[work]`: which queues `work` serves and how many jobs of each it holds, and what the answers of
/// handlers in other processes mean, where they mean something else than usual.
#[derive(Debug, Default)]
pub struct WrittenWork {
    /// `concurrency`: of all queues together.
    pub concurrency: Option<At<u64>>,
    /// `[work.queues.NAME]`: its `concurrency`, where it has one of its own.
    pub queues: BTreeMap<String, Option<At<u64>>>,
    /// `ca_file` of `[work.http]`.
    pub ca_file: Option<At<String>>,
    /// `[work.http.status]`: by status.
    pub statuses: BTreeMap<u16, At<Meaning>>,
    /// `[work.exec.exit]`: by exit code.
    pub exits: BTreeMap<u16, At<Meaning>>,
}

/// `[policies.NAME]`.
#[derive(Debug)]
pub struct WrittenPolicy {
    /// The section's line.
    pub line: usize,
    /// Attempts before a job is dead.
    pub max_attempts: Option<At<u32>>,
    /// The age budget.
    pub max_age: Option<At<Duration>>,
    /// The ceiling of the first wait.
    pub backoff_base: Option<At<Duration>>,
    /// The ceiling of every wait.
    pub backoff_cap: Option<At<Duration>>,
    /// The longest `Retry-After` that is respected.
    pub retry_after_cap: Option<At<Duration>>,
    /// What happens to failures that no table knows.
    pub on_unknown: Option<At<OnUnknown>>,
}

/// Reads a file's text.
///
/// # Errors
/// Every mistake, by line.
pub fn read(text: &str) -> Result<Written, Vec<Mistake>> {
    let mut reading = Reading::new(text);
    let table = match DeTable::parse(text) {
        Ok(table) => table.into_inner(),
        Err(error) => {
            // The parser's own display quotes the line, which may hold a password; its message
            // does not.
            let line = reading.line(error.span().map_or(0, |span| span.start));
            let message = SafeText::new(error.message());
            reading.mistake(line, Problem::Syntax { message });
            return Err(reading.mistakes);
        }
    };
    let written = file(Section::root(table), &mut reading);
    if reading.mistakes.is_empty() {
        return Ok(written);
    }
    reading.mistakes.sort_by_key(|mistake| mistake.line);
    Err(reading.mistakes)
}

fn file(mut root: Section<'_>, reading: &mut Reading<'_>) -> Written {
    let mut limits_section = root.section("limits", reading);
    let queues = limits_section.section("queues", reading);
    let written = Written {
        ledger: root.text("ledger", "the name of one of [ledgers]", reading, non_empty),
        ledgers: root
            .section("ledgers", reading)
            .named_sections(reading)
            .into_iter()
            .filter_map(|(name, section)| Some((name, ledger(section, reading)?)))
            .collect(),
        console: console(root.section("console", reading), reading),
        limits: limits(limits_section, reading),
        queue_limits: queues
            .named_sections(reading)
            .into_iter()
            .map(|(name, section)| (name, limits(section, reading)))
            .collect(),
        keys: root
            .section("keys", reading)
            .named_texts(reading)
            .into_iter()
            .collect(),
        policies: root
            .section("policies", reading)
            .named_sections(reading)
            .into_iter()
            .map(|(name, section)| (name, policy(section, reading)))
            .collect(),
        work: work(root.section("work", reading), reading),
        operator: operator(root.section("operate", reading), reading),
    };
    root.finish(reading);
    for (name, policy) in &written.policies {
        if name.is_empty() || name.len() > NAME_MAX_BYTES {
            let rule = format!("a policy's name has from 1 to {NAME_MAX_BYTES} bytes");
            let section = SafeText::new("[policies]");
            reading.mistake(policy.line, Problem::Contradiction { section, rule });
        }
    }
    written
}

fn non_empty(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

fn ledger(mut section: Section<'_>, reading: &mut Reading<'_>) -> Option<WrittenLedger> {
    let mistakes = reading.mistakes.len();
    let url = section.secret("url", URL_ALLOWED, reading, UrlText::parse);
    if url.is_none() && reading.mistakes.len() == mistakes {
        let problem = Problem::MissingKey {
            section: section.name(),
            key: "url",
            allowed: URL_ALLOWED,
        };
        reading.mistake(section.line(), problem);
    }
    let read_only = section.flag("read_only", reading);
    let operate = section.flag("operate", reading);
    section.finish(reading);
    url.map(|url| WrittenLedger {
        url,
        read_only,
        operate,
    })
}

fn console(mut section: Section<'_>, reading: &mut Reading<'_>) -> WrittenConsole {
    let written = WrittenConsole {
        refresh: section.duration("refresh", REFRESH, reading),
        theme: section.choice("theme", reading),
        background: section.choice("background", reading),
        time_zone: section.text("time_zone", TimeZone::ALLOWED, reading, TimeZone::parse),
        copy: section.flag("copy", reading),
    };
    section.finish(reading);
    written
}

fn limits(mut section: Section<'_>, reading: &mut Reading<'_>) -> WrittenLimits {
    let mut age = |warning, critical| WrittenBound {
        warning: section.duration(warning, LIMIT_AGE, reading),
        critical: section.duration(critical, LIMIT_AGE, reading),
    };
    let oldest_ready = age("oldest_ready", "oldest_ready_critical");
    let oldest_dead_letter = age("oldest_dead_letter", "oldest_dead_letter_critical");
    let mut count = |warning, critical| WrittenBound {
        warning: section.number(warning, &LIMIT_COUNT, reading),
        critical: section.number(critical, &LIMIT_COUNT, reading),
    };
    let written = WrittenLimits {
        oldest_ready,
        oldest_dead_letter,
        dead_letters_per_h: count("dead_letters_per_h", "dead_letters_per_h_critical"),
        expired_leases: count("expired_leases", "expired_leases_critical"),
        drain_never: section.duration("drain_never", LIMIT_AGE, reading),
    };
    section.finish(reading);
    written
}

fn operator(mut section: Section<'_>, reading: &mut Reading<'_>) -> Option<At<String>> {
    let name = section.text("name", "a name", reading, non_empty);
    section.finish(reading);
    name
}

fn work(mut section: Section<'_>, reading: &mut Reading<'_>) -> WrittenWork {
    let concurrency = section.number("concurrency", &CONCURRENCY, reading);
    let queues = section.section("queues", reading);
    let mut http = section.section("http", reading);
    let mut exec = section.section("exec", reading);
    section.finish(reading);
    let statuses = http.section("status", reading);
    let ca_file = http.text("ca_file", "the path of a PEM file", reading, non_empty);
    let exits = exec.section("exit", reading);
    http.finish(reading);
    exec.finish(reading);
    let mut limits = BTreeMap::new();
    for (name, mut section) in queues.named_sections(reading) {
        limits.insert(name, section.number("concurrency", &CONCURRENCY, reading));
        section.finish(reading);
    }
    WrittenWork {
        concurrency,
        queues: limits,
        ca_file,
        statuses: statuses.numbered(&HTTP_STATUS, Meaning::ALLOWED, reading, Meaning::parse),
        exits: exits.numbered(&EXIT_CODE, Meaning::ALLOWED, reading, Meaning::parse),
    }
}

fn policy(mut section: Section<'_>, reading: &mut Reading<'_>) -> WrittenPolicy {
    let attempts = section.number("max_attempts", &POLICY_ATTEMPTS, reading);
    let written = WrittenPolicy {
        line: section.line(),
        max_attempts: attempts.and_then(|at| {
            let value = u32::try_from(at.value).ok()?;
            Some(At {
                value,
                line: at.line,
            })
        }),
        max_age: section.duration("max_age", POLICY_DURATION, reading),
        backoff_base: section.duration("backoff_base", POLICY_DURATION, reading),
        backoff_cap: section.duration("backoff_cap", POLICY_DURATION, reading),
        retry_after_cap: section.duration("retry_after_cap", POLICY_DURATION, reading),
        on_unknown: section.text(
            "on_unknown",
            "'bounded_retry' or 'hold'",
            reading,
            OnUnknown::parse,
        ),
    };
    section.finish(reading);
    written
}

//! From what was written to what holds: flag over environment over file over default, each setting
//! with the place its value came from.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::time::Duration;

use super::environment::{self, Environment};
use super::error::{ConfigError, Mistake, Problem, hint};
use super::file::Found;
use super::section::At;
use super::settings::{Background, Choice, REFRESH, REFRESH_DEFAULT, Theme, TimeZone};
use super::url::UrlText;
use super::written::{Written, WrittenBound, WrittenLedger, WrittenLimits, WrittenPolicy};
use super::{Config, Console, Flags, Ledger, Work};
use crate::board::limits::{Bound, Limits, QueueLimits};
use crate::ledger::meaning::Meaning;
use crate::ledger::policy::Policy;
use crate::ledger::text::SafeText;

/// Where a setting's value came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// A flag of the command line.
    Flag(&'static str),
    /// A variable of the environment.
    Variable(&'static str),
    /// This line of the config file.
    Line(usize),
    /// Nothing said otherwise.
    Default,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(name) | Self::Variable(name) => f.write_str(name),
            Self::Line(line) => write!(f, "line {line}"),
            Self::Default => f.write_str("default"),
        }
    }
}

/// A value and where it came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting<T> {
    /// The value.
    pub value: T,
    /// Where it came from.
    pub origin: Origin,
}

/// One setting's values from the places that may hold one.
struct Places<T> {
    flag: (&'static str, Option<T>),
    variable: (&'static str, Option<T>),
    line: Option<At<T>>,
}

impl<T> Places<T> {
    /// THE precedence: flag, environment, file.
    fn first(self) -> Option<Setting<T>> {
        let (flag, from_flag) = self.flag;
        let (variable, from_variable) = self.variable;
        let found = |value, origin| Setting { value, origin };
        from_flag
            .map(|value| found(value, Origin::Flag(flag)))
            .or_else(|| from_variable.map(|value| found(value, Origin::Variable(variable))))
            .or_else(|| self.line.map(|at| found(at.value, Origin::Line(at.line))))
    }

    fn or_default(self, default: T) -> Setting<T> {
        self.first().unwrap_or(Setting {
            value: default,
            origin: Origin::Default,
        })
    }
}

/// Decides every setting.
///
/// # Errors
/// Where a variable's value is not allowed, a name is unknown, or two values do not go together.
pub(super) fn resolve(
    flags: &Flags,
    environment: &Environment,
    found: Found,
) -> Result<Config, ConfigError> {
    let Found {
        path,
        exists,
        written,
    } = found;
    let mut mistakes = Vec::new();
    let directory = path.parent().unwrap_or(Path::new("")).to_owned();
    let ledgers = ledgers(&written, &directory);
    check_ledger_name(&written, &mut mistakes);
    let limits = limits(&written, &mut mistakes);
    let policies = policies(&written, &mut mistakes);
    if !mistakes.is_empty() {
        mistakes.sort_by_key(|mistake| mistake.line);
        return Err(ConfigError::Mistakes { path, mistakes });
    }
    let ledger = ledger(flags, environment, &written, &ledgers)?;
    Ok(Config {
        operate: operate(flags, environment, ledger.as_ref())?,
        read_only: read_only(flags, environment, ledger.as_ref())?,
        console: console(flags, environment, &written)?,
        ledger,
        ledgers,
        limits,
        keys: written.keys,
        policies,
        work: Work {
            concurrency: written.work.concurrency.as_ref().and_then(size),
            queues: queues(&written.work.queues),
            ca_file: written.work.ca_file.map(|at| directory.join(at.value)),
            statuses: meanings(written.work.statuses),
            exits: meanings(written.work.exits),
        },
        operator: operator(environment, written.operator),
        file: path,
        file_exists: exists,
    })
}

/// A number within a range that fits any machine.
fn size(at: &At<u64>) -> Option<usize> {
    usize::try_from(at.value).ok()
}

fn queues(written: &BTreeMap<String, Option<At<u64>>>) -> BTreeMap<String, Option<usize>> {
    let limit =
        |(name, limit): (&String, &Option<At<u64>>)| (name.clone(), limit.as_ref().and_then(size));
    written.iter().map(limit).collect()
}

fn operator(environment: &Environment, line: Option<At<String>>) -> Option<Setting<String>> {
    let from_variable = environment.text(environment::OPERATOR).map(str::to_owned);
    let name = Places {
        flag: ("--operator", None),
        variable: (environment::OPERATOR, from_variable),
        line,
    };
    name.first()
}

fn meanings(written: BTreeMap<u16, At<Meaning>>) -> BTreeMap<u16, Meaning> {
    let plain = |(number, at): (u16, At<Meaning>)| (number, at.value);
    written.into_iter().map(plain).collect()
}

fn ledger(
    flags: &Flags,
    environment: &Environment,
    written: &Written,
    ledgers: &BTreeMap<String, Ledger>,
) -> Result<Option<Setting<Ledger>>, ConfigError> {
    let from_variable = environment.text(environment::LEDGER).map(str::to_owned);
    let choice = Places {
        flag: ("--ledger", flags.ledger.clone()),
        variable: (environment::LEDGER, from_variable),
        line: written.ledger.clone(),
    };
    match choice.first() {
        Some(choice) => chosen(choice, ledgers).map(Some),
        None => Ok(only(ledgers)),
    }
}

/// Any place that says so makes a session read-only; none can take that back.
fn read_only(
    flags: &Flags,
    environment: &Environment,
    ledger: Option<&Setting<Ledger>>,
) -> Result<Setting<bool>, ConfigError> {
    let allowed = || "'1' or '0'".to_owned();
    let variable = environment.value(environment::READ_ONLY, allowed, boolean)?;
    let line = ledger.and_then(|ledger| ledger.value.read_only.clone());
    let places = Places {
        flag: ("--read-only", flags.read_only.then_some(true)),
        variable: (environment::READ_ONLY, variable.filter(|value| *value)),
        line: line.filter(|at| at.value),
    };
    Ok(places.or_default(false))
}

/// Whether the console may act. What makes a session read-only is stronger.
fn operate(
    flags: &Flags,
    environment: &Environment,
    ledger: Option<&Setting<Ledger>>,
) -> Result<Setting<bool>, ConfigError> {
    let read_only = read_only(flags, environment, ledger)?;
    if read_only.value {
        return Ok(Setting {
            value: false,
            origin: read_only.origin,
        });
    }
    let allowed = || "'1' or '0'".to_owned();
    let places = Places {
        flag: ("--operate", flags.operate.then_some(true)),
        variable: (
            environment::OPERATE,
            environment.value(environment::OPERATE, allowed, boolean)?,
        ),
        line: ledger.and_then(|ledger| ledger.value.operate.clone()),
    };
    Ok(places.or_default(false))
}

fn boolean(text: &str) -> Option<bool> {
    match text {
        "1" | "true" | "yes" => Some(true),
        "0" | "false" | "no" => Some(false),
        _ => None,
    }
}

fn ledgers(written: &Written, directory: &Path) -> BTreeMap<String, Ledger> {
    let ledger = |name: &String, written: &WrittenLedger| Ledger {
        name: SafeText::new(name),
        url: written.url.value.relative_to(directory),
        read_only: written.read_only.clone(),
        operate: written.operate.clone(),
    };
    written
        .ledgers
        .iter()
        .map(|(name, written)| (name.clone(), ledger(name, written)))
        .collect()
}

/// `ledger = "NAME"` must name a section of the same file, whether or not a flag overrides it.
fn check_ledger_name(written: &Written, mistakes: &mut Vec<Mistake>) {
    let Some(At { value: name, line }) = &written.ledger else {
        return;
    };
    if written.ledgers.contains_key(name) || UrlText::parse(name).is_some() {
        return;
    }
    let known: Vec<&str> = written.ledgers.keys().map(String::as_str).collect();
    mistakes.push(Mistake {
        line: *line,
        problem: Problem::UnknownName {
            key: "ledger",
            name: SafeText::new(&format!("[ledgers.{name}]")),
            hint: hint(name, &known),
        },
    });
}

fn chosen(
    choice: Setting<String>,
    ledgers: &BTreeMap<String, Ledger>,
) -> Result<Setting<Ledger>, ConfigError> {
    let Setting {
        value: text,
        origin,
    } = choice;
    if let Some(value) = ledgers.get(&text).cloned() {
        return Ok(Setting { value, origin });
    }
    if let Some(url) = UrlText::parse(&text) {
        let value = Ledger {
            name: url.redacted(),
            url,
            read_only: None,
            operate: None,
        };
        return Ok(Setting { value, origin });
    }
    let known: Vec<&str> = ledgers.keys().map(String::as_str).collect();
    Err(ConfigError::UnknownLedger {
        name: super::url::shown(&text),
        origin: origin.to_string(),
        hint: hint(&text, &known),
    })
}

/// Where the config knows one ledger, there is nothing to choose.
fn only(ledgers: &BTreeMap<String, Ledger>) -> Option<Setting<Ledger>> {
    let mut all = ledgers.values();
    match (all.next(), all.next()) {
        (Some(only), None) => Some(Setting {
            value: only.clone(),
            origin: Origin::Default,
        }),
        (Some(_) | None, _) => None,
    }
}

fn console(
    flags: &Flags,
    environment: &Environment,
    written: &Written,
) -> Result<Console, ConfigError> {
    let written = &written.console;
    let refresh = environment.value(
        environment::REFRESH,
        || REFRESH.allowed(),
        |text| REFRESH.parse(text),
    )?;
    let theme = environment.value(environment::THEME, Theme::allowed, Theme::parse)?;
    let background = environment.value(
        environment::BACKGROUND,
        Background::allowed,
        Background::parse,
    )?;
    let time_zone = environment.value(
        environment::TIME_ZONE,
        || TimeZone::ALLOWED.to_owned(),
        TimeZone::parse,
    )?;
    Ok(Console {
        refresh: Places {
            flag: ("--refresh", flags.refresh),
            variable: (environment::REFRESH, refresh),
            line: written.refresh.clone(),
        }
        .or_default(REFRESH_DEFAULT),
        theme: Places {
            flag: ("--theme", flags.theme),
            variable: (environment::THEME, theme),
            line: written.theme.clone(),
        }
        .or_default(Theme::default()),
        background: Places {
            flag: ("--background", flags.background),
            variable: (environment::BACKGROUND, background),
            line: written.background.clone(),
        }
        .or_default(Background::default()),
        time_zone: Places {
            flag: ("--time-zone", flags.time_zone),
            variable: (environment::TIME_ZONE, time_zone),
            line: written.time_zone.clone(),
        }
        .or_default(TimeZone::default()),
        no_color: Places {
            flag: ("--no-color", flags.no_color.then_some(true)),
            variable: (
                environment::NO_COLOR,
                environment.is_set(environment::NO_COLOR).then_some(true),
            ),
            line: None,
        }
        .or_default(false),
        copy: Places {
            flag: ("", None),
            variable: ("", None),
            line: written.copy.clone(),
        }
        .or_default(false),
    })
}

fn limits(written: &Written, mistakes: &mut Vec<Mistake>) -> Limits {
    let all = Overlay {
        section: "limits",
        over: QueueLimits::default(),
        mistakes,
    };
    let default = all.with(&written.limits);
    let queues = written.queue_limits.iter().map(|(queue, written)| {
        let section = format!("limits.queues.{queue}");
        let overlay = Overlay {
            section: &section,
            over: default,
            mistakes: &mut *mistakes,
        };
        (queue.clone(), overlay.with(written))
    });
    let queues = queues.collect();
    Limits { default, queues }
}

/// Limits that a section's keys are laid over.
struct Overlay<'a> {
    section: &'a str,
    over: QueueLimits,
    mistakes: &'a mut Vec<Mistake>,
}

impl Overlay<'_> {
    fn with(mut self, written: &WrittenLimits) -> QueueLimits {
        let over = self.over;
        QueueLimits {
            oldest_ready: self.bound("oldest_ready", over.oldest_ready, &written.oldest_ready),
            oldest_dead_letter: self.bound(
                "oldest_dead_letter",
                over.oldest_dead_letter,
                &written.oldest_dead_letter,
            ),
            dead_letters_per_h: self.bound(
                "dead_letters_per_h",
                over.dead_letters_per_h,
                &written.dead_letters_per_h,
            ),
            expired_leases: self.bound(
                "expired_leases",
                over.expired_leases,
                &written.expired_leases,
            ),
            drain_never: written
                .drain_never
                .as_ref()
                .map_or(over.drain_never, |at| at.value),
        }
    }

    /// The second mark follows the first where only the first is written, and may never be below
    /// it.
    fn bound<T: Copy + Ord>(
        &mut self,
        key: &str,
        over: Bound<T>,
        written: &WrittenBound<T>,
    ) -> Bound<T> {
        let warning = written.warning.as_ref().map_or(over.warning, |at| at.value);
        let Some(critical) = &written.critical else {
            let critical = over.critical.max(warning);
            return Bound { warning, critical };
        };
        if critical.value < warning {
            self.mistakes.push(Mistake {
                line: critical.line,
                problem: Problem::Contradiction {
                    section: SafeText::new(&format!("[{}]", self.section)),
                    rule: format!("'{key}_critical' may not be below '{key}'"),
                },
            });
        }
        let critical = critical.value;
        Bound { warning, critical }
    }
}

/// The config's policies over the default one. Versions are given by a ledger, so they are 1 here.
fn policies(written: &Written, mistakes: &mut Vec<Mistake>) -> BTreeMap<String, Policy> {
    let default = Policy::default_v1();
    let mut policies = BTreeMap::from([(default.name.clone(), default)]);
    for (name, written) in &written.policies {
        let line = written.line;
        let policy = policy(name, written);
        if policy.backoff_base > policy.backoff_cap {
            mistakes.push(Mistake {
                line,
                problem: Problem::Contradiction {
                    section: SafeText::new(&format!("[policies.{}]", policy.name)),
                    rule: format!(
                        "'backoff_base' ({}) may not be longer than 'backoff_cap' ({})",
                        super::duration::text(policy.backoff_base),
                        super::duration::text(policy.backoff_cap),
                    ),
                },
            });
        }
        policies.insert(policy.name.clone(), policy);
    }
    policies
}

fn policy(name: &str, written: &WrittenPolicy) -> Policy {
    let default = Policy::default_v1();
    let duration =
        |written: &Option<At<Duration>>, default| written.as_ref().map_or(default, |at| at.value);
    let attempts = &written.max_attempts;
    let on_unknown = &written.on_unknown;
    Policy {
        name: name.to_owned(),
        version: default.version,
        max_attempts: attempts
            .as_ref()
            .map_or(default.max_attempts, |at| at.value),
        max_age: duration(&written.max_age, default.max_age),
        backoff_base: duration(&written.backoff_base, default.backoff_base),
        backoff_cap: duration(&written.backoff_cap, default.backoff_cap),
        retry_after_cap: duration(&written.retry_after_cap, default.retry_after_cap),
        on_unknown: on_unknown
            .as_ref()
            .map_or(default.on_unknown, |at| at.value),
    }
}

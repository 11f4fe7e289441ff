//! `ledgertop` without a command: opens the console with what the config says.
//!
//! It hands the console ways to read, and a way to act only where config or flag permit it. Next on
//! the walk: `console`.

use async_trait::async_trait;

use super::CliError;
use super::error::ConsoleFault;
use crate::board::Limits;
use crate::config::environment::Environment;
use crate::config::settings::{Background, Theme, TimeZone};
use crate::config::{self, Config, ConfigError};
use crate::console::clock::{Clock, LocalZone, TimeStyle};
use crate::console::keymap::{Keymap, KeymapError};
use crate::console::theme::{self, Depth, Look};
use crate::console::{self, ConsoleOptions, Ended, OpenOperate};
use crate::ledger::text::SafeText;
use crate::operate::{Operate, Operator};
use crate::store::{Feed, LedgerUrl, StoreError};

/// What a console is to show.
pub(super) struct Shown {
    /// The ledger's name in the header.
    pub(super) name: SafeText,
    /// Where it is.
    pub(super) url: LedgerUrl,
    /// What its numbers are held against.
    pub(super) limits: Limits,
    /// Why it cannot write, as the help says it.
    pub(super) why_read_only: &'static str,
    /// What opens it for acts; `None` for a console that only looks.
    pub(super) operate: Option<Acting>,
}

/// Opens a ledger for acts of one person.
pub(super) struct Acting {
    url: LedgerUrl,
    operator: Operator,
}

impl Acting {
    /// On the ledger at `url`, as who the config and the system say.
    pub(super) fn new(url: LedgerUrl, config: &Config, environment: &Environment) -> Self {
        Self {
            url,
            operator: super::operate::operator(config, environment),
        }
    }
}

#[async_trait]
impl OpenOperate for Acting {
    async fn open(&self) -> Result<Operate, StoreError> {
        let store = self.url.store().await?;
        Ok(Operate::new(store, self.operator.clone()))
    }
}

/// Whether there is a terminal for a console. Ask before a ledger is opened.
///
/// # Errors
/// Where there is none.
pub(super) fn check() -> Result<(), CliError> {
    let environment = theme::Environment::of_process();
    Ok(console::check(&environment).map_err(ConsoleFault::from)?)
}

/// Opens the console on the ledger that the config means.
///
/// # Errors
/// Where nothing says which ledger, or there is no terminal.
pub(super) fn open(config: &Config, environment: &Environment) -> Result<(), CliError> {
    let ledger = config.ledger()?;
    let why_read_only = if config.read_only.value {
        "this session may only look"
    } else {
        "this console only looks; --operate, or 'operate = true' for the ledger, lets it act"
    };
    // Only here is made what may write, and not in a session that may only look.
    let operate = if config.operate.value && !config.read_only.value {
        let url = super::open::writable_url(config, "the console")?;
        Some(Acting::new(url, config, environment))
    } else {
        None
    };
    let shown = Shown {
        operate,
        name: ledger.name.clone(),
        url: super::open::url(config)?,
        limits: config.limits.clone(),
        why_read_only,
    };
    // Whoever sent a signal, or took the terminal away, wanted the end as much as who quit.
    run(shown, config).map(drop)
}

/// Runs a console until it is quit, and tells how it ended. Blocks.
///
/// # Errors
/// Where there is no terminal, the config's keys clash, or the system refuses something.
pub(super) fn run(shown: Shown, config: &Config) -> Result<Ended, CliError> {
    check()?;
    let (url, look_url) = (shown.url.clone(), shown.url);
    let operate = shown.operate;
    let feed = move || {
        let feed: Box<dyn Feed> = url.feed();
        std::future::ready(Ok(feed))
    };
    let look = move || look_url.look();
    let options = ConsoleOptions {
        ledger_name: shown.name,
        read_only_reason: SafeText::new(shown.why_read_only),
        feed: Box::new(feed),
        look: Box::new(look),
        operate: operate.map(|acting| {
            let acting: Box<dyn OpenOperate> = Box::new(acting);
            acting
        }),
        copying: config.console.copy.value,
        limits: shown.limits,
        refresh: config.console.refresh.value,
        keymap: keymap(config)?,
        theme: theme(&config.console)?,
        clock: clock(config.console.time_zone.value),
        seed: seed(),
    };
    Ok(console::run(options).map_err(ConsoleFault::from)?)
}

/// Spreads the reconnecting of many consoles; nothing else is drawn from it.
fn seed() -> u64 {
    u64::from(std::process::id())
}

/// The config's keys over the usual ones.
///
/// # Errors
/// Where an action or a key is not known, or keys clash; the error names the line.
pub(super) fn keymap(config: &Config) -> Result<Keymap, ConfigError> {
    let rebound = config.keys.iter().map(|(action, keys)| {
        let keys = keys.value.iter().map(String::as_str);
        (action.as_str(), keys)
    });
    Keymap::new(rebound).map_err(|error| {
        let line = line_of(config, &error);
        config::error::in_keys(&config.file, line, &error.to_string())
    })
}

fn line_of(config: &Config, error: &KeymapError) -> usize {
    let line = |action: &str| config.keys.get(action).map(|keys| keys.line);
    let found = match error {
        KeymapError::UnknownAction { name, .. } => line(name),
        KeymapError::Slip { opens, .. } => line("confirm").or_else(|| line(opens)),
        KeymapError::BadKey { action, .. } | KeymapError::Unreachable { action } => line(action),
        KeymapError::Clash { first, second, .. } => line(second).or_else(|| line(first)),
    };
    found.unwrap_or(1)
}

fn theme(console: &config::Console) -> Result<theme::Theme, ConsoleFault> {
    let environment = theme::Environment::of_process();
    let background = match console.background.value {
        Background::Auto => environment.background(),
        Background::Dark => theme::Background::Dark,
        Background::Light => theme::Background::Light,
    };
    let look = match console.theme.value {
        Theme::Standard | Theme::Mono => Look::Standard,
        Theme::HighContrast => Look::HighContrast,
    };
    let depth = if console.no_color.value || console.theme.value == Theme::Mono {
        Depth::None
    } else {
        environment.depth()
    };
    Ok(theme::Theme::built_in(look, background, depth)?)
}

fn clock(zone: TimeZone) -> Clock {
    let (style, zone) = match zone {
        TimeZone::Utc => (TimeStyle::Utc, LocalZone::Machine),
        TimeZone::Local => (TimeStyle::Local, LocalZone::Machine),
        TimeZone::Relative => (TimeStyle::Relative, LocalZone::Machine),
        TimeZone::Named(zone) => (TimeStyle::Local, LocalZone::Named(zone)),
    };
    Clock { style, zone }
}

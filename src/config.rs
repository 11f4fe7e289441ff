//! What ledgertop is told to do: a config file, the environment and flags, made into one
//! [`Config`].
//!
//! The file as it is [`written`] and what holds are two types; [`resolve`] goes from one to the
//! other and is the only place that knows precedence. The module opens no ledger and draws
//! nothing: it reads a file, and its values are handed to the subcommands in `cli`. Mistakes name
//! file, line, key and what is allowed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub mod duration;
pub mod environment;
pub mod error;
pub mod file;
pub mod resolve;
pub mod section;
pub mod settings;
pub mod url;
pub mod written;

pub use environment::Environment;
pub use error::ConfigError;
pub use resolve::{Origin, Setting};
pub use url::UrlText;

use crate::board::limits::Limits;
use crate::ledger::meaning::Meaning;
use crate::ledger::policy::Policy;
use crate::ledger::text::SafeText;
use section::At;
use settings::{Background, Theme, TimeZone};

/// What the command line says about settings that environment and file may say too.
#[derive(Debug, Clone, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "switches of the command line are booleans"
)]
pub struct Flags {
    /// `--config`.
    pub config: Option<PathBuf>,
    /// `--ledger`: a name or a URL.
    pub ledger: Option<String>,
    /// `--read-only`.
    pub read_only: bool,
    /// `--operate`.
    pub operate: bool,
    /// `--refresh`.
    pub refresh: Option<Duration>,
    /// `--theme`.
    pub theme: Option<Theme>,
    /// `--background`.
    pub background: Option<Background>,
    /// `--time-zone`.
    pub time_zone: Option<TimeZone>,
    /// `--no-color`.
    pub no_color: bool,
}

/// Every setting, decided.
#[derive(Debug)]
pub struct Config {
    /// The ledger that is meant, if anything says so.
    pub ledger: Option<Setting<Ledger>>,
    /// Every ledger of the file.
    pub ledgers: BTreeMap<String, Ledger>,
    /// Whether no code path may write to a ledger.
    pub read_only: Setting<bool>,
    /// Whether the console may act on jobs; never in a read-only session.
    pub operate: Setting<bool>,
    /// How the console looks.
    pub console: Console,
    /// What queues are judged by.
    pub limits: Limits,
    /// Keys of actions that are not the usual ones; the console's keymap knows the actions.
    pub keys: BTreeMap<String, At<Vec<String>>>,
    /// Retry rules by name.
    pub policies: BTreeMap<String, Policy>,
    /// What `work` works on, and what the answers of its handlers mean.
    pub work: Work,
    /// Who acts on jobs and plans, where anything says so; else the user of the process.
    pub operator: Option<Setting<String>>,
    /// The config file, or where it would be.
    pub file: PathBuf,
    /// Whether it is there.
    pub file_exists: bool,
}

/// A ledger that can be opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ledger {
    /// The name that screens show: of the config, or the address without a password.
    pub name: SafeText,
    /// Where it is.
    pub url: UrlText,
    /// Whether the config says that it may only be looked at.
    pub read_only: Option<At<bool>>,
    /// Whether the config says that the console may act on its jobs.
    pub operate: Option<At<bool>>,
}

/// Which queues `work` serves and how, and what the answers of handlers in other processes mean,
/// where they mean something else than usual. Flags of `work` are over it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Work {
    /// The most jobs in hand at a time.
    pub concurrency: Option<usize>,
    /// The queues, each with the most jobs of it in hand, where it has a limit of its own.
    pub queues: BTreeMap<String, Option<usize>>,
    /// The certificate authorities that are trusted behind HTTP, where it is not the usual ones.
    pub ca_file: Option<PathBuf>,
    /// By the status of an HTTP answer.
    pub statuses: BTreeMap<u16, Meaning>,
    /// By the exit code of a command.
    pub exits: BTreeMap<u16, Meaning>,
}

/// How the console looks and how often it reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Console {
    /// How often to read.
    pub refresh: Setting<Duration>,
    /// Which colours.
    pub theme: Setting<Theme>,
    /// On which background.
    pub background: Setting<Background>,
    /// In which time zone moments are shown.
    pub time_zone: Setting<TimeZone>,
    /// Whether to use no colour at all.
    pub no_color: Setting<bool>,
    /// Whether the terminal's clipboard may be written to.
    pub copy: Setting<bool>,
}

impl Config {
    /// The ledger that is meant.
    ///
    /// # Errors
    /// Where nothing says which.
    pub fn ledger(&self) -> Result<&Ledger, ConfigError> {
        match &self.ledger {
            Some(ledger) => Ok(&ledger.value),
            None => Err(ConfigError::NoLedger {
                file: self.file.clone(),
            }),
        }
    }
}

/// Reads and decides everything.
///
/// # Errors
/// The first thing that must be mended, or every mistake of the file.
pub fn load(flags: &Flags, environment: &Environment) -> Result<Config, ConfigError> {
    if flags.ledger.as_deref().is_some_and(url::holds_password) {
        return Err(ConfigError::PasswordInArguments);
    }
    let found = file::find(flags.config.as_deref().map(Path::new), environment)?;
    resolve::resolve(flags, environment, found)
}

//! The log: a file for its owner only, and never the terminal, which belongs to the console.

use std::fs::{File, OpenOptions};
use std::io::IsTerminal as _;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt};
use std::path::{Path, PathBuf};

use tracing_appender::non_blocking::WorkerGuard;
use tracing_subscriber::EnvFilter;

use super::CliError;
use crate::config::environment::{self, Environment};
use crate::config::settings::Choice;

/// How much is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Level {
    /// What failed.
    Error,
    /// And what may.
    Warn,
    /// And what was begun and ended.
    #[default]
    Info,
    /// And each call to a ledger.
    Debug,
    /// And everything else.
    Trace,
}

impl Choice for Level {
    const ALL: &'static [Self] = &[
        Self::Error,
        Self::Warn,
        Self::Info,
        Self::Debug,
        Self::Trace,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Debug => "debug",
            Self::Trace => "trace",
        }
    }
}

/// Where a log goes that no file is named for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WithoutFile {
    /// There is none.
    Nowhere,
    /// To the stream of messages.
    StandardError,
}

/// Whether and where to log.
#[derive(Debug)]
pub(super) struct Logging {
    path: Option<PathBuf>,
    level: Level,
}

impl Logging {
    /// From flags over the environment. Without a file there is no log.
    ///
    /// # Errors
    /// Where the level in the environment is none.
    pub(super) fn of(
        path: Option<&Path>,
        level: Option<Level>,
        environment: &Environment,
    ) -> Result<Self, CliError> {
        let from_variable =
            environment.value(environment::LOG_LEVEL, Level::allowed, Level::parse)?;
        let path = path
            .map(Path::to_owned)
            .or_else(|| environment.path(environment::LOG));
        Ok(Self {
            path,
            level: level.or(from_variable).unwrap_or_default(),
        })
    }

    /// Begins to log, until the guard goes. A full disk loses lines of the log and nothing else.
    ///
    /// # Errors
    /// Where the file cannot be written or is a terminal.
    pub(super) fn start(&self, without: WithoutFile) -> Result<Option<WorkerGuard>, CliError> {
        let Some(path) = &self.path else {
            if without == WithoutFile::StandardError {
                // A second logger is asked for in tests only, and the first goes on.
                drop(
                    tracing_subscriber::fmt()
                        .with_writer(std::io::stderr)
                        .with_ansi(false)
                        .with_env_filter(self.filter())
                        .try_init(),
                );
            }
            return Ok(None);
        };
        let file = open(path).map_err(|message| CliError::Log {
            path: path.clone(),
            message,
        })?;
        let (writer, guard) = tracing_appender::non_blocking(file);
        let started = tracing_subscriber::fmt()
            .with_writer(writer)
            .with_ansi(false)
            .with_env_filter(self.filter())
            .try_init();
        match started {
            Ok(()) => Ok(Some(guard)),
            Err(error) => Err(CliError::Log {
                path: path.clone(),
                message: error.to_string(),
            }),
        }
    }

    /// The driver's own lines may hold statements with their values: warnings only.
    fn filter(&self) -> EnvFilter {
        EnvFilter::new(format!("warn,ledgertop={}", self.level.name()))
    }
}

/// Opens the file to append to, readable by its owner only, also where it was there before.
fn open(path: &Path) -> Result<File, String> {
    let file = OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .open(path)
        .map_err(|error| error.to_string())?;
    if file.is_terminal() {
        return Err("it is a terminal, which the console needs for itself".to_owned());
    }
    let metadata = file.metadata().map_err(|error| error.to_string())?;
    if metadata.is_file() && metadata.permissions().mode() & 0o077 != 0 {
        file.set_permissions(PermissionsExt::from_mode(0o600))
            .map_err(|error| format!("others may read it and that cannot be changed: {error}"))?;
    }
    Ok(file)
}

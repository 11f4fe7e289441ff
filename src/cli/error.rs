//! Why a subcommand did not do what was asked, and which exit code says so.

use std::io;
use std::path::PathBuf;

use crate::config::{ConfigError, Origin};
use crate::console::ConsoleError;
use crate::console::theme::ThemeError;
use crate::demo::DemoError;
use crate::ledger::text::SafeText;
use crate::store::StoreError;

use super::enqueue::{Refusal, line::LineProblem};
use super::lists::BadFilter;
use super::operate::OperateProblem;
use super::verify::report::counted;
use super::work::WorkProblem;

/// The exit codes, for monitors and scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Done.
    Done,
    /// A threshold was passed, or something was refused.
    Refused,
    /// The command line, the environment or the config is wrong.
    Usage,
    /// The ledger cannot be reached.
    Unreachable,
}

impl Exit {
    /// The code.
    pub const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Refused => 1,
            Self::Usage => 2,
            Self::Unreachable => 3,
        }
    }
}

/// Why there is no console, or no longer.
#[derive(Debug, thiserror::Error)]
pub enum ConsoleFault {
    /// The terminal or the system.
    #[error(transparent)]
    Console(#[from] ConsoleError),
    /// Its colours.
    #[error(transparent)]
    Theme(#[from] ThemeError),
}

/// Why a subcommand ended early.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// The config.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The ledger.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Input that is refused, with what was done before it.
    #[error(transparent)]
    Enqueue(#[from] Refusal),
    /// A flag of `enqueue` whose value is not allowed.
    #[error("{0}; nothing was enqueued")]
    Job(#[from] LineProblem),
    /// `enqueue` without flags and without input.
    #[error(
        "give one job with --queue, --kind and --idempotency-key, or many as NDJSON on standard \
         input, such as: ledgertop enqueue < jobs.ndjson"
    )]
    NoJobs,
    /// A command that writes, in a session that may not.
    #[error("'{command}' writes, and this session is read-only (by {origin}); nothing was changed")]
    ReadOnly {
        /// Which.
        command: &'static str,
        /// What makes it so.
        origin: Origin,
    },
    /// There is no console.
    #[error(transparent)]
    Console(#[from] ConsoleFault),
    /// The demo cannot begin.
    #[error(transparent)]
    Demo(#[from] DemoError),
    /// The demo has no place for its ledger.
    #[error(
        "no directory for the demo's ledger under '{directory}'; name another place in TMPDIR, or \
         a ledger with --ledger",
        directory = SafeText::new(&directory.to_string_lossy())
    )]
    NoPlace {
        /// Where it would be.
        directory: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The demo was given a ledger that is in use.
    #[error(
        "the ledger at {ledger} holds jobs that are not the demo's, and the demo's workers would \
         take them; nothing was changed; give it an empty ledger, or none to have a private one"
    )]
    RealJobs {
        /// Which.
        ledger: SafeText,
    },
    /// `verify` found that a law of the ledger is broken.
    #[error(
        "the ledger's laws are broken: {}, in {}; docs/verify.md says what each law means",
        counted(*.breaches, "breach", "breaches"),
        counted(*.jobs, "job", "jobs")
    )]
    LawsBroken {
        /// How often.
        breaches: u64,
        /// By how many jobs.
        jobs: u64,
    },
    /// A filter that cannot be read.
    #[error(transparent)]
    Filter(Box<BadFilter>),
    /// There is no such job.
    #[error("there is no job with the id or key '{name}'; find keys with: ledgertop jobs 'key:…*'")]
    NoJob {
        /// What was asked for.
        name: SafeText,
    },
    /// Not all was done that was asked of jobs or plans.
    #[error(transparent)]
    Operate(#[from] OperateProblem),
    /// No work can begin.
    #[error(transparent)]
    Work(#[from] WorkProblem),
    /// Jobs in hand when the end had to be at once.
    #[error(
        "ended at once with {left} in hand; their leases run out and they are taken up again, \
         with their attempts counted"
    )]
    LeftBehind {
        /// How many.
        left: u64,
    },
    /// Standard output cannot be written.
    #[error("cannot write the output: {0}")]
    Output(#[source] io::Error),
    /// The log file cannot be written.
    #[error(
        "cannot log to '{path}': {message}; give another file with --log, or none",
        path = SafeText::new(&path.to_string_lossy())
    )]
    Log {
        /// Which.
        path: PathBuf,
        /// Why.
        message: String,
    },
    /// The system refuses a thread.
    #[error("the system gives no thread: {0}")]
    Thread(#[source] io::Error),
}

impl CliError {
    /// The exit code that says so.
    pub fn exit(&self) -> Exit {
        match self {
            Self::Config(_)
            | Self::Job(_)
            | Self::NoJobs
            | Self::Filter(_)
            | Self::Work(_)
            | Self::Log { .. } => Exit::Usage,
            Self::Store(error) | Self::Demo(DemoError::Ledger(error)) => exit_of(error),
            Self::Enqueue(refusal) => refusal.exit(),
            Self::Operate(problem) => problem.exit(),
            Self::Console(ConsoleFault::Console(fault)) if fault.is_usage() => Exit::Usage,
            Self::Output(_) if self.is_quiet() => Exit::Done,
            Self::Console(_)
            | Self::Demo(DemoError::Scenario(_))
            | Self::NoPlace { .. }
            | Self::RealJobs { .. }
            | Self::LawsBroken { .. }
            | Self::ReadOnly { .. }
            | Self::LeftBehind { .. }
            | Self::NoJob { .. }
            | Self::Thread(_)
            | Self::Output(_) => Exit::Refused,
        }
    }

    /// Whether it is said at all: whoever closes our output has seen enough.
    pub fn is_quiet(&self) -> bool {
        matches!(self, Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }
}

/// The exit code for an error of the ledger.
pub fn exit_of(error: &StoreError) -> Exit {
    match error {
        StoreError::BadUrl { .. } => Exit::Usage,
        StoreError::Unreachable { .. }
        | StoreError::Timeout { .. }
        | StoreError::OutcomeUnknown { .. }
        | StoreError::NotALedger { .. }
        | StoreError::Database { .. } => Exit::Unreachable,
        StoreError::NewerSchema { .. }
        | StoreError::OlderSchema { .. }
        | StoreError::ChangedSchema { .. }
        | StoreError::Refused { .. }
        | StoreError::Corrupt { .. } => Exit::Refused,
    }
}

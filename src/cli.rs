//! The command line: one definition of flags, and a file per subcommand.
//!
//! Subcommands stand on top of everything and are named by nothing. They write to what they are
//! given and return an error with an exit code; only `main` ends the process. The one definition
//! of flags here feeds parser, help, completions and manual page.

use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, CommandFactory as _, Parser, Subcommand, error::ErrorKind};

pub mod audit;
pub mod config;
mod console;
pub mod dead_letters;
pub mod demo;
pub mod enqueue;
pub mod error;
pub mod init;
pub mod job;
pub mod jobs;
pub mod leases;
mod lists;
pub mod log;
pub mod manual;
pub mod open;
pub mod operate;
pub mod plan;
pub mod policy;
mod signals;
pub mod snapshot;
pub mod verify;
pub mod work;

pub use error::{CliError, Exit};

use crate::config::settings::{Background, Choice, REFRESH, Theme, TimeZone};
use crate::config::{Config, ConfigError, Environment, Flags, url};
use crate::ledger::job::Operation;

/// What may be typed.
#[derive(Debug, Parser)]
#[command(
    name = "ledgertop",
    version,
    about = "An operations console over a durable ledger of background jobs",
    long_about = "An operations console, in the terminal, over a durable ledger of background \
                  jobs. Without a command it opens the console. To look around without a ledger: \
                  ledgertop demo",
    after_help = "Exit codes: 0 done; 1 a threshold or a refusal; 2 usage or config; 3 the ledger \
                  cannot be reached.\nEvery setting and its default: config.example.toml"
)]
pub struct Cli {
    /// Settings for every command.
    #[command(flatten)]
    pub settings: Settings,
    /// What to do.
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// Under which heading the help lists the flags of every command.
const EVERYWHERE: &str = "For every command";

/// Flags for every command: each is over its variable, which is over the config file.
#[derive(Debug, Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "two switches of the command line are two booleans"
)]
pub struct Settings {
    /// The config file [env: LEDGERTOP_CONFIG] [default: ~/.config/ledgertop/config.toml]
    #[arg(long, global = true, help_heading = EVERYWHERE, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The ledger: a name from the config, sqlite:PATH or postgres://USER@HOST/DATABASE
    /// [env: LEDGERTOP_LEDGER]
    #[arg(long, global = true, help_heading = EVERYWHERE, value_name = "NAME|URL")]
    ledger: Option<String>,
    /// Never open a connection that could write [env: LEDGERTOP_READ_ONLY]
    #[arg(long, global = true, help_heading = EVERYWHERE)]
    read_only: bool,
    /// Let the console act on jobs: quarantine, revoke, redrive, promote, discard
    /// [env: LEDGERTOP_OPERATE]
    #[arg(long, global = true, help_heading = EVERYWHERE)]
    operate: bool,
    /// How often the console reads [env: LEDGERTOP_REFRESH] [default: 1s]
    #[arg(
        long, global = true, help_heading = EVERYWHERE, value_name = "DURATION",
        value_parser = refresh
    )]
    refresh: Option<Duration>,
    /// Colours: standard, high_contrast or mono [env: LEDGERTOP_THEME]
    #[arg(
        long, global = true, help_heading = EVERYWHERE, value_name = "NAME",
        value_parser = choice::<Theme>
    )]
    theme: Option<Theme>,
    /// What the terminal's background is like: auto, dark or light [env: LEDGERTOP_BACKGROUND]
    #[arg(
        long, global = true, help_heading = EVERYWHERE, value_name = "NAME",
        value_parser = choice::<Background>
    )]
    background: Option<Background>,
    /// In which time zone moments are shown: utc, local, relative or a name [env:
    /// LEDGERTOP_TIME_ZONE]
    #[arg(
        long, global = true, help_heading = EVERYWHERE, value_name = "ZONE",
        value_parser = time_zone
    )]
    time_zone: Option<TimeZone>,
    /// No colours [env: NO_COLOR]
    #[arg(long, global = true, help_heading = EVERYWHERE)]
    no_color: bool,
    /// Write a log to this file, made for its owner only [env: LEDGERTOP_LOG]
    #[arg(long, global = true, help_heading = EVERYWHERE, value_name = "FILE")]
    log: Option<PathBuf>,
    /// How much to log: error, warn, info, debug or trace [env: LEDGERTOP_LOG_LEVEL]
    /// [default: info]
    #[arg(
        long, global = true, help_heading = EVERYWHERE, value_name = "LEVEL",
        value_parser = choice::<log::Level>
    )]
    log_level: Option<log::Level>,
}

impl Settings {
    fn flags(&self) -> Flags {
        Flags {
            config: self.config.clone(),
            ledger: self.ledger.clone(),
            read_only: self.read_only,
            operate: self.operate,
            refresh: self.refresh,
            theme: self.theme,
            background: self.background,
            time_zone: self.time_zone,
            no_color: self.no_color,
        }
    }
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// See it at work: a private ledger, real workers, flaky dependencies, and an incident
    Demo(demo::DemoFlags),
    /// Create the ledger's schema, or upgrade it; safe to run again and from several places
    Init(init::InitFlags),
    /// Print the whole board, once
    Snapshot(snapshot::SnapshotFlags),
    /// List jobs by a filter
    Jobs(jobs::JobsFlags),
    /// Print one job with its whole timeline
    Job(job::JobFlags),
    /// Print dead letters in groups: class, reason and what their errors have in common
    DeadLetters(dead_letters::DeadLettersFlags),
    /// List who holds which job, expired leases first
    Leases(leases::LeasesFlags),
    /// List what operators did, the newest first
    Audit(audit::AuditFlags),
    /// Hold every job's history against the ledger's laws
    Verify(verify::VerifyFlags),
    /// Record one job from flags, or many from NDJSON on standard input
    Enqueue(Box<enqueue::EnqueueFlags>),
    /// Do jobs: post each to a URL, or run a command for it
    Work(Box<work::WorkFlags>),
    /// Set jobs aside: pending, ready, waiting for a retry, or dead
    Quarantine(Box<operate::ActFlags>),
    /// Send dead letters back to work, one first, alone
    Redrive(Box<operate::ActFlags>),
    /// End the wait of jobs for their retry
    Promote(Box<operate::ActFlags>),
    /// Close dead letters for good
    Discard(Box<operate::ActFlags>),
    /// Take running jobs from their workers and set them aside; their effects may have happened
    Revoke(Box<operate::ActFlags>),
    /// List, watch, carry out, pause, resume or cancel bulk operations
    #[command(subcommand)]
    Plan(plan::PlanCommand),
    /// Bring the config's retry rules into the ledger, or list those that are there
    #[command(subcommand)]
    Policy(policy::PolicyCommand),
    /// Print every setting, its value and where it comes from
    Config,
    /// Print completions for a shell
    Completions(manual::CompletionsFlags),
    /// Print the manual page
    Man,
}

/// Where a command reads and writes; the real ones in `main`.
pub struct Streams<'a> {
    /// Results.
    pub out: &'a mut (dyn Write + Send),
    /// Messages.
    pub messages: &'a mut (dyn Write + Send),
}

/// Runs what `arguments` ask for, says what went wrong, and returns the exit code.
pub fn main(
    arguments: impl IntoIterator<Item = OsString>,
    environment: &Environment,
    streams: &mut Streams<'_>,
) -> Exit {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let result = match parse(&arguments) {
        Ok(cli) => run(&cli, environment, streams),
        Err(Unparsed::Refused(error)) => Err(CliError::Config(error)),
        Err(Unparsed::Clap(error)) => return answer(&error),
    };
    let result = result.and_then(|()| streams.out.flush().map_err(CliError::Output));
    match result {
        Ok(()) => Exit::Done,
        Err(error) => {
            if !error.is_quiet() {
                // Where even messages cannot be written, the exit code still says it.
                drop(say(streams.messages, &error));
            }
            error.exit()
        }
    }
}

/// Prints help, version or a usage error as clap does, and its exit code.
fn answer(error: &clap::Error) -> Exit {
    // As above: what cannot be said is still told by the exit code.
    drop(error.print());
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => Exit::Done,
        _ => Exit::Usage,
    }
}

/// An error and its causes, on one line each.
fn say(messages: &mut dyn Write, error: &CliError) -> std::io::Result<()> {
    let mut text = format!("ledgertop: {error}");
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        let said = cause.to_string();
        // A transparent error says what its cause says.
        if !text.contains(&said) {
            text.push_str(": ");
            text.push_str(&said);
        }
        source = cause.source();
    }
    writeln!(messages, "{text}")
}

/// Why there is nothing to run.
enum Unparsed {
    Refused(ConfigError),
    Clap(clap::Error),
}

/// Reads the arguments. A password in any of them is refused before anything else is said, since an
/// error could repeat it.
fn parse(arguments: &[OsString]) -> Result<Cli, Unparsed> {
    let secret = arguments
        .iter()
        .any(|argument| url::argument_holds_password(&argument.to_string_lossy()));
    if secret {
        return Err(Unparsed::Refused(ConfigError::PasswordInArguments));
    }
    Cli::try_parse_from(arguments).map_err(Unparsed::Clap)
}

fn run(cli: &Cli, environment: &Environment, streams: &mut Streams<'_>) -> Result<(), CliError> {
    // These two need neither config nor ledger, and must work where both are broken.
    match &cli.command {
        Some(Command::Completions(flags)) => {
            return manual::completions(flags, Cli::command(), streams.out);
        }
        Some(Command::Man) => return manual::page(Cli::command(), streams.out),
        Some(
            Command::Demo(_)
            | Command::Init(_)
            | Command::Snapshot(_)
            | Command::Jobs(_)
            | Command::Job(_)
            | Command::DeadLetters(_)
            | Command::Leases(_)
            | Command::Audit(_)
            | Command::Verify(_)
            | Command::Enqueue(_)
            | Command::Work(_)
            | Command::Quarantine(_)
            | Command::Redrive(_)
            | Command::Promote(_)
            | Command::Discard(_)
            | Command::Revoke(_)
            | Command::Plan(_)
            | Command::Policy(_)
            | Command::Config,
        )
        | None => {}
    }
    let flags = cli.settings.flags();
    let config = crate::config::load(&flags, environment)?;
    let logging = log::Logging::of(
        cli.settings.log.as_deref(),
        cli.settings.log_level,
        environment,
    )?;
    let without_a_file = match cli.command {
        // Nothing else is on its terminal, and a service's log is its standard error.
        Some(Command::Work(_)) => log::WithoutFile::StandardError,
        Some(_) | None => log::WithoutFile::Nowhere,
    };
    let _until_the_end = logging.start(without_a_file)?;
    dispatch(cli, &config, environment, streams)
}

fn dispatch(
    cli: &Cli,
    config: &Config,
    environment: &Environment,
    streams: &mut Streams<'_>,
) -> Result<(), CliError> {
    match &cli.command {
        Some(Command::Config) => {
            // Only the console knows its keys; a mistake in them is one of the config all the same.
            let _keys_are_fine = console::keymap(config)?;
            config::print(config, streams.out)
        }
        Some(Command::Demo(flags)) => {
            open::block_on(demo::run(flags, config, environment, streams))
        }
        Some(Command::Init(flags)) => open::block_on(init::run(flags, config, streams)),
        Some(Command::Snapshot(flags)) => open::block_on(snapshot::run(flags, config, streams)),
        Some(Command::Jobs(flags)) => open::block_on(jobs::run(flags, config, streams)),
        Some(Command::Job(flags)) => open::block_on(job::run(flags, config, streams)),
        Some(Command::DeadLetters(flags)) => {
            open::block_on(dead_letters::run(flags, config, streams))
        }
        Some(Command::Leases(flags)) => open::block_on(leases::run(flags, config, streams)),
        Some(Command::Audit(flags)) => open::block_on(audit::run(flags, config, streams)),
        Some(Command::Verify(flags)) => open::block_on(verify::run(flags, config, streams)),
        Some(Command::Enqueue(flags)) => {
            open::block_on(enqueue::run(flags, config, environment, streams))
        }
        Some(Command::Work(flags)) => {
            open::block_on(work::run(flags, config, environment, streams))
        }
        Some(Command::Policy(command)) => {
            open::block_on(policy::run(command, config, environment, streams))
        }
        Some(
            command @ (Command::Quarantine(_)
            | Command::Redrive(_)
            | Command::Promote(_)
            | Command::Discard(_)
            | Command::Revoke(_)
            | Command::Plan(_)),
        ) => operate(command, (config, environment), streams),
        // Answered before there was a config.
        Some(Command::Completions(_) | Command::Man) => Ok(()),
        None => console::open(config, environment),
    }
}

/// Runs a command that acts on jobs or plans.
fn operate(
    command: &Command,
    with: (&Config, &Environment),
    streams: &mut Streams<'_>,
) -> Result<(), CliError> {
    let act =
        |operation, flags, streams| open::block_on(operate::run(operation, flags, with, streams));
    match command {
        Command::Quarantine(flags) => act(Operation::Quarantine, flags, streams),
        Command::Redrive(flags) => act(Operation::Redrive, flags, streams),
        Command::Promote(flags) => act(Operation::Promote, flags, streams),
        Command::Discard(flags) => act(Operation::Discard, flags, streams),
        Command::Revoke(flags) => act(Operation::Revoke, flags, streams),
        Command::Plan(command) => open::block_on(plan::run(command, with, streams)),
        _another_command => Ok(()),
    }
}

fn refresh(text: &str) -> Result<Duration, String> {
    REFRESH
        .parse(text)
        .ok_or_else(|| format!("allowed: {}", REFRESH.allowed()))
}

fn time_zone(text: &str) -> Result<TimeZone, String> {
    TimeZone::parse(text).ok_or_else(|| format!("allowed: {}", TimeZone::ALLOWED))
}

fn choice<T: Choice>(text: &str) -> Result<T, String> {
    T::parse(text).ok_or_else(|| format!("allowed: {}", T::allowed()))
}

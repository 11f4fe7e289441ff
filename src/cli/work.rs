//! `ledgertop work`: a worker for handlers in any language, behind HTTP or as commands (row T7).
//!
//! It wires a handler to the worker runtime, keeps house beside it, and ends in good order: the
//! first signal drains, the second ends at once. What an answer means is in the tables that
//! [`mapping`] prints; every rule is the ledger's. Next: `worker::handler`.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{CliError, Streams, open, signals};
use crate::config::settings::DurationRange;
use crate::config::{Config, Environment, environment};
use crate::ledger::job::NAME_MAX_BYTES;
use crate::operate::Executor;
use crate::store::{BATCH_MAX, Store};
use crate::worker::handler::exec::{self, BadCommand, ExecHandler, ExecOptions};
use crate::worker::handler::http::guard::Reach;
use crate::worker::handler::http::{self, HttpHandler, HttpOptions, HttpSetupError};
use crate::worker::housekeep::{HousekeepOptions, housekeep};
use crate::worker::{BadOption, Handler, Handlers, Shutdown, Tally, Worker, WorkerOptions};

mod empty;
mod mapping;
mod progress;
mod queues;

use queues::{QueueFlag, Queues};

/// How long a lease may last.
const LEASE: DurationRange = DurationRange {
    min: Duration::from_secs(1),
    max: Duration::from_hours(24),
};
/// How long an attempt may take.
const TIMEOUT: DurationRange = DurationRange {
    min: Duration::from_millis(100),
    max: Duration::from_hours(24 * 7),
};
/// How long a drain may take.
const GRACE: DurationRange = DurationRange {
    min: Duration::ZERO,
    max: Duration::from_hours(24),
};
/// How long a command that is told to end may take to do so before it is killed.
const KILL_AFTER: Duration = Duration::from_secs(5);
/// How long the end of a drained worker waits for the last of its commands, beyond that.
const LAST_COMMANDS: Duration = Duration::from_secs(2);

/// Flags of `work`.
#[derive(Debug, Args)]
#[command(
    after_help = "The first SIGTERM or SIGINT drains: nothing more is claimed, what runs may end \
                  within --grace, the rest is given back. The second ends at once.\nThe log goes \
                  to standard error unless --log names a file. See docs/work.md."
)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "four switches of the command line are four booleans"
)]
pub struct WorkFlags {
    /// A queue to work on, with the most jobs of it in hand; may be given more than once, queues
    /// take turns [default: those of the config]
    #[arg(long = "queue", value_name = "NAME[=NUMBER]", value_parser = queues::parse)]
    queues: Vec<QueueFlag>,
    /// Post each job to this URL; the answer's status decides what follows
    /// [env: LEDGERTOP_HTTP_AUTHORIZATION is its Authorization header]
    #[arg(
        long, value_name = "URL", conflicts_with = "exec",
        required_unless_present_any = ["exec", "print_mapping"]
    )]
    http: Option<String>,
    /// Run this command for each job, without a shell; its exit code decides what follows
    #[arg(long, value_name = "CMD")]
    exec: Option<String>,
    /// The most jobs in hand at a time, and so the most requests or commands [default: the sum of
    /// the queues' numbers, 10 where one has none]
    #[arg(
        long, value_name = "NUMBER",
        value_parser = clap::builder::RangedU64ValueParser::<u16>::new()
            .range(1..=crate::ledger::num::count(BATCH_MAX))
    )]
    concurrency: Option<u16>,
    /// How long a lease lasts without renewal [default: 30s]
    #[arg(long, value_name = "DURATION", value_parser = |text: &str| within(LEASE, text))]
    lease: Option<Duration>,
    /// How long an attempt may take [default: 5m]
    #[arg(long, value_name = "DURATION", value_parser = |text: &str| within(TIMEOUT, text))]
    timeout: Option<Duration>,
    /// How long a drain may take [default: 20s]
    #[arg(long, value_name = "DURATION", value_parser = |text: &str| within(GRACE, text))]
    grace: Option<Duration>,
    /// The worker's name in leases and events, where a part of this process's own is added
    /// [default: your user and host]
    #[arg(long, value_name = "NAME", value_parser = name)]
    name: Option<String>,
    /// Trust the certificate authorities in this PEM file, and no others, with --http https://...
    /// [default: the config's, or those that browsers trust]
    #[arg(long, value_name = "FILE")]
    ca_file: Option<PathBuf>,
    /// Let --http connect to private and loopback addresses too
    #[arg(long)]
    allow_private: bool,
    /// Leave due retries, run-out leases, parents and approved plans to another process
    #[arg(long)]
    no_housekeeping: bool,
    /// End when no job of the queues is ready, running or waiting
    #[arg(long)]
    until_empty: bool,
    /// Print what each status and exit code means, as the config has it, and end
    #[arg(long)]
    print_mapping: bool,
}

fn within(range: DurationRange, text: &str) -> Result<Duration, String> {
    let parsed = range.parse(text);
    parsed.ok_or_else(|| format!("allowed: {}", range.allowed()))
}

fn name(text: &str) -> Result<String, String> {
    if (1..=NAME_MAX_BYTES).contains(&text.len()) {
        Ok(text.to_owned())
    } else {
        Err(format!("allowed: from 1 to {NAME_MAX_BYTES} bytes"))
    }
}

/// Why no work was begun.
#[derive(Debug, thiserror::Error)]
pub enum WorkProblem {
    /// Nothing to work on.
    #[error(
        "no queue is named: give --queue NAME, or write [work.queues.NAME] into the config; no job \
         was claimed"
    )]
    NoQueue,
    /// An option of the worker.
    #[error(transparent)]
    Options(#[from] BadOption),
    /// The URL.
    #[error("{0}; no job was claimed")]
    Http(#[from] HttpSetupError),
    /// The command.
    #[error("{0}; no job was claimed")]
    Command(#[from] BadCommand),
}

/// What does the work.
enum Chosen {
    Http(Arc<HttpHandler>),
    Exec(Arc<ExecHandler>),
}

impl Chosen {
    /// The handler that the flags ask for; `None` where they ask for none.
    fn of(
        flags: &WorkFlags,
        config: &Config,
        environment: &Environment,
        options: &WorkerOptions,
    ) -> Result<Option<Self>, WorkProblem> {
        if let Some(url) = &flags.http {
            let secret = environment.text(environment::HTTP_AUTHORIZATION);
            let handler = HttpHandler::new(HttpOptions {
                url: http::url(url)?,
                reach: if flags.allow_private {
                    Reach::Private
                } else {
                    Reach::Public
                },
                table: mapping::statuses(&config.work),
                ca_file: flags.ca_file.clone().or(config.work.ca_file.clone()),
                authorization: secret.map(http::authorization).transpose()?,
                timeout: options.timeout,
                connections: options.concurrency,
            })?;
            return Ok(Some(Self::Http(Arc::new(handler))));
        }
        let Some(command) = &flags.exec else {
            return Ok(None);
        };
        let (program, arguments) = exec::words(command)?;
        Ok(Some(Self::Exec(Arc::new(ExecHandler::new(ExecOptions {
            program,
            arguments,
            table: mapping::exits(&config.work),
            timeout: options.timeout,
            grace: KILL_AFTER,
        })))))
    }

    /// Looks whether work can begin.
    async fn check(&self) -> Result<(), WorkProblem> {
        match self {
            Self::Http(handler) => Ok(handler.check().await?),
            Self::Exec(_) => Ok(()),
        }
    }

    fn handler(&self) -> Arc<dyn Handler> {
        match self {
            Self::Http(handler) => Arc::clone(handler) as Arc<dyn Handler>,
            Self::Exec(handler) => Arc::clone(handler) as Arc<dyn Handler>,
        }
    }

    /// How long the worker lets an attempt run: a command is ended by its handler, which keeps what
    /// it said.
    fn limit(&self, timeout: Duration) -> Duration {
        match self {
            Self::Http(_) => timeout,
            Self::Exec(handler) => handler.longest(),
        }
    }

    /// Waits for what attempts that were given up left behind; not for long where the end is to be
    /// at once.
    async fn wind_up(&self, at_once: bool) {
        let Self::Exec(handler) = self else {
            return;
        };
        if at_once {
            handler.kill();
        }
        let patience = KILL_AFTER + LAST_COMMANDS;
        if tokio::time::timeout(patience, handler.all_ended())
            .await
            .is_err()
        {
            tracing::warn!("a command could not be ended");
        }
    }
}

/// Runs `work`.
///
/// # Errors
/// Where no work can begin, the ledger cannot be opened, or jobs were left behind by a second
/// signal.
pub(super) async fn run(
    flags: &WorkFlags,
    config: &Config,
    environment: &Environment,
    streams: &mut Streams<'_>,
) -> Result<(), CliError> {
    let concurrency = flags.concurrency.map(usize::from);
    let queues = Queues::of(&flags.queues, concurrency, &config.work);
    let options = options(flags, &queues, environment);
    let chosen = Chosen::of(flags, config, environment, &options).map_err(CliError::Work)?;
    let chosen = match chosen {
        Some(chosen) if !flags.print_mapping => chosen,
        chosen => {
            let tables = match chosen {
                Some(Chosen::Http(_)) => mapping::Tables::Http,
                Some(Chosen::Exec(_)) => mapping::Tables::Exec,
                None => mapping::Tables::Both,
            };
            let printed = mapping::print(&config.work, tables, streams.out);
            return printed.map_err(CliError::Output);
        }
    };
    queues.check()?;
    options.check().map_err(WorkProblem::Options)?;
    chosen.check().await?;
    // From here on a signal asks for a drain.
    let requests = signals::Requests::new();
    let store = open::store(config, "work").await?;
    let shutdown = Shutdown::default();
    let mut beside = Beside::start(flags, &options, &store, &shutdown);
    beside.obey(requests, shutdown.clone());
    if flags.until_empty {
        beside.end_when_empty(open::feed(config)?, queues.names, shutdown.clone());
    }
    let options = WorkerOptions {
        timeout: chosen.limit(options.timeout),
        ..options
    };
    let handler = progress::Counted {
        handler: chosen.handler(),
        counters: Arc::clone(&beside.counters),
    };
    let worker = Worker::new(store, Handlers::all(Arc::new(handler)), options)
        .map_err(WorkProblem::Options)?;
    let tally = worker.run(shutdown.clone()).await;
    let at_once = shutdown.at_once.is_cancelled();
    chosen.wind_up(at_once).await;
    beside.end().await;
    closing(&tally, streams.messages).map_err(CliError::Output)?;
    match unsettled(&tally) {
        left if at_once && left > 0 => Err(CliError::LeftBehind { left }),
        _none => Ok(()),
    }
}

fn options(flags: &WorkFlags, queues: &Queues, environment: &Environment) -> WorkerOptions {
    let (_, own) = Uuid::now_v7().as_u64_pair();
    // The end of the name is of this very process, whoever else is given the same one: what is held
    // in a name is taken up by its bearer.
    let part = format!(":{}:{:08x}", std::process::id(), own & 0xffff_ffff);
    let said = flags
        .name
        .clone()
        .unwrap_or_else(|| environment.who_and_where());
    let end = said.floor_char_boundary(NAME_MAX_BYTES.saturating_sub(part.len()));
    let name = format!("{}{part}", said.get(..end).unwrap_or_default());
    let usual = WorkerOptions::new(&name, own);
    WorkerOptions {
        queues: queues.names.clone(),
        limits: queues.limits.clone(),
        concurrency: queues.concurrency,
        batch: queues.concurrency.min(usual.batch),
        lease: flags.lease.unwrap_or(usual.lease),
        timeout: flags.timeout.unwrap_or(usual.timeout),
        grace: flags.grace.unwrap_or(usual.grace),
        ..usual
    }
}

/// What goes on beside the worker, until it has ended.
struct Beside {
    tasks: JoinSet<()>,
    stop: CancellationToken,
    counters: Arc<progress::Counters>,
}

impl Beside {
    fn start(
        flags: &WorkFlags,
        options: &WorkerOptions,
        store: &Arc<dyn Store>,
        shutdown: &Shutdown,
    ) -> Self {
        let mut beside = Self {
            tasks: JoinSet::new(),
            // Ended at once, housekeeping ends too.
            stop: shutdown.at_once.child_token(),
            counters: Arc::default(),
        };
        if !flags.no_housekeeping {
            let plans = Executor::new(Arc::clone(store), &options.name);
            beside.tasks.spawn(plans.carry_on(beside.stop.clone()));
            let keeping = HousekeepOptions::new(&options.name, options.seed);
            let (store, stop) = (Arc::clone(store), beside.stop.clone());
            beside.tasks.spawn(async move {
                housekeep(store, keeping, stop).await;
            });
        }
        beside.spawn(progress::tell(Arc::clone(&beside.counters)));
        beside
    }

    /// The first signal drains, the second ends at once.
    fn obey(&mut self, mut requests: signals::Requests, shutdown: Shutdown) {
        self.spawn(async move {
            requests.next().await;
            tracing::info!("asked to end: draining; a second signal ends at once");
            shutdown.gently.cancel();
            requests.next().await;
            shutdown.at_once.cancel();
        });
    }

    fn end_when_empty(
        &mut self,
        feed: Box<dyn crate::store::Feed>,
        queues: Vec<String>,
        shutdown: Shutdown,
    ) {
        self.spawn(async move {
            empty::until_empty(feed, &queues).await;
            tracing::info!("the queues are empty");
            shutdown.gently.cancel();
        });
    }

    /// Runs `task` until the end.
    fn spawn(&mut self, task: impl Future<Output = ()> + Send + 'static) {
        let stop = self.stop.clone();
        self.tasks.spawn(async move {
            tokio::select! {
                () = stop.cancelled() => {}
                () = task => {}
            }
        });
    }

    /// Ends everything; a sweep under way is finished.
    async fn end(mut self) {
        self.stop.cancel();
        while self.tasks.join_next().await.is_some() {}
    }
}

/// Jobs that were claimed and neither settled nor given up for a reason.
fn unsettled(tally: &Tally) -> u64 {
    let over = [
        tally.succeeded,
        tally.retried,
        tally.exhausted,
        tally.rejected,
        tally.released,
        tally.held,
        tally.stale,
        tally.refused,
        tally.lost,
        tally.given_up,
    ];
    tally.claimed.saturating_sub(over.iter().sum())
}

/// One line about what was done.
fn closing(tally: &Tally, messages: &mut dyn Write) -> std::io::Result<()> {
    let parts = [
        (tally.succeeded, "succeeded"),
        (tally.retried, "to be retried"),
        (tally.exhausted, "dead"),
        (tally.rejected, "quarantined"),
        (tally.released, "given back"),
        (tally.held, "held"),
        (tally.stale + tally.refused + tally.lost, "refused"),
        (tally.given_up, "given up"),
        (unsettled(tally), "left to their leases"),
    ];
    let told: Vec<String> = parts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    let attempts = if tally.claimed == 1 {
        "1 attempt".to_owned()
    } else {
        format!("{} attempts", tally.claimed)
    };
    if told.is_empty() {
        writeln!(messages, "{attempts}")
    } else {
        writeln!(messages, "{attempts}: {}", told.join(", "))
    }
}

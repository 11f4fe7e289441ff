//! `ledgertop enqueue`: one job from flags, or many from NDJSON on standard input.
//!
//! The walk: [`input`] cuts lines, `line` makes each a job, `stream` commits batches, `report`
//! says what became of them. A repeated key is a duplicate and no error, so that any input may be
//! given again.

use std::io::{self, BufRead, BufReader, IsTerminal as _, Write};
use std::time::Instant;

use clap::Args;
use indicatif::ProgressBar;
use serde_json::Value;
use tokio::sync::mpsc;
use uuid::Uuid;

use self::input::{Jobs, Numbered};
use self::line::LineProblem;
use self::report::Report;
use super::{CliError, Streams, open, signals};
use crate::config::{Config, Environment, environment};
use crate::ledger::event::ActorKind;
use crate::ledger::job::{Actor, NewJob};
use crate::ledger::text::SafeText;

pub mod input;
pub mod line;
mod report;
mod stream;

pub use report::{Done, Refusal};

/// How much of the input is read at once.
const READ_BYTES: usize = 1 << 18;

/// How many mistakes a dry run lists; it counts them all.
const MISTAKES_MAX: u64 = 20;

/// Flags of `enqueue`.
#[derive(Debug, Args)]
#[command(after_help = ENQUEUE_HELP)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "switches of the command line are booleans"
)]
pub struct EnqueueFlags {
    /// The queue
    #[arg(long, value_name = "NAME", requires_all = ["kind", "idempotency_key"])]
    queue: Option<String>,
    /// What a worker is asked to do
    #[arg(long, value_name = "NAME", requires = "queue")]
    kind: Option<String>,
    /// The key that names the operation, e.g. tenant_7:invoice_184:collect
    #[arg(long, visible_alias = "key", value_name = "KEY", requires = "queue")]
    idempotency_key: Option<String>,
    /// References and parameters, as JSON [default: {}]
    #[arg(long, value_name = "JSON", requires = "queue")]
    payload: Option<String>,
    /// Whose work it is
    #[arg(long, value_name = "NAME", requires = "queue")]
    tenant: Option<String>,
    /// The outside event that asked for it
    #[arg(long, value_name = "ID", requires = "queue")]
    event_id: Option<String>,
    /// The version of the payload's schema
    #[arg(long, value_name = "VERSION", requires = "queue")]
    schema_version: Option<String>,
    /// Not before this moment, in RFC 3339
    #[arg(long, value_name = "MOMENT", requires = "queue")]
    available_at: Option<String>,
    /// Which retry policy [default: default]
    #[arg(long, value_name = "NAME", requires = "queue")]
    policy: Option<String>,
    /// The key of the parent that waits for this job
    #[arg(long, value_name = "KEY", requires = "queue")]
    parent_key: Option<String>,
    /// Whether the parent waits for this job to succeed [default: true]
    #[arg(long, value_name = "BOOL", requires = "parent_key")]
    required: Option<bool>,
    /// This job is a parent: it stays pending until every required child has succeeded
    #[arg(long, requires = "queue")]
    awaits_children: bool,
    /// The name under which events record who enqueued [env: LEDGERTOP_PRODUCER]
    /// (default: USER@HOST)
    #[arg(long, value_name = "NAME")]
    producer: Option<String>,
    /// Check the input, list its mistakes, and enqueue nothing
    #[arg(long)]
    dry_run: bool,
    /// Print the outcome of each job as a line of JSON: line, id, outcome
    #[arg(long)]
    json: bool,
}

const ENQUEUE_HELP: &str = "\
Without --queue, standard input is read: one JSON object a line, with the keys queue, kind, \
idempotency_key, payload, and optionally tenant, event_id, schema_version, available_at, policy, \
parent_key, required, awaits_children. Jobs are committed in batches of 1,000. At the first line \
that is no job everything before it is committed, and the error says from which line to go on.";

/// Runs `enqueue`.
///
/// # Errors
/// Where a job is refused, or the ledger cannot be reached.
pub(super) async fn run(
    flags: &EnqueueFlags,
    config: &Config,
    environment: &Environment,
    streams: &mut Streams<'_>,
) -> Result<(), CliError> {
    let job = flags.job()?;
    if job.is_none() && io::stdin().is_terminal() {
        return Err(CliError::NoJobs);
    }
    if flags.dry_run {
        return match job {
            Some(_) => said(writeln!(
                streams.messages,
                "1 job, 0 mistakes; nothing was enqueued"
            )),
            None => check(&mut Jobs::new(stdin()), streams.messages),
        };
    }
    let store = open::store(config, "enqueue").await?;
    let by = Actor {
        kind: ActorKind::Producer,
        name: producer(flags.producer.as_deref(), environment),
    };
    let (jobs, size) = match job {
        Some(job) => (only(job), None),
        None => (
            input::read_ahead(stdin()).map_err(CliError::Thread)?,
            report::input_size(&io::stdin()),
        ),
    };
    let bar = if io::stderr().is_terminal() {
        report::bar(size)
    } else {
        ProgressBar::hidden()
    };
    let began = Instant::now();
    let json: Option<&mut dyn Write> = if flags.json {
        Some(&mut *streams.out)
    } else {
        None
    };
    let mut report = Report::new(json, bar);
    let end = stream::run(&*store, &by, jobs, &mut report, signals::asked_to_end()).await;
    let (done, broken) = report.finish();
    tracing::info!(
        created = done.created,
        duplicates = done.duplicates,
        ?end,
        "enqueue"
    );
    said(writeln!(
        streams.messages,
        "{}",
        report::summary(done, began.elapsed())
    ))?;
    match (Refusal::of(end, done), broken) {
        (Some(refusal), _) => Err(refusal.into()),
        (None, Some(error)) => Err(CliError::Output(error)),
        (None, None) => Ok(()),
    }
}

fn said(result: io::Result<()>) -> Result<(), CliError> {
    result.map_err(CliError::Output)
}

fn stdin() -> BufReader<io::Stdin> {
    BufReader::with_capacity(READ_BYTES, io::stdin())
}

/// One job as if it were the only line of an input.
fn only(job: NewJob) -> mpsc::Receiver<Result<Numbered, input::InputError>> {
    let (sender, receiver) = mpsc::channel(1);
    let numbered = Numbered {
        line: 1,
        bytes: 0,
        job,
    };
    // The receiver is right here, so there is room and nobody has gone.
    drop(sender.try_send(Ok(numbered)));
    receiver
}

/// A dry run: every line is looked at, also behind a mistake.
fn check<R: BufRead>(jobs: &mut Jobs<R>, messages: &mut dyn Write) -> Result<(), CliError> {
    let (mut good, mut mistakes) = (0_u64, 0_u64);
    while let Some(next) = jobs.next() {
        match next {
            Ok(_) => good = good.saturating_add(1),
            Err(error @ input::InputError::Read { .. }) => {
                let done = Done::default();
                return Err(Refusal::Input { error, done }.into());
            }
            Err(mistake @ input::InputError::Line { .. }) => {
                mistakes = mistakes.saturating_add(1);
                if mistakes <= MISTAKES_MAX {
                    said(writeln!(messages, "{mistake}"))?;
                }
            }
        }
    }
    if mistakes > MISTAKES_MAX {
        said(writeln!(messages, "and {} more", mistakes - MISTAKES_MAX))?;
    }
    if mistakes > 0 {
        let jobs = good;
        return Err(Refusal::Checked { jobs, mistakes }.into());
    }
    said(writeln!(
        messages,
        "{}; nothing was enqueued",
        report::found(good, 0)
    ))
}

impl EnqueueFlags {
    /// The job that the flags name, if they name one.
    fn job(&self) -> Result<Option<NewJob>, LineProblem> {
        let named = (&self.queue, &self.kind, &self.idempotency_key);
        let (Some(queue), Some(kind), Some(key)) = named else {
            return Ok(None);
        };
        let mut job = NewJob::new(Uuid::now_v7(), queue, kind, key);
        if let Some(payload) = &self.payload {
            job.payload = json(payload)?;
        }
        if let Some(moment) = &self.available_at {
            job.available_at = Some(line::moment("available_at", moment)?);
        }
        if let Some(policy) = &self.policy {
            job.policy.clone_from(policy);
        }
        job.tenant = self.tenant.clone().unwrap_or_default();
        job.event_id.clone_from(&self.event_id);
        job.schema_version.clone_from(&self.schema_version);
        job.parent = line::parent(self.parent_key.clone(), self.required)?;
        job.awaits_children = self.awaits_children;
        job.check()?;
        Ok(Some(job))
    }
}

fn json(text: &str) -> Result<Value, LineProblem> {
    match serde_json::from_str(text) {
        Ok(value) => line::payload(value),
        Err(_) => Err(LineProblem::NotAllowed {
            key: "payload",
            value: SafeText::new(text),
            allowed: "JSON, such as '{\"invoice\":184}'",
        }),
    }
}

/// Under which name events record who enqueued: by flag, environment, or who and where this is.
fn producer(flag: Option<&str>, environment: &Environment) -> String {
    let named = flag.or_else(|| environment.text(environment::PRODUCER));
    named.map_or_else(|| environment.who_and_where(), str::to_owned)
}

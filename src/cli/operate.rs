//! `ledgertop quarantine|redrive|promote|discard|revoke`: acts on jobs, with a preview, a reason
//! and a receipt.
//!
//! One job is acted on at once; more than one become a plan, which this command carries out while
//! it is watched, and which goes on without it. Nothing is decided here: [`crate::operate`] acts.
//! `docs/operate.md` says what is printed. Next: `plan`, for plans that are there.

use std::io::{self, BufRead as _, IsTerminal as _, Write};

use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use uuid::Uuid;

use super::lists::{filter, now};
use super::{CliError, Streams, open, plan};
use crate::config::{Config, Environment};
use crate::ledger::job::Operation;
use crate::ledger::plan::{PLAN_BATCH_MAX, Pace, Plan, PlanEvent};
use crate::ledger::query::{Pattern, Query, Term, Test};
use crate::ledger::view::ListedJob;
use crate::operate::{Operate, Operator, Order, Preview};
use crate::store::Look;
use crate::store::look::PAGE_MAX;

pub mod problem;
pub(super) mod show;

pub use problem::OperateProblem;

/// The most jobs that are named one by one.
const NAMES_MAX: usize = 10_000;
/// How many names are looked up at once.
const NAMES_AT_ONCE: usize = 50;
/// How many jobs of a filter are read to show what would change; more are counted as "at least".
const PREVIEW_MAX: u64 = 5_000;

/// Flags of the commands that act on jobs.
#[derive(Debug, Args)]
#[command(
    after_help = "One job is acted on at once. More become a plan: their versions are frozen, then \
                  it is carried out\nwhile this command watches; ctrl-c leaves it to any \
                  `ledgertop work` on the ledger, or to `ledgertop plan run`.\nExit codes: 0 done; \
                  1 something was refused, changed meanwhile, or the plan stopped. See \
                  docs/operate.md."
)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "five switches of the command line are five booleans"
)]
pub struct ActFlags {
    /// The jobs, by id or key
    #[arg(
        value_name = "ID|KEY",
        required_unless_present = "filter",
        conflicts_with = "filter"
    )]
    jobs: Vec<String>,
    /// Every job for which this filter holds, such as 'queue:mail state:dead reason:timeout'
    #[arg(long, value_name = "FILTER", value_parser = NonEmptyStringValueParser::new())]
    filter: Option<String>,
    /// Why: kept with every event
    #[arg(long, value_name = "TEXT", value_parser = NonEmptyStringValueParser::new())]
    reason: String,
    /// Only print what would change
    #[arg(long)]
    dry_run: bool,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
    /// Print JSON, see docs/operate.md
    #[arg(long)]
    json: bool,
    /// Approve the plan and leave it to any `ledgertop work` or console on the ledger
    #[arg(long)]
    detach: bool,
    /// A redrive without one job that goes first, alone
    #[arg(long)]
    no_canary: bool,
    /// The most jobs of one batch of the plan
    #[arg(
        long, value_name = "NUMBER", default_value_t = PLAN_BATCH_MAX,
        value_parser = clap::value_parser!(u32).range(1..=i64::from(PLAN_BATCH_MAX))
    )]
    batch_max: u32,
    /// The most jobs a second; 0 for no bound
    #[arg(
        long, value_name = "NUMBER", default_value_t = 0,
        value_parser = clap::value_parser!(u32).range(0..=1_000_000)
    )]
    rate: u32,
    /// The share of a batch, in percent, above which deaths stop the plan
    #[arg(
        long, value_name = "PERCENT", default_value_t = 20,
        value_parser = clap::value_parser!(u8).range(0..=100)
    )]
    stop_percent: u8,
}

impl ActFlags {
    fn order(&self, operation: Operation) -> Order<'_> {
        let usual = Pace::of(operation);
        Order {
            operation,
            query: self.filter.as_deref().unwrap_or_default(),
            reason: &self.reason,
            pace: Pace {
                canary: usual.canary && !self.no_canary,
                batch_max: self.batch_max,
                rate_per_s: self.rate,
                stop_percent: self.stop_percent,
            },
        }
    }
}

/// Who acts, as the config and the system say.
pub(super) fn operator(config: &Config, environment: &Environment) -> Operator {
    let name = config.operator.as_ref().map(|name| name.value.as_str());
    Operator::new(
        name,
        environment.os_user().as_deref(),
        environment.text("SSH_CONNECTION"),
    )
}

/// The handle that acts; there is none in a session that is read-only.
pub(super) async fn handle(
    config: &Config,
    environment: &Environment,
    command: &'static str,
) -> Result<Operate, CliError> {
    let store = open::store(config, command).await?;
    Ok(Operate::new(store, operator(config, environment)))
}

/// Runs a command that acts on jobs.
///
/// # Errors
/// Where the ledger cannot be reached, the session is read-only, nobody confirms, or not everything
/// was done.
pub(super) async fn run(
    operation: Operation,
    flags: &ActFlags,
    (config, environment): (&Config, &Environment),
    streams: &mut Streams<'_>,
) -> Result<(), CliError> {
    if !flags.dry_run {
        // Said before anything is read.
        open::writable_url(config, operation.name())?;
    }
    let mut look = open::look(config)?;
    let query = match &flags.filter {
        Some(text) => Some(filter(&mut *look, config, std::slice::from_ref(text)).await?),
        None => None,
    };
    let preview = match &query {
        Some(query) => preview_of_filter(&mut *look, operation, query).await?,
        None => preview_of_names(&mut *look, operation, &flags.jobs).await?,
    };
    if flags.dry_run {
        return show::preview(&preview, flags.json, streams.out).map_err(CliError::Output);
    }
    if preview.at_least() == 0 {
        show::preview(&preview, false, streams.messages).map_err(CliError::Output)?;
        return Err(OperateProblem::Nothing.into());
    }
    let operate = handle(config, environment, operation.name()).await?;
    if let (None, [target]) = (&query, preview.targets()) {
        confirm(&preview, flags, streams)?;
        let mut receipt = operate.act(operation, *target, &flags.reason).await?;
        receipt.refused += preview.skipped.total() - preview.skipped.not_found;
        receipt.not_found += preview.skipped.not_found;
        show::receipt(&receipt, flags.json, streams.out).map_err(CliError::Output)?;
        return if receipt.is_whole() {
            Ok(())
        } else {
            Err(OperateProblem::NotWhole(receipt.summary()).into())
        };
    }
    let work = Bulk {
        operate: &operate,
        flags,
        skipped: preview.skipped.total(),
    };
    let order = flags.order(operation);
    let draft = match &query {
        Some(query) => operate.draft_where(&order, query).await?,
        None => operate.draft(&order, preview.targets()).await?,
    };
    work.run(&preview, draft, streams).await
}

/// A plan on its way from draft to receipt.
struct Bulk<'a> {
    operate: &'a Operate,
    flags: &'a ActFlags,
    skipped: u64,
}

impl Bulk<'_> {
    async fn run(
        &self,
        seen: &Preview,
        draft: Plan,
        streams: &mut Streams<'_>,
    ) -> Result<(), CliError> {
        // The draft holds exactly the jobs of its moment, counted; the sample was seen before.
        let mut exact = self.operate.preview(&draft).await?;
        exact.sample.clone_from(&seen.sample);
        exact.skipped = seen.skipped.clone();
        let confirmed = if draft.progress.total == 0 {
            Err(OperateProblem::Nothing.into())
        } else {
            confirm(&exact, self.flags, streams)
        };
        if let Err(no) = confirmed {
            let why = "not confirmed";
            self.operate
                .act_on_plan(draft.id, PlanEvent::Cancel, why)
                .await?;
            return Err(no);
        }
        let reason = &self.flags.reason;
        let approve = self
            .operate
            .act_on_plan(draft.id, PlanEvent::Approve, reason);
        plan::expect_done(draft.id, PlanEvent::Approve, approve.await?)?;
        writeln!(
            streams.messages,
            "plan {}: approved, {} jobs frozen",
            draft.id, draft.progress.total
        )
        .map_err(CliError::Output)?;
        if self.flags.detach {
            let plan = self.operate.plan(draft.id).await?;
            return show::plan_receipt(&plan, self.flags.json, streams.out)
                .map_err(CliError::Output);
        }
        let executor = self.operate.executor();
        let done = plan::carry_out(&executor, draft.id, streams).await?;
        let Some(plan) = done else {
            return Ok(());
        };
        show::plan_receipt(&plan, self.flags.json, streams.out).map_err(CliError::Output)?;
        plan::expect_whole(&plan, self.skipped)
    }
}

/// Asks the person at the terminal, where nobody has said yes already.
fn confirm(preview: &Preview, flags: &ActFlags, streams: &mut Streams<'_>) -> Result<(), CliError> {
    if flags.yes {
        return Ok(());
    }
    if !io::stdin().is_terminal() {
        return Err(OperateProblem::NeedsYes.into());
    }
    show::preview(preview, false, streams.messages).map_err(CliError::Output)?;
    let wanted = if preview.needs_typed_count() {
        preview.at_least().to_string()
    } else {
        "yes".to_owned()
    };
    let ask = |out: &mut dyn Write| {
        write!(out, "Type {wanted} to {}: ", preview.operation.name())?;
        out.flush()
    };
    ask(streams.messages).map_err(CliError::Output)?;
    let mut typed = String::new();
    let read = io::stdin().lock().read_line(&mut typed);
    if read.is_ok() && typed.trim() == wanted {
        Ok(())
    } else {
        Err(OperateProblem::NotConfirmed.into())
    }
}

/// What an act on every job of a filter would change.
async fn preview_of_filter(
    look: &mut dyn Look,
    operation: Operation,
    query: &Query,
) -> Result<Preview, CliError> {
    let mut preview = None;
    let mut after = None;
    let mut read = 0_u64;
    loop {
        let order = query.natural_order();
        let page = look.jobs(query, order, after.as_ref(), PAGE_MAX).await?;
        let preview = preview.get_or_insert_with(|| Preview::new(operation, page.as_of));
        for job in &page.jobs {
            preview.add(job);
        }
        read += crate::ledger::num::count(page.jobs.len());
        after = page.next;
        if after.is_none() {
            return Ok(preview.clone());
        }
        if read >= PREVIEW_MAX {
            preview.cut();
            return Ok(preview.clone());
        }
    }
}

/// What an act on jobs that are named one by one would change.
async fn preview_of_names(
    look: &mut dyn Look,
    operation: Operation,
    names: &[String],
) -> Result<Preview, CliError> {
    if names.len() > NAMES_MAX {
        return Err(OperateProblem::TooManyNames { most: NAMES_MAX }.into());
    }
    let mut names = names.to_vec();
    names.sort_unstable();
    names.dedup();
    let mut preview = Preview::new(operation, now(look).await?);
    for piece in names.chunks(NAMES_AT_ONCE) {
        let (ids, keys): (Vec<Test>, Vec<Test>) = piece
            .iter()
            .map(|name| match Uuid::try_parse(name) {
                Ok(id) => Test::Id(id),
                Err(_) => Test::Key(Pattern::Is(name.clone())),
            })
            .partition(|test| matches!(test, Test::Id(_)));
        for tests in [ids, keys] {
            let asked = crate::ledger::num::count(tests.len());
            let found = named(look, tests).await?;
            preview.skipped.not_found +=
                asked.saturating_sub(crate::ledger::num::count(found.len()));
            for job in &found {
                preview.add(job);
            }
        }
    }
    Ok(preview)
}

/// The jobs that any of these tests of one field finds.
async fn named(look: &mut dyn Look, tests: Vec<Test>) -> Result<Vec<ListedJob>, CliError> {
    if tests.is_empty() {
        return Ok(Vec::new());
    }
    let term = |test| Term {
        negated: false,
        test,
    };
    let query = Query {
        terms: tests.into_iter().map(term).collect(),
    };
    let order = query.natural_order();
    Ok(look.jobs(&query, order, None, PAGE_MAX).await?.jobs)
}

//! `ledgertop plan list|show|run|pause|resume|cancel`: bulk operations that are in the ledger.
//!
//! Reads through a connection that cannot write; acts through [`crate::operate`]. `docs/operate.md`
//! says what is printed. Next: [`mod@super::operate`], which makes plans.

use std::time::Duration;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::operate::{OperateProblem, handle};
use super::{CliError, Streams, open, signals};
use crate::config::settings::DurationRange;
use crate::config::{Config, Environment};
use crate::ledger::plan::{PLAN_TABLE, Plan, PlanEvent, PlanState, Progress};
use crate::operate::executor::LEASE;
use crate::operate::{Ended, Executor, Receipt};
use crate::store::plans::{PlanJobsPage, PlanOutcome};

pub(super) mod show;

/// How long an executor's lease may last.
const LEASE_RANGE: DurationRange = DurationRange {
    min: Duration::from_millis(500),
    max: Duration::from_hours(1),
};

/// What to do with plans.
#[derive(Debug, Subcommand)]
pub enum PlanCommand {
    /// List plans, the newest first
    List(ListFlags),
    /// Print one plan: where it stands, its jobs and what was done to it
    Show(ShowFlags),
    /// Carry a running plan out, here and now; another executor goes on when this one ends
    Run(RunFlags),
    /// Hold a running plan
    Pause(MoveFlags),
    /// Let a plan that was paused, or that stopped by itself, go on
    Resume(MoveFlags),
    /// End a plan for good; jobs not yet touched stay as they are
    Cancel(MoveFlags),
}

/// Flags of `plan list`.
#[derive(Debug, Args)]
pub struct ListFlags {
    /// Print JSON, see docs/operate.md
    #[arg(long)]
    json: bool,
    /// At most so many
    #[arg(
        long, value_name = "NUMBER", default_value_t = 50,
        value_parser = clap::value_parser!(u32).range(1..=500)
    )]
    limit: u32,
}

/// Flags of `plan show`.
#[derive(Debug, Args)]
pub struct ShowFlags {
    /// The plan
    #[arg(value_name = "ID")]
    plan: Uuid,
    /// Print JSON, see docs/operate.md
    #[arg(long)]
    json: bool,
    /// At most so many of its jobs
    #[arg(
        long, value_name = "NUMBER", default_value_t = 20,
        value_parser = clap::value_parser!(u32).range(0..=500)
    )]
    jobs: u32,
}

/// Flags of `plan run`.
#[derive(Debug, Args)]
pub struct RunFlags {
    /// The plan
    #[arg(value_name = "ID")]
    plan: Uuid,
    /// Print JSON, see docs/operate.md
    #[arg(long)]
    json: bool,
    /// For how long nobody goes on with the plan when this executor dies
    #[arg(
        long, value_name = "DURATION",
        value_parser = |text: &str| LEASE_RANGE.parse(text)
            .ok_or_else(|| format!("allowed: {}", LEASE_RANGE.allowed()))
    )]
    lease: Option<Duration>,
}

/// Flags of `plan pause`, `plan resume` and `plan cancel`.
#[derive(Debug, Args)]
pub struct MoveFlags {
    /// The plan
    #[arg(value_name = "ID")]
    plan: Uuid,
    /// Why: kept with the plan
    #[arg(long, value_name = "TEXT", value_parser = NonEmptyStringValueParser::new())]
    reason: String,
}

/// Runs `plan`.
///
/// # Errors
/// Where the ledger cannot be reached, the session is read-only, or the plan's state does not let
/// it.
pub(super) async fn run(
    command: &PlanCommand,
    (config, environment): (&Config, &Environment),
    streams: &mut Streams<'_>,
) -> Result<(), CliError> {
    match command {
        PlanCommand::List(flags) => {
            let plans = open::look(config)?.plans(flags.limit).await?;
            show::list(&plans, flags.json, streams.out).map_err(CliError::Output)
        }
        PlanCommand::Show(flags) => one(flags, config, streams).await,
        PlanCommand::Run(flags) => {
            let operate = handle(config, environment, "plan run").await?;
            let lease = flags.lease.unwrap_or(LEASE);
            let executor = operate.executor().with_lease(lease);
            let Some(plan) = carry_out(&executor, flags.plan, streams).await? else {
                return Ok(());
            };
            super::operate::show::plan_receipt(&plan, flags.json, streams.out)
                .map_err(CliError::Output)?;
            expect_whole(&plan, 0)
        }
        PlanCommand::Pause(flags) => {
            act(PlanEvent::Pause, flags, (config, environment), streams).await
        }
        PlanCommand::Resume(flags) => {
            act(PlanEvent::Resume, flags, (config, environment), streams).await
        }
        PlanCommand::Cancel(flags) => {
            act(PlanEvent::Cancel, flags, (config, environment), streams).await
        }
    }
}

async fn one(
    flags: &ShowFlags,
    config: &Config,
    streams: &mut Streams<'_>,
) -> Result<(), CliError> {
    let mut look = open::look(config)?;
    let Some(plan) = look.plan(flags.plan).await? else {
        return Err(OperateProblem::NoPlan(flags.plan).into());
    };
    let page = PlanJobsPage {
        limit: flags.jobs,
        ..PlanJobsPage::default()
    };
    let story = show::Story {
        jobs: look.plan_jobs(plan.id, page).await?,
        history: look.plan_history(plan.id, 100).await?,
        plan,
    };
    show::story(&story, flags.json, streams.out).map_err(CliError::Output)
}

async fn act(
    event: PlanEvent,
    flags: &MoveFlags,
    (config, environment): (&Config, &Environment),
    streams: &mut Streams<'_>,
) -> Result<(), CliError> {
    let operate = handle(config, environment, "plan").await?;
    let outcome = operate
        .act_on_plan(flags.plan, event, &flags.reason)
        .await?;
    expect_done(flags.plan, event, outcome)?;
    let plan = operate.plan(flags.plan).await?;
    writeln!(streams.out, "{}", show::line(&plan)).map_err(CliError::Output)
}

/// Carries a plan out until it rests; `None` where somebody asked to end first.
pub(super) async fn carry_out(
    executor: &Executor,
    plan: Uuid,
    streams: &mut Streams<'_>,
) -> Result<Option<Plan>, CliError> {
    let stop = CancellationToken::new();
    let mut requests = signals::Requests::new();
    let messages = &mut *streams.messages;
    let mut told = Progress::default();
    let watch = |standing: &crate::ledger::plan::Standing| {
        if standing.progress != told {
            told = standing.progress;
            let line = show::progress(plan, standing.batch.number, &told);
            // Progress that nobody can see any more is no reason to stop.
            drop(writeln!(messages, "{line}"));
        }
    };
    let ended = {
        let work = executor.run(plan, &stop, watch);
        tokio::pin!(work);
        tokio::select! {
            ended = &mut work => ended?,
            () = requests.next() => {
                stop.cancel();
                work.await?
            }
        }
    };
    match ended {
        Ended::Rests(plan) => Ok(Some(*plan)),
        Ended::LetGo => {
            let left = writeln!(
                streams.messages,
                "plan {plan}: left; any `ledgertop work` on the ledger goes on with it, or: \
                 ledgertop plan run {plan}"
            );
            left.map_err(CliError::Output)?;
            Ok(None)
        }
        Ended::Busy(plan) => Err(busy(&plan).into()),
        Ended::NotFound => Err(OperateProblem::NoPlan(plan).into()),
    }
}

fn busy(plan: &Plan) -> OperateProblem {
    match (plan.state, &plan.executor, plan.lease_expires_at) {
        (PlanState::Running, Some(executor), Some(until)) => OperateProblem::Busy {
            plan: plan.id,
            executor: executor.clone(),
            until: until.rfc3339(),
        },
        (state, _, _) => OperateProblem::NotRunning {
            plan: plan.id,
            state,
        },
    }
}

/// Turns an act that was refused into what to say about it.
pub(super) fn expect_done(
    plan: Uuid,
    event: PlanEvent,
    outcome: PlanOutcome,
) -> Result<(), OperateProblem> {
    match outcome {
        PlanOutcome::Applied(_) => Ok(()),
        PlanOutcome::NotFound => Err(OperateProblem::NoPlan(plan)),
        PlanOutcome::Refused(state) => {
            let from: Vec<&str> = PLAN_TABLE
                .iter()
                .filter(|row| row.event == event)
                .filter_map(|row| row.from)
                .map(PlanState::name)
                .collect();
            Err(OperateProblem::PlanRefused {
                plan,
                event,
                state,
                from: from.join(" or "),
            })
        }
    }
}

/// Turns a plan that did not do all into what to say about it.
pub(super) fn expect_whole(plan: &Plan, skipped: u64) -> Result<(), CliError> {
    let why = match &plan.stop_reason {
        Some(why) => format!(": {why}"),
        None => String::new(),
    };
    if plan.state != PlanState::Done {
        let ended = OperateProblem::Ended {
            plan: plan.id,
            state: plan.state,
            why,
            left: plan.progress.waiting,
        };
        return Err(ended.into());
    }
    let receipt = Receipt::of_plan(plan);
    if receipt.is_whole() && skipped == 0 && plan.progress.failed == 0 {
        return Ok(());
    }
    let mut summary = receipt.summary();
    if plan.progress.failed > 0 {
        let again = format!(", {} dead letters again", plan.progress.failed);
        summary.push_str(&again);
    }
    if skipped > 0 {
        let beside = format!(", {skipped} named and left alone");
        summary.push_str(&beside);
    }
    Err(OperateProblem::NotWhole(summary).into())
}

//! `ledgertop demo`: wires the demo to a ledger, and to a screen or to lines.
//!
//! Without `--ledger` it runs on a private SQLite ledger that is gone afterwards. A ledger of the
//! config or the environment is never taken: the demo's workers would work on real jobs.

use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use tokio_util::sync::CancellationToken;

use super::console::{self, Acting, Shown};
use super::{CliError, Streams, open, signals};
use crate::config::environment::Environment;
use crate::config::{Config, Origin, duration};
use crate::console::Ended;
use crate::demo::headless::{HeadlessError, HeadlessOptions, run_headless};
use crate::demo::place::PrivatePlace;
use crate::demo::scenario::Scenario;
use crate::demo::{Demo, DemoError, DemoOptions, LedgerUse, limits};
use crate::ledger::feed::Base;
use crate::ledger::text::SafeText;
use crate::store::{LedgerUrl, Store, init};

/// What the demo draws from where nobody says otherwise, so that two people see the same.
const SEED: u64 = 1;

/// Flags of `demo`.
#[derive(Debug, Args)]
#[command(
    after_help = "With --ledger it runs on that ledger, which must be empty or hold an \
                        earlier demo; what it did there stays."
)]
pub struct DemoFlags {
    /// What everything is drawn from; the same seed makes the same jobs and failures
    #[arg(long, value_name = "NUMBER", default_value_t = SEED)]
    seed: u64,
    /// Lines on standard output instead of the console
    #[arg(long)]
    headless: bool,
    /// How long, such as 30s or 5m; else until it is ended
    #[arg(long = "for", value_name = "DURATION", requires = "headless", value_parser = lasting)]
    lasts: Option<Duration>,
}

fn lasting(text: &str) -> Result<Duration, String> {
    duration::parse(text).ok_or_else(|| "allowed: a duration such as \"30s\"".to_owned())
}

/// A ledger for the demo.
struct Stage {
    url: LedgerUrl,
    used: LedgerUse,
    /// Kept until the end, when it takes the private ledger away.
    _place: Option<PrivatePlace>,
}

/// Runs `demo`.
///
/// # Errors
/// Where the ledger cannot be used, or the output not be written.
pub(super) async fn run(
    flags: &DemoFlags,
    config: &Config,
    environment: &Environment,
    streams: &mut Streams<'_>,
) -> Result<(), CliError> {
    if !flags.headless {
        console::check()?;
    }
    let stage = stage(config)?;
    init(&stage.url).await?;
    let store = stage.url.store().await?;
    let base = stage.url.feed().base().await?;
    if stage.used == LedgerUse::Shared {
        refuse_real_jobs(&stage.url, &base, &*store).await?;
    }
    if flags.headless {
        return headless(flags, &stage, store, streams).await;
    }
    let options = DemoOptions {
        seed: flags.seed,
        start: base.as_of,
        ledger: stage.used,
    };
    let demo = Demo::start(store, options).await?;
    let operate =
        (!config.read_only.value).then(|| Acting::new(stage.url.clone(), config, environment));
    let shown = Shown {
        name: SafeText::new("demo"),
        url: stage.url.clone(),
        limits: limits(),
        why_read_only: "this session may only look",
        operate,
    };
    let ended = tokio::task::block_in_place(|| console::run(shown, config));
    // A ledger that goes needs no order, and behind a lost terminal the process has a second left;
    // leases that are not given back end by themselves.
    let in_order = stage.used == LedgerUse::Shared;
    if in_order && !matches!(ended, Ok(Ended::TerminalLost)) {
        demo.stop().await;
    } else {
        drop(demo);
    }
    ended.map(drop)
}

fn stage(config: &Config) -> Result<Stage, CliError> {
    let named = config
        .ledger
        .as_ref()
        .is_some_and(|ledger| matches!(ledger.origin, Origin::Flag(_)));
    if named {
        return Ok(Stage {
            url: open::writable_url(config, "demo")?,
            used: LedgerUse::Shared,
            _place: None,
        });
    }
    let parent = std::env::temp_dir();
    let place = PrivatePlace::create(&parent).map_err(|source| CliError::NoPlace {
        directory: parent.clone(),
        source,
    })?;
    Ok(Stage {
        url: LedgerUrl::sqlite(&place.ledger()),
        used: LedgerUse::Private,
        _place: Some(place),
    })
}

/// Refuses a ledger with jobs that no demo made. An earlier demo left its policies there.
async fn refuse_real_jobs(url: &LedgerUrl, base: &Base, store: &dyn Store) -> Result<(), CliError> {
    if base.cells.is_empty() && base.recent.is_empty() {
        return Ok(());
    }
    let scenario = Scenario::built_in().map_err(DemoError::from)?;
    let there = store.policies().await?;
    let known = |name: &str| there.iter().any(|policy| policy.name == name);
    if scenario.policies.iter().all(|policy| known(&policy.name)) {
        return Ok(());
    }
    Err(CliError::RealJobs {
        ledger: url.shown().clone(),
    })
}

async fn headless(
    flags: &DemoFlags,
    stage: &Stage,
    store: Arc<dyn Store>,
    streams: &mut Streams<'_>,
) -> Result<(), CliError> {
    let stop = CancellationToken::new();
    let options = HeadlessOptions {
        seed: flags.seed,
        ledger: stage.used,
        lasts: flags.lasts,
        stop: stop.clone(),
    };
    let run = run_headless(store, stage.url.feed(), options, streams.out);
    let mut run = std::pin::pin!(run);
    let result = tokio::select! {
        result = &mut run => result,
        () = signals::asked_to_end() => {
            stop.cancel();
            run.await
        }
    };
    result.map_err(|error| match error {
        HeadlessError::Demo(error) => CliError::Demo(error),
        HeadlessError::Feed(error) => CliError::Store(error),
        HeadlessError::Write(error) => CliError::Output(error),
    })
}

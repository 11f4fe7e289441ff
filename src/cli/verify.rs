//! `ledgertop verify`: holds a whole ledger against its laws, for a person or for a program.
//!
//! It reads page by page through a connection that cannot write, so that it can be run on a busy
//! ledger, and it judges what it read in [`crate::verify`]. What it prints is in [`report`];
//! `docs/verify.md` says how each law is checked.

use std::time::Duration;

use clap::Args;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use tokio::time::Instant;

use super::{CliError, Streams, open};
use crate::config::Config;
use crate::ledger::audit::{Outline, Page};
use crate::store::{Audit, StoreError};
use crate::verify::{Report, Verifier};

pub mod report;

use report::counted;

/// How many breaches are listed where nobody says otherwise.
const LISTED: usize = 100;
/// How often a second the progress bar is drawn.
const BAR_HZ: u8 = 10;
/// How often a page is asked for again after the ledger was out of reach, and after which pause.
const REPETITIONS: u32 = 5;
const PAUSE: Duration = Duration::from_secs(1);

/// Flags of `verify`.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 every law holds; 1 a law is broken; 3 the ledger cannot be \
                        reached.\nWhat each law says and how it is checked: docs/verify.md"
)]
pub struct VerifyFlags {
    /// Print JSON, see docs/verify.md
    #[arg(long)]
    json: bool,
    /// List at most so many breaches; all of them are counted
    #[arg(long, value_name = "NUMBER", default_value_t = LISTED)]
    limit: usize,
}

/// Runs `verify`.
///
/// # Errors
/// Where a law is broken, the ledger cannot be read, or the output not be written.
pub(super) async fn run(
    flags: &VerifyFlags,
    config: &Config,
    streams: &mut Streams<'_>,
) -> Result<(), CliError> {
    let mut audit = open::audit(config)?;
    let began = Instant::now();
    let found = judge(&mut *audit, flags.limit).await?;
    let ledger = open::url(config)?;
    let written = if flags.json {
        report::write_json(&found, ledger.shown(), began.elapsed(), streams.out)
    } else {
        report::write_text(&found, ledger.shown(), began.elapsed(), streams.out)
    };
    written.map_err(CliError::Output)?;
    match found.total() {
        0 => Ok(()),
        breaches => Err(CliError::LawsBroken {
            breaches,
            jobs: found.breached_jobs,
        }),
    }
}

/// Reads and judges the whole ledger, and shows on a terminal how far it is.
///
/// # Errors
/// Where the ledger cannot be read.
pub async fn judge(audit: &mut dyn Audit, keep: usize) -> Result<Report, StoreError> {
    let outline = audit.outline().await?;
    let bar = bar(&outline);
    let mut verifier = Verifier::new(outline, keep);
    let judged = pages(audit, &mut verifier, &bar).await;
    bar.finish_and_clear();
    judged?;
    verifier.twins(&audit.twins().await?);
    Ok(verifier.finish())
}

async fn pages(
    audit: &mut dyn Audit,
    verifier: &mut Verifier,
    bar: &ProgressBar,
) -> Result<(), StoreError> {
    while let Some(page) = next(audit).await? {
        verifier.page(&page);
        let report = verifier.report();
        bar.set_position(report.events);
        bar.set_message(progress(report));
    }
    Ok(())
}

/// The next page, also where the ledger was out of reach for a moment: reading it again changes
/// nothing.
async fn next(audit: &mut dyn Audit) -> Result<Option<Page>, StoreError> {
    let mut repetition = 0;
    loop {
        match audit.page().await {
            Err(error) if error.is_transient() && repetition < REPETITIONS => {
                tracing::warn!(%error, "a page of the audit is read again");
                tokio::time::sleep(PAUSE).await;
                repetition += 1;
            }
            done => return done,
        }
    }
}

fn progress(report: &Report) -> String {
    let events = counted(report.events, "event", "events");
    let jobs = counted(report.jobs, "job", "jobs");
    match report.total() {
        0 => format!("{events} of {jobs}"),
        breaches => {
            let breaches = counted(breaches, "breach", "breaches");
            format!("{events} of {jobs}, {breaches}")
        }
    }
}

/// A progress bar on the terminal behind standard error, if it is one.
fn bar(outline: &Outline) -> ProgressBar {
    let template = match outline.events {
        Some(_) => "{bar:30} {percent}%  {msg}, {eta} left",
        None => "{spinner} {msg} in {elapsed}",
    };
    let target = ProgressDrawTarget::stderr_with_hz(BAR_HZ);
    let bar = ProgressBar::with_draw_target(outline.events, target);
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

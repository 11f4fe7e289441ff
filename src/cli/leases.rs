//! `ledgertop leases`: who holds what, since when, and for how long; expired leases first.
//!
//! Next: `lists.rs`.

use std::io::{self, Write};

use clap::Args;

use super::lists::table::{self, Fit, Table};
use super::lists::{self, json};
use super::{CliError, Streams, open};
use crate::board::format;
use crate::config::Config;
use crate::ledger::query::Query;
use crate::ledger::time::Timestamp;
use crate::ledger::view::{JobCursor, Lease, LeasePage};
use crate::store::Look;
use crate::store::look::PAGE_MAX;

/// Flags of `leases`.
#[derive(Debug, Args)]
#[command(after_help = lists::FILTER_HELP)]
pub struct LeasesFlags {
    /// Which of them, such as 'worker:w3 queue:mail'; all of them without
    #[arg(value_name = "FILTER")]
    filter: Vec<String>,
    /// Print JSON, see docs/lists.md
    #[arg(long)]
    json: bool,
    /// At most so many
    #[arg(long, value_name = "N", default_value_t = 50,
          value_parser = clap::value_parser!(u32).range(1..=i64::from(lists::ROWS_MAX)))]
    limit: u32,
}

/// Runs `leases`.
///
/// # Errors
/// Where the filter or the ledger cannot be read, or the output not be written.
pub(super) async fn run(
    flags: &LeasesFlags,
    config: &Config,
    streams: &mut Streams<'_>,
) -> Result<(), CliError> {
    let mut look = open::look(config)?;
    let query = lists::filter(&mut *look, config, &flags.filter).await?;
    let page = read(&mut *look, &query, flags.limit).await?;
    lists::name_unreadable(&page.unreadable, streams.messages).map_err(CliError::Output)?;
    let written = if flags.json {
        json::write(&document(page, &query), streams.out)
    } else {
        text(&page, table::width(), streams.out)
    };
    written.map_err(CliError::Output)
}

async fn read(look: &mut dyn Look, query: &Query, limit: u32) -> Result<LeasePage, CliError> {
    let mut all = LeasePage::default();
    let mut left = limit;
    let mut after: Option<JobCursor> = None;
    loop {
        let page = look
            .leases(query, after.as_ref(), left.min(PAGE_MAX))
            .await?;
        left = left.saturating_sub(PAGE_MAX);
        all.as_of = page.as_of;
        all.leases.extend(page.leases);
        all.unreadable.extend(page.unreadable);
        all.next = page.next;
        if left == 0 || all.next.is_none() {
            return Ok(all);
        }
        after.clone_from(&all.next);
    }
}

fn document(page: LeasePage, query: &Query) -> json::LeaseList {
    json::LeaseList {
        as_of: page.as_of.rfc3339(),
        filter: query.shown(),
        leases: page
            .leases
            .iter()
            .map(|lease| json::InHand::of(lease, page.as_of))
            .collect(),
        unreadable: json::Unread::all(page.unreadable),
        more: page.next.is_some(),
    }
}

fn text(page: &LeasePage, width: usize, out: &mut dyn Write) -> io::Result<()> {
    let mut table = Table::new(&[
        ("left", Fit::Word),
        ("held", Fit::Number),
        ("renewed", Fit::Number),
        ("worker", Fit::Text),
        ("queue", Fit::Text),
        ("key", Fit::Text),
        ("att", Fit::Number),
    ]);
    for lease in &page.leases {
        let row = &lease.job.row;
        table.row(vec![
            left(lease, page.as_of),
            format::coarse(page.as_of.since(lease.claimed_at)),
            lease.renewals.to_string(),
            lists::or_dash(lease.job.worker.as_ref()),
            row.queue.as_str().to_owned(),
            row.idempotency_key.as_str().to_owned(),
            row.attempt.to_string(),
        ]);
    }
    if !page.leases.is_empty() {
        table.write(width, out)?;
    }
    let leases = lists::many(page.leases.len(), "lease", "leases");
    writeln!(out, "{leases} as of {}, the first to end first", page.as_of)?;
    lists::more(page.next.is_some(), "--limit", out)
}

fn left(lease: &Lease, as_of: Timestamp) -> String {
    match lease.job.lease_expires_at {
        Some(end) if end > as_of => format::coarse(end.since(as_of)),
        Some(end) => format!("ended {}", format::coarse(as_of.since(end))),
        None => "–".to_owned(),
    }
}

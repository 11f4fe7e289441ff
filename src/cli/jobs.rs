//! `ledgertop jobs`: the jobs that a filter names.
//!
//! It reads through a connection that cannot write. The JSON's shape is in `lists/json.rs` and
//! `docs/lists.md`. Next: `lists.rs`.

use std::io::{self, Write};

use clap::{Args, ValueEnum};

use super::lists::table::{self, Fit, Table};
use super::lists::{self, json};
use super::{CliError, Streams, open};
use crate::board::format;
use crate::config::Config;
use crate::ledger::query::Query;
use crate::ledger::view::{JobCursor, JobOrder, JobPage};
use crate::store::Look;
use crate::store::look::PAGE_MAX;

/// The most jobs that `--count` counts.
const COUNT_MAX: u64 = 1_000_000;
/// From this width on there is room for tenants.
const TENANT_WIDTH: usize = 100;
/// From this width on there is room for errors.
const ERROR_WIDTH: usize = 130;

/// Flags of `jobs`.
#[derive(Debug, Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "two switches of the command line are two booleans"
)]
#[command(after_help = lists::FILTER_HELP)]
pub struct JobsFlags {
    /// Which jobs, such as 'state:dead queue:mail'; all of them without
    #[arg(value_name = "FILTER")]
    filter: Vec<String>,
    /// Print JSON, see docs/lists.md
    #[arg(long)]
    json: bool,
    /// At most so many
    #[arg(long, value_name = "N", default_value_t = 50,
          value_parser = clap::value_parser!(u32).range(1..=i64::from(lists::ROWS_MAX)))]
    limit: u32,
    /// Which first; without: the longest in their state, or the last created where jobs that are
    /// done are among them
    #[arg(long, value_enum, value_name = "ORDER")]
    order: Option<Order>,
    /// Print only how many there are, counted up to a million
    #[arg(long, conflicts_with_all = ["limit", "order"])]
    count: bool,
}

/// Which jobs come first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Order {
    /// The longest in their present state
    Oldest,
    /// The last to enter their present state
    Newest,
    /// The last created
    Created,
}

impl Order {
    const fn order(self) -> JobOrder {
        match self {
            Self::Oldest => JobOrder::OldestFirst,
            Self::Newest => JobOrder::NewestFirst,
            Self::Created => JobOrder::CreatedLast,
        }
    }
}

/// Runs `jobs`.
///
/// # Errors
/// Where the filter or the ledger cannot be read, or the output not be written.
pub(super) async fn run(
    flags: &JobsFlags,
    config: &Config,
    streams: &mut Streams<'_>,
) -> Result<(), CliError> {
    let mut look = open::look(config)?;
    let query = lists::filter(&mut *look, config, &flags.filter).await?;
    let order = flags
        .order
        .map_or_else(|| query.natural_order(), Order::order);
    if flags.count {
        lists::warn(&mut *look, &query, JobOrder::OldestFirst, streams).await?;
        let count = look.count(&query, COUNT_MAX).await?;
        let written = if flags.json {
            let filter = query.shown();
            let counted = json::Counted::of(count);
            json::write(&json::JobsCounted { filter, counted }, streams.out)
        } else {
            writeln!(streams.out, "{}", lists::counted(count))
        };
        return written.map_err(CliError::Output);
    }
    lists::warn(&mut *look, &query, order, streams).await?;
    let page = read(&mut *look, &query, order, flags.limit).await?;
    lists::name_unreadable(&page.unreadable, streams.messages).map_err(CliError::Output)?;
    let written = if flags.json {
        json::write(&document(page, &query, order), streams.out)
    } else {
        text(&page, order, table::width(), streams.out)
    };
    written.map_err(CliError::Output)
}

/// As many pages as it takes, as one.
async fn read(
    look: &mut dyn Look,
    query: &Query,
    order: JobOrder,
    limit: u32,
) -> Result<JobPage, CliError> {
    let mut all = JobPage::default();
    let mut left = limit;
    let mut after: Option<JobCursor> = None;
    loop {
        let page = look
            .jobs(query, order, after.as_ref(), left.min(PAGE_MAX))
            .await?;
        left = left.saturating_sub(PAGE_MAX);
        all.as_of = page.as_of;
        all.jobs.extend(page.jobs);
        all.unreadable.extend(page.unreadable);
        all.next = page.next;
        if left == 0 || all.next.is_none() {
            return Ok(all);
        }
        after.clone_from(&all.next);
    }
}

fn document(page: JobPage, query: &Query, order: JobOrder) -> json::JobList {
    json::JobList {
        as_of: page.as_of.rfc3339(),
        filter: query.shown(),
        order: json::order(order),
        jobs: page
            .jobs
            .iter()
            .map(|job| json::Job::of(job, page.as_of))
            .collect(),
        unreadable: json::Unread::all(page.unreadable),
        more: page.next.is_some(),
    }
}

fn text(page: &JobPage, order: JobOrder, width: usize, out: &mut dyn Write) -> io::Result<()> {
    let mut columns = vec![
        ("age", Fit::Number),
        ("state", Fit::Word),
        ("queue", Fit::Text),
        ("key", Fit::Text),
    ];
    if width >= TENANT_WIDTH {
        columns.push(("tenant", Fit::Text));
    }
    columns.extend([("att", Fit::Number), ("reason", Fit::Text)]);
    if width >= ERROR_WIDTH {
        columns.push(("error", Fit::Text));
    }
    let mut table = Table::new(&columns);
    for job in &page.jobs {
        let row = &job.row;
        let mut cells = vec![
            format::coarse(page.as_of.since(row.state_since)),
            row.state.name().to_owned(),
            row.queue.as_str().to_owned(),
            row.idempotency_key.as_str().to_owned(),
        ];
        if width >= TENANT_WIDTH {
            cells.push(lists::or_dash(Some(&row.tenant)));
        }
        cells.push(row.attempt.to_string());
        cells.push(lists::or_dash(job.reason.as_ref()));
        if width >= ERROR_WIDTH {
            cells.push(lists::or_dash(job.error.as_ref()));
        }
        table.row(cells);
    }
    if !page.jobs.is_empty() {
        table.write(width, out)?;
    }
    let first = match order {
        JobOrder::OldestFirst => "the longest in their state first",
        JobOrder::NewestFirst => "the last to enter their state first",
        JobOrder::CreatedLast => "the last created first",
    };
    let jobs = lists::many(page.jobs.len(), "job", "jobs");
    writeln!(out, "{jobs} as of {}, {first}", page.as_of)?;
    lists::more(page.next.is_some(), "--limit and --count", out)
}

//! What the commands that list have in common: reading the filter, saying before a slow one runs
//! that it is slow, and the forms of what is printed.
//!
//! Every answer on a screen has a text twin; these are the twins of the screens of jobs, dead
//! letters, leases and the audit. Next: `lists/table.rs`, for people, and `lists/json.rs`, for
//! programs.

use std::io::{self, Write};

use chrono::{Local, Utc};

use super::{CliError, Streams};
use crate::board::format;
use crate::config::Config;
use crate::config::settings::TimeZone;
use crate::ledger::query::{Query, QueryError, Term, Test, parse};
use crate::ledger::state::State;
use crate::ledger::text::SafeText;
use crate::ledger::time::Timestamp;
use crate::ledger::view::{Count, JobOrder, UnreadableJob};
use crate::store::Look;
use crate::store::look::Reach;

pub(in crate::cli) mod json;
pub(in crate::cli) mod table;

/// The most rows that are listed at once.
pub(super) const ROWS_MAX: u32 = 10_000;

/// How filters are typed, for the help of every command that takes one.
pub(super) const FILTER_HELP: &str = "\
A filter, in single quotes because of < > ! and *:
  'queue:mail state:dead reason:timeout class:permanent tenant:t7 key:invoice_184
   worker:w3 age>10m attempts>=3 since:02:58 \"text of the error\"'
A field named twice means either value; '!' before a term negates it; '*' behind a value means
that it begins so; a value with spaces stands in double quotes.
Fields: queue, state, reason, class, tenant, key, id, kind, worker, age, attempts, redrives,
unsettled, since, until, policy, parent, plan.";

/// A filter that cannot be read, with the filter.
#[derive(Debug, thiserror::Error)]
#[error("the filter '{text}', {error}; nothing was read")]
pub struct BadFilter {
    text: SafeText,
    error: QueryError,
}

/// The filter that the arguments are, put together with spaces.
pub(super) async fn filter(
    look: &mut dyn Look,
    config: &Config,
    arguments: &[String],
) -> Result<Query, CliError> {
    let text = arguments.join(" ");
    let now = now(look).await?;
    let read = match config.console.time_zone.value {
        TimeZone::Utc | TimeZone::Relative => parse(&text, now, &Utc),
        TimeZone::Local => parse(&text, now, &Local),
        TimeZone::Named(zone) => parse(&text, now, &zone),
    };
    read.map_err(|error| {
        CliError::Filter(Box::new(BadFilter {
            text: SafeText::new(&text),
            error,
        }))
    })
}

/// The database's clock: a page of a query that holds for no job reads nothing else.
pub(super) async fn now(look: &mut dyn Look) -> Result<Timestamp, CliError> {
    let state = |negated| Term {
        negated,
        test: Test::State(State::Ready),
    };
    let nothing = Query {
        terms: vec![state(false), state(true)],
    };
    let page = look.jobs(&nothing, JobOrder::OldestFirst, None, 1).await?;
    Ok(page.as_of)
}

/// Says that a query is slow, before it runs.
pub(super) async fn warn(
    look: &mut dyn Look,
    query: &Query,
    order: JobOrder,
    streams: &mut Streams<'_>,
) -> Result<Reach, CliError> {
    let reach = look.reach(query, order).await?;
    if let Reach::Scan { jobs } = reach {
        let said = writeln!(
            streams.messages,
            "ledgertop: no index leads to these jobs; about {} are read one by one, for at most \
             10 s. Naming a state, a key or a parent is faster",
            format::count(jobs)
        );
        said.map_err(CliError::Output)?;
    }
    Ok(reach)
}

/// Names rows that cannot be understood, as messages.
pub(super) fn name_unreadable(
    unreadable: &[UnreadableJob],
    messages: &mut dyn Write,
) -> io::Result<()> {
    for row in unreadable {
        writeln!(
            messages,
            "ledgertop: job {}: column '{}' holds '{}', which this program cannot read; \
             see ledgertop verify",
            row.job, row.column, row.value
        )?;
    }
    Ok(())
}

/// Says that there is more than was asked for, and which flags tell it.
pub(super) fn more(is_more: bool, flags: &str, out: &mut dyn Write) -> io::Result<()> {
    if is_more {
        writeln!(out, "and more: see {flags}")?;
    }
    Ok(())
}

/// A count with a sign where it is not all of them.
pub(super) fn counted(count: Count) -> String {
    match count {
        Count::Exact(count) => format::count(count),
        Count::AtLeast(count) => format!("≥ {}", format::count(count)),
    }
}

/// `1 job`, `2 jobs`.
pub(super) fn many(count: usize, one: &str, several: &str) -> String {
    if count == 1 {
        return format!("1 {one}");
    }
    format!(
        "{} {several}",
        format::count(crate::ledger::num::count(count))
    )
}

/// The text, or a dash where there is none.
pub(super) fn or_dash(text: Option<&SafeText>) -> String {
    text.map(SafeText::as_str)
        .filter(|text| !text.is_empty())
        .unwrap_or("–")
        .to_owned()
}

/// Date and time of a moment in UTC, to the second: `11-30 02:58:00`.
pub(super) fn short_moment(at: Timestamp) -> String {
    at.datetime().format("%m-%d %H:%M:%S").to_string()
}

//! `ledgertop audit`: what operators did: who, from where, when, what, and why; the newest first.
//!
//! Next: `lists.rs`.

use std::io::{self, Write};

use clap::Args;

use super::lists::table::{self, Fit, Table};
use super::lists::{self, json};
use super::{CliError, Streams, open};
use crate::board::format;
use crate::config::Config;
use crate::ledger::state::State;
use crate::ledger::view::{ActKind, AuditCursor, AuditPage, OperatorAct};
use crate::store::Look;
use crate::store::look::PAGE_MAX;

/// Flags of `audit`.
#[derive(Debug, Args)]
pub struct AuditFlags {
    /// Print JSON, see docs/lists.md
    #[arg(long)]
    json: bool,
    /// At most so many
    #[arg(long, value_name = "N", default_value_t = 50,
          value_parser = clap::value_parser!(u32).range(1..=i64::from(lists::ROWS_MAX)))]
    limit: u32,
}

/// Runs `audit`.
///
/// # Errors
/// Where the ledger cannot be read, or the output not be written.
pub(super) async fn run(
    flags: &AuditFlags,
    config: &Config,
    streams: &mut Streams<'_>,
) -> Result<(), CliError> {
    let mut look = open::look(config)?;
    let page = read(&mut *look, flags.limit).await?;
    lists::name_unreadable(&page.unreadable, streams.messages).map_err(CliError::Output)?;
    let written = if flags.json {
        json::write(&document(page), streams.out)
    } else {
        text(&page, table::width(), streams.out)
    };
    written.map_err(CliError::Output)
}

async fn read(look: &mut dyn Look, limit: u32) -> Result<AuditPage, CliError> {
    let mut all = AuditPage::default();
    let mut left = limit;
    let mut before: Option<AuditCursor> = None;
    loop {
        let page = look.audit(before.as_ref(), left.min(PAGE_MAX)).await?;
        left = left.saturating_sub(PAGE_MAX);
        all.as_of = page.as_of;
        all.acts.extend(page.acts);
        all.unreadable.extend(page.unreadable);
        all.next = page.next;
        if left == 0 || all.next.is_none() {
            return Ok(all);
        }
        before.clone_from(&all.next);
    }
}

fn document(page: AuditPage) -> json::Audit {
    json::Audit {
        as_of: page.as_of.rfc3339(),
        acts: page.acts.into_iter().map(json::Act::of).collect(),
        unreadable: json::Unread::all(page.unreadable),
        more: page.next.is_some(),
    }
}

fn text(page: &AuditPage, width: usize, out: &mut dyn Write) -> io::Result<()> {
    let mut table = Table::new(&[
        ("when (UTC)", Fit::Word),
        ("who", Fit::Text),
        ("what", Fit::Text),
        ("on", Fit::Text),
        ("why", Fit::Text),
    ]);
    for act in &page.acts {
        let (what, on) = what(act);
        table.row(vec![
            lists::short_moment(act.at),
            act.actor.as_str().to_owned(),
            what,
            on,
            lists::or_dash(act.note.as_ref()),
        ]);
    }
    if !page.acts.is_empty() {
        table.write(width, out)?;
    }
    let acts = lists::many(page.acts.len(), "act", "acts");
    writeln!(
        out,
        "{acts} of operators as of {}, the newest first",
        page.as_of
    )?;
    lists::more(page.next.is_some(), "--limit", out)
}

fn what(act: &OperatorAct) -> (String, String) {
    match &act.what {
        ActKind::Job {
            id,
            queue,
            event,
            from,
            to,
            version: _,
        } => {
            let from = from.map_or("–", State::name);
            (format!("{event} {from} → {to}"), format!("{queue} {id}"))
        }
        ActKind::Plan { step, jobs, .. } => {
            let plan = act
                .plan
                .map_or_else(String::new, |plan| format!("plan {plan}"));
            (format!("{step} {} jobs", format::count(*jobs)), plan)
        }
    }
}

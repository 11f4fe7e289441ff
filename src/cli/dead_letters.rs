//! `ledgertop dead-letters`: dead letters in groups, alike in class, reason and the fingerprint of
//! their error.
//!
//! Next: `lists.rs`.

use std::io::{self, Write};

use clap::Args;

use super::lists::table;
use super::lists::{self, json};
use super::snapshot::text::cut;
use super::{CliError, Streams, open};
use crate::board::format;
use crate::config::Config;
use crate::ledger::text::SafeText;
use crate::ledger::time::Timestamp;
use crate::ledger::view::{DeadLetterGroup, DeadLetters};

/// How many queues, tenants and policies of a group are named.
const NAMES_MAX: usize = 4;

/// Flags of `dead-letters`.
#[derive(Debug, Args)]
#[command(after_help = lists::FILTER_HELP)]
pub struct DeadLettersFlags {
    /// Which of them, such as 'queue:mail age>1d'; all of them without
    #[arg(value_name = "FILTER")]
    filter: Vec<String>,
    /// Print JSON, see docs/lists.md
    #[arg(long)]
    json: bool,
}

/// Runs `dead-letters`.
///
/// # Errors
/// Where the filter or the ledger cannot be read, or the output not be written.
pub(super) async fn run(
    flags: &DeadLettersFlags,
    config: &Config,
    streams: &mut Streams<'_>,
) -> Result<(), CliError> {
    let mut look = open::look(config)?;
    let query = lists::filter(&mut *look, config, &flags.filter).await?;
    let letters = look.dead_letters(&query).await?;
    lists::name_unreadable(&letters.unreadable, streams.messages).map_err(CliError::Output)?;
    let written = if flags.json {
        json::write(&json::Letters::of(letters, query.shown()), streams.out)
    } else {
        text(&letters, table::width(), streams.out)
    };
    written.map_err(CliError::Output)
}

fn text(letters: &DeadLetters, width: usize, out: &mut dyn Write) -> io::Result<()> {
    for group in &letters.groups {
        write_group(group, letters.as_of, width, out)?;
        writeln!(out)?;
    }
    if letters.beyond > 0 {
        let beyond = format::count(letters.beyond);
        writeln!(out, "and {beyond} in smaller groups: narrow the filter")?;
    }
    let groups = lists::many(letters.groups.len(), "group", "groups");
    let counted = lists::counted(letters.counted);
    writeln!(
        out,
        "{counted} dead letters in {groups} as of {}",
        letters.as_of
    )
}

fn write_group(
    group: &DeadLetterGroup,
    as_of: Timestamp,
    width: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    let class = group.class.map_or("no failure", |class| class.name());
    let reason = group.reason.as_ref().map_or("", SafeText::as_str);
    let all = group.dead.saturating_add(group.quarantined);
    let mut line = |text: String| writeln!(out, "{}", cut(text.trim_end(), width));
    line(format!("{:>7}  {class} {reason}", format::count(all)))?;
    if !group.fingerprint.as_str().is_empty() {
        line(format!("         {}", group.fingerprint))?;
    }
    line(format!(
        "         dead {}, quarantined {}; first {} ago, last {} ago",
        format::count(group.dead),
        format::count(group.quarantined),
        format::coarse(as_of.since(group.first_at)),
        format::coarse(as_of.since(group.last_at)),
    ))?;
    if group.died_again > 0 {
        line(format!(
            "         redriven before and died again: {}",
            format::count(group.died_again)
        ))?;
    }
    if group.unsettled > 0 {
        line(format!(
            "         with an attempt whose outcome is unknown: {}",
            format::count(group.unsettled)
        ))?;
    }
    line(format!("         queues    {}", names(&group.queues)))?;
    if group
        .tenants
        .iter()
        .any(|(name, _count)| !name.as_str().is_empty())
    {
        line(format!("         tenants   {}", names(&group.tenants)))?;
    }
    line(format!("         policies  {}", names(&group.policies)))?;
    line(format!("         newest    {}", group.sample))
}

fn names(names: &[(SafeText, u64)]) -> String {
    let mut said: Vec<String> = names
        .iter()
        .take(NAMES_MAX)
        .map(|(name, count)| {
            let name = lists::or_dash(Some(name));
            format!("{name} {}", format::count(*count))
        })
        .collect();
    if names.len() > NAMES_MAX {
        said.push("…".to_owned());
    }
    said.join(", ")
}

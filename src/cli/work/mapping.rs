//! `work --print-mapping`: what every answer of a handler means, as it is in force.

use std::io::{self, Write};

use crate::config::Work;
use crate::ledger::meaning::{Meaning, Row, Table, reasons};
use crate::worker::handler::exec::exit;
use crate::worker::handler::http::status;

/// Columns that numbers, and texts in their place, are padded to.
const NUMBER_COLUMNS: usize = 10;
/// Columns that meanings are padded to.
const MEANING_COLUMNS: usize = 30;

/// The table of statuses in force.
pub(super) fn statuses(work: &Work) -> Table {
    Table::new(status::RULES, work.statuses.clone())
}

/// The table of exit codes in force.
pub(super) fn exits(work: &Work) -> Table {
    Table::new(exit::RULES, work.exits.clone())
}

/// Which tables are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tables {
    /// Of statuses.
    Http,
    /// Of exit codes.
    Exec,
    /// Both.
    Both,
}

/// Prints the tables, and the reasons that a config may name.
pub(super) fn print(work: &Work, tables: Tables, out: &mut dyn Write) -> io::Result<()> {
    if matches!(tables, Tables::Http | Tables::Both) {
        writeln!(
            out,
            "# --http: the status of the answer; the config's [work.http.status] is over it"
        )?;
        table(&statuses(work), status::WITHOUT_AN_ANSWER, out)?;
        writeln!(
            out,
            "# Retry-After (seconds or a date) of any answer is a floor under the wait, clipped by \
             the job's policy\n"
        )?;
    }
    if matches!(tables, Tables::Exec | Tables::Both) {
        writeln!(
            out,
            "# --exec: the exit code; the config's [work.exec.exit] is over it"
        )?;
        table(&exits(work), exit::WITHOUT_A_CODE, out)?;
        writeln!(out)?;
    }
    writeln!(
        out,
        "# registered reasons; any other lower-case word may be given too"
    )?;
    for (reason, class) in reasons() {
        writeln!(out, "{:NUMBER_COLUMNS$} {reason}", class.name())?;
    }
    Ok(())
}

fn table(table: &Table, without: &[(&str, Meaning)], out: &mut dyn Write) -> io::Result<()> {
    let (rows, other) = table.rows();
    for Row {
        from,
        to,
        meaning,
        note,
    } in rows
    {
        let numbers = if from == to {
            from.to_string()
        } else {
            format!("{from}-{to}")
        };
        row(out, &numbers, &meaning, note)?;
    }
    row(
        out,
        "other",
        &other,
        "retried within its budget, or held, as the policy says",
    )?;
    for (note, meaning) in without {
        row(out, "-", meaning, note)?;
    }
    Ok(())
}

fn row(out: &mut dyn Write, numbers: &str, meaning: &Meaning, note: &str) -> io::Result<()> {
    let meaning = meaning.to_string();
    writeln!(
        out,
        "{numbers:NUMBER_COLUMNS$} {meaning:MEANING_COLUMNS$} {note}"
    )
}

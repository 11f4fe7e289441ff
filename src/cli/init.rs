//! `ledgertop init`: creates the ledger's schema or upgrades it, and says what it did.

use std::io::{self, Write};

use clap::Args;

use super::{CliError, Streams, open};
use crate::config::Config;
use crate::store::migrate::{self, MigrationReport};
use crate::store::{DatabaseKind, LedgerUrl};

/// Flags of `init`.
#[derive(Debug, Args)]
pub struct InitFlags {
    /// Print what would run on an empty database, and change nothing
    #[arg(long)]
    print_sql: bool,
}

/// Runs `init`.
///
/// # Errors
/// Where the ledger cannot be reached, its schema is newer than this program, or the session is
/// read-only.
pub(super) async fn run(
    flags: &InitFlags,
    config: &Config,
    streams: &mut Streams<'_>,
) -> Result<(), CliError> {
    if flags.print_sql {
        let sql = migrate::print_sql(open::url(config)?.kind());
        return streams
            .out
            .write_all(sql.as_bytes())
            .map_err(CliError::Output);
    }
    let url = open::writable_url(config, "init")?;
    let report = migrate::init(&url).await?;
    tracing::info!(ledger = %url, before = report.before, after = report.after, "init");
    say(&url, &report, streams.messages).map_err(CliError::Output)
}

fn say(url: &LedgerUrl, report: &MigrationReport, out: &mut dyn Write) -> io::Result<()> {
    let MigrationReport {
        before,
        after,
        applied,
    } = report;
    let database = match url.kind() {
        DatabaseKind::Sqlite => "SQLite",
        DatabaseKind::Postgres => "PostgreSQL",
    };
    match (before, before == after) {
        (0, _) => writeln!(out, "created a {database} ledger at {url}: schema {after}")?,
        (_, true) => {
            return writeln!(out, "{url} has schema {after} already; nothing was changed");
        }
        (_, false) => writeln!(out, "upgraded {url}: schema {before} to {after}")?,
    }
    let names: Vec<String> = applied.iter().map(|name| format!("'{name}'")).collect();
    writeln!(out, "migrations that ran: {}", names.join(", "))
}

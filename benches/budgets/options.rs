//! What may be asked of the benchmarks on the command line. Next: [`crate::report`], what comes
//! out.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};
use ledgertop::store::url::DatabaseKind;

/// Stored jobs of the smaller ledger: what every growth is measured against.
pub(crate) const SMALL: u64 = 100_000;
/// Stored jobs of the larger ledger in a smoke run.
const QUICK: u64 = 200_000;

/// Measures what the design promises: every row beside something real, measured in the same run.
#[derive(Debug, Parser)]
#[command(name = "scripts/bench", version = None, disable_version_flag = true)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
pub(crate) struct Options {
    /// How many jobs the larger ledger stores (k and M are understood)
    #[arg(long, value_name = "N", default_value = "5M", value_parser = parse_size)]
    jobs: u64,

    /// A smoke run of about a minute: 200k jobs, few repetitions; its figures prove nothing
    #[arg(long)]
    pub(crate) quick: bool,

    /// Only these groups
    #[arg(long, value_name = "GROUP", value_delimiter = ',')]
    only: Vec<Group>,

    /// Only this database
    #[arg(long, value_name = "DATABASE")]
    on: Option<On>,

    /// Where the report goes as JSON; the table goes to the same place with the ending .txt
    #[arg(long, value_name = "FILE", default_value = "target/bench.json")]
    pub(crate) json: PathBuf,

    /// The Node.js that runs the peers; else the one installed beside them, else the one in PATH
    #[arg(long, value_name = "FILE")]
    pub(crate) node: Option<PathBuf>,

    /// Cargo says this to every benchmark
    #[arg(long, hide = true)]
    bench: bool,

    /// Loads the board of this ledger in a process of its own, and says what it took
    #[arg(long, hide = true, value_name = "URL")]
    pub(crate) load_of: Option<String>,
}

/// What is measured together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Group {
    /// Base load and refresh of the board over a small and a large ledger
    Board,
    /// The fold alone, in memory
    Fold,
    /// Drawing the overview, and bytes to the terminal
    Draw,
    /// Enqueue, claim and settle, with history and without
    Work,
    /// Ours beside pg-boss and graphile-worker, where a person has installed them
    Peers,
    /// What watching costs those who work
    Watch,
    /// Looking up jobs, dead letters, leases and acts in a large ledger
    Look,
}

/// A database to measure on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum On {
    Postgres,
    Sqlite,
}

impl Options {
    /// Stored jobs of the larger ledger.
    pub(crate) fn large(&self) -> u64 {
        if self.quick { QUICK } else { self.jobs }
    }

    /// Whether the group is to be measured.
    pub(crate) fn wants(&self, group: Group) -> bool {
        self.only.is_empty() || self.only.contains(&group)
    }

    /// The databases to measure on.
    pub(crate) fn databases(&self) -> Vec<DatabaseKind> {
        match self.on {
            None => vec![DatabaseKind::Postgres, DatabaseKind::Sqlite],
            Some(On::Postgres) => vec![DatabaseKind::Postgres],
            Some(On::Sqlite) => vec![DatabaseKind::Sqlite],
        }
    }
}

fn parse_size(text: &str) -> Result<u64, String> {
    let (digits, unit) = match text.char_indices().last() {
        Some((at, 'k' | 'K')) => (&text[..at], 1_000),
        Some((at, 'M' | 'm')) => (&text[..at], 1_000_000),
        Some(_) | None => (text, 1),
    };
    let jobs = digits.parse::<u64>().ok().and_then(|n| n.checked_mul(unit));
    match jobs {
        Some(jobs) if (SMALL..=50_000_000).contains(&jobs) => Ok(jobs),
        Some(_) | None => Err("between 100k and 50M, as in 5M".to_owned()),
    }
}

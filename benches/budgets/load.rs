//! The base load of a board: how long it takes, and what the board then holds in memory.
//!
//! Measured in a process of its own, since what a process has freed it rarely gives back. Next:
//! [`crate::refresh`], what comes after the load.

use std::process::Command;
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use ledgertop::board::Board;
use ledgertop::ledger::num;
use ledgertop::store::url::LedgerUrl;
use serde::{Deserialize, Serialize};

use crate::sample::{median, ms, resident_mib};

/// What one load took.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Load {
    read_ms: f64,
    fold_ms: f64,
    cells: u64,
    /// The whole process: before, with the board alone, and the most in between.
    before_mib: Option<f64>,
    after_mib: Option<f64>,
    peak_mib: Option<f64>,
}

/// The middle of some loads.
pub(crate) struct Loads(Vec<Load>);

impl Loads {
    /// Loads the ledger's board so many times, each in a process of its own.
    pub(crate) fn measure(url: &str, times: usize) -> Result<Self> {
        let program = std::env::current_exe()?;
        let mut loads = Vec::new();
        for _ in 0..times {
            let output = Command::new(&program).args(["--load-of", url]).output()?;
            ensure!(
                output.status.success(),
                "the load failed: {}",
                String::from_utf8_lossy(&output.stderr)
            );
            loads.push(serde_json::from_slice(&output.stdout).context("what the load said")?);
        }
        Ok(Self(loads))
    }

    /// The whole load, in milliseconds.
    pub(crate) fn ms(&self) -> f64 {
        self.middle(|load| load.read_ms + load.fold_ms)
    }

    /// Groups of jobs that the database counted.
    pub(crate) fn cells(&self) -> u64 {
        self.0.first().map_or(0, |load| load.cells)
    }

    /// What the board added to the process, the whole process with it, and the most it ever held.
    pub(crate) fn mib(&self) -> Option<[f64; 3]> {
        let known = self.0.iter().all(|load| load.peak_mib.is_some());
        let of = |part: fn(&Load) -> Option<f64>| self.middle(|load| part(load).unwrap_or(0.0));
        known.then(|| {
            let after = of(|load| load.after_mib);
            [
                after - of(|load| load.before_mib),
                after,
                of(|load| load.peak_mib),
            ]
        })
    }

    fn middle(&self, part: impl Fn(&Load) -> f64) -> f64 {
        median(self.0.iter().map(part).collect())
    }
}

/// Loads the board once, in this process.
pub(crate) async fn load_once(url: &str) -> Result<Load> {
    let mut feed = LedgerUrl::parse(url)?.feed();
    let before_mib = resident_mib().map(|(now, _)| now);
    let started = Instant::now();
    let base = feed.base().await?;
    let read_ms = ms(started.elapsed());
    let started = Instant::now();
    let board = Board::load(&base);
    let fold_ms = ms(started.elapsed());
    let cells = num::count(base.cells.len());
    drop(base);
    let (after_mib, peak_mib) = resident_mib().unzip();
    ensure!(board.mismatches() == 0, "the board does not add up");
    Ok(Load {
        read_ms,
        fold_ms,
        cells,
        before_mib,
        after_mib,
        peak_mib,
    })
}

//! Power failures: a ledger's file and log as a crash may leave them (scenario S23).
//!
//! A write-ahead log that was cut anywhere is what SQLite finds after a crash: a beginning of what
//! was written. Each such copy must open, be sound and hold the laws, also by the word of `verify`.
//! Next: `processes.rs`.

use std::fs;
use std::path::{Path, PathBuf};

use ledgertop::cli::verify::judge;
use ledgertop::ledger::job::Verdict;
use ledgertop::store::LedgerUrl;

use crate::laws;
use crate::ledger::{Ledger, done, good, job, ledger, settled, sql};

/// Bytes before the first frame, and of a frame beside its page: "WAL Format" in SQLite's file
/// format.
const WAL_HEADER: usize = 32;
const FRAME_HEADER: usize = 24;
/// How many of the boundaries are cut at, evenly spread; the last ones always.
const CUTS: usize = 150;

fn wal_of(path: &Path) -> PathBuf {
    PathBuf::from(format!("{}-wal", path.display()))
}

/// Some of everything: enqueues, duplicates, claims, successes, releases, stale settles.
async fn traffic(ledger: &Ledger) {
    for round in 0..12 {
        let jobs: Vec<_> = (0..10)
            .map(|number| job(&format!("{}", round * 8 + number)))
            .collect();
        ledger.enqueue(&jobs).await;
        let claimed = ledger.claim().await;
        let settlements: Vec<_> = claimed
            .iter()
            .enumerate()
            .map(|(place, claimed)| match place % 3 {
                0 => settled(claimed, Verdict::Release),
                _ => done(claimed),
            })
            .collect();
        ledger.settle(&settlements).await;
        ledger.settle(&settlements[..1]).await;
    }
}

#[tokio::test]
async fn a_log_cut_at_any_frame_leaves_a_ledger_that_holds_the_laws() {
    let ledger = ledger().await;
    // Everything so far into the file, so that each cut has a ledger; then traffic into the log.
    sql(ledger.path(), "PRAGMA wal_checkpoint(TRUNCATE)");
    traffic(&ledger).await;
    let (file, log) = (
        fs::read(ledger.path()).expect("the file"),
        fs::read(wal_of(ledger.path())).expect("the log"),
    );
    let page = usize::from(u16::from_be_bytes([file[16], file[17]]));
    let frame = FRAME_HEADER + page;
    let frames = (log.len() - WAL_HEADER) / frame;
    assert!(frames > 50, "only {frames} frames were written");
    let step = frames.div_ceil(CUTS);
    let directory = tempfile::tempdir().expect("a directory");
    let mut counts = Vec::new();
    for cut in (0..=frames).filter(|cut| cut % step == 0 || frames - cut < 10) {
        // At the boundary, and in the middle of the frame behind it.
        for torn in [0, frame / 2] {
            let copy = directory.path().join(format!("{cut}-{torn}.db"));
            let end = log.len().min(WAL_HEADER + cut * frame + torn);
            fs::write(&copy, &file).expect("a copy");
            fs::write(wal_of(&copy), &log[..end]).expect("a copy of the log");
            laws::hold(&copy).await;
            let url = LedgerUrl::sqlite(&copy);
            let report = good(judge(&mut *url.audit(), 10).await);
            assert_eq!(report.total(), 0, "{report:?}");
            good(url.store().await);
            counts.push(laws::live(&copy).await);
            fs::remove_file(&copy).expect("it is removed");
        }
    }
    assert_eq!(counts.first(), Some(&0), "nothing of a log that is gone");
    assert_eq!(counts.last(), Some(&laws::live(ledger.path()).await));
}

//! S11: wall clocks that are wrong, that are set while leases run, that change to summer time, and
//! that stand beyond the year 2038. On PostgreSQL a worker's clock decides nothing. A ledger in a
//! file has the machine's clock, which all its processes share: set back or forth it may let a
//! lease end early or late, and breaks no law.
//!
//! The clock is set for a process by a small library that is compiled here and loaded before the
//! system's; it moves what can be set and leaves the monotonic clock alone, as a kernel does. Next:
//! `faults.rs`, the list.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use ledgertop::ledger::job::NewJob;
use ledgertop::ledger::state::State;
use tempfile::TempDir;

use crate::bench::{count_events, enqueue, events, job, open, until_all, until_state};
use crate::hangs::kind;
use crate::ledger::Ledger;
use crate::plan::say;
use crate::process::{Worker, program, verify};
use crate::sink::Sink;

const HOUR: i64 = 3_600;
const YEAR: i64 = 365 * 24 * HOUR;
/// 2026-03-29 00:59:55 UTC: five seconds before Berlin's clocks go forward.
const BEFORE_SUMMER: i64 = 1_774_745_995;

/// A clock that can be set.
struct Clock {
    place: TempDir,
}

impl Clock {
    async fn new() -> Self {
        let place = tempfile::tempdir().expect("a directory");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/faults/clock.c");
        let compiled = tokio::process::Command::new("cc")
            .args(["-shared", "-fPIC", "-O1", "-o"])
            .arg(place.path().join("clock.so"))
            .arg(source)
            .output()
            .await
            .expect("a C compiler, which building this program needs too");
        let said = String::from_utf8_lossy(&compiled.stderr);
        assert!(compiled.status.success(), "{said}");
        let clock = Self { place };
        clock.set(0);
        clock
    }

    fn file(&self) -> PathBuf {
        self.place.path().join("offset")
    }

    /// So many seconds beside the true time, from now on. Renamed into its place, so that nobody
    /// reads half of it.
    fn set(&self, seconds: i64) {
        let next = self.place.path().join("next");
        std::fs::write(&next, seconds.to_string()).expect("a file");
        std::fs::rename(&next, self.file()).expect("a file");
    }

    /// The variables of a process that has this clock.
    fn variables(&self) -> [(&'static str, String); 3] {
        let library = self.place.path().join("clock.so");
        [
            ("LD_PRELOAD", library.display().to_string()),
            ("CLOCK_OFFSET_FILE", self.file().display().to_string()),
            ("TZ", "Europe/Berlin".to_owned()),
        ]
    }

    fn worker(&self, ledger: &Ledger, name: &str, arguments: &[&str]) -> Worker {
        let variables = self.variables();
        let variables = variables
            .each_ref()
            .map(|(name, value)| (*name, value.as_str()));
        let address = ledger.url().to_string();
        Worker::start_with(&address, name, arguments, &variables)
    }

    /// What a process with this clock takes for the time.
    async fn says(&self) -> i64 {
        let said = tokio::process::Command::new("date")
            .arg("+%s")
            .envs(self.variables())
            .stdout(Stdio::piped())
            .output()
            .await
            .expect("the time");
        let text = String::from_utf8_lossy(&said.stdout);
        text.trim().parse().expect("a number")
    }
}

pub(crate) async fn no_clock_of_a_worker_decides_anything(ledger: &Ledger) {
    let store = open(ledger).await;
    let sink = Sink::new();
    let begun = ledger.now_ms().await;
    let to_summer = BEFORE_SUMMER - begun / 1_000;
    let offsets = [HOUR, -HOUR, 14 * YEAR, to_summer, 0];
    let mut clocks = Vec::new();
    for offset in offsets {
        let clock = Clock::new().await;
        clock.set(offset);
        let off = clock.says().await - begun / 1_000 - offset;
        assert!((-1..30).contains(&off), "the clock is not as it was set");
        clocks.push(clock);
    }
    // Each holds four jobs for four leases.
    let command = sink.command(4.0);
    let arguments = ["--lease", "1s", "--concurrency", "4", "--exec", &command];
    let workers: Vec<Worker> = clocks
        .iter()
        .enumerate()
        .map(|(number, clock)| clock.worker(ledger, &format!("w{number}"), &arguments))
        .collect();
    let jobs = 4 * offsets.len();
    let new: Vec<NewJob> = (0..jobs).map(|n| job(&format!("image_{n}"))).collect();
    let ids = enqueue(store.as_ref(), &new).await;
    until_all(store.as_ref(), &ids, State::Running).await;
    // In the middle of their leases: back by an hour, forth by a day, and so on.
    for (clock, step) in clocks.iter().zip([-HOUR, 24 * HOUR, -13 * YEAR, HOUR, -1]) {
        clock.set(step);
    }
    until_all(store.as_ref(), &ids, State::Succeeded).await;
    for worker in workers {
        let said = worker.stop().await;
        assert!(!said.contains("panicked"), "{said}");
    }
    assert_eq!(count_events(ledger, "claim").await, jobs, "no lease ended");
    assert_eq!(count_events(ledger, "lease_expire").await, 0);
    assert_eq!(count_events(ledger, "stale_refused").await, 0);
    let ended = ledger.now_ms().await;
    let outside = format!(
        "SELECT CAST(count(*) AS text) FROM job_events \
         WHERE extract(epoch FROM at) * 1000 NOT BETWEEN {begun} AND {ended}"
    );
    assert_eq!(
        ledger.value(&outside).await,
        "0",
        "every time is the database's"
    );
    verify(ledger).await;
    say(&format!(
        "S11 {}: {jobs} jobs of four leases, clocks off by {offsets:?} s and set meanwhile; \
         no lease ended",
        kind(ledger)
    ));
}

pub(crate) async fn a_machine_whose_clock_is_set_breaks_no_law(ledger: &Ledger) {
    let sink = Sink::new();
    let clock = Clock::new().await;
    let command = sink.command(3.0);
    let arguments = ["--lease", "1s", "--concurrency", "4", "--exec", &command];
    let workers = ["w1", "w2"].map(|name| clock.worker(ledger, name, &arguments));
    // Everything on this machine has its clock, also who enqueues. In the end it is past 2038. A
    // step beyond the age budget would rightly make a job dead, so none is that long.
    let steps = [
        (0, -HOUR),
        (-HOUR, HOUR),
        (HOUR, 0),
        (14 * YEAR, 14 * YEAR - HOUR),
    ];
    for (number, (before, step)) in steps.into_iter().enumerate() {
        clock.set(before);
        let keys: Vec<String> = (0..4).map(|n| format!("image_{number}_{n}")).collect();
        let mut ids = Vec::new();
        for key in &keys {
            ids.push(enqueue_with(&clock, ledger, key).await);
        }
        let store = open(ledger).await;
        for id in &ids {
            until_state(store.as_ref(), *id, State::Running).await;
        }
        clock.set(step);
        until_all(store.as_ref(), &ids, State::Succeeded).await;
        for id in ids {
            let found = events(ledger, id).await;
            let ends = found.iter().filter(|event| *event == "succeed").count();
            assert_eq!(ends, 1, "{found:?}");
        }
    }
    for worker in workers {
        let said = worker.stop().await;
        assert!(!said.contains("panicked"), "{said}");
    }
    assert_eq!(sink.applied().len(), 16);
    verify(ledger).await;
    say(&format!(
        "S11 {}: set back and forth by an hour and beyond 2038; {} calls, {} effects, {} leases \
         ended by a step, {} stale refused",
        kind(ledger),
        sink.calls().len(),
        sink.applied().len(),
        count_events(ledger, "lease_expire").await,
        count_events(ledger, "stale_refused").await
    ));
}

/// Enqueues by a process that has the clock.
async fn enqueue_with(clock: &Clock, ledger: &Ledger, key: &str) -> uuid::Uuid {
    let home = tempfile::tempdir().expect("a directory");
    let ran = program(&ledger.url().to_string(), home.path())
        .args([
            "enqueue",
            "--json",
            "--queue",
            "thumbnails",
            "--kind",
            "render",
        ])
        .args(["--key", key])
        .envs(clock.variables())
        .stdout(Stdio::piped())
        .output()
        .await
        .expect("the program starts");
    assert!(ran.status.success());
    let outcome: serde_json::Value = serde_json::from_slice(&ran.stdout).expect("JSON");
    let id = outcome["id"].as_str().expect("an id");
    id.parse().expect("an id")
}

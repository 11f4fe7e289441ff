//! Worker processes: this test program started again for the one ignored test that is their body.
//! A process notes each effect in a file before its attempt is settled, as a handler with an effect
//! outside the ledger would.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use ledgertop::store::LedgerUrl;
use ledgertop::worker::WorkerOptions;
use rustix::process::{Pid, Signal, kill_process};
use tokio::time::sleep;

use crate::bench::{Housekeeper, done, handlers, options, start};

const LEDGER: &str = "LEDGERTOP_TEST_WORKER_LEDGER";
const NAME: &str = "LEDGERTOP_TEST_WORKER_NAME";
const EFFECTS: &str = "LEDGERTOP_TEST_WORKER_EFFECTS";
const WORK_MS: &str = "LEDGERTOP_TEST_WORKER_MS";

/// A worker process; killed with the value at the latest.
pub(crate) struct Process(Child);

impl Process {
    /// Starts a process whose handlers take `work`.
    pub(crate) fn start(address: &str, name: &str, effects: &Path, work: Duration) -> Self {
        let program = std::env::current_exe().unwrap_or_else(|error| panic!("no program: {error}"));
        let child = Command::new(program)
            .args(["--ignored", "--exact", "worker_process"])
            .env(LEDGER, address)
            .env(NAME, name)
            .env(EFFECTS, effects)
            .env(WORK_MS, work.as_millis().to_string())
            .stdout(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("no worker process: {error}"));
        Self(child)
    }

    /// SIGSTOP or SIGCONT: it stands still, or goes on as if no time had passed.
    pub(crate) fn signal(&self, signal: Signal) {
        let process = Pid::from_child(&self.0);
        kill_process(process, signal).unwrap_or_else(|error| panic!("no signal: {error}"));
    }

    /// SIGKILL: it ends where it stands.
    pub(crate) fn kill(&mut self) {
        self.0
            .kill()
            .unwrap_or_else(|error| panic!("no kill: {error}"));
        self.0
            .wait()
            .unwrap_or_else(|error| panic!("no end: {error}"));
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // One that was killed already is no mistake.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// What a worker process does until it is killed.
pub(crate) async fn body() {
    let said = |name: &str| {
        std::env::var(name)
            .unwrap_or_else(|_| panic!("'{name}' is said by the case that starts it"))
    };
    let url = LedgerUrl::parse(&said(LEDGER)).unwrap_or_else(|error| panic!("{error}"));
    let effects = PathBuf::from(said(EFFECTS));
    let work = said(WORK_MS)
        .parse()
        .map_or_else(|error| panic!("{WORK_MS}: {error}"), Duration::from_millis);
    let store = url.store().await.unwrap_or_else(|error| panic!("{error}"));
    let handlers = handlers(move |job| {
        let effects = effects.clone();
        async move {
            sleep(work).await;
            note(&effects, &job.idempotency_key);
            done(&job.idempotency_key)
        }
    });
    let _housekeeper = Housekeeper::start(Arc::clone(&store));
    let options = WorkerOptions {
        concurrency: 5,
        lease: Duration::from_secs(3),
        ..options(&said(NAME))
    };
    start(store, handlers, options).ended_never().await;
}

/// One line of an append-only file: written whole, also beside other processes.
fn note(file: &Path, key: &str) {
    let mut file = OpenOptions::new()
        .create(true)
        .append(true)
        .open(file)
        .unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    file.write_all(format!("{key}\n").as_bytes())
        .unwrap_or_else(|error| panic!("no effect: {error}"));
}

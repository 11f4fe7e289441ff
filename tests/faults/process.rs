//! Real processes of the real program: workers, producers, and the audit that every scenario ends
//! with.
//!
//! Next: `sink.rs`, where effects go.

use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tokio::process::{Child, Command};
use tokio::time::{sleep, timeout};

use crate::ledger::Ledger;

/// How long a process that was told to end may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// The real program on a ledger, with no variables but those that it needs.
pub(crate) fn program(ledger: &str, home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ledgertop"));
    command
        .env_clear()
        .env("HOME", home)
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("LEDGERTOP_LEDGER", ledger)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true);
    command
}

/// Fails unless every law holds, by the word of `ledgertop verify`.
pub(crate) async fn verify(ledger: &Ledger) {
    verify_address(&ledger.url().to_string()).await;
}

/// As [`verify`], of any ledger.
pub(crate) async fn verify_address(ledger: &str) {
    let home = tempfile::tempdir().expect("a directory");
    let ran = program(ledger, home.path())
        .arg("verify")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .output()
        .await
        .expect("the program starts");
    assert!(
        ran.status.success(),
        "{}{}",
        String::from_utf8_lossy(&ran.stdout),
        String::from_utf8_lossy(&ran.stderr)
    );
}

/// The number of a process that may be sent signals, or 0; never that of one that has been waited
/// for, which may be somebody else's by then.
#[derive(Debug, Default)]
pub(crate) struct Victim(AtomicI32);

impl Victim {
    /// The way to a child that has not been waited for.
    pub(crate) fn of(child: &Child) -> Self {
        let victim = Self::default();
        victim.follow(child);
        victim
    }

    fn follow(&self, child: &Child) {
        let pid = child.id().and_then(|id| i32::try_from(id).ok());
        self.0.store(pid.unwrap_or_default(), Ordering::SeqCst);
    }

    /// To be called before the child is waited for.
    pub(crate) fn forget(&self) {
        self.0.store(0, Ordering::SeqCst);
    }

    /// Sends the signal, if there is a process; whether there was.
    pub(crate) fn signal(&self, signal: Signal) -> bool {
        let Some(pid) = Pid::from_raw(self.0.load(Ordering::SeqCst)) else {
            return false;
        };
        kill_process(pid, signal).is_ok()
    }

    /// SIGKILL: it ends where it stands.
    pub(crate) fn kill(&self) -> bool {
        self.signal(Signal::KILL)
    }
}

/// `ledgertop work` as a process; killed with the value at the latest.
pub(crate) struct Worker {
    child: Child,
    home: TempDir,
}

impl Worker {
    /// Starts a worker of that name on the queue `thumbnails`, which is the one of all scenarios.
    pub(crate) fn start(ledger: &str, name: &str, arguments: &[&str]) -> Self {
        Self::start_with(ledger, name, arguments, &[])
    }

    /// As [`Worker::start`], with further variables.
    pub(crate) fn start_with(
        ledger: &str,
        name: &str,
        arguments: &[&str],
        variables: &[(&str, &str)],
    ) -> Self {
        let home = tempfile::tempdir().expect("a directory");
        let messages = std::fs::File::create(home.path().join("messages")).expect("a file");
        let child = program(ledger, home.path())
            .args(["work", "--queue", "thumbnails", "--name", name])
            .args(arguments)
            .envs(variables.iter().copied())
            .stderr(messages)
            .spawn()
            .expect("the program starts");
        Self { child, home }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = self.pid().expect("it was not waited for");
        kill_process(pid, signal).expect("it is there");
    }

    fn pid(&self) -> Option<Pid> {
        Pid::from_raw(i32::try_from(self.child.id()?).ok()?)
    }

    /// What it has said so far.
    pub(crate) fn messages(&self) -> String {
        std::fs::read_to_string(self.home.path().join("messages")).unwrap_or_default()
    }

    /// Asks it to end in good order and waits for that; what it said.
    pub(crate) async fn stop(mut self) -> String {
        self.signal(Signal::TERM);
        let ended = timeout(PATIENCE, self.child.wait()).await;
        let status = ended.expect("it ends in time").expect("it is ours");
        let said = self.messages();
        assert!(status.success(), "{said}");
        said
    }

    /// Waits for its end, however that comes; while it lives, `victim` leads to it.
    pub(crate) async fn ended(mut self, victim: &Victim) -> std::process::ExitStatus {
        let pid = self.pid().map_or(0, |pid| pid.as_raw_nonzero().get());
        victim.0.store(pid, Ordering::SeqCst);
        // Asked now and then rather than waited for: a process that has been waited for must not be
        // sent a signal, so its number is forgotten first.
        loop {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            let state = stat.rsplit_once(") ").map_or("Z", |(_, rest)| rest);
            if state.starts_with('Z') {
                victim.0.store(0, Ordering::SeqCst);
                return self.child.wait().await.expect("it is ours");
            }
            sleep(Duration::from_millis(5)).await;
        }
    }
}

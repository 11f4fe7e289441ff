//! Workers that know SQL and nothing of ledgertop, beside ours: `examples/worker.js` on PostgreSQL
//! and `examples/worker.py` on SQLite, the very files that `docs/ledger.md` shows.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use ledgertop::ledger::job::NewJob;
use ledgertop::ledger::policy::OnUnknown;
use ledgertop::ledger::state::State;
use ledgertop::ledger::time::Timestamp;
use ledgertop::store::DatabaseKind;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::bench::{Housekeeper, enqueue, events, job, open, policy, row, until_state};
use crate::ledger::Ledger;
use crate::program::Work;

/// How long the whole may take before the case fails: far longer than it ever does.
const PATIENCE: Duration = Duration::from_secs(120);
const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// A worker as a process; killed with the value at the latest.
struct SqlWorker(Child);

impl SqlWorker {
    /// Starts the worker for that ledger with leases of a second; what it prints goes into a file
    /// of its name.
    fn start(ledger: &Ledger, home: &Path, name: &str, arguments: &[&str]) -> Self {
        let mut command = match ledger.kind() {
            DatabaseKind::Postgres => {
                let mut node = Command::new("node");
                node.arg(format!("{ROOT}/examples/worker.js"))
                    .env("NODE_PATH", packages())
                    .env("DATABASE_URL", ledger.url().to_string());
                node
            }
            DatabaseKind::Sqlite => {
                let mut python = Command::new("python3");
                python
                    .arg(format!("{ROOT}/examples/worker.py"))
                    .arg(ledger.url().to_string().trim_start_matches("sqlite:"));
                python
            }
        };
        let said = std::fs::File::create(home.join(name)).expect("a file");
        let child = command
            .args(arguments)
            .env("OUTBOX", home.join("outbox"))
            .env("LEASE_SECONDS", "1")
            .env("WORKER_NAME", name)
            .stdin(Stdio::null())
            .stderr(said.try_clone().expect("a file"))
            .stdout(said)
            .spawn()
            .unwrap_or_else(|error| panic!("{command:?} cannot be run: {error}"));
        Self(child)
    }

    fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.0.id()).ok().and_then(Pid::from_raw);
        kill_process(pid.expect("a process"), signal).expect("it is there");
    }

    /// Asks it to end, and waits until it has; what it printed.
    async fn stop(mut self, home: &Path, name: &str) -> String {
        self.signal(Signal::TERM);
        let began = Instant::now();
        loop {
            let ended = self.0.try_wait().expect("it is ours");
            let said = std::fs::read_to_string(home.join(name)).expect("what it printed");
            if let Some(status) = ended {
                assert!(status.success(), "{name} ended with {status}: {said}");
                return said;
            }
            assert!(began.elapsed() < PATIENCE, "{name} did not end: {said}");
            sleep(Duration::from_millis(20)).await;
        }
    }
}

impl Drop for SqlWorker {
    fn drop(&mut self) {
        // One that has ended is no mistake.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// Where the package `pg` is.
fn packages() -> String {
    let script = format!("{ROOT}/scripts/node-packages");
    let ran = Command::new(&script).output().expect("bash is there");
    assert!(
        ran.status.success(),
        "'{script}' could not bring what a worker in Node.js needs: {}",
        String::from_utf8_lossy(&ran.stderr)
    );
    String::from_utf8_lossy(&ran.stdout).trim().to_owned()
}

/// What the handlers of both kinds do, as our command: one file a key, whoever comes first.
const HANDLER: &str = r#"payload=$(cat)
case $payload in *'"to"'*) ;; *) exit 65 ;; esac
case $payload in *'"busy"'*) [ "$LEDGERTOP_ATTEMPT" -gt 1 ] || exit 75 ;; esac
sent="$OUTBOX/$LEDGERTOP_IDEMPOTENCY_KEY"
(set -C; echo to > "$sent") 2>/dev/null || [ -e "$sent" ]
"#;

fn start_ours(ledger: &Ledger, home: &Path, name: &str) -> Work {
    let own = home.join(format!("home_{name}"));
    std::fs::create_dir(&own).expect("a directory");
    let script = home.join("handler.sh");
    std::fs::write(&script, HANDLER).expect("a file");
    let exec = format!("sh {}", script.display());
    let arguments = [
        "--queue",
        "thumbnails",
        "--exec",
        &exec,
        "--name",
        name,
        "--lease",
        "1s",
        "--concurrency",
        "3",
    ];
    let outbox = home.join("outbox").display().to_string();
    Work::start(ledger, &own, &arguments, &[("OUTBOX", &outbox)])
}

async fn number(ledger: &Ledger, what: &str) -> u64 {
    let count = format!("SELECT CAST(count(*) AS text) FROM {what}");
    ledger.value(&count).await.parse().expect("a number")
}

async fn until_number(ledger: &Ledger, what: &str, enough: impl Fn(u64) -> bool) {
    let began = Instant::now();
    while !enough(number(ledger, what).await) {
        assert!(began.elapsed() < PATIENCE, "never came: {what}");
        sleep(Duration::from_millis(20)).await;
    }
}

/// Starts workers, one after the other, and kills each with SIGKILL while it has a job in hand,
/// until one has taken a job with it: a last settlement may have been on its way when it was
/// stopped, and then nothing was lost.
async fn one_dies_with_a_job_in_hand<S: Fn(Signal)>(
    ledger: &Ledger,
    kind: &str,
    start: impl Fn(&str) -> S,
) {
    for round in 0..10 {
        let name = format!("{kind}-doomed-{round}");
        let signal = start(&name);
        let settled = format!("job_events WHERE actor LIKE '{name}%' AND event = 'succeed'");
        until_number(ledger, &settled, |count| count >= 3).await;
        let held = format!("jobs WHERE worker LIKE '{name}%'");
        let began = Instant::now();
        loop {
            signal(Signal::STOP);
            if number(ledger, &held).await > 0 {
                break;
            }
            signal(Signal::CONT);
            assert!(began.elapsed() < PATIENCE, "{name} never has a job in hand");
            sleep(Duration::from_millis(3)).await;
        }
        signal(Signal::KILL);
        until_number(ledger, &held, |count| count == 0).await;
        let lost = format!("job_events WHERE worker LIKE '{name}%' AND event = 'lease_expire'");
        if number(ledger, &lost).await > 0 {
            return;
        }
    }
    panic!("{kind}: none of ten died with a job in hand");
}

fn jobs(count: usize) -> Vec<NewJob> {
    let jobs = (0..count).map(|number| NewJob {
        tenant: format!("tenant_{}", number % 3),
        policy: "quick".to_owned(),
        payload: match number {
            bad if bad % 10 == 0 => json!({}),
            busy if busy % 4 == 0 => json!({ "to": "ann", "busy": true }),
            _ => json!({ "to": "ann" }),
        },
        ..job(&format!("mail_{number}"))
    });
    jobs.collect()
}

pub(crate) async fn workers_of_sql_alone_share_a_queue_with_ours_and_some_are_killed(
    ledger: &Ledger,
) {
    let store = open(ledger).await;
    let home = tempfile::tempdir().expect("a directory");
    let home = home.path();
    std::fs::create_dir(home.join("outbox")).expect("a directory");
    policy(store.as_ref(), "quick", |_| {}).await;
    let jobs = jobs(600);
    enqueue(store.as_ref(), &jobs).await;

    let sql = SqlWorker::start(ledger, home, "sql-1", &["thumbnails"]);
    let ours = start_ours(ledger, home, "ours-1");
    let sql_dies = one_dies_with_a_job_in_hand(ledger, "sql", |name| {
        let worker = SqlWorker::start(ledger, home, name, &["thumbnails"]);
        move |signal| worker.signal(signal)
    });
    let ours_dies = one_dies_with_a_job_in_hand(ledger, "ours", |name| {
        let worker = start_ours(ledger, home, name);
        move |signal| worker.signal(signal)
    });
    tokio::join!(sql_dies, ours_dies);
    let live = "jobs WHERE state IN ('pending', 'ready', 'running', 'retry_wait')";
    until_number(ledger, live, |count| count == 0).await;
    sql.stop(home, "sql-1").await;
    ours.signal(Signal::TERM);
    let ran = ours.ended(&home.join("home_ours-1")).await;
    assert_eq!(ran.code, Some(0), "{}", ran.messages);

    each_has_one_effect(ledger, home, &jobs).await;
    both_kinds_did_some(ledger).await;
    assert!(number(ledger, "jobs WHERE unsettled > 0").await >= 2);
    verify(ledger);
}

/// In a place of its own, beside the ledger.
async fn each_has_one_effect(ledger: &Ledger, home: &Path, jobs: &[NewJob]) {
    let (bad, good): (Vec<_>, Vec<_>) = jobs.iter().partition(|job| job.payload == json!({}));
    let wanted: BTreeSet<_> = good.iter().map(|job| job.idempotency_key.clone()).collect();
    let sent: BTreeSet<_> = std::fs::read_dir(home.join("outbox"))
        .expect("it is there")
        .map(|file| file.expect("a file").file_name().into_string())
        .collect::<Result<_, _>>()
        .expect("keys");
    assert_eq!(sent, wanted);
    for (state, jobs) in [("succeeded", good), ("quarantined", bad)] {
        let count = number(ledger, &format!("jobs WHERE state = '{state}'")).await;
        assert_eq!(count, ledgertop::ledger::num::count(jobs.len()), "{state}");
    }
}

async fn both_kinds_did_some(ledger: &Ledger) {
    for (who, did) in [
        ("sql-1%", "event = 'succeed'"),
        ("ours-1%", "event = 'succeed'"),
        ("sql-%", "event = 'retry' AND reason = 'rate_limited'"),
        ("sql-%", "event = 'reject' AND reason = 'missing_field'"),
        ("ours-%", "event = 'retry' AND reason = 'unavailable'"),
        ("ours-%", "event = 'reject' AND reason = 'malformed'"),
    ] {
        let count = number(
            ledger,
            &format!("job_events WHERE actor LIKE '{who}' AND {did}"),
        )
        .await;
        assert!(count > 0, "{who}: {did}");
    }
}

/// Holds the ledger against its laws by `ledgertop verify`.
fn verify(ledger: &Ledger) {
    let ran = Command::new(env!("CARGO_BIN_EXE_ledgertop"))
        .arg("verify")
        .env("LEDGERTOP_LEDGER", ledger.url().to_string())
        .output()
        .expect("the program starts");
    let said = String::from_utf8_lossy(&ran.stdout);
    assert_eq!(ran.status.code(), Some(0), "{said}");
}

/// A queue of its own, and keys as a broker might deliver them, some twice.
const DELIVERIES: [&str; 11] = [
    "thumbnails",
    "slow",
    "spent",
    "bad",
    "no/such/place",
    "later",
    "slow",
    "spent",
    "bad",
    "no/such/place",
    "never heard of",
];
/// What the worker says of them.
const DISPOSITIONS: &str = "slow: run\nspent: run\nbad: run\nno/such/place: run\n\
                            no/such/place: not settled, its lease decides\n\
                            later: already scheduled\nslow: already succeeded\n\
                            spent: set aside (dead)\nbad: set aside (quarantined)\n\
                            no/such/place: already running\nnever heard of: not found\n";

pub(crate) async fn a_worker_of_sql_alone_learns_what_to_do_with_a_delivery(ledger: &Ledger) {
    let store = open(ledger).await;
    let home = tempfile::tempdir().expect("a directory");
    let home = home.path();
    std::fs::create_dir(home.join("outbox")).expect("a directory");
    policy(store.as_ref(), "once", |policy| policy.max_attempts = 1).await;
    policy(store.as_ref(), "hold", |policy| {
        policy.on_unknown = OnUnknown::Hold;
    })
    .await;
    let with = |key: &str, policy: &str, payload: Value| NewJob {
        queue: "elsewhere".to_owned(),
        policy: policy.to_owned(),
        payload,
        ..job(key)
    };
    let in_an_hour = Timestamp::from_millis(ledger.now_ms().await + 3_600_000);
    let ids = enqueue(
        store.as_ref(),
        &[
            with("slow", "default", json!({ "to": "ann", "seconds": 1.5 })),
            with("spent", "once", json!({ "to": "ann", "busy": true })),
            with("bad", "default", json!({})),
            // The handler cannot write there, and does not know why.
            with("no/such/place", "hold", json!({ "to": "ann" })),
            NewJob {
                available_at: Some(in_an_hour),
                ..with("later", "default", json!({}))
            },
        ],
    )
    .await;
    let worker = SqlWorker::start(ledger, home, "sql-1", &DELIVERIES);
    until_said(home, "never heard of: not found").await;
    let said = worker.stop(home, "sql-1").await;
    assert_eq!(said, DISPOSITIONS);
    let slow = events(ledger, ids[0]).await;
    assert_eq!(
        slow.first_chunk(),
        Some(&["enqueue", "claim", "renew"].map(str::to_owned))
    );
    assert_eq!(
        slow.last_chunk(),
        Some(&["succeed", "duplicate"].map(str::to_owned))
    );
    assert_eq!(
        events(ledger, ids[1]).await,
        ["enqueue", "claim", "exhaust", "duplicate"]
    );
    assert_eq!(
        events(ledger, ids[2]).await,
        ["enqueue", "claim", "reject", "duplicate"]
    );
    // Held for a person: nobody settles it, and the ledger says so.
    let _housekeeper = Housekeeper::start(Arc::clone(&store));
    until_state(store.as_ref(), ids[3], State::Ready).await;
    let unknown = format!("jobs WHERE id = '{}' AND unsettled = 1", ids[3]);
    assert_eq!(number(ledger, &unknown).await, 1);
    assert_eq!(row(store.as_ref(), ids[4]).await.state, State::Pending);
    verify(ledger);
}

async fn until_said(home: &Path, line: &str) {
    let began = Instant::now();
    while !std::fs::read_to_string(home.join("sql-1")).is_ok_and(|said| said.contains(line)) {
        assert!(began.elapsed() < PATIENCE, "never said: {line}");
        sleep(Duration::from_millis(20)).await;
    }
}

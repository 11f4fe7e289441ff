//! Many processes on one file, some with another SQLite library, some killed.
//!
//! The other processes are workers in Python that know SQL and nothing else; their library is
//! older than the one that ledgertop brings. Next: `replace.rs`.

#![expect(
    clippy::expect_used,
    reason = "a helper that cannot help fails the test"
)]

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::laws;
use crate::ledger::{Ledger, done, good, job, ledger, sql, try_sql, wish};

/// Enqueues jobs, then claims and settles one at a time until none is left.
const WORKER: &str = r#"
import sqlite3, sys
path, name, jobs = sys.argv[1], sys.argv[2], int(sys.argv[3])
ledger = sqlite3.connect(path, timeout=60, isolation_level=None)
now = "CAST((julianday('now') - 2440587.5) * 86400000.0 + 0.5 AS INTEGER)"
for number in range(jobs):
    for key in (f"{name}:{number}", f"shared:{number}"):
        ledger.execute(
            "INSERT INTO jobs (idempotency_key, queue, kind, actor) VALUES (?, 'billing', 'sql', ?)"
            " ON CONFLICT (idempotency_key) DO UPDATE SET event = 'duplicate',"
            " actor_kind = 'producer', actor = excluded.actor, version = version + 1",
            (key, name))
while True:
    claimed = ledger.execute(
        "UPDATE jobs SET event = 'claim', state = 'running', actor_kind = 'worker', actor = ?,"
        f" version = version + 1, fence = fence + 1, lease_expires_at = {now} + 60000"
        " WHERE id = (SELECT id FROM jobs WHERE state = 'ready' AND queue = 'billing'"
        " ORDER BY tenant, state_since, id LIMIT 1)"
        " RETURNING id, fence", (name,)).fetchall()
    if not claimed:
        break
    for job, fence in claimed:
        settled = ledger.execute(
            "UPDATE jobs SET event = 'succeed', state = 'succeeded', actor_kind = 'worker',"
            " actor = ?, version = version + 1, output_ref = ?"
            " WHERE id = ? AND fence = ? AND state = 'running'",
            (name, f"done by {name}", job, fence))
        assert settled.rowcount == 1, (job, fence)
"#;

fn worker(path: &Path, name: &str, jobs: u32) -> Child {
    Command::new("python3")
        .args(["-c", WORKER])
        .arg(path)
        .args([name, &jobs.to_string()])
        .stderr(Stdio::piped())
        .spawn()
        .expect("python3 is there")
}

/// Waits for a worker that is to end well.
async fn ended(worker: Child) {
    let output = tokio::task::spawn_blocking(|| worker.wait_with_output())
        .await
        .expect("it did not panic")
        .expect("it ended");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
}

/// Claims and settles through a store of its own until nothing is ready.
async fn drain(ledger: &Ledger, name: &str) -> usize {
    let store = good(ledger.url.store().await);
    let (mut settlements, mut settled) = (Vec::new(), 0);
    loop {
        let exchanged = good(
            store
                .exchange(name, &settlements, Some(&wish(name, 3)))
                .await,
        );
        settled += exchanged.outcomes.len();
        if exchanged.claimed.is_empty() {
            return settled;
        }
        settlements = exchanged.claimed.iter().map(done).collect();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn processes_and_stores_write_at_once_and_no_update_is_lost() {
    let ledger = ledger().await;
    let workers: Vec<_> = ["ann", "bob", "cy"]
        .map(|name| worker(ledger.path(), name, 30))
        .into();
    let ours: Vec<_> = (0..60)
        .map(|number| job(&format!("ours:{number}")))
        .collect();
    let (one, two, _enqueued) = tokio::join!(
        drain(&ledger, "one"),
        drain(&ledger, "two"),
        ledger.enqueue(&ours)
    );
    for worker in workers {
        ended(worker).await;
    }
    let rest = drain(&ledger, "three").await;
    laws::hold(ledger.path()).await;
    let count = |what: &str| -> usize {
        let text = sql(ledger.path(), &format!("SELECT count(*) FROM {what}"));
        text.parse().expect("a number")
    };
    // 30 keys of each of the three, 30 that they share, 60 of ours.
    assert_eq!(count("jobs WHERE state = 'succeeded'"), 180);
    assert_eq!(count("job_events WHERE event = 'claim'"), 180);
    assert_eq!(count("job_events WHERE event = 'succeed'"), 180);
    assert_eq!(count("job_events WHERE event = 'duplicate'"), 60);
    let by_others = count("job_events WHERE event = 'succeed' AND actor IN ('ann', 'bob', 'cy')");
    assert_eq!(one + two + rest + by_others, 180);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn workers_killed_at_any_moment_lose_nothing() {
    let ledger = ledger().await;
    let mut connection = laws::connect(ledger.path()).await;
    let mut events = async || {
        let count = laws::read(&mut connection, "SELECT count(*) FROM job_events").await;
        count[0].parse::<u64>().expect("a number")
    };
    let mut seen = 0;
    for more in [1, 2, 3, 5, 8, 13, 21, 34] {
        let mut workers: Vec<_> = ["a", "b"]
            .map(|name| worker(ledger.path(), &format!("{name}{more}"), 20))
            .into();
        // In the middle of whatever they do next.
        while events().await < seen + more {
            sleep(Duration::from_millis(1)).await;
        }
        for worker in &mut workers {
            worker.kill().expect("it is killed");
            worker.wait().expect("it ended");
        }
        laws::hold(ledger.path()).await;
        seen = events().await;
    }
}

#[tokio::test]
async fn an_older_library_works_the_ledger_by_sql_alone() {
    let ledger = ledger().await;
    let library = sql(ledger.path(), "SELECT sqlite_version()");
    let minor = library
        .split('.')
        .nth(1)
        .and_then(|minor| minor.parse().ok());
    assert!(
        minor >= Some(38),
        "SQLite {library} is older than what a ledger needs"
    );
    ended(worker(ledger.path(), "ann", 3)).await;
    let outputs = sql(
        ledger.path(),
        "SELECT DISTINCT state, output_ref, version, fence, attempt FROM jobs",
    );
    assert_eq!(outputs, "succeeded|done by ann|3|1|1");
    let refused = try_sql(
        ledger.path(),
        "UPDATE jobs SET event = 'redrive', state = 'ready', actor_kind = 'operator', \
         version = version + 1",
    );
    let said = refused.expect_err("nothing leaves succeeded");
    assert!(
        said.contains("may not move it from succeeded to ready"),
        "{said}"
    );
    laws::hold(ledger.path()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn calls_dropped_at_any_moment_leave_no_transaction_and_no_lock() {
    let ledger = ledger().await;
    let jobs: Vec<_> = (0..200).map(|number| job(&format!("{number}"))).collect();
    ledger.enqueue(&jobs).await;
    let mut calls = JoinSet::new();
    for round in 0_u64..300 {
        let store = ledger.store.clone();
        calls.spawn(async move {
            let wish = wish("w", 1);
            let limit = Duration::from_micros(round * 7);
            // Dropped where it stands when the time is up.
            drop(tokio::time::timeout(limit, store.exchange("w", &[], Some(&wish))).await);
        });
    }
    calls.join_all().await;
    // Another process gets the lock at once, and this one still works.
    let other = "INSERT INTO jobs (idempotency_key, queue, kind) VALUES ('other', 'q', 'k')";
    sql(ledger.path(), other);
    ledger.enqueue(&[job("ours")]).await;
    laws::hold(ledger.path()).await;
}

//! Handlers that are commands: what each exit does to its job, and that nothing of a command
//! outlives its attempt.
//!
//! Next: `program.rs`, the real program around both kinds.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ledgertop::ledger::job::NewJob;
use ledgertop::ledger::meaning::Table;
use ledgertop::ledger::state::State;
use ledgertop::store::Store;
use ledgertop::worker::handler::exec::{ExecHandler, ExecOptions, exit, words};
use ledgertop::worker::{Handlers, WorkerOptions};
use uuid::Uuid;

use crate::bench::{Running, enqueue, events, job, open, options, start, until, until_state};
use crate::ledger::Ledger;

/// A worker whose handler runs `command`, and the handler.
fn work(store: &Arc<dyn Store>, command: &str, timeout: Duration) -> (Running, Arc<ExecHandler>) {
    let (program, arguments) = words(command).expect("a command");
    let handler = Arc::new(ExecHandler::new(ExecOptions {
        program,
        arguments,
        table: Table::new(exit::RULES, BTreeMap::new()),
        timeout,
        grace: Duration::from_millis(300),
    }));
    let worker = WorkerOptions {
        timeout: handler.longest(),
        grace: Duration::from_millis(100),
        ..options("w1")
    };
    let handlers = Handlers::all(Arc::clone(&handler) as _);
    (start(Arc::clone(store), handlers, worker), handler)
}

const LONG: Duration = Duration::from_secs(10);

async fn failure(ledger: &Ledger, job: Uuid) -> (String, String) {
    let of = |column: &str| {
        format!(
            "SELECT {column} FROM job_events WHERE job_id = '{job}' AND error IS NOT NULL \
             ORDER BY version DESC LIMIT 1"
        )
    };
    let failure = ledger.value(&of("error_class || ' ' || reason")).await;
    (failure, ledger.value(&of("error")).await)
}

/// Whether the process is there and no zombie.
pub(crate) fn is_alive(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}

/// The text of a file that is about to be written whole, with a line end.
async fn written(path: &Path) -> String {
    until("a file with a line", || {
        std::fs::read_to_string(path).is_ok_and(|text| text.ends_with('\n'))
    })
    .await;
    std::fs::read_to_string(path).expect("it was there")
}

async fn until_gone(pids: &str) {
    for pid in pids.split_whitespace() {
        until("the end of a process", || !is_alive(pid)).await;
    }
}

pub(crate) async fn every_exit_ends_as_the_table_says(ledger: &Ledger) {
    let store = open(ledger).await;
    let cases = [
        ("exit 0", State::Succeeded, ""),
        ("exit 1", State::RetryWait, "unknown unclassified"),
        ("exit 64", State::RetryWait, "unknown misconfigured"),
        ("exit 65", State::Quarantined, "permanent malformed"),
        ("exit 66", State::Quarantined, "permanent not_found"),
        ("exit 69", State::RetryWait, "transient unavailable"),
        ("exit 75", State::RetryWait, "transient unavailable"),
        ("exit 78", State::RetryWait, "unknown misconfigured"),
        ("exit 124", State::RetryWait, "transient timeout"),
        (
            "no_such_command_7",
            State::RetryWait,
            "unknown misconfigured",
        ),
        ("kill -SEGV $$", State::RetryWait, "transient killed"),
        ("exit 255", State::RetryWait, "unknown unclassified"),
    ];
    let jobs: Vec<NewJob> = cases.iter().map(|(script, ..)| job(script)).collect();
    let ids = enqueue(store.as_ref(), &jobs).await;
    let script = "sh -c 'echo why >&2; eval \"$LEDGERTOP_IDEMPOTENCY_KEY\"'";
    let (worker, _) = work(&store, script, LONG);
    for (id, (script, state, expected)) in ids.into_iter().zip(cases) {
        until_state(store.as_ref(), id, state).await;
        if !expected.is_empty() {
            let (class, error) = failure(ledger, id).await;
            assert_eq!(class, expected, "{script}");
            assert!(error.contains(": why"), "{error}");
        }
    }
    worker.stop().await;
    let id = enqueue(store.as_ref(), &[job("not there")]).await[0];
    let (worker, _) = work(&store, "/nowhere/handler", LONG);
    until_state(store.as_ref(), id, State::RetryWait).await;
    worker.stop().await;
    let (class, error) = failure(ledger, id).await;
    assert_eq!(class, "unknown misconfigured");
    assert!(
        error.starts_with("'/nowhere/handler' could not be started"),
        "{error}"
    );
}

pub(crate) async fn a_command_gets_the_payload_and_the_facts_of_its_attempt(ledger: &Ledger) {
    let store = open(ledger).await;
    let new = NewJob {
        tenant: "Zürich".to_owned(),
        payload: serde_json::json!({"image": "cat"}),
        ..job("tenant 7:image_1")
    };
    let id = enqueue(store.as_ref(), &[new]).await[0];
    let names = [
        "JOB_ID",
        "ATTEMPT",
        "FENCE",
        "IDEMPOTENCY_KEY",
        "QUEUE",
        "KIND",
        "TENANT",
    ];
    let echoes: Vec<String> = names
        .iter()
        .map(|name| format!("$LEDGERTOP_{name}"))
        .collect();
    let script = format!(
        "sh -c 'echo \"{}|$(cat)\"; echo second line; test -n \"$LEDGERTOP_DEADLINE\"'",
        echoes.join("|")
    );
    let (worker, _) = work(&store, &script, LONG);
    let done = until_state(store.as_ref(), id, State::Succeeded).await;
    worker.stop().await;
    let expected =
        format!("{id}|1|1|tenant 7:image_1|thumbnails|render|Zürich|{{\"image\":\"cat\"}}");
    assert_eq!(done.output_ref, Some(expected.as_str().into()));
}

pub(crate) async fn a_timeout_ends_the_command_with_all_that_it_started(ledger: &Ledger) {
    let store = open(ledger).await;
    let directory = tempfile::tempdir().expect("a directory");
    let pids = directory.path().join("pids");
    let script = format!(
        "sh -c 'echo begun >&2; sh -c \"sleep 600 & echo \\$\\$ \\$! > {}; wait\"; exit 0'",
        pids.display()
    );
    let id = enqueue(store.as_ref(), &[job("image_1")]).await[0];
    let (worker, _) = work(&store, &script, Duration::from_millis(700));
    let pids = written(&pids).await;
    assert_eq!(pids.split_whitespace().count(), 2);
    assert!(pids.split_whitespace().all(is_alive));
    until_state(store.as_ref(), id, State::RetryWait).await;
    // Not "soon": the attempt is settled when its command is gone.
    assert!(
        !pids.split_whitespace().any(is_alive),
        "{pids} outlive the attempt"
    );
    worker.stop().await;
    let (class, error) = failure(ledger, id).await;
    assert_eq!(class, "transient timeout");
    assert_eq!(
        error,
        "the command took longer than 700ms and was ended: begun"
    );
}

pub(crate) async fn a_command_that_does_not_listen_is_killed_after_its_grace(ledger: &Ledger) {
    let store = open(ledger).await;
    let directory = tempfile::tempdir().expect("a directory");
    let pids = directory.path().join("pids");
    let script = format!(
        "sh -c 'trap \"echo asked >&2\" TERM; echo $$ > {}; while :; do sleep 0.05; done'",
        pids.display()
    );
    let id = enqueue(store.as_ref(), &[job("image_1")]).await[0];
    let (worker, _) = work(&store, &script, Duration::from_millis(400));
    let pids = written(&pids).await;
    until_state(store.as_ref(), id, State::RetryWait).await;
    until_gone(&pids).await;
    worker.stop().await;
    let (class, error) = failure(ledger, id).await;
    assert_eq!(class, "transient timeout");
    assert!(error.contains("asked"), "it was not asked first: {error}");
}

pub(crate) async fn what_a_command_leaves_behind_is_ended(ledger: &Ledger) {
    let store = open(ledger).await;
    let directory = tempfile::tempdir().expect("a directory");
    let pids = directory.path().join("pids");
    // It holds the pipes too, which must not hold up the attempt.
    let script = format!(
        "sh -c 'sleep 600 & echo $! > {}; echo out/1'",
        pids.display()
    );
    let id = enqueue(store.as_ref(), &[job("image_1")]).await[0];
    let (worker, _) = work(&store, &script, LONG);
    let done = until_state(store.as_ref(), id, State::Succeeded).await;
    assert_eq!(done.output_ref, Some("out/1".into()));
    until_gone(&written(&pids).await).await;
    worker.stop().await;
}

pub(crate) async fn a_shutdown_ends_the_commands_that_it_gives_back(ledger: &Ledger) {
    let store = open(ledger).await;
    let directory = tempfile::tempdir().expect("a directory");
    let pids = directory.path().join("pids");
    let script = format!("sh -c 'sleep 600 & echo $$ $! > {}; wait'", pids.display());
    let id = enqueue(store.as_ref(), &[job("image_1")]).await[0];
    let (worker, handler) = work(&store, &script, LONG);
    let pids = written(&pids).await;
    let tally = worker.stop().await;
    handler.all_ended().await;
    assert!(
        !pids.split_whitespace().any(is_alive),
        "{pids} outlive the worker"
    );
    assert_eq!(tally.released, 1);
    assert_eq!(events(ledger, id).await, ["enqueue", "claim", "release"]);
}

pub(crate) async fn only_the_end_of_a_long_error_is_kept(ledger: &Ledger) {
    let store = open(ledger).await;
    let id = enqueue(store.as_ref(), &[job("image_1")]).await[0];
    let script = "sh -c 'yes noise | head -c 300000 >&2; echo \"the end\" >&2; \
                  yes x | head -c 300000; exit 65'";
    let (worker, _) = work(&store, script, LONG);
    until_state(store.as_ref(), id, State::Quarantined).await;
    worker.stop().await;
    let (_, error) = failure(ledger, id).await;
    assert!(error.starts_with("exit code 65: …"), "{error}");
    assert!(error.ends_with("noise\nthe end"), "{error}");
    assert!(error.len() <= 2_000, "{}", error.len());
}

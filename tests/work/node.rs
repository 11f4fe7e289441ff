//! A handler in Node.js behind the real program: the story of the README and of `docs/work.md`.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use ledgertop::ledger::job::NewJob;
use ledgertop::ledger::state::State;

use crate::bench::{enqueue, events, job, open, row};
use crate::ledger::Ledger;
use crate::program::Work;

/// The handler as a process; killed with the value.
struct Node(Child);

impl Drop for Node {
    fn drop(&mut self) {
        // One that has ended is no mistake.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// Starts the handler; returns it with the port that it listens on.
fn handler() -> (Node, String) {
    let child = Command::new("node")
        .arg(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/tests/node/handler.mjs"
        ))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| {
            panic!("'node' cannot be run ({error}); install Node.js, or use scripts/test")
        });
    let mut node = Node(child);
    let output = node.0.stdout.take().expect("a pipe");
    let mut line = String::new();
    BufReader::new(output).read_line(&mut line).expect("a line");
    let port = line.trim().rsplit(' ').next().unwrap_or_default();
    (node, port.to_owned())
}

pub(crate) async fn a_handler_in_node_answers_429_and_then_200(ledger: &Ledger) {
    let store = open(ledger).await;
    let home = tempfile::tempdir().expect("a directory");
    let (_node, port) = handler();
    let images = ["cat", "dog", "図書館"];
    let jobs: Vec<NewJob> = images
        .iter()
        .map(|image| NewJob {
            payload: serde_json::json!({ "image": image }),
            ..job(&format!("tenant_7:{image}"))
        })
        .collect();
    let ids = enqueue(store.as_ref(), &jobs).await;
    let url = format!("http://127.0.0.1:{port}/");
    let arguments = ["--queue", "thumbnails", "--http", &url, "--until-empty"];
    let refused = Work::start(ledger, home.path(), &arguments, &[])
        .ended(home.path())
        .await;
    assert_eq!(refused.code, Some(2), "{}", refused.messages);
    assert!(
        refused.messages.contains("--allow-private"),
        "{}",
        refused.messages
    );
    let arguments = [&arguments[..], &["--allow-private"]].concat();
    let ran = Work::start(ledger, home.path(), &arguments, &[])
        .ended(home.path())
        .await;
    assert_eq!(ran.code, Some(0), "{}", ran.messages);
    assert!(
        ran.messages
            .ends_with("6 attempts: 3 succeeded, 3 to be retried\n"),
        "{}",
        ran.messages
    );
    for (id, image) in ids.into_iter().zip(images) {
        let done = row(store.as_ref(), id).await;
        assert_eq!(done.state, State::Succeeded);
        let output = format!("s3://thumbnails/{image}.webp");
        assert_eq!(done.output_ref, Some(output.as_str().into()));
        assert_eq!(
            events(ledger, id).await,
            ["enqueue", "claim", "retry", "due", "claim", "succeed"]
        );
        let failure = format!(
            "SELECT error_class || ' ' || reason || ': ' || error FROM job_events \
             WHERE job_id = '{id}' AND event = 'retry'"
        );
        assert_eq!(
            ledger.value(&failure).await,
            "transient rate_limited: HTTP 429 Too Many Requests: one request a second, please"
        );
    }
}

//! S2: the process that enqueues is killed at every step. What it had acknowledged is there once,
//! everything else once or not at all, and the whole input given again makes it whole.
//!
//! On PostgreSQL a step is each request and each answer that the proxy sees; on SQLite, which has
//! no network, the kills come at random times. Next: `holders.rs`.

use std::collections::BTreeSet;
use std::os::unix::process::ExitStatusExt as _;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ledgertop::store::DatabaseKind;
use rand::RngExt as _;
use rustix::process::Signal;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, ChildStdin};
use tokio::time::sleep;

use crate::hangs::kind;
use crate::ledger::Ledger;
use crate::plan::{random, say, size};
use crate::process::{Victim, program, verify};
use crate::proxy::{Act, Proxy};

/// Jobs of one batch, and batches of one process: each is acknowledged before the next is sent.
const BATCH: usize = 10;
const BATCHES: usize = 3;
/// How many processes are at it at a time.
const AT_ONCE: usize = 4;
/// More steps than a process has.
const STEPS_MAX: usize = 400;

/// The lines of a batch.
fn lines(input: &str, batch: usize) -> String {
    let line = |number: usize| {
        format!(
            "{{\"queue\":\"thumbnails\",\"kind\":\"render\",\"idempotency_key\":\"{}\"}}\n",
            key(input, number)
        )
    };
    (batch * BATCH..(batch + 1) * BATCH).map(line).collect()
}

fn key(input: &str, number: usize) -> String {
    format!("{input}_{number}")
}

/// A process that enqueues, and what it has acknowledged.
struct Enqueuer {
    child: Child,
    victim: Arc<Victim>,
    acknowledged: BTreeSet<usize>,
}

impl Enqueuer {
    fn start(ledger: &str, home: &std::path::Path) -> Self {
        let child = program(ledger, home)
            .args(["enqueue", "--json"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let victim = Arc::new(Victim::of(&child));
        Self {
            child,
            victim,
            acknowledged: BTreeSet::new(),
        }
    }

    /// Sends batch after batch, each when the one before was acknowledged, until it has taken all
    /// or is dead; whether it was killed.
    async fn run(&mut self, input: &str) -> bool {
        let mut stdin = self.child.stdin.take();
        let stdout = self.child.stdout.take().expect("it is piped");
        let mut said = BufReader::new(stdout).lines();
        send(&mut stdin, &lines(input, 0)).await;
        // An end without a line end is no acknowledgement.
        while let Ok(Some(line)) = said.next_line().await {
            let outcome: serde_json::Value = serde_json::from_str(&line).expect("a line of JSON");
            let number = outcome["line"].as_u64().expect("a line's number");
            self.acknowledged
                .insert(usize::try_from(number).expect("small") - 1);
            let sent = self.acknowledged.len();
            if sent == BATCH * BATCHES {
                stdin = None;
            } else if sent.is_multiple_of(BATCH) {
                send(&mut stdin, &lines(input, sent / BATCH)).await;
            }
        }
        let mut messages = String::new();
        if let Some(mut stderr) = self.child.stderr.take() {
            let read = stderr.read_to_string(&mut messages).await;
            read.expect("its messages are text");
        }
        self.victim.forget();
        let status = self.child.wait().await.expect("it is ours");
        let was_killed = status.signal() == Some(Signal::KILL.as_raw());
        assert!(
            was_killed || status.success(),
            "{input}: {status}: {messages}"
        );
        was_killed
    }
}

async fn send(stdin: &mut Option<ChildStdin>, lines: &str) {
    if let Some(stdin) = stdin {
        // It may be dead by now.
        drop(stdin.write_all(lines.as_bytes()).await);
    }
}

/// The numbers of an input's lines that are in the ledger, each as often as it is there.
async fn there(ledger: &Ledger, input: &str) -> Vec<usize> {
    let query = format!(
        "SELECT idempotency_key FROM jobs WHERE idempotency_key LIKE '{input}\\_%' ESCAPE '\\'"
    );
    let rows = ledger.rows(&query).await;
    let keys = rows.into_iter().flatten().flatten();
    let number = |key: String| {
        key.rsplit_once('_')
            .and_then(|(_, number)| number.parse().ok())
    };
    keys.map(|key| number(key).expect("a number")).collect()
}

/// One process, killed at the step that `arm` chose; whether it was. Then the same input again,
/// by a process that nobody kills.
async fn killed_and_made_whole(ledger: &Ledger, input: &str, step: Step) -> bool {
    let home = tempfile::tempdir().expect("a directory");
    let (proxy, address) = match &step {
        Step::Point(_) => {
            let proxy = Proxy::before(ledger).await;
            let address = proxy.address();
            (Some(proxy), address)
        }
        Step::After(_) => (None, ledger.url().to_string()),
    };
    let mut enqueuer = Enqueuer::start(&address, home.path());
    let victim = Arc::clone(&enqueuer.victim);
    match (&proxy, step) {
        (Some(proxy), Step::Point(nth)) => {
            let seen = AtomicUsize::new(0);
            proxy.rule(move |_point| {
                if seen.fetch_add(1, Ordering::SeqCst) == nth {
                    victim.kill();
                    return Act::Cut;
                }
                Act::Pass
            });
        }
        (_, Step::After(time)) => {
            tokio::spawn(async move {
                sleep(time).await;
                victim.kill();
            });
        }
        (None, Step::Point(_)) => panic!("a point needs a proxy"),
    }
    let was_killed = enqueuer.run(input).await;
    let found = there(ledger, input).await;
    let once: BTreeSet<usize> = found.iter().copied().collect();
    assert_eq!(once.len(), found.len(), "{input}: one job a key");
    let lost: Vec<_> = enqueuer.acknowledged.difference(&once).collect();
    assert!(
        lost.is_empty(),
        "{input}: acknowledged and not there: {lost:?}"
    );
    assert!(found.len().is_multiple_of(BATCH), "{input}: half a batch");
    assert!(
        found.len() <= enqueuer.acknowledged.len() + BATCH,
        "{input}"
    );

    let mut again = Enqueuer::start(&ledger.url().to_string(), home.path());
    assert!(!again.run(input).await);
    let whole = there(ledger, input).await;
    assert_eq!(whole.len(), BATCH * BATCHES, "{input}");
    was_killed
}

/// When a process is killed.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// At the so many-th point that the proxy sees.
    Point(usize),
    /// After so long.
    After(Duration),
}

pub(crate) async fn an_enqueuer_killed_at_every_step_loses_nothing_that_it_acknowledged(
    ledger: &Ledger,
) {
    let mut random = random(&format!("S2 {}", kind(ledger)));
    let rounds = size().pick(24, 400);
    let steps: Vec<Step> = match ledger.kind() {
        DatabaseKind::Postgres => (0..STEPS_MAX).map(Step::Point).collect(),
        DatabaseKind::Sqlite => (0..rounds)
            .map(|_| Step::After(Duration::from_millis(random.random_range(5..350))))
            .collect(),
    };
    // Whether the last of the points was reached: after it, a process lives to its end.
    let (mut kills, mut survived) = (0, 0);
    for (group, some) in steps.chunks(AT_ONCE).enumerate() {
        let mut under_way = Vec::new();
        for (number, step) in some.iter().enumerate() {
            let input = format!("input{}", group * AT_ONCE + number);
            under_way.push(async move { killed_and_made_whole(ledger, &input, *step).await });
        }
        for was_killed in futures_util::future::join_all(under_way).await {
            kills += usize::from(was_killed);
            survived += usize::from(!was_killed);
        }
        if ledger.kind() == DatabaseKind::Postgres && survived >= AT_ONCE {
            break;
        }
    }
    say(&format!(
        "S2 {}: killed at {kills} steps, {survived} not reached",
        kind(ledger)
    ));
    let enough = match ledger.kind() {
        // Opening, three batches, each with a beginning, a statement and a commit, twice each.
        DatabaseKind::Postgres => 18,
        DatabaseKind::Sqlite => rounds / 3,
    };
    assert!(kills > enough, "only {kills} steps");
    verify(ledger).await;
}

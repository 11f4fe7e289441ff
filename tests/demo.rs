//! The demo over real ledgers: its own numbers are the ledger's, and its incident unfolds and
//! mends.
//!
//! Next: `src/demo.rs`, and the script in `assets/demo/scenario.toml`.

#![expect(clippy::expect_used, reason = "a case that cannot go on fails")]

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use ledgertop::board::limits::{Bound, Limits, QueueLimits};
use ledgertop::board::summary::Summary;
use ledgertop::board::{Board, Judge};
use ledgertop::demo::headless::{HeadlessOptions, run_headless};
use ledgertop::demo::scenario::{BUILT_IN, Scenario};
use ledgertop::demo::{Demo, DemoOptions, LedgerUse};
use ledgertop::ledger::feed::Cell;
use ledgertop::ledger::job::{Operation, Outcome};
use ledgertop::ledger::state::State;
use ledgertop::store::{Act, Feed, Store};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

#[expect(
    dead_code,
    reason = "made for the conformance suite, which uses more of it"
)]
#[path = "conformance/ledger.rs"]
mod ledger;
#[path = "support/postgres.rs"]
mod postgres_database;
#[path = "support/sqlite.rs"]
mod sqlite_database;

use ledger::Ledger;

/// A store on the ledger, as another process would have.
async fn store(ledger: &Ledger) -> Arc<dyn Store> {
    ledger.url().store().await.expect("a store")
}

/// The script with its incident pressed into the first seconds. Leases still last six, so that the
/// crash and the cut still take that long to be seen.
fn pressed() -> Scenario {
    let moves = [
        ("at_s = 20\nfor_s = 70", "at_s = 1\nfor_s = 9"),
        ("at_s = 35\nfor_s = 20", "at_s = 1\nfor_s = 6"),
        ("at_s = 48\nfor_s = 14", "at_s = 4\nfor_s = 3"),
        ("at_s = 60\nfor_s = 25", "at_s = 2\nfor_s = 5"),
        ("at_s = 70\nfor_s = 11", "at_s = 2\nfor_s = 9"),
    ];
    let mut text = BUILT_IN.to_owned();
    for (from, to) in moves {
        assert!(text.contains(from), "the script has no '{from}'");
        text = text.replace(from, to);
    }
    Scenario::parse(&text).expect("a script")
}

/// The script with only that in it which leaves dead letters, at once, and with short waits. A
/// lease still lasts nine seconds, so that the crash takes that long to be seen.
fn practice() -> Scenario {
    let moves = [
        ("at_s = 12\n", "at_s = 0\n"),
        ("at_s = 20\nfor_s = 70", "at_s = 200\nfor_s = 1"),
        ("at_s = 35\nfor_s = 20", "at_s = 0\nfor_s = 6"),
        ("at_s = 48\nfor_s = 14", "at_s = 200\nfor_s = 1"),
        ("at_s = 60\nfor_s = 25", "at_s = 0\nfor_s = 8"),
        ("at_s = 70\nfor_s = 11", "at_s = 200\nfor_s = 1"),
        ("at_s = 95\nfor_s = 4", "at_s = 6\nfor_s = 1"),
        ("per_s = 0.8", "per_s = 3.0"),
        ("max_attempts = 6", "max_attempts = 2"),
        ("backoff_base_ms = 1500", "backoff_base_ms = 300"),
    ];
    let mut text = BUILT_IN.to_owned();
    for (from, to) in moves {
        assert!(text.contains(from), "the script has no '{from}'");
        text = text.replace(from, to);
    }
    Scenario::parse(&text).expect("a script")
}

/// A board that follows the ledger, and every sentence it ever said in its headline.
struct Watch {
    feed: Box<dyn Feed>,
    board: Board,
    judge: Judge,
    said: BTreeSet<String>,
}

impl Watch {
    async fn start(ledger: &Ledger) -> (Self, ledgertop::ledger::time::Timestamp) {
        let mut feed = ledger.feed();
        let base = feed.base().await.expect("a base");
        let limits = Limits {
            default: QueueLimits {
                oldest_ready: Bound {
                    warning: Duration::from_secs(2),
                    critical: Duration::from_secs(60),
                },
                ..QueueLimits::default()
            },
            ..Limits::default()
        };
        let watch = Self {
            feed,
            board: Board::load(&base),
            judge: Judge::new(limits),
            said: BTreeSet::new(),
        };
        (watch, base.as_of)
    }

    async fn read(&mut self) -> Summary {
        loop {
            let batch = self.feed.next().await.expect("a batch");
            for event in &batch.events {
                self.board.apply(event);
            }
            if !batch.more {
                let summary = self.board.summary(batch.as_of, &mut self.judge);
                for headline in &summary.headline {
                    self.said
                        .insert(format!("{}: {}", headline.queue, headline.text));
                }
                return summary;
            }
        }
    }

    async fn read_for(&mut self, time: Duration) -> Summary {
        let start = Instant::now();
        loop {
            let summary = self.read().await;
            if start.elapsed() >= time {
                return summary;
            }
            sleep(Duration::from_millis(250)).await;
        }
    }
}

/// The cells of a board loaded anew.
async fn recount(ledger: &Ledger) -> Vec<Cell> {
    let base = ledger.feed().base().await.expect("a base");
    Board::load(&base).cells()
}

async fn the_incident_unfolds_and_mends(ledger: &Ledger) {
    let (mut watch, start) = Watch::start(ledger).await;
    let options = DemoOptions {
        seed: 42,
        start,
        ledger: LedgerUse::Private,
    };
    let demo = Demo::play(store(ledger).await, pressed(), options)
        .await
        .expect("a demo");
    watch.read_for(Duration::from_secs(11)).await;
    let said = watch.said.iter();
    let late = said
        .filter(|text| text.starts_with("thumbnails: oldest ready"))
        .any(|text| text.contains("rate_limited"));
    assert!(late, "the headline never named the cause: {:?}", watch.said);
    // After the incident the backlog drains.
    let began = Instant::now();
    let mut summary = watch.read_for(Duration::from_secs(4)).await;
    while summary.total.depth.ready > 60 {
        assert!(
            began.elapsed() < Duration::from_secs(60),
            "it never drained"
        );
        summary = watch.read_for(Duration::from_secs(1)).await;
    }
    demo.stop().await;
    let summary = watch.read().await;
    let flow = summary.total.flow;
    assert!(flow.lease_expirations > 0, "the crash left no trace");
    assert!(
        flow.stale_refused > 0,
        "the cut worker's late results left no trace"
    );
    assert!(flow.duplicates > 0, "no repeated delivery was suppressed");
    let billing = summary
        .queues
        .iter()
        .find(|queue| queue.queue.as_str() == "billing")
        .expect("billing is there");
    let quarantined = &billing.dead_letters.by_reason;
    let poison = quarantined.iter().find(|(key, _)| {
        key.reason
            .as_ref()
            .is_some_and(|reason| reason.as_str() == "schema_violation")
    });
    assert!(
        poison.is_some_and(|(_, count)| *count >= 2),
        "{quarantined:?}"
    );
    assert_eq!(summary.total.depth.running, 0, "the stop left jobs in hand");
    assert_eq!(watch.board.mismatches(), 0);
    assert_eq!(watch.board.cells(), recount(ledger).await);
}

/// The dead letters of a queue that have a reason: id, version and tenant.
async fn dead_letters(ledger: &Ledger, queue: &str, reason: &str) -> Vec<(Uuid, u32, String)> {
    let query = format!(
        "SELECT CAST(id AS text) || ' ' || CAST(version AS text) || ' ' || tenant FROM jobs \
         WHERE state IN ('dead', 'quarantined') AND queue = '{queue}' AND reason = '{reason}' \
         ORDER BY state_since, id"
    );
    let rows = ledger.rows(&query).await;
    let fields = rows.iter().flatten().flatten().map(|row| {
        let mut fields = row.split(' ');
        let mut next = || fields.next().expect("a field");
        let (id, version, tenant) = (next(), next(), next());
        let id = Uuid::parse_str(id).expect("an id");
        (id, version.parse().expect("a number"), tenant.to_owned())
    });
    fields.collect()
}

/// Redrives dead letters and waits until each has succeeded or died again.
async fn redrive(ledger: &Ledger, letters: &[(Uuid, u32, String)]) -> Vec<(State, Uuid)> {
    let store = store(ledger).await;
    for (job, version, _) in letters {
        let act = Act {
            operation: Operation::Redrive,
            job: *job,
            version: *version,
            actor: "someone who practises".to_owned(),
            note: "the cause is thought to be mended".to_owned(),
        };
        let outcome = store.operate(&act).await.expect("an answer");
        assert!(matches!(outcome, Outcome::Applied { .. }), "{outcome:?}");
    }
    let began = Instant::now();
    loop {
        let mut ends = Vec::new();
        for (job, _, _) in letters {
            let row = store.job(*job).await.expect("an answer").expect("a job");
            let over = [State::Succeeded, State::Dead, State::Quarantined].contains(&row.state);
            ends.extend(over.then_some((row.state, *job)));
        }
        if ends.len() == letters.len() {
            return ends;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "{ends:?}");
        sleep(Duration::from_millis(100)).await;
    }
}

async fn what_it_leaves_behind_can_be_practised_on(ledger: &Ledger) {
    let (mut watch, start) = Watch::start(ledger).await;
    let options = DemoOptions {
        seed: 42,
        start,
        ledger: LedgerUse::Private,
    };
    let demo = Demo::play(store(ledger).await, practice(), options)
        .await
        .expect("a demo");
    let lessons = demo.lessons().to_vec();
    assert_eq!(lessons.len(), 4);
    let began = Instant::now();
    for lesson in &lessons {
        while dead_letters(ledger, &lesson.queue, &lesson.reason)
            .await
            .len()
            < 2
        {
            assert!(began.elapsed() < Duration::from_secs(60), "no {lesson:?}");
            watch.read_for(Duration::from_millis(250)).await;
        }
    }

    // The receivers are back by now, and a redrive mends.
    let mendable = dead_letters(ledger, "webhooks", "connection_refused").await;
    let ends = redrive(ledger, &mendable[..2]).await;
    assert!(ends.iter().all(|(state, _)| *state == State::Succeeded));

    // What is wrong with the job itself comes back with the same class and reason.
    let broken = dead_letters(ledger, "billing", "schema_violation").await;
    let ends = redrive(ledger, &broken[..1]).await;
    assert_eq!(ends, [(State::Quarantined, broken[0].0)]);
    let again = dead_letters(ledger, "billing", "schema_violation").await;
    assert!(again.iter().any(|(job, _, _)| *job == broken[0].0));

    // One tenant's jobs die, and those of the others in the queue succeed.
    let poison = dead_letters(ledger, "digest", "panic").await;
    assert!(poison.iter().all(|(_, _, tenant)| tenant == "umbrella"));
    let sent = "SELECT CAST(count(*) AS text) FROM jobs WHERE queue = 'digest' \
                AND kind = 'send_digest' AND state = 'succeeded'";
    assert_ne!(ledger.value(sent).await, "0");

    // Nobody knows whether the bank has paid: the attempt began and was never settled.
    let settled = "SELECT CAST(count(*) AS text) FROM jobs WHERE kind = 'pay_out' \
                   AND state = 'dead' AND unsettled <> 1";
    assert_eq!(ledger.value(settled).await, "0");
    demo.stop().await;
}

async fn without_a_screen_it_tells_the_ledgers_own_numbers(ledger: &Ledger) {
    let mut out = Vec::new();
    let options = HeadlessOptions {
        seed: 7,
        ledger: LedgerUse::Private,
        lasts: Some(Duration::from_secs(6)),
        stop: CancellationToken::new(),
    };
    run_headless(store(ledger).await, ledger.feed(), options, &mut out)
        .await
        .expect("a run");
    let text = String::from_utf8(out).expect("text");
    assert!(text.contains("  ready "), "{text}");
    let all = text
        .lines()
        .find_map(|line| line.strip_prefix("all "))
        .expect("a closing line over all queues");
    let told: Vec<&str> = all.split_whitespace().take(6).collect();
    let states = [
        "pending",
        "ready",
        "running",
        "retry_wait",
        "dead",
        "quarantined",
    ];
    for (state, told) in states.into_iter().zip(told) {
        let query = format!("SELECT CAST(count(*) AS text) FROM jobs WHERE state = '{state}'");
        assert_eq!(ledger.value(&query).await, told, "{state}: {text}");
    }
    let done = "SELECT CAST(count(*) AS text) FROM jobs WHERE state = 'succeeded'";
    assert_ne!(ledger.value(done).await, "0");
}

async fn the_same_seed_enqueues_the_same_jobs(one: &Ledger, two: &Ledger) {
    let mut seen = Vec::new();
    for ledger in [one, two] {
        let (_watch, start) = Watch::start(ledger).await;
        let options = DemoOptions {
            seed: 42,
            start,
            ledger: LedgerUse::Private,
        };
        let demo = Demo::start(store(ledger).await, options)
            .await
            .expect("a demo");
        sleep(Duration::from_secs(3)).await;
        demo.stop().await;
        let query = "SELECT idempotency_key || ' ' || CAST(payload AS text) FROM jobs \
                     WHERE queue = 'billing' ORDER BY id LIMIT 5";
        seen.push(ledger.rows(query).await);
    }
    assert_eq!(seen[0].len(), 5);
    assert_eq!(seen[0], seen[1]);
}

macro_rules! on_both_databases {
    ($($case:ident),+ $(,)?) => {
        mod postgres {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
            async fn $case() {
                crate::$case(&crate::Ledger::postgres().await).await;
            })+
        }
        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
            async fn $case() {
                crate::$case(&crate::Ledger::sqlite().await).await;
            })+
        }
    };
}

on_both_databases!(
    the_incident_unfolds_and_mends,
    what_it_leaves_behind_can_be_practised_on,
    without_a_screen_it_tells_the_ledgers_own_numbers,
);

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_run_repeats_with_its_seed() {
    let (one, two) = (Ledger::sqlite().await, Ledger::sqlite().await);
    the_same_seed_enqueues_the_same_jobs(&one, &two).await;
}

//! S9: the database hangs. It accepts everything and answers nothing, as behind a network that
//! drops packets, or, on SQLite, with the lock of a writer that stands still.
//!
//! Every call ends at its deadline; the console answers keys; five seconds after the database is
//! back everything works. Next: `kills.rs`.

use std::sync::Arc;
use std::time::Duration;

use ledgertop::ledger::job::{Claimed, LeaseRef, NewJob, Operation, Outcome};
use ledgertop::ledger::policy::Policy;
use ledgertop::ledger::state::State;
use ledgertop::store::{Act, DatabaseKind, Store, StoreError};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};
use uuid::Uuid;

use crate::answers::{producer, succeeded, wish};
use crate::bench::{enqueue, job, open, until_state};
use crate::driver::{self, Driver};
use crate::ledger::Ledger;
use crate::plan::{say, size};
use crate::process::{Worker, verify};
use crate::proxy::{Proxy, Weather};

/// A queue that no worker serves: without a job that is ready, SQLite has nothing to write.
const WAITS: &str = "waits";
/// How long the store waits for a statement.
const PATIENCE: Duration = Duration::from_secs(2);
/// What a busy machine may add to a deadline.
const SLACK: Duration = Duration::from_millis(1_500);
/// How soon everything must work again.
const RECOVERY: Duration = Duration::from_secs(5);

/// How long the database hangs: longer than the program's own deadlines, which are of 12 s.
fn hang() -> Duration {
    size().pick(Duration::from_secs(14), Duration::from_secs(60))
}

/// Every call of a store, by name.
async fn call(
    store: &dyn Store,
    name: &'static str,
    held: &Claimed,
    quarantined: (Uuid, u32),
) -> Result<(), StoreError> {
    let lease = Duration::from_secs(60);
    let of_held = LeaseRef {
        job: held.id,
        fence: held.fence,
    };
    match name {
        "enqueue" => store
            .enqueue(&[job("enqueued in the hang")], &producer())
            .await
            .map(drop),
        "settle" => {
            let settled = [succeeded(held)];
            store.exchange("w1", &settled, None).await.map(drop)
        }
        "claim" => {
            let mut wish = wish("w1", lease, 1);
            WAITS.clone_into(&mut wish.shares[0].lane.queue);
            store.exchange("w1", &[], Some(&wish)).await.map(drop)
        }
        "begin" => store.begin(held.id, "w1", lease).await.map(drop),
        "renew" => store.renew("w1", &[of_held], lease).await.map(drop),
        "sweep" => store.sweep("housekeeping", 10).await.map(drop),
        "operate" => {
            let act = Act {
                operation: Operation::Discard,
                job: quarantined.0,
                version: quarantined.1,
                actor: "op".to_owned(),
                note: String::new(),
            };
            store.operate(&act).await.map(drop)
        }
        "apply_policy" => {
            let policy = Policy {
                name: "in the hang".to_owned(),
                ..Policy::default_v1()
            };
            store.apply_policy(&policy, &producer()).await.map(drop)
        }
        "lanes" => store.lanes(&[], 10).await.map(drop),
        "policies" => store.policies().await.map(drop),
        "job" => store.job(held.id).await.map(drop),
        other => panic!("no call '{other}'"),
    }
}

const WRITES: [&str; 7] = [
    "enqueue",
    "settle",
    "claim",
    "begin",
    "renew",
    "operate",
    "apply_policy",
];
/// A sweep looks first, and there is nothing to be swept.
const READS: [&str; 4] = ["lanes", "policies", "job", "sweep"];

/// Two of each of these calls at once, more than there are connections: each ends within `longest`,
/// as one that may be tried again.
async fn all_end(
    store: &Arc<dyn Store>,
    calls: &[&'static str],
    held: &Claimed,
    quarantined: (Uuid, u32),
    longest: Duration,
) {
    let mut under_way = JoinSet::new();
    for name in calls.iter().chain(calls) {
        let (store, held, name) = (Arc::clone(store), held.clone(), *name);
        under_way.spawn(async move {
            let began = Instant::now();
            let answer = call(store.as_ref(), name, &held, quarantined).await;
            (name, answer, began.elapsed())
        });
    }
    while let Some(ended) = under_way.join_next().await {
        let (name, answer, took) = ended.expect("no panic");
        assert!(took < longest, "{name} took {took:?}: {answer:?}");
        let error = answer.expect_err(name);
        assert!(error.is_transient(), "{name}: {error:?}");
    }
}

/// Tries until the store works, and fails where that takes too long.
async fn recovers(store: &dyn Store) -> Duration {
    let began = Instant::now();
    let new = [job(&Uuid::now_v7().to_string())];
    while let Err(error) = store.enqueue(&new, &producer()).await {
        assert!(error.is_transient(), "{error:?}");
        assert!(began.elapsed() < RECOVERY, "{error}");
    }
    began.elapsed()
}

/// A job that `w1` holds for long, and one that an operator may act on.
async fn prepare(store: &dyn Store) -> (Claimed, (Uuid, u32)) {
    let aside = enqueue(store, &[job("aside")]).await[0];
    let waits = NewJob {
        queue: WAITS.to_owned(),
        ..job("waits")
    };
    enqueue(store, &[waits]).await;
    let act = Act {
        operation: Operation::Quarantine,
        job: aside,
        version: 1,
        actor: "op".to_owned(),
        note: String::new(),
    };
    let outcome = store.operate(&act).await.expect("an answer");
    assert!(matches!(outcome, Outcome::Applied { .. }), "{outcome:?}");
    enqueue(store, &[job("held")]).await;
    let wish = wish("w1", Duration::from_secs(600), 1);
    let claimed = store.exchange("w1", &[], Some(&wish)).await;
    let held = claimed.expect("claimed").claimed.remove(0);
    (held, (aside, 2))
}

/// What the console's side and the scenario tell each other.
struct Cues {
    live: std::sync::mpsc::Sender<()>,
    hung: std::sync::mpsc::Receiver<()>,
    back: std::sync::mpsc::Receiver<()>,
}

/// A console in a terminal: keys are answered while the database hangs, and what it shows is live
/// again soon after. Its steps are told when to go on.
fn watch(address: &str, cues: &Cues) {
    let Cues { live, hung, back } = cues;
    let mut console = Driver::start(&[driver::program(), "--ledger", address]);
    console.wait_for("LIVE");
    live.send(()).expect("the scenario goes on");
    hung.recv().expect("the scenario goes on");
    console.wait_for("STALE");
    let began = std::time::Instant::now();
    console.press("?");
    console.wait_for("Help");
    console.press("\x1b");
    console.wait_until_gone("Help");
    let answered = began.elapsed();
    console.wait_for("RECONNECTING");
    console.press(":");
    console.wait_for("Go to");
    console.press("\x1b");
    back.recv().expect("the scenario goes on");
    let began = std::time::Instant::now();
    console.wait_for("LIVE");
    let live = began.elapsed();
    assert!(live < RECOVERY, "live after {live:?}");
    console.press("q");
    assert_eq!(console.end().exit_code(), 0);
    say(&format!(
        "S9 console: two keys answered in {answered:?} while the database hung, live {live:?} after"
    ));
}

pub(crate) async fn a_database_that_hangs_ends_every_call_at_its_deadline_and_is_found_again(
    ledger: &Ledger,
) {
    let near = open(ledger).await;
    let proxy = Proxy::before(ledger).await;
    let far = proxy.url().patient_store(PATIENCE).await.expect("opened");
    let (held, aside) = prepare(near.as_ref()).await;
    let worker = Worker::start(&proxy.address(), "w2", &["--exec", "true"]);
    let first = enqueue(near.as_ref(), &[job("before the hang")]).await[0];
    until_state(near.as_ref(), first, State::Succeeded).await;
    let (tell_hung, hung) = std::sync::mpsc::channel();
    let (tell_back, back) = std::sync::mpsc::channel();
    let (live, is_live) = std::sync::mpsc::channel();
    let address = proxy.address();
    let cues = Cues { live, hung, back };
    let console = tokio::task::spawn_blocking(move || watch(&address, &cues));
    while is_live.try_recv().is_err() {
        assert!(!console.is_finished(), "there is no console");
        sleep(Duration::from_millis(20)).await;
    }

    proxy.turn(Weather::Hanging);
    tell_hung.send(()).expect("the console is there");
    let until = Instant::now() + hang();
    let longest = PATIENCE + PATIENCE / 5 + SLACK;
    let calls: Vec<&str> = WRITES.into_iter().chain(READS).collect();
    while Instant::now() + longest < until {
        all_end(&far, &calls, &held, aside, longest).await;
    }
    tokio::time::sleep_until(until).await;
    proxy.turn(Weather::Fine);
    tell_back.send(()).expect("the console is there");
    let store = recovers(far.as_ref()).await;
    let after = enqueue(near.as_ref(), &[job("after the hang")]).await[0];
    let began = Instant::now();
    until_state(near.as_ref(), after, State::Succeeded).await;
    let work = began.elapsed();
    assert!(work < RECOVERY, "the worker took {work:?}");
    say(&format!(
        "S9 {}: hung {:?}, every call ended within {longest:?}; after it a call was answered in \
         {store:?}, a job done in {work:?}",
        kind(ledger),
        hang()
    ));
    console.await.expect("the console is as it should be");
    worker.stop().await;
    verify(ledger).await;
}

pub(crate) fn kind(ledger: &Ledger) -> &'static str {
    match ledger.kind() {
        DatabaseKind::Postgres => "PostgreSQL",
        DatabaseKind::Sqlite => "SQLite",
    }
}

pub(crate) async fn a_writer_that_stands_still_ends_every_write_at_its_deadline_and_no_read(
    ledger: &Ledger,
) {
    let near = open(ledger).await;
    let store = ledger.url().patient_store(PATIENCE).await.expect("opened");
    let (held, aside) = prepare(near.as_ref()).await;
    let worker = Worker::start(&ledger.url().to_string(), "w2", &["--exec", "true"]);
    let first = enqueue(near.as_ref(), &[job("before the hang")]).await[0];
    until_state(near.as_ref(), first, State::Succeeded).await;

    let mut still = ledger.connect().await;
    while still.run("BEGIN IMMEDIATE").await.is_err() {
        sleep(Duration::from_millis(5)).await;
    }
    let until = Instant::now() + hang();
    let longest = PATIENCE * 2 + SLACK;
    while Instant::now() + longest < until {
        all_end(&store, &WRITES, &held, aside, longest).await;
        for name in READS {
            let read = call(store.as_ref(), name, &held, aside).await;
            read.expect("a reader waits for no writer");
        }
    }
    tokio::time::sleep_until(until).await;
    still.run("ROLLBACK").await.expect("let go");
    let answered = recovers(store.as_ref()).await;
    let after = enqueue(near.as_ref(), &[job("after the hang")]).await[0];
    let began = Instant::now();
    until_state(near.as_ref(), after, State::Succeeded).await;
    let work = began.elapsed();
    assert!(work < RECOVERY, "the worker took {work:?}");
    say(&format!(
        "S9 {}: held {:?}, every write ended within {longest:?}; after it a call was answered in \
         {answered:?}, a job done in {work:?}",
        kind(ledger),
        hang()
    ));
    worker.stop().await;
    verify(ledger).await;
}

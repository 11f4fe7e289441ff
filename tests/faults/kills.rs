//! S1: eight workers are killed again and again while jobs, duplicates and redrives come in. Every
//! job has one effect, none is lost, and all are done within a minute of the last kill.
//!
//! A kill comes at a random time, inside a handler just before or after its effect, or, on
//! PostgreSQL, where the proxy sees a statement of the victim: before the server has it, or after
//! it was done and before the victim hears of it. Next: `enqueuers.rs`.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ledgertop::ledger::job::{Enqueued, NewJob, Operation, Outcome};
use ledgertop::store::{Act, Store};
use rand::seq::IndexedRandom as _;
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use tokio::time::{Instant, sleep};
use uuid::Uuid;

use crate::answers::producer;
use crate::bench::{count_events, job, open, policy};
use crate::crew::Crew;
use crate::hangs::kind;
use crate::ledger::Ledger;
use crate::plan::{random, say, size};
use crate::process::{Victim, verify};
use crate::proxy::{Act as Fault, Moment, Proxy};
use crate::server::{Reply, Server};
use crate::sink::Sink;

const WORKERS: usize = 8;
/// How long everything may take to come to its end after the last kill.
const END: Duration = Duration::from_secs(60);
/// The statements at which the proxy kills: with both moments, what a worker does to a ledger.
const STATEMENTS: [&str; 4] = ["exchange", "exchange", "renew", "sweep"];

/// How much of everything.
struct Amount {
    jobs: usize,
    kills: u32,
    /// Keys that are enqueued once more.
    duplicates: usize,
    /// Keys that fail for good until somebody mends them and redrives the job.
    redriven: usize,
    /// Handlers that kill their worker.
    by_handlers: usize,
    /// The time between two kills.
    pause: Duration,
}

impl Amount {
    fn of_this_run() -> Self {
        let (jobs, kills) = size().pick((1_000, 50), (10_000, 500));
        Self {
            jobs,
            kills,
            duplicates: jobs / 10,
            redriven: jobs / 20,
            by_handlers: jobs / 100,
            pause: Duration::from_millis(200),
        }
    }
}

/// The keys of a run, and what happens at each.
fn keys(amount: &Amount, sink: &Sink, random: &mut ChaCha8Rng) -> Vec<String> {
    let key = |number: usize| {
        if number.is_multiple_of(amount.jobs / amount.redriven) {
            format!("reject_{number}")
        } else {
            format!("image_{number}")
        }
    };
    let keys: Vec<String> = (0..amount.jobs).map(key).collect();
    for (number, key) in keys.sample(random, amount.by_handlers).enumerate() {
        let folder = if number.is_multiple_of(2) {
            "kill_before"
        } else {
            "kill_after"
        };
        sink.mark(folder, key);
    }
    keys
}

/// Kills until there were so many; handlers kill besides.
async fn kill(crew: &Crew, amount: &Amount, random: &mut ChaCha8Rng) {
    while crew.kills() < amount.kills {
        sleep(amount.pause.mul_f32(random.random_range(0.5..1.5))).await;
        let seat = crew.seats.choose(random).expect("there are seats");
        match &seat.proxy {
            Some(proxy) if random.random_bool(0.5) => at_a_point(proxy, &seat.victim, random),
            Some(_) | None => {
                seat.victim.kill();
            }
        }
    }
    for seat in &crew.seats {
        seat.proxy.iter().for_each(Proxy::no_rule);
    }
}

/// The victim is killed when it next gets to a point.
fn at_a_point(proxy: &Proxy, victim: &Arc<Victim>, random: &mut ChaCha8Rng) {
    let statement = *STATEMENTS.choose(random).expect("there are statements");
    let moment = if random.random_bool(0.5) {
        Moment::Asked
    } else {
        Moment::Answered
    };
    let (victim, armed) = (Arc::clone(victim), AtomicBool::new(true));
    proxy.rule(move |point| {
        if point.is(statement, moment) && armed.swap(false, Ordering::SeqCst) {
            victim.kill();
            return Fault::Cut;
        }
        // Time in which others may get in between.
        Fault::Delay(Duration::from_millis(3))
    });
}

/// Enqueues all keys in small batches over the time that the kills take, some of them once more;
/// returns how many duplicates it was told of.
async fn produce(
    store: &dyn Store,
    keys: &[String],
    amount: &Amount,
    mut random: ChaCha8Rng,
) -> usize {
    let share = amount.duplicates * keys.len() / amount.jobs;
    let again: Vec<String> = keys.sample(&mut random, share).cloned().collect();
    let pause = amount.pause * amount.kills / u32::try_from(keys.len() / 20).expect("few");
    let mut told = 0;
    let mut batch = async |keys: &[String]| {
        let jobs: Vec<NewJob> = keys.iter().map(|key| under_policy(key)).collect();
        let enqueued = store.enqueue(&jobs, &producer()).await.expect("enqueued");
        let duplicate = |each: &&Enqueued| matches!(each, Enqueued::Duplicate(_));
        told += enqueued.iter().filter(duplicate).count();
    };
    for (number, some) in keys.chunks(20).enumerate() {
        batch(some).await;
        // Some of those that were enqueued by now, whatever has become of them.
        let due = again.chunks(2).nth(number).unwrap_or_default();
        batch(due).await;
        sleep(pause).await;
    }
    told
}

fn under_policy(key: &str) -> NewJob {
    NewJob {
        policy: "patient".to_owned(),
        id: Uuid::now_v7(),
        ..job(key)
    }
}

/// Mends what was rejected and redrives it, in competition with others who do the same; returns how
/// many of its redrives were applied.
async fn redrive(ledger: &Ledger, sink: &Sink, operator: &str, stop: &AtomicBool) -> u32 {
    let store = open(ledger).await;
    let rejected = "SELECT CAST(id AS text), idempotency_key, CAST(version AS text) FROM jobs \
                    WHERE state IN ('quarantined', 'dead')";
    let mut applied = 0;
    while !stop.load(Ordering::SeqCst) {
        for row in ledger.rows(rejected).await {
            let [Some(id), Some(key), Some(version)] = row.as_slice() else {
                panic!("{row:?}");
            };
            sink.mark("mended", key);
            let act = Act {
                operation: Operation::Redrive,
                job: id.parse().expect("an id"),
                version: version.parse().expect("a number"),
                actor: operator.to_owned(),
                note: "mended".to_owned(),
            };
            let outcome = store.operate(&act).await.expect("an answer");
            applied += u32::from(matches!(outcome, Outcome::Applied { .. }));
        }
        sleep(Duration::from_millis(100)).await;
    }
    applied
}

/// The far side of `--http`: makes the effect, or rejects what is not mended.
pub(crate) async fn http_sink(sink: &Arc<Sink>) -> Server {
    let sink = Arc::clone(sink);
    Server::start(move |request| {
        let key = request.key();
        if key.starts_with("reject") && !sink.is_marked("mended", key) {
            return Reply::of(422, "", "not mended");
        }
        sink.call(key, request.header("ledgertop-fence").expect("a fence"));
        let output = format!("Ledgertop-Output: output_of_{key}\r\n");
        Reply::of(200, &output, "")
    })
    .await
}

pub(crate) async fn workers_killed_at_any_point_lose_no_job_and_double_no_effect(ledger: &Ledger) {
    let began = Instant::now();
    let mut random = random(&format!("S1 {}", kind(ledger)));
    let amount = Amount::of_this_run();
    let sink = Arc::new(Sink::new());
    let keys = keys(&amount, &sink, &mut random);
    let store = open(ledger).await;
    policy(store.as_ref(), "patient", |policy| {
        policy.max_attempts = 1_000;
    })
    .await;
    let server = http_sink(&sink).await;
    let arguments = |number: usize| {
        let (kind, far_side) = if number.is_multiple_of(2) {
            ("--exec", sink.command(0.2))
        } else {
            ("--http", server.url())
        };
        let usual = [
            "--lease",
            "2s",
            "--concurrency",
            "5",
            "--allow-private",
            kind,
        ];
        let usual = usual.map(str::to_owned).into_iter();
        usual.chain([far_side]).collect()
    };
    let crew = Crew::start(ledger, WORKERS, arguments).await;
    let stop = AtomicBool::new(false);
    let (front, back) = keys.split_at(keys.len() / 2);
    let [of_front, of_back, mut of_kills] =
        std::array::from_fn(|_| ChaCha8Rng::seed_from_u64(random.random()));
    let (told, redriven, ended_after) = tokio::join!(
        async {
            let producers = [(front, of_front), (back, of_back)]
                .map(|(keys, random)| produce(store.as_ref(), keys, &amount, random));
            futures_util::future::join_all(producers)
                .await
                .iter()
                .sum::<usize>()
        },
        async {
            let redrivers = ["ann", "bob"].map(|name| redrive(ledger, &sink, name, &stop));
            futures_util::future::join_all(redrivers)
                .await
                .iter()
                .sum::<u32>()
        },
        async {
            kill(&crew, &amount, &mut of_kills).await;
            let last = Instant::now();
            until_done(ledger, amount.jobs).await;
            stop.store(true, Ordering::SeqCst);
            last.elapsed()
        },
    );
    let run = Run {
        kills: crew.kills(),
        told,
        redriven,
        ended_after,
        took: began.elapsed(),
    };
    crew.end().await;
    verify(ledger).await;
    judge(ledger, &sink, &amount, &keys, &run).await;
}

/// What a run brought besides what ledger and sink hold.
struct Run {
    kills: u32,
    told: usize,
    redriven: u32,
    ended_after: Duration,
    took: Duration,
}

/// Counts, says the figures, and fails where they are not as they must be.
async fn judge(ledger: &Ledger, sink: &Sink, amount: &Amount, keys: &[String], run: &Run) {
    let calls = sink.calls();
    let applied = sink.applied();
    let all: BTreeSet<String> = keys.iter().cloned().collect();
    let lost = all.difference(&applied).count();
    let one_output = "SELECT CAST(count(*) AS text) FROM jobs WHERE state = 'succeeded' \
                      AND output_ref = 'output_of_' || idempotency_key";
    let outputs: usize = ledger.value(one_output).await.parse().expect("a number");
    let second = count_events(ledger, "succeed").await - outputs;
    say(&format!(
        "S1 {}: {} jobs, {} kills, {} duplicates, {} redrives, {} calls, {} effects applied, \
         {outputs} effects in the ledger, {second} second effects, {lost} lost, {} leases expired, \
         {} stale refused, done {:.1} s after the last kill, {:.1} s in all",
        kind(ledger),
        amount.jobs,
        run.kills,
        run.told,
        run.redriven,
        calls.len(),
        applied.len(),
        count_events(ledger, "lease_expire").await,
        count_events(ledger, "stale_refused").await,
        run.ended_after.as_secs_f64(),
        run.took.as_secs_f64(),
    ));
    assert!(run.kills >= amount.kills);
    assert_eq!((lost, second), (0, 0));
    assert_eq!(applied, all, "no effect of a job that is none");
    assert_eq!(outputs, amount.jobs);
    assert!(calls.len() >= applied.len());
    assert_eq!(run.told, amount.duplicates);
    assert_eq!(count_events(ledger, "duplicate").await, amount.duplicates);
    assert_eq!(usize::try_from(run.redriven), Ok(amount.redriven));
    assert!(run.ended_after < END, "{:?}", run.ended_after);
}

/// Waits until as many jobs as that have succeeded.
async fn until_done(ledger: &Ledger, jobs: usize) {
    let done = "SELECT CAST(count(*) AS text) FROM jobs WHERE state = 'succeeded'";
    let began = Instant::now();
    while ledger.value(done).await != jobs.to_string() {
        let standing = "SELECT state, CAST(count(*) AS text) FROM jobs GROUP BY state";
        let late = began.elapsed() > END * 2;
        assert!(!late, "{:?}", ledger.rows(standing).await);
        sleep(Duration::from_millis(100)).await;
    }
}

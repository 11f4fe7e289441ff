//! What it costs the workers that someone watches: their throughput with and without a board that
//! is refreshed every second, in turns, in the same run.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Result;
use ledgertop::board::{Board, Judge, Limits};
use ledgertop::ledger::num;
use ledgertop::store::url::{DatabaseKind, LedgerUrl};

use crate::place::{self, Place};
use crate::report::Row;
use crate::sample::{median, ms, per_second};
use crate::seed::seed;
use crate::server::{Account, Rights};
use crate::traffic::{enqueue, new_job};
use crate::work::Worker;

const GROUP: &str = "WATCHING";
const WORKERS: u32 = 4;
/// How often a console refreshes.
const EVERY: Duration = Duration::from_secs(1);
const QUEUE: &str = "watched";

/// How many turns of work, how long each, and how much work there is for them.
struct Turns {
    jobs: usize,
    count: usize,
    time: Duration,
}

/// Measures one database.
pub(crate) async fn measure(kind: DatabaseKind, quick: bool) -> Result<Vec<Row>> {
    crate::say(&format!("{}: what watching costs", place::name(kind)));
    let plan = if quick {
        Turns {
            jobs: 30_000,
            count: 2,
            time: Duration::from_secs(2),
        }
    } else {
        Turns {
            jobs: 300_000,
            count: 6,
            time: Duration::from_secs(5),
        }
    };
    let place = Place::create(kind).await?;
    seed(&place, crate::options::SMALL).await?;
    let store = place.ledger(None)?.store().await?;
    let new: Vec<_> = (0..plan.jobs).map(|_| new_job(QUEUE)).collect();
    enqueue(&*store, &new).await?;
    place.raw().await?.analyze().await?;
    let mut console = Account::open(&place, Rights::Read).await?;
    let user = console.as_ref().map(|account| account.user().to_owned());
    let watched_by = place.ledger(user.as_deref())?;

    let (mut alone, mut watched) = (Vec::new(), Vec::new());
    let mut refreshes = Vec::new();
    // One turn to warm up, which counts for neither; then in turns, each first once.
    work_for(&place, plan.time).await?;
    if let Some(account) = &mut console {
        account.reset().await?;
    }
    for turn in 0..plan.count {
        if turn % 2 == 0 {
            alone.push(work_for(&place, plan.time).await?);
        }
        let eyes = Eyes::open(&watched_by);
        watched.push(work_for(&place, plan.time).await?);
        refreshes.extend(eyes.close().await?);
        if turn % 2 == 1 {
            alone.push(work_for(&place, plan.time).await?);
        }
    }
    let seconds = plan.time.as_secs_f64() * num::ratio(num::count(plan.count));
    let name = place::name(kind);
    let (alone, watched) = (median(alone), median(watched));
    let mut rows = vec![
        Row::new(
            GROUP,
            format!("{name}: jobs/s of {WORKERS} workers, watched"),
            watched,
            "jobs/s",
        )
        .at_least(0.98 * alone)
        .beside("not watched", alone),
        Row::new(
            GROUP,
            format!("{name}: a refresh while they work"),
            median(refreshes.into_iter().map(ms).collect()),
            "ms",
        ),
    ];
    if let Some(account) = &mut console {
        let busy = account.usage().await?.server_ms / seconds;
        let what = format!("{name}: server time for watching, base loads included");
        rows.push(Row::new(GROUP, what, busy, "ms/s"));
    }
    Ok(rows)
}

/// Jobs a second of all workers together, one at a time.
async fn work_for(place: &Place, time: Duration) -> Result<f64> {
    let ledger = place.ledger(None)?;
    let started = Instant::now();
    let mut workers = Vec::new();
    for number in 0..WORKERS {
        let mut worker = Worker::new(ledger.store().await?, number, QUEUE, 1);
        workers.push(tokio::spawn(async move {
            let mut done = 0;
            while started.elapsed() < time {
                done += worker.step().await?;
            }
            anyhow::Ok(done)
        }));
    }
    let mut done = 0;
    for worker in workers {
        done += worker.await??;
    }
    Ok(per_second(done, started.elapsed()))
}

/// A console without a screen: refreshes its board every second until it is closed.
struct Eyes {
    open: Arc<AtomicBool>,
    looking: tokio::task::JoinHandle<Result<Vec<Duration>>>,
}

impl Eyes {
    fn open(ledger: &LedgerUrl) -> Self {
        let open = Arc::new(AtomicBool::new(true));
        let looking = tokio::spawn(look(ledger.clone(), Arc::clone(&open)));
        Self { open, looking }
    }

    async fn close(self) -> Result<Vec<Duration>> {
        self.open.store(false, Ordering::Relaxed);
        self.looking.await?
    }
}

async fn look(ledger: LedgerUrl, open: Arc<AtomicBool>) -> Result<Vec<Duration>> {
    let mut feed = ledger.feed();
    let mut board = Board::load(&feed.base().await?);
    let mut judge = Judge::new(Limits::default());
    let mut times = Vec::new();
    let mut clock = tokio::time::interval(EVERY);
    while open.load(Ordering::Relaxed) {
        clock.tick().await;
        let started = Instant::now();
        loop {
            let batch = feed.next().await?;
            batch.events.iter().for_each(|event| board.apply(event));
            if !batch.more {
                std::hint::black_box(board.summary(batch.as_of, &mut judge));
                break;
            }
        }
        times.push(started.elapsed());
    }
    Ok(times)
}

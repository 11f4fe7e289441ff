//! What it costs the workers that someone watches: their throughput with and without a board that
//! is refreshed every second, in turns, in the same run.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Result;
use ledgertop::board::{Board, Judge, Limits};
use ledgertop::ledger::num;
use ledgertop::store::Feed;
use ledgertop::store::url::{DatabaseKind, LedgerUrl};

use crate::options::SMALL;
use crate::place::{self, Place};
use crate::report::Row;
use crate::sample::{Sample, median, per_second};
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
    let place = full_of_work(kind, plan.jobs).await?;
    let mut console = Account::open(&place, Rights::Read).await?;
    let user = console.as_ref().map(|account| account.user().to_owned());
    let watched_by = place.ledger(user.as_deref())?;

    let mut eyes = Eyes::open(&watched_by).await?;
    let (mut alone, mut watched) = (Vec::new(), Vec::new());
    let mut server_ms = 0.0;
    // One turn to warm up, which counts for neither; then in turns, each of the two first once.
    work_for(&place, plan.time).await?;
    for turn in 0..plan.count {
        if turn % 2 == 0 {
            alone.push(work_for(&place, plan.time).await?);
        }
        // What happened while nobody looked is caught up with before the turn begins.
        eyes.look().await?;
        if let Some(account) = &mut console {
            account.reset().await?;
        }
        let looking = eyes.keep_looking();
        watched.push(work_for(&place, plan.time).await?);
        eyes = looking.stop().await?;
        if let Some(account) = &mut console {
            server_ms += account.usage().await?.server_ms;
        }
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
            format!("{name}: a refresh while they work, p50"),
            eyes.times.ms(50),
            "ms",
        ),
    ];
    if console.is_some() {
        let what = format!("{name}: server time for watching");
        rows.push(Row::new(GROUP, what, server_ms / seconds, "ms/s"));
    }
    Ok(rows)
}

/// A ledger with a past, and so many jobs to be done.
async fn full_of_work(kind: DatabaseKind, jobs: usize) -> Result<Place> {
    let place = Place::create(kind).await?;
    seed(&place, SMALL).await?;
    let store = place.ledger(None)?.store().await?;
    let new: Vec<_> = (0..jobs).map(|_| new_job(QUEUE)).collect();
    enqueue(&*store, &new).await?;
    place.raw().await?.analyze().await?;
    Ok(place)
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

/// A console without a screen.
struct Eyes {
    feed: Box<dyn Feed>,
    board: Board,
    judge: Judge,
    /// How long refreshes took while workers worked.
    times: Sample,
}

impl Eyes {
    async fn open(ledger: &LedgerUrl) -> Result<Self> {
        let mut feed = ledger.feed();
        let board = Board::load(&feed.base().await?);
        Ok(Self {
            feed,
            board,
            judge: Judge::new(Limits::default()),
            times: Sample::default(),
        })
    }

    /// One refresh.
    async fn look(&mut self) -> Result<()> {
        loop {
            let batch = self.feed.next().await?;
            batch
                .events
                .iter()
                .for_each(|event| self.board.apply(event));
            if !batch.more {
                std::hint::black_box(self.board.summary(batch.as_of, &mut self.judge));
                return Ok(());
            }
        }
    }

    /// A refresh every second until it is stopped.
    fn keep_looking(mut self) -> Looking {
        let stopped = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stopped);
        let task = tokio::spawn(async move {
            let mut clock = tokio::time::interval(EVERY);
            while !told.load(Ordering::Relaxed) {
                clock.tick().await;
                let started = Instant::now();
                self.look().await?;
                self.times.push(started.elapsed());
            }
            Ok(self)
        });
        Looking { stopped, task }
    }
}

struct Looking {
    stopped: Arc<AtomicBool>,
    task: tokio::task::JoinHandle<Result<Eyes>>,
}

impl Looking {
    async fn stop(self) -> Result<Eyes> {
        self.stopped.store(true, Ordering::Relaxed);
        self.task.await?
    }
}

//! Our worker at work, as `ledgertop work` runs it, with a handler that does nothing: one process,
//! one pool of connections. What has ended meanwhile is settled, and as much claimed, in one
//! exchange. Next: [`crate::peers`], who else is measured.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use async_trait::async_trait;
use ledgertop::ledger::job::Claimed;
use ledgertop::ledger::num;
use ledgertop::store::Store;
use ledgertop::worker::{
    Context, Done, Handler, HandlerError, Handlers, Shutdown, Tally, Worker, WorkerOptions,
};
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use tokio::sync::Notify;
use tokio::sync::mpsc;

use crate::peers::Run;
use crate::sample::{Sample, per_second};
use crate::traffic::{LEASE, enqueue, new_job};
use crate::work::Site;

/// The longest that one run may take.
const PATIENCE: Duration = Duration::from_mins(3);

/// What the worker is to do.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Engine {
    /// Drain a queue with so many jobs at a time.
    Work(usize),
    /// Start one job after another on an idle queue.
    Latency,
}

/// One run.
pub(crate) async fn run(site: &mut Site, engine: Engine, queue: &str, jobs: usize) -> Result<Run> {
    match engine {
        Engine::Work(concurrency) => drain(site, queue, concurrency, jobs).await,
        Engine::Latency => latency(site, queue, jobs).await,
    }
}

fn worker(
    store: Arc<dyn Store>,
    queue: &str,
    concurrency: usize,
    handler: Arc<dyn Handler>,
) -> Result<Worker> {
    let options = WorkerOptions {
        queues: vec![queue.to_owned()],
        concurrency,
        lease: LEASE,
        ..WorkerOptions::new("bench_worker", 7)
    };
    Ok(Worker::new(store, Handlers::all(handler), options)?)
}

/// Counts what has begun.
struct Count {
    begun: AtomicUsize,
    jobs: usize,
    first: Notify,
    last: Notify,
}

#[async_trait]
impl Handler for Count {
    async fn run(&self, _job: &Claimed, _context: &Context) -> Result<Done, HandlerError> {
        let before = self.begun.fetch_add(1, Ordering::Relaxed);
        if before == 0 {
            self.first.notify_one();
        }
        if before + 1 == self.jobs {
            self.last.notify_one();
        }
        Ok(Done::default())
    }
}

/// From the first job begun to the last one settled.
async fn drain(site: &mut Site, queue: &str, concurrency: usize, jobs: usize) -> Result<Run> {
    site.checkpoint().await?;
    site.fill(queue, jobs).await?;
    let count = Arc::new(Count {
        begun: AtomicUsize::new(0),
        jobs,
        first: Notify::new(),
        last: Notify::new(),
    });
    let store = site.ledger()?.store().await?;
    let worker = worker(
        store,
        queue,
        concurrency,
        Arc::clone(&count) as Arc<dyn Handler>,
    )?;
    let before = site.begin().await?;
    let shutdown = Shutdown::default();
    let working = tokio::spawn(worker.run(shutdown.clone()));
    within(count.first.notified()).await?;
    let started = Instant::now();
    within(count.last.notified()).await?;
    shutdown.gently.cancel();
    let tally = within(working).await??;
    let time = started.elapsed();
    all_succeeded(tally, jobs)?;
    let (wal_per_job, statements_per_job) = site.used(before, num::count(jobs)).await?;
    Ok(Run {
        jobs_per_s: per_second(num::count(jobs), time),
        wal_per_job,
        statements_per_job,
        ..Run::default()
    })
}

fn all_succeeded(tally: Tally, jobs: usize) -> Result<()> {
    ensure!(
        tally.succeeded == num::count(jobs),
        "not all {jobs} jobs succeeded: {tally:?}"
    );
    Ok(())
}

async fn within<T>(waited_for: impl Future<Output = T>) -> Result<T> {
    tokio::time::timeout(PATIENCE, waited_for)
        .await
        .context("the worker took too long")
}

/// Says when each job starts.
struct Starts(mpsc::UnboundedSender<Instant>);

#[async_trait]
impl Handler for Starts {
    async fn run(&self, _job: &Claimed, _context: &Context) -> Result<Done, HandlerError> {
        let said = self.0.send(Instant::now());
        // Nobody listens any more where the run has ended with an error of its own.
        said.map_err(|_nobody| HandlerError::known("cancelled", "the run is over"))?;
        Ok(Done::default())
    }
}

/// From before the call that enqueues to the first line of the handler. The producer has a store of
/// its own, as another process has: the worker hears of the job from the database.
async fn latency(site: &mut Site, queue: &str, jobs: usize) -> Result<Run> {
    let (says, mut starts) = mpsc::unbounded_channel();
    let ledger = site.ledger()?;
    let worker = worker(ledger.store().await?, queue, 10, Arc::new(Starts(says)))?;
    let producer = ledger.store().await?;
    let shutdown = Shutdown::default();
    let working = tokio::spawn(worker.run(shutdown.clone()));
    let mut random = ChaCha8Rng::seed_from_u64(11);
    let mut times = Sample::default();
    // The first ones make connections and plans.
    for number in 0..jobs + 20 {
        tokio::time::sleep(Duration::from_millis(random.random_range(15..45))).await;
        let sent = Instant::now();
        enqueue(&*producer, &[new_job(queue)]).await?;
        let start = within(starts.recv()).await?.context("the worker ended")?;
        if number >= 20 {
            times.push(start - sent);
        }
    }
    shutdown.gently.cancel();
    within(working).await??;
    Ok(Run {
        p50_ms: times.ms(50),
        p95_ms: times.ms(95),
        ..Run::default()
    })
}

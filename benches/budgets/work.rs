//! Enqueue, claim and settle a second with full history, beside the same calls of the same store on
//! the same tables without triggers, and so without history; in turns, in the same run.
//!
//! Each shape of work drains a queue of its own, so that no shape lives off what another left.
//! Next: [`crate::watch`], what it costs these workers to be watched.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use ledgertop::ledger::job::{Claimed, Lane, NewJob, Settlement, Verdict};
use ledgertop::ledger::num;
use ledgertop::store::url::{DatabaseKind, LedgerUrl};
use ledgertop::store::{ClaimRequest, LaneShare, Store};

use crate::place::{self, Place};
use crate::report::Row;
use crate::sample::{median, per_second};
use crate::seed::forget_history;
use crate::server::{Account, Rights};
use crate::traffic::{LEASE, all_applied, enqueue, new_job, settlement};

const GROUP: &str = "WORK (no-op jobs)";

/// Exchanges of each worker before the clock starts: a session plans its statements in the first.
const WARM_UP: u32 = 5;

/// How workers work.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    workers: u32,
    /// Jobs claimed and settled in one exchange.
    batch: u32,
    /// Jobs to be done, and in a smoke run.
    jobs: usize,
    quick: usize,
    /// What PostgreSQL is to reach, in jobs a second.
    budget: Option<f64>,
}

const fn shape(workers: u32, batch: u32, jobs: usize, quick: usize, budget: Option<f64>) -> Shape {
    Shape {
        workers,
        batch,
        jobs,
        quick,
        budget,
    }
}

const SHAPES: [Shape; 5] = [
    shape(1, 1, 6_000, 1_000, Some(2_000.0)),
    shape(10, 1, 12_000, 2_000, Some(4_000.0)),
    shape(1, 100, 30_000, 5_000, None),
    shape(2, 100, 50_000, 5_000, Some(25_000.0)),
    shape(4, 100, 50_000, 5_000, Some(25_000.0)),
];

/// A ledger, the user who works on it, and whether it keeps history.
pub(crate) struct Site {
    place: Place,
    account: Option<Account>,
}

/// What was measured of one shape on one ledger, a figure a repetition.
#[derive(Default)]
struct Figures {
    jobs_per_s: Vec<f64>,
    wal_per_job: Vec<f64>,
    statements_per_job: Vec<f64>,
}

/// Measures every shape on one database.
pub(crate) async fn measure(kind: DatabaseKind, quick: bool) -> Result<Vec<Row>> {
    crate::say(&format!("{}: work", place::name(kind)));
    let mut with = Site::open(kind).await?;
    forget_nothing_yet(&with).await?;
    let mut without = Site::open(kind).await?;
    forget_history(&without.place).await?;
    let repetitions = if quick { 1 } else { 3 };
    let (mut rate_with, mut rate_without) = (Vec::new(), Vec::new());
    let mut rows = Vec::new();
    for (number, shape) in SHAPES.iter().enumerate() {
        crate::say(&format!("  {}", shape.name()));
        let (mut a, mut b) = (Figures::default(), Figures::default());
        for repetition in 0..repetitions {
            let queue = format!("shape_{number}_{repetition}");
            let jobs = if quick { shape.quick } else { shape.jobs };
            // Once for both, so that both begin with pages that were logged whole already.
            with.checkpoint().await?;
            rate_with.push(with.fill(&queue, jobs).await?);
            rate_without.push(without.fill(&queue, jobs).await?);
            a.push(kind, &with.drain(&queue, *shape).await?);
            b.push(kind, &without.drain(&queue, *shape).await?);
        }
        rows.extend(shape_rows(kind, *shape, a, b));
    }
    let enqueue = Row::new(
        GROUP,
        format!("{}: enqueue by 1,000", place::name(kind)),
        median(rate_with),
        "jobs/s",
    );
    let enqueue = match kind {
        DatabaseKind::Postgres => enqueue.at_least(40_000.0),
        DatabaseKind::Sqlite => enqueue,
    };
    rows.insert(0, enqueue.beside("without history", median(rate_without)));
    Ok(rows)
}

/// That the ledger with history has some: the triggers are there.
async fn forget_nothing_yet(site: &Site) -> Result<()> {
    let store = site.place.ledger(None)?.store().await?;
    enqueue(&*store, &[new_job("probe")]).await?;
    let mut raw = site.place.raw().await?;
    let events = raw.number("SELECT count(*) FROM job_events").await?;
    ensure!(events == 1, "one job enqueued has left {events} events");
    Ok(())
}

impl Shape {
    /// So many workers, each with a connection of its own, so many jobs an exchange.
    pub(crate) const fn of(workers: u32, batch: u32) -> Self {
        shape(workers, batch, 0, 0, None)
    }

    fn name(self) -> String {
        let workers = match self.workers {
            1 => "1 connection".to_owned(),
            many => format!("{many} connections"),
        };
        match self.batch {
            1 => format!("one at a time, {workers}"),
            batch => format!("by {batch}, {workers}"),
        }
    }
}

impl Site {
    pub(crate) async fn open(kind: DatabaseKind) -> Result<Self> {
        let place = Place::create(kind).await?;
        let account = Account::open(&place, Rights::Write).await?;
        Ok(Self { place, account })
    }

    pub(crate) fn ledger(&self) -> Result<LedgerUrl> {
        let user = self.account.as_ref().map(Account::user);
        self.place.ledger(user)
    }

    /// Writes every changed page of the server.
    pub(crate) async fn checkpoint(&mut self) -> Result<()> {
        match &mut self.account {
            Some(account) => account.checkpoint().await,
            None => Ok(()),
        }
    }

    /// Enqueues jobs; says how many a second.
    pub(crate) async fn fill(&mut self, queue: &str, jobs: usize) -> Result<f64> {
        let store = self.ledger()?.store().await?;
        let new: Vec<NewJob> = (0..jobs).map(|_| new_job(queue)).collect();
        let started = Instant::now();
        enqueue(&*store, &new).await?;
        let rate = per_second(num::count(jobs), started.elapsed());
        self.place.raw().await?.analyze().await?;
        Ok(rate)
    }

    /// Begins to count what the server does; nothing where there is no server.
    pub(crate) async fn begin(&mut self) -> Result<Option<u64>> {
        match &mut self.account {
            Some(account) => {
                account.reset().await?;
                Ok(Some(account.wal_bytes().await?))
            }
            None => Ok(None),
        }
    }

    /// Bytes of log and statements of each of `jobs` since `begin`.
    pub(crate) async fn used(&mut self, begin: Option<u64>, jobs: u64) -> Result<(f64, f64)> {
        let (Some(account), Some(before)) = (&mut self.account, begin) else {
            return Ok((f64::NAN, f64::NAN));
        };
        let jobs = num::ratio(jobs);
        let wal = num::ratio(account.wal_bytes().await?.saturating_sub(before));
        let usage = account.usage().await?;
        Ok((wal / jobs, usage.statements / jobs))
    }

    /// Claims and settles until the queue is empty; how many jobs, how long, and the log and the
    /// statements of each.
    pub(crate) async fn drain(&mut self, queue: &str, shape: Shape) -> Result<Drained> {
        let ledger = self.ledger()?;
        let mut workers = Vec::new();
        for number in 0..shape.workers {
            let store = ledger.store().await?;
            workers.push(Worker::new(store, number, queue, shape.batch));
        }
        let (workers, _warm) = all_at_once(workers, Worker::warmed_up).await?;
        let begin = self.begin().await?;
        let (done, time) = all_at_once(workers, Worker::until_nothing_is_ready).await?;
        let jobs: u64 = done.into_iter().sum();
        let (wal_per_job, statements_per_job) = self.used(begin, jobs).await?;
        Ok(Drained {
            jobs_per_s: per_second(jobs, time),
            wal_per_job,
            statements_per_job,
        })
    }
}

/// What draining a queue brought.
pub(crate) struct Drained {
    pub(crate) jobs_per_s: f64,
    pub(crate) wal_per_job: f64,
    pub(crate) statements_per_job: f64,
}

impl Figures {
    fn push(&mut self, kind: DatabaseKind, drained: &Drained) {
        self.jobs_per_s.push(drained.jobs_per_s);
        if kind == DatabaseKind::Postgres {
            self.wal_per_job.push(drained.wal_per_job);
            self.statements_per_job.push(drained.statements_per_job);
        }
    }
}

/// Lets every worker do its part, all at once; what they brought, and the time of all of them.
async fn all_at_once<T, F>(
    workers: Vec<Worker>,
    part: impl Fn(Worker) -> F,
) -> Result<(Vec<T>, Duration)>
where
    T: Send + 'static,
    F: Future<Output = Result<T>> + Send + 'static,
{
    let started = Instant::now();
    let running: Vec<_> = workers
        .into_iter()
        .map(|worker| tokio::spawn(part(worker)))
        .collect();
    let mut brought = Vec::new();
    for worker in running {
        brought.push(worker.await??);
    }
    Ok((brought, started.elapsed()))
}

/// A worker whose handler does nothing: what is measured is the ledger.
pub(crate) struct Worker {
    store: Arc<dyn Store>,
    request: ClaimRequest,
    held: Vec<Claimed>,
}

impl Worker {
    pub(crate) fn new(store: Arc<dyn Store>, number: u32, queue: &str, batch: u32) -> Self {
        let lane = Lane {
            queue: queue.to_owned(),
            tenant: String::new(),
        };
        let request = ClaimRequest {
            worker: format!("bench_{number}"),
            lease: LEASE,
            shares: vec![LaneShare { lane, limit: batch }],
        };
        Self {
            store,
            request,
            held: Vec::new(),
        }
    }

    /// Settles what is held and claims the next, in one exchange; how many were settled.
    pub(crate) async fn step(&mut self) -> Result<u64> {
        let settlements: Vec<Settlement> = self
            .held
            .iter()
            .map(|claimed| settlement(claimed, Verdict::Succeed { output_ref: None }))
            .collect();
        let done = self
            .store
            .exchange(&self.request.worker, &settlements, Some(&self.request))
            .await?;
        all_applied(&done.outcomes)?;
        self.held = done.claimed;
        Ok(num::count(settlements.len()))
    }

    /// With its statements prepared and its first jobs in hand.
    async fn warmed_up(mut self) -> Result<Self> {
        for _ in 0..WARM_UP {
            self.step().await?;
        }
        Ok(self)
    }

    async fn until_nothing_is_ready(mut self) -> Result<u64> {
        let mut done = 0;
        while !self.held.is_empty() {
            done += self.step().await?;
        }
        Ok(done)
    }
}

fn shape_rows(kind: DatabaseKind, shape: Shape, with: Figures, without: Figures) -> Vec<Row> {
    let name = format!("{}: claim + settle {}", place::name(kind), shape.name());
    let rate = Row::new(GROUP, name, median(with.jobs_per_s), "jobs/s");
    let rate = match (kind, shape.budget) {
        (DatabaseKind::Postgres, Some(budget)) => rate.at_least(budget),
        (DatabaseKind::Postgres, None) | (DatabaseKind::Sqlite, _) => rate,
    };
    let mut rows = vec![rate.beside("without history", median(without.jobs_per_s))];
    if !with.wal_per_job.is_empty() {
        // One, and a little for what begins and ends a run.
        let statements = if shape.batch == 1 { 1.05 } else { 0.03 };
        rows.extend([
            Row::new(
                GROUP,
                "  write-ahead log, each job",
                median(with.wal_per_job),
                "bytes",
            )
            .at_most(1_500.0)
            .beside("without history", median(without.wal_per_job)),
            Row::new(
                GROUP,
                "  statements, each job",
                median(with.statements_per_job),
                "",
            )
            .at_most(statements),
        ]);
    }
    rows
}

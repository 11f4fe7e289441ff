//! What a case stands on: a ledger with a worker or several beside a housekeeper, handlers made of
//! closures, and waiting for what the ledger says rather than for time to pass.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use ledgertop::ledger::event::ActorKind;
use ledgertop::ledger::job::{Actor, Claimed, Enqueued, JobRow, NewJob};
use ledgertop::ledger::policy::Policy;
use ledgertop::ledger::state::State;
use ledgertop::store::Store;
use ledgertop::worker::housekeep::{HousekeepOptions, housekeep};
use ledgertop::worker::{
    Context, Done, Handler, HandlerError, Handlers, Shutdown, Tally, Worker, WorkerOptions,
};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::ledger::Ledger;

/// How long anything may take before a case fails: far longer than it ever does.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often the ledger is asked.
const GLANCE: Duration = Duration::from_millis(15);

/// A worker at work in a task of its own.
pub(crate) struct Running {
    pub(crate) shutdown: Shutdown,
    task: JoinHandle<Tally>,
}

impl Running {
    /// Asks it to end in good order and waits for that.
    pub(crate) async fn stop(self) -> Tally {
        self.shutdown.gently.cancel();
        self.ended().await
    }

    /// Works until the process is killed.
    pub(crate) async fn ended_never(self) {
        if let Err(error) = self.task.await {
            panic!("the worker panicked: {error}");
        }
    }

    /// Waits for its end.
    pub(crate) async fn ended(self) -> Tally {
        match tokio::time::timeout(PATIENCE, self.task).await {
            Ok(Ok(tally)) => tally,
            Ok(Err(error)) => panic!("the worker panicked: {error}"),
            Err(late) => panic!("the worker did not end: {late}"),
        }
    }
}

/// Options for cases: leases of a second, handlers of up to ten, looks every 50 ms.
pub(crate) fn options(name: &str) -> WorkerOptions {
    WorkerOptions {
        lease: Duration::from_secs(1),
        timeout: Duration::from_secs(10),
        poll: Duration::from_millis(50),
        grace: Duration::from_secs(5),
        ..WorkerOptions::new(name, 11)
    }
}

/// Starts a worker.
pub(crate) fn start(store: Arc<dyn Store>, handlers: Handlers, options: WorkerOptions) -> Running {
    let worker =
        Worker::new(store, handlers, options).unwrap_or_else(|error| panic!("options: {error}"));
    let shutdown = Shutdown::default();
    let ends = shutdown.clone();
    let task = tokio::spawn(async move { worker.run(ends).await });
    Running { shutdown, task }
}

/// Keeps house until the value goes.
pub(crate) struct Housekeeper(CancellationToken);

impl Housekeeper {
    pub(crate) fn start(store: Arc<dyn Store>) -> Self {
        let stop = CancellationToken::new();
        let options = HousekeepOptions {
            interval: Duration::from_millis(40),
            ..HousekeepOptions::new("housekeeper", 5)
        };
        tokio::spawn(housekeep(store, options, stop.clone()));
        Self(stop)
    }
}

impl Drop for Housekeeper {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

struct Closure<F>(F);

#[async_trait]
impl<F, R> Handler for Closure<F>
where
    F: Fn(Claimed) -> R + Send + Sync,
    R: Future<Output = Result<Done, HandlerError>> + Send,
{
    async fn run(&self, job: &Claimed, _context: &Context) -> Result<Done, HandlerError> {
        (self.0)(job.clone()).await
    }
}

/// A handler made of a closure, for every kind.
pub(crate) fn handlers<F, R>(run: F) -> Handlers
where
    F: Fn(Claimed) -> R + Send + Sync + 'static,
    R: Future<Output = Result<Done, HandlerError>> + Send + 'static,
{
    Handlers::all(Arc::new(Closure(run)))
}

/// What a handler returns whose attempt did its work.
#[expect(
    clippy::unnecessary_wraps,
    reason = "it stands where a handler returns"
)]
pub(crate) fn done(output: &str) -> Result<Done, HandlerError> {
    Ok(Done {
        output_ref: Some(output.to_owned()),
    })
}

/// A store on the ledger, as another process would have.
pub(crate) async fn open(ledger: &Ledger) -> Arc<dyn Store> {
    let opened = ledger.url().store().await;
    opened.unwrap_or_else(|error| panic!("{error}"))
}

/// A job with a key of its own in the queue `thumbnails`.
pub(crate) fn job(key: &str) -> NewJob {
    NewJob::new(Uuid::now_v7(), "thumbnails", "render", key)
}

/// Enqueues jobs and returns their ids.
pub(crate) async fn enqueue(store: &dyn Store, jobs: &[NewJob]) -> Vec<Uuid> {
    let by = Actor {
        kind: ActorKind::Producer,
        name: "a producer".to_owned(),
    };
    let enqueued = store
        .enqueue(jobs, &by)
        .await
        .unwrap_or_else(|error| panic!("enqueue: {error}"));
    let id = |each| match each {
        Enqueued::Created(id) | Enqueued::Duplicate(id) => id,
    };
    enqueued.into_iter().map(id).collect()
}

/// Enqueues one job under a policy and returns its id.
pub(crate) async fn enqueue_under(store: &dyn Store, key: &str, policy: &str) -> Uuid {
    let job = NewJob {
        policy: policy.to_owned(),
        ..job(key)
    };
    enqueue(store, &[job]).await.remove(0)
}

/// Makes a policy: `change` of one that waits a few milliseconds between three attempts.
pub(crate) async fn policy(store: &dyn Store, name: &str, change: impl FnOnce(&mut Policy)) {
    let mut policy = Policy {
        name: name.to_owned(),
        max_attempts: 3,
        backoff_base: Duration::from_millis(2),
        backoff_cap: Duration::from_millis(8),
        ..Policy::default_v1()
    };
    change(&mut policy);
    let by = Actor {
        kind: ActorKind::Operator,
        name: "a case".to_owned(),
    };
    store
        .apply_policy(&policy, &by)
        .await
        .unwrap_or_else(|error| panic!("policy: {error}"));
}

/// The job as it is.
pub(crate) async fn row(store: &dyn Store, job: Uuid) -> JobRow {
    match store.job(job).await {
        Ok(Some(row)) => row,
        other => panic!("job {job}: {other:?}"),
    }
}

/// Waits until the job is in the state.
pub(crate) async fn until_state(store: &dyn Store, job: Uuid, state: State) -> JobRow {
    let start = Instant::now();
    loop {
        let row = row(store, job).await;
        if row.state == state {
            return row;
        }
        assert!(
            start.elapsed() < PATIENCE,
            "job {job} is {}, not {state}",
            row.state
        );
        sleep(GLANCE).await;
    }
}

/// Waits until every job is in the state.
pub(crate) async fn until_all(store: &dyn Store, jobs: &[Uuid], state: State) {
    for job in jobs {
        until_state(store, *job, state).await;
    }
}

/// Waits until `holds`.
pub(crate) async fn until(what: &str, holds: impl Fn() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < PATIENCE, "never came: {what}");
        sleep(GLANCE).await;
    }
}

/// The events of a job, in order.
pub(crate) async fn events(ledger: &Ledger, job: Uuid) -> Vec<String> {
    let query = format!("SELECT event FROM job_events WHERE job_id = '{job}' ORDER BY version");
    let rows = ledger.rows(&query).await;
    rows.into_iter().flatten().flatten().collect()
}

/// How many events of that kind the ledger holds.
pub(crate) async fn count_events(ledger: &Ledger, event: &str) -> usize {
    let query = format!("SELECT CAST(count(*) AS text) FROM job_events WHERE event = '{event}'");
    let count = ledger.value(&query).await;
    count
        .parse()
        .unwrap_or_else(|error| panic!("'{count}': {error}"))
}

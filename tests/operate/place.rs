//! A ledger of a test's own, the program on it, and a worker whose failures the test decides.
//!
//! Next: `../operate.rs`, the scenarios.

use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ledgertop::ledger::error_class::ErrorClass;
use ledgertop::ledger::event::ActorKind;
use ledgertop::ledger::job::{
    Actor, Claimed, Enqueued, Failed, JobRow, Lane, LeaseRef, NewJob, Settlement, Verdict,
};
use ledgertop::ledger::plan::{Plan, PlanJob};
use ledgertop::ledger::query::Query;
use ledgertop::ledger::view::JobOrder;
use ledgertop::store::plans::PlanJobsPage;
use ledgertop::store::{self, ClaimRequest, LaneShare, LedgerUrl, Store};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::postgres_database::PostgresDatabase;
use crate::sqlite_database::SqliteDatabase;

pub(crate) const QUEUE: &str = "mail";
const WORKER: &str = "a worker";
/// Longer than anything takes that goes well.
const DEADLINE: Duration = Duration::from_secs(60);

/// Which jobs the worker fails, as they failed before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fails {
    None,
    All,
    Job(Uuid),
}

/// A ledger with the program beside it.
pub(crate) struct Place {
    address: String,
    url: LedgerUrl,
    store: Arc<dyn Store>,
    home: tempfile::TempDir,
    _database: Box<dyn Send + Sync>,
}

/// A worker at work.
pub(crate) struct Worker {
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Worker {
    /// Ends it and waits for its end.
    pub(crate) async fn stop(self) {
        self.stop.cancel();
        self.task.await.unwrap_or_else(|error| panic!("{error}"));
    }
}

impl Place {
    pub(crate) async fn postgres() -> Self {
        let database = PostgresDatabase::create();
        let address = database.url().to_owned();
        Self::make(address, Box::new(database)).await
    }

    pub(crate) async fn sqlite() -> Self {
        let database = SqliteDatabase::create();
        let address = database.url().to_owned();
        Self::make(address, Box::new(database)).await
    }

    async fn make(address: String, database: Box<dyn Send + Sync>) -> Self {
        let url = LedgerUrl::parse(&address).unwrap_or_else(|error| panic!("{error}"));
        store::init(&url)
            .await
            .unwrap_or_else(|error| panic!("{error}"));
        let store = url.store().await.unwrap_or_else(|error| panic!("{error}"));
        let home = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
        Self {
            address,
            url,
            store,
            home,
            _database: database,
        }
    }

    /// The program with these arguments, not started yet.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ledgertop"));
        command
            .args(arguments)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.home.path())
            .env("LEDGERTOP_LEDGER", &self.address)
            .env("LEDGERTOP_OPERATOR", "Ada L.")
            .env("SSH_CONNECTION", "10.0.0.7 51234 10.0.0.1 22")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Starts the program.
    pub(crate) fn spawn(&self, arguments: &[&str]) -> Child {
        let started = self.command(arguments).spawn();
        started.unwrap_or_else(|error| panic!("{arguments:?}: {error}"))
    }

    /// Runs the program to its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        let done = tokio::task::block_in_place(|| self.command(arguments).output());
        done.unwrap_or_else(|error| panic!("{arguments:?}: {error}"))
    }

    /// What every scenario ends with.
    pub(crate) fn holds_its_laws(&self) {
        let verified = self.run(&["verify"]);
        assert!(verified.status.success(), "{}", said(&verified));
    }

    /// Jobs that failed permanently, in the order in which they failed.
    pub(crate) async fn dead_letters(&self, count: usize) -> Vec<Uuid> {
        let producer = Actor {
            kind: ActorKind::Producer,
            name: "a producer".to_owned(),
        };
        let new: Vec<NewJob> = (0..count)
            .map(|_each| {
                let id = Uuid::now_v7();
                NewJob::new(id, QUEUE, "send", &format!("job-{id}"))
            })
            .collect();
        let enqueued = self.store.enqueue(&new, &producer).await;
        let enqueued = enqueued.unwrap_or_else(|error| panic!("{error}"));
        let claimed = claim(self.store.as_ref()).await;
        assert_eq!(claimed.len(), count, "nothing else is ready");
        settle(self.store.as_ref(), &claimed, Fails::All).await;
        enqueued
            .into_iter()
            .map(|each| match each {
                Enqueued::Created(id) | Enqueued::Duplicate(id) => id,
            })
            .collect()
    }

    /// A worker that settles whatever becomes ready.
    pub(crate) fn worker(&self, fails: Fails) -> Worker {
        let (store, stop) = (Arc::clone(&self.store), CancellationToken::new());
        let stopped = stop.clone();
        let task = tokio::spawn(async move {
            while !stopped.is_cancelled() {
                let claimed = claim(store.as_ref()).await;
                if claimed.is_empty() {
                    store.wait_for_hint(Duration::from_millis(20)).await;
                } else {
                    settle(store.as_ref(), &claimed, fails).await;
                }
            }
        });
        Worker { stop, task }
    }

    /// Freezes all dead letters into a redrive and approves it; nobody carries it out yet.
    pub(crate) fn approved(&self, more: &[&str]) -> Uuid {
        let act = [
            "redrive",
            "--filter",
            "state:quarantined",
            "--reason",
            "mended",
            "--yes",
            "--detach",
            "--json",
        ];
        let done = self.run(&[&act[..], more].concat());
        let receipt: serde_json::Value = serde_json::from_slice(&done.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}", said(&done)));
        let id = receipt["plan"]["id"].as_str().unwrap_or_default();
        Uuid::try_parse(id).unwrap_or_else(|error| panic!("{error}: {}", said(&done)))
    }

    /// Closes what a round left behind.
    pub(crate) fn discard_all_dead_letters(&self) {
        let done = self.run(&[
            "discard",
            "--filter",
            "state:quarantined",
            "--reason",
            "the round is over",
            "--yes",
        ]);
        assert!(done.status.success(), "{}", said(&done));
    }

    pub(crate) async fn job(&self, job: Uuid) -> JobRow {
        let found = self.store.job(job).await;
        found
            .unwrap_or_else(|error| panic!("{error}"))
            .unwrap_or_else(|| panic!("job {job} is gone"))
    }

    pub(crate) async fn plans(&self) -> Vec<Plan> {
        let found = self.store.plans().plans(100).await;
        found.unwrap_or_else(|error| panic!("{error}"))
    }

    pub(crate) async fn only_plan(&self) -> Plan {
        match self.plans().await.as_slice() {
            [plan] => plan.clone(),
            other => panic!("one plan was expected, not {}", other.len()),
        }
    }

    pub(crate) async fn plan(&self, plan: Uuid) -> Plan {
        let found = self.store.plans().plan(plan).await;
        found
            .unwrap_or_else(|error| panic!("{error}"))
            .unwrap_or_else(|| panic!("plan {plan} is gone"))
    }

    pub(crate) async fn plan_jobs(&self, plan: Uuid) -> Vec<PlanJob> {
        let page = PlanJobsPage {
            limit: 500,
            ..PlanJobsPage::default()
        };
        let found = self.store.plans().plan_jobs(plan, page).await;
        found.unwrap_or_else(|error| panic!("{error}"))
    }

    /// Waits until the plan is as it should be.
    pub(crate) async fn until(&self, plan: Uuid, holds: impl Fn(&Plan) -> bool) {
        let begun = Instant::now();
        loop {
            let found = self.plan(plan).await;
            if holds(&found) {
                return;
            }
            assert!(begun.elapsed() < DEADLINE, "it never came to be: {found:?}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Waits until an executor, which may have found the plan held by one that was killed, holds
    /// it or has ended.
    pub(crate) async fn until_held(&self, plan: Uuid, executor: &mut Child) {
        let fence = self.plan(plan).await.version;
        let begun = Instant::now();
        loop {
            let ended = executor.try_wait().is_ok_and(|ended| ended.is_some());
            if ended || self.plan(plan).await.version > fence {
                return;
            }
            assert!(begun.elapsed() < DEADLINE, "nobody takes the plan");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// How often jobs were redriven, of all that there are.
    pub(crate) async fn count_redrives(&self) -> u32 {
        let mut look = self.url.look();
        let page = look
            .jobs(&Query::default(), JobOrder::OldestFirst, None, 500)
            .await
            .unwrap_or_else(|error| panic!("{error}"));
        page.jobs.iter().map(|job| job.row.redrives).sum()
    }
}

async fn claim(store: &dyn Store) -> Vec<Claimed> {
    let request = ClaimRequest {
        worker: WORKER.to_owned(),
        lease: Duration::from_secs(60),
        shares: vec![LaneShare {
            lane: Lane {
                queue: QUEUE.to_owned(),
                tenant: String::new(),
            },
            limit: 200,
        }],
    };
    let exchanged = store.exchange(WORKER, &[], Some(&request)).await;
    exchanged.unwrap_or_else(|error| panic!("{error}")).claimed
}

async fn settle(store: &dyn Store, claimed: &[Claimed], fails: Fails) {
    let settlements: Vec<Settlement> = claimed
        .iter()
        .map(|job| Settlement {
            lease: LeaseRef {
                job: job.id,
                fence: job.fence,
            },
            verdict: verdict(fails == Fails::All || fails == Fails::Job(job.id)),
        })
        .collect();
    let settled = store.exchange(WORKER, &settlements, None).await;
    settled.unwrap_or_else(|error| panic!("{error}"));
}

fn verdict(fails: bool) -> Verdict {
    if fails {
        Verdict::Reject {
            failure: Failed {
                class: ErrorClass::Permanent,
                reason: "malformed".to_owned(),
                error: "no such field".to_owned(),
            },
        }
    } else {
        Verdict::Succeed { output_ref: None }
    }
}

/// All that a run said.
pub(crate) fn said(done: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&done.stdout),
        String::from_utf8_lossy(&done.stderr)
    )
}

/// Waits for the end of a process and takes what it said.
pub(crate) fn output_of(child: Child) -> Output {
    let done = tokio::task::block_in_place(|| child.wait_with_output());
    done.unwrap_or_else(|error| panic!("{error}"))
}

/// Asks a process to end in good order, and waits for it.
pub(crate) fn terminate(child: &mut Child) {
    let asked = Command::new("kill")
        .args(["-TERM", &child.id().to_string()])
        .status();
    assert!(asked.is_ok_and(|status| status.success()), "it is there");
    drop(tokio::task::block_in_place(|| child.wait()));
}

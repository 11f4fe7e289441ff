//! `ledgertop demo`: producers, simulated dependencies and the real worker runtime over a ledger,
//! and an incident that unfolds within two minutes and then mends.
//!
//! Only the far side of each handler's call is simulated ([`dependency`]) and the network between
//! worker and ledger can be cut ([`network`]); jobs, leases, retries and every number on the board
//! are real. What happens is in the script ([`scenario`]) and repeats with its seed. The module
//! knows neither a database nor a terminal. Next: [`headless`], the demo without a screen.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use crate::board::limits::{Bound, Limits, QueueLimits};
use crate::ledger::event::ActorKind;
use crate::ledger::job::Actor;
use crate::ledger::num;
use crate::ledger::time::Timestamp;
use crate::store::{Store, StoreError};
use crate::worker::housekeep::{HousekeepOptions, housekeep};

mod arrivals;
mod chance;
mod content;
mod crew;
mod dependency;
mod handlers;
pub mod headless;
mod network;
pub mod place;
mod producer;
pub mod scenario;

use arrivals::{Run, Stream};
use crew::Employment;
use scenario::{Lesson, Scenario, ScenarioError};

/// How long the end of a demo waits for its workers to give back what they hold.
const STOP_WITHIN: Duration = Duration::from_secs(5);

/// What a demo is to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DemoOptions {
    /// What everything is drawn from: the same seed makes the same jobs and the same failures.
    pub seed: u64,
    /// The beginning, by the ledger's clock.
    pub start: Timestamp,
    /// Whether other runs may have left their jobs in the ledger.
    pub ledger: LedgerUse,
}

/// Whose ledger a demo runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LedgerUse {
    /// Its own: keys are the same in every run.
    Private,
    /// One that may hold jobs of earlier runs: keys end in a tag of the run's beginning.
    Shared,
}

/// Why a demo cannot begin.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// The script cannot be played.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// The ledger could not be prepared.
    #[error("the demo could not prepare its ledger")]
    Ledger(#[from] StoreError),
}

/// A demo that goes on in the background until it is stopped or dropped.
#[derive(Debug)]
pub struct Demo {
    run: Arc<Run>,
    began: Instant,
    stop: CancellationToken,
    tasks: JoinSet<()>,
}

impl Demo {
    /// Applies the script's policies to the ledger and starts producers, workers and housekeeping.
    ///
    /// # Errors
    /// Where the script cannot be played, or the ledger does not take the policies.
    pub async fn start(store: Arc<dyn Store>, options: DemoOptions) -> Result<Self, DemoError> {
        Self::play(store, Scenario::built_in()?, options).await
    }

    /// As [`Demo::start`], by another script.
    ///
    /// # Errors
    /// Where the script cannot be played, or the ledger does not take the policies.
    pub async fn play(
        store: Arc<dyn Store>,
        scenario: Scenario,
        options: DemoOptions,
    ) -> Result<Self, DemoError> {
        let tag = match options.ledger {
            LedgerUse::Private => String::new(),
            LedgerUse::Shared => format!("{:x}", options.start.second()),
        };
        let run = Arc::new(Run {
            scenario,
            seed: options.seed,
            start: options.start,
            tag,
        });
        apply_policies(store.as_ref(), &run.scenario).await?;
        let mut demo = Self {
            run,
            began: Instant::now(),
            stop: CancellationToken::new(),
            tasks: JoinSet::new(),
        };
        demo.start_housekeeping(&store);
        demo.start_workers(&store)?;
        demo.start_producers(&store);
        Ok(demo)
    }

    /// How long it has been going on.
    pub fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// What began or ended in the script after `from` and up to `to`, as people would say it.
    pub fn news(&self, from: Duration, to: Duration) -> Vec<&str> {
        self.run.scenario.news(from, to)
    }

    /// The dead letters that its script leaves behind on purpose.
    pub fn lessons(&self) -> &[Lesson] {
        &self.run.scenario.lessons
    }

    /// Ends it in good order: producers stop, workers finish or give back what they hold.
    pub async fn stop(mut self) {
        self.stop.cancel();
        let all = async { while self.tasks.join_next().await.is_some() {} };
        if timeout(STOP_WITHIN, all).await.is_err() {
            tracing::warn!("the demo's workers did not end in time; their leases will");
        }
    }

    fn start_housekeeping(&mut self, store: &Arc<dyn Store>) {
        let (store, stop) = (Arc::clone(store), self.stop.clone());
        let options = HousekeepOptions::new("demo-housekeeper", self.run.seed);
        self.tasks.spawn(async move {
            housekeep(store, options, stop).await;
        });
    }

    fn start_workers(&mut self, store: &Arc<dyn Store>) -> Result<(), ScenarioError> {
        let employment = Employment {
            handlers: handlers::handlers(&self.run, self.began)?,
            run: Arc::clone(&self.run),
            store: Arc::clone(store),
            began: self.began,
            stop: self.stop.clone(),
        };
        for (number, spec) in self.run.scenario.workers.iter().enumerate() {
            let (employment, spec) = (employment.clone(), spec.clone());
            let seed = self.run.seed.wrapping_add(num::count(number));
            self.tasks.spawn(async move {
                if let Err(error) = crew::employ(employment, spec, seed).await {
                    tracing::error!(%error, "a worker of the demo's script cannot be");
                }
            });
        }
        Ok(())
    }

    fn start_producers(&mut self, store: &Arc<dyn Store>) {
        for spec in self.run.scenario.queues.clone() {
            let stream = Stream::new(Arc::clone(&self.run), spec);
            let (store, stop) = (Arc::clone(store), self.stop.clone());
            let began = self.began;
            self.tasks
                .spawn(producer::produce(store, stream, began, stop));
        }
    }
}

async fn apply_policies(store: &dyn Store, scenario: &Scenario) -> Result<(), StoreError> {
    let by = Actor {
        kind: ActorKind::Operator,
        name: "demo".to_owned(),
    };
    for policy in &scenario.policies {
        store.apply_policy(policy, &by).await?;
    }
    Ok(())
}

/// The limits that the demo's board is judged by: tight, so that the incident shows while it lasts.
pub fn limits() -> Limits {
    let all = QueueLimits {
        oldest_ready: Bound {
            warning: Duration::from_secs(20),
            critical: Duration::from_secs(60),
        },
        drain_never: Duration::from_secs(45),
        dead_letters_per_h: Bound {
            warning: 120,
            critical: 1_200,
        },
        ..QueueLimits::default()
    };
    let thumbnails = QueueLimits {
        oldest_ready: Bound {
            warning: Duration::from_secs(10),
            critical: Duration::from_secs(30),
        },
        ..all
    };
    let billing = QueueLimits {
        dead_letters_per_h: Bound {
            warning: 20,
            critical: 120,
        },
        ..all
    };
    Limits {
        default: all,
        queues: BTreeMap::from([
            ("thumbnails".to_owned(), thumbnails),
            ("billing".to_owned(), billing),
        ]),
    }
}

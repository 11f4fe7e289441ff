//! Workers: they claim jobs under leases, run handlers, settle what came of it, and keep house.
//!
//! A [`Worker`] holds up to `concurrency` jobs. It settles what has ended and claims the next in
//! one exchange with the ledger, renews the leases of everything it holds, and stops in good order.
//! Every rule (what follows a failure, which fence counts, when a budget is spent) is the ledger's;
//! nothing here decides one. The module knows neither sqlx nor a terminal. Read on in [`handler`],
//! then in `engine`, the loop; [`housekeep`] is the other half of the work, safe in any number of
//! processes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::store::{BATCH_MAX, Store};

mod appetite;
mod attempt;
mod calls;
mod engine;
mod flight;
pub mod handler;
pub mod housekeep;
pub mod lanes;
mod pause;
mod recall;
mod settle;

pub use handler::{Context, Done, Handler, HandlerError, Handlers};

/// The shortest lease: three renewals, each a round trip, must fit in with room to spare.
pub const LEASE_MIN: Duration = Duration::from_millis(100);

/// How a worker works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerOptions {
    /// Its name, as leases and events show it; unlike that of any other worker there is or was: a
    /// claim whose answer was lost is taken up by its name.
    pub name: String,
    /// The queues it serves; all where empty.
    pub queues: Vec<String>,
    /// The most jobs it holds at a time, at most [`BATCH_MAX`].
    pub concurrency: usize,
    /// The most jobs of a queue that it holds at a time, at least one; where nothing is said, as
    /// many as it may hold at all.
    pub limits: BTreeMap<String, usize>,
    /// The most jobs that one exchange settles, and the most that it claims.
    pub batch: usize,
    /// How long a lease lasts; it is renewed after a third of that.
    pub lease: Duration,
    /// How long a handler may take.
    pub timeout: Duration,
    /// The longest time between two looks for work when there is none.
    pub poll: Duration,
    /// How long running handlers may go on after a shutdown was asked for.
    pub grace: Duration,
    /// Where jitter comes from: the same seed draws the same waits.
    pub seed: u64,
}

impl WorkerOptions {
    /// A worker of that name for every queue: ten jobs at a time, leases of 30 s, handlers of up to
    /// 5 min.
    pub fn new(name: &str, seed: u64) -> Self {
        Self {
            name: name.to_owned(),
            queues: Vec::new(),
            concurrency: 10,
            limits: BTreeMap::new(),
            batch: 100,
            lease: Duration::from_secs(30),
            timeout: Duration::from_mins(5),
            poll: Duration::from_secs(1),
            grace: Duration::from_secs(20),
            seed,
        }
    }

    /// Checks the bounds.
    ///
    /// # Errors
    /// The first option that is out of its range.
    pub fn check(&self) -> Result<(), BadOption> {
        if self.name.is_empty() {
            return Err(BadOption::NoName);
        }
        let limits = self.limits.values().map(|limit| ("limits", *limit));
        let numbers = [("concurrency", self.concurrency), ("batch", self.batch)];
        for (option, value) in numbers.into_iter().chain(limits) {
            if value == 0 || value > BATCH_MAX {
                return Err(BadOption::OutOfRange { option, value });
            }
        }
        for (option, value) in [
            ("lease", self.lease),
            ("timeout", self.timeout),
            ("poll", self.poll),
        ] {
            let least = if option == "lease" {
                LEASE_MIN
            } else {
                Duration::from_millis(1)
            };
            if value < least {
                return Err(BadOption::TooShort {
                    option,
                    value,
                    least,
                });
            }
        }
        Ok(())
    }
}

/// An option that a worker cannot work with.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadOption {
    /// Leases would name nobody.
    #[error("a worker needs a name")]
    NoName,
    /// A number is zero or too large.
    #[error("'{option}' is {value}; it must be 1 to {BATCH_MAX}")]
    OutOfRange {
        /// Which option.
        option: &'static str,
        /// What it is.
        value: usize,
    },
    /// A time is too short.
    #[error("'{option}' is {value:?}; it must be at least {least:?}")]
    TooShort {
        /// Which option.
        option: &'static str,
        /// What it is.
        value: Duration,
        /// The bound.
        least: Duration,
    },
}

/// How a worker is asked to end. A first signal cancels `gently`: nothing more is claimed, running
/// handlers get the grace, what ended is settled and the rest is given back. A second one cancels
/// `at_once`: everything is dropped where it stands, and the leases bring the jobs back.
#[derive(Debug, Clone, Default)]
pub struct Shutdown {
    /// Finish in good order.
    pub gently: CancellationToken,
    /// End now.
    pub at_once: CancellationToken,
}

/// What a worker did, for its log and its tests. Boards count events of the ledger instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Jobs claimed.
    pub claimed: u64,
    /// Attempts settled as succeeded.
    pub succeeded: u64,
    /// Attempts settled as failed with another to follow.
    pub retried: u64,
    /// Attempts settled as failed with the budget spent.
    pub exhausted: u64,
    /// Attempts settled as failed permanently.
    pub rejected: u64,
    /// Attempts given back.
    pub released: u64,
    /// Attempts left unsettled for an operator, as their policy says.
    pub held: u64,
    /// Settlements that the ledger refused because the fence had moved on.
    pub stale: u64,
    /// Settlements that the ledger refused for another reason.
    pub refused: u64,
    /// Attempts stopped because a renewal was refused.
    pub lost: u64,
    /// Results given up: the ledger could not be asked until long after the lease.
    pub given_up: u64,
    /// Leases renewed.
    pub renewed: u64,
}

/// A worker, ready to run.
pub struct Worker {
    store: Arc<dyn Store>,
    handlers: Handlers,
    options: WorkerOptions,
}

impl Worker {
    /// A worker over `store`.
    ///
    /// # Errors
    /// Where an option is out of its range.
    pub fn new(
        store: Arc<dyn Store>,
        handlers: Handlers,
        options: WorkerOptions,
    ) -> Result<Self, BadOption> {
        options.check()?;
        Ok(Self {
            store,
            handlers,
            options,
        })
    }

    /// Works until asked to end. Dropping the future is the same as `shutdown.at_once`.
    pub async fn run(self, shutdown: Shutdown) -> Tally {
        engine::Engine::new(self.store, self.handlers, self.options)
            .run(&shutdown)
            .await
    }
}

impl std::fmt::Debug for Worker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Worker")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_out_of_range_are_named() {
        let good = WorkerOptions::new("w1", 1);
        assert_eq!(good.check(), Ok(()));
        let none = WorkerOptions {
            concurrency: 0,
            ..good.clone()
        };
        let answer = none.check().unwrap_err().to_string();
        assert_eq!(answer, "'concurrency' is 0; it must be 1 to 1000");
        let short = WorkerOptions {
            lease: Duration::from_millis(5),
            ..good
        };
        assert!(matches!(
            short.check(),
            Err(BadOption::TooShort {
                option: "lease",
                ..
            })
        ));
    }
}

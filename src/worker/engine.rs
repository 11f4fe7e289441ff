//! The loop of a worker: begin every call that can begin, wait for whatever happens first, take it
//! in.
//!
//! One task owns all state, so nothing is locked. Handlers run in tasks of their own; calls to the
//! ledger are at most one of each kind and are never dropped before their answer. What is settled
//! and how answers are taken is in [`super::settle`].

use std::sync::Arc;
use std::time::Duration;

use rand::SeedableRng as _;
use rand_chacha::ChaCha8Rng;
use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::appetite::{Appetite, Woken};
use super::attempt::{self, Ended};
use super::calls::{Calls, ExchangeAnswer, RenewalAnswer, answer};
use super::flight::{Admission, Flight, Phase, Sent, Stop};
use super::pause::Pause;
use super::{Context, Handlers, Shutdown, Tally, WorkerOptions};
use crate::ledger::job::{Claimed, Lane, LeaseRef, Verdict};
use crate::store::{Store, StoreError};

/// How long handlers that were told to stop at the end of the grace may take to do so.
const STOP_PATIENCE: Duration = Duration::from_secs(1);
/// The most lanes that one look takes in.
const LANES_MAX: u32 = 500;
/// Turns of the scheduler that bring no other end before what has ended is settled: some ten
/// microseconds, where an exchange takes hundreds. With one turn, ten handlers that do nothing were
/// settled by fives.
const GATHER_TURNS: u32 = 8;
/// Without anything else to wait for, the loop turns this often.
const TURN: Duration = Duration::from_secs(1);

type Joined = Result<(Id, (LeaseRef, Ended)), JoinError>;

/// A worker at work.
pub(super) struct Engine {
    pub(super) store: Arc<dyn Store>,
    pub(super) handlers: Handlers,
    pub(super) options: WorkerOptions,
    pub(super) random: ChaCha8Rng,
    pub(super) flight: Flight,
    pub(super) appetite: Appetite,
    pub(super) calls: Calls,
    pub(super) settle_pause: Pause,
    pub(super) look_pause: Pause,
    /// How many of the next exchanges carry one settlement each, to find the one that is refused.
    pub(super) alone: usize,
    /// When the first claim was sent whose answer was lost and that was not looked into yet.
    pub(super) unsure: Option<Instant>,
    pub(super) stopping: Option<Stopping>,
    pub(super) tally: Tally,
    tasks: JoinSet<(LeaseRef, Ended)>,
}

/// The steps of a shutdown.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stopping {
    /// When handlers that still run are told to stop.
    stop_at: Instant,
    /// When those that did not are left to their leases.
    abandon_at: Instant,
    /// Whether they were told.
    told: bool,
}

/// What happened.
enum Wake {
    AtOnce,
    Gently,
    Exchanged(ExchangeAnswer),
    Recalled(Result<Vec<Claimed>, StoreError>),
    Renewed(RenewalAnswer),
    Looked(Result<Vec<Lane>, StoreError>),
    Woken(Woken),
    Ended(Joined),
    Time,
}

impl Engine {
    pub(super) fn new(store: Arc<dyn Store>, handlers: Handlers, options: WorkerOptions) -> Self {
        Self {
            random: ChaCha8Rng::seed_from_u64(options.seed),
            flight: Flight::new(options.lease),
            appetite: Appetite::new(options.poll, Instant::now()),
            calls: Calls::default(),
            settle_pause: Pause::default(),
            look_pause: Pause::default(),
            alone: 0,
            unsure: None,
            stopping: None,
            tally: Tally::default(),
            tasks: JoinSet::new(),
            store,
            handlers,
            options,
        }
    }

    pub(super) async fn run(mut self, shutdown: &Shutdown) -> Tally {
        tracing::info!(worker = %self.options.name, "worker started");
        loop {
            self.begin_calls(Instant::now());
            if self.is_finished() {
                break;
            }
            match self.next(shutdown).await {
                Wake::AtOnce => break,
                Wake::Gently => self.begin_stopping(Instant::now()),
                Wake::Exchanged(answer) => {
                    self.exchanged(answer);
                    self.gather_rest().await;
                }
                Wake::Recalled(result) => self.recalled(result),
                Wake::Renewed(answer) => self.renewed(answer),
                Wake::Looked(result) => self.looked(result),
                Wake::Woken(by) => self.appetite.woken(by, Instant::now()),
                Wake::Ended(joined) => {
                    self.ended(joined);
                    self.gather_rest().await;
                }
                Wake::Time => {}
            }
        }
        self.tasks.abort_all();
        tracing::info!(worker = %self.options.name, tally = ?self.tally, "worker ended");
        self.tally
    }

    /// Begins every call that can begin now, and does what is due.
    fn begin_calls(&mut self, now: Instant) {
        self.proceed_stopping(now);
        self.begin_renewal(now);
        self.begin_recall(now);
        self.begin_exchange(now);
        self.begin_look(now);
    }

    /// Waits for whatever happens first.
    async fn next(&mut self, shutdown: &Shutdown) -> Wake {
        let wake_at = self.wake_at(Instant::now());
        let stopping = self.stopping.is_some();
        let running = !self.tasks.is_empty();
        tokio::select! {
            biased;
            () = shutdown.at_once.cancelled() => Wake::AtOnce,
            () = shutdown.gently.cancelled(), if !stopping => Wake::Gently,
            exchanged = answer(&mut self.calls.exchange) => Wake::Exchanged(exchanged),
            recalled = answer(&mut self.calls.recall) => Wake::Recalled(recalled),
            renewed = answer(&mut self.calls.renewal) => Wake::Renewed(renewed),
            looked = answer(&mut self.calls.look) => Wake::Looked(looked),
            Some(joined) = self.tasks.join_next_with_id(), if running => Wake::Ended(joined),
            by = answer(&mut self.calls.hint) => Wake::Woken(by),
            () = sleep_until(wake_at) => Wake::Time,
        }
    }

    /// The next moment at which something is due without anything happening.
    fn wake_at(&self, now: Instant) -> Instant {
        let stopping = self.stopping.map(|stopping| {
            if stopping.told {
                stopping.abandon_at
            } else {
                stopping.stop_at
            }
        });
        let look = self
            .appetite
            .look_at()
            .filter(|_| self.calls.look.is_none() && self.stopping.is_none());
        [
            stopping.filter(|at| *at > now),
            self.flight.watch_at(),
            self.settle_pause.after(now),
            // A look that is due waits for a free place, and a free place is an answer to
            // something.
            look.filter(|at| *at > now),
        ]
        .into_iter()
        .flatten()
        .fold(now + TURN, Instant::min)
    }

    /// Takes in every attempt that has ended by now: they are settled together. Handlers that only
    /// need to be polled once get that chance first, also on another thread; nothing waits longer
    /// for it.
    async fn gather_rest(&mut self) {
        let mut fruitless = 0;
        loop {
            while let Some(joined) = self.tasks.try_join_next_with_id() {
                self.ended(joined);
                fruitless = 0;
            }
            let is_free = self.calls.exchange.is_none();
            if !is_free || self.tasks.is_empty() || fruitless == GATHER_TURNS {
                return;
            }
            tokio::task::yield_now().await;
            fruitless += 1;
        }
    }

    fn ended(&mut self, joined: Joined) {
        let (lease, ended) = match joined {
            Ok((_, ended)) => ended,
            // The handler's future panicked while it was dropped.
            Err(error) => {
                let Some(lease) = self.flight.of_task(error.id()) else {
                    return;
                };
                let message = error.try_into_panic().map_or_else(
                    |_| "the handler's task was cancelled".to_owned(),
                    |panic| attempt::panic_text(panic.as_ref()),
                );
                (lease, Ended::Panicked(message))
            }
        };
        let Some(entry) = self.flight.get(lease) else {
            return;
        };
        let verdict = match (&entry.phase, &ended) {
            (Phase::Stopping(Stop::Lost), _) => {
                self.tally.lost += 1;
                self.flight.forget(lease);
                return;
            }
            (Phase::Stopping(Stop::Release), Ended::Cancelled) => Some(Verdict::Release),
            (
                Phase::Running
                | Phase::Stopping(Stop::LeaseOver | Stop::Release)
                | Phase::Finished { .. }
                | Phase::Settling,
                _,
            ) => attempt::judge(&entry.job, ended, &mut self.random),
        };
        if let Some(verdict) = verdict {
            self.flight.finish(lease, verdict);
        } else {
            // Its policy holds unknown failures: the lease runs out and an operator judges.
            tracing::warn!(job = %lease.job, "attempt held for an operator");
            self.tally.held += 1;
            self.flight.leave(lease, Instant::now());
        }
    }

    /// Starts the handler of a job claimed by a call that was sent at `sent`.
    pub(super) fn start(&mut self, job: Claimed, sent: Instant) {
        self.tally.claimed += 1;
        let job = Arc::new(job);
        let cancel = CancellationToken::new();
        let over = sent + self.options.lease <= Instant::now();
        if over || self.stopping.is_some() {
            // Too late to begin: given back, where it is still ours to give.
            let phase = Phase::Finished {
                verdict: Verdict::Release,
                sent: Sent::Never,
            };
            self.flight.admit(Admission {
                job,
                phase,
                sent,
                cancel,
                task: None,
            });
            return;
        }
        let context = Context {
            cancelled: cancel.clone(),
            claimed_at: job.claimed_at,
            began: Instant::now(),
        };
        let lease = LeaseRef {
            job: job.id,
            fence: job.fence,
        };
        let handler = self.handlers.of(&job.kind).cloned();
        let attempt = attempt::run(handler, Arc::clone(&job), context, self.options.timeout);
        let task = self.tasks.spawn(async move { (lease, attempt.await) });
        self.flight.admit(Admission {
            job,
            phase: Phase::Running,
            sent,
            cancel,
            task: Some(task.id()),
        });
    }

    fn begin_look(&mut self, now: Instant) {
        if self.stopping.is_some() || self.calls.look.is_some() {
            return;
        }
        let Some(at) = self.appetite.look_at() else {
            self.begin_hint();
            return;
        };
        // An exchange under way is about to make room.
        let full = self.flight.len() >= self.options.concurrency && self.calls.exchange.is_none();
        if at > now || full || self.look_pause.after(now).is_some() {
            return;
        }
        let (store, queues) = (Arc::clone(&self.store), self.options.queues.clone());
        self.calls.look = Some(Box::pin(
            async move { store.lanes(&queues, LANES_MAX).await },
        ));
    }

    fn begin_hint(&mut self) {
        if self.calls.hint.is_some() {
            return;
        }
        let store = Arc::clone(&self.store);
        let wait = self.appetite.wait(&mut self.random);
        let began = Instant::now();
        let earliest = began + self.appetite.gap();
        self.calls.hint = Some(Box::pin(async move {
            store.wait_for_hint(wait).await;
            let by = if began.elapsed() < wait {
                Woken::Hint
            } else {
                Woken::Time
            };
            sleep_until(earliest).await;
            by
        }));
    }

    fn looked(&mut self, result: Result<Vec<Lane>, StoreError>) {
        let now = Instant::now();
        match result {
            Ok(lanes) => {
                self.look_pause.end();
                self.appetite.looked(&lanes, now);
            }
            Err(error) => {
                let again = self.look_pause.lengthen(now, &mut self.random);
                tracing::warn!(%error, "could not look for work; trying again");
                self.appetite.look_failed(again);
            }
        }
    }

    fn begin_stopping(&mut self, now: Instant) {
        tracing::info!(worker = %self.options.name, held = self.flight.len(), "worker stopping");
        let stop_at = now + self.options.grace;
        self.stopping = Some(Stopping {
            stop_at,
            abandon_at: stop_at + STOP_PATIENCE,
            told: false,
        });
    }

    fn proceed_stopping(&mut self, now: Instant) {
        let Some(stopping) = &mut self.stopping else {
            return;
        };
        if !stopping.told && stopping.stop_at <= now {
            stopping.told = true;
            self.flight.stop_all();
        }
        if stopping.abandon_at <= now {
            for lease in self.flight.abandon_stopping(now) {
                tracing::warn!(job = %lease.job, "handler did not stop; left to its lease");
            }
        }
    }

    fn is_finished(&self) -> bool {
        let asking = self.calls.exchange.is_some() || self.calls.recall.is_some();
        self.stopping.is_some() && self.flight.len() == 0 && !asking
    }
}

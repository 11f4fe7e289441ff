//! The board as a fold over the feed equals a recount, whatever was done (DESIGN 2.3).
//!
//! Runs are drawn from a seed; a failure names it. Next: `store.rs`.

use std::time::Duration;

use ledgertop::board::Board;
use ledgertop::ledger::error_class::ErrorClass;
use ledgertop::ledger::feed::Cell;
use ledgertop::ledger::job::{Claimed, Failed, Operation, ParentLink, Verdict};
use ledgertop::store::{Act, Feed};
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use uuid::Uuid;

use crate::laws;
use crate::ledger::{Ledger, good, job, ledger, settled, wish};

/// How many runs, and steps of a run.
const RUNS: u64 = 6;
const STEPS: u32 = 60;

/// A run under way.
struct Run {
    ledger: Ledger,
    random: ChaCha8Rng,
    jobs: Vec<Uuid>,
    held: Vec<Claimed>,
}

impl Run {
    async fn step(&mut self) {
        match self.random.random_range(0..7) {
            0 | 1 => self.enqueue().await,
            2 => self.claim().await,
            3 | 4 => self.settle().await,
            5 => self.operate().await,
            _ => {
                good(self.ledger.store.sweep("s", 5).await);
            }
        }
    }

    async fn enqueue(&mut self) {
        let count = self.random.random_range(1..6);
        let mut batch = Vec::new();
        for _ in 0..count {
            let mut job = job(&format!("key {}", self.random.random_range(0..200)));
            job.tenant = format!("{}", self.random.random_range(0..2));
            job.queue = format!("queue {}", self.random.random_range(0..3));
            match self.random.random_range(0..6) {
                0 => job.awaits_children = true,
                1 => {
                    job.parent = Some(ParentLink {
                        key: format!("key {}", self.random.random_range(0..200)),
                        required: false,
                    });
                }
                _ => {}
            }
            batch.push(job);
        }
        for enqueued in self.ledger.enqueue(&batch).await {
            if let ledgertop::ledger::job::Enqueued::Created(id) = enqueued {
                self.jobs.push(id);
            }
        }
    }

    async fn claim(&mut self) {
        let lanes = good(self.ledger.store.lanes(&[], 10).await);
        let mut wish = wish("w", 2);
        wish.lease = Duration::from_millis(self.random.random_range(0..50) * 100);
        wish.shares = lanes
            .into_iter()
            .map(|lane| ledgertop::store::LaneShare { lane, limit: 2 })
            .collect();
        let claimed = good(self.ledger.store.exchange("w", &[], Some(&wish)).await).claimed;
        self.held.extend(claimed);
    }

    async fn settle(&mut self) {
        let count = self.held.len().min(self.random.random_range(1..4));
        let mut settlements = Vec::new();
        for _ in 0..count {
            let place = self.random.random_range(0..self.held.len());
            // Kept now and then, so that a settle is repeated.
            let claimed = match self.random.random_range(0..5) {
                0 => self.held[place].clone(),
                _ => self.held.swap_remove(place),
            };
            let failure = Failed {
                class: ErrorClass::Transient,
                reason: ["timeout", "rate_limited"][self.random.random_range(0..2)].to_owned(),
                error: "no answer".to_owned(),
            };
            let delay = Duration::from_millis(self.random.random_range(0..3) * 1_000);
            let verdict = match self.random.random_range(0..5) {
                0 => Verdict::Release,
                1 => Verdict::Reject { failure },
                2 | 3 => Verdict::Retry { failure, delay },
                _ => Verdict::Succeed { output_ref: None },
            };
            settlements.push(settled(&claimed, verdict));
        }
        self.ledger.settle(&settlements).await;
        let leases: Vec<_> = settlements.iter().map(|each| each.lease).collect();
        good(
            self.ledger
                .store
                .renew("w", &leases, Duration::from_secs(1))
                .await,
        );
    }

    async fn operate(&mut self) {
        if self.jobs.is_empty() {
            return;
        }
        let job = self.jobs[self.random.random_range(0..self.jobs.len())];
        let operations = [
            Operation::Quarantine,
            Operation::Revoke,
            Operation::Redrive,
            Operation::Promote,
            Operation::Discard,
        ];
        let act = Act {
            operation: operations[self.random.random_range(0..operations.len())],
            job,
            version: self.ledger.job(job).await.version,
            actor: "ann".to_owned(),
            note: "a drill".to_owned(),
        };
        good(self.ledger.store.operate(&act).await);
    }
}

/// Reads what there is into the board.
async fn catch_up(feed: &mut dyn Feed, board: &mut Board) {
    loop {
        let batch = good(feed.next().await);
        batch.events.iter().for_each(|event| board.apply(event));
        if !batch.more {
            return;
        }
    }
}

/// Every live job, counted anew.
async fn recount(ledger: &Ledger) -> Vec<Cell> {
    let base = good(ledger.url.feed().base().await);
    Board::load(&base).cells()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_board_fed_by_events_equals_a_recount() {
    for seed in 0..RUNS {
        let mut run = Run {
            ledger: ledger().await,
            random: ChaCha8Rng::seed_from_u64(seed),
            jobs: Vec::new(),
            held: Vec::new(),
        };
        let mut feed = run.ledger.url.feed();
        let mut board = Board::load(&good(feed.base().await));
        for step in 0..STEPS {
            run.step().await;
            if step % 4 == 0 {
                catch_up(feed.as_mut(), &mut board).await;
                assert_eq!(board.cells(), recount(&run.ledger).await, "seed {seed}");
                assert_eq!(board.mismatches(), 0, "seed {seed}, step {step}");
            }
        }
        laws::hold(run.ledger.path()).await;
    }
}

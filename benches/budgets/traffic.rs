//! Traffic over a ledger by the calls that real producers and workers make. Next:
//! [`crate::refresh`], which reads what it changed.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, ensure};
use ledgertop::ledger::error_class::ErrorClass;
use ledgertop::ledger::event::ActorKind;
use ledgertop::ledger::job::{
    Actor, Claimed, Enqueued, Failed, Lane, LeaseRef, NewJob, Outcome, Settlement, Verdict,
};
use ledgertop::ledger::num;
use ledgertop::store::url::LedgerUrl;
use ledgertop::store::{BATCH_MAX, ClaimRequest, LaneShare, Store};
use uuid::Uuid;

/// How much one round of traffic changes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Round {
    enqueued: u32,
    /// Claimed in a round from [`LANES`] queues, and settled in the next.
    claimed: u32,
}

/// 500 jobs change, in each of 50 queues.
pub(crate) const BUSY: Round = Round {
    enqueued: 150,
    claimed: 175,
};
/// 50 jobs change: at one round a second, the pace at which the ledger was seeded.
pub(crate) const ORDINARY: Round = Round {
    enqueued: 20,
    claimed: 15,
};

impl Round {
    /// How many changes that is: each is one event.
    pub(crate) const fn changes(self) -> u32 {
        self.enqueued + 2 * self.claimed
    }
}

/// Queues that one claim takes from.
const LANES: u32 = 5;
/// Queues of a seeded ledger.
const QUEUES: u32 = 50;
/// How many jobs more are worked off of each queue than of the one before it.
const APART: u32 = 6;

/// How long the leases of benchmarks last: longer than any of them.
pub(crate) const LEASE: Duration = Duration::from_mins(30);

/// A producer and a worker.
pub(crate) struct Traffic {
    store: Arc<dyn Store>,
    size: Round,
    held: Vec<Claimed>,
    round: u32,
}

impl Traffic {
    /// Opens the ledger, and claims the jobs that the first round settles.
    pub(crate) async fn open(url: &LedgerUrl, size: Round) -> Result<Self> {
        let mut traffic = Self {
            store: url.store().await?,
            size,
            held: Vec::new(),
            round: 0,
        };
        traffic.exchange().await?;
        Ok(traffic)
    }

    /// Settles what the last round claimed, claims as many, and enqueues.
    pub(crate) async fn round(&mut self) -> Result<()> {
        self.round += 1;
        self.exchange().await?;
        let jobs: Vec<NewJob> = (0..self.size.enqueued)
            .map(|at| new_job(&queue(self.round + at)))
            .collect();
        enqueue(&*self.store, &jobs).await
    }

    async fn exchange(&mut self) -> Result<()> {
        let shares = (0..LANES).map(|lane| LaneShare {
            lane: Lane {
                queue: queue(self.round * LANES + lane),
                tenant: String::new(),
            },
            limit: self.size.claimed / LANES,
        });
        let request = ClaimRequest {
            worker: "bench".to_owned(),
            lease: LEASE,
            shares: shares.collect(),
        };
        let settlements: Vec<Settlement> = (0..)
            .zip(&self.held)
            .map(|(number, claimed)| settlement(claimed, verdict(number)))
            .collect();
        let done = self
            .store
            .exchange("bench", &settlements, Some(&request))
            .await?;
        all_applied(&done.outcomes)?;
        let wanted = num::index(self.size.claimed.into());
        ensure!(
            done.claimed.len() == wanted,
            "claimed {} jobs of {wanted}: the ledger has too few ready jobs",
            done.claimed.len()
        );
        self.held = done.claimed;
        Ok(())
    }
}

/// Works off the oldest ready jobs of each queue, more of them from queue to queue, so that no two
/// queues are equally late, as real queues never are.
pub(crate) async fn tell_queues_apart(store: &dyn Store) -> Result<()> {
    for number in 0..QUEUES {
        let lane = Lane {
            queue: queue(number),
            tenant: String::new(),
        };
        let request = ClaimRequest {
            worker: "bench".to_owned(),
            lease: LEASE,
            shares: vec![LaneShare {
                lane,
                limit: APART * number,
            }],
        };
        let done = store.exchange("bench", &[], Some(&request)).await?;
        let settlements: Vec<Settlement> = done
            .claimed
            .iter()
            .map(|claimed| settlement(claimed, Verdict::Succeed { output_ref: None }))
            .collect();
        let done = store.exchange("bench", &settlements, None).await?;
        all_applied(&done.outcomes)?;
    }
    Ok(())
}

/// Eight in ten succeed, the others fail in the ways that jobs fail.
fn verdict(number: u32) -> Verdict {
    let failed = |class, reason: &str| Failed {
        class,
        reason: reason.to_owned(),
        error: "the far side said no".to_owned(),
    };
    match number % 10 {
        0 => Verdict::Retry {
            failure: failed(ErrorClass::Transient, "rate_limited"),
            delay: Duration::from_mins(10),
        },
        1 => Verdict::Reject {
            failure: failed(ErrorClass::Permanent, "schema_violation"),
        },
        _most => Verdict::Succeed { output_ref: None },
    }
}

/// How the attempt ended.
pub(crate) fn settlement(claimed: &Claimed, verdict: Verdict) -> Settlement {
    Settlement {
        lease: LeaseRef {
            job: claimed.id,
            fence: claimed.fence,
        },
        verdict,
    }
}

/// That nothing was refused: a benchmark of refusals would be a fast one.
pub(crate) fn all_applied(outcomes: &[Outcome]) -> Result<()> {
    for outcome in outcomes {
        ensure!(
            matches!(outcome, Outcome::Applied { .. }),
            "a settlement was not applied: {outcome:?}"
        );
    }
    Ok(())
}

/// Enqueues jobs whose keys are new.
pub(crate) async fn enqueue(store: &dyn Store, jobs: &[NewJob]) -> Result<()> {
    let producer = Actor {
        kind: ActorKind::Producer,
        name: "bench".to_owned(),
    };
    for batch in jobs.chunks(BATCH_MAX) {
        for enqueued in store.enqueue(batch, &producer).await? {
            ensure!(
                matches!(enqueued, Enqueued::Created(_)),
                "a key was there already: {enqueued:?}"
            );
        }
    }
    Ok(())
}

/// A job of the kind that the seed has too: a reference for a payload, a key of its own.
pub(crate) fn new_job(queue: &str) -> NewJob {
    let id = Uuid::now_v7();
    let mut job = NewJob::new(id, queue, "collect_invoice", &format!("bench:{id}"));
    job.payload = serde_json::json!({ "invoice": id });
    job
}

fn queue(number: u32) -> String {
    format!("queue_{:02}", number % QUEUES)
}

//! Housekeeping: what is due becomes ready, leases that ran out are taken back, parents whose
//! children are done become ready. Safe in any number of processes at a time: each move is a
//! transition that the ledger makes once.

use std::sync::Arc;
use std::time::Duration;

use rand::SeedableRng as _;
use rand_chacha::ChaCha8Rng;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::pause::Pause;
use crate::ledger::backoff;
use crate::store::{BATCH_MAX, Store, Swept};

/// How housekeeping works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HousekeepOptions {
    /// The name in events.
    pub name: String,
    /// The longest time between two sweeps: a retry that is due starts at most this late.
    pub interval: Duration,
    /// The most jobs of each kind that one sweep moves, at most [`BATCH_MAX`].
    pub limit: u32,
    /// Where jitter comes from.
    pub seed: u64,
}

impl HousekeepOptions {
    /// A sweep every half second, at most [`BATCH_MAX`] of each kind.
    pub fn new(name: &str, seed: u64) -> Self {
        Self {
            name: name.to_owned(),
            interval: Duration::from_millis(500),
            limit: u32::try_from(BATCH_MAX).unwrap_or(u32::MAX),
            seed,
        }
    }
}

/// Sweeps until `stop`; returns what was done in all. After a sweep that reached its limit the next
/// follows at once; after an error, after a growing pause.
pub async fn housekeep(
    store: Arc<dyn Store>,
    options: HousekeepOptions,
    stop: CancellationToken,
) -> Swept {
    let mut random = ChaCha8Rng::seed_from_u64(options.seed);
    let mut pause = Pause::default();
    let mut total = Swept::default();
    while !stop.is_cancelled() {
        let wait = match store.sweep(&options.name, options.limit).await {
            Ok(swept) => {
                pause.end();
                add(&mut total, swept);
                if is_full(swept, options.limit) {
                    continue;
                }
                let half = options.interval / 2;
                half + backoff::full_jitter(half, half, 1, &mut random)
            }
            Err(error) => {
                tracing::warn!(%error, "sweep failed; trying again");
                let now = Instant::now();
                pause.lengthen(now, &mut random).duration_since(now)
            }
        };
        tokio::select! {
            () = stop.cancelled() => {}
            () = tokio::time::sleep(wait) => {}
        }
    }
    total
}

fn add(total: &mut Swept, swept: Swept) {
    total.due += swept.due;
    total.expired += swept.expired;
    total.parents += swept.parents;
}

fn is_full(swept: Swept, limit: u32) -> bool {
    let limit = u64::from(limit);
    swept.due >= limit || swept.expired >= limit || swept.parents >= limit
}

//! The calls to the ledger that a worker has under way: at most one of each kind, none ever dropped
//! before its answer (a settlement cut off at an await would have an unknown outcome).

use futures_util::future::BoxFuture;
use tokio::time::Instant;

use super::appetite::Woken;
use crate::ledger::job::{Claimed, Lane, LeaseRef, Outcome, Settlement};
use crate::store::{ClaimRequest, Exchanged, StoreError};

/// A call under way, if there is one.
pub(super) type Call<T> = Option<BoxFuture<'static, T>>;

/// All of them.
#[derive(Default)]
pub(super) struct Calls {
    /// Settles and claims.
    pub(super) exchange: Call<ExchangeAnswer>,
    /// Asks what the worker holds; never beside an exchange.
    pub(super) recall: Call<Result<Vec<Claimed>, StoreError>>,
    /// Renews leases.
    pub(super) renewal: Call<RenewalAnswer>,
    /// Looks for lanes.
    pub(super) look: Call<Result<Vec<Lane>, StoreError>>,
    /// Waits for a hint.
    pub(super) hint: Call<Woken>,
}

/// What an exchange was about, and its answer.
pub(super) struct ExchangeAnswer {
    /// When it was sent.
    pub(super) sent: Instant,
    /// What was to be settled.
    pub(super) settlements: Vec<Settlement>,
    /// What was asked for.
    pub(super) claim: Option<ClaimRequest>,
    /// The answer.
    pub(super) result: Result<Exchanged, StoreError>,
}

/// Which leases were to be renewed, and the answer.
pub(super) struct RenewalAnswer {
    /// When it was sent.
    pub(super) sent: Instant,
    /// Which.
    pub(super) leases: Vec<LeaseRef>,
    /// The answer.
    pub(super) result: Result<Vec<Outcome>, StoreError>,
}

/// Waits for the call's answer and clears it; for ever where there is none.
pub(super) async fn answer<T>(call: &mut Call<T>) -> T {
    match call {
        Some(future) => {
            let answer = future.await;
            *call = None;
            answer
        }
        None => std::future::pending().await,
    }
}

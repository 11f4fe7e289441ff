//! The exchange: settle what is done and claim what is next, in one transaction.
//!
//! Next: [`super::settle`], [`super::claim`].

use super::access::Call;
use super::claim;
use super::policy::Policies;
use super::settle;
use crate::ledger::job::Settlement;
use crate::store::{BATCH_MAX, ClaimRequest, Exchanged, StoreError};

/// Settles, then claims.
pub(crate) async fn exchange(
    call: &Call<'_>,
    policies: &Policies,
    worker: &str,
    settlements: &[Settlement],
    claim: Option<&ClaimRequest>,
) -> Result<Exchanged, StoreError> {
    check_sizes(call, settlements, claim)?;
    if settlements.is_empty() {
        // A worker that finds nothing must not take the writer's lock from one that has something.
        match claim {
            None => return Ok(Exchanged::default()),
            Some(request) if !claim::any_ready(call, request).await? => {
                return Ok(Exchanged::default());
            }
            Some(_request) => {}
        }
    }
    let mut transaction = call.begin().await?;
    let outcomes = settle::settle(call, &mut transaction, worker, settlements).await?;
    let claimed = match claim {
        Some(request) => claim::claim(call, &mut transaction, policies, request).await?,
        None => Vec::new(),
    };
    call.commit(transaction).await?;
    Ok(Exchanged { outcomes, claimed })
}

fn check_sizes(
    call: &Call<'_>,
    settlements: &[Settlement],
    claim: Option<&ClaimRequest>,
) -> Result<(), StoreError> {
    let settled = settlements.len();
    let wanted = claim.map_or(0, |request| {
        let limits = request.shares.iter().map(|share| u64::from(share.limit));
        limits.fold(0, u64::saturating_add)
    });
    let most = crate::ledger::num::count(BATCH_MAX);
    if settled > BATCH_MAX || wanted > most {
        return Err(call.refused(&format!(
            "{settled} settlements and {wanted} claims at once, at most {BATCH_MAX} of each"
        )));
    }
    Ok(())
}

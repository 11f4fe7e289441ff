//! Settling and claiming in one exchange, and renewing leases.
//!
//! The other half of [`super::engine`]: how each call to the ledger begins and how its answer is
//! taken. A settlement whose answer was lost is sent again: the ledger answers it as it was then.

use std::sync::Arc;

use tokio::time::Instant;

use super::calls::{ExchangeAnswer, RenewalAnswer};
use super::engine::Engine;
use super::flight::Sent;
use super::lanes::Rooms;
use crate::ledger::job::{Lane, LeaseRef, Outcome, Settlement, Verdict};
use crate::ledger::state::State;
use crate::store::{BATCH_MAX, ClaimRequest, Exchanged, StoreError};

/// What an error says about the change that was asked for.
enum Fate {
    /// It was not made; asking again may help.
    NotMade,
    /// It may have been made.
    Unknown,
    /// It was refused, and will be again.
    Refused,
    /// Something is wrong with it or with the ledger; asking again may help.
    Troubled,
}

const fn fate(error: &StoreError) -> Fate {
    match error {
        StoreError::Unreachable { .. } => Fate::NotMade,
        StoreError::Timeout { .. } | StoreError::OutcomeUnknown { .. } => Fate::Unknown,
        StoreError::Refused { .. } => Fate::Refused,
        StoreError::BadUrl { .. }
        | StoreError::NotALedger { .. }
        | StoreError::NewerSchema { .. }
        | StoreError::OlderSchema { .. }
        | StoreError::ChangedSchema { .. }
        | StoreError::Corrupt { .. }
        | StoreError::Database { .. } => Fate::Troubled,
    }
}

impl Engine {
    /// Settles what has ended and claims the next, where there is anything of either.
    pub(super) fn begin_exchange(&mut self, now: Instant) {
        let asking = self.calls.exchange.is_some() || self.calls.recall.is_some();
        if asking || self.settle_pause.after(now).is_some() {
            return;
        }
        let most = if self.alone > 0 {
            1
        } else {
            self.options.batch
        };
        let settlements = self.flight.take_settlements(most);
        let claim = self.claim_beside(&settlements);
        if settlements.is_empty() && claim.is_none() {
            return;
        }
        let (store, worker) = (Arc::clone(&self.store), self.options.name.clone());
        self.calls.exchange = Some(Box::pin(async move {
            let sent = Instant::now();
            let result = store.exchange(&worker, &settlements, claim.as_ref()).await;
            ExchangeAnswer {
                sent,
                settlements,
                claim,
                result,
            }
        }));
    }

    /// What to claim in the exchange that settles `settlements`; their places are free by then.
    fn claim_beside(&mut self, settlements: &[Settlement]) -> Option<ClaimRequest> {
        if self.stopping.is_some() || self.alone > 0 || self.unsure.is_some() {
            return None;
        }
        let held = self.flight.len() - settlements.len();
        let free = self.options.concurrency.saturating_sub(held);
        let capacity = u32::try_from(free.min(self.options.batch)).unwrap_or(u32::MAX);
        let settled: Vec<Lane> = settlements
            .iter()
            .filter_map(|settlement| self.flight.get(settlement.lease))
            .map(|entry| Lane {
                queue: entry.job.queue.clone(),
                tenant: entry.job.tenant.clone(),
            })
            .collect();
        let rooms = Rooms::beside(&self.options.limits, self.flight.queues());
        let shares = self.appetite.ask(capacity, rooms, &settled);
        (!shares.is_empty()).then(|| ClaimRequest {
            worker: self.options.name.clone(),
            lease: self.options.lease,
            shares,
        })
    }

    /// Takes in the answer to an exchange.
    pub(super) fn exchanged(&mut self, answer: ExchangeAnswer) {
        match answer.result {
            Ok(exchanged) => {
                self.settle_pause.end();
                self.alone = self.alone.saturating_sub(answer.settlements.len());
                self.take_exchanged(exchanged, &answer.settlements, answer.claim, answer.sent);
            }
            Err(error) => {
                if answer.claim.is_some() && matches!(fate(&error), Fate::Unknown) {
                    // It may have brought jobs; they are asked for before anything is claimed.
                    self.unsure.get_or_insert(answer.sent);
                }
                self.exchange_failed(&error, answer.settlements, answer.claim.as_ref());
            }
        }
    }

    fn take_exchanged(
        &mut self,
        exchanged: Exchanged,
        settlements: &[Settlement],
        claim: Option<ClaimRequest>,
        sent: Instant,
    ) {
        for (settlement, outcome) in settlements.iter().zip(&exchanged.outcomes) {
            self.settled(settlement, *outcome);
        }
        if let Some(claim) = claim {
            self.appetite
                .claimed(&claim.shares, &exchanged.claimed, Instant::now());
        }
        for job in exchanged.claimed {
            self.start(job, sent);
        }
    }

    /// Counts what became of a settlement and lets go of the job.
    fn settled(&mut self, settlement: &Settlement, outcome: Outcome) {
        self.flight.forget(settlement.lease);
        let job = settlement.lease.job;
        match outcome {
            Outcome::Applied { state, .. } => self.count_applied(&settlement.verdict, state),
            Outcome::Stale { state, .. } => {
                tracing::warn!(%job, %state, "late settle refused: the job moved on");
                self.tally.stale += 1;
            }
            Outcome::Refused { state, .. } => {
                tracing::warn!(%job, %state, "settle refused: not allowed from this state");
                self.tally.refused += 1;
            }
            Outcome::NotFound => {
                tracing::warn!(%job, "settle refused: there is no such job");
                self.tally.refused += 1;
            }
        }
    }

    fn count_applied(&mut self, verdict: &Verdict, state: State) {
        let counter = match verdict {
            Verdict::Succeed { .. } => &mut self.tally.succeeded,
            Verdict::Retry { .. } if state == State::Dead => &mut self.tally.exhausted,
            Verdict::Retry { .. } => &mut self.tally.retried,
            Verdict::Reject { .. } => &mut self.tally.rejected,
            Verdict::Release => &mut self.tally.released,
        };
        *counter += 1;
    }

    fn exchange_failed(
        &mut self,
        error: &StoreError,
        settlements: Vec<Settlement>,
        claim: Option<&ClaimRequest>,
    ) {
        let count = settlements.len();
        let now = Instant::now();
        tracing::warn!(%error, settlements = count, claim = claim.is_some(), "exchange failed");
        match fate(error) {
            Fate::NotMade => self.send_again(settlements, Sent::NotMade, now),
            Fate::Unknown => self.send_again(settlements, Sent::PerhapsMade, now),
            Fate::Refused if count == 1 && claim.is_none() => {
                // This one alone is refused: its lease runs out and the ledger says why it failed.
                self.alone = self.alone.saturating_sub(1);
                for settlement in settlements {
                    tracing::error!(job = %settlement.lease.job, %error, "settlement given up");
                    self.flight.leave(settlement.lease, now);
                    self.tally.refused += 1;
                }
            }
            Fate::Refused | Fate::Troubled => {
                self.alone = self.alone.max(count);
                self.send_again(settlements, Sent::NotMade, now);
            }
        }
    }

    fn send_again(&mut self, settlements: Vec<Settlement>, sent: Sent, now: Instant) {
        for settlement in settlements {
            self.flight.send_again(settlement, sent);
        }
        self.settle_pause.lengthen(now, &mut self.random);
    }

    /// Looks over the leases and renews those that are due.
    pub(super) fn begin_renewal(&mut self, now: Instant) {
        let most = if self.calls.renewal.is_some() {
            0
        } else {
            BATCH_MAX
        };
        let watched = self.flight.watch(now, most);
        for lease in watched.given_up {
            tracing::error!(job = %lease.job, "result given up long after its lease");
            self.tally.given_up += 1;
        }
        if watched.renew.is_empty() {
            return;
        }
        let (store, worker) = (Arc::clone(&self.store), self.options.name.clone());
        let (leases, lease) = (watched.renew, self.options.lease);
        self.calls.renewal = Some(Box::pin(async move {
            let sent = Instant::now();
            let result = store.renew(&worker, &leases, lease).await;
            RenewalAnswer {
                sent,
                leases,
                result,
            }
        }));
    }

    /// Takes in the answer to a renewal.
    pub(super) fn renewed(&mut self, answer: RenewalAnswer) {
        let now = Instant::now();
        match answer.result {
            Ok(outcomes) => {
                for (lease, outcome) in answer.leases.iter().zip(outcomes) {
                    self.take_renewal(*lease, outcome, answer.sent);
                }
            }
            Err(error) => {
                tracing::warn!(%error, leases = answer.leases.len(), "renewal failed");
                let again = now + self.options.lease / 12;
                for lease in answer.leases {
                    self.flight.not_renewed(lease, again);
                }
            }
        }
    }

    fn take_renewal(&mut self, lease: LeaseRef, outcome: Outcome, sent: Instant) {
        match outcome {
            Outcome::Applied { .. } => {
                self.tally.renewed += 1;
                self.flight.renewed(lease, sent);
            }
            Outcome::Stale { state, .. } | Outcome::Refused { state, .. } => {
                tracing::warn!(job = %lease.job, %state, "lease lost: stopping the handler");
                self.flight.lost(lease);
            }
            Outcome::NotFound => {
                tracing::warn!(job = %lease.job, "lease lost: there is no such job");
                self.flight.lost(lease);
            }
        }
    }
}

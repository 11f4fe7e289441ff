//! All queues together, as if they were one: added up from the summaries of the queues, but for
//! what only the jobs themselves tell (percentiles).

use std::collections::BTreeMap;
use std::time::Duration;

use super::ages;
use super::history::ReadyHistory;
use super::leases::most_first;
use super::queue::{backlog, most_retried_first};
use super::seconds::Seconds;
use super::summary::{
    DeadLetterSummary, Depth, FlowSummary, LeaseSummary, QueueSummary, RetrySummary,
};
use super::window::Reach;
use crate::ledger::event::FailureKey;
use crate::ledger::text::SafeText;

/// Adds up `queues`; `ready` holds the ready jobs of all of them.
pub(crate) fn total<'a>(
    queues: impl IntoIterator<Item = &'a QueueSummary>,
    ready: &Seconds,
    reach: Reach,
) -> QueueSummary {
    let mut total = QueueSummary {
        oldest_ready_age: ages::oldest(ready, reach.now_s()),
        ready_age: ages::percentiles(ready, reach.now_s()),
        ready_spread: ages::spread(ready, reach.now_s()),
        ready_history: ReadyHistory::default().points(0, reach),
        ..QueueSummary::default()
    };
    let mut workers: BTreeMap<SafeText, u64> = BTreeMap::new();
    let mut retries: BTreeMap<FailureKey, RetrySummary> = BTreeMap::new();
    let mut reasons: BTreeMap<FailureKey, u64> = BTreeMap::new();
    for queue in queues {
        add_depth(&mut total.depth, queue.depth);
        add_leases(&mut total.leases, &queue.leases);
        add_dead_letters(&mut total.dead_letters, &queue.dead_letters);
        add_flow(&mut total.flow, queue.flow);
        add_history(&mut total.ready_history, &queue.ready_history);
        total.level = total.level.max(queue.level);
        total.in_per_s += queue.in_per_s;
        total.out_per_s += queue.out_per_s;
        for (worker, count) in &queue.leases.by_worker {
            *workers.entry(worker.clone()).or_default() += count;
        }
        for (failure, count) in &queue.dead_letters.by_reason {
            *reasons.entry(failure.clone()).or_default() += count;
        }
        for retry in &queue.retries {
            retries
                .entry(retry.failure.clone())
                .and_modify(|sum| add_retry(sum, retry))
                .or_insert_with(|| retry.clone());
        }
    }
    total.leases.by_worker = workers.into_iter().collect();
    most_first(&mut total.leases.by_worker);
    total.dead_letters.by_reason = reasons.into_iter().collect();
    most_first(&mut total.dead_letters.by_reason);
    total.retries = retries.into_values().collect();
    most_retried_first(&mut total.retries);
    total.drain = backlog(&total, reach).drain();
    total
}

fn add_depth(sum: &mut Depth, one: Depth) {
    sum.pending += one.pending;
    sum.ready += one.ready;
    sum.running += one.running;
    sum.retry_wait += one.retry_wait;
    sum.dead += one.dead;
    sum.quarantined += one.quarantined;
}

fn add_leases(sum: &mut LeaseSummary, one: &LeaseSummary) {
    sum.in_flight += one.in_flight;
    sum.near_expiry += one.near_expiry;
    sum.expired += one.expired;
    sum.oldest_age = sum.oldest_age.max(one.oldest_age);
}

fn add_dead_letters(sum: &mut DeadLetterSummary, one: &DeadLetterSummary) {
    sum.oldest_dead_age = sum.oldest_dead_age.max(one.oldest_dead_age);
    sum.oldest_quarantined_age = sum.oldest_quarantined_age.max(one.oldest_quarantined_age);
    sum.growth_per_h += one.growth_per_h;
    for (sum, one) in sum.spread.iter_mut().zip(one.spread) {
        *sum += one;
    }
}

fn add_flow(sum: &mut FlowSummary, one: FlowSummary) {
    sum.lease_expirations += one.lease_expirations;
    sum.duplicates += one.duplicates;
    sum.stale_refused += one.stale_refused;
    sum.exhausted += one.exhausted;
}

/// Every queue has the same points known.
fn add_history(sum: &mut [Option<u64>], one: &[Option<u64>]) {
    for (sum, one) in sum.iter_mut().zip(one) {
        *sum = sum.zip(*one).map(|(sum, one)| sum + one);
    }
}

fn add_retry(sum: &mut RetrySummary, one: &RetrySummary) {
    sum.count += one.count;
    sum.before = sum.before.zip(one.before).map(|(sum, one)| sum + one);
    sum.waiting += one.waiting;
    sum.next_due_in = earlier(sum.next_due_in, one.next_due_in);
}

/// The lesser of two waits, of which either may be missing.
fn earlier(a: Option<Duration>, b: Option<Duration>) -> Option<Duration> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (one, None) | (None, one) => one,
    }
}

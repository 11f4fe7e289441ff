//! Every number of a summary, counted from the rows and filtered from the events of a run, as
//! slowly and as plainly as can be.

use std::collections::BTreeMap;
use std::time::Duration;

use proptest::prelude::*;

use super::super::summary::*;
use super::super::testing::{Row, Run, many};
use crate::ledger::event::{Event, EventKind, FailureKey};
use crate::ledger::num;
use crate::ledger::state::State;
use crate::ledger::text::SafeText;
use crate::ledger::time::Timestamp;

/// A count by the naive way: all rows, all events, sorted and filtered.
pub(super) struct Naive<'a> {
    pub(super) run: &'a Run,
    pub(super) now_s: i64,
    pub(super) queue: Option<&'a SafeText>,
}

impl<'a> Naive<'a> {
    fn rows(&self, state: State) -> impl Iterator<Item = &'a Row> {
        let queue = self.queue;
        self.run
            .rows()
            .filter(move |row| row.state == state && queue.is_none_or(|queue| row.queue == *queue))
    }

    fn depth(&self, state: State) -> u64 {
        many(self.rows(state))
    }

    /// The ages of jobs in a state, youngest first.
    fn ages(&self, state: State) -> Vec<i64> {
        let mut ages: Vec<i64> = self
            .rows(state)
            .map(|row| (self.now_s - row.since.second()).max(0))
            .collect();
        ages.sort_unstable();
        ages
    }

    fn oldest(&self, state: State) -> Option<Duration> {
        let ages = self.ages(state);
        ages.last()
            .map(|age| Duration::from_secs(num::unsigned(*age)))
    }

    /// Events in the `span_s` seconds that end with now, or with `ago_s` seconds before now.
    pub(super) fn events(&self, span_s: i64, ago_s: i64) -> impl Iterator<Item = &'a Event> {
        let queue = self.queue;
        let last = self.now_s - ago_s;
        self.run.events.iter().filter(move |event| {
            let second = event.at.second();
            let in_span = second > last - span_s && (second <= last || ago_s == 0);
            in_span && queue.is_none_or(|queue| event.queue == *queue)
        })
    }

    fn kind(&self, kind: EventKind) -> u64 {
        many(self.events(900, 0).filter(|event| event.kind == kind))
    }

    fn arrivals(&self) -> u64 {
        let arrives =
            |event: &&Event| matches!(event.kind, EventKind::Enqueue | EventKind::Redrive);
        many(self.events(60, 0).filter(arrives))
    }

    fn ends(event: &Event) -> bool {
        let from = event.from.unwrap_or(event.to);
        let was = matches!(
            from,
            State::Pending | State::Ready | State::Running | State::RetryWait
        );
        let is = matches!(
            event.to,
            State::Succeeded | State::Dead | State::Quarantined
        );
        was && is
    }

    /// The exact times to terminal of the window, which begins with a minute of the clock.
    fn times(&self) -> Vec<u64> {
        let span = (self.now_s + 1) - (self.now_s - 899).div_euclid(60) * 60;
        let mut times: Vec<u64> = self
            .events(span, 0)
            .filter(|event| Self::ends(event))
            .filter_map(|event| Some(event.at.since(event.first_attempt_at?).as_millis()))
            .map(|millis| u64::try_from(millis).unwrap())
            .collect();
        times.sort_unstable();
        times
    }

    fn retries(&self) -> BTreeMap<FailureKey, (u64, u64, u64, Option<Duration>)> {
        let mut retries: BTreeMap<FailureKey, (u64, u64, u64, Option<Duration>)> = BTreeMap::new();
        let is_retry = |event: &&Event| event.kind == EventKind::Retry;
        for event in self.events(900, 0).filter(is_retry) {
            retries.entry(event.failure.clone()).or_default().0 += 1;
        }
        for event in self.events(900, 900).filter(is_retry) {
            retries.entry(event.failure.clone()).or_default().1 += 1;
        }
        for row in self.rows(State::RetryWait) {
            let entry = retries.entry(row.failure.clone()).or_default();
            entry.2 += 1;
            let due_s = num::unsigned(row.available_at.second() - self.now_s);
            let due = Duration::from_secs(due_s);
            entry.3 = Some(entry.3.map_or(due, |next| next.min(due)));
        }
        retries.retain(|_, (count, _, waiting, _)| *count > 0 || *waiting > 0);
        retries
    }

    /// Ready depth when all events before second `end_s` had happened.
    fn ready_before(&self, end_s: i64) -> u64 {
        let is =
            |event: &&Event, state| event.from != Some(event.to) && state == Some(State::Ready);
        let past = || self.events(i64::from(u32::MAX), self.now_s - end_s + 1);
        let came = many(past().filter(|event| is(event, Some(event.to))));
        let left = many(past().filter(|event| is(event, event.from)));
        came.saturating_sub(left)
    }
}

fn nearest_rank(sorted: &[u64], percent: usize) -> u64 {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    *sorted.get(rank - 1).unwrap()
}

fn check_depth_and_ages(said: &QueueSummary, naive: &Naive<'_>) -> Result<(), TestCaseError> {
    let depth = Depth {
        pending: naive.depth(State::Pending),
        ready: naive.depth(State::Ready),
        running: naive.depth(State::Running),
        retry_wait: naive.depth(State::RetryWait),
        dead: naive.depth(State::Dead),
        quarantined: naive.depth(State::Quarantined),
    };
    prop_assert_eq!(said.depth, depth);
    prop_assert_eq!(said.oldest_ready_age, naive.oldest(State::Ready));
    let ages: Vec<u64> = naive
        .ages(State::Ready)
        .into_iter()
        .map(num::unsigned)
        .collect();
    let percentiles = (!ages.is_empty()).then(|| {
        let [p50, p95, p99] =
            [50, 95, 99].map(|percent| Duration::from_secs(nearest_rank(&ages, percent)));
        Percentiles { p50, p95, p99 }
    });
    prop_assert_eq!(said.ready_age, percentiles);
    let mut spread = [0; SPREAD_BUCKETS];
    for age in &ages {
        let bucket = SPREAD_BOUNDS_S.iter().filter(|bound| age >= bound).count();
        *spread.get_mut(bucket).unwrap() += 1;
    }
    prop_assert_eq!(said.ready_spread, spread);
    let dead = &said.dead_letters;
    prop_assert_eq!(dead.oldest_dead_age, naive.oldest(State::Dead));
    prop_assert_eq!(
        dead.oldest_quarantined_age,
        naive.oldest(State::Quarantined)
    );
    prop_assert_eq!(
        dead.spread.iter().sum::<u64>(),
        depth.dead + depth.quarantined
    );
    let mut reasons: BTreeMap<FailureKey, u64> = BTreeMap::new();
    for row in naive
        .rows(State::Dead)
        .chain(naive.rows(State::Quarantined))
    {
        *reasons.entry(row.failure.clone()).or_default() += 1;
    }
    prop_assert_eq!(
        dead.by_reason.iter().cloned().collect::<BTreeMap<_, _>>(),
        reasons
    );
    Ok(())
}

fn check_leases(said: &LeaseSummary, naive: &Naive<'_>) -> Result<(), TestCaseError> {
    let ends: Vec<i64> = naive
        .rows(State::Running)
        .filter_map(|row| row.lease_expires_at.map(Timestamp::second))
        .collect();
    prop_assert_eq!(said.in_flight, many(ends.iter()));
    let expired = ends.iter().filter(|end| **end < naive.now_s);
    prop_assert_eq!(said.expired, many(expired));
    let near = naive.now_s..=naive.now_s + 5;
    prop_assert_eq!(
        said.near_expiry,
        many(ends.iter().filter(|end| near.contains(end)))
    );
    prop_assert_eq!(said.oldest_age, naive.oldest(State::Running));
    let mut workers: BTreeMap<SafeText, u64> = BTreeMap::new();
    for row in naive.rows(State::Running) {
        *workers.entry(row.worker.clone().unwrap()).or_default() += 1;
    }
    prop_assert_eq!(
        said.by_worker.iter().cloned().collect::<BTreeMap<_, _>>(),
        workers
    );
    Ok(())
}

fn check_windows(said: &QueueSummary, naive: &Naive<'_>) -> Result<(), TestCaseError> {
    let departures = many(naive.events(60, 0).filter(|event| Naive::ends(event)));
    let per_s = |count: u64| num::ratio(count) / 60.0;
    prop_assert!((said.in_per_s - per_s(naive.arrivals())).abs() < 1e-9);
    prop_assert!((said.out_per_s - per_s(departures)).abs() < 1e-9);
    let flow = said.flow;
    prop_assert_eq!(flow.lease_expirations, naive.kind(EventKind::LeaseExpire));
    prop_assert_eq!(flow.duplicates, naive.kind(EventKind::Duplicate));
    prop_assert_eq!(flow.stale_refused, naive.kind(EventKind::StaleRefused));
    let spent = |event: &&Event| Naive::ends(event) && event.to == State::Dead;
    prop_assert_eq!(flow.exhausted, many(naive.events(900, 0).filter(spent)));
    let retries: BTreeMap<_, _> = said
        .retries
        .iter()
        .map(|retry| {
            let numbers = (
                retry.count,
                retry.before.unwrap(),
                retry.waiting,
                retry.next_due_in,
            );
            (retry.failure.clone(), numbers)
        })
        .collect();
    prop_assert_eq!(retries, naive.retries());
    let times = naive.times();
    prop_assert_eq!(flow.time_to_terminal.is_none(), times.is_empty());
    if let Some(said) = flow.time_to_terminal {
        for (percent, said) in [(50, said.p50), (95, said.p95), (99, said.p99)] {
            let exact = num::ratio(nearest_rank(&times, percent));
            let error = (said.as_secs_f64() * 1_000.0 - exact).abs();
            prop_assert!(error <= exact * 0.01, "{said:?} for {exact} ms");
        }
    }
    Ok(())
}

fn check_growth_and_history(said: &QueueSummary, naive: &Naive<'_>) -> Result<(), TestCaseError> {
    let buried = |state: Option<State>| state.is_some_and(State::is_dead_letter);
    let mut net = 0.0;
    for event in naive.events(900, 0) {
        let after = f64::from(u8::from(buried(Some(event.to))));
        net += after - f64::from(u8::from(buried(event.from)));
    }
    prop_assert!((said.dead_letters.growth_per_h - net * 4.0).abs() < 1e-9);
    prop_assert_eq!(said.ready_history.len(), HISTORY_POINTS);
    let slot = naive.now_s.div_euclid(30);
    for (slot, point) in (slot - 29..=slot).zip(&said.ready_history) {
        let end = ((slot + 1) * 30).min(naive.now_s + 1);
        prop_assert_eq!(*point, Some(naive.ready_before(end)));
    }
    Ok(())
}

/// Compares every number of a queue, or of all together.
pub(super) fn check(said: &QueueSummary, naive: &Naive<'_>) -> Result<(), TestCaseError> {
    check_depth_and_ages(said, naive)?;
    check_leases(&said.leases, naive)?;
    check_windows(said, naive)?;
    check_growth_and_history(said, naive)
}

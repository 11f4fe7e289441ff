//! Dead letters: jobs in `dead` and `quarantined`, by the failure that brought them there.

use std::collections::BTreeMap;

use super::ages;
use super::counted::Parted;
use super::leases::most_first;
use super::seconds::Seconds;
use super::summary::DeadLetterSummary;
use super::window::Reach;
use crate::ledger::event::FailureKey;
use crate::ledger::state::State;

/// Dead letters of one kind by failure and by the second in which they became one.
pub(crate) type ByFailure = Parted<FailureKey, i64>;

/// Every dead letter of one queue.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct DeadLetters {
    dead: ByFailure,
    quarantined: ByFailure,
    /// The same jobs by the second alone.
    since: Seconds,
}

/// Dead letters that came since a moment and are still there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Burst {
    pub(crate) dead: u64,
    pub(crate) quarantined: u64,
    /// The second of the first.
    pub(crate) first_s: i64,
    /// The failure most of them have, and how many have it.
    pub(crate) most: (FailureKey, u64),
}

impl Burst {
    /// How many came.
    pub(crate) fn total(&self) -> u64 {
        self.dead.saturating_add(self.quarantined)
    }
}

/// Which of the two kinds of dead letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Dead,
    Quarantined,
}

impl Kind {
    /// The state that jobs of this kind are in.
    pub(crate) fn state(self) -> State {
        match self {
            Self::Dead => State::Dead,
            Self::Quarantined => State::Quarantined,
        }
    }
}

impl DeadLetters {
    pub(crate) fn of(&self, kind: Kind) -> &ByFailure {
        match kind {
            Kind::Dead => &self.dead,
            Kind::Quarantined => &self.quarantined,
        }
    }

    fn of_mut(&mut self, kind: Kind) -> &mut ByFailure {
        match kind {
            Kind::Dead => &mut self.dead,
            Kind::Quarantined => &mut self.quarantined,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.since.is_empty()
    }

    pub(crate) fn add(&mut self, kind: Kind, failure: &FailureKey, since_s: i64, times: u64) {
        self.of_mut(kind).add(failure, since_s, times);
        self.since.add(since_s, times);
    }

    #[must_use = "what is not there cannot be taken away"]
    pub(crate) fn remove(&mut self, kind: Kind, failure: &FailureKey, since_s: i64) -> bool {
        self.of_mut(kind).remove(failure, &since_s) && self.since.remove(since_s, 1)
    }

    /// What came since second `first_s` and is still there; `None` if nothing did.
    pub(crate) fn burst(&self, first_s: i64) -> Option<Burst> {
        let mut by_failure: BTreeMap<&FailureKey, u64> = BTreeMap::new();
        let mut counts = [0_u64; 2];
        let mut first: Option<i64> = None;
        for (kind_count, kind) in counts.iter_mut().zip([&self.dead, &self.quarantined]) {
            for (failure, since) in kind.iter() {
                let mut came = 0_u64;
                for (second, count) in since.from(first_s) {
                    came = came.saturating_add(count);
                    first = Some(first.map_or(*second, |first| first.min(*second)));
                }
                *kind_count = kind_count.saturating_add(came);
                *by_failure.entry(failure).or_default() += came;
            }
        }
        let [dead, quarantined] = counts;
        let mut by_failure: Vec<(&FailureKey, u64)> = by_failure.into_iter().collect();
        most_first(&mut by_failure);
        let (failure, most) = by_failure.first()?;
        Some(Burst {
            dead,
            quarantined,
            first_s: first?,
            most: ((*failure).clone(), *most),
        })
    }

    pub(crate) fn summary(&self, reach: Reach, growth_per_h: f64) -> DeadLetterSummary {
        let now_s = reach.now_s();
        let oldest = |kind: &ByFailure| kind.first().map(|first| ages::age(now_s, *first));
        let mut by_reason: BTreeMap<&FailureKey, u64> = BTreeMap::new();
        for (failure, since) in self.dead.iter().chain(self.quarantined.iter()) {
            *by_reason.entry(failure).or_default() += since.total();
        }
        let mut by_reason: Vec<(FailureKey, u64)> = by_reason
            .into_iter()
            .map(|(failure, count)| (failure.clone(), count))
            .collect();
        most_first(&mut by_reason);
        DeadLetterSummary {
            oldest_dead_age: oldest(&self.dead),
            oldest_quarantined_age: oldest(&self.quarantined),
            spread: ages::spread(&self.since, now_s),
            growth_per_h,
            by_reason,
        }
    }
}

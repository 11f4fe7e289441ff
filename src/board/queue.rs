//! One queue of the board: its jobs by place, and its windows. Next: [`super::summary`], which it
//! fills.

use super::ages;
use super::counted::Counted;
use super::dead_letters::{DeadLetters, Kind};
use super::drain::Backlog;
use super::history::ReadyHistory;
use super::leases::Leases;
use super::place::Place;
use super::rates::Rates;
use super::seconds::Seconds;
use super::summary::{Depth, QueueSummary, RetrySummary, Tick};
use super::ticker::QueueTicker;
use super::times::Times;
use super::waiting::{Pending, RetryWait, next_due_in};
use super::window::{RATE_WINDOW, Reach, WINDOW};
use crate::ledger::event::{Event, FailureKey};
use crate::ledger::feed::Cell;
use crate::ledger::state::State;
use crate::ledger::text::SafeText;

/// Everything that is counted of one queue.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Queue {
    pending: Pending,
    ready: Seconds,
    leases: Leases,
    retry_wait: RetryWait,
    dead_letters: DeadLetters,
    rates: Rates,
    history: ReadyHistory,
    times: Times,
    ticker: QueueTicker,
}

impl Queue {
    /// Counts `times` jobs more at `place`. Nothing is counted in the states that only grow.
    pub(crate) fn enter(&mut self, place: &Place<'_>, times: u64) {
        match place.state {
            State::Pending => self.pending.add((place.available_s, place.since_s), times),
            State::Ready => self.ready.add(place.since_s, times),
            State::Running => {
                let lease = (place.since_s, place.lease_s);
                self.leases.add(place.worker, lease, times);
            }
            State::RetryWait => {
                let wait = (place.available_s, place.since_s);
                self.retry_wait.add(place.failure, wait, times);
            }
            State::Dead => self.bury(Kind::Dead, place, times),
            State::Quarantined => self.bury(Kind::Quarantined, place, times),
            State::Succeeded | State::Discarded => {}
        }
    }

    fn bury(&mut self, kind: Kind, place: &Place<'_>, times: u64) {
        self.dead_letters
            .add(kind, place.failure, place.since_s, times);
    }

    /// Counts one job less at `place`; `false`, and nothing is changed, if none is there.
    #[must_use = "what is not there cannot be taken away"]
    pub(crate) fn leave(&mut self, place: &Place<'_>) -> bool {
        let wait = (place.available_s, place.since_s);
        match place.state {
            State::Pending => self.pending.remove(&wait),
            State::Ready => self.ready.remove(place.since_s, 1),
            State::Running => self
                .leases
                .remove(place.worker, (place.since_s, place.lease_s)),
            State::RetryWait => self.retry_wait.remove(place.failure, &wait),
            State::Dead => self.exhume(Kind::Dead, place),
            State::Quarantined => self.exhume(Kind::Quarantined, place),
            State::Succeeded | State::Discarded => true,
        }
    }

    fn exhume(&mut self, kind: Kind, place: &Place<'_>) -> bool {
        self.dead_letters.remove(kind, place.failure, place.since_s)
    }

    /// Counts an event in the windows; places are not touched.
    pub(crate) fn note(&mut self, event: &Event) {
        self.rates.note(event);
        self.times.note(event);
        self.ticker.note(event);
        let was_ready = event.from == Some(State::Ready);
        match (was_ready, event.to == State::Ready) {
            (false, true) => self.history.note(event.at.second(), 1),
            (true, false) => self.history.note(event.at.second(), -1),
            (true, true) | (false, false) => {}
        }
    }

    /// Forgets what no window reaches any more.
    pub(crate) fn prune(&mut self, horizon: i64) {
        self.rates.prune(horizon);
        self.history.prune(horizon);
        self.times.prune(horizon);
    }

    /// Whether it has live jobs.
    pub(crate) fn is_live(&self) -> bool {
        !(self.pending.is_empty()
            && self.ready.is_empty()
            && self.leases.total() == 0
            && self.retry_wait.total() == 0
            && self.dead_letters.is_empty())
    }

    /// Whether anything happened in second `first` or later.
    pub(crate) fn happened_since(&self, first: i64) -> bool {
        self.rates.latest_s().is_some_and(|latest| latest >= first)
    }

    pub(crate) fn rates(&self) -> &Rates {
        &self.rates
    }

    pub(crate) fn leases(&self) -> &Leases {
        &self.leases
    }

    pub(crate) fn dead_letters(&self) -> &DeadLetters {
        &self.dead_letters
    }

    pub(crate) fn times(&self) -> &Times {
        &self.times
    }

    /// The latest events, newest first.
    pub(crate) fn ticks(&self) -> Vec<Tick> {
        self.ticker.ticks()
    }

    /// Jobs by state.
    pub(crate) fn depth(&self) -> Depth {
        Depth {
            pending: self.pending.total(),
            ready: self.ready.total(),
            running: self.leases.total(),
            retry_wait: self.retry_wait.total(),
            dead: self.dead_letters.of(Kind::Dead).total(),
            quarantined: self.dead_letters.of(Kind::Quarantined).total(),
        }
    }

    /// Every number but the times to terminal, which are added up outside, and the level, which is
    /// judged outside.
    pub(crate) fn summary(&self, name: &SafeText, reach: Reach) -> QueueSummary {
        let now_s = reach.now_s();
        let mut summary = QueueSummary {
            queue: name.clone(),
            depth: self.depth(),
            oldest_ready_age: ages::oldest(&self.ready, now_s),
            ready_age: ages::percentiles(&self.ready, now_s),
            ready_spread: ages::spread(&self.ready, now_s),
            leases: self.leases.summary(reach),
            retries: self.retries(reach),
            in_per_s: self.rates.in_per_s(reach),
            out_per_s: self.rates.out_per_s(reach),
            ready_history: self.history.points(self.ready.total(), reach),
            dead_letters: self
                .dead_letters
                .summary(reach, self.rates.burials_per_h(reach)),
            flow: self.rates.flow(reach),
            ..QueueSummary::default()
        };
        summary.drain = backlog(&summary, reach).drain();
        summary
    }

    fn retries(&self, reach: Reach) -> Vec<RetrySummary> {
        let is_before_known = reach.covers(WINDOW.saturating_mul(2));
        let mut retries: Vec<RetrySummary> = self
            .rates
            .retries(reach)
            .map(|(failure, count, before)| RetrySummary {
                before: is_before_known.then_some(before),
                ..self.waiting_because_of(failure, count, reach)
            })
            .collect();
        for (failure, _) in self.retry_wait.iter() {
            if !self.rates.knows_retries_of(failure) {
                retries.push(RetrySummary {
                    before: is_before_known.then_some(0),
                    ..self.waiting_because_of(failure, 0, reach)
                });
            }
        }
        most_retried_first(&mut retries);
        retries
    }

    fn waiting_because_of(&self, failure: &FailureKey, count: u64, reach: Reach) -> RetrySummary {
        let waits = self.retry_wait.part(failure);
        RetrySummary {
            failure: failure.clone(),
            count,
            before: None,
            waiting: waits.map_or(0, Counted::total),
            next_due_in: waits.and_then(|waits| next_due_in(waits, reach.now_s())),
        }
    }

    /// The queue's live jobs as the cells that a base counts, in no particular order.
    pub(crate) fn cells(&self, name: &SafeText) -> Vec<Cell> {
        let cell = |state, since_s, count| Cell {
            queue: name.clone(),
            state,
            since_s,
            failure: FailureKey::default(),
            available_s: None,
            lease_expires_s: None,
            worker: None,
            count,
        };
        let mut cells = Vec::new();
        cells.extend(self.pending.iter().map(|((available_s, since_s), n)| Cell {
            available_s: *available_s,
            ..cell(State::Pending, *since_s, n)
        }));
        cells.extend(
            self.ready
                .iter()
                .map(|(since_s, n)| cell(State::Ready, since_s, n)),
        );
        cells.extend(self.leases.iter().map(|(worker, (since_s, end), n)| Cell {
            worker: worker.cloned(),
            lease_expires_s: end,
            ..cell(State::Running, since_s, n)
        }));
        for (failure, waits) in self.retry_wait.iter() {
            cells.extend(waits.iter().map(|((available_s, since_s), n)| Cell {
                failure: failure.clone(),
                available_s: *available_s,
                ..cell(State::RetryWait, *since_s, n)
            }));
        }
        for kind in [Kind::Dead, Kind::Quarantined] {
            for (failure, since) in self.dead_letters.of(kind).iter() {
                cells.extend(since.iter().map(|(since_s, n)| Cell {
                    failure: failure.clone(),
                    ..cell(kind.state(), *since_s, n)
                }));
            }
        }
        cells
    }
}

/// Leaves out reasons that only the window before knows; they count towards totals, but have no
/// line.
pub(crate) fn forget_past(retries: &mut Vec<RetrySummary>) {
    retries.retain(|retry| retry.count > 0 || retry.waiting > 0);
}

/// Retries of most in the window first; then by how many wait, then by name, so that the order is
/// stable.
pub(crate) fn most_retried_first(retries: &mut [RetrySummary]) {
    retries.sort_by(|a, b| {
        (b.count, b.waiting)
            .cmp(&(a.count, a.waiting))
            .then_with(|| a.failure.cmp(&b.failure))
    });
}

/// What the drain time of a summary follows from.
pub(crate) fn backlog(summary: &QueueSummary, reach: Reach) -> Backlog {
    Backlog {
        depth: summary.depth,
        oldest_ready_age: summary.oldest_ready_age,
        in_per_s: summary.in_per_s,
        out_per_s: summary.out_per_s,
        rates_known: reach.covers(RATE_WINDOW),
    }
}

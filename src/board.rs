//! The board: every number of the overview, as a fold over the event feed.
//!
//! A board is loaded from a [`crate::ledger::feed::Base`] and then changes only by
//! [`Board::apply`]. It knows neither a database nor a terminal, and reads no clock: a
//! [`summary::Summary`] is asked for as of a moment. Next on the walk of a row to a cell: the
//! console's overview screen.
//!
//! The walk inside: `place` reads an event as "one job less here, one more there"; `queue`
//! counts places in `seconds`, `counted`, `leases`, `waiting` and `dead_letters`, and
//! what happens by the second in `rates`, `times` and `history`; [`headline`] holds the
//! numbers against [`limits`].

use std::collections::BTreeMap;

use crate::ledger::event::Event;
use crate::ledger::feed::{Base, Cell};
use crate::ledger::state::State;
use crate::ledger::text::SafeText;
use crate::ledger::time::Timestamp;

mod ages;
mod counted;
mod dead_letters;
mod drain;
pub mod format;
pub mod headline;
mod history;
mod leases;
pub mod limits;
mod place;
mod queue;
mod rates;
mod seconds;
mod sentence;
pub mod summary;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
pub mod ticker;
mod times;
mod total;
mod waiting;
pub mod window;

pub use headline::Judge;
pub use limits::Limits;

use place::{Place, Step};
use queue::Queue;
use seconds::Seconds;
use summary::{QueueSummary, Summary, Tick};
use ticker::LedgerTicker;
use times::Sum;
use window::{Reach, WINDOW};

/// How often windows forget what they no longer reach, in seconds of the events' own time.
const PRUNE_EVERY_S: i64 = 60;

/// Every number of the overview, at one instant of the feed.
///
/// Memory is bounded by the live jobs that differ in what is counted (for ready jobs: one entry a
/// second), the queues that have such jobs or had events lately, and two windows of events by the
/// second.
#[derive(Debug, Clone)]
pub struct Board {
    queues: BTreeMap<SafeText, Queue>,
    /// The ready jobs of all queues, for percentiles over all of them.
    ready: Seconds,
    ticker: LedgerTicker,
    /// From when windows are complete.
    complete_since: Timestamp,
    /// The latest second of any event.
    latest_s: i64,
    pruned_s: i64,
    mismatches: u64,
}

impl Board {
    /// The board at the instant of a base.
    pub fn load(base: &Base) -> Self {
        let mut board = Self {
            queues: BTreeMap::new(),
            ready: Seconds::default(),
            ticker: LedgerTicker::default(),
            complete_since: base.recent_since,
            latest_s: i64::MIN,
            pruned_s: i64::MIN,
            mismatches: 0,
        };
        for cell in &base.cells {
            board.enter(&cell.queue, &Place::of_cell(cell), cell.count);
        }
        for event in &base.recent {
            board.note(event);
        }
        board
    }

    /// Applies one event: the only way in which a number changes. A job's own events are to come in
    /// the order of their versions; those of different jobs in any order.
    pub fn apply(&mut self, event: &Event) {
        match Step::of(event) {
            Step::Stays => {}
            Step::Enters(to) => self.enter(&event.queue, &to, 1),
            Step::Moves { from, to } => {
                self.leave(&event.queue, &from);
                self.enter(&event.queue, &to, 1);
            }
            Step::Unknown { to } => {
                self.mismatches = self.mismatches.saturating_add(1);
                self.enter(&event.queue, &to, 1);
            }
        }
        self.note(event);
    }

    /// How many events so far left a place at which no job was counted. Always 0 as long as the
    /// feed is exact; otherwise the board is to be loaded anew.
    pub fn mismatches(&self) -> u64 {
        self.mismatches
    }

    /// Every live job as the cells that a base at this instant would count: sorted, and merged.
    pub fn cells(&self) -> Vec<Cell> {
        let mut cells: Vec<Cell> = self
            .queues
            .iter()
            .flat_map(|(name, queue)| queue.cells(name))
            .collect();
        cells.sort_unstable();
        cells
    }

    /// What the board says as of `now`, judged by `judge`.
    ///
    /// `now` is the database's clock of the last reading, or later where the clock is let run on;
    /// ages grow with it and windows move on. Whoever asks again and again keeps the judge, so that
    /// limits have a memory; whoever asks once passes a new one.
    pub fn summary(&self, now: Timestamp, judge: &mut Judge) -> Summary {
        let reach = Reach {
            now,
            complete_since: self.complete_since,
        };
        let mut all_times = Sum::default();
        let mut times = Sum::default();
        let first = reach.first_s(WINDOW);
        let mut queues: Vec<(&Queue, QueueSummary)> = Vec::new();
        for (name, queue) in &self.queues {
            times.clear();
            times.add(queue.times(), reach);
            all_times.merge(&times);
            let mut summary = queue.summary(name, reach);
            summary.flow.time_to_terminal = times.percentiles();
            queues.push((queue, summary));
        }
        let headline = judge.judge(&mut queues, reach);
        let all = queues.iter().map(|(_, summary)| summary);
        let mut total = total::total(all, &self.ready, reach);
        total.flow.time_to_terminal = all_times.percentiles();
        // A queue of which only the window before knows has its share in the total, but no line.
        queues.retain(|(queue, _)| queue.is_live() || queue.happened_since(first));
        let mut queues: Vec<QueueSummary> =
            queues.into_iter().map(|(_, summary)| summary).collect();
        worst_first(&mut queues);
        for summary in queues.iter_mut().chain([&mut total]) {
            queue::forget_past(&mut summary.retries);
        }
        Summary {
            as_of: now,
            window: WINDOW,
            window_since: reach.since(WINDOW),
            headline,
            total,
            queues,
            ticker: self.ticker.ticks(),
        }
    }

    /// The latest events of one queue, newest first; [`Summary::ticker`] has those of all.
    pub fn ticker(&self, queue: &str) -> Vec<Tick> {
        self.queues.get(queue).map_or_else(Vec::new, Queue::ticks)
    }

    fn enter(&mut self, queue: &SafeText, place: &Place<'_>, times: u64) {
        self.queue(queue).enter(place, times);
        if place.state == State::Ready {
            self.ready.add(place.since_s, times);
        }
    }

    fn leave(&mut self, queue: &SafeText, place: &Place<'_>) {
        let left = self.queue(queue).leave(place)
            && (place.state != State::Ready || self.ready.remove(place.since_s, 1));
        if !left {
            self.mismatches = self.mismatches.saturating_add(1);
        }
    }

    /// Counts an event in the windows and in the ticker.
    fn note(&mut self, event: &Event) {
        self.queue(&event.queue).note(event);
        self.ticker.note(event);
        self.latest_s = self.latest_s.max(event.at.second());
        if self.latest_s.saturating_sub(self.pruned_s) >= PRUNE_EVERY_S {
            self.prune();
        }
    }

    /// Forgets what no window reaches any more, and queues of which nothing is left.
    fn prune(&mut self) {
        self.pruned_s = self.latest_s;
        let horizon = self
            .latest_s
            .saturating_sub(window::seconds(WINDOW.saturating_mul(2)));
        self.queues.retain(|_, queue| {
            queue.prune(horizon);
            queue.is_live() || queue.happened_since(horizon)
        });
    }

    fn queue(&mut self, name: &SafeText) -> &mut Queue {
        self.queues.entry(name.clone()).or_default()
    }
}

/// Worst first: by level, then by the age of the oldest ready job, then by depth, then by name.
fn worst_first(queues: &mut [QueueSummary]) {
    queues.sort_by(|a, b| {
        (b.level, b.oldest_ready_age, b.depth.ready)
            .cmp(&(a.level, a.oldest_ready_age, a.depth.ready))
            .then_with(|| a.queue.cmp(&b.queue))
    });
}

//! What a judgement found: sums, how often each law was broken, and the first breaches in full.
//!
//! Nothing grows with the ledger: breaches are counted, and only the first of them are kept.

use std::collections::BTreeMap;

use crate::ledger::audit::Entry;
use crate::ledger::event::EventKind;
use crate::ledger::state::State;
use crate::ledger::text::SafeText;
use crate::ledger::time::Timestamp;

use super::law::Law;
use super::laws::Finding;

/// One breach of one law.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Breach {
    /// The law.
    pub law: Law,
    /// The job; `None` where the ledger as a whole breaks the law.
    pub job: Option<SafeText>,
    /// The job's queue, where it is known.
    pub queue: Option<SafeText>,
    /// The event, by its number in the job. Where the row breaks the law, the last one.
    pub version: Option<i64>,
    /// What kind of event it is.
    pub event: Option<EventKind>,
    /// What the law expects.
    pub expected: String,
    /// What is stored.
    pub found: String,
}

impl Breach {
    /// A breach by the ledger as a whole.
    pub(super) const fn of_ledger(law: Law, expected: String, found: String) -> Self {
        Self {
            law,
            job: None,
            queue: None,
            version: None,
            event: None,
            expected,
            found,
        }
    }

    /// A breach in the history of a job, or by its row.
    pub(super) fn of_job(job: SafeText, queue: Option<SafeText>, finding: Finding) -> Self {
        Self {
            law: finding.law,
            job: Some(job),
            queue,
            version: finding.version,
            event: finding.event,
            expected: finding.expected,
            found: finding.found,
        }
    }
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// When the audit began, by the database's clock.
    pub as_of: Timestamp,
    /// Jobs judged.
    pub jobs: u64,
    /// Jobs with at least one breach.
    pub breached_jobs: u64,
    /// Events judged.
    pub events: u64,
    /// Jobs that an `enqueue` created.
    pub accepted: u64,
    /// Rows by their state; `None` for a row that cannot be understood.
    pub states: BTreeMap<Option<State>, u64>,
    /// Breaches by law; a law that is not there was not broken.
    pub by_law: BTreeMap<Law, u64>,
    /// The first breaches.
    pub breaches: Vec<Breach>,
    keep: usize,
}

impl Report {
    pub(super) const fn new(as_of: Timestamp, keep: usize) -> Self {
        Self {
            as_of,
            jobs: 0,
            breached_jobs: 0,
            events: 0,
            accepted: 0,
            states: BTreeMap::new(),
            by_law: BTreeMap::new(),
            breaches: Vec::new(),
            keep,
        }
    }

    /// How many breaches were found.
    pub fn total(&self) -> u64 {
        self.by_law.values().copied().fold(0, u64::saturating_add)
    }

    /// How many rows there are.
    pub fn stored(&self) -> u64 {
        self.states.values().copied().fold(0, u64::saturating_add)
    }

    pub(super) fn add(&mut self, breach: Breach) {
        bump(self.by_law.entry(breach.law).or_default());
        if self.breaches.len() < self.keep {
            self.breaches.push(breach);
        }
    }

    pub(super) fn count(&mut self, entry: &Entry) {
        bump(&mut self.events);
        if entry.doing.event == EventKind::Enqueue {
            bump(&mut self.accepted);
        }
    }

    pub(super) fn count_unreadable(&mut self) {
        bump(&mut self.events);
    }

    pub(super) fn count_job(&mut self, breached: bool) {
        bump(&mut self.jobs);
        if breached {
            bump(&mut self.breached_jobs);
        }
    }

    pub(super) fn stands_in(&mut self, state: Option<State>) {
        bump(self.states.entry(state).or_default());
    }
}

fn bump(counter: &mut u64) {
    *counter = counter.saturating_add(1);
}

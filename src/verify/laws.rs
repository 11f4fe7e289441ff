//! The laws, held against one event and the row before it, and against the last row.
//!
//! Each law is a few small functions; this file owns their order and what they report. Of an event
//! that breaks several laws at once the one is reported that names the damage best: leaving a
//! terminal state is L10, ending an attempt twice is L5, and only what is left is L1. The files
//! beside this one: `run` (L1, L2, L5, L10), `lease` (L4), `budget` (L6), `plan` (L7), `row` (L3,
//! L6, L8, L9).

use crate::ledger::audit::{Entry, Unreadable};
use crate::ledger::event::EventKind;

use super::law::Law;
use super::replay::Replay;
use super::rules::Rulebook;

mod budget;
mod lease;
mod plan;
mod row;
mod run;

pub(super) use row::{on_missing_row, on_row};

/// What one breach is, before it is known whose it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) law: Law,
    pub(super) version: Option<i64>,
    pub(super) event: Option<EventKind>,
    pub(super) expected: String,
    pub(super) found: String,
}

/// The breaches of one event or one row. Nearly always empty.
#[derive(Debug, Default)]
pub(super) struct Findings(Vec<Finding>);

impl Findings {
    pub(super) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The event breaks the law.
    fn event(
        &mut self,
        law: Law,
        entry: &Entry,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) {
        self.0.push(Finding {
            law,
            version: Some(i64::from(entry.version)),
            event: Some(entry.doing.event),
            expected: expected.into(),
            found: found.into(),
        });
    }

    /// What is stored after that event breaks the law.
    fn after(
        &mut self,
        law: Law,
        (version, event): (u32, Option<EventKind>),
        expected: impl Into<String>,
        found: impl Into<String>,
    ) {
        self.0.push(Finding {
            law,
            version: Some(i64::from(version)).filter(|version| *version > 0),
            event,
            expected: expected.into(),
            found: found.into(),
        });
    }

    /// A value cannot be understood.
    pub(super) fn unreadable(&mut self, law: Law, what: &Unreadable) {
        self.0.push(Finding {
            law,
            version: what.version,
            event: None,
            expected: format!("a value of column '{}' that can be understood", what.column),
            found: format!("'{}'", what.value),
        });
    }
}

impl IntoIterator for Findings {
    type Item = Finding;
    type IntoIter = std::vec::IntoIter<Finding>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

/// A law about one event, given the row that it found.
type EventLaw = fn(&Replay, &Entry, &Rulebook<'_>, &mut Findings);

/// The laws about where an event begins.
const RUN_LAWS: [EventLaw; 6] = [
    run::is_the_next_move,
    run::carries_what_the_table_says,
    run::is_not_before_the_last,
    run::ends_an_attempt_once,
    run::has_one_effect,
    run::leaves_nothing_terminal,
];

/// The laws about what an event makes of the row that it found.
const STEP_LAWS: [EventLaw; 11] = [
    lease::moves_the_fence_as_the_table_says,
    lease::is_settled_by_its_holder,
    lease::carries_its_lease,
    lease::ends_no_lease_early,
    budget::counts_the_attempts,
    budget::keeps_its_policy,
    budget::keeps_its_first_attempt,
    budget::carries_its_moment,
    budget::is_not_before_its_moment,
    budget::is_within_its_budget,
    plan::belongs_to_an_approved_plan,
];

/// Holds an event against every law. One that does not begin where the last ended, or whose
/// predecessor is missing, is reported for that alone: what it found is not known.
pub(super) fn on_event(
    before: &Replay,
    entry: &Entry,
    rules: &Rulebook<'_>,
    findings: &mut Findings,
) {
    run::is_numbered_without_a_gap(before, entry, findings);
    if !before.continues_with(entry) {
        return;
    }
    for law in RUN_LAWS {
        law(before, entry, rules, findings);
    }
    if entry.from == before.state {
        for law in STEP_LAWS {
            law(before, entry, rules, findings);
        }
    }
}

/// An optional value as reports show it.
fn shown<T: ToString>(value: Option<&T>) -> String {
    value.map_or_else(|| "none".to_owned(), ToString::to_string)
}

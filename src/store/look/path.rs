//! Which way leads to the jobs of a query.
//!
//! A query that names jobs by something unique (id, key, parent, plan) is one search. One that is
//! limited to states with a partial index each is a search per state, merged. The rest walks the
//! ledger. Owns this choice, which depends on the query alone; sizes come from the database. Next:
//! `page.rs`, the statements.

use crate::ledger::query::{Pattern, Query, Term, Test};
use crate::ledger::state::State;
use crate::ledger::view::JobOrder;

/// Jobs that one index holds, or that none does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::store) enum Branch {
    /// `pending`, until a moment.
    PendingUntilDue,
    /// `pending`, until its children are done.
    PendingForChildren,
    /// `ready`
    Ready,
    /// `running`
    Running,
    /// `retry_wait`
    RetryWait,
    /// `dead`
    Dead,
    /// `quarantined`
    Quarantined,
    /// `succeeded`; no index holds them.
    Succeeded,
    /// `discarded`; no index holds them.
    Discarded,
}

impl Branch {
    /// The branches of a state.
    const fn of(state: State) -> &'static [Self] {
        match state {
            State::Pending => &[Self::PendingUntilDue, Self::PendingForChildren],
            State::Ready => &[Self::Ready],
            State::Running => &[Self::Running],
            State::RetryWait => &[Self::RetryWait],
            State::Succeeded => &[Self::Succeeded],
            State::Dead => &[Self::Dead],
            State::Quarantined => &[Self::Quarantined],
            State::Discarded => &[Self::Discarded],
        }
    }

    /// Whether an index holds just these jobs.
    pub(in crate::store) const fn is_indexed(self) -> bool {
        match self {
            Self::Succeeded | Self::Discarded => false,
            Self::PendingUntilDue
            | Self::PendingForChildren
            | Self::Ready
            | Self::Running
            | Self::RetryWait
            | Self::Dead
            | Self::Quarantined => true,
        }
    }

    /// The branches of states, each once.
    pub(in crate::store) fn of_all(states: &[State]) -> Vec<Self> {
        states
            .iter()
            .flat_map(|state| Self::of(*state))
            .copied()
            .collect()
    }
}

/// Which way leads to the jobs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::store) enum Path {
    /// No job can be in none of its states.
    Nowhere,
    /// An index of something that few jobs share.
    Anchored(Vec<State>),
    /// The indexes of these branches, or of all that are created, whichever the order asks for.
    Branches(Vec<Branch>),
    /// All jobs, in the order of their ids or in none.
    Walk(Vec<State>),
}

impl Path {
    /// The way to the jobs of `query` in `order`.
    pub(in crate::store) fn of(query: &Query, order: JobOrder) -> Self {
        let states = query.states();
        if states.is_empty() {
            Self::Nowhere
        } else if is_anchored(query) {
            Self::Anchored(states)
        } else if order == JobOrder::CreatedLast && states.iter().any(|state| state.is_terminal())
            || states.len() == State::ALL.len()
        {
            Self::Walk(states)
        } else {
            Self::Branches(Branch::of_all(&states))
        }
    }
}

impl Path {
    /// Whether this way is short whatever the ledger holds: an index leads to the first jobs in
    /// order, and nothing else must be true of them.
    pub(in crate::store) fn is_led(&self, query: &Query, order: JobOrder) -> bool {
        let only = |is: fn(&Test) -> bool| query.terms.iter().all(|term| is(&term.test));
        match self {
            Self::Nowhere => true,
            Self::Anchored(_) => query.terms.iter().any(|term| {
                !term.negated
                    && matches!(
                        term.test,
                        Test::Id(_)
                            | Test::Key(Pattern::Is(_))
                            | Test::Parent(Pattern::Is(_))
                            | Test::Plan(_)
                    )
            }),
            Self::Branches(branches) => {
                let is_kept_in_order = branches
                    .iter()
                    .all(|branch| matches!(branch, Branch::Dead | Branch::Quarantined));
                order != JobOrder::CreatedLast
                    && is_kept_in_order
                    && only(|test| {
                        matches!(
                            test,
                            Test::State(_) | Test::Since(_) | Test::Until(_) | Test::Age(..)
                        )
                    })
            }
            Self::Walk(_) => query.terms.is_empty() && order == JobOrder::CreatedLast,
        }
    }
}

fn is_anchored(query: &Query) -> bool {
    !anchors(query).terms.is_empty()
}

/// The terms that name something which few jobs share.
pub(in crate::store) fn anchors(query: &Query) -> Query {
    let is_anchor = |term: &&Term| {
        !term.negated
            && matches!(
                term.test,
                Test::Id(_) | Test::Key(_) | Test::Parent(_) | Test::Plan(_)
            )
    };
    Query {
        terms: query.terms.iter().filter(is_anchor).cloned().collect(),
    }
}

//! THE table: which event may move a job from which state to which, and who may cause it.
//!
//! It stands once here and once as rows of the database's `transitions` table, where triggers hold
//! every writer to it; a test holds the two equal. Everything that asks "may this happen?" asks
//! here.

use super::event::{ActorKind, EventKind};
use super::state::State;

/// What a transition does to the fence, which numbers a job's claims.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FenceStep {
    /// The fence stays.
    Keep,
    /// The fence rises by one, so that whoever held the old one can no longer settle.
    Next,
}

/// What a transition does to the number of attempts counted against the budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttemptStep {
    /// The number stays.
    Keep,
    /// One more: counted at the claim, so that a crash counts.
    Next,
    /// One less: an orderly shutdown gives the attempt back.
    GiveBack,
    /// Back to zero: a redrive starts a fresh budget.
    Reset,
}

/// What a transition says about the job's last failure (class, reason, message).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// The row keeps its last failure; the event does not repeat it.
    Silent,
    /// A failure is recorded: class and reason are required, and the event carries them.
    Entered,
    /// The row keeps its last failure and the event carries it, because the job leaves or changes a
    /// waiting or dead-letter state that boards count by reason.
    Carried,
}

/// What a transition does to the number of attempts that began and were never settled by their
/// worker, whose effects may or may not have happened. Nothing lowers it: a late settle that is
/// refused tells nothing for certain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnsettledStep {
    /// The number stays.
    Keep,
    /// One more: the attempt was ended by someone else.
    Next,
}

/// One legal move of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transition {
    /// What happened.
    pub event: EventKind,
    /// The state before; `None` only for the event that creates the job.
    pub from: Option<State>,
    /// The state after.
    pub to: State,
    /// Who may cause it.
    pub actors: &'static [ActorKind],
    /// What it does to the fence.
    pub fence: FenceStep,
    /// What it does to the attempts counted.
    pub attempt: AttemptStep,
    /// What it says about the last failure.
    pub failure: Failure,
    /// What it does to the attempts whose outcome is unknown.
    pub unsettled: UnsettledStep,
}

const PRODUCER: &[ActorKind] = &[ActorKind::Producer];
const WORKER: &[ActorKind] = &[ActorKind::Worker];
const SYSTEM: &[ActorKind] = &[ActorKind::System];
const OPERATOR: &[ActorKind] = &[ActorKind::Operator];
const WORKER_OR_PRODUCER: &[ActorKind] = &[ActorKind::Worker, ActorKind::Producer];

const fn plain(
    event: EventKind,
    from: State,
    to: State,
    actors: &'static [ActorKind],
) -> Transition {
    Transition {
        event,
        from: Some(from),
        to,
        actors,
        fence: FenceStep::Keep,
        attempt: AttemptStep::Keep,
        failure: Failure::Silent,
        unsettled: UnsettledStep::Keep,
    }
}

impl Transition {
    const fn fence_next(self) -> Self {
        Self {
            fence: FenceStep::Next,
            ..self
        }
    }
    const fn attempt(self, attempt: AttemptStep) -> Self {
        Self { attempt, ..self }
    }
    const fn entered(self) -> Self {
        Self {
            failure: Failure::Entered,
            ..self
        }
    }
    const fn carried(self) -> Self {
        Self {
            failure: Failure::Carried,
            ..self
        }
    }
    const fn unsettled(self) -> Self {
        Self {
            unsettled: UnsettledStep::Next,
            ..self
        }
    }
    const fn created(event: EventKind, to: State) -> Self {
        Self {
            from: None,
            ..plain(event, State::Pending, to, PRODUCER)
        }
    }
    const fn same(event: EventKind, state: State, actors: &'static [ActorKind]) -> Self {
        plain(event, state, state, actors)
    }
}

use EventKind as E;
use State as S;

/// Every legal move, in the order in which the documentation lists them. What is not here is
/// refused.
pub const TABLE: [Transition; 41] = [
    Transition::created(E::Enqueue, S::Ready),
    Transition::created(E::Enqueue, S::Pending),
    plain(E::ChildrenDone, S::Pending, S::Ready, SYSTEM),
    plain(E::Claim, S::Ready, S::Running, WORKER)
        .fence_next()
        .attempt(AttemptStep::Next),
    plain(E::Renew, S::Running, S::Running, WORKER),
    plain(E::Succeed, S::Running, S::Succeeded, WORKER),
    plain(E::Retry, S::Running, S::RetryWait, WORKER).entered(),
    plain(E::Exhaust, S::Running, S::Dead, WORKER).entered(),
    plain(E::Exhaust, S::Running, S::Dead, SYSTEM)
        .entered()
        .unsettled(),
    plain(E::Reject, S::Running, S::Quarantined, WORKER).entered(),
    plain(E::Release, S::Running, S::Ready, WORKER).attempt(AttemptStep::GiveBack),
    plain(E::LeaseExpire, S::Running, S::Ready, SYSTEM)
        .entered()
        .unsettled(),
    plain(E::LeaseExpire, S::Running, S::Dead, SYSTEM)
        .entered()
        .unsettled(),
    plain(E::Due, S::RetryWait, S::Ready, SYSTEM).carried(),
    plain(E::Due, S::Pending, S::Ready, SYSTEM),
    plain(E::Promote, S::RetryWait, S::Ready, OPERATOR).carried(),
    plain(E::Quarantine, S::Pending, S::Quarantined, OPERATOR).carried(),
    plain(E::Quarantine, S::Ready, S::Quarantined, OPERATOR).carried(),
    plain(E::Quarantine, S::RetryWait, S::Quarantined, OPERATOR).carried(),
    plain(E::Quarantine, S::Dead, S::Quarantined, OPERATOR).carried(),
    plain(E::Revoke, S::Running, S::Quarantined, OPERATOR)
        .fence_next()
        .carried()
        .unsettled(),
    plain(E::Redrive, S::Dead, S::Ready, OPERATOR)
        .attempt(AttemptStep::Reset)
        .carried(),
    plain(E::Redrive, S::Quarantined, S::Ready, OPERATOR)
        .attempt(AttemptStep::Reset)
        .carried(),
    plain(E::Discard, S::Dead, S::Discarded, OPERATOR).carried(),
    plain(E::Discard, S::Quarantined, S::Discarded, OPERATOR).carried(),
    Transition::same(E::Duplicate, S::Pending, WORKER_OR_PRODUCER),
    Transition::same(E::Duplicate, S::Ready, WORKER_OR_PRODUCER),
    Transition::same(E::Duplicate, S::Running, WORKER_OR_PRODUCER),
    Transition::same(E::Duplicate, S::RetryWait, WORKER_OR_PRODUCER),
    Transition::same(E::Duplicate, S::Succeeded, WORKER_OR_PRODUCER),
    Transition::same(E::Duplicate, S::Dead, WORKER_OR_PRODUCER),
    Transition::same(E::Duplicate, S::Quarantined, WORKER_OR_PRODUCER),
    Transition::same(E::Duplicate, S::Discarded, WORKER_OR_PRODUCER),
    Transition::same(E::StaleRefused, S::Pending, WORKER),
    Transition::same(E::StaleRefused, S::Ready, WORKER),
    Transition::same(E::StaleRefused, S::Running, WORKER),
    Transition::same(E::StaleRefused, S::RetryWait, WORKER),
    Transition::same(E::StaleRefused, S::Succeeded, WORKER),
    Transition::same(E::StaleRefused, S::Dead, WORKER),
    Transition::same(E::StaleRefused, S::Quarantined, WORKER),
    Transition::same(E::StaleRefused, S::Discarded, WORKER),
];

/// The move that `event` makes from `from` to `to`, if the table holds it for `actor`.
pub fn find(
    event: EventKind,
    from: Option<State>,
    to: State,
    actor: ActorKind,
) -> Option<&'static Transition> {
    TABLE.iter().find(|row| {
        row.event == event && row.from == from && row.to == to && row.actors.contains(&actor)
    })
}

/// Every move that `actor` may cause from `from`.
pub fn legal_from(from: State, actor: ActorKind) -> impl Iterator<Item = &'static Transition> {
    TABLE
        .iter()
        .filter(move |row| row.from == Some(from) && row.actors.contains(&actor))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_leaves_a_terminal_state() {
        for row in &TABLE {
            if let Some(from) = row.from.filter(|from| from.is_terminal()) {
                assert_eq!(row.to, from, "{row:?}");
            }
        }
    }

    #[test]
    fn no_move_stands_twice() {
        for (position, row) in TABLE.iter().enumerate() {
            let twin = TABLE.iter().skip(position + 1).find(|other| {
                let alike = other.event == row.event && other.from == row.from;
                let shared = other.actors.iter().any(|actor| row.actors.contains(actor));
                alike && other.to == row.to && shared
            });
            assert_eq!(twin, None);
        }
    }

    #[test]
    fn every_event_and_every_state_is_reached() {
        for event in EventKind::ALL {
            assert!(TABLE.iter().any(|row| row.event == event), "{event}");
        }
        for state in State::ALL {
            assert!(TABLE.iter().any(|row| row.to == state), "{state}");
        }
    }

    #[test]
    fn only_a_claim_counts_an_attempt_and_only_claim_and_revoke_move_the_fence() {
        for row in &TABLE {
            assert_eq!(
                row.attempt == AttemptStep::Next,
                row.event == EventKind::Claim,
                "{row:?}"
            );
            let moves_fence = matches!(row.event, EventKind::Claim | EventKind::Revoke);
            assert_eq!(row.fence == FenceStep::Next, moves_fence, "{row:?}");
        }
    }

    #[test]
    fn an_attempt_that_its_worker_did_not_end_stays_unsettled() {
        for row in &TABLE {
            let ends = row.from == Some(State::Running) && row.to != State::Running;
            let by_worker = row.actors.contains(&ActorKind::Worker);
            let expected = if ends && !by_worker {
                UnsettledStep::Next
            } else {
                UnsettledStep::Keep
            };
            assert_eq!(row.unsettled, expected, "{row:?}");
        }
    }

    #[test]
    fn whoever_leaves_a_counted_failure_carries_it() {
        for row in &TABLE {
            let leaves = row.from.is_some_and(|from| {
                from != row.to && (from == State::RetryWait || from.is_dead_letter())
            });
            if leaves {
                assert_eq!(row.failure, Failure::Carried, "{row:?}");
            }
        }
    }
}

//! Where a job stands as far as a board counts it: the one reading of an event as "one job less
//! here, one more there". Next: [`super::queue`], which counts places.

use crate::ledger::event::{Event, EventKind, FailureKey};
use crate::ledger::feed::Cell;
use crate::ledger::state::State;
use crate::ledger::text::SafeText;
use crate::ledger::time::Timestamp;

/// A state of a queue with everything that jobs in it are told apart by. Only what belongs to the
/// state is looked at.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) state: State,
    /// The second in which the state was entered.
    pub(crate) since_s: i64,
    /// `retry_wait`, `dead`, `quarantined`: the last failure.
    pub(crate) failure: &'a FailureKey,
    /// `pending`, `retry_wait`: the second that is waited for.
    pub(crate) available_s: Option<i64>,
    /// `running`: the second in which the lease ends.
    pub(crate) lease_s: Option<i64>,
    /// `running`: the holder of the lease.
    pub(crate) worker: Option<&'a SafeText>,
}

impl<'a> Place<'a> {
    /// Where the jobs of a cell stand.
    pub(crate) fn of_cell(cell: &'a Cell) -> Self {
        Self {
            state: cell.state,
            since_s: cell.since_s,
            failure: &cell.failure,
            available_s: cell.available_s,
            lease_s: cell.lease_expires_s,
            worker: cell.worker.as_ref(),
        }
    }

    fn of_event(event: &'a Event, state: State, since_s: i64) -> Self {
        Self {
            state,
            since_s,
            failure: &event.failure,
            available_s: event.available_at.map(Timestamp::second),
            lease_s: event.lease_expires_at.map(Timestamp::second),
            worker: event.worker.as_ref(),
        }
    }
}

/// What an event does to the places of a board.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Step<'a> {
    /// The job stays where it is.
    Stays,
    /// The job is new.
    Enters(Place<'a>),
    /// The job goes from one place to another.
    Moves { from: Place<'a>, to: Place<'a> },
    /// The event does not say where the job came from, so it cannot be counted.
    Unknown { to: Place<'a> },
}

impl<'a> Step<'a> {
    /// Reads an event.
    pub(crate) fn of(event: &'a Event) -> Self {
        let entered = Place::of_event(event, event.to, event.at.second());
        let Some(state) = event.from else {
            return Self::Enters(entered);
        };
        if state == event.to && event.kind != EventKind::Renew {
            return Self::Stays;
        }
        let Some(since) = event.from_since else {
            return Self::Unknown { to: entered };
        };
        let from = Place::of_event(event, state, since.second());
        if event.kind == EventKind::Renew {
            // A renewal moves the end of the lease only: the job has been running since it was
            // claimed.
            let before = event.from_lease_expires_at.map(Timestamp::second);
            return Self::Moves {
                from: Place {
                    lease_s: before,
                    ..from
                },
                to: from,
            };
        }
        Self::Moves { from, to: entered }
    }
}

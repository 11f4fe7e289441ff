//! What became of a settlement whose answer was lost, pure: the reply to a COMMIT may vanish after
//! the change was made, and asking again would then be refused and look like a failure that never
//! was.
//!
//! The job itself knows. While a lease runs by our own clock (which counts from before the claim
//! was sent, so it ends no later than the database's), nobody but its holder moves the job on under
//! the same fence; an operator who revokes it moves the fence. So the fence and the state tell.

use crate::ledger::job::{JobRow, LeaseRef, Outcome, Verdict};
use crate::ledger::state::State;

/// What to do about a settlement whose answer was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Resolution {
    /// It was not made, or it was overtaken: send it, and the ledger settles or records the
    /// refusal.
    SendAgain,
    /// It was made.
    Known(Outcome),
}

/// Reads the true outcome of `verdict` under `lease` from the job as it is now. `lease_over` says
/// whether the lease has ended by our clock, so that somebody else may have moved the job.
pub(super) fn resolve(
    row: Option<&JobRow>,
    lease: LeaseRef,
    verdict: &Verdict,
    lease_over: bool,
) -> Resolution {
    let Some(row) = row else {
        return Resolution::Known(Outcome::NotFound);
    };
    let made = Resolution::Known(Outcome::Applied {
        state: row.state,
        version: row.version,
    });
    let same_fence = row.fence == lease.fence;
    match verdict {
        // Only the holder of the fence can have brought it there, and nothing moves it on.
        Verdict::Succeed { .. } if same_fence && row.state == State::Succeeded => made,
        Verdict::Succeed { .. } => Resolution::SendAgain,
        Verdict::Retry { .. } if same_fence && row.state == State::RetryWait => made,
        Verdict::Retry { .. } | Verdict::Reject { .. } | Verdict::Release => {
            if lease_over || (same_fence && row.state == State::Running) {
                Resolution::SendAgain
            } else if same_fence || !may_be_revoked(row.state) {
                made
            } else {
                Resolution::SendAgain
            }
        }
    }
}

/// Whether a job with a newer fence may have got there by an operator's `revoke` rather than by a
/// new claim after our settlement.
const fn may_be_revoked(state: State) -> bool {
    match state {
        State::Quarantined | State::Discarded | State::Ready => true,
        State::Pending | State::Running | State::RetryWait | State::Succeeded | State::Dead => {
            false
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use uuid::Uuid;

    use super::*;
    use crate::ledger::error_class::ErrorClass;
    use crate::ledger::job::Failed;
    use crate::ledger::time::Timestamp;

    const LEASE: LeaseRef = LeaseRef {
        job: Uuid::nil(),
        fence: 3,
    };

    fn row(state: State, fence: u32) -> JobRow {
        JobRow {
            id: Uuid::nil(),
            idempotency_key: "k".into(),
            queue: "q".into(),
            kind: "kind".into(),
            tenant: "".into(),
            state,
            state_since: Timestamp::default(),
            version: 9,
            fence,
            attempt: 1,
            redrives: 0,
            available_at: Timestamp::default(),
            output_ref: None,
        }
    }

    fn succeed() -> Verdict {
        Verdict::Succeed { output_ref: None }
    }

    fn retry() -> Verdict {
        Verdict::Retry {
            failure: Failed {
                class: ErrorClass::Transient,
                reason: "timeout".to_owned(),
                error: String::new(),
            },
            delay: Duration::ZERO,
        }
    }

    fn applied(state: State) -> Resolution {
        Resolution::Known(Outcome::Applied { state, version: 9 })
    }

    #[test]
    fn a_settlement_that_was_made_is_known_to_be_made() {
        let done = row(State::Succeeded, 3);
        assert_eq!(
            resolve(Some(&done), LEASE, &succeed(), true),
            applied(State::Succeeded)
        );
        for state in [State::RetryWait, State::Ready, State::Dead] {
            let job = row(state, 3);
            assert_eq!(
                resolve(Some(&job), LEASE, &retry(), false),
                applied(state),
                "{state}"
            );
        }
        // The retry was made, came due and was claimed by the next worker already.
        let next = row(State::Running, 4);
        assert_eq!(
            resolve(Some(&next), LEASE, &retry(), false),
            applied(State::Running)
        );
    }

    #[test]
    fn a_settlement_that_was_not_made_is_sent_again() {
        for verdict in [succeed(), retry(), Verdict::Release] {
            let job = row(State::Running, 3);
            assert_eq!(
                resolve(Some(&job), LEASE, &verdict, false),
                Resolution::SendAgain
            );
        }
    }

    #[test]
    fn another_workers_success_is_never_taken_for_our_own() {
        let job = row(State::Succeeded, 4);
        assert_eq!(
            resolve(Some(&job), LEASE, &succeed(), true),
            Resolution::SendAgain
        );
    }

    #[test]
    fn after_the_lease_a_job_that_moved_on_proves_nothing_and_is_asked_about() {
        let job = row(State::Ready, 3);
        assert_eq!(
            resolve(Some(&job), LEASE, &Verdict::Release, true),
            Resolution::SendAgain
        );
    }

    #[test]
    fn a_revoked_job_is_not_taken_for_a_rejected_one() {
        let job = row(State::Quarantined, 4);
        assert_eq!(
            resolve(Some(&job), LEASE, &retry(), false),
            Resolution::SendAgain
        );
    }

    #[test]
    fn a_job_that_is_gone_is_not_found() {
        assert_eq!(
            resolve(None, LEASE, &succeed(), false),
            Resolution::Known(Outcome::NotFound)
        );
    }
}

//! A row of a list as it is stored, and what it becomes: a job, or the name of what cannot be
//! understood.
//!
//! Next: `crate::ledger::view`.

use std::collections::HashMap;

use uuid::Uuid;

use super::{DEAD_LETTERS_MAX, EVENTS_MAX, UNREADABLE_MAX};
use crate::ledger::error_class::ErrorClass;
use crate::ledger::event::EventKind;
use crate::ledger::groups::{DeadLetter, Groups};
use crate::ledger::job::Operation;
use crate::ledger::num;
use crate::ledger::state::State;
use crate::ledger::text::SafeText;
use crate::ledger::time::Timestamp;
use crate::ledger::view::{
    ActKind, Count, DeadLetters, Lease, ListedJob, OperatorAct, Relative, UnreadableJob,
};
use crate::store::StoreError;
use crate::store::row::{RawJob, corrupt, counter, state};

/// A row of `jobs` as lists show it.
#[derive(Debug)]
pub(in crate::store) struct RawListed<'r> {
    pub(in crate::store) job: RawJob<'r>,
    pub(in crate::store) created_at: Timestamp,
    pub(in crate::store) error_class: Option<&'r str>,
    pub(in crate::store) reason: Option<&'r str>,
    pub(in crate::store) error: Option<&'r str>,
    pub(in crate::store) worker: Option<&'r str>,
    pub(in crate::store) lease_expires_at: Option<Timestamp>,
    pub(in crate::store) policy: &'r str,
    pub(in crate::store) policy_version: i64,
    pub(in crate::store) unsettled: i64,
}

impl RawListed<'_> {
    /// The job, if every column can be understood.
    pub(in crate::store) fn check(self) -> Result<ListedJob, StoreError> {
        let job = self.job.id;
        let class = match self.error_class {
            Some(name) => {
                Some(ErrorClass::parse(name).ok_or_else(|| corrupt(job, "error_class", name))?)
            }
            None => None,
        };
        Ok(ListedJob {
            created_at: self.created_at,
            class,
            reason: self.reason.map(SafeText::new),
            error: self.error.map(SafeText::new),
            worker: self.worker.map(SafeText::new),
            lease_expires_at: self.lease_expires_at,
            policy: SafeText::new(self.policy),
            policy_version: counter(job, "policy_version", self.policy_version)?,
            unsettled: counter(job, "unsettled", self.unsettled)?,
            row: self.job.check()?,
        })
    }
}

/// What a list shows of a row: the thing itself, or what of it cannot be understood. Any other
/// error ends the reading.
pub(in crate::store) fn readable<T>(
    read: Result<T, StoreError>,
) -> Result<Result<T, UnreadableJob>, StoreError> {
    match read {
        Ok(done) => Ok(Ok(done)),
        Err(StoreError::Corrupt { job, column, value }) => {
            Ok(Err(UnreadableJob { job, column, value }))
        }
        Err(other) => Err(other),
    }
}

/// The rows of a page without the one that tells whether there are more.
pub(in crate::store) fn split<R>(rows: &[R], limit: u64) -> (&[R], bool) {
    let limit = num::index(limit);
    match rows.get(..limit) {
        Some(shown) if rows.len() > limit => (shown, true),
        Some(_) | None => (rows, false),
    }
}

/// A number of rows that was counted no further than `at_most`.
pub(in crate::store) const fn counted(counted: u64, at_most: u64) -> Count {
    if counted > at_most {
        Count::AtLeast(at_most)
    } else {
        Count::Exact(counted)
    }
}

/// A running job as a lease: it entered its state when it was claimed.
pub(in crate::store) fn lease(job: ListedJob, renewals: i64) -> Lease {
    Lease {
        claimed_at: job.row.state_since,
        renewals: u32::try_from(renewals).unwrap_or(u32::MAX),
        job,
    }
}

/// A row of `jobs` as groups need it.
#[derive(Debug)]
pub(in crate::store) struct RawLetter<'r> {
    pub(in crate::store) id: Uuid,
    pub(in crate::store) state: &'r str,
    pub(in crate::store) since: Timestamp,
    pub(in crate::store) error_class: Option<&'r str>,
    pub(in crate::store) reason: Option<&'r str>,
    pub(in crate::store) error: Option<&'r str>,
    pub(in crate::store) queue: &'r str,
    pub(in crate::store) tenant: &'r str,
    pub(in crate::store) policy: &'r str,
    pub(in crate::store) policy_version: i64,
    pub(in crate::store) redrives: i64,
    pub(in crate::store) unsettled: i64,
}

impl<'r> RawLetter<'r> {
    fn check(self) -> Result<DeadLetter<'r>, StoreError> {
        let job = self.id;
        let class = match self.error_class {
            Some(name) => {
                Some(ErrorClass::parse(name).ok_or_else(|| corrupt(job, "error_class", name))?)
            }
            None => None,
        };
        Ok(DeadLetter {
            id: job,
            state: state(job, "state", self.state)?,
            since: self.since,
            class,
            reason: self.reason,
            error: self.error,
            queue: self.queue,
            tenant: self.tenant,
            policy: self.policy,
            policy_version: counter(job, "policy_version", self.policy_version)?,
            redrives: counter(job, "redrives", self.redrives)?,
            unsettled: counter(job, "unsettled", self.unsettled)?,
        })
    }
}

/// Dead letters that are being grouped as they are read.
#[derive(Debug)]
pub(in crate::store) struct Letters {
    as_of: Timestamp,
    groups: Groups,
    read: HashMap<State, u64>,
    beyond: bool,
    unreadable: Vec<UnreadableJob>,
}

impl Letters {
    pub(in crate::store) fn new(as_of: Timestamp) -> Self {
        Self {
            as_of,
            groups: Groups::default(),
            read: HashMap::new(),
            beyond: false,
            unreadable: Vec::new(),
        }
    }

    /// Takes one row; the last of a state only tells that there are more.
    pub(in crate::store) fn add(
        &mut self,
        raw: Result<RawLetter<'_>, StoreError>,
    ) -> Result<(), StoreError> {
        match readable(raw.and_then(RawLetter::check))? {
            Ok(letter) => {
                let read = self.read.entry(letter.state).or_default();
                if *read >= DEAD_LETTERS_MAX {
                    self.beyond = true;
                } else {
                    *read = read.saturating_add(1);
                    self.groups.add(&letter);
                }
            }
            Err(unreadable) if self.unreadable.len() < UNREADABLE_MAX => {
                self.unreadable.push(unreadable);
            }
            Err(_beyond_what_is_named) => {}
        }
        Ok(())
    }

    pub(in crate::store) fn finish(self) -> DeadLetters {
        let counted = self.groups.counted();
        let (groups, beyond) = self.groups.finish();
        DeadLetters {
            as_of: self.as_of,
            groups,
            beyond,
            counted: if self.beyond {
                Count::AtLeast(counted)
            } else {
                Count::Exact(counted)
            },
            unreadable: self.unreadable,
        }
    }
}

/// An operator's event as it is stored.
#[derive(Debug)]
pub(in crate::store) struct RawAct<'r> {
    pub(in crate::store) at: Timestamp,
    pub(in crate::store) job: Uuid,
    pub(in crate::store) version: i64,
    pub(in crate::store) queue: &'r str,
    pub(in crate::store) event: &'r str,
    pub(in crate::store) from_state: Option<&'r str>,
    pub(in crate::store) to_state: &'r str,
    pub(in crate::store) actor: &'r str,
    pub(in crate::store) db_user: Option<&'r str>,
    pub(in crate::store) note: Option<&'r str>,
    pub(in crate::store) plan: Option<Uuid>,
    /// Of an act on a plan: what it does, and to how many jobs.
    pub(in crate::store) of_plan: Option<(&'r str, i64)>,
}

impl RawAct<'_> {
    /// The act, if every column can be understood.
    pub(in crate::store) fn check(self) -> Result<OperatorAct, StoreError> {
        if let Some((operation, jobs)) = self.of_plan {
            return self.check_plan(operation, jobs);
        }
        let job = self.job;
        let from = match self.from_state {
            Some(name) => Some(state(job, "from_state", name)?),
            None => None,
        };
        Ok(OperatorAct {
            at: self.at,
            actor: SafeText::new(self.actor),
            db_user: self.db_user.map(SafeText::new),
            what: ActKind::Job {
                id: job,
                version: counter(job, "version", self.version)?,
                queue: SafeText::new(self.queue),
                event: EventKind::parse(self.event)
                    .ok_or_else(|| corrupt(job, "event", self.event))?,
                from,
                to: state(job, "to_state", self.to_state)?,
            },
            note: self.note.map(SafeText::new),
            plan: self.plan,
        })
    }

    fn check_plan(self, operation: &str, jobs: i64) -> Result<OperatorAct, StoreError> {
        Ok(OperatorAct {
            at: self.at,
            actor: SafeText::new(self.actor),
            db_user: self.db_user.map(SafeText::new),
            what: ActKind::Plan {
                operation: Operation::parse(operation)
                    .ok_or_else(|| corrupt(self.job, "operation", operation))?,
                step: SafeText::new(self.event),
                jobs: num::unsigned(jobs),
            },
            note: self.note.map(SafeText::new),
            plan: self.plan,
        })
    }
}

/// A parent or a child as it is stored.
#[derive(Debug)]
pub(in crate::store) struct RawRelative<'r> {
    pub(in crate::store) key: &'r str,
    pub(in crate::store) required: bool,
    pub(in crate::store) job: Option<(Uuid, &'r str)>,
}

impl RawRelative<'_> {
    /// The relative, if its state can be understood.
    pub(in crate::store) fn check(self) -> Result<Relative, StoreError> {
        let job = match self.job {
            Some((id, name)) => Some((id, state(id, "state", name)?)),
            None => None,
        };
        Ok(Relative {
            idempotency_key: SafeText::new(self.key),
            required: self.required,
            job,
        })
    }
}

/// Which events of a job with so many are read: those up to the first number, and those from the
/// second on; and how many lie between.
pub(in crate::store) fn events_around(version: u32) -> (i64, i64, u64) {
    if version <= EVENTS_MAX {
        return (i64::from(version), i64::from(version).saturating_add(1), 0);
    }
    let half = EVENTS_MAX / 2;
    let from = version.saturating_sub(half).saturating_add(1);
    let between = from.saturating_sub(half).saturating_sub(1);
    (i64::from(half), i64::from(from), u64::from(between))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_very_many_events_the_first_and_the_last_are_read() {
        assert_eq!(events_around(1), (1, 2, 0));
        assert_eq!(events_around(1_000), (1_000, 1_001, 0));
        assert_eq!(events_around(1_001), (500, 502, 1));
        let (first, from, left_out) = events_around(5_000);
        assert_eq!((first, from), (500, 4_501));
        assert_eq!(left_out, 4_000);
    }

    #[test]
    fn a_row_beyond_the_page_only_tells_that_there_are_more() {
        assert_eq!(split(&[1, 2, 3], 2), (&[1, 2][..], true));
        assert_eq!(split(&[1, 2], 2), (&[1, 2][..], false));
        assert_eq!(split::<u8>(&[], 2), (&[][..], false));
        assert_eq!(counted(6, 5), Count::AtLeast(5));
        assert_eq!(counted(5, 5), Count::Exact(5));
    }
}

//! The jobs a worker holds, and what it believes about their leases. Pure bookkeeping over moments
//! that are passed in; knows neither the ledger nor a clock.
//!
//! Deadlines are moments of the monotonic clock, counted from before the claim or renewal was sent,
//! so that a lease ends here no later than in the database, and a step of the wall clock changes
//! nothing. Of one job, a renewal and a settlement are never under way at the same time: the one
//! that lost the race would be refused and recorded as stale though nothing was. Next:
//! [`super::engine`].

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use tokio::task::Id;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::ledger::job::{Claimed, LeaseRef, Settlement, Verdict};

/// Where a held job stands.
#[derive(Debug)]
pub(super) enum Phase {
    /// Its handler runs.
    Running,
    /// Its handler was told to stop and has not ended yet.
    Stopping(Stop),
    /// Its attempt has ended and waits to be settled.
    Finished {
        /// How it ended.
        verdict: Verdict,
        /// What is known of sending the settlement.
        sent: Sent,
    },
    /// Its settlement is under way.
    Settling,
}

/// What is known of sending a settlement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sent {
    /// It was not sent yet.
    Never,
    /// It was sent and was not made.
    NotMade,
    /// It was sent and the answer was lost. Sent again, it is answered as it was then; a renewal
    /// meanwhile would be refused, and recorded, if it was made.
    PerhapsMade,
}

/// Why a handler was told to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    /// The ledger refused a renewal, and recorded that: there is nothing to settle.
    Lost,
    /// The lease ended by our clock, because no renewal came through.
    LeaseOver,
    /// The worker shuts down.
    Release,
}

/// A held job.
#[derive(Debug)]
pub(super) struct Entry {
    /// The job.
    pub(super) job: Arc<Claimed>,
    /// Where it stands.
    pub(super) phase: Phase,
    /// When its lease ends.
    deadline: Instant,
    /// When it is to be renewed.
    renew_at: Instant,
    /// Whether a renewal is under way.
    renewing: bool,
    /// Tells its handler to stop.
    cancel: CancellationToken,
    /// The task its handler runs in.
    task: Option<Id>,
}

/// A job to be held, and how.
#[derive(Debug)]
pub(super) struct Admission {
    /// The job.
    pub(super) job: Arc<Claimed>,
    /// Where it stands.
    pub(super) phase: Phase,
    /// When the claim was sent.
    pub(super) sent: Instant,
    /// Tells its handler to stop.
    pub(super) cancel: CancellationToken,
    /// The task its handler runs in.
    pub(super) task: Option<Id>,
}

/// Every job that a worker holds; at most its concurrency.
#[derive(Debug)]
pub(super) struct Flight {
    entries: HashMap<LeaseRef, Entry>,
    /// In the order in which they ended; may name jobs that are held no longer.
    finished: VecDeque<LeaseRef>,
    /// Let go though the ledger may still count them as this worker's, and when.
    left: HashMap<LeaseRef, Instant>,
    lease: Duration,
    /// No lease needs a look before this moment.
    watch_at: Option<Instant>,
}

/// What a look over the leases found.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Watched {
    /// To be renewed now; marked as being renewed.
    pub(super) renew: Vec<LeaseRef>,
    /// Results given up: their lease ended long ago and the ledger cannot be asked.
    pub(super) given_up: Vec<LeaseRef>,
}

impl Flight {
    /// Nothing held yet; leases last `lease`.
    pub(super) fn new(lease: Duration) -> Self {
        Self {
            entries: HashMap::new(),
            finished: VecDeque::new(),
            left: HashMap::new(),
            lease,
            watch_at: None,
        }
    }

    /// How many jobs are held.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The queues of the jobs that are held, without those that are being settled: their places are
    /// free by the time that anything is claimed beside them.
    pub(super) fn queues(&self) -> impl Iterator<Item = &str> {
        let held = self.entries.values();
        held.filter(|entry| !matches!(entry.phase, Phase::Settling))
            .map(|entry| entry.job.queue.as_str())
    }

    /// The held job of that lease.
    pub(super) fn get(&self, lease: LeaseRef) -> Option<&Entry> {
        self.entries.get(&lease)
    }

    /// The lease whose handler runs in that task.
    pub(super) fn of_task(&self, task: Id) -> Option<LeaseRef> {
        let found = self
            .entries
            .iter()
            .find(|(_, entry)| entry.task == Some(task));
        found.map(|(lease, _)| *lease)
    }

    /// Holds a job.
    pub(super) fn admit(&mut self, admission: Admission) {
        let lease = LeaseRef {
            job: admission.job.id,
            fence: admission.job.fence,
        };
        if matches!(admission.phase, Phase::Finished { .. }) {
            self.finished.push_back(lease);
        }
        let renew_at = admission.sent + self.lease / 3;
        self.entries.insert(
            lease,
            Entry {
                job: admission.job,
                phase: admission.phase,
                deadline: admission.sent + self.lease,
                renew_at,
                renewing: false,
                cancel: admission.cancel,
                task: admission.task,
            },
        );
        self.watch_by(renew_at);
    }

    /// Lets go of a job.
    pub(super) fn forget(&mut self, lease: LeaseRef) -> Option<Entry> {
        self.entries.remove(&lease)
    }

    /// Lets go of a job whose lease is left to run out.
    pub(super) fn leave(&mut self, lease: LeaseRef, now: Instant) {
        self.entries.remove(&lease);
        // Nobody renews those leases, so the ledger has ended them by then.
        let over = self.lease * 2;
        self.left.retain(|_, since| *since + over > now);
        self.left.insert(lease, now);
    }

    /// Whether the job is held, or was let go a short while ago.
    pub(super) fn knows(&self, lease: LeaseRef) -> bool {
        self.entries.contains_key(&lease) || self.left.contains_key(&lease)
    }

    /// Notes how the attempt of a held job ended; it is settled next.
    pub(super) fn finish(&mut self, lease: LeaseRef, verdict: Verdict) {
        self.put_back(lease, verdict, Sent::Never);
    }

    /// Takes up to `most` results to be settled together, oldest first, and their lanes' jobs.
    pub(super) fn take_settlements(&mut self, most: usize) -> Vec<Settlement> {
        let mut taken = Vec::new();
        for _ in 0..self.finished.len() {
            if taken.len() == most {
                break;
            }
            let Some(lease) = self.finished.pop_front() else {
                break;
            };
            let Some(entry) = self.entries.get_mut(&lease) else {
                continue;
            };
            if entry.renewing {
                self.finished.push_back(lease);
                continue;
            }
            match std::mem::replace(&mut entry.phase, Phase::Settling) {
                Phase::Finished { verdict, .. } => taken.push(Settlement { lease, verdict }),
                other @ (Phase::Running | Phase::Stopping(_) | Phase::Settling) => {
                    entry.phase = other;
                }
            }
        }
        taken
    }

    /// A settlement under way had no good answer: it is to be sent again.
    pub(super) fn send_again(&mut self, settlement: Settlement, sent: Sent) {
        self.put_back(settlement.lease, settlement.verdict, sent);
    }

    /// A renewal sent at `sent` was made.
    pub(super) fn renewed(&mut self, lease: LeaseRef, sent: Instant) {
        let (deadline, renew_at) = (sent + self.lease, sent + self.lease / 3);
        if let Some(entry) = self.entries.get_mut(&lease) {
            entry.renewing = false;
            entry.deadline = deadline;
            entry.renew_at = renew_at;
            self.watch_by(renew_at);
        }
    }

    /// A renewal did not come through; the next is tried at `again`.
    pub(super) fn not_renewed(&mut self, lease: LeaseRef, again: Instant) {
        if let Some(entry) = self.entries.get_mut(&lease) {
            entry.renewing = false;
            entry.renew_at = again;
            let watch = again.min(entry.deadline);
            self.watch_by(watch);
        }
    }

    /// The ledger refused a renewal: somebody else decides about the job now. Its handler is told
    /// to stop; what has ended already is let go.
    pub(super) fn lost(&mut self, lease: LeaseRef) {
        let Some(entry) = self.entries.get_mut(&lease) else {
            return;
        };
        entry.renewing = false;
        match entry.phase {
            Phase::Running | Phase::Stopping(_) => {
                entry.phase = Phase::Stopping(Stop::Lost);
                entry.cancel.cancel();
            }
            Phase::Finished { .. } | Phase::Settling => {
                self.entries.remove(&lease);
            }
        }
    }

    /// Tells every running handler to stop, at the end of a shutdown's grace.
    pub(super) fn stop_all(&mut self) {
        for entry in self.entries.values_mut() {
            if matches!(entry.phase, Phase::Running) {
                entry.phase = Phase::Stopping(Stop::Release);
                entry.cancel.cancel();
            }
        }
    }

    /// Lets go of the jobs whose handlers did not end though they were told to.
    pub(super) fn abandon_stopping(&mut self, now: Instant) -> Vec<LeaseRef> {
        let held: Vec<LeaseRef> = self
            .entries
            .iter()
            .filter(|(_, entry)| matches!(entry.phase, Phase::Running | Phase::Stopping(_)))
            .map(|(lease, _)| *lease)
            .collect();
        for lease in &held {
            self.leave(*lease, now);
        }
        held
    }

    /// When the leases need a look next.
    pub(super) fn watch_at(&self) -> Option<Instant> {
        self.watch_at
    }

    /// Looks over the leases where it is time: marks up to `most` for renewal, stops handlers whose
    /// lease has ended, gives up results that nobody can take any more.
    pub(super) fn watch(&mut self, now: Instant, most: usize) -> Watched {
        let mut found = Watched::default();
        if self.watch_at.is_none_or(|at| at > now) {
            return found;
        }
        let mut next: Option<Instant> = None;
        for (lease, entry) in &mut self.entries {
            let mut at = entry.renew_at.min(entry.deadline);
            match &entry.phase {
                Phase::Running if entry.deadline <= now => {
                    entry.phase = Phase::Stopping(Stop::LeaseOver);
                    entry.cancel.cancel();
                    continue;
                }
                Phase::Finished { sent, .. }
                    if *sent != Sent::Never && entry.deadline + self.lease <= now =>
                {
                    found.given_up.push(*lease);
                    continue;
                }
                Phase::Running | Phase::Finished { .. } => {}
                // Neither is renewed; each comes back to `Finished`, which sets the next look.
                Phase::Stopping(_) | Phase::Settling => continue,
            }
            let perhaps_settled = matches!(
                entry.phase,
                Phase::Finished {
                    sent: Sent::PerhapsMade,
                    ..
                }
            );
            if entry.deadline <= now || perhaps_settled {
                at = entry.deadline + self.lease;
            } else if entry.renewing {
                at = entry.deadline;
            } else if entry.renew_at <= now && found.renew.len() < most {
                entry.renewing = true;
                found.renew.push(*lease);
                at = entry.deadline;
            }
            // What could not be done now is looked at again soon, not at once for ever.
            let at = if at <= now { now + self.lease / 12 } else { at };
            next = Some(next.map_or(at, |earlier| earlier.min(at)));
        }
        self.watch_at = next;
        for lease in &found.given_up {
            self.leave(*lease, now);
        }
        found
    }

    fn put_back(&mut self, lease: LeaseRef, verdict: Verdict, sent: Sent) {
        if let Some(entry) = self.entries.get_mut(&lease) {
            entry.phase = Phase::Finished { verdict, sent };
            entry.task = None;
            let watch = entry.renew_at;
            self.finished.push_back(lease);
            self.watch_by(watch);
        }
    }

    fn watch_by(&mut self, at: Instant) {
        self.watch_at = Some(self.watch_at.map_or(at, |earlier| earlier.min(at)));
    }
}

#[cfg(test)]
pub(super) mod tests;

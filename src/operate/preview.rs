//! What an act will change, before it does: counted, with what is left alone and why.
//!
//! Pure: jobs as they were seen are added one after the other, and only a sample of them is kept,
//! so that a set of any size can be previewed. Next: `receipt`.

use std::collections::BTreeMap;

use super::{TYPED_COUNT_FROM, Target};
use crate::ledger::job::Operation;
use crate::ledger::plan::Plan;
use crate::ledger::state::State;
use crate::ledger::time::Timestamp;
use crate::ledger::view::{Count, ListedJob};
use crate::store::plans::PlanOutline;

/// The most jobs that are shown by name.
pub const SAMPLE_MAX: usize = 5;

/// What an act will change.
#[derive(Debug, Clone, PartialEq)]
pub struct Preview {
    /// What will be done to each job.
    pub operation: Operation,
    /// When the jobs were read, by the database's clock.
    pub as_of: Timestamp,
    /// How many jobs will change.
    pub changes: Count,
    /// By state, in the order of [`State::ALL`]; states without a job are left out.
    pub states: Vec<(State, u64)>,
    /// Since when the one is in its state that is in it longest.
    pub oldest: Option<Timestamp>,
    /// The first jobs that will change.
    pub sample: Vec<ListedJob>,
    /// Jobs that were asked for and are left alone.
    pub skipped: Skips,
    /// How many that will change have an attempt whose outcome nobody reported: its effect may
    /// have happened (row C14). To be looked at before a redrive.
    pub unsettled: u64,
    /// How many that will change were redriven before.
    pub redriven_before: u64,
    targets: Vec<Target>,
}

/// What is left alone, by the reason.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Skips {
    by_state: BTreeMap<State, u64>,
    /// Names that no job has.
    pub not_found: u64,
}

/// Jobs that are left alone for one reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Skipped {
    /// The state that the operation may not leave; `None` where there is no such job.
    pub state: Option<State>,
    /// How many.
    pub jobs: u64,
}

impl Skips {
    /// Each reason with its number of jobs.
    pub fn each(&self) -> impl Iterator<Item = Skipped> {
        let states = self.by_state.iter().map(|(state, jobs)| Skipped {
            state: Some(*state),
            jobs: *jobs,
        });
        let missing = (self.not_found > 0).then_some(Skipped {
            state: None,
            jobs: self.not_found,
        });
        states.chain(missing)
    }

    /// How many in all.
    pub fn total(&self) -> u64 {
        self.each().map(|skipped| skipped.jobs).sum()
    }

    /// Counts jobs in a state that the operation may not leave.
    pub fn add(&mut self, state: State, jobs: u64) {
        if jobs > 0 {
            *self.by_state.entry(state).or_default() += jobs;
        }
    }
}

impl Skipped {
    /// Why, in words, e.g. `succeeded: redrive leaves only dead and quarantined jobs`.
    pub fn why(self, operation: Operation) -> String {
        let Some(state) = self.state else {
            return "there is no such job".to_owned();
        };
        let may: Vec<&str> = State::ALL
            .into_iter()
            .filter(|from| operation.may_leave(*from))
            .map(State::name)
            .collect();
        let only = match may.split_last() {
            Some((last, [])) => (*last).to_owned(),
            Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
            None => "no".to_owned(),
        };
        let hint = match (operation, state) {
            (Operation::Quarantine, State::Running) => "; revoke takes a running job",
            _ => "",
        };
        format!("{state}: {} takes only {only} jobs{hint}", operation.name())
    }
}

impl Preview {
    /// Nothing yet.
    pub fn new(operation: Operation, as_of: Timestamp) -> Self {
        Self {
            operation,
            as_of,
            changes: Count::Exact(0),
            states: Vec::new(),
            oldest: None,
            sample: Vec::new(),
            skipped: Skips::default(),
            unsettled: 0,
            redriven_before: 0,
            targets: Vec::new(),
        }
    }

    /// What will happen to these jobs.
    pub fn of(operation: Operation, as_of: Timestamp, jobs: &[ListedJob]) -> Self {
        let mut preview = Self::new(operation, as_of);
        for job in jobs {
            preview.add(job);
        }
        preview
    }

    /// What a plan will change, as its draft was counted. Names no jobs: the plan holds them.
    pub fn of_plan(plan: &Plan, outline: &PlanOutline) -> Self {
        Self {
            changes: Count::Exact(plan.progress.total),
            states: outline.states.clone(),
            oldest: outline.oldest,
            unsettled: outline.unsettled,
            redriven_before: outline.redriven_before,
            ..Self::new(plan.operation, outline.as_of)
        }
    }

    /// Counts one job more, as it was seen.
    pub fn add(&mut self, job: &ListedJob) {
        let row = &job.row;
        if !self.operation.may_leave(row.state) {
            self.skipped.add(row.state, 1);
            return;
        }
        self.changes = Count::Exact(self.at_least() + 1);
        self.count_state(row.state);
        self.oldest = Some(match self.oldest {
            Some(oldest) => oldest.min(row.state_since),
            None => row.state_since,
        });
        self.unsettled += u64::from(job.unsettled > 0);
        self.redriven_before += u64::from(row.redrives > 0);
        if self.sample.len() < SAMPLE_MAX {
            self.sample.push(job.clone());
        }
        self.targets.push(Target {
            job: row.id,
            version: row.version,
        });
    }

    fn count_state(&mut self, state: State) {
        match self.states.binary_search_by_key(&state, |(each, _)| *each) {
            Ok(place) => {
                if let Some((_, jobs)) = self.states.get_mut(place) {
                    *jobs += 1;
                }
            }
            Err(place) => self.states.insert(place, (state, 1)),
        }
    }

    /// Says that there are more jobs than were added: every number is a lower bound.
    pub const fn cut(&mut self) {
        self.changes = Count::AtLeast(self.at_least());
    }

    /// The jobs that will change, bound to the versions seen.
    pub fn targets(&self) -> &[Target] {
        &self.targets
    }

    /// How many jobs will change, at least.
    pub const fn at_least(&self) -> u64 {
        match self.changes {
            Count::Exact(jobs) | Count::AtLeast(jobs) => jobs,
        }
    }

    /// Whether it is to be confirmed by typing the number of jobs.
    pub const fn needs_typed_count(&self) -> bool {
        self.at_least() >= TYPED_COUNT_FROM
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::ledger::job::JobRow;
    use crate::ledger::text::SafeText;

    fn job(state: State, since_s: i64, redrives: u32, unsettled: u32) -> ListedJob {
        ListedJob {
            row: JobRow {
                id: Uuid::now_v7(),
                idempotency_key: SafeText::new("key"),
                queue: SafeText::new("mail"),
                kind: SafeText::new("send"),
                tenant: SafeText::default(),
                state,
                state_since: Timestamp::from_seconds(since_s),
                version: 4,
                fence: 1,
                attempt: 1,
                redrives,
                available_at: Timestamp::from_seconds(0),
                output_ref: None,
            },
            created_at: Timestamp::from_seconds(0),
            class: None,
            reason: None,
            error: None,
            worker: None,
            lease_expires_at: None,
            policy: SafeText::new("default"),
            policy_version: 1,
            unsettled,
        }
    }

    #[test]
    fn a_preview_counts_what_will_change_and_what_will_not() {
        let jobs = [
            job(State::Quarantined, 50, 0, 1),
            job(State::Dead, 40, 2, 0),
            job(State::Succeeded, 1, 0, 0),
            job(State::Dead, 60, 0, 0),
        ];
        let preview = Preview::of(Operation::Redrive, Timestamp::from_seconds(99), &jobs);
        assert_eq!(preview.changes, Count::Exact(3));
        assert_eq!(preview.states, [(State::Dead, 2), (State::Quarantined, 1)]);
        assert_eq!(preview.oldest, Some(Timestamp::from_seconds(40)));
        assert_eq!((preview.unsettled, preview.redriven_before), (1, 1));
        let skipped: Vec<Skipped> = preview.skipped.each().collect();
        assert_eq!(skipped.len(), 1);
        assert_eq!(
            skipped[0].why(Operation::Redrive),
            "succeeded: redrive takes only dead and quarantined jobs"
        );
        assert_eq!(preview.targets().len(), 3);
        assert!(!preview.needs_typed_count());
    }

    #[test]
    fn a_large_set_keeps_a_sample_and_wants_its_number_typed() {
        let jobs = vec![job(State::Running, 1, 0, 0); 30];
        let preview = Preview::of(Operation::Revoke, Timestamp::from_seconds(9), &jobs);
        assert_eq!(preview.sample.len(), SAMPLE_MAX);
        assert!(preview.needs_typed_count());
        let none = Preview::of(Operation::Quarantine, Timestamp::from_seconds(9), &jobs);
        assert_eq!(none.changes, Count::Exact(0));
        let why = none
            .skipped
            .each()
            .next()
            .unwrap()
            .why(Operation::Quarantine);
        assert!(why.contains("revoke takes a running job"), "{why}");
    }
}

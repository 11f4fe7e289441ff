//! Marked jobs, by id. Marks survive refreshes, filters and detours; each keeps what was last seen
//! of its job, so that one that is no longer listed can still be named.

use std::collections::{BTreeMap, BTreeSet};

use uuid::Uuid;

use crate::ledger::job::JobRow;
use crate::ledger::view::ListedJob;

/// The most jobs that can be marked: more are a filter, which a plan takes as it is.
pub const MARKS_MAX: usize = 1_000;

/// Marked jobs.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Marks {
    jobs: BTreeMap<Uuid, JobRow>,
    range: Option<Uuid>,
}

impl Marks {
    /// How many.
    pub fn len(&self) -> usize {
        self.jobs.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }

    /// Whether no more can be marked.
    pub fn is_full(&self) -> bool {
        self.jobs.len() >= MARKS_MAX
    }

    /// Whether a job is marked.
    pub fn holds(&self, job: Uuid) -> bool {
        self.jobs.contains_key(&job)
    }

    /// The marked jobs as they were last seen, in order of id.
    pub fn jobs(&self) -> impl Iterator<Item = &JobRow> {
        self.jobs.values()
    }

    /// Marks a job, or takes its mark away.
    pub fn toggle(&mut self, job: &JobRow) {
        if self.jobs.remove(&job.id).is_none() {
            self.add(job);
        }
    }

    /// Marks a job, where there is room.
    pub fn add(&mut self, job: &JobRow) {
        if !self.is_full() {
            self.jobs.insert(job.id, job.clone());
        }
    }

    /// Takes every mark away.
    pub fn clear(&mut self) {
        self.jobs.clear();
        self.range = None;
    }

    /// Where a range of marks begins, if one was begun.
    pub const fn range(&self) -> Option<Uuid> {
        self.range
    }

    /// Begins a range at a job.
    pub const fn begin_range(&mut self, job: Uuid) {
        self.range = Some(job);
    }

    /// Ends the range without marking. Returns whether there was one.
    pub const fn drop_range(&mut self) -> bool {
        self.range.take().is_some()
    }

    /// Marks the rows between the beginning of the range and `selected`, both included.
    pub fn end_range(&mut self, rows: &[ListedJob], selected: Uuid) {
        let Some((from, to)) = self.range_rows(rows, Some(selected)) else {
            self.range = None;
            return;
        };
        for listed in rows.get(from..=to).unwrap_or_default() {
            self.add(&listed.row);
        }
        self.range = None;
    }

    /// The first and the last row of the range, where both its ends are listed.
    pub fn range_rows(&self, rows: &[ListedJob], selected: Option<Uuid>) -> Option<(usize, usize)> {
        let at = |job: Uuid| rows.iter().position(|listed| listed.row.id == job);
        let (from, to) = (at(self.range?)?, at(selected?)?);
        Some((from.min(to), from.max(to)))
    }

    /// Keeps what was last seen of the marked jobs.
    pub fn seen(&mut self, rows: &[ListedJob]) {
        for listed in rows {
            if let Some(known) = self.jobs.get_mut(&listed.row.id) {
                known.clone_from(&listed.row);
            }
        }
    }

    /// The marked jobs that are not among `rows`.
    pub fn unlisted(&self, rows: &[ListedJob]) -> Vec<&JobRow> {
        let listed: BTreeSet<Uuid> = rows.iter().map(|listed| listed.row.id).collect();
        self.jobs()
            .filter(|job| !listed.contains(&job.id))
            .collect()
    }
}

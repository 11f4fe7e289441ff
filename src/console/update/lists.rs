//! What keys do in a list of jobs: moving, marking, sorting.

use crate::console::model::{Item, JobsState, Listing};
use crate::ledger::view::ListedJob;

/// Moves the selection by `lines`; the extremes are the ends of the list.
pub(super) fn step<T: Item>(list: &mut Listing<T>, lines: i64) {
    match lines {
        i64::MIN => list.first(),
        i64::MAX => list.last(),
        lines => list.step(lines),
    }
}

/// Marks the selected job or takes its mark away, and goes on to the next; ends a range.
pub(super) fn mark(jobs: &mut JobsState) {
    if jobs.marks.range().is_some() {
        mark_range(jobs);
        return;
    }
    if let Some(job) = selected(jobs) {
        jobs.marks.toggle(&job.row);
        jobs.list.step(1);
    }
}

/// Begins a range of marks at the selected job, or marks all of the range.
pub(super) fn mark_range(jobs: &mut JobsState) {
    let Some(job) = selected(jobs) else {
        return;
    };
    if jobs.marks.range().is_some() {
        jobs.marks.end_range(&jobs.list.rows, job.row.id);
    } else {
        jobs.marks.begin_range(job.row.id);
    }
}

fn selected(jobs: &JobsState) -> Option<ListedJob> {
    jobs.list.selected_row().cloned()
}

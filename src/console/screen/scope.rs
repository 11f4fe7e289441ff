//! What a pane is about: everything, or one queue; and over which window.

use crate::board::format::{coarse, count};
use crate::board::limits::QueueLimits;
use crate::board::summary::{QueueSummary, Summary};
use crate::console::model::Model;
use crate::ledger::text::SafeText;

/// The numbers that a pane shows, and how to read them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scope<'a> {
    /// The board as a whole.
    pub summary: &'a Summary,
    /// The numbers of the scope.
    pub numbers: &'a QueueSummary,
    /// What they are held against.
    pub limits: &'a QueueLimits,
    /// The queue; `None` for all of them.
    pub queue: Option<&'a SafeText>,
}

impl<'a> Scope<'a> {
    /// Everything; `None` before anything was counted.
    pub(super) fn whole(model: &'a Model) -> Option<Self> {
        let summary = &model.shown.as_ref()?.summary;
        Some(Self {
            summary,
            numbers: &summary.total,
            limits: &model.fixed.limits.default,
            queue: None,
        })
    }

    /// One queue; `None` where it has neither jobs nor events in the window.
    pub(super) fn of(model: &'a Model, queue: &'a SafeText) -> Option<Self> {
        let summary = &model.shown.as_ref()?.summary;
        Some(Self {
            summary,
            numbers: summary.queues.iter().find(|each| each.queue == *queue)?,
            limits: model.fixed.limits.of(queue.as_str()),
            queue: Some(queue),
        })
    }

    /// The window, e.g. ` · 15m`.
    pub(super) fn window(&self) -> String {
        format!(" · {}", coarse(self.summary.window))
    }

    /// A count of the window: at least, while the window is not full.
    pub(super) fn counted(&self, value: u64) -> String {
        if self.summary.is_exact() {
            count(value)
        } else {
            format!("≥{}", count(value))
        }
    }
}

//! The screens, each with its own state. What lies behind a screen is carried along, so that a
//! detour changes neither filter nor selection.

use crate::ledger::text::SafeText;

use super::field::Filter;
use super::order::Order;

/// What a person has chosen on the overview.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OverviewState {
    /// The selected queue, by name.
    pub selected: Option<SafeText>,
    /// Who selected it.
    pub chosen: Chosen,
    /// The order of the queues.
    pub order: Order,
    /// Which queues are listed.
    pub filter: Filter,
}

/// The screen of one queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueState {
    /// Which.
    pub queue: SafeText,
}

/// Who selected the selected queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Chosen {
    /// Nobody: the selection stays on the first row, whichever queue is the worst by now.
    #[default]
    ByItself,
    /// A person: it stays with the queue, wherever its row goes.
    ByHand,
}

/// The screen that is shown, and the one that its tab stands beside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum View {
    /// The overview.
    Overview {
        /// Its state.
        here: OverviewState,
        /// A queue whose tab is still open.
        beside: Option<QueueState>,
    },
    /// One queue.
    Queue {
        /// Its state.
        here: QueueState,
        /// The overview it was entered from.
        behind: OverviewState,
    },
}

impl Default for View {
    fn default() -> Self {
        Self::Overview {
            here: OverviewState::default(),
            beside: None,
        }
    }
}

impl View {
    /// The overview's state, shown or behind.
    pub const fn overview(&self) -> &OverviewState {
        match self {
            Self::Overview { here, .. } => here,
            Self::Queue { behind, .. } => behind,
        }
    }

    /// As [`View::overview`], to be changed.
    pub const fn overview_mut(&mut self) -> &mut OverviewState {
        match self {
            Self::Overview { here, .. } => here,
            Self::Queue { behind, .. } => behind,
        }
    }

    /// The queue that has a tab, shown or beside.
    pub fn queue_tab(&self) -> Option<&SafeText> {
        match self {
            Self::Overview { beside, .. } => beside.as_ref().map(|state| &state.queue),
            Self::Queue { here, .. } => Some(&here.queue),
        }
    }

    /// The queue whose numbers fill the screen; `None` on the overview.
    pub const fn queue_shown(&self) -> Option<&SafeText> {
        match self {
            Self::Overview { .. } => None,
            Self::Queue { here, .. } => Some(&here.queue),
        }
    }

    /// Enters a queue.
    pub fn enter(&mut self, queue: SafeText) {
        let mut behind = std::mem::take(self.overview_mut());
        behind.selected = Some(queue.clone());
        behind.chosen = Chosen::ByHand;
        *self = Self::Queue {
            here: QueueState { queue },
            behind,
        };
    }

    /// Goes to the overview and closes the queue's tab. Returns whether there was one to leave.
    pub fn leave_queue(&mut self) -> bool {
        let was_there = self.queue_shown().is_some();
        if was_there {
            *self = Self::Overview {
                here: std::mem::take(self.overview_mut()),
                beside: None,
            };
        }
        was_there
    }

    /// Goes to the overview; the queue's tab stays.
    pub fn show_overview(&mut self) {
        if let Some(queue) = self.queue_shown().cloned() {
            *self = Self::Overview {
                here: std::mem::take(self.overview_mut()),
                beside: Some(QueueState { queue }),
            };
        }
    }

    /// Goes to the other tab, if there is one.
    pub fn switch_tab(&mut self) {
        match self {
            Self::Queue { .. } => self.show_overview(),
            Self::Overview { here, beside } => {
                if let Some(queue) = beside.take() {
                    *self = Self::Queue {
                        here: queue,
                        behind: std::mem::take(here),
                    };
                }
            }
        }
    }
}

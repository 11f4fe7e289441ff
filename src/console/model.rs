//! What the console knows, and what a person has chosen. Nothing here does I/O, and drawing changes
//! none of it. Next: [`super::update`], the only place where it changes.
//!
//! The screen is one value of [`Screen`], each with its own state, and [`View`] is the way there; a
//! dialog is a value too. So there is no pair of flags that can contradict each other. A queue is
//! chosen by its name and a job by its id, never by its row.

use std::time::{Duration, Instant};

use ratatui::layout::Rect;

use crate::board::summary::{QueueSummary, Summary};
use crate::board::{Board, Judge, Limits};
use crate::ledger::text::SafeText;
use crate::ledger::time::Timestamp;

use super::ask::{Request, Ticket};
use super::clock::{Clock, LocalZone};
use super::dialog::Dialog;
use super::effects::operate::Permit;
use super::keymap::{Keymap, Place};

mod asking;
mod audit;
mod dead_letters;
mod field;
mod job;
mod jobs;
mod leases;
mod listing;
mod marks;
mod names;
mod order;
mod plans;
mod query_line;
mod view;

pub use asking::{Asking, Fault, Looks, When, Wish};
pub use audit::{ActKey, ActRow, AuditState};
pub use dead_letters::{DeadLettersState, GroupKey, GroupOrder};
pub use field::{Field, Filter};
pub use job::{Found, JobState, numbers};
pub use jobs::{COUNTED_MAX, JobsState, Leave};
pub use leases::LeasesState;
pub use listing::{Item, Listing, Window};
pub use marks::{MARKS_MAX, Marks};
pub use names::Names;
pub use order::Order;
pub use plans::{PLANS_MAX, PlansState};
pub use query_line::{Filtered, QueryLine, Typing};
pub use view::{Chosen, OverviewState, QueueState, Screen, Tab, View};

/// The refresh intervals that `+` and `-` step through.
pub const REFRESH_STEPS: [Duration; 8] = [
    Duration::from_millis(250),
    Duration::from_millis(500),
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(5),
    Duration::from_secs(10),
    Duration::from_secs(30),
    Duration::from_secs(60),
];

/// A reading is overdue after two intervals, but a fast interval does not make a slow network
/// stale.
const OVERDUE_MIN: Duration = Duration::from_secs(2);

/// What does not change while the console runs.
#[derive(Debug, Clone)]
pub struct Fixed {
    /// The ledger's name.
    pub ledger: SafeText,
    /// What only a console has that may operate.
    pub permit: Option<Permit>,
    /// Whether the terminal's clipboard may be written to.
    pub copying: bool,
    /// Why nothing can be written here.
    pub why_read_only: SafeText,
    /// Which key does what.
    pub keymap: Keymap,
    /// The limits that numbers are held against.
    pub limits: Limits,
}

/// How the console stands with its ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Link {
    /// It is being opened and counted for the first time.
    Opening {
        /// Since when.
        since: Instant,
    },
    /// The last reading was good.
    Good,
    /// The last reading failed.
    Lost {
        /// Why.
        error: SafeText,
        /// When it is tried again; in the past while it is being tried.
        next_try: Instant,
    },
}

/// Whether shown numbers follow the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hold {
    /// They do.
    Follow,
    /// They stand still.
    Paused,
}

/// A moment of the database's clock, and when it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reading {
    /// By the database's clock.
    pub as_of: Timestamp,
    /// By this process's monotonic clock.
    pub at: Instant,
}

impl Reading {
    /// How long ago it was at `now`.
    pub fn age(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.at)
    }
}

/// The numbers on the screen.
#[derive(Debug, Clone)]
pub struct Shown {
    /// The numbers.
    pub summary: Summary,
    /// The reading they are from.
    pub reading: Reading,
}

/// A question that is open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Open {
    /// Its number.
    pub ticket: Ticket,
    /// The question.
    pub request: Request,
    /// Since when.
    pub since: Instant,
}

/// A dialog's question that is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Previewing {
    /// Its number.
    pub ticket: Ticket,
}

/// How true the numbers on the screen are, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Truth {
    /// There are none yet.
    Loading,
    /// They are the ledger's, as of the last refresh.
    Live,
    /// They are held still.
    Paused,
    /// A refresh is overdue.
    Stale,
    /// The ledger cannot be reached, and is tried again.
    Reconnecting,
}

impl Truth {
    /// The word on the screen.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Loading => "LOADING",
            Self::Live => "LIVE",
            Self::Paused => "PAUSED",
            Self::Stale => "STALE",
            Self::Reconnecting => "RECONNECTING",
        }
    }
}

/// Everything that what is drawn depends on.
#[derive(Debug)]
pub struct Model {
    /// What does not change.
    pub fixed: Fixed,
    /// The latest moment that anything came in.
    pub now: Instant,
    /// The size of the terminal.
    pub size: Rect,
    /// How it stands with the ledger.
    pub link: Link,
    /// The last good reading, shown or not.
    pub read: Option<Reading>,
    /// The numbers on the screen.
    pub shown: Option<Shown>,
    /// Whether they follow.
    pub hold: Hold,
    /// How often the ledger is read.
    pub refresh: Duration,
    /// How moments are shown.
    pub clock: Clock,
    /// Where one is.
    pub view: View,
    /// What lies over it.
    pub dialog: Option<Dialog>,
    /// What is being looked up.
    pub open: Option<Open>,
    /// What the open dialog has asked.
    pub previewing: Option<Previewing>,
    /// What is said about the last key, until the next.
    pub notice: Option<String>,
    /// The number of the last order.
    pub(super) orders: u64,
    pub(super) tickets: Ticket,
    pub(super) board: Option<Box<Board>>,
    pub(super) judge: Judge,
}

impl Model {
    /// A console that has just been opened.
    pub fn new(fixed: Fixed, now: Instant, size: Rect) -> Self {
        Self {
            judge: Judge::new(fixed.limits.clone()),
            fixed,
            now,
            size,
            link: Link::Opening { since: now },
            read: None,
            shown: None,
            hold: Hold::Follow,
            refresh: Duration::from_secs(1),
            clock: Clock {
                style: super::clock::TimeStyle::Utc,
                zone: LocalZone::Machine,
            },
            view: View::default(),
            dialog: None,
            open: None,
            previewing: None,
            notice: None,
            orders: 0,
            tickets: Ticket(0),
            board: None,
        }
    }

    /// How true the numbers on the screen are.
    pub fn truth(&self) -> Truth {
        match (&self.link, self.read, self.hold) {
            (Link::Lost { .. }, _, _) => Truth::Reconnecting,
            (Link::Opening { .. }, _, _) | (Link::Good, None, _) => Truth::Loading,
            (Link::Good, Some(read), _) if read.age(self.now) > self.overdue_after() => {
                Truth::Stale
            }
            (Link::Good, Some(_), Hold::Paused) => Truth::Paused,
            (Link::Good, Some(_), Hold::Follow) => Truth::Live,
        }
    }

    fn overdue_after(&self) -> Duration {
        self.refresh.saturating_mul(2).max(OVERDUE_MIN)
    }

    /// When the screen may change without anything coming in; `None` for never.
    pub fn next_wake(&self) -> Option<Instant> {
        let second = self.now + Duration::from_secs(1);
        let board = match self.truth() {
            Truth::Live => self
                .read
                .map(|read| read.at + self.overdue_after() + Duration::from_millis(1)),
            Truth::Loading | Truth::Paused | Truth::Stale | Truth::Reconnecting => Some(second),
        };
        let looking = self.open.as_ref().map(|_| second);
        let due = self
            .view
            .shown()
            .looks()
            .filter(|_| self.open.is_none() && self.hold == Hold::Follow)
            .and_then(|looks| looks.asking().due_at(self.refresh));
        let revealed = match &self.dialog {
            Some(Dialog::Payload(payload)) if payload.place() == Place::Result => Some(second),
            Some(Dialog::Operate(_)) => Some(second),
            Some(Dialog::Help(_) | Dialog::Palette(_) | Dialog::Payload(_) | Dialog::Whole(_))
            | None => None,
        };
        [board, looking, due, revealed].into_iter().flatten().min()
    }

    /// The latest moment that is known of the database's clock: what ages are counted to.
    pub fn database_now(&self) -> Option<Timestamp> {
        let reading = match self.hold {
            Hold::Follow => self.read,
            Hold::Paused => self.shown.as_ref().map(|shown| shown.reading),
        };
        reading.map(|reading| reading.as_of)
    }

    /// The rows of the queues pane: filtered, and in the chosen order.
    pub fn rows(&self) -> Vec<&QueueSummary> {
        let overview = self.view.overview();
        let mut rows: Vec<&QueueSummary> = self
            .shown
            .iter()
            .flat_map(|shown| &shown.summary.queues)
            .filter(|queue| overview.filter.admits(queue.queue.as_str()))
            .collect();
        overview.order.sort(&mut rows);
        rows
    }

    /// Where keys have their meaning now.
    pub fn place(&self) -> Place {
        match (&self.dialog, self.view.shown()) {
            (Some(dialog), _) => dialog.place(),
            (None, Screen::Overview) if self.view.overview.filter.is_typing() => Place::Field,
            (None, screen) => match screen.filtered() {
                Some(list) if list.line().typing().is_some() => Place::Field,
                Some(_) | None => self.screen_place(),
            },
        }
    }

    /// Where keys have their meaning on the shown screen, when nothing lies over it and nothing is
    /// being typed.
    pub fn screen_place(&self) -> Place {
        match self.view.shown() {
            Screen::Overview => Place::Overview,
            Screen::Queue(_) => Place::Queue,
            Screen::Jobs(_) => Place::Jobs,
            Screen::Job(_) => Place::Job,
            Screen::DeadLetters(_) => Place::DeadLetters,
            Screen::Leases(_) => Place::Leases,
            Screen::Plans(_) => Place::Plans,
            Screen::Audit(_) => Place::Audit,
        }
    }
}

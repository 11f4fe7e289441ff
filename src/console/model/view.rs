//! Where one is: the screens, each with its own state, and the way there.
//!
//! Each tab has a trail: its first screen, and what was entered from there. Tabs that are left keep
//! their trails, and the way back to them is kept too; so a detour comes back to the same filter,
//! order, marks and selection. Out is always by exactly one level: to the screen before on the
//! trail, or from a tab's first screen to the tab that one came from.

use std::collections::BTreeMap;

use crate::ledger::text::SafeText;
use crate::ledger::view::JobName;

use super::asking::Looks;
use super::audit::AuditState;
use super::dead_letters::DeadLettersState;
use super::field::Filter;
use super::job::JobState;
use super::jobs::JobsState;
use super::leases::LeasesState;
use super::order::Order;
use super::plans::PlansState;
use super::query_line::Filtered;

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

/// A screen with its state.
#[derive(Debug, Clone, PartialEq)]
pub enum Screen {
    /// The overview; its state is [`View::overview`], which other screens look at too.
    Overview,
    /// One queue.
    Queue(QueueState),
    /// A list of jobs.
    Jobs(Box<JobsState>),
    /// One job.
    Job(Box<JobState>),
    /// Dead letters in groups.
    DeadLetters(Box<DeadLettersState>),
    /// The list of leases.
    Leases(Box<LeasesState>),
    /// The list of plans.
    Plans(Box<PlansState>),
    /// What operators did.
    Audit(Box<AuditState>),
}

impl Screen {
    /// Its side of looking things up, if it looks anything up.
    pub fn looks(&self) -> Option<&dyn Looks> {
        match self {
            Self::Overview | Self::Queue(_) => None,
            Self::Jobs(state) => Some(state.as_ref()),
            Self::Job(state) => Some(state.as_ref()),
            Self::DeadLetters(state) => Some(state.as_ref()),
            Self::Leases(state) => Some(state.as_ref()),
            Self::Plans(state) => Some(state.as_ref()),
            Self::Audit(state) => Some(state.as_ref()),
        }
    }

    /// Its filter, if it has one in the language.
    pub fn filtered(&self) -> Option<&dyn Filtered> {
        match self {
            Self::Jobs(state) => Some(state.as_ref()),
            Self::DeadLetters(state) => Some(state.as_ref()),
            Self::Leases(state) => Some(state.as_ref()),
            _ => None,
        }
    }

    /// As [`Screen::filtered`], to be changed.
    pub fn filtered_mut(&mut self) -> Option<&mut dyn Filtered> {
        match self {
            Self::Jobs(state) => Some(state.as_mut()),
            Self::DeadLetters(state) => Some(state.as_mut()),
            Self::Leases(state) => Some(state.as_mut()),
            _ => None,
        }
    }

    /// As [`Screen::looks`], to be changed.
    pub fn looks_mut(&mut self) -> Option<&mut dyn Looks> {
        match self {
            Self::Overview | Self::Queue(_) => None,
            Self::Jobs(state) => Some(state.as_mut()),
            Self::Job(state) => Some(state.as_mut()),
            Self::DeadLetters(state) => Some(state.as_mut()),
            Self::Leases(state) => Some(state.as_mut()),
            Self::Plans(state) => Some(state.as_mut()),
            Self::Audit(state) => Some(state.as_mut()),
        }
    }
}

/// A tab: a screen that has a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Tab {
    /// The overview.
    #[default]
    Overview,
    /// The list of jobs.
    Jobs,
    /// Dead letters in groups.
    DeadLetters,
    /// The list of leases.
    Leases,
    /// The list of plans.
    Plans,
    /// What operators did.
    Audit,
}

impl Tab {
    /// Every tab, in the order of the header.
    pub const ALL: [Self; 6] = [
        Self::Overview,
        Self::Jobs,
        Self::DeadLetters,
        Self::Leases,
        Self::Plans,
        Self::Audit,
    ];

    /// The number of its key.
    pub const fn number(self) -> u8 {
        match self {
            Self::Overview => 1,
            Self::Jobs => 2,
            Self::DeadLetters => 3,
            Self::Leases => 4,
            Self::Plans => 5,
            Self::Audit => 6,
        }
    }

    /// Its name in the header.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Overview => "Overview",
            Self::Jobs => "Jobs",
            Self::DeadLetters => "Dead letters",
            Self::Leases => "Leases",
            Self::Plans => "Plans",
            Self::Audit => "Audit",
        }
    }

    /// Its first screen, before anything was chosen there.
    fn first_screen(self) -> Screen {
        match self {
            Self::Overview => Screen::Overview,
            Self::Jobs => Screen::Jobs(Box::new(JobsState::of_all())),
            Self::DeadLetters => Screen::DeadLetters(Box::default()),
            Self::Leases => Screen::Leases(Box::default()),
            Self::Plans => Screen::Plans(Box::default()),
            Self::Audit => Screen::Audit(Box::default()),
        }
    }
}

/// The most screens of a trail: from a job to its parent, to its child, and so on.
const TRAIL_MAX: usize = 16;

/// Where one is, and the way there.
#[derive(Debug, Clone, PartialEq)]
pub struct View {
    /// The overview's state, shown or not.
    pub overview: OverviewState,
    tab: Tab,
    /// The tabs to come back to, the last one last; none twice.
    before: Vec<Tab>,
    /// The screens of the tabs that were visited; the shown one of each last.
    trails: BTreeMap<Tab, Vec<Screen>>,
}

impl Default for View {
    fn default() -> Self {
        Self {
            overview: OverviewState::default(),
            tab: Tab::Overview,
            before: Vec::new(),
            trails: BTreeMap::from([(Tab::Overview, vec![Screen::Overview])]),
        }
    }
}

impl View {
    /// The overview's state, shown or behind.
    pub const fn overview(&self) -> &OverviewState {
        &self.overview
    }

    /// As [`View::overview`], to be changed.
    pub const fn overview_mut(&mut self) -> &mut OverviewState {
        &mut self.overview
    }

    /// The tab that is shown.
    pub const fn tab(&self) -> Tab {
        self.tab
    }

    /// The screen that is shown.
    pub fn shown(&self) -> &Screen {
        self.trail().last().unwrap_or(&Screen::Overview)
    }

    /// As [`View::shown`], to be changed.
    pub fn shown_mut(&mut self) -> &mut Screen {
        let tab = self.tab;
        let trail = self
            .trails
            .entry(tab)
            .or_insert_with(|| vec![tab.first_screen()]);
        let last = trail.len().saturating_sub(1);
        &mut trail[last]
    }

    /// The screens from the tab's first to the one that is shown.
    pub fn trail(&self) -> &[Screen] {
        self.trails.get(&self.tab).map_or(&[], Vec::as_slice)
    }

    /// The queue whose numbers fill the screen, if one's do.
    pub fn queue_shown(&self) -> Option<&SafeText> {
        match self.shown() {
            Screen::Queue(state) => Some(&state.queue),
            Screen::Overview
            | Screen::Jobs(_)
            | Screen::Job(_)
            | Screen::DeadLetters(_)
            | Screen::Leases(_)
            | Screen::Plans(_)
            | Screen::Audit(_) => None,
        }
    }

    /// The list of jobs that is shown, if one is.
    pub fn jobs_shown(&self) -> Option<&JobsState> {
        match self.shown() {
            Screen::Jobs(jobs) => Some(jobs),
            Screen::Overview
            | Screen::Queue(_)
            | Screen::Job(_)
            | Screen::DeadLetters(_)
            | Screen::Leases(_)
            | Screen::Plans(_)
            | Screen::Audit(_) => None,
        }
    }

    /// The job that is shown, if one is.
    pub fn job_shown(&self) -> Option<&JobState> {
        match self.shown() {
            Screen::Job(job) => Some(job),
            Screen::Overview
            | Screen::Queue(_)
            | Screen::Jobs(_)
            | Screen::DeadLetters(_)
            | Screen::Leases(_)
            | Screen::Plans(_)
            | Screen::Audit(_) => None,
        }
    }

    /// Enters a job; nothing where it is the one that is shown.
    pub fn enter_job(&mut self, name: JobName) {
        if self.job_shown().is_none_or(|shown| shown.name != name) {
            self.enter(Screen::Job(Box::new(JobState::new(name))));
        }
    }

    /// Enters a screen from the one that is shown.
    pub fn enter(&mut self, screen: Screen) {
        let trail = self.trails.entry(self.tab).or_default();
        if trail.len() >= TRAIL_MAX {
            // The first screen stays: out leads there in the end.
            trail.remove(1);
        }
        trail.push(screen);
    }

    /// Enters a queue; from a queue, in its place.
    pub fn enter_queue(&mut self, queue: SafeText) {
        self.overview.selected = Some(queue.clone());
        self.overview.chosen = Chosen::ByHand;
        let screen = Screen::Queue(QueueState { queue });
        if self.queue_shown().is_some() {
            *self.shown_mut() = screen;
        } else {
            self.enter(screen);
        }
    }

    /// Goes to a tab, as it was left. From within the tab itself: to its first screen.
    pub fn go(&mut self, tab: Tab) {
        if tab == self.tab {
            if let Some(trail) = self.trails.get_mut(&tab) {
                trail.truncate(1);
            }
            return;
        }
        self.before.retain(|each| *each != tab);
        if tab == Tab::Overview {
            // From the overview there is no way out but out of the program.
            self.before.clear();
        } else {
            self.before.push(self.tab);
        }
        self.tab = tab;
        self.trails
            .entry(tab)
            .or_insert_with(|| vec![tab.first_screen()]);
    }

    /// Goes to the tab `steps` to the right, around the end.
    pub fn turn(&mut self, steps: usize) {
        let position = Tab::ALL.iter().position(|each| *each == self.tab);
        let next = (position.unwrap_or(0) + steps) % Tab::ALL.len();
        if let Some(tab) = Tab::ALL.get(next) {
            self.go(*tab);
        }
    }

    /// Whether there is a screen to go out to.
    pub fn has_before(&self) -> bool {
        self.trail().len() > 1 || !self.before.is_empty()
    }

    /// Out by one screen. Returns whether there was one to go out to.
    pub fn leave(&mut self) -> bool {
        if let Some(trail) = self.trails.get_mut(&self.tab)
            && trail.len() > 1
        {
            trail.pop();
            return true;
        }
        match self.before.pop() {
            Some(tab) => {
                self.tab = tab;
                true
            }
            None => false,
        }
    }
}

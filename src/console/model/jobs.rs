//! The list of jobs: which, in which order, and what was chosen in it.

use std::time::{Duration, Instant};

use uuid::Uuid;

use crate::console::ask::{Answer, Request};
use crate::console::columns::jobs::Column;
use crate::ledger::event::Event;
use crate::ledger::query::{Pattern, Query, Test};
use crate::ledger::text::SafeText;
use crate::ledger::view::{Count, JobCursor, JobOrder, ListedJob, UnreadableJob};
use crate::store::look::Reach;

use super::Reading;
use super::asking::{Asking, Looks, When, Wish};
use super::listing::{Item, Listing};
use super::marks::Marks;
use super::query_line::{Filtered, QueryLine};
use super::view::Chosen;

/// Jobs are counted no further than this: beyond, the number does not change what one does.
pub const COUNTED_MAX: u64 = 10_000;
/// How old a count may be while the list changes.
const COUNT_FOR: Duration = Duration::from_secs(10);

impl Item for ListedJob {
    type Key = Uuid;
    type Cursor = JobCursor;

    fn key(&self) -> Uuid {
        self.row.id
    }
}

/// Whether a list may be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Leave {
    /// Nothing is known of what it costs.
    #[default]
    Unasked,
    /// An index leads to it.
    Given,
    /// Jobs would be read one by one: a person is to say so first.
    Withheld {
        /// About how many.
        jobs: u64,
    },
    /// A person said so.
    Granted {
        /// About how many jobs are read for it.
        jobs: u64,
    },
}

/// A list of jobs.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct JobsState {
    /// Which.
    pub query: Query,
    /// In which order.
    pub order: JobOrder,
    /// The rows.
    pub list: Listing<ListedJob>,
    /// Jobs that cannot be understood.
    pub unreadable: Vec<UnreadableJob>,
    /// What is marked.
    pub marks: Marks,
    /// The columns that are not shown.
    pub hidden: Vec<Column>,
    /// How many jobs there are, and when that was counted.
    pub counted: Option<(Count, Instant)>,
    /// Whether it may be read.
    pub leave: Leave,
    /// Who chose the order.
    ordered: Chosen,
    line: QueryLine,
    asking: Asking,
    /// The filter and the order that the rows are of.
    held: Option<(Query, JobOrder)>,
}

impl JobsState {
    /// The jobs of a query.
    pub fn of(query: Query, order: JobOrder) -> Self {
        Self {
            line: QueryLine::of(&query),
            // All jobs are read along an index, whatever the order.
            leave: if query.terms.is_empty() {
                Leave::Given
            } else {
                Leave::Unasked
            },
            query,
            order,
            ..Self::default()
        }
    }

    /// All jobs.
    pub fn of_all() -> Self {
        let query = Query::default();
        let order = query.natural_order();
        Self::of(query, order)
    }

    /// The next order of the cycle.
    pub fn sort(&mut self) {
        self.order = match self.order {
            JobOrder::OldestFirst => JobOrder::NewestFirst,
            JobOrder::NewestFirst => JobOrder::CreatedLast,
            JobOrder::CreatedLast => JobOrder::OldestFirst,
        };
        self.ordered = Chosen::ByHand;
        self.ask_leave();
        let selected = self.list.selected.take();
        self.list.restart();
        // The selected job stays selected where the other order lists it near its beginning.
        self.list.selected = selected;
    }

    fn ask_leave(&mut self) {
        self.leave = if self.query.terms.is_empty() {
            Leave::Given
        } else {
            Leave::Unasked
        };
    }

    /// Lets the list be read that is withheld. Returns whether one was.
    pub const fn grant(&mut self) -> bool {
        match self.leave {
            Leave::Withheld { jobs } => {
                self.leave = Leave::Granted { jobs };
                true
            }
            Leave::Unasked | Leave::Given | Leave::Granted { .. } => false,
        }
    }

    /// Goes back from a list that is withheld, or is being read one by one, to the one that is
    /// shown. Returns whether there was such a one.
    pub fn withdraw(&mut self) -> bool {
        let is_open = match self.leave {
            Leave::Withheld { .. } => true,
            Leave::Granted { .. } => !self.is_held(),
            Leave::Unasked | Leave::Given => false,
        };
        let Some((query, order)) = self.held.clone().filter(|_| is_open) else {
            return false;
        };
        self.line.restore(&query);
        self.query = query;
        self.order = order;
        // It was read before; the rows are there.
        self.leave = Leave::Given;
        self.list.restart();
        true
    }

    /// Whether the rows are those that are asked for.
    pub fn is_held(&self) -> bool {
        let same = |held: &(Query, JobOrder)| held.0 == self.query && held.1 == self.order;
        self.held.as_ref().is_some_and(same) && self.list.is_held()
    }

    fn page(&self) -> Request {
        Request::Jobs {
            query: self.query.clone(),
            order: self.order,
            after: self.list.window.after.clone(),
            limit: self.list.window.limit,
        }
    }

    fn wants_count(&self) -> bool {
        if self.list.is_whole() || matches!(self.leave, Leave::Granted { .. }) {
            return false;
        }
        let read_at = self.list.reading.map(|reading| reading.at);
        match (self.counted, read_at) {
            (None, _) => true,
            (Some((_, counted_at)), Some(read_at)) => counted_at + COUNT_FOR < read_at,
            (Some(_), None) => false,
        }
    }
}

impl Looks for JobsState {
    fn wish(&self) -> Option<Wish> {
        match self.leave {
            Leave::Unasked => {
                let request = Request::Reach {
                    query: self.query.clone(),
                    order: self.order,
                };
                let when = When::Now;
                return Some(Wish { request, when });
            }
            Leave::Withheld { .. } => return None,
            Leave::Given | Leave::Granted { .. } => {}
        }
        let (request, when) = if !self.is_held() {
            (self.page(), When::Now)
        } else if self.wants_count() {
            let count = Request::Count {
                query: self.query.clone(),
                at_most: COUNTED_MAX,
            };
            (count, When::Now)
        } else {
            (self.page(), When::OnNews)
        };
        Some(Wish { request, when })
    }

    fn take(&mut self, request: &Request, answer: Answer, reading: Reading) {
        match answer {
            Answer::Jobs(page) if *request == self.page() => {
                if self.held.as_ref().is_none_or(|held| held.0 != self.query) {
                    self.counted = None;
                }
                self.held = Some((self.query.clone(), self.order));
                self.marks.seen(&page.jobs);
                self.unreadable = page.unreadable;
                let reading = Reading {
                    as_of: page.as_of,
                    ..reading
                };
                self.list.take(page.jobs, page.next, reading);
                if self.list.is_whole() {
                    let count = Count::Exact(crate::ledger::num::count(self.list.rows.len()));
                    self.counted = Some((count, reading.at));
                }
            }
            Answer::Count(count) => self.counted = Some((count, reading.at)),
            Answer::Reach(reach) if self.leave == Leave::Unasked => {
                self.leave = match reach {
                    Reach::Indexed => Leave::Given,
                    Reach::Scan { jobs } => Leave::Withheld { jobs },
                };
            }
            Answer::Jobs(_)
            | Answer::Reach(_)
            | Answer::Preview(_)
            | Answer::Story(_)
            | Answer::DeadLetters(_)
            | Answer::Leases(_)
            | Answer::Plans(_)
            | Answer::Audit(_) => {}
        }
    }

    fn concerns(&self, event: &Event) -> bool {
        // What is read one by one is read again only when a person asks for it.
        !matches!(self.leave, Leave::Granted { .. }) && may_concern(&self.query, event)
    }

    fn asking(&self) -> &Asking {
        &self.asking
    }

    fn asking_mut(&mut self) -> &mut Asking {
        &mut self.asking
    }
}

impl Filtered for JobsState {
    fn query(&self) -> &Query {
        &self.query
    }

    fn line(&self) -> &QueryLine {
        &self.line
    }

    fn line_mut(&mut self) -> &mut QueryLine {
        &mut self.line
    }

    fn hold(&mut self, query: Query) {
        if self.ordered == Chosen::ByItself {
            self.order = query.natural_order();
        }
        self.query = query;
        self.ask_leave();
        self.list.restart();
    }
}

/// Whether an event may change which jobs a query holds for, or what is shown of them. What an
/// event does not say counts as "may".
pub(super) fn may_concern(query: &Query, event: &Event) -> bool {
    let mut queues = Names::default();
    let mut states = Names::default();
    for term in query.terms.iter().filter(|term| !term.negated) {
        match &term.test {
            Test::Queue(pattern) => queues.add(admits(pattern, event.queue.as_str())),
            Test::State(state) => states.add(event.to == *state || event.from == Some(*state)),
            Test::Id(id) if *id != event.job => return false,
            Test::Id(_)
            | Test::Key(_)
            | Test::Kind(_)
            | Test::Tenant(_)
            | Test::Class(_)
            | Test::Reason(_)
            | Test::Worker(_)
            | Test::Policy(_)
            | Test::Parent(_)
            | Test::Plan(_)
            | Test::Age(..)
            | Test::Attempts(..)
            | Test::Redrives(..)
            | Test::Unsettled(..)
            | Test::Since(_)
            | Test::Until(_)
            | Test::Error(_) => {}
        }
    }
    queues.admit() && states.admit()
}

/// Whether one of several alternatives holds; without any, all is admitted.
#[derive(Debug, Clone, Copy, Default)]
enum Names {
    #[default]
    None,
    NoneOfThem,
    OneOfThem,
}

impl Names {
    const fn add(&mut self, holds: bool) {
        *self = match (*self, holds) {
            (_, true) | (Self::OneOfThem, false) => Self::OneOfThem,
            (Self::None | Self::NoneOfThem, false) => Self::NoneOfThem,
        };
    }

    const fn admit(self) -> bool {
        match self {
            Self::None | Self::OneOfThem => true,
            Self::NoneOfThem => false,
        }
    }
}

fn admits(pattern: &Pattern, name: &str) -> bool {
    // An event's names have been made safe.
    match pattern {
        Pattern::Is(text) => name == SafeText::new(text).as_str(),
        Pattern::Begins(text) => name.starts_with(SafeText::new(text).as_str()),
    }
}

//! The list of leases: who holds what, until when.

use uuid::Uuid;

use crate::console::ask::{Answer, Request};
use crate::console::columns::leases::Column;
use crate::ledger::event::Event;
use crate::ledger::query::Query;
use crate::ledger::state::State;
use crate::ledger::view::{JobCursor, Lease, UnreadableJob};

use super::Reading;
use super::asking::{Asking, Looks, When, Wish};
use super::listing::{Item, Listing};
use super::query_line::{Filtered, QueryLine};

impl Item for Lease {
    type Key = Uuid;
    type Cursor = JobCursor;

    fn key(&self) -> Uuid {
        self.job.row.id
    }
}

/// The list of leases.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LeasesState {
    /// Of which jobs.
    pub query: Query,
    /// The rows, the first to end first.
    pub list: Listing<Lease>,
    /// Rows that cannot be understood.
    pub unreadable: Vec<UnreadableJob>,
    /// The columns that are not shown.
    pub hidden: Vec<Column>,
    line: QueryLine,
    asking: Asking,
    /// The filter that the rows are of.
    held: Option<Query>,
}

impl LeasesState {
    /// Whether the rows are those that are asked for.
    pub fn is_held(&self) -> bool {
        self.held.as_ref() == Some(&self.query) && self.list.is_held()
    }

    fn page(&self) -> Request {
        Request::Leases {
            query: self.query.clone(),
            after: self.list.window.after.clone(),
            limit: self.list.window.limit,
        }
    }
}

impl Filtered for LeasesState {
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
        self.query = query;
        self.list.restart();
    }
}

impl Looks for LeasesState {
    fn wish(&self) -> Option<Wish> {
        let when = if self.is_held() {
            When::OnNews
        } else {
            When::Now
        };
        let request = self.page();
        Some(Wish { request, when })
    }

    fn take(&mut self, request: &Request, answer: Answer, reading: Reading) {
        if let Answer::Leases(page) = answer
            && *request == self.page()
        {
            self.held = Some(self.query.clone());
            self.unreadable = page.unreadable;
            let reading = Reading {
                as_of: page.as_of,
                ..reading
            };
            self.list.take(page.leases, page.next, reading);
        }
    }

    fn concerns(&self, event: &Event) -> bool {
        event.from == Some(State::Running) || event.to == State::Running
    }

    fn asking(&self) -> &Asking {
        &self.asking
    }

    fn asking_mut(&mut self) -> &mut Asking {
        &mut self.asking
    }
}

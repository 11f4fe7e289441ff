//! The list of plans: redrives and quarantines in bulk, the newest first.

use uuid::Uuid;

use crate::console::ask::{Answer, Request};
use crate::console::columns::plans::Column;
use crate::ledger::event::Event;
use crate::ledger::plan::{Plan, PlanState};
use crate::ledger::query::{Query, Term, Test};

use super::Reading;
use super::asking::{Asking, Looks, When, Wish};
use super::listing::{Item, Listing};

/// The most plans that are listed, the newest.
pub const PLANS_MAX: u32 = 200;

impl Item for Plan {
    type Key = Uuid;
    // They come at once.
    type Cursor = ();

    fn key(&self) -> Uuid {
        self.id
    }
}

/// The list of plans.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PlansState {
    /// The plans.
    pub list: Listing<Plan>,
    /// The columns that are not shown.
    pub hidden: Vec<Column>,
    asking: Asking,
}

impl PlansState {
    /// The filter for the jobs of the selected plan.
    pub fn jobs_of_selected(&self) -> Option<Query> {
        let plan = self.list.selected_row()?;
        Some(Query {
            terms: vec![Term {
                negated: false,
                test: Test::Plan(plan.id),
            }],
        })
    }

    /// Whether a plan is under way: then its numbers change with events of any job.
    fn is_under_way(&self) -> bool {
        self.list
            .rows
            .iter()
            .any(|plan| plan.state == PlanState::Running)
    }
}

impl Looks for PlansState {
    fn wish(&self) -> Option<Wish> {
        let when = if self.list.is_held() {
            When::OnNews
        } else {
            When::Now
        };
        let request = Request::Plans { limit: PLANS_MAX };
        Some(Wish { request, when })
    }

    fn take(&mut self, _: &Request, answer: Answer, reading: Reading) {
        if let Answer::Plans(plans) = answer {
            self.list.take(plans, None, reading);
        }
    }

    fn concerns(&self, event: &Event) -> bool {
        // Plans come and go by steps that are no events of jobs; what they do to jobs is, and so is
        // what becomes of those.
        self.is_under_way() || event.actor_kind == crate::ledger::event::ActorKind::Operator
    }

    fn asking(&self) -> &Asking {
        &self.asking
    }

    fn asking_mut(&mut self) -> &mut Asking {
        &mut self.asking
    }
}

//! The list of operator acts. The acts of one plan on its jobs are one row.

use uuid::Uuid;

use crate::console::ask::{Answer, Request};
use crate::console::columns::audit::Column;
use crate::ledger::event::{ActorKind, Event};
use crate::ledger::text::SafeText;
use crate::ledger::time::Timestamp;
use crate::ledger::view::{ActKind, AuditCursor, OperatorAct, UnreadableJob};

use super::Reading;
use super::asking::{Asking, Looks, When, Wish};
use super::listing::{Item, Listing};

/// A row of the audit: an act, and how many of its plan it stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActRow {
    /// The act; of several, the newest.
    pub act: OperatorAct,
    /// How many acts on jobs it stands for.
    pub acts: u64,
}

/// What tells a row of the audit from every other.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum ActKey {
    /// An act on one job: the job, and its version after.
    Job(Uuid, u32),
    /// The acts of a plan on its jobs.
    JobsOf(Uuid),
    /// An act on a plan.
    Plan(Option<Uuid>, Timestamp, SafeText),
}

impl Item for ActRow {
    type Key = ActKey;
    type Cursor = AuditCursor;

    fn key(&self) -> ActKey {
        match (&self.act.what, self.act.plan) {
            (ActKind::Job { .. }, Some(plan)) => ActKey::JobsOf(plan),
            (ActKind::Job { id, version, .. }, None) => ActKey::Job(*id, *version),
            (ActKind::Plan { step, .. }, plan) => ActKey::Plan(plan, self.act.at, step.clone()),
        }
    }
}

/// Folds the acts of each plan on its jobs into the newest of them.
fn folded(acts: Vec<OperatorAct>) -> Vec<ActRow> {
    let mut rows: Vec<ActRow> = Vec::with_capacity(acts.len());
    for act in acts {
        let row = ActRow { act, acts: 1 };
        let same = match row.key() {
            key @ ActKey::JobsOf(_) => rows.iter_mut().find(|known| known.key() == key),
            ActKey::Job(..) | ActKey::Plan(..) => None,
        };
        match same {
            Some(known) => known.acts = known.acts.saturating_add(1),
            None => rows.push(row),
        }
    }
    rows
}

/// The list of operator acts.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AuditState {
    /// The rows, the newest first.
    pub list: Listing<ActRow>,
    /// Acts that cannot be understood.
    pub unreadable: Vec<UnreadableJob>,
    /// The columns that are not shown.
    pub hidden: Vec<Column>,
    asking: Asking,
}

impl AuditState {
    /// The job that the selected act was on.
    pub fn job_of_selected(&self) -> Option<Uuid> {
        match &self.list.selected_row()?.act.what {
            ActKind::Job { id, .. } => Some(*id),
            ActKind::Plan { .. } => None,
        }
    }

    /// The plan that the selected act is part of.
    pub fn plan_of_selected(&self) -> Option<Uuid> {
        self.list.selected_row()?.act.plan
    }

    fn page(&self) -> Request {
        Request::Audit {
            before: self.list.window.after.clone(),
            limit: self.list.window.limit,
        }
    }
}

impl Looks for AuditState {
    fn wish(&self) -> Option<Wish> {
        let when = if self.list.is_held() {
            When::OnNews
        } else {
            When::Now
        };
        let request = self.page();
        Some(Wish { request, when })
    }

    fn take(&mut self, request: &Request, answer: Answer, reading: Reading) {
        if let Answer::Audit(page) = answer
            && *request == self.page()
        {
            self.unreadable = page.unreadable;
            let reading = Reading {
                as_of: page.as_of,
                ..reading
            };
            self.list.take(folded(page.acts), page.next, reading);
        }
    }

    fn concerns(&self, event: &Event) -> bool {
        event.actor_kind == ActorKind::Operator
    }

    fn asking(&self) -> &Asking {
        &self.asking
    }

    fn asking_mut(&mut self) -> &mut Asking {
        &mut self.asking
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::event::EventKind;
    use crate::ledger::state::State;

    fn act(plan: Option<u128>, job: u128) -> OperatorAct {
        OperatorAct {
            at: Timestamp::default(),
            actor: SafeText::new("mara"),
            db_user: None,
            what: ActKind::Job {
                id: Uuid::from_u128(job),
                version: 3,
                queue: SafeText::new("mail"),
                event: EventKind::Redrive,
                from: Some(State::Dead),
                to: State::Ready,
            },
            note: None,
            plan: plan.map(Uuid::from_u128),
        }
    }

    #[test]
    fn the_acts_of_a_plan_are_one_row_and_others_stand_alone() {
        let acts = vec![
            act(Some(7), 1),
            act(None, 2),
            act(Some(7), 3),
            act(Some(8), 4),
            act(None, 5),
        ];
        let rows = folded(acts);
        let counts: Vec<u64> = rows.iter().map(|row| row.acts).collect();
        assert_eq!(counts, [2, 1, 1, 1]);
        let mut keys: Vec<ActKey> = rows.iter().map(Item::key).collect();
        keys.dedup();
        assert_eq!(keys.len(), 4, "each row has a key of its own");
    }
}

//! The columns of the audit.

use crate::board::format::count;
use crate::console::format::NOTHING;
use crate::console::model::ActRow;
use crate::console::theme::Role;
use crate::ledger::text::SafeText;
use crate::ledger::view::ActKind;

use super::Side;
use super::list::{ListColumn, Seen, Width};

/// A column of the audit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Column {
    /// When.
    At,
    /// What was done.
    What,
    /// On what: the job's queue, or how many jobs.
    On,
    /// From which state to which.
    States,
    /// Who, from where.
    Actor,
    /// Why.
    Why,
    /// The plan that it was part of.
    Plan,
    /// The role of the database.
    Role,
    /// The job's id.
    Job,
}

impl ListColumn for Column {
    type Row = ActRow;
    const ALL: &'static [Self] = &[
        Self::At,
        Self::What,
        Self::On,
        Self::States,
        Self::Actor,
        Self::Why,
        Self::Plan,
        Self::Role,
        Self::Job,
    ];

    fn title(self) -> &'static str {
        match self {
            Self::At => "when",
            Self::What => "what",
            Self::On => "on",
            Self::States => "outcome",
            Self::Actor => "who",
            Self::Why => "why",
            Self::Plan => "plan",
            Self::Role => "role",
            Self::Job => "job",
        }
    }

    fn width(self) -> Width {
        match self {
            Self::At | Self::Plan => Width::fixed(8),
            Self::What => Width::of(10, 14, 20),
            Self::On => Width::of(10, 14, 24),
            Self::States => Width::of(11, 20, 26),
            Self::Actor => Width::of(10, 18, 40),
            Self::Why => Width::of(12, 24, 200),
            Self::Role => Width::of(8, 10, 20),
            Self::Job => Width::fixed(36),
        }
    }

    fn side(self) -> Side {
        Side::Left
    }

    fn rank(self) -> u8 {
        match self {
            Self::What => 0,
            Self::At => 1,
            Self::Actor => 2,
            Self::On => 3,
            Self::Why => 4,
            Self::States => 5,
            Self::Plan => 6,
            Self::Job => 7,
            Self::Role => 8,
        }
    }

    fn cell(self, row: &ActRow, seen: &Seen) -> (Role, String) {
        let act = &row.act;
        match self {
            Self::At => (Role::Text, seen.clock.moment(act.at, seen.now)),
            Self::What => (Role::Operator, what(row)),
            Self::On => (Role::Text, on(row)),
            Self::States => states(row),
            Self::Actor => (Role::Text, act.actor.as_str().to_owned()),
            Self::Why => maybe(act.note.as_ref().map(SafeText::as_str)),
            Self::Plan => maybe(act.plan.map(|plan| short(&plan)).as_deref()),
            Self::Role => maybe(act.db_user.as_ref().map(SafeText::as_str)),
            Self::Job => match &act.what {
                ActKind::Job { id, .. } if row.acts == 1 => (Role::Muted, id.to_string()),
                ActKind::Job { .. } | ActKind::Plan { .. } => maybe(None),
            },
        }
    }
}

fn what(row: &ActRow) -> String {
    match &row.act.what {
        ActKind::Job { event, .. } => event.name().to_owned(),
        ActKind::Plan { step, .. } => format!("plan {step}"),
    }
}

fn on(row: &ActRow) -> String {
    match &row.act.what {
        ActKind::Job { queue, .. } if row.act.plan.is_none() => queue.as_str().to_owned(),
        ActKind::Job { .. } => format!("{} of the plan", jobs(row.acts)),
        ActKind::Plan { jobs: all, .. } => jobs(*all),
    }
}

fn jobs(number: u64) -> String {
    let noun = if number == 1 { "job" } else { "jobs" };
    format!("{} {noun}", count(number))
}

fn states(row: &ActRow) -> (Role, String) {
    match &row.act.what {
        ActKind::Job { from, to, .. } => {
            let from = from.map_or(NOTHING, |from| from.name());
            (Role::Muted, format!("{from} → {to}"))
        }
        ActKind::Plan { .. } => maybe(None),
    }
}

fn maybe(text: Option<&str>) -> (Role, String) {
    match text {
        Some(text) => (Role::Text, text.to_owned()),
        None => (Role::Muted, NOTHING.to_owned()),
    }
}

/// The last eight digits of an id: those that differ from one to the next.
fn short(id: &uuid::Uuid) -> String {
    let text = id.simple().to_string();
    text.get(24..).unwrap_or_default().to_owned()
}

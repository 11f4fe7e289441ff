//! The columns of the list of plans.

use crate::board::format::count;
use crate::console::format::NOTHING;
use crate::console::theme::Role;
use crate::console::widget::bar;
use crate::ledger::plan::{Plan, PlanState, Progress};

use super::Side;
use super::list::{ListColumn, Seen, Width};

/// A column of the list of plans.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Column {
    /// How long ago it was approved.
    Age,
    /// What it does.
    What,
    /// Where it stands.
    Stage,
    /// How much of it is dealt with.
    Done,
    /// The same as a bar.
    Bar,
    /// Jobs that failed again.
    Failed,
    /// Jobs that were left alone.
    Skipped,
    /// Why it is done.
    Why,
    /// Who approved it.
    Actor,
    /// Why it stopped.
    Stop,
    /// The id.
    Id,
}

/// Columns of the bar.
const BAR: u16 = 10;

/// How many jobs of a plan have been dealt with, one way or the other.
pub fn dealt_with(progress: &Progress) -> u64 {
    progress
        .total
        .saturating_sub(progress.waiting)
        .saturating_sub(progress.open)
}

/// How a stage is called, and whether it calls for a look.
pub fn stage(plan: &Plan) -> (Role, String) {
    match plan.state {
        PlanState::Running if plan.batch == 0 && plan.pace.canary => {
            (Role::Accent, "canary".to_owned())
        }
        PlanState::Running => (Role::Accent, format!("batch {}", plan.batch)),
        PlanState::Paused => (Role::Warning, "paused".to_owned()),
        PlanState::Stopped => (Role::Critical, "▲ stopped".to_owned()),
        PlanState::Done => (Role::Good, "done".to_owned()),
        PlanState::Cancelled => (Role::Muted, "cancelled".to_owned()),
        PlanState::Draft => (Role::Muted, "draft".to_owned()),
    }
}

impl ListColumn for Column {
    type Row = Plan;
    const ALL: &'static [Self] = &[
        Self::Age,
        Self::What,
        Self::Stage,
        Self::Done,
        Self::Bar,
        Self::Failed,
        Self::Skipped,
        Self::Why,
        Self::Actor,
        Self::Stop,
        Self::Id,
    ];

    fn title(self) -> &'static str {
        match self {
            Self::Age => "age",
            Self::What => "what",
            Self::Stage => "stage",
            Self::Done => "done",
            Self::Bar => "",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
            Self::Why => "why",
            Self::Actor => "who",
            Self::Stop => "stopped because",
            Self::Id => "id",
        }
    }

    fn width(self) -> Width {
        match self {
            Self::Age => Width::fixed(5),
            Self::What | Self::Bar => Width::fixed(BAR),
            Self::Stage => Width::fixed(11),
            Self::Done => Width::of(9, 13, 17),
            Self::Failed => Width::fixed(6),
            Self::Skipped => Width::fixed(7),
            Self::Why => Width::of(10, 20, 60),
            Self::Actor => Width::of(8, 16, 30),
            Self::Stop => Width::of(16, 24, 200),
            Self::Id => Width::fixed(36),
        }
    }

    fn side(self) -> Side {
        match self {
            Self::Done | Self::Failed | Self::Skipped => Side::Right,
            Self::Age
            | Self::What
            | Self::Stage
            | Self::Bar
            | Self::Why
            | Self::Actor
            | Self::Stop
            | Self::Id => Side::Left,
        }
    }

    fn rank(self) -> u8 {
        match self {
            Self::What => 0,
            Self::Stage => 1,
            Self::Done => 2,
            Self::Age => 3,
            Self::Failed => 4,
            Self::Why => 5,
            Self::Bar => 6,
            Self::Skipped => 7,
            Self::Actor => 8,
            Self::Stop => 9,
            Self::Id => 10,
        }
    }

    fn cell(self, plan: &Plan, seen: &Seen) -> (Role, String) {
        let progress = &plan.progress;
        let done = dealt_with(progress);
        match self {
            Self::Age => (Role::Text, seen.age(plan.created_at)),
            Self::What => (Role::Operator, plan.operation.name().to_owned()),
            Self::Stage => stage(plan),
            Self::Done => {
                let text = format!("{} of {}", count(done), count(progress.total));
                (Role::Text, text)
            }
            Self::Bar => (Role::Graph, bar::text(done, progress.total, BAR)),
            Self::Failed => number(progress.failed, Role::Warning),
            Self::Skipped => number(progress.stale.saturating_add(progress.refused), Role::Text),
            Self::Why => (Role::Text, plan.reason.as_str().to_owned()),
            Self::Actor => (Role::Muted, plan.actor.as_str().to_owned()),
            Self::Stop => match &plan.stop_reason {
                Some(reason) => (Role::Warning, reason.as_str().to_owned()),
                None => (Role::Muted, NOTHING.to_owned()),
            },
            Self::Id => (Role::Muted, plan.id.to_string()),
        }
    }
}

fn number(value: u64, some: Role) -> (Role, String) {
    let role = if value == 0 { Role::Muted } else { some };
    (role, count(value))
}

//! Plans, and how the selected one stands.

use ratatui::layout::Rect;

use crate::board::format::{coarse, count};
use crate::console::columns::plans::{dealt_with, stage};
use crate::console::model::{Looks as _, Model, PlansState};
use crate::console::theme::Role;
use crate::console::widget::canvas::{Piece, Spot};
use crate::console::widget::{Canvas, bar, pane};
use crate::ledger::num;
use crate::ledger::plan::Plan;
use crate::ledger::text::SafeText;

use super::body::{Body, unmarked};
use super::lookup;

/// Lines of the pane about the selected plan.
const DETAIL: u16 = 9;
/// It is shown from this height.
const DETAIL_FROM: u16 = 18;
/// Columns of a label in it.
const LABEL: u16 = 10;

/// Draws it.
pub(super) fn draw(canvas: &mut Canvas<'_>, area: Rect, model: &Model, state: &PlansState) {
    let mut rest = area;
    lookup::draw_fault(canvas, &mut rest, model, state.asking());
    if rest.height >= DETAIL_FROM
        && let Some(plan) = state.list.selected_row()
    {
        rest.height = rest.height.saturating_sub(DETAIL);
        let below = Rect {
            y: rest.bottom(),
            height: DETAIL,
            ..rest
        };
        draw_plan(canvas, below, model, plan);
    }
    let number = lookup::number(None, &state.list);
    let title: Vec<Piece<'_>> = vec![
        (Role::Title, "Plans"),
        (Role::Muted, &number),
        (Role::Muted, " · the newest first"),
    ];
    let inner = pane::draw(canvas, rest, &title);
    let body = Body {
        list: &state.list,
        asking: state.asking(),
        is_held: state.list.is_held(),
        unreadable: &[],
        hidden: &state.hidden,
        sorted: None,
        marked: &unmarked,
        none: "no plan was ever approved",
    };
    body.draw(canvas, rest, inner, model);
}

/// How a plan stands: stage, progress, outcomes by kind, pace, and why it stopped.
fn draw_plan(canvas: &mut Canvas<'_>, area: Rect, model: &Model, plan: &Plan) {
    let title = format!("{} {}", plan.operation.name(), plan.id);
    let inner = pane::draw(canvas, area, &[(Role::Title, &title)]);
    let (role, stage) = stage(plan);
    let progress = &plan.progress;
    let done = dealt_with(progress);
    let outcomes = format!(
        "{} succeeded · {} failed again · {} open · {} waiting · {} changed since · {} refused \
         · {} gone",
        count(progress.succeeded),
        count(progress.failed),
        count(progress.open),
        count(progress.waiting),
        count(progress.stale),
        count(progress.refused),
        count(progress.missing),
    );
    let bar_columns = inner.width.saturating_sub(LABEL + 20).min(40);
    let bar = bar::text(done, progress.total, bar_columns);
    let share = format!("{} of {}  {bar}", count(done), count(progress.total));
    let stop = plan.stop_reason.as_ref().map_or("–", SafeText::as_str);
    let lines: [(&str, Role, String); 7] = [
        ("stage", role, format!("{stage}{}", executor(model, plan))),
        ("done", Role::Graph, share),
        ("outcomes", Role::Text, outcomes),
        ("pace", Role::Text, pace(plan)),
        ("stopped", Role::Warning, stop.to_owned()),
        ("filter", Role::Text, plan.query.as_str().to_owned()),
        (
            "why",
            Role::Text,
            format!("{} — {}", plan.reason, plan.actor),
        ),
    ];
    for (row, (label, role, value)) in lines.iter().enumerate() {
        let Some(spot) = Spot::row(inner, num::columns(row)) else {
            break;
        };
        canvas.text(spot.first(LABEL), Role::Muted, label);
        canvas.text(spot.after(LABEL), *role, value);
    }
}

/// Who carries it out, while the lease of that lasts.
fn executor(model: &Model, plan: &Plan) -> String {
    let (Some(executor), Some(end)) = (&plan.executor, plan.lease_expires_at) else {
        return String::new();
    };
    let now = model.database_now().unwrap_or_default();
    if end > now {
        format!(
            " · carried out by {executor} for {} more",
            coarse(end.since(now))
        )
    } else {
        format!(" · {executor} let go of it {} ago", coarse(now.since(end)))
    }
}

fn pace(plan: &Plan) -> String {
    let pace = &plan.pace;
    let canary = if pace.canary { "a canary first, " } else { "" };
    let rate = if pace.rate_per_s == 0 {
        "no bound on the rate".to_owned()
    } else {
        format!("at most {}/s", count(u64::from(pace.rate_per_s)))
    };
    format!(
        "{canary}batches of up to {}, {rate}, stops at {} % deaths",
        count(u64::from(pace.batch_max)),
        pace.stop_percent
    )
}

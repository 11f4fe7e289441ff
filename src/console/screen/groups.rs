//! Dead letters in groups, and what the selected group is made of.

use ratatui::layout::Rect;

use crate::board::format::count;
use crate::console::columns::dead_letters::Column;
use crate::console::columns::list::Seen;
use crate::console::format::NOTHING;
use crate::console::model::{DeadLettersState, GroupOrder, Looks as _, Model};
use crate::console::text;
use crate::console::theme::Role;
use crate::console::widget::canvas::{Piece, Spot};
use crate::console::widget::{Canvas, pane};
use crate::ledger::num;
use crate::ledger::text::SafeText;
use crate::ledger::view::{Count, DeadLetterGroup};

use super::body::{Body, unmarked};
use super::{filter_line, lookup};

/// Lines of the pane about the selected group.
const DETAIL: u16 = 8;
/// Columns of a label in it.
const LABEL: u16 = 10;
/// It is shown from this height.
const DETAIL_FROM: u16 = 18;

/// Draws it.
pub(super) fn draw(canvas: &mut Canvas<'_>, area: Rect, model: &Model, state: &DeadLettersState) {
    let mut rest = area;
    filter_line::draw(canvas, &mut rest, model, state);
    lookup::draw_fault(canvas, &mut rest, model, state.asking());
    if rest.height >= DETAIL_FROM
        && let Some(group) = state.list.selected_row()
    {
        rest.height = rest.height.saturating_sub(DETAIL);
        let below = Rect {
            y: rest.bottom(),
            height: DETAIL,
            ..rest
        };
        draw_group(canvas, below, model, (state, group));
    }
    let groups = groups(state);
    let jobs = jobs(state);
    let order = format!(" · {}", state.order.name());
    let as_of = lookup::as_of(model, state.list.reading);
    let title: Vec<Piece<'_>> = vec![
        (Role::Title, "Dead letters"),
        (Role::Muted, &jobs),
        (Role::Muted, &groups),
        (Role::Muted, &order),
        (Role::Muted, &as_of),
    ];
    let inner = pane::draw(canvas, rest, &title);
    let body = Body {
        list: &state.list,
        asking: state.asking(),
        is_held: state.is_held(),
        unreadable: &state.unreadable,
        hidden: &state.hidden,
        sorted: Some(match state.order {
            GroupOrder::Largest => Column::Count,
            GroupOrder::Latest => Column::Last,
            GroupOrder::DiedAgain => Column::DiedAgain,
        }),
        marked: &unmarked,
        none: "no dead letters",
    };
    body.draw(canvas, rest, inner, model);
}

fn jobs(state: &DeadLettersState) -> String {
    match state.counted {
        Some(Count::Exact(number)) => format!(" · {}", count(number)),
        Some(Count::AtLeast(number)) => format!(" · ≥{}, the newest", count(number)),
        None => String::new(),
    }
}

fn groups(state: &DeadLettersState) -> String {
    if state.list.rows.is_empty() {
        return String::new();
    }
    let groups = count(num::count(state.list.rows.len()));
    if state.beyond > 0 {
        format!(
            " in the {groups} largest groups, {} in others",
            count(state.beyond)
        )
    } else {
        format!(" in {groups} groups")
    }
}

/// What the selected group is made of.
fn draw_group(
    canvas: &mut Canvas<'_>,
    area: Rect,
    model: &Model,
    (state, group): (&DeadLettersState, &DeadLetterGroup),
) {
    let class = group.class.map_or(NOTHING, |class| class.name());
    let reason = group.reason.as_ref().map_or("set aside", SafeText::as_str);
    let title = format!("{class} {reason}");
    let inner = pane::draw(canvas, area, &[(Role::Title, &title)]);
    let as_of = state.list.reading.map(|reading| reading.as_of);
    let seen = Seen {
        now: model
            .database_now()
            .into_iter()
            .chain(as_of)
            .max()
            .unwrap_or_default(),
        clock: model.clock,
    };
    let span = format!(
        "first {} ago, last {} ago · {} dead, {} quarantined",
        seen.age(group.first_at),
        seen.age(group.last_at),
        count(group.dead),
        count(group.quarantined),
    );
    let again = again(group);
    let lines: [(&str, Role, String); 6] = [
        ("error", Role::Text, group.fingerprint.as_str().to_owned()),
        ("", Role::Text, span),
        ("redriven", again.0, again.1),
        ("queues", Role::Text, names(&group.queues)),
        ("tenants", Role::Text, names(&group.tenants)),
        ("policies", Role::Text, names(&group.policies)),
    ];
    for (row, (label, role, value)) in lines.iter().enumerate() {
        let Some(spot) = Spot::row(inner, num::columns(row)) else {
            break;
        };
        canvas.text(spot.first(LABEL), Role::Muted, label);
        let room = spot.after(LABEL);
        canvas.text(room, *role, &text::cut(value, room.columns));
    }
}

/// What nobody should replay without a thought: jobs that were sent back and died again.
fn again(group: &DeadLetterGroup) -> (Role, String) {
    let unsettled = match group.unsettled {
        0 => String::new(),
        some => format!(
            " · {} with an attempt whose outcome is unknown",
            count(some)
        ),
    };
    if group.died_again == 0 {
        return (Role::Text, format!("none of them before{unsettled}"));
    }
    let text = format!(
        "△ {} of them before, and died again{unsettled}",
        count(group.died_again)
    );
    (Role::Warning, text)
}

fn names(counted: &[(SafeText, u64)]) -> String {
    let names: Vec<String> = counted
        .iter()
        .map(|(name, number)| {
            let name = name.as_str();
            let name = if name.is_empty() { NOTHING } else { name };
            format!("{name} {}", count(*number))
        })
        .collect();
    if names.is_empty() {
        NOTHING.to_owned()
    } else {
        names.join(" · ")
    }
}

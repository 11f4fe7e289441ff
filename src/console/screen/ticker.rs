//! The ticker: the latest events, newest first. What operators did stands out. Events that are
//! alike in all that is shown, and of the same second, are one line with a count: a busy queue does
//! not push out the rest.

use ratatui::layout::Rect;

use crate::board::summary::Tick;
use crate::console::model::{Hold, Model};
use crate::console::theme::Role;
use crate::console::widget::canvas::{Piece, Spot};
use crate::console::widget::{Canvas, pane};
use crate::ledger::event::ActorKind;
use crate::ledger::num;

use super::scope::Scope;

/// The most lines while numbers follow the ledger: every line moves with every event, nobody reads
/// more of them in a second, and each costs bytes on the way to a terminal far away. Held still,
/// there are as many as fit.
const MOVING_MAX: u16 = 12;
const TIME: u16 = 9;
const KIND: u16 = 14;
const TIMES: u16 = 4;

/// Draws it.
pub(super) fn draw(canvas: &mut Canvas<'_>, area: Rect, model: &Model, scope: Option<Scope<'_>>) {
    let inner = pane::draw(canvas, area, &[(Role::Title, "Latest events")]);
    let Some(scope) = scope else {
        return;
    };
    // A queue has a ticker of its own, which goes on while the numbers are held.
    let own =
        (scope.queue.zip(model.board.as_ref())).map(|(queue, board)| board.ticker(queue.as_str()));
    let ticks = own.as_ref().unwrap_or(&scope.summary.ticker).iter();
    let until = scope.summary.as_of;
    let ticks = ticks
        .filter(|tick| tick.at <= until && scope.queue.is_none_or(|queue| *queue == tick.queue));
    let most = match model.hold {
        Hold::Follow => inner.height.min(MOVING_MAX),
        Hold::Paused => inner.height,
    };
    let lines = grouped(ticks, usize::from(most));
    for (row, (tick, times)) in lines.iter().enumerate() {
        let Some(spot) = Spot::row(inner, num::columns(row)) else {
            return;
        };
        draw_tick(canvas, spot, model, scope, (tick, *times));
    }
    if lines.is_empty()
        && let Some(spot) = Spot::row(inner, 0)
    {
        canvas.text(spot, Role::Muted, "nothing has happened yet");
    }
}

/// The first `most` lines: each an event, and how many like it there were in its second.
fn grouped<'a>(ticks: impl Iterator<Item = &'a Tick>, most: usize) -> Vec<(&'a Tick, u64)> {
    let mut lines: Vec<(&Tick, u64)> = Vec::new();
    for tick in ticks {
        if let Some((_, times)) = lines.iter_mut().find(|(line, _)| are_alike(line, tick)) {
            *times = times.saturating_add(1);
        } else if lines.len() < most {
            lines.push((tick, 1));
        }
    }
    lines
}

fn are_alike(a: &Tick, b: &Tick) -> bool {
    let moment = |tick: &Tick| {
        (
            tick.at.second(),
            tick.kind,
            tick.from,
            tick.to,
            tick.actor_kind,
        )
    };
    moment(a) == moment(b)
        && (&a.queue, &a.actor, &a.failure, &a.note) == (&b.queue, &b.actor, &b.failure, &b.note)
}

fn draw_tick(
    canvas: &mut Canvas<'_>,
    spot: Spot,
    model: &Model,
    scope: Scope<'_>,
    (tick, times): (&Tick, u64),
) {
    let is_operator = match tick.actor_kind {
        ActorKind::Operator => true,
        ActorKind::Producer | ActorKind::Worker | ActorKind::System => false,
    };
    let kind = if is_operator {
        Role::Operator
    } else {
        Role::Text
    };
    let time = model.clock.moment(tick.at, scope.summary.as_of);
    canvas.text(spot.first(TIME - 1), Role::Muted, &time);
    let spot = spot.after(TIME);
    canvas.text(spot.first(KIND - 1), kind, tick.kind.name());
    let spot = spot.after(KIND);
    if times > 1 {
        canvas.text(spot.first(TIMES - 1), Role::Text, &format!("×{times}"));
    }
    let mut spot = spot.after(TIMES);
    if scope.queue.is_none() {
        let queue = (spot.columns / 4).clamp(8, 24);
        canvas.text(spot.first(queue), Role::Text, tick.queue.as_str());
        spot = spot.after(queue + 2);
    }
    let step = match tick.from {
        Some(from) if from != tick.to => format!("{} → {}", from.name(), tick.to.name()),
        Some(_) | None => tick.to.name().to_owned(),
    };
    let mut pieces: Vec<Piece<'_>> = vec![(Role::Muted, &step)];
    if let Some(reason) = &tick.failure.reason {
        pieces.push((Role::Muted, "  "));
        pieces.push((Role::Text, reason.as_str()));
    }
    let actor_kind = format!("  {} ", tick.actor_kind.name());
    pieces.push((Role::Muted, &actor_kind));
    pieces.push((
        if is_operator {
            Role::Operator
        } else {
            Role::Muted
        },
        tick.actor.as_str(),
    ));
    if let Some(note) = &tick.note {
        pieces.push((Role::Muted, ": "));
        pieces.push((Role::Text, note.as_str()));
    }
    canvas.pieces(spot, &pieces);
}

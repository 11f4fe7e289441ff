//! The last line: the few keys that matter now, from the live keymap.

use ratatui::layout::Rect;

use crate::console::clock::TimeStyle;
use crate::console::keymap::{Action, Place, REGISTRY};
use crate::console::model::{Filter, Hold, Model, View};
use crate::console::text;
use crate::console::theme::Role;
use crate::console::widget::Canvas;
use crate::console::widget::canvas::Spot;

/// Columns between two keys.
const GAP: u16 = 3;

/// Draws it.
pub(super) fn draw(canvas: &mut Canvas<'_>, area: Rect, model: &Model) {
    let Some(line) = Spot::row(area, 0) else {
        return;
    };
    let line = line.after(1).first(line.columns.saturating_sub(2));
    if let View::Overview { here, .. } = &model.view
        && let Filter::Typing { field, .. } = &here.filter
    {
        let typed = format!("{}▏", field.text());
        let used = canvas.pieces(line, &[(Role::Accent, "filter "), (Role::Text, &typed)]);
        hints(
            canvas,
            line.after(used.saturating_add(GAP)),
            model,
            &[Action::Enter, Action::Out],
        );
        return;
    }
    let place = match model.view {
        View::Overview { .. } => Place::Overview,
        View::Queue { .. } => Place::Queue,
    };
    let actions: Vec<Action> = REGISTRY
        .iter()
        .filter(|binding| binding.footer.is_some() && binding.places.contains(&place))
        .map(|binding| binding.action)
        .filter(|action| has_effect(*action, model))
        .collect();
    hints(canvas, line, model, &actions);
}

/// `out` matters where there is a level to leave.
fn has_effect(action: Action, model: &Model) -> bool {
    let overview = model.view.overview();
    let level = model.view.queue_shown().is_some() || overview.filter != Filter::Off;
    match action {
        Action::Out => level,
        Action::Enter => !model.rows().is_empty(),
        Action::Down => model.view.queue_shown().is_some(),
        Action::Filter | Action::Sort => model.shown.is_some(),
        Action::Back
        | Action::Pause
        | Action::TimeZone
        | Action::Palette
        | Action::Help
        | Action::Up
        | Action::First
        | Action::Last
        | Action::HalfUp
        | Action::HalfDown
        | Action::Faster
        | Action::Slower
        | Action::NextTab
        | Action::PreviousTab
        | Action::Overview
        | Action::Redraw
        | Action::Suspend
        | Action::Quit
        | Action::Erase
        | Action::EraseWord
        | Action::EraseAll => true,
    }
}

/// The word for an action, where it depends on what is shown.
fn word(action: Action, model: &Model) -> &'static str {
    let on_queue = model.view.queue_shown().is_some();
    let typing = model.place() == Place::Field && model.dialog.is_none();
    match (action, model.hold) {
        (Action::Pause, Hold::Paused) => "go on",
        (Action::Back, _) if on_queue => "back",
        (Action::Enter, _) if typing => "accept",
        (Action::Out, _) if typing => "cancel",
        (Action::Out, _) if !on_queue => "clear filter",
        (Action::TimeZone, _) => match model.clock.style {
            TimeStyle::Utc => "utc",
            TimeStyle::Local => "local",
            TimeStyle::Relative => "ages",
        },
        _ => REGISTRY
            .iter()
            .find(|binding| binding.action == action)
            .and_then(|binding| binding.footer)
            .unwrap_or_default(),
    }
}

fn hints(canvas: &mut Canvas<'_>, at: Spot, model: &Model, actions: &[Action]) {
    let mut at = at;
    for action in actions {
        let key = model.fixed.keymap.key_of(*action);
        let word = word(*action, model);
        let width = text::columns(&key)
            .saturating_add(1)
            .saturating_add(text::columns(word));
        if key.is_empty() || width > at.columns {
            continue;
        }
        canvas.pieces(
            at,
            &[
                (Role::Accent, &key),
                (Role::Muted, " "),
                (Role::Muted, word),
            ],
        );
        at = at.after(width.saturating_add(GAP));
    }
}

//! The last line: the few keys that matter now, from the live keymap.

use ratatui::layout::Rect;

use crate::console::clock::TimeStyle;
use crate::console::keymap::{Action, Place, REGISTRY};
use crate::console::model::{Filter, Hold, Model, Screen};
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
    if matches!(model.view.shown(), Screen::Overview)
        && let Filter::Typing { field, .. } = &model.view.overview().filter
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
    if model.place() == Place::Field && model.dialog.is_none() {
        hints(
            canvas,
            line,
            model,
            &[Action::Enter, Action::Complete, Action::Out],
        );
        return;
    }
    let place = model.screen_place();
    let actions: Vec<Action> = REGISTRY
        .iter()
        .filter(|binding| binding.footer.is_some() && binding.places.contains(&place))
        .map(|binding| binding.action)
        .filter(|action| has_effect(*action, model))
        .collect();
    hints(canvas, line, model, &actions);
}

/// Whether a key would do something now: `out` where there is a level to leave, and so on.
fn has_effect(action: Action, model: &Model) -> bool {
    let filtered = model.view.overview().filter != Filter::Off;
    match action {
        Action::Out => match model.view.shown() {
            Screen::Overview => filtered,
            _ => true,
        },
        Action::Enter => match model.view.shown() {
            Screen::Overview => !model.rows().is_empty(),
            Screen::Queue(_) => true,
            Screen::DeadLetters(state) => state.list.selected_row().is_some(),
            Screen::Audit(state) => state.plan_of_selected().is_some(),
            Screen::Jobs(_) | Screen::Leases(_) => false,
        },
        Action::Down => model.view.queue_shown().is_some(),
        Action::Filter => model.shown.is_some(),
        Action::Complete => false,
        Action::Sort => match model.view.shown() {
            Screen::Jobs(state) => state.list.reading.is_some(),
            Screen::DeadLetters(state) => state.list.reading.is_some(),
            _ => model.shown.is_some(),
        },
        Action::Again => model.view.shown().looks().is_some(),
        Action::Mark | Action::MarkRange => model
            .view
            .jobs_shown()
            .is_some_and(|jobs| !jobs.list.rows.is_empty()),
        Action::Unmark => model
            .view
            .jobs_shown()
            .is_some_and(|jobs| !jobs.marks.is_empty()),
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
        | Action::Jobs
        | Action::DeadLetters
        | Action::Leases
        | Action::Audit
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
    let inside = model.view.has_before();
    let typing = model.place() == Place::Field && model.dialog.is_none();
    match (action, model.hold) {
        (Action::Pause, Hold::Paused) => "go on",
        (Action::Back, _) if inside => "back",
        (Action::Enter, _) if typing => "accept",
        (Action::Complete, _) => "complete",
        (Action::Enter, _) => match model.view.shown() {
            Screen::Queue(_) | Screen::DeadLetters(_) | Screen::Audit(_) => "its jobs",
            Screen::Overview | Screen::Jobs(_) | Screen::Leases(_) => "open",
        },
        (Action::Out, _) if typing => "cancel",
        (Action::Out, _) if !inside => "clear filter",
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

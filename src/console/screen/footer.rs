//! The last line: the few keys that matter now, from the live keymap.

use ratatui::layout::Rect;

use crate::console::clock::TimeStyle;
use crate::console::keymap::{Action, Place, REGISTRY};
use crate::console::model::{Filter, Hold, Model, Screen};
use crate::console::text;
use crate::console::theme::Role;
use crate::console::widget::Canvas;
use crate::console::widget::canvas::Spot;
use crate::ledger::job::Operation;
use crate::ledger::state::State;

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
    if let Some(notice) = &model.notice {
        canvas.pieces(line, &[(Role::Warning, "△ "), (Role::Title, notice)]);
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

/// Whether something is selected that can be opened.
fn may_enter(model: &Model) -> bool {
    match model.view.shown() {
        Screen::Overview => !model.rows().is_empty(),
        Screen::Queue(_) => true,
        Screen::DeadLetters(state) => state.list.selected_row().is_some(),
        Screen::Plans(state) => state.list.selected_row().is_some(),
        Screen::Audit(state) => {
            state.plan_of_selected().is_some() || state.job_of_selected().is_some()
        }
        Screen::Jobs(state) => state.list.selected_row().is_some(),
        Screen::Leases(state) => state.list.selected_row().is_some(),
        Screen::Job(_) => false,
    }
}

/// Whether a key would do something now: `out` where there is a level to leave, and so on.
fn has_effect(action: Action, model: &Model) -> bool {
    let filtered = model.view.overview().filter != Filter::Off;
    match action {
        Action::Out => match model.view.shown() {
            Screen::Overview => filtered,
            _ => true,
        },
        Action::Enter => may_enter(model),
        Action::Down => model.view.queue_shown().is_some() || story(model),
        Action::Reveal => story(model),
        Action::Quarantine => may(Operation::Quarantine, model),
        Action::Revoke => may(Operation::Revoke, model),
        Action::Redrive => may(Operation::Redrive, model),
        Action::Promote => may(Operation::Promote, model),
        Action::Discard => may(Operation::Discard, model),
        Action::Whole => model.fixed.permit.is_some(),
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
        | Action::Plans
        | Action::Audit
        | Action::Redraw
        | Action::Suspend
        | Action::Quit
        | Action::Erase
        | Action::EraseWord
        | Action::EraseAll
        | Action::Confirm
        | Action::Copy => true,
    }
}

/// Whether an operation is to be had now: on marks and groups always, on one job where the table of
/// transitions lets an operator do it.
fn may(operation: Operation, model: &Model) -> bool {
    if model.fixed.permit.is_none() {
        return false;
    }
    let state = match model.view.shown() {
        Screen::Jobs(jobs) if !jobs.marks.is_empty() => return true,
        Screen::Jobs(jobs) => jobs.list.selected_row().map(|job| job.row.state),
        Screen::Leases(leases) => leases.list.selected_row().map(|lease| lease.job.row.state),
        Screen::Job(job) => job.story().map(|story| story.job.row.state),
        Screen::DeadLetters(letters) => {
            let dead = operation.may_leave(State::Dead) || operation.may_leave(State::Quarantined);
            return dead && letters.list.selected_row().is_some();
        }
        Screen::Overview | Screen::Queue(_) | Screen::Plans(_) | Screen::Audit(_) => None,
    };
    state.is_some_and(|state| operation.may_leave(state))
}

/// Whether a job is shown that was found.
fn story(model: &Model) -> bool {
    let job = model.view.job_shown();
    job.is_some_and(|job| job.story().is_some())
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
            Screen::Queue(_) | Screen::DeadLetters(_) | Screen::Plans(_) | Screen::Audit(_) => {
                "its jobs"
            }
            Screen::Overview | Screen::Jobs(_) | Screen::Job(_) | Screen::Leases(_) => "open",
        },
        (Action::Down, _) if model.view.job_shown().is_some() => "next event",
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

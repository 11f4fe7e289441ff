//! What a key does, given the place it is pressed in.

use crossterm::event::KeyEvent;

use crate::console::Ended;
use crate::console::dialog::{Dialog, Target, help, palette};
use crate::console::effect::Effect;
use crate::console::keymap::{Action, Chord, Place};
use crate::console::model::{Chosen, Field, Filter, Model, REFRESH_STEPS, View};
use crate::ledger::num;
use crate::ledger::text::SafeText;

/// A key was pressed.
pub(super) fn press(model: &mut Model, key: KeyEvent) -> Vec<Effect> {
    let place = model.place();
    if place == Place::Field
        && let Some(typed) = Chord::of(key).typed()
    {
        paste(model, typed.encode_utf8(&mut [0; 4]));
        return Vec::new();
    }
    match model.fixed.keymap.action(key, place) {
        Some(action) => act(model, action),
        None => Vec::new(),
    }
}

/// Text was typed or pasted; outside a field it means nothing.
pub(super) fn paste(model: &mut Model, text: &str) {
    edit(model, |field| field.insert(text));
}

/// Does what an action says in the present place.
fn act(model: &mut Model, action: Action) -> Vec<Effect> {
    match action {
        Action::Up => step(model, -1),
        Action::Down => step(model, 1),
        Action::HalfUp => step(model, -half_screen(model)),
        Action::HalfDown => step(model, half_screen(model)),
        Action::First => step(model, i64::MIN),
        Action::Last => step(model, i64::MAX),
        Action::Enter => return enter(model),
        Action::Out => {
            out(model);
        }
        Action::Back => {
            if !out(model) {
                return vec![Effect::End(Ended::Quit)];
            }
        }
        Action::Filter => begin_filter(model),
        Action::Sort => {
            let overview = model.view.overview_mut();
            overview.order = overview.order.next();
        }
        Action::Pause => super::toggle_hold(model),
        Action::Faster => return change_refresh(model, Pace::Faster),
        Action::Slower => return change_refresh(model, Pace::Slower),
        Action::TimeZone => model.clock.style = model.clock.style.next(),
        Action::NextTab | Action::PreviousTab => model.view.switch_tab(),
        Action::Overview => model.view.show_overview(),
        Action::Palette => model.dialog = Some(Dialog::Palette(palette::Palette::default())),
        Action::Help => toggle_help(model),
        Action::Redraw => return vec![Effect::Repaint],
        Action::Suspend => return vec![Effect::Suspend],
        Action::Quit => return vec![Effect::End(Ended::Quit)],
        Action::Erase => edit(model, Field::erase),
        Action::EraseWord => edit(model, Field::erase_word),
        Action::EraseAll => edit(model, Field::erase_all),
    }
    Vec::new()
}

/// Out by one level; returns whether there was one.
fn out(model: &mut Model) -> bool {
    match &mut model.dialog {
        Some(Dialog::Help(help)) => {
            if !help.search.out() {
                model.dialog = None;
            }
            return true;
        }
        Some(Dialog::Palette(_)) => {
            model.dialog = None;
            return true;
        }
        None => {}
    }
    if model.view.leave_queue() {
        return true;
    }
    let left = model.view.overview_mut().filter.out();
    if left {
        keep_selection_listed(model);
    }
    left
}

fn enter(model: &mut Model) -> Vec<Effect> {
    match &mut model.dialog {
        Some(Dialog::Help(help)) => {
            help.search.accept();
            return Vec::new();
        }
        Some(Dialog::Palette(_)) => return choose(model),
        None => {}
    }
    if let View::Overview { here, .. } = &mut model.view
        && here.filter.is_typing()
    {
        here.filter.accept();
        keep_selection_listed(model);
        return Vec::new();
    }
    let selected = model.view.overview().selected.clone();
    let listed = selected.filter(|name| model.rows().iter().any(|row| row.queue == *name));
    if let Some(queue) = listed {
        model.view.enter(queue);
    }
    Vec::new()
}

/// Goes where the palette points.
fn choose(model: &mut Model) -> Vec<Effect> {
    let Some(Dialog::Palette(palette)) = &model.dialog else {
        return Vec::new();
    };
    let target = palette::chosen(model, palette);
    model.dialog = None;
    match target {
        Some(Target::Queue(queue)) => model.view.enter(queue),
        Some(Target::Action(action)) => return act(model, action),
        None => {}
    }
    Vec::new()
}

fn begin_filter(model: &mut Model) {
    match &mut model.dialog {
        Some(Dialog::Help(help)) => help.search.edit(),
        Some(Dialog::Palette(_)) => {}
        None => {
            // From the palette it may be asked for on a queue: the filter is the overview's.
            model.view.show_overview();
            model.view.overview_mut().filter.edit();
        }
    }
}

fn toggle_help(model: &mut Model) {
    model.dialog = match model.dialog {
        Some(Dialog::Help(_)) => None,
        Some(Dialog::Palette(_)) | None => Some(Dialog::Help(help::Help::default())),
    };
}

/// Changes the field that takes text now, if any.
fn edit(model: &mut Model, change: impl FnOnce(&mut Field)) {
    match &mut model.dialog {
        Some(Dialog::Palette(palette)) => {
            change(&mut palette.field);
            palette.selected = None;
        }
        Some(Dialog::Help(help)) => {
            if let Filter::Typing { field, .. } = &mut help.search {
                change(field);
                help.scroll = 0;
            }
        }
        None => {
            if let Filter::Typing { field, .. } = &mut model.view.overview_mut().filter {
                change(field);
                keep_selection_listed(model);
            }
        }
    }
}

/// Selects the first queue, if there is one.
pub(super) fn select_first(model: &mut Model) {
    let first = model.rows().first().map(|row| row.queue.clone());
    model.view.overview_mut().selected = first;
}

/// A filter that hides the selected queue selects the first that it lists.
fn keep_selection_listed(model: &mut Model) {
    let selected = model.view.overview().selected.as_ref();
    let rows = model.rows();
    if !rows.is_empty() && !rows.iter().any(|row| Some(&row.queue) == selected) {
        select_first(model);
    }
}

/// Moves by `lines` within what is shown; saturates at both ends.
fn step(model: &mut Model, lines: i64) {
    match &mut model.dialog {
        Some(Dialog::Help(_)) => {
            let most = help::scroll_max(model);
            if let Some(Dialog::Help(help)) = &mut model.dialog {
                help.scroll = moved(help.scroll, lines, most.saturating_add(1));
            }
        }
        Some(Dialog::Palette(palette)) => {
            let palette = palette.clone();
            let moved = palette::moved(model, palette, lines);
            model.dialog = Some(Dialog::Palette(moved));
        }
        None => step_queue(model, lines),
    }
}

fn step_queue(model: &mut Model, lines: i64) {
    let names: Vec<SafeText> = model.rows().iter().map(|row| row.queue.clone()).collect();
    let current = match &model.view {
        View::Queue { here, .. } => Some(&here.queue),
        View::Overview { here, .. } => here.selected.as_ref(),
    };
    let position = current.and_then(|name| names.iter().position(|each| each == name));
    let next = position.map_or(0, |position| moved(position, lines, names.len()));
    let Some(name) = names.into_iter().nth(next) else {
        return;
    };
    if let View::Queue { here, .. } = &mut model.view {
        here.queue = name.clone();
    }
    let overview = model.view.overview_mut();
    overview.selected = Some(name);
    overview.chosen = Chosen::ByHand;
}

/// `from` moved by `lines` within `0..count`.
pub(in crate::console) fn moved(from: usize, lines: i64, count: usize) -> usize {
    let last = num::signed(num::count(count.saturating_sub(1)));
    let to = num::signed(num::count(from))
        .saturating_add(lines)
        .clamp(0, last);
    num::index(num::unsigned(to))
}

fn half_screen(model: &Model) -> i64 {
    i64::from((model.size.height / 2).max(1))
}

#[derive(Debug, Clone, Copy)]
enum Pace {
    Faster,
    Slower,
}

fn change_refresh(model: &mut Model, pace: Pace) -> Vec<Effect> {
    let next = match pace {
        Pace::Faster => REFRESH_STEPS
            .iter()
            .rev()
            .find(|step| **step < model.refresh),
        Pace::Slower => REFRESH_STEPS.iter().find(|step| **step > model.refresh),
    };
    match next {
        Some(step) => {
            model.refresh = *step;
            vec![Effect::Refresh(*step)]
        }
        None => Vec::new(),
    }
}

//! What a key does, given the place it is pressed in.

use crossterm::event::KeyEvent;

use crate::console::Ended;
use crate::console::dialog::payload::Payload;
use crate::console::dialog::{Dialog, Target, help, palette};
use crate::console::effect::Effect;
use crate::console::keymap::{Action, Chord, Place};
use crate::console::model::{
    Chosen, Field, Filter, JobState, JobsState, Model, REFRESH_STEPS, Screen, Tab,
};
use crate::ledger::job::Operation;
use crate::ledger::num;
use crate::ledger::query::{Pattern, Query, Term, Test};
use crate::ledger::state::State;
use crate::ledger::text::SafeText;
use crate::ledger::view::JobName;

use super::{filtering, lists, operate};

/// A key was pressed.
pub(super) fn press(model: &mut Model, key: KeyEvent) -> Vec<Effect> {
    model.notice = None;
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
        Action::Out | Action::Back if matches!(model.dialog, Some(Dialog::Operate(_))) => {
            return operate::out(model);
        }
        Action::Out => {
            out(model);
        }
        Action::Back => {
            if !out(model) {
                return vec![Effect::End(Ended::Quit)];
            }
        }
        Action::Filter => begin_filter(model),
        Action::Complete => filtering::complete(model),
        Action::Sort => sort(model),
        Action::Mark => with_jobs(model, lists::mark),
        Action::MarkRange => with_jobs(model, lists::mark_range),
        Action::Unmark => with_jobs(model, |jobs| jobs.marks.clear()),
        Action::Again => again(model),
        Action::Pause => super::toggle_hold(model),
        Action::Faster => return change_refresh(model, Pace::Faster),
        Action::Slower => return change_refresh(model, Pace::Slower),
        Action::TimeZone => model.clock.style = model.clock.style.next(),
        Action::NextTab => model.view.turn(1),
        Action::PreviousTab => model.view.turn(Tab::ALL.len() - 1),
        Action::Overview => model.view.go(Tab::Overview),
        Action::Jobs => model.view.go(Tab::Jobs),
        Action::DeadLetters => model.view.go(Tab::DeadLetters),
        Action::Leases => model.view.go(Tab::Leases),
        Action::Plans => model.view.go(Tab::Plans),
        Action::Audit => model.view.go(Tab::Audit),
        Action::Reveal => reveal(model),
        Action::Confirm => return confirm(model),
        Action::Quarantine => return operate::begin(model, Operation::Quarantine),
        Action::Revoke => return operate::begin(model, Operation::Revoke),
        Action::Redrive => return operate::begin(model, Operation::Redrive),
        Action::Promote => return operate::begin(model, Operation::Promote),
        Action::Discard => return operate::begin(model, Operation::Discard),
        Action::Whole => operate::begin_whole(model),
        Action::Copy => return operate::copy(model),
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
        Some(Dialog::Palette(_) | Dialog::Payload(_) | Dialog::Whole(_) | Dialog::Operate(_)) => {
            model.dialog = None;
            return true;
        }
        None => {}
    }
    let left_within = match model.view.shown_mut() {
        Screen::Jobs(jobs) => jobs.marks.drop_range(),
        _ => false,
    };
    if left_within || filtering::out(model) || model.view.leave() {
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
        Some(Dialog::Operate(_)) => return operate::enter(model),
        Some(Dialog::Payload(_) | Dialog::Whole(_)) => return Vec::new(),
        None => {}
    }
    if filtering::accept(model) {
        return Vec::new();
    }
    match model.view.shown() {
        Screen::Overview => enter_queue(model),
        Screen::Queue(here) => {
            let query = of_queue(&here.queue);
            enter_jobs(model, query);
        }
        Screen::DeadLetters(here) => {
            if let Some(query) = here.list.selected_row().map(|group| here.jobs_of(group)) {
                enter_jobs(model, query);
            }
        }
        Screen::Plans(here) => {
            if let Some(query) = here.jobs_of_selected() {
                enter_jobs(model, query);
            }
        }
        Screen::Audit(here) => match (here.plan_of_selected(), here.job_of_selected()) {
            (Some(plan), _) => enter_jobs(
                model,
                Query {
                    terms: vec![term(Test::Plan(plan))],
                },
            ),
            (None, Some(job)) => model.view.enter_job(JobName::Id(job)),
            (None, None) => {}
        },
        Screen::Jobs(here) => {
            let selected = here.list.selected;
            if let Some(job) = selected {
                model.view.enter_job(JobName::Id(job));
            }
        }
        Screen::Leases(here) => {
            let selected = here.list.selected;
            if let Some(job) = selected {
                model.view.enter_job(JobName::Id(job));
            }
        }
        Screen::Job(_) => {}
    }
    Vec::new()
}

fn enter_jobs(model: &mut Model, query: Query) {
    let order = query.natural_order();
    let jobs = JobsState::of(query, order);
    model.view.enter(Screen::Jobs(Box::new(jobs)));
}

fn enter_queue(model: &mut Model) {
    let filter = &mut model.view.overview_mut().filter;
    if filter.is_typing() {
        filter.accept();
        keep_selection_listed(model);
        return;
    }
    let selected = model.view.overview().selected.clone();
    let listed = selected.filter(|name| model.rows().iter().any(|row| row.queue == *name));
    if let Some(queue) = listed {
        model.view.enter_queue(queue);
    }
}

/// The live jobs of a queue.
fn of_queue(queue: &SafeText) -> Query {
    let queue = term(Test::Queue(Pattern::Is(queue.as_str().to_owned())));
    let states = State::LIVE.map(|state| term(Test::State(state)));
    Query {
        terms: std::iter::once(queue).chain(states).collect(),
    }
}

const fn term(test: Test) -> Term {
    Term {
        negated: false,
        test,
    }
}

/// Asks whether the payload of the shown job is to be seen.
fn reveal(model: &mut Model) {
    if let Some(story) = model.view.job_shown().and_then(JobState::story) {
        model.dialog = Some(Dialog::Payload(Payload::of(story)));
    }
}

/// Does what the dialog asks about.
fn confirm(model: &mut Model) -> Vec<Effect> {
    let now = model.now;
    if let Some(Dialog::Payload(payload)) = &mut model.dialog {
        payload.show(now);
    }
    operate::confirm(model)
}

/// Changes the list of jobs that is shown, if one is.
fn with_jobs(model: &mut Model, change: impl FnOnce(&mut JobsState)) {
    if let Screen::Jobs(jobs) = model.view.shown_mut() {
        change(jobs);
    }
}

fn sort(model: &mut Model) {
    match model.view.shown_mut() {
        Screen::Jobs(jobs) => jobs.sort(),
        Screen::DeadLetters(letters) => letters.sort(),
        Screen::Overview
        | Screen::Queue(_)
        | Screen::Job(_)
        | Screen::Leases(_)
        | Screen::Plans(_)
        | Screen::Audit(_) => {
            let overview = model.view.overview_mut();
            overview.order = overview.order.next();
        }
    }
}

/// Looks the shown list up again now, whether it changed or not.
fn again(model: &mut Model) {
    if let Some(looks) = model.view.shown_mut().looks_mut() {
        let asking = looks.asking_mut();
        asking.news = true;
        asking.asked_at = None;
        if asking.fault.take().is_some() {
            // What failed is open, and waits for its next try: it is asked anew.
            model.open = None;
        }
    }
}

/// Goes where the palette points.
fn choose(model: &mut Model) -> Vec<Effect> {
    let Some(Dialog::Palette(palette)) = &model.dialog else {
        return Vec::new();
    };
    let target = palette::chosen(model, palette);
    model.dialog = None;
    match target {
        Some(Target::Queue(queue)) => model.view.enter_queue(queue),
        Some(Target::Job(name)) => model.view.enter_job(name),
        Some(Target::Action(action)) => return act(model, action),
        None => {}
    }
    Vec::new()
}

fn begin_filter(model: &mut Model) {
    match &mut model.dialog {
        Some(Dialog::Help(help)) => help.search.edit(),
        Some(Dialog::Palette(_) | Dialog::Payload(_) | Dialog::Whole(_) | Dialog::Operate(_)) => {}
        None => {
            if !filtering::begin(model) {
                model.view.overview_mut().filter.edit();
            }
        }
    }
}

fn toggle_help(model: &mut Model) {
    match model.dialog {
        Some(Dialog::Help(_)) => model.dialog = None,
        Some(Dialog::Palette(_)) | None => {
            model.dialog = Some(Dialog::Help(help::Help::default()));
        }
        // What they show is not to be lost by a glance at the keys.
        Some(Dialog::Payload(_) | Dialog::Operate(_) | Dialog::Whole(_)) => {}
    }
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
        Some(Dialog::Operate(dialog)) => {
            if let Some(field) = dialog.field() {
                change(field);
            }
        }
        Some(Dialog::Payload(_) | Dialog::Whole(_)) => {}
        None => {
            if model.view.shown().filtered().is_some() {
                filtering::edit(model, change);
            } else if let Filter::Typing { field, .. } = &mut model.view.overview_mut().filter {
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
    let is_typing = filtering::is_typing(model);
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
        Some(Dialog::Payload(payload)) => payload.step(lines),
        Some(Dialog::Operate(_) | Dialog::Whole(_)) => {}
        None if is_typing => filtering::choose(model, lines),
        None => match model.view.shown_mut() {
            Screen::Overview | Screen::Queue(_) => step_queue(model, lines),
            Screen::Jobs(here) => lists::step(&mut here.list, lines),
            Screen::Job(here) => here.step(lines),
            Screen::DeadLetters(here) => lists::step(&mut here.list, lines),
            Screen::Leases(here) => lists::step(&mut here.list, lines),
            Screen::Plans(here) => lists::step(&mut here.list, lines),
            Screen::Audit(here) => lists::step(&mut here.list, lines),
        },
    }
}

fn step_queue(model: &mut Model, lines: i64) {
    let names: Vec<SafeText> = model.rows().iter().map(|row| row.queue.clone()).collect();
    let shown = model.view.queue_shown();
    let current = shown.or(model.view.overview().selected.as_ref());
    let position = current.and_then(|name| names.iter().position(|each| each == name));
    let next = position.map_or(0, |position| moved(position, lines, names.len()));
    let Some(name) = names.into_iter().nth(next) else {
        return;
    };
    if let Screen::Queue(here) = model.view.shown_mut() {
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

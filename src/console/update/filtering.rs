//! What keys do in the filter of a list.

use chrono::{Local, Utc};

use crate::console::clock::{LocalZone, TimeStyle};
use crate::console::model::{Field, Filtered, Model, Names, Screen};
use crate::ledger::query::{Query, QueryError, parse};

/// Begins to type the filter of the shown list. Returns whether it has one.
pub(super) fn begin(model: &mut Model) -> bool {
    let Some(list) = model.view.shown_mut().filtered_mut() else {
        return false;
    };
    let query = list.query().clone();
    list.line_mut().edit(&query);
    true
}

/// Whether the filter of the shown list is being typed.
pub(super) fn is_typing(model: &Model) -> bool {
    let list = model.view.shown().filtered();
    list.is_some_and(|list| list.line().typing().is_some())
}

/// Changes what is typed; what can be read holds at once.
pub(super) fn edit(model: &mut Model, change: impl FnOnce(&mut Field)) {
    let reader = Reader::of(model);
    let Some(list) = model.view.shown_mut().filtered_mut() else {
        return;
    };
    let read = |text: &str| reader.read(text);
    if let Some(query) = list.line_mut().change(change, read) {
        hold(list, query);
    }
}

fn hold(list: &mut dyn Filtered, query: Query) {
    if *list.query() != query {
        list.hold(query);
    }
}

/// Takes what was typed, and lets a filter run that reads jobs one by one. Returns whether there
/// was something to take.
pub(super) fn accept(model: &mut Model) -> bool {
    let was_typing = is_typing(model);
    let reader = Reader::of(model);
    let shown = model.view.shown_mut();
    if let Some(list) = shown.filtered_mut()
        && let Some(query) = list.line_mut().accept(|text| reader.read(text))
    {
        hold(list, query);
    }
    let granted = match shown {
        Screen::Jobs(jobs) => jobs.grant(),
        _ => false,
    };
    was_typing || granted
}

/// Out by one level of the filter. Returns whether there was one.
pub(super) fn out(model: &mut Model) -> bool {
    let is_typing = is_typing(model);
    let shown = model.view.shown_mut();
    if !is_typing
        && let Screen::Jobs(jobs) = shown
        && jobs.withdraw()
    {
        return true;
    }
    let Some(list) = shown.filtered_mut() else {
        return false;
    };
    let before = list.query().clone();
    match list.line_mut().out(&before) {
        Some(query) => {
            hold(list, query);
            true
        }
        None => false,
    }
}

/// Puts the chosen candidate in place of what is typed of it.
pub(super) fn complete(model: &mut Model) {
    let names = Names::of(model);
    let Some(list) = model.view.shown_mut().filtered_mut() else {
        return;
    };
    let Some(typing) = list.line().typing() else {
        return;
    };
    let completion = list.line().completion(&names.known());
    let Some(candidate) = completion.candidates.get(typing.chosen) else {
        return;
    };
    let text = candidate.text.clone();
    let kept: String = typing
        .field
        .text()
        .chars()
        .take(completion.replaces.start)
        .collect();
    // A value is whole; after a field's sign its value follows.
    let space = if text.ends_with([':', '>', '<', '=']) {
        ""
    } else {
        " "
    };
    edit(model, |field| {
        field.erase_all();
        field.insert(&format!("{kept}{text}{space}"));
    });
}

/// Chooses another candidate.
pub(super) fn choose(model: &mut Model, lines: i64) {
    let names = Names::of(model);
    let Some(list) = model.view.shown_mut().filtered_mut() else {
        return;
    };
    let count = list.line().completion(&names.known()).candidates.len();
    list.line_mut().choose(count, lines > 0);
}

/// How a text is read: at which moment, and of which place.
struct Reader {
    now: crate::ledger::time::Timestamp,
    zone: Option<LocalZone>,
}

impl Reader {
    fn of(model: &Model) -> Self {
        Self {
            now: model.database_now().unwrap_or_default(),
            zone: match model.clock.style {
                TimeStyle::Utc | TimeStyle::Relative => None,
                TimeStyle::Local => Some(model.clock.zone),
            },
        }
    }

    fn read(&self, text: &str) -> Result<Query, QueryError> {
        match self.zone {
            None => parse(text, self.now, &Utc),
            Some(LocalZone::Machine) => parse(text, self.now, &Local),
            Some(LocalZone::Named(zone)) => parse(text, self.now, &zone),
        }
    }
}

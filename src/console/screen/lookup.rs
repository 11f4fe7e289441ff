//! What every list says of itself: how many there are, as of when, and why there is nothing newer.

use std::time::Duration;

use ratatui::layout::Rect;

use crate::board::format::{coarse, count};
use crate::console::model::{Asking, Item, Listing, Model, Reading};
use crate::console::text;
use crate::console::theme::Role;
use crate::console::widget::Canvas;
use crate::console::widget::canvas::Spot;
use crate::ledger::num;
use crate::ledger::view::Count;

use super::take_top;

/// How many there are: ` · 214`, ` · ≥10,000`, ` · …` while that is not known.
pub(super) fn number<T: Item>(counted: Option<Count>, list: &Listing<T>) -> String {
    let whole = list
        .is_whole()
        .then(|| Count::Exact(num::count(list.rows.len())));
    match whole.or(counted) {
        Some(Count::Exact(number)) => format!(" · {}", count(number)),
        Some(Count::AtLeast(number)) => format!(" · ≥{}", count(number)),
        None if list.reading.is_some() => {
            let known = list.window.offset + num::count(list.rows.len());
            format!(" · ≥{}", count(known))
        }
        None => String::new(),
    }
}

/// As of when the list was read.
pub(super) fn as_of(model: &Model, reading: Option<Reading>) -> String {
    match reading {
        Some(reading) => {
            let now = model.database_now().unwrap_or_default().max(reading.as_of);
            let moment = model.clock.moment(reading.as_of, now);
            match model.clock.style {
                crate::console::clock::TimeStyle::Relative => format!(" · {moment} ago"),
                crate::console::clock::TimeStyle::Utc | crate::console::clock::TimeStyle::Local => {
                    format!(" · as of {moment}")
                }
            }
        }
        None => String::new(),
    }
}

/// What stands in an empty list.
pub(super) fn nothing(model: &Model, reading: Option<Reading>, none: &str) -> String {
    if reading.is_some() {
        return none.to_owned();
    }
    let waited = model
        .open
        .as_ref()
        .map(|open| model.now.saturating_duration_since(open.since))
        .unwrap_or_default();
    if waited < Duration::from_secs(1) {
        "looking …".to_owned()
    } else {
        format!("looking for {} …", coarse(waited))
    }
}

/// One line at the top of `rest` where looking failed: why, and when it is tried again.
pub(super) fn draw_fault(canvas: &mut Canvas<'_>, rest: &mut Rect, model: &Model, asking: &Asking) {
    let Some(fault) = &asking.fault else {
        return;
    };
    let Some(line) = Spot::row(take_top(rest, 1), 0) else {
        return;
    };
    let line = line.after(1).first(line.columns.saturating_sub(2));
    let wait = fault.next_try.saturating_duration_since(model.now);
    let next = if wait.is_zero() {
        "trying again now".to_owned()
    } else {
        // Rounded up: "retry in 0s" would be over before it is read.
        let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
        format!("retry in {seconds}s")
    };
    let width = text::columns(&next).min(line.columns);
    let left = line.first(line.columns.saturating_sub(width.saturating_add(2)));
    canvas.pieces(
        left,
        &[
            (Role::Critical, "▲ "),
            (Role::Critical, fault.error.as_str()),
        ],
    );
    canvas.right(line, Role::Title, &next);
}

//! What a message changes: message and model in, effects out, no I/O. Everything that the console
//! does is decided here and can be tested without a terminal or a ledger. Next: [`super::screen`],
//! which draws the model.

use std::time::Instant;

use crate::ledger::feed::Batch;
use crate::ledger::time::Timestamp;

use super::Ended;
use super::dialog::Dialog;
use super::effect::Effect;
use super::model::{Chosen, Hold, Link, Model, Reading, Shown};
use super::msg::Msg;

mod filtering;
mod keys;
mod lists;
mod looking;
pub mod operate;

pub(super) use keys::moved;

/// Takes in what happened at `at`; says what is to be done.
pub fn update(model: &mut Model, at: Instant, msg: Msg) -> Vec<Effect> {
    model.now = model.now.max(at);
    let mut effects = take(model, at, msg);
    mask_again(model);
    looking::look_after(model, &mut effects);
    effects
}

fn take(model: &mut Model, at: Instant, msg: Msg) -> Vec<Effect> {
    match msg {
        Msg::Key(key) => keys::press(model, key),
        Msg::Paste(text) => {
            keys::paste(model, &text);
            Vec::new()
        }
        Msg::Resized(size) => {
            model.size = size;
            Vec::new()
        }
        Msg::Tick => Vec::new(),
        Msg::Opening { attempt } => {
            opening(model, at, attempt);
            Vec::new()
        }
        Msg::Loaded { as_of, board } => loaded(model, Reading { as_of, at }, board),
        Msg::Events(batch) => events(model, at, &batch),
        Msg::Failed { error, retry_in } => {
            model.link = Link::Lost {
                error,
                next_try: at + retry_in,
            };
            Vec::new()
        }
        Msg::Looked { ticket, result } => {
            if let Some(result) = operate::previewed(model, ticket, result) {
                looking::looked(model, at, ticket, result);
            }
            Vec::new()
        }
        Msg::Operated { number, result } => {
            operate::operated(model, number, result);
            Vec::new()
        }
        Msg::Continued => vec![Effect::Retake],
        Msg::Terminate { signal } => vec![Effect::End(Ended::Signal(signal))],
        Msg::TerminalLost => vec![Effect::End(Ended::TerminalLost)],
        Msg::Panicked => vec![Effect::End(Ended::Panicked)],
    }
}

/// A payload that was shown long enough goes.
fn mask_again(model: &mut Model) {
    if let Some(Dialog::Payload(payload)) = &model.dialog
        && payload.is_over(model.now)
    {
        model.dialog = None;
    }
}

fn opening(model: &mut Model, at: Instant, attempt: u32) {
    match &mut model.link {
        Link::Lost { next_try, .. } => *next_try = at,
        Link::Opening { .. } if attempt > 1 => {}
        link @ (Link::Opening { .. } | Link::Good) => *link = Link::Opening { since: at },
    }
}

fn loaded(model: &mut Model, reading: Reading, board: Box<crate::board::Board>) -> Vec<Effect> {
    let before = model.board.replace(board);
    model.link = Link::Good;
    model.read = Some(reading);
    show(model);
    looking::heard_of_anything(model);
    before.map(Effect::Free).into_iter().collect()
}

fn events(model: &mut Model, at: Instant, batch: &Batch) -> Vec<Effect> {
    let Some(board) = &mut model.board else {
        // Events without a base mean nothing.
        return vec![Effect::Recount];
    };
    let before = board.mismatches();
    for event in &batch.events {
        board.apply(event);
    }
    let exact = board.mismatches() == before;
    model.link = Link::Good;
    // The database's clock may be set back; a board never goes back.
    let as_of = model
        .read
        .map_or(batch.as_of, |read| read.as_of.max(batch.as_of));
    model.read = Some(Reading { as_of, at });
    if !batch.more {
        show(model);
    }
    looking::heard(model, &batch.events);
    if exact {
        Vec::new()
    } else {
        // A number that cannot be explained is never kept: everything is counted again.
        vec![Effect::Recount]
    }
}

/// Puts the board's numbers on the screen, unless they are to stand still.
fn show(model: &mut Model) {
    let (Some(board), Some(reading)) = (&model.board, model.read) else {
        return;
    };
    if model.hold == Hold::Paused && model.shown.is_some() {
        return;
    }
    let as_of: Timestamp = reading.as_of;
    model.shown = Some(Shown {
        summary: board.summary(as_of, &mut model.judge),
        reading,
    });
    let overview = model.view.overview();
    if overview.selected.is_none() || overview.chosen == Chosen::ByItself {
        keys::select_first(model);
    }
}

/// Lets the numbers follow again, or holds them.
fn toggle_hold(model: &mut Model) {
    model.hold = match model.hold {
        Hold::Follow => Hold::Paused,
        Hold::Paused => Hold::Follow,
    };
    show(model);
}

#[cfg(test)]
mod tests;

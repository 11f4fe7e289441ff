//! What lies over a screen: the help, the palette, a payload, an act on jobs. Each keeps its state
//! and is drawn in a file of its own.

use ratatui::layout::Rect;

use crate::ledger::text::SafeText;
use crate::ledger::view::JobName;

use super::keymap::{Action, Place};
use super::model::Model;
use super::widget::Canvas;

pub mod help;
pub mod operate;
pub mod palette;
pub mod payload;
pub mod whole;

/// A dialog.
#[derive(Debug, Clone, PartialEq)]
pub enum Dialog {
    /// Keys and words.
    Help(help::Help),
    /// Screens, queues and actions by name.
    Palette(palette::Palette),
    /// The payload of a job.
    Payload(payload::Payload),
    /// An act on jobs.
    Operate(Box<operate::Operating>),
    /// What is to be done to every job of a filter.
    Whole(whole::Whole),
}

/// What a line of the palette stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A queue's screen.
    Queue(SafeText),
    /// A job's screen.
    Job(JobName),
    /// An action.
    Action(Action),
}

impl Dialog {
    /// Where keys have their meaning while it is open.
    pub const fn place(&self) -> Place {
        match self {
            Self::Help(help) if help.search.is_typing() => Place::Field,
            Self::Help(_) => Place::Help,
            Self::Palette(_) => Place::Field,
            Self::Payload(payload) => payload.place(),
            Self::Operate(dialog) => dialog.place(),
            Self::Whole(_) => whole::Whole::place(),
        }
    }
}

/// Draws the dialog over the screen.
pub fn draw(canvas: &mut Canvas<'_>, model: &Model) {
    match &model.dialog {
        Some(Dialog::Help(help)) => help::draw(canvas, model, help),
        Some(Dialog::Palette(palette)) => palette::draw(canvas, model, palette),
        Some(Dialog::Payload(payload)) => payload::draw(canvas, model, payload),
        Some(Dialog::Operate(dialog)) => operate::drawing::draw(canvas, dialog, model),
        Some(Dialog::Whole(whole)) => whole::draw(canvas, model, whole),
        None => {}
    }
}

/// The middle of the screen, at most `width` × `height`, with two columns and a line to spare
/// around it where there is room.
fn middle(screen: Rect, width: u16, height: u16) -> Rect {
    let width = width.min(screen.width.saturating_sub(4).max(screen.width.min(20)));
    let height = height.min(screen.height.saturating_sub(2).max(screen.height.min(6)));
    Rect {
        x: screen
            .x
            .saturating_add((screen.width.saturating_sub(width)) / 2),
        y: screen
            .y
            .saturating_add((screen.height.saturating_sub(height)) / 2),
        width,
        height,
    }
}

//! What lies over a screen: the help and the palette. Each keeps its state here and is drawn in its
//! own file.

use ratatui::layout::Rect;

use crate::ledger::text::SafeText;

use super::keymap::{Action, Place};
use super::model::Model;
use super::widget::Canvas;

pub mod help;
pub mod palette;

/// A dialog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Dialog {
    /// Keys and words.
    Help(help::Help),
    /// Screens, queues and actions by name.
    Palette(palette::Palette),
}

/// What a line of the palette stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A queue's screen.
    Queue(SafeText),
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
        }
    }
}

/// Draws the dialog over the screen.
pub fn draw(canvas: &mut Canvas<'_>, model: &Model) {
    match &model.dialog {
        Some(Dialog::Help(help)) => help::draw(canvas, model, help),
        Some(Dialog::Palette(palette)) => palette::draw(canvas, model, palette),
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

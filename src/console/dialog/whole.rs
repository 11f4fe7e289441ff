//! What is to be done to every job of a filter: asked before the dialog of the operation opens, so
//! that all of a list is never taken by a slip of one key.

use crate::board::format::count;
use crate::console::keymap::{Action, Place};
use crate::console::model::Model;
use crate::console::theme::Role;
use crate::console::widget::canvas::Spot;
use crate::console::widget::{Canvas, pane};
use crate::ledger::query::Query;
use crate::ledger::text::SafeText;
use crate::ledger::view::Count;

/// The dialog.
#[derive(Debug, Clone, PartialEq)]
pub struct Whole {
    /// Which jobs.
    pub query: Query,
    /// How many there were when they were counted last.
    pub counted: Option<Count>,
}

/// Its size, where there is room.
const WIDTH: u16 = 72;
const HEIGHT: u16 = 6;

impl Whole {
    /// Where keys have their meaning.
    pub const fn place() -> Place {
        Place::Whole
    }
}

/// Draws it.
pub fn draw(canvas: &mut Canvas<'_>, model: &Model, whole: &Whole) {
    let area = super::middle(model.size, WIDTH, HEIGHT);
    canvas.clear(area);
    let inner = pane::draw(canvas, area, &[(Role::Title, "All jobs of this filter")]);
    let query = SafeText::new(&whole.query.to_string());
    let which = if query.as_str().is_empty() {
        "no filter: every job of the ledger".to_owned()
    } else {
        query.to_string()
    };
    let counted = match whole.counted {
        Some(Count::Exact(jobs)) => format!("{} jobs, by the last count", count(jobs)),
        Some(Count::AtLeast(jobs)) => format!("at least {} jobs", count(jobs)),
        None => "not counted yet".to_owned(),
    };
    let key = |action: Action| model.fixed.keymap.key_of(action);
    let keys: Vec<String> = [
        (Action::Redrive, "redrive"),
        (Action::Quarantine, "quarantine"),
        (Action::Promote, "promote"),
        (Action::Discard, "discard"),
        (Action::Revoke, "revoke"),
        (Action::Out, "close"),
    ]
    .into_iter()
    .map(|(action, word)| format!("{} {word}", key(action)))
    .collect();
    let lines = [
        (Role::Text, which),
        (Role::Muted, counted),
        (Role::Text, String::new()),
        (Role::Accent, keys.join("   ")),
    ];
    for (row, (role, line)) in (0..).zip(&lines) {
        if let Some(spot) = Spot::row(inner, row) {
            canvas.text(spot, *role, line);
        }
    }
}

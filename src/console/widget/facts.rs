//! Facts: labels with their values, in as many columns as fit; labels at the left, values at the
//! right.

use ratatui::layout::Rect;

use crate::console::text;
use crate::console::theme::Role;
use crate::ledger::num;

use super::canvas::{Canvas, Spot};

/// A label, what it is worth, and what that means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    /// What it is.
    pub label: &'static str,
    /// How much it is.
    pub value: String,
    /// What that means.
    pub role: Role,
}

impl Fact {
    /// A fact.
    pub const fn new(label: &'static str, value: String, role: Role) -> Self {
        Self { label, value, role }
    }
}

/// Columns between two facts on a line.
const GAP: u16 = 2;
/// The widest that a fact gets: a value far from its label is hard to read.
const WIDEST: u16 = 30;

/// Draws the facts line by line; returns the lines used.
pub fn draw(canvas: &mut Canvas<'_>, area: Rect, facts: &[Fact]) -> u16 {
    let widest = facts.iter().fold(1, |most: u16, fact| {
        most.max(
            text::columns(fact.label)
                .saturating_add(1)
                .saturating_add(text::columns(&fact.value)),
        )
    });
    let across = (area.width.saturating_add(GAP) / widest.saturating_add(GAP)).max(1);
    let across = across.min(num::columns(facts.len()).max(1));
    let width = (area.width.saturating_add(GAP) / across)
        .saturating_sub(GAP)
        .min(WIDEST);
    let mut lines = 0;
    for (position, fact) in facts.iter().enumerate() {
        let position = num::columns(position);
        let Some(line) = Spot::row(area, position / across) else {
            break;
        };
        let indent = (position % across).saturating_mul(width.saturating_add(GAP));
        let spot = line.after(indent).first(width);
        let used = canvas.text(spot, Role::Muted, fact.label);
        canvas.right(spot.after(used.saturating_add(1)), fact.role, &fact.value);
        lines = (position / across).saturating_add(1);
    }
    lines
}

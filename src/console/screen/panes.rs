//! The panes below the first: the same for the overview and for one queue.
//!
//! Where the terminal is small, bands of panes are dropped from the bottom: latest events first,
//! then leases and flow, then retries and dead letters. The first band shrinks at last; the header
//! and the first sentence stay longest.

use ratatui::layout::Rect;

use crate::console::model::Model;
use crate::console::widget::Canvas;

use super::bands::{Band, share, side_by_side};
use super::scope::Scope;
use super::{dead_letters, flow, leases, retries, ticker};

/// From this width three panes stand side by side.
const THREE_FROM: u16 = 110;
/// From this width two panes stand side by side, below it one.
pub(super) const TWO_FROM: u16 = 64;

/// Panes that list reasons.
const REASONS: Band = Band {
    least: 5,
    good: 7,
    most: 10,
};
/// Panes that hold a few numbers.
const NUMBERS: Band = Band {
    least: 5,
    good: 6,
    most: 7,
};
/// The latest events.
const EVENTS: Band = Band {
    least: 5,
    good: 7,
    most: 66,
};

/// Draws the panes below the first and returns where the first belongs, if there is room for it.
pub(super) fn draw(
    canvas: &mut Canvas<'_>,
    area: Rect,
    model: &Model,
    scope: Option<Scope<'_>>,
    first: Band,
) -> Option<Rect> {
    if area.width >= THREE_FROM {
        let bands = share(area, &[first, REASONS, EVENTS]);
        if let Some(band) = bands.get(1) {
            let [left, middle, right] = side_by_side(*band, [10, 8, 10]);
            retries::draw(canvas, left, scope);
            leases::draw(canvas, middle, scope);
            dead_letters::draw(canvas, right, scope);
        }
        if let Some(band) = bands.get(2) {
            let [left, right] = side_by_side(*band, [10, 18]);
            flow::draw(canvas, left, scope);
            ticker::draw(canvas, right, model, scope);
        }
        return bands.first().copied();
    }
    if area.width >= TWO_FROM {
        let bands = share(area, &[first, REASONS, NUMBERS, EVENTS]);
        if let Some(band) = bands.get(1) {
            let [left, right] = side_by_side(*band, [1, 1]);
            retries::draw(canvas, left, scope);
            dead_letters::draw(canvas, right, scope);
        }
        if let Some(band) = bands.get(2) {
            let [left, right] = side_by_side(*band, [1, 1]);
            leases::draw(canvas, left, scope);
            flow::draw(canvas, right, scope);
        }
        if let Some(band) = bands.get(3) {
            ticker::draw(canvas, *band, model, scope);
        }
        return bands.first().copied();
    }
    let bands = share(area, &[first, REASONS, REASONS, NUMBERS, NUMBERS, EVENTS]);
    for (position, band) in bands.iter().enumerate() {
        match position {
            1 => dead_letters::draw(canvas, *band, scope),
            2 => retries::draw(canvas, *band, scope),
            3 => leases::draw(canvas, *band, scope),
            4 => flow::draw(canvas, *band, scope),
            5 => ticker::draw(canvas, *band, model, scope),
            _ => {}
        }
    }
    bands.first().copied()
}

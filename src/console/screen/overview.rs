//! The overview: headline, queues, and the panes of the whole ledger.

use ratatui::layout::Rect;

use crate::console::model::{Model, OverviewState};
use crate::console::widget::Canvas;
use crate::ledger::num;

use super::bands::Band;
use super::scope::Scope;
use super::{headline, panes, queues, take_top};

/// Borders and the heading of the queues pane.
const FRAME: u16 = 3;

/// Draws it.
pub(super) fn draw(canvas: &mut Canvas<'_>, area: Rect, model: &Model, state: &OverviewState) {
    let headlines = headline::about(model, None);
    let mut rest = area;
    let layout = headline::Layout::new(&headlines, area);
    let top = take_top(&mut rest, layout.height());
    headline::draw(canvas, top, model, &layout);
    let listed = num::columns(model.rows().len()).max(1);
    let band = Band {
        least: listed.min(4).saturating_add(FRAME),
        good: listed.min(8).saturating_add(FRAME),
        most: listed.saturating_add(FRAME),
    };
    if let Some(area) = panes::draw(canvas, rest, model, Scope::whole(model), band) {
        queues::draw(canvas, area, model, state);
    }
}

//! The headline: at most three sentences, worst first, or the one that all is well.

use ratatui::layout::Rect;

use crate::board::headline::HEADLINE_MAX;
use crate::board::summary::Headline;
use crate::console::columns::{level_mark, level_role};
use crate::console::model::{Link, Model};
use crate::console::text;
use crate::console::theme::Role;
use crate::console::widget::Canvas;
use crate::console::widget::canvas::Spot;
use crate::ledger::num;
use crate::ledger::text::SafeText;

/// The widest that a queue's name gets here: the sentence matters more.
const NAME_MAX: u16 = 20;

/// The sentences that concern what is shown: all of them, or those of one queue.
pub(super) fn about<'a>(model: &'a Model, queue: Option<&SafeText>) -> Vec<&'a Headline> {
    let all = model.shown.iter().flat_map(|shown| &shown.summary.headline);
    all.filter(|headline| queue.is_none_or(|name| *name == headline.queue))
        .take(HEADLINE_MAX)
        .collect()
}

/// How many lines it takes.
pub(super) fn lines(headlines: &[&Headline]) -> u16 {
    num::columns(headlines.len()).max(1)
}

/// Draws it.
pub(super) fn draw(canvas: &mut Canvas<'_>, area: Rect, model: &Model, headlines: &[&Headline]) {
    if headlines.is_empty() {
        if let Some(line) = Spot::row(area, 0) {
            let (role, words) = calm(model);
            canvas.text(line.after(1), role, words);
        }
        return;
    }
    let names = headlines
        .iter()
        .fold(0, |most: u16, each| {
            most.max(text::columns(each.queue.as_str()))
        })
        .min(NAME_MAX);
    for (row, headline) in headlines.iter().enumerate() {
        let Some(line) = Spot::row(area, num::columns(row)) else {
            return;
        };
        let line = line.after(1).first(line.columns.saturating_sub(2));
        let role = level_role(headline.level, Role::Text);
        canvas.text(line.first(1), role, level_mark(headline.level));
        let line = line.after(2);
        canvas.text(line.first(names), role, headline.queue.as_str());
        let line = if names == 0 {
            line
        } else {
            line.after(names + 2)
        };
        canvas.text(line, Role::Text, &headline.text);
    }
}

fn calm(model: &Model) -> (Role, &'static str) {
    match (&model.shown, &model.link) {
        (Some(_), _) => match model.view.queue_shown() {
            Some(_) => (Role::Good, "Within its limits."),
            None => (Role::Good, "All queues are within their limits."),
        },
        (None, Link::Lost { .. }) => (Role::Muted, "The ledger has not been counted yet."),
        (None, Link::Opening { .. } | Link::Good) => (Role::Muted, "Counting the ledger …"),
    }
}

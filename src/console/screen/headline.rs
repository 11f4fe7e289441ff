//! The headline: at most three sentences, worst first, or the one that all is well.

use ratatui::layout::Rect;

use super::alert;
use crate::board::headline::HEADLINE_MAX;
use crate::board::summary::{Headline, Level, QueueSummary};
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

/// From this height of the screen a sentence may take a second line.
const WRAP_FROM: u16 = 20;

/// A sentence and the lines it is drawn on.
struct Said<'a> {
    headline: &'a Headline,
    lines: Vec<String>,
}

/// The headline, laid out for a width.
pub(super) struct Layout<'a> {
    names: u16,
    said: Vec<Said<'a>>,
}

impl<'a> Layout<'a> {
    /// Lays sentences out for `area`. Together they take at most [`HEADLINE_MAX`] lines, or as many
    /// as there are sentences; the worst is the first to get a second line.
    pub(super) fn new(headlines: &[&'a Headline], area: Rect) -> Self {
        let names = headlines
            .iter()
            .fold(0, |most: u16, each| {
                most.max(text::columns(each.queue.as_str()))
            })
            .min(NAME_MAX);
        let room = area.width.saturating_sub(indent(names) + 1);
        let mut spare = if area.height < WRAP_FROM {
            0
        } else {
            HEADLINE_MAX.saturating_sub(headlines.len())
        };
        let said = headlines
            .iter()
            .map(|headline| {
                let mut lines = text::wrapped(&headline.text, room);
                let extra = lines.len().saturating_sub(1).min(spare);
                spare = spare.saturating_sub(extra);
                if lines.len() > extra + 1 {
                    // What does not fit is cut off by the last line, with an ellipsis.
                    let last = lines.split_off(extra).join(" ");
                    lines.push(last);
                }
                Said { headline, lines }
            })
            .collect();
        Self { names, said }
    }

    /// How many lines it takes.
    pub(super) fn height(&self) -> u16 {
        let lines: usize = self.said.iter().map(|said| said.lines.len()).sum();
        num::columns(lines).max(1)
    }
}

/// Columns before a sentence: the mark, the name, and the gaps.
const fn indent(names: u16) -> u16 {
    if names == 0 { 3 } else { 3 + names + 2 }
}

/// Draws it.
pub(super) fn draw(canvas: &mut Canvas<'_>, area: Rect, model: &Model, layout: &Layout<'_>) {
    if layout.said.is_empty() {
        if let Some(line) = Spot::row(area, 0) {
            let (role, words) = calm(model);
            canvas.text(line.after(1), role, words);
        }
        return;
    }
    let mut row = 0;
    for said in &layout.said {
        let role = level_role(said.headline.level, Role::Text);
        for (position, text) in said.lines.iter().enumerate() {
            let Some(line) = Spot::row(area, row) else {
                return;
            };
            if position == 0 {
                canvas.text(
                    line.after(1).first(1),
                    role,
                    level_mark(said.headline.level),
                );
                let name = line.after(3).first(layout.names);
                canvas.text(name, role, said.headline.queue.as_str());
            }
            let line = line.first(line.columns.saturating_sub(1));
            canvas.text(line.after(indent(layout.names)), Role::Text, text);
            row += 1;
        }
    }
}

fn calm(model: &Model) -> (Role, &'static str) {
    match (&model.shown, &model.link) {
        // Whether they still are, nobody knows.
        (Some(_), _) if alert::is_needed(model) => match model.view.queue_shown() {
            Some(_) => (Role::Muted, "This is how the queue was then."),
            None => (Role::Muted, "All queues were within their limits then."),
        },
        (Some(shown), _) => match model.view.queue_shown() {
            Some(name) => of_queue(shown.summary.queues.iter().find(|each| each.queue == *name)),
            None => (Role::Good, "All queues are within their limits."),
        },
        (None, Link::Lost { .. }) => (Role::Muted, "The ledger has not been counted yet."),
        (None, Link::Opening { .. } | Link::Good) => (Role::Muted, "Counting the ledger …"),
    }
}

/// A queue may be past a limit and have no sentence, where others are worse.
fn of_queue(queue: Option<&QueueSummary>) -> (Role, &'static str) {
    match queue.map(|queue| queue.level).unwrap_or_default() {
        Level::Fine => (Role::Good, "Within its limits."),
        Level::Warning => (Role::Warning, "△ Past a limit that calls for a look."),
        Level::Critical => (Role::Critical, "▲ Past a limit that calls for an act."),
    }
}

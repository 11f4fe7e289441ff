//! The help: every key of the live keymap, and what the words on the screen mean. Searchable.

use ratatui::layout::Rect;

use crate::console::keymap::{Action, REGISTRY};
use crate::console::model::{Filter, Model};
use crate::console::text;
use crate::console::theme::Role;
use crate::console::widget::canvas::Spot;
use crate::console::widget::{Canvas, pane};
use crate::ledger::num;

/// The words of the screen: one a line, `word | what it means`.
const WORDS: &str = include_str!("../../../assets/help/words.md");

/// What to do first: one a line, `symptom | first act`; the whole is `docs/runbook.md`.
const RUNBOOK: &str = include_str!("../../../assets/help/runbook.md");

/// The widest the dialog gets: longer lines are hard to read.
const WIDTH: u16 = 100;
/// Columns of the left half: keys and words.
const LEFT: u16 = 16;

/// The state of the help.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Help {
    /// The first line shown.
    pub scroll: usize,
    /// What is searched for.
    pub search: Filter,
}

/// A line of the help.
enum Line {
    Heading(&'static str),
    Entry { left: String, right: String },
    Empty,
}

impl Line {
    fn admitted(&self, search: &Filter) -> bool {
        match self {
            Self::Heading(_) | Self::Empty => search.text().is_empty(),
            Self::Entry { left, right } => search.admits(left) || search.admits(right),
        }
    }
}

fn area(screen: Rect) -> Rect {
    super::middle(screen, WIDTH, screen.height)
}

fn lines(model: &Model, search: &Filter) -> Vec<Line> {
    let room = area(model.size).width.saturating_sub(4 + LEFT);
    let mut lines = vec![Line::Heading("Keys")];
    for binding in &REGISTRY {
        let keys = model.fixed.keymap.keys_of(binding.action).join(" ");
        lines.push(Line::Entry {
            left: keys,
            right: binding.help.to_owned(),
        });
    }
    lines.push(Line::Empty);
    lines.push(Line::Heading("This console"));
    lines.push(Line::Entry {
        left: "READ-ONLY".to_owned(),
        right: model.fixed.why_read_only.as_str().to_owned(),
    });
    for (heading, text) in [("What to do first", RUNBOOK), ("Words", WORDS)] {
        lines.push(Line::Empty);
        lines.push(Line::Heading(heading));
        lines.extend(text.lines().map(|line| {
            let (left, right) = line.split_once(" | ").unwrap_or((line, ""));
            Line::Entry {
                left: left.to_owned(),
                right: right.to_owned(),
            }
        }));
    }
    let admitted = lines.into_iter().filter(|line| line.admitted(search));
    admitted.flat_map(|line| broken(line, room)).collect()
}

/// Breaks a long explanation into lines that fit.
fn broken(line: Line, room: u16) -> Vec<Line> {
    let Line::Entry { left, right } = line else {
        return vec![line];
    };
    let mut left = Some(left);
    text::wrapped(&right, room)
        .into_iter()
        .map(|right| Line::Entry {
            left: left.take().unwrap_or_default(),
            right,
        })
        .collect()
}

/// How far the help can be scrolled.
pub fn scroll_max(model: &Model) -> usize {
    let Some(super::Dialog::Help(help)) = &model.dialog else {
        return 0;
    };
    let room = usize::from(area(model.size).height.saturating_sub(3));
    lines(model, &help.search).len().saturating_sub(room)
}

/// Draws it.
pub fn draw(canvas: &mut Canvas<'_>, model: &Model, help: &Help) {
    let area = area(model.size);
    canvas.clear(area);
    let keymap = &model.fixed.keymap;
    let searched = match &help.search {
        Filter::Off => String::new(),
        Filter::Typing { field, .. } => format!(" · search: {}▏", field.text()),
        Filter::On(text) => format!(" · search: {text}"),
    };
    let inner = pane::draw(
        canvas,
        area,
        &[(Role::Title, "Help"), (Role::Accent, &searched)],
    );
    let lines = lines(model, &help.search);
    let room = usize::from(inner.height.saturating_sub(1));
    let scroll = help.scroll.min(lines.len().saturating_sub(room));
    if lines.is_empty()
        && let Some(spot) = Spot::row(inner, 0)
    {
        canvas.text(spot, Role::Muted, "nothing here holds that text");
    }
    for (row, line) in lines.iter().skip(scroll).take(room).enumerate() {
        let Some(spot) = Spot::row(inner, num::columns(row)) else {
            break;
        };
        match line {
            Line::Heading(text) => {
                canvas.text(spot, Role::Title, text);
            }
            Line::Entry { left, right } => {
                canvas.text(spot.first(LEFT.saturating_sub(1)), Role::Accent, left);
                canvas.text(spot.after(LEFT), Role::Text, right);
            }
            Line::Empty => {}
        }
    }
    if let Some(spot) = Spot::row(inner, inner.height.saturating_sub(1)) {
        let shown = format!(
            "{} of {} lines",
            (scroll + room).min(lines.len()),
            lines.len()
        );
        canvas.pieces(
            spot,
            &[
                (Role::Accent, &keymap.key_of(Action::Filter)),
                (Role::Muted, " search   "),
                (Role::Accent, &keymap.key_of(Action::Out)),
                (Role::Muted, " close   "),
                (Role::Muted, &shown),
            ],
        );
    }
}

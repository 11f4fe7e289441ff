//! The payload of one job: asked for, then shown for a time.
//!
//! Payloads are private by default. One is shown at a time, of the job that it was asked for, and
//! it goes by itself. Nothing in the ledger records that it was looked at: the table of transitions
//! has no event for it, and the dialog says so.

use std::time::{Duration, Instant};

use crate::board::format::{coarse, count};
use crate::console::keymap::{Action, Place};
use crate::console::model::Model;
use crate::console::text;
use crate::console::theme::Role;
use crate::console::widget::canvas::{Piece, Spot};
use crate::console::widget::{Canvas, pane};
use crate::ledger::num;
use crate::ledger::text::SafeText;
use crate::ledger::view::JobStory;

/// How long a payload is shown.
pub const SHOWN_FOR: Duration = Duration::from_secs(30);

/// Its size, where there is room.
const WIDTH: u16 = 92;

/// The dialog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payload {
    /// Of which job.
    pub key: SafeText,
    /// Where it stands.
    pub stage: Stage,
    /// The payload, line by line.
    lines: Vec<SafeText>,
}

/// Where the dialog stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// It asks.
    Asking,
    /// It shows.
    Showing {
        /// Until when.
        until: Instant,
        /// The first line shown.
        scroll: usize,
    },
}

impl Payload {
    /// Asks whether the payload of a job is to be shown.
    pub fn of(story: &JobStory) -> Self {
        // What cannot be written as text is not JSON, and every payload is.
        let text = serde_json::to_string_pretty(&story.payload).unwrap_or_default();
        Self {
            key: story.job.row.idempotency_key.clone(),
            stage: Stage::Asking,
            lines: text.lines().map(SafeText::new).collect(),
        }
    }

    /// Shows it, from now on.
    pub fn show(&mut self, now: Instant) {
        if self.stage == Stage::Asking {
            self.stage = Stage::Showing {
                until: now + SHOWN_FOR,
                scroll: 0,
            };
        }
    }

    /// Whether its time is over.
    pub fn is_over(&self, now: Instant) -> bool {
        matches!(self.stage, Stage::Showing { until, .. } if until <= now)
    }

    /// Where keys have their meaning.
    pub const fn place(&self) -> Place {
        match self.stage {
            Stage::Asking => Place::Question,
            Stage::Showing { .. } => Place::Result,
        }
    }

    /// Scrolls by `lines`.
    pub fn step(&mut self, lines: i64) {
        let count = self.lines.len();
        if let Stage::Showing { scroll, .. } = &mut self.stage {
            *scroll = crate::console::update::moved(*scroll, lines, count);
        }
    }
}

/// Draws it.
pub fn draw(canvas: &mut Canvas<'_>, model: &Model, payload: &Payload) {
    match payload.stage {
        Stage::Asking => draw_question(canvas, model, payload),
        Stage::Showing { until, scroll } => {
            let left = until.saturating_duration_since(model.now);
            draw_payload(canvas, model, payload, (left, scroll));
        }
    }
}

/// A line of JSON in lines that fit, each as deep as the first.
fn indented(line: &str, room: u16) -> Vec<String> {
    let words = line.trim_start_matches(' ');
    let depth = num::columns(line.len().saturating_sub(words.len())).min(room / 2);
    let indent = " ".repeat(usize::from(depth));
    text::wrapped(words, room.saturating_sub(depth))
        .into_iter()
        .map(|line| format!("{indent}{line}"))
        .collect()
}

fn draw_question(canvas: &mut Canvas<'_>, model: &Model, payload: &Payload) {
    let key = |action: Action| model.fixed.keymap.key_of(action);
    let shown_for = coarse(SHOWN_FOR);
    let sentences = [
        (Role::Text, format!("job {}", payload.key)),
        (
            Role::Text,
            format!(
                "Its payload may be private. It is shown for {shown_for}, here and nowhere else."
            ),
        ),
        (
            Role::Warning,
            "△ Not recorded: the ledger has no event for looking.".to_owned(),
        ),
        (Role::Text, String::new()),
        (
            Role::Accent,
            format!(
                "{} show it   {} leave it masked",
                key(Action::Confirm),
                key(Action::Out)
            ),
        ),
    ];
    let room = super::middle(model.size, WIDTH, 1).width.saturating_sub(4);
    let lines: Vec<(Role, String)> = sentences
        .into_iter()
        .flat_map(|(role, sentence)| {
            let lines = text::wrapped(&sentence, room);
            lines.into_iter().map(move |line| (role, line))
        })
        .collect();
    let height = num::columns(lines.len()).saturating_add(2);
    let area = super::middle(model.size, WIDTH, height);
    canvas.clear(area);
    let inner = pane::draw(canvas, area, &[(Role::Title, "Show the payload?")]);
    for (row, (role, line)) in lines.iter().enumerate() {
        if let Some(spot) = Spot::row(inner, num::columns(row)) {
            canvas.text(spot, *role, line);
        }
    }
}

fn draw_payload(
    canvas: &mut Canvas<'_>,
    model: &Model,
    payload: &Payload,
    (left, scroll): (Duration, usize),
) {
    let room = super::middle(model.size, WIDTH, 1).width.saturating_sub(4);
    let lines: Vec<String> = payload
        .lines
        .iter()
        .flat_map(|line| indented(line.as_str(), room))
        .collect();
    let height = num::columns(lines.len()).saturating_add(3);
    let area = super::middle(model.size, WIDTH, height);
    canvas.clear(area);
    // Rounded up: "0s" would be over before it is read.
    let left = left + Duration::from_millis(999);
    let title = format!(" · {} · masked again in {}", payload.key, coarse(left));
    let inner = pane::draw(
        canvas,
        area,
        &[(Role::Title, "Payload"), (Role::Warning, &title)],
    );
    let shown = usize::from(inner.height.saturating_sub(1));
    let first = scroll.min(lines.len().saturating_sub(shown));
    for (row, line) in lines.iter().skip(first).take(shown).enumerate() {
        if let Some(spot) = Spot::row(inner, num::columns(row)) {
            canvas.text(spot, Role::Text, line);
        }
    }
    if let Some(spot) = Spot::row(inner, inner.height.saturating_sub(1)) {
        let out = model.fixed.keymap.key_of(Action::Out);
        let last = (first + shown).min(lines.len());
        let lines = format!(
            "   {} of {} lines",
            count(num::count(last)),
            count(num::count(lines.len()))
        );
        let pieces: [Piece<'_>; 3] = [
            (Role::Accent, &out),
            (Role::Muted, " mask it now"),
            (Role::Muted, &lines),
        ];
        canvas.pieces(spot, &pieces);
    }
}

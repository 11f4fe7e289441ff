//! One job: its state machine with the path it took, its timeline, its events, and beside them what
//! it is.
//!
//! The walked event is marked on diagram, timeline and table together. Where there is little room,
//! parts go in this order: the words on the walked event, the facts beside (folded into two lines
//! under the head, then one), the timeline, the diagram (which folds first, see
//! [`crate::console::widget::machine`]), the facts, the events; the head stays longest.

use ratatui::layout::Rect;

use super::{lookup, take_bottom, take_top};
use crate::board::format::{coarse, count};
use crate::console::clock::{Clock, STAMP};
use crate::console::keymap::Action;
use crate::console::model::{Found, JobState, Looks as _, Model};
use crate::console::text;
use crate::console::theme::Role;
use crate::console::widget::canvas::{Piece, Spot};
use crate::console::widget::machine::{self, Form};
use crate::console::widget::timeline::{self, Axis};
use crate::console::widget::{Canvas, pane};
use crate::ledger::audit::Moment;
use crate::ledger::state::State;
use crate::ledger::text::SafeText;
use crate::ledger::time::Timestamp;
use crate::ledger::view::{JobName, JobStory};

mod detail;
mod events;
mod facts;
mod head;
mod trace;

use trace::Trace;

/// A story and how one looks at it.
#[derive(Debug, Clone, Copy)]
pub struct Sight<'a> {
    /// What was read.
    pub story: &'a JobStory,
    /// The number of the event that the mark stands on.
    pub walked: u32,
    /// How moments are shown.
    pub clock: Clock,
    /// The latest moment that is known of the database's clock.
    pub now: Timestamp,
    /// The key that reveals the payload; empty where there is none.
    pub reveal_key: &'a str,
}

impl Sight<'_> {
    fn stamp(&self, at: Timestamp) -> String {
        self.clock.stamp(at, self.now)
    }

    /// The columns of the table's times: the widest of the first and the last.
    fn time_width(&self) -> u16 {
        let stamps = self.story.events.iter().flatten();
        let ends = stamps.clone().next().into_iter().chain(stamps.last());
        ends.map(|entry| text::columns(&self.stamp(timestamp(entry.at))))
            .chain([8])
            .max()
            .unwrap_or(STAMP)
    }
}

/// An event's moment, to the millisecond.
fn timestamp(at: Moment) -> Timestamp {
    Timestamp::from_millis(at.micros().div_euclid(1_000))
}

/// Draws the screen: the job, or why it is not there.
pub(super) fn draw_screen(canvas: &mut Canvas<'_>, area: Rect, model: &Model, state: &JobState) {
    let mut rest = area;
    lookup::draw_fault(canvas, &mut rest, model, state.asking());
    let Some(story) = state.story() else {
        let text = match &state.found {
            Found::Nothing => format!("there is no job {}", named(&state.name)),
            Found::Unread | Found::Story(_) => lookup::nothing(model, None, ""),
        };
        if let Some(spot) = Spot::row(rest, 0) {
            canvas.text(spot.after(1), Role::Muted, &text);
        }
        return;
    };
    let sight = Sight {
        story,
        walked: state.walked_number(story),
        clock: model.clock,
        now: model.database_now().unwrap_or_default().max(story.as_of),
        reveal_key: &model.fixed.keymap.key_of(Action::Reveal),
    };
    draw(canvas, rest, &sight);
}

fn named(name: &JobName) -> String {
    match name {
        JobName::Id(id) => format!("with the id {id}"),
        JobName::Key(key) => format!("with the key '{}'", SafeText::new(key)),
    }
}

/// From this width the facts stand beside.
const BESIDE_FROM: u16 = 112;
/// The columns of the facts beside: as many as the large diagram leaves, within bounds.
const BESIDE: (u16, u16) = (30, 44);
/// From this height on panes have borders.
const BORDERED_FROM: u16 = 28;
/// Lines of the table with its heading, at least.
const EVENTS: u16 = 5;
/// From this height on a small screen has a line of facts.
const FOLDED_FROM: u16 = 10;
/// The most lines of folded facts.
const FOLDED_MAX: u16 = 3;
/// The border of a pane.
const BORDER: u16 = 2;

/// Draws it.
pub fn draw(canvas: &mut Canvas<'_>, area: Rect, sight: &Sight<'_>) {
    let trace = Trace::of(sight.story, sight.walked);
    let mut rest = area;
    for line in head::lines(sight, &trace) {
        // Half of a small screen is left to the events.
        if rest.height <= area.height / 2 && rest.height < area.height {
            break;
        }
        if let Some(spot) = Spot::row(take_top(&mut rest, 1), 0) {
            let groups: Vec<Vec<Piece<'_>>> = line.iter().map(|group| borrowed(group)).collect();
            let groups: Vec<&[Piece<'_>]> = groups.iter().map(Vec::as_slice).collect();
            canvas.groups(spot, &groups);
        }
    }
    let bordered = rest.height >= BORDERED_FROM && area.width >= 80;
    if area.width >= BESIDE_FROM && bordered {
        let large = Form::Large.size().0 + BORDER + BORDER;
        let beside = area.width.saturating_sub(large).clamp(BESIDE.0, BESIDE.1);
        let main = Rect {
            width: rest.width.saturating_sub(beside),
            ..rest
        };
        let side = Rect {
            x: main.right(),
            width: beside,
            ..rest
        };
        draw_side(canvas, side, sight);
        draw_main(canvas, main, sight, &trace);
    } else {
        let lines = if rest.height < FOLDED_FROM {
            0
        } else {
            let border = if bordered { BORDER } else { 0 };
            let parts = Form::Medium.size().1 + trace.timeline.height() + EVENTS + 3 * border;
            rest.height.saturating_sub(parts).clamp(1, FOLDED_MAX)
        };
        facts::draw_lines(canvas, take_top(&mut rest, lines), &facts::of(sight));
        if bordered {
            draw_main(canvas, rest, sight, &trace);
        } else {
            draw_plain(canvas, rest, sight, &trace);
        }
    }
}

fn borrowed(pieces: &[(Role, String)]) -> Vec<Piece<'_>> {
    pieces
        .iter()
        .map(|(role, text)| (*role, text.as_str()))
        .collect()
}

/// Facts, and below them the walked event in words.
fn draw_side(canvas: &mut Canvas<'_>, area: Rect, sight: &Sight<'_>) {
    let wanted = detail::height(sight, area.width.saturating_sub(BORDER + BORDER));
    let words = wanted
        .saturating_add(BORDER)
        .clamp(BORDER + 4, (area.height / 2).max(BORDER + 4));
    let mut rest = area;
    let facts = take_top(&mut rest, area.height.saturating_sub(words));
    let inner = pane::draw(canvas, facts, &[(Role::Title, "Job")]);
    facts::draw_column(canvas, inner, &facts::of(sight));
    let title = format!("Event {}", sight.walked);
    let inner = pane::draw(canvas, rest, &[(Role::Title, &title)]);
    detail::draw(canvas, inner, sight);
}

/// The heights of diagram, timeline and events in `height` lines, each with `border` lines around.
fn heights(area: Rect, border: u16, timeline: u16) -> (u16, u16) {
    let timeline = timeline + border;
    let inner = area.width.saturating_sub(border * 2);
    let fits = |form: Form, events: u16| {
        let (width, height) = form.size();
        width <= inner && height + border + timeline + events + border <= area.height
    };
    if fits(Form::Large, EVENTS + 3) {
        (Form::Large.size().1 + border, timeline)
    } else if fits(Form::Medium, EVENTS) {
        (Form::Medium.size().1 + border, timeline)
    } else {
        let (width, height) = Form::Medium.size();
        if width <= inner && height + border + EVENTS + border <= area.height {
            return (height + border, 0);
        }
        match area.height {
            0..5 => (0, 0),
            5..9 => (1, 0),
            _ => (2, 0),
        }
    }
}

/// Diagram, timeline and events in panes.
fn draw_main(canvas: &mut Canvas<'_>, area: Rect, sight: &Sight<'_>, trace: &Trace) {
    let (diagram, timeline) = heights(area, BORDER, trace.timeline.height());
    let mut rest = area;
    let title = shown_of(sight);
    let inner = pane::draw(
        canvas,
        take_top(&mut rest, diagram),
        &[(Role::Title, "Path"), (Role::Muted, &title)],
    );
    machine::draw(canvas, inner, &trace.path);
    if timeline > 0 {
        let legend = legend(trace);
        let mut pieces: Vec<Piece<'_>> = vec![(Role::Title, "Timeline")];
        pieces.extend(borrowed(&legend));
        let inner = pane::draw(canvas, take_top(&mut rest, timeline), &pieces);
        timeline::draw(
            canvas,
            inner,
            &trace.timeline,
            sight.walked,
            &axis(sight, trace),
        );
    }
    let walked = format!(" · {} of {}", sight.walked, sight.story.job.row.version);
    let inner = pane::draw(
        canvas,
        rest,
        &[(Role::Title, "Events"), (Role::Muted, &walked)],
    );
    events::draw(canvas, inner, sight);
}

/// The same without borders.
fn draw_plain(canvas: &mut Canvas<'_>, area: Rect, sight: &Sight<'_>, trace: &Trace) {
    let (diagram, timeline) = heights(area, 0, trace.timeline.height());
    let mut rest = area;
    machine::draw(canvas, take_top(&mut rest, diagram), &trace.path);
    if timeline > 0 {
        let area = take_top(&mut rest, timeline);
        timeline::draw(
            canvas,
            area,
            &trace.timeline,
            sight.walked,
            &axis(sight, trace),
        );
    }
    if timeline > 0
        && rest.height > EVENTS
        && let Some(spot) = Spot::row(take_bottom(&mut rest), 0)
    {
        detail::draw_line(canvas, spot, sight);
    }
    events::draw(canvas, rest, sight);
}

/// Of how many events the counts are, where not of all.
fn shown_of(sight: &Sight<'_>) -> String {
    if sight.story.left_out == 0 {
        return String::new();
    }
    let shown = crate::ledger::num::count(sight.story.events.len());
    let all = shown.saturating_add(sight.story.left_out);
    format!(" · counts of {} of {} events", count(shown), count(all))
}

fn legend(trace: &Trace) -> Vec<(Role, String)> {
    let signs = trace.timeline.legend().into_iter();
    signs
        .flat_map(|(sign, times)| {
            [
                (sign.role(), format!("  {} ", sign.shape())),
                (Role::Muted, format!("{} ×{}", sign.name(), count(times))),
            ]
        })
        .collect()
}

fn axis(sight: &Sight<'_>, trace: &Trace) -> Axis {
    let stamp = |us: i64| sight.stamp(timestamp(Moment::from_micros(us)));
    let spans = &trace.timeline.spans;
    let walked = match detail::walked(sight) {
        Some(Ok(entry)) => format!("{} {}", sight.walked, sight.stamp(timestamp(entry.at))),
        Some(Err(_)) | None => sight.walked.to_string(),
    };
    let length = spans.first().zip(spans.last()).map(|(first, last)| {
        let whole = timestamp(Moment::from_micros(last.end_us))
            .since(timestamp(Moment::from_micros(first.begin_us)));
        coarse(whole)
    });
    Axis {
        from: spans
            .first()
            .map(|span| stamp(span.begin_us))
            .unwrap_or_default(),
        to: spans
            .last()
            .zip(length)
            .map(|(span, length)| format!("{} ({length})", stamp(span.end_us)))
            .unwrap_or_default(),
        walked,
    }
}

/// How a state looks when a job is in it, and its shape.
const fn state_role(state: State) -> (Role, &'static str) {
    match state {
        State::Pending | State::Ready | State::Running => (Role::Accent, "●"),
        State::RetryWait => (Role::Warning, "△"),
        State::Succeeded => (Role::Good, "✓"),
        State::Dead | State::Quarantined => (Role::Critical, "▲"),
        State::Discarded => (Role::Title, "–"),
    }
}

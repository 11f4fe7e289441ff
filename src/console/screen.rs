//! Drawing: a model and a frame in, the frame filled. Drawing changes nothing and asks nobody.
//!
//! From top to bottom: the header ([`header`]), one line when the ledger is lost ([`alert`]), then
//! the screen's own panes ([`overview`], [`queue`], [`jobs`] and so on), the footer ([`footer`]),
//! and over all of it a dialog.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::dialog;
use super::model::{Model, Screen, Truth};
use super::theme::{Role, Theme};
use super::widget::Canvas;

mod ages;
mod alert;
mod audit;
mod bands;
mod body;
mod dead_letters;
mod filter_line;
mod flow;
mod footer;
mod groups;
mod header;
mod headline;
pub mod job;
mod jobs;
mod leases;
mod leases_list;
mod lookup;
mod overview;
mod panes;
mod plans;
mod queue;
mod queues;
mod reasons;
mod retries;
mod scope;
mod states;
mod tabs;
mod ticker;

/// Draws the console into `frame`, which must be empty and of the model's size.
pub fn draw(model: &Model, theme: &Theme, frame: &mut Buffer) {
    let mut canvas = Canvas::new(frame, theme);
    let mut rest = canvas.area();
    header::draw(&mut canvas, take_top(&mut rest, 1), model);
    if alert::is_needed(model) && rest.height > 0 {
        alert::draw(&mut canvas, take_top(&mut rest, 1), model);
    }
    if rest.height >= FOOTER_FROM {
        footer::draw(&mut canvas, take_bottom(&mut rest), model);
    }
    match model.view.shown() {
        Screen::Overview => overview::draw(&mut canvas, rest, model, model.view.overview()),
        Screen::Queue(here) => queue::draw(&mut canvas, rest, model, here),
        Screen::Job(here) => job::draw_screen(&mut canvas, rest, model, here),
        Screen::Jobs(here) => jobs::draw(&mut canvas, rest, model, here),
        Screen::DeadLetters(here) => groups::draw(&mut canvas, rest, model, here),
        Screen::Leases(here) => leases_list::draw(&mut canvas, rest, model, here),
        Screen::Plans(here) => plans::draw(&mut canvas, rest, model, here),
        Screen::Audit(here) => audit::draw(&mut canvas, rest, model, here),
    }
    if is_doubtful(model.truth()) {
        canvas.wash(rest, Role::Stale);
    }
    dialog::draw(&mut canvas, model);
}

/// The footer goes when fewer lines than this are left for the screen.
const FOOTER_FROM: u16 = 6;

/// Whether shown numbers may no longer be true.
const fn is_doubtful(truth: Truth) -> bool {
    match truth {
        Truth::Stale | Truth::Reconnecting => true,
        Truth::Loading | Truth::Live | Truth::Paused => false,
    }
}

/// Cuts `lines` off the top of `rest`.
fn take_top(rest: &mut Rect, lines: u16) -> Rect {
    let lines = lines.min(rest.height);
    let top = Rect {
        height: lines,
        ..*rest
    };
    rest.y = rest.y.saturating_add(lines);
    rest.height = rest.height.saturating_sub(lines);
    top
}

/// Cuts one line off the bottom of `rest`.
fn take_bottom(rest: &mut Rect) -> Rect {
    rest.height = rest.height.saturating_sub(1);
    Rect {
        y: rest.bottom(),
        height: 1,
        ..*rest
    }
}

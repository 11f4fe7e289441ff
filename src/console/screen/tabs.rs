//! The tabs of the first line: every screen with its number, and the way within the one that is
//! shown.

use crate::console::model::{Screen, Tab, View};
use crate::console::text;
use crate::console::theme::Role;
use crate::console::widget::Canvas;
use crate::console::widget::canvas::{Piece, Spot};

/// What stands between two tabs.
const GAP: &str = "  ";

/// How much is said of the tabs.
#[derive(Debug, Clone, Copy)]
enum Detail {
    /// Every name.
    Names,
    /// The name of the shown one, the numbers of the others.
    Numbers,
    /// The shown one alone.
    Shown,
}

/// Draws them, as much as there is room for.
pub(super) fn draw(canvas: &mut Canvas<'_>, at: Spot, view: &View) {
    let way = way(view);
    for detail in [Detail::Names, Detail::Numbers, Detail::Shown] {
        let words = words(view.tab(), &way, detail);
        let needed = words.iter().fold(0, |sum: u16, (_, text)| {
            sum.saturating_add(text::columns(text))
        });
        let fits = needed <= at.columns;
        if fits || matches!(detail, Detail::Shown) {
            if fits || at.columns >= text::columns("1 Overview") {
                let pieces: Vec<Piece<'_>> = words
                    .iter()
                    .map(|(role, text)| (*role, text.as_str()))
                    .collect();
                canvas.pieces(at, &pieces);
            }
            return;
        }
    }
}

fn words(shown: Tab, way: &str, detail: Detail) -> Vec<(Role, String)> {
    let mut words = Vec::new();
    for tab in Tab::ALL {
        let number = tab.number();
        let is_shown = tab == shown;
        let text = match detail {
            Detail::Names => format!("{number} {}", tab.name()),
            Detail::Numbers | Detail::Shown if is_shown => format!("{number} {}", tab.name()),
            Detail::Numbers => number.to_string(),
            Detail::Shown => continue,
        };
        if !words.is_empty() {
            words.push((Role::Muted, GAP.to_owned()));
        }
        let role = if is_shown { Role::Accent } else { Role::Muted };
        words.push((role, text));
        if is_shown && !way.is_empty() {
            words.push((Role::Accent, way.to_owned()));
        }
    }
    words
}

/// The screens between the tab's first and the one that is shown: ` › thumbnails › Jobs`.
fn way(view: &View) -> String {
    let entered = view.trail().iter().skip(1);
    entered.fold(String::new(), |way, screen| {
        format!("{way} › {}", name(screen))
    })
}

fn name(screen: &Screen) -> &str {
    match screen {
        Screen::Overview => Tab::Overview.name(),
        Screen::Queue(state) => state.queue.as_str(),
        Screen::Jobs(_) => Tab::Jobs.name(),
        Screen::Job(_) => "Job",
        Screen::DeadLetters(_) => Tab::DeadLetters.name(),
        Screen::Leases(_) => Tab::Leases.name(),
        Screen::Plans(_) => Tab::Plans.name(),
        Screen::Audit(_) => Tab::Audit.name(),
    }
}

//! The palette: every screen, queue and action by name, and a job by its id or key.

use uuid::Uuid;

use crate::console::keymap::{Action, REGISTRY};
use crate::console::model::{Field, Model};
use crate::console::theme::Role;
use crate::console::update::moved as moved_within;
use crate::console::widget::canvas::Spot;
use crate::console::widget::{Canvas, pane};
use crate::ledger::num;
use crate::ledger::view::JobName;

use super::Target;

/// Its size, where there is room.
const WIDTH: u16 = 72;
const HEIGHT: u16 = 18;

/// The state of the palette.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Palette {
    /// What is typed.
    pub field: Field,
    /// The chosen line, by what it stands for; `None` for the first.
    pub selected: Option<Target>,
}

/// A line of the palette.
struct Entry {
    target: Target,
    name: String,
    help: String,
}

/// Whether an action is worth a line: those that only move or edit are not.
const fn is_listed(action: Action) -> bool {
    match action {
        Action::Filter
        | Action::Sort
        | Action::Pause
        | Action::Faster
        | Action::Slower
        | Action::TimeZone
        | Action::Overview
        | Action::Jobs
        | Action::DeadLetters
        | Action::Leases
        | Action::Plans
        | Action::Audit
        | Action::Unmark
        | Action::Again
        | Action::Reveal
        | Action::Quarantine
        | Action::Revoke
        | Action::Redrive
        | Action::Promote
        | Action::Discard
        | Action::Whole
        | Action::Help
        | Action::Redraw
        | Action::Suspend
        | Action::Quit => true,
        Action::Up
        | Action::Down
        | Action::First
        | Action::Last
        | Action::HalfUp
        | Action::HalfDown
        | Action::Enter
        | Action::Out
        | Action::Back
        | Action::NextTab
        | Action::PreviousTab
        | Action::Palette
        | Action::Mark
        | Action::Complete
        | Action::MarkRange
        | Action::Confirm
        | Action::Copy
        | Action::Erase
        | Action::EraseWord
        | Action::EraseAll => false,
    }
}

/// Every word that was typed must occur in the line.
fn entries(model: &Model, palette: &Palette) -> Vec<Entry> {
    let typed = palette.field.text().to_lowercase();
    let words: Vec<&str> = typed.split_whitespace().collect();
    let place = model.screen_place();
    let actions = REGISTRY
        .iter()
        .filter(|binding| is_listed(binding.action) && binding.places.contains(&place))
        .map(|binding| Entry {
            target: Target::Action(binding.action),
            name: binding.name.replace('_', " "),
            help: binding.help.to_owned(),
        });
    let queues = model
        .shown
        .iter()
        .flat_map(|shown| &shown.summary.queues)
        .map(|queue| Entry {
            target: Target::Queue(queue.queue.clone()),
            name: format!("queue {}", queue.queue),
            help: String::new(),
        });
    let job = named_job(palette.field.text());
    let admitted = |entry: &Entry| {
        let text = format!("{} {}", entry.name, entry.help).to_lowercase();
        words.iter().all(|word| text.contains(word))
    };
    let mut entries: Vec<Entry> = queues.chain(actions).filter(admitted).collect();
    // A name that begins with what was typed comes before one that only holds it.
    entries.sort_by_key(|entry| !entry.name.to_lowercase().starts_with(&typed));
    job.into_iter().chain(entries).collect()
}

/// The job that `job ID` or `job KEY` names, or an id alone.
fn named_job(typed: &str) -> Option<Entry> {
    let typed = typed.trim();
    let named = typed.strip_prefix("job ").map(str::trim);
    let id = Uuid::try_parse(named.unwrap_or(typed)).ok();
    let (name, help) = match (id, named) {
        (Some(id), _) => (JobName::Id(id), "by its id"),
        (None, Some(key)) if !key.is_empty() => (JobName::Key(key.to_owned()), "by its key"),
        (None, Some(_) | None) => return None,
    };
    Some(Entry {
        name: match &name {
            JobName::Id(id) => format!("job {id}"),
            JobName::Key(key) => format!("job {key}"),
        },
        target: Target::Job(name),
        help: help.to_owned(),
    })
}

fn position(entries: &[Entry], palette: &Palette) -> usize {
    let selected = palette.selected.as_ref();
    entries
        .iter()
        .position(|entry| Some(&entry.target) == selected)
        .unwrap_or(0)
}

/// What the chosen line stands for.
pub fn chosen(model: &Model, palette: &Palette) -> Option<Target> {
    let entries = entries(model, palette);
    let position = position(&entries, palette);
    entries.into_iter().nth(position).map(|entry| entry.target)
}

/// The palette with its choice moved by `lines`.
pub fn moved(model: &Model, palette: Palette, lines: i64) -> Palette {
    let entries = entries(model, &palette);
    let next = moved_within(position(&entries, &palette), lines, entries.len());
    Palette {
        selected: entries.into_iter().nth(next).map(|entry| entry.target),
        ..palette
    }
}

/// Draws it.
pub fn draw(canvas: &mut Canvas<'_>, model: &Model, palette: &Palette) {
    let area = super::middle(model.size, WIDTH, HEIGHT);
    canvas.clear(area);
    let inner = pane::draw(canvas, area, &[(Role::Title, "Go to")]);
    if let Some(spot) = Spot::row(inner, 0) {
        let typed = format!("{}▏", palette.field.text());
        canvas.pieces(spot, &[(Role::Accent, ": "), (Role::Text, &typed)]);
    }
    let entries = entries(model, palette);
    let position = position(&entries, palette);
    let room = usize::from(inner.height.saturating_sub(2));
    let first = position.saturating_sub(room.saturating_sub(1));
    if entries.is_empty()
        && let Some(spot) = Spot::row(inner, 2)
    {
        canvas.text(spot, Role::Muted, "nothing of that name");
    }
    for (row, entry) in entries.iter().enumerate().skip(first).take(room) {
        let Some(spot) = Spot::row(inner, num::columns(row - first).saturating_add(2)) else {
            break;
        };
        draw_entry(canvas, model, spot, entry);
        if row == position {
            canvas.text(spot.first(1), Role::Accent, "›");
            let line = ratatui::layout::Rect::new(spot.x, spot.y, spot.columns, 1);
            canvas.tint(line, Role::Selected);
        }
    }
}

fn draw_entry(canvas: &mut Canvas<'_>, model: &Model, spot: Spot, entry: &Entry) {
    const KEY: u16 = 8;
    let text = spot.after(2).first(spot.columns.saturating_sub(2 + KEY));
    match &entry.target {
        Target::Queue(_) => {
            canvas.text(text, Role::Text, &entry.name);
        }
        Target::Job(_) => {
            let pieces = [
                (Role::Text, entry.name.as_str()),
                (Role::Muted, "  "),
                (Role::Muted, &entry.help),
            ];
            canvas.pieces(text, &pieces);
        }
        Target::Action(action) => {
            let gap = "  ";
            canvas.pieces(
                text,
                &[
                    (Role::Text, &entry.name),
                    (Role::Muted, gap),
                    (Role::Muted, &entry.help),
                ],
            );
            let key = model.fixed.keymap.key_of(*action);
            canvas.right(
                spot.after(spot.columns.saturating_sub(KEY)),
                Role::Accent,
                &key,
            );
        }
    }
}

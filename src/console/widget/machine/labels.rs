//! Where the labels of arrows go: into a level part of the arrow that is its own, or beside an
//! upright one. What was walked is placed first; a label that finds no room is shortened to its
//! count, and where nobody walked, left out.

use std::collections::BTreeSet;

use super::layout::Plan;
use super::route::{Cell, Route, towards};
use super::{Arrow, Form, Path, events_of};
use crate::console::format::count_within;
use crate::console::text;
use crate::ledger::event::EventKind;
use crate::ledger::num;

/// A label in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Label {
    /// Of which arrow.
    pub arrow: Arrow,
    /// What it says.
    pub text: String,
    /// Where it begins.
    pub cell: Cell,
    /// How many columns it takes.
    pub columns: u16,
}

/// Places the labels of a path, the most walked first.
pub(super) fn place(plan: &Plan, path: &Path) -> Vec<Label> {
    let mut order: Vec<&(Arrow, Route)> = plan.routes.iter().collect();
    order.sort_by_key(|(arrow, _)| std::cmp::Reverse((path.is_marked(*arrow), path.times(*arrow))));
    let mut taken = taken_by_lines(plan);
    let shared = shared(plan);
    let mut labels = Vec::new();
    for (arrow, route) in order {
        let wordings = wordings(*arrow, plan.form, path);
        let placed = wordings.into_iter().find_map(|text| {
            let columns = text::columns(&text);
            let inside = inside(route, columns, &shared);
            let cell = inside.or_else(|| outside(plan, route, columns, &taken))?;
            Some(Label {
                arrow: *arrow,
                text,
                cell,
                columns,
            })
        });
        if let Some(label) = placed {
            for step in 0..label.columns {
                taken.insert((label.cell.0.saturating_add(step), label.cell.1));
            }
            labels.push(label);
        }
    }
    labels
}

/// What an arrow may be labelled with, the longest first.
fn wordings(arrow: Arrow, form: Form, path: &Path) -> Vec<String> {
    let times = path.times(arrow);
    let mut wordings = Vec::new();
    if form == Form::Large {
        let names: Vec<String> = match path.walked.get(&arrow) {
            Some(walked) if times > 0 => walked
                .iter()
                .map(|(event, times)| format!("{event} ×{}", count_within(*times, 5)))
                .collect(),
            Some(_) | None => events_of(arrow).iter().map(EventKind::to_string).collect(),
        };
        wordings.push(format!(" {} ", names.join(", ")));
        if let [first, _, ..] = names.as_slice()
            && times > 0
        {
            wordings.push(format!(" {first}, … "));
        }
    }
    if times > 0 {
        wordings.push(format!(" ×{} ", count_within(times, 5)));
        wordings.push(count_within(times, 4));
    }
    wordings
}

fn taken_by_lines(plan: &Plan) -> BTreeSet<Cell> {
    let lines = plan.routes.iter().flat_map(|(_, route)| route.cells.iter());
    let mut taken: BTreeSet<Cell> = lines.copied().collect();
    let boxes = plan
        .states
        .iter()
        .map(|(_, area)| *area)
        .chain([plan.source]);
    for area in boxes {
        taken.extend(area.positions().map(|position| (position.x, position.y)));
    }
    taken
}

/// The cells that more than one arrow runs through.
fn shared(plan: &Plan) -> BTreeSet<Cell> {
    let mut seen = BTreeSet::new();
    let mut shared = BTreeSet::new();
    for (_, route) in &plan.routes {
        for cell in &route.cells {
            if !seen.insert(*cell) {
                shared.insert(*cell);
            }
        }
    }
    shared
}

/// The cells of an arrow's own part that lie in a level run and are nobody else's, run by run.
fn runs(route: &Route, shared: &BTreeSet<Cell>) -> Vec<Vec<Cell>> {
    let mut runs = vec![Vec::new()];
    let last = route.cells.len().saturating_sub(1);
    for (position, cell) in route.cells.iter().enumerate().take(route.own) {
        let before = position
            .checked_sub(1)
            .and_then(|before| route.cells.get(before));
        let arrives = before.map_or(route.leaves, |before| towards(*before, *cell));
        let departs = route
            .cells
            .get(position + 1)
            .map_or(route.enters, |next| towards(*cell, *next));
        let level = arrives.is_level() && departs == arrives && position < last;
        if level && !shared.contains(cell) {
            if let Some(run) = runs.last_mut() {
                run.push(*cell);
            }
        } else {
            runs.push(Vec::new());
        }
    }
    for run in &mut runs {
        run.sort_unstable();
    }
    runs
}

/// Within the line, in the middle of the longest run, with a cell of line at each end.
fn inside(route: &Route, columns: u16, shared: &BTreeSet<Cell>) -> Option<Cell> {
    let run = runs(route, shared).into_iter().max_by_key(Vec::len)?;
    let length = num::columns(run.len());
    let spare = length.checked_sub(columns).filter(|spare| *spare >= 2)?;
    let (x, y) = run.first()?;
    Some((x.saturating_add(spare / 2), *y))
}

/// Beside an upright part: at its right, else at its left; the part's middle first.
fn outside(plan: &Plan, route: &Route, columns: u16, taken: &BTreeSet<Cell>) -> Option<Cell> {
    let mut upright: Vec<Cell> = (0..route.own)
        .filter_map(|position| {
            let cell = route.cells.get(position)?;
            let next = route.cells.get(position + 1);
            let departs = next.map_or(route.enters, |next| towards(*cell, *next));
            (!departs.is_level()).then_some(*cell)
        })
        .collect();
    let middle = upright.len() / 2;
    upright.rotate_left(middle);
    let is_free = |x: u16, y: u16| {
        let end = x.saturating_add(columns);
        end <= plan.size.0 && (x..end).all(|x| !taken.contains(&(x, y)))
    };
    let right = upright
        .iter()
        .map(|(x, y)| (x.saturating_add(1), *y))
        .find(|(x, y)| is_free(*x, *y));
    right.or_else(|| {
        upright
            .iter()
            .filter_map(|(x, y)| Some((x.checked_sub(columns)?, *y)))
            .find(|(x, y)| is_free(*x, *y))
    })
}

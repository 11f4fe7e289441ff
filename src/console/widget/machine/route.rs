//! Finds the way of every arrow of a diagram between its boxes: an orthogonal router over the cells
//! of a small grid.
//!
//! Arrows may cross at a right angle and may join another one that has the same target; they never
//! share cells otherwise. So in what is drawn a T joins and a cross passes. It knows nothing of
//! states: boxes have numbers. The ways are found one after the other, shortest first, each by
//! Dijkstra's algorithm over cell and direction. Next: [`super::layout`], which places the boxes.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use ratatui::layout::Rect;

/// A direction on the grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Side {
    Up,
    Right,
    Down,
    Left,
}

impl Side {
    pub(super) const ALL: [Self; 4] = [Self::Up, Self::Right, Self::Down, Self::Left];

    pub(super) const fn opposite(self) -> Self {
        match self {
            Self::Up => Self::Down,
            Self::Right => Self::Left,
            Self::Down => Self::Up,
            Self::Left => Self::Right,
        }
    }

    /// Whether it runs along a line.
    pub(super) const fn is_level(self) -> bool {
        matches!(self, Self::Right | Self::Left)
    }
}

/// A cell of the grid: column and line.
pub(super) type Cell = (u16, u16);

/// The cell next to `cell` on a side; `None` past the upper and the left edge.
pub(super) fn beside((x, y): Cell, side: Side) -> Option<Cell> {
    match side {
        Side::Up => y.checked_sub(1).map(|y| (x, y)),
        Side::Right => x.checked_add(1).map(|x| (x, y)),
        Side::Down => y.checked_add(1).map(|y| (x, y)),
        Side::Left => x.checked_sub(1).map(|x| (x, y)),
    }
}

/// From which box to which.
pub(super) type Link = (usize, usize);

/// The way of one arrow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Route {
    /// From which box to which.
    pub link: Link,
    /// Away from the box it leaves.
    pub leaves: Side,
    /// From the first cell outside of the box it leaves to the head before the one it enters.
    pub cells: Vec<Cell>,
    /// Into the box it enters.
    pub enters: Side,
    /// How many of the cells it has before it joins another arrow.
    pub own: usize,
}

// What a way costs: a step, a bend, a crossing, joining, and passing close by a box. A line of a
// terminal is about twice as high as a column is wide.
const LEVEL: u32 = 1;
const UPRIGHT: u32 = 2;
const BEND: u32 = 14;
const CROSSING: u32 = 10;
const JOINING: u32 = 4;
const CLOSE: u32 = 2;

/// How many cells at the beginning of an upright arrow are not to be joined.
const UPRIGHT_APART: usize = 2;

/// What runs through a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Use {
    /// A straight line of an arrow; what goes into the same box may join it, but for its beginning,
    /// which is kept for its label.
    Straight { level: bool, joins: Option<usize> },
    /// A bend, a head, a join or a crossing.
    Full,
}

type Key = (Cell, Side);

struct Grid<'a> {
    size: (u16, u16),
    boxes: &'a [Rect],
    apart: usize,
    used: BTreeMap<Cell, Use>,
}

/// The room that ways are found in.
pub(super) struct Room<'a> {
    /// Columns and lines.
    pub size: (u16, u16),
    /// What stands in it.
    pub boxes: &'a [Rect],
    /// How many cells at the beginning of a level arrow are not to be joined.
    pub apart: usize,
}

/// The ways of `links` between the boxes of a room; those for which there is none are left out.
pub(super) fn route(room: &Room<'_>, links: &[Link]) -> Vec<Route> {
    let Room { size, boxes, apart } = *room;
    let mut order: Vec<Link> = links.to_vec();
    order.sort_by_key(|link| distance(boxes, *link));
    let mut grid = Grid {
        size,
        boxes,
        apart,
        used: BTreeMap::new(),
    };
    let mut routes: Vec<Route> = Vec::with_capacity(order.len());
    for link in order {
        if let Some(found) = grid.find(link) {
            let route = joined(found, link, &routes);
            grid.take(&route);
            routes.push(route);
        }
    }
    routes
}

fn distance(boxes: &[Rect], (from, to): Link) -> u32 {
    let middle = |number: usize| {
        let each = boxes.get(number).copied().unwrap_or_default();
        (each.x + each.width / 2, each.y + each.height / 2)
    };
    let (a, b) = (middle(from), middle(to));
    u32::from(a.0.abs_diff(b.0)) + u32::from(a.1.abs_diff(b.1)) * 2
}

/// A way as it was searched: up to a head, or up to a cell of another arrow.
struct Found {
    leaves: Side,
    cells: Vec<Cell>,
    enters: Side,
    joins: bool,
}

/// Follows the arrow that was joined to its head.
fn joined(found: Found, link: Link, routes: &[Route]) -> Route {
    let Found {
        leaves,
        mut cells,
        mut enters,
        joins,
    } = found;
    let own = cells.len();
    if joins
        && let Some(last) = cells.last().copied()
        && let Some(other) = routes
            .iter()
            .find(|other| other.link.1 == link.1 && other.cells.contains(&last))
    {
        let rest = other.cells.iter().skip_while(|cell| **cell != last).skip(1);
        cells.extend(rest);
        enters = other.enters;
    }
    let own = if joins { own.saturating_sub(1) } else { own };
    Route {
        link,
        leaves,
        cells,
        enters,
        own,
    }
}

impl Grid<'_> {
    fn holds(&self, (x, y): Cell) -> bool {
        x < self.size.0 && y < self.size.1
    }

    fn box_at(&self, cell: Cell) -> Option<usize> {
        self.boxes
            .iter()
            .position(|each| each.contains(cell.into()))
    }

    fn is_close(&self, cell: Cell) -> bool {
        Side::ALL
            .into_iter()
            .filter_map(|side| beside(cell, side))
            .any(|next| self.box_at(next).is_some())
    }

    /// The shortest way of one arrow.
    fn find(&self, link: Link) -> Option<Found> {
        let mut best: BTreeMap<Key, u32> = BTreeMap::new();
        let mut came: BTreeMap<Key, Option<Key>> = BTreeMap::new();
        let mut open = BinaryHeap::new();
        for key in self.starts(link.0) {
            best.insert(key, 0);
            came.insert(key, None);
            open.push(Reverse((0, key)));
        }
        while let Some(Reverse((cost, key))) = open.pop() {
            if best.get(&key).is_some_and(|known| *known < cost) {
                continue;
            }
            let (cell, side) = key;
            match self.used.get(&cell) {
                Some(Use::Straight { level, joins })
                    if *joins == Some(link.1) && *level != side.is_level() =>
                {
                    // Joined: the cost of it was paid on the way in.
                    return Some(walked_back(key, &came, None));
                }
                Some(_) | None => {}
            }
            let enters = beside(cell, side).and_then(|next| self.box_at(next)) == Some(link.1);
            if enters && !self.used.contains_key(&cell) {
                return Some(walked_back(key, &came, Some(side)));
            }
            for (next, price) in self.steps(key, link) {
                let sum = cost.saturating_add(price);
                if best.get(&next).is_none_or(|known| sum < *known) {
                    best.insert(next, sum);
                    came.insert(next, Some(key));
                    open.push(Reverse((sum, next)));
                }
            }
        }
        None
    }

    /// The free cells around a box, each with the side that leads away from it.
    fn starts(&self, number: usize) -> Vec<Key> {
        let Some(area) = self.boxes.get(number).copied() else {
            return Vec::new();
        };
        let mut starts = Vec::new();
        let tall = area.height > 2;
        for position in area.positions() {
            for side in Side::ALL {
                let Some(cell) = beside((position.x, position.y), side) else {
                    continue;
                };
                let corner = if side.is_level() {
                    tall && (position.y == area.y || position.y + 1 == area.bottom())
                } else {
                    area.width > 2 && (position.x == area.x || position.x + 1 == area.right())
                };
                let outside = !area.contains(cell.into());
                if outside && !corner && self.is_free(cell) {
                    starts.push((cell, side));
                }
            }
        }
        starts
    }

    fn is_free(&self, cell: Cell) -> bool {
        self.holds(cell) && self.box_at(cell).is_none() && !self.used.contains_key(&cell)
    }

    /// Where one may go from a cell that was entered towards `side`, and what it costs.
    fn steps(&self, (cell, side): Key, link: Link) -> Vec<(Key, u32)> {
        let crossing = self.used.contains_key(&cell);
        let mut steps = Vec::new();
        for turn in Side::ALL {
            if turn == side.opposite() || (crossing && turn != side) {
                continue;
            }
            let Some(next) = beside(cell, turn).filter(|next| self.holds(*next)) else {
                continue;
            };
            if self.box_at(next).is_some() {
                continue;
            }
            let mut price = if turn.is_level() { LEVEL } else { UPRIGHT };
            if turn != side {
                price += BEND;
            }
            match self.used.get(&next) {
                None => {}
                Some(Use::Full) => continue,
                Some(Use::Straight { level, .. }) if *level == turn.is_level() => continue,
                Some(Use::Straight { joins, .. }) if *joins == Some(link.1) => price += JOINING,
                Some(Use::Straight { .. }) => price += CROSSING,
            }
            if self.is_close(next) {
                price += CLOSE;
            }
            steps.push(((next, turn), price));
        }
        steps
    }

    /// Marks the cells of a way as used.
    fn take(&mut self, route: &Route) {
        let into = route.link.1;
        let last = route.cells.len().saturating_sub(1);
        for (position, cell) in route.cells.iter().enumerate() {
            if position > route.own {
                break;
            }
            let before = position
                .checked_sub(1)
                .and_then(|before| route.cells.get(before));
            let arrives = before.map_or(route.leaves, |before| towards(*before, *cell));
            let departs = route
                .cells
                .get(position + 1)
                .map_or(route.enters, |next| towards(*cell, *next));
            let straight = arrives == departs && position < last && position > 0;
            let next = match (self.used.get(cell), straight) {
                (None, true) => {
                    let level = arrives.is_level();
                    let apart = if level { self.apart } else { UPRIGHT_APART };
                    Use::Straight {
                        level,
                        joins: (position >= apart).then_some(into),
                    }
                }
                (None, false) | (Some(_), _) => Use::Full,
            };
            self.used.insert(*cell, next);
        }
    }
}

/// The side on which a neighbouring cell lies.
pub(super) fn towards(from: Cell, to: Cell) -> Side {
    if to.0 > from.0 {
        Side::Right
    } else if to.0 < from.0 {
        Side::Left
    } else if to.1 > from.1 {
        Side::Down
    } else {
        Side::Up
    }
}

fn walked_back(end: Key, came: &BTreeMap<Key, Option<Key>>, enters: Option<Side>) -> Found {
    let mut cells = Vec::new();
    let mut leaves = end.1;
    let mut at = Some(end);
    while let Some(key) = at {
        cells.push(key.0);
        leaves = key.1;
        at = came.get(&key).copied().flatten();
    }
    cells.reverse();
    Found {
        leaves,
        cells,
        enters: enters.unwrap_or(end.1),
        joins: enters.is_none(),
    }
}

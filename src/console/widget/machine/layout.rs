//! Where the states stand, by hand, at the two sizes of the diagram; the arrows between them come
//! from the table. Places were tried by the thousand for few bends, few crossings and room for
//! labels; a test holds that every arrow finds its way and every count its place.

use std::sync::LazyLock;

use ratatui::layout::Rect;

use super::route::{self, Room, Route};
use super::{Arrow, Form, arrows};
use crate::ledger::state::State;

/// A diagram that is laid out.
pub(super) struct Plan {
    /// Which.
    pub form: Form,
    /// Its columns and lines.
    pub size: (u16, u16),
    /// Where jobs come from.
    pub source: Rect,
    /// Where the states stand.
    pub states: Vec<(State, Rect)>,
    /// The ways of the arrows.
    pub routes: Vec<(Arrow, Route)>,
}

/// The large one.
pub(super) static LARGE: LazyLock<Plan> = LazyLock::new(|| plan(Form::Large, (116, 18), large));
/// The one for 80 columns.
pub(super) static MEDIUM: LazyLock<Plan> = LazyLock::new(|| plan(Form::Medium, (76, 8), medium));

/// The columns that the name of an event with its count takes, most of the time.
const LABEL: usize = 13;
/// The columns that a count takes.
const COUNT: usize = 4;

const fn large(state: Option<State>) -> Rect {
    match state {
        None => Rect::new(0, 2, 3, 2),
        Some(State::Pending) => Rect::new(17, 1, 15, 4),
        Some(State::Ready) => Rect::new(43, 1, 15, 4),
        Some(State::Running) => Rect::new(72, 1, 15, 4),
        Some(State::RetryWait) => Rect::new(50, 7, 16, 4),
        Some(State::Succeeded) => Rect::new(101, 1, 15, 4),
        Some(State::Dead) => Rect::new(68, 13, 13, 4),
        Some(State::Quarantined) => Rect::new(33, 13, 17, 4),
        Some(State::Discarded) => Rect::new(95, 13, 15, 4),
    }
}

const fn medium(state: Option<State>) -> Rect {
    match state {
        None => Rect::new(1, 1, 2, 1),
        Some(State::Pending) => Rect::new(8, 1, 13, 1),
        Some(State::Ready) => Rect::new(28, 1, 11, 1),
        Some(State::Running) => Rect::new(45, 2, 13, 1),
        Some(State::RetryWait) => Rect::new(31, 5, 16, 1),
        Some(State::Succeeded) => Rect::new(65, 2, 11, 1),
        Some(State::Dead) => Rect::new(56, 4, 10, 1),
        Some(State::Quarantined) => Rect::new(27, 7, 17, 1),
        Some(State::Discarded) => Rect::new(62, 6, 11, 1),
    }
}

fn plan(form: Form, size: (u16, u16), place: fn(Option<State>) -> Rect) -> Plan {
    let places: Vec<Option<State>> = std::iter::once(None)
        .chain(State::ALL.into_iter().map(Some))
        .collect();
    let boxes: Vec<Rect> = places.iter().map(|each| place(*each)).collect();
    let number = |state: Option<State>| places.iter().position(|each| *each == state);
    let arrows: Vec<(Arrow, route::Link)> = arrows()
        .into_iter()
        .filter_map(|arrow| Some((arrow, (number(arrow.from)?, number(Some(arrow.to))?))))
        .collect();
    let links: Vec<route::Link> = arrows.iter().map(|(_, link)| *link).collect();
    let room = Room {
        size,
        boxes: &boxes,
        apart: match form {
            Form::Large => LABEL,
            Form::Medium | Form::Lines => COUNT,
        },
    };
    let routes = route::route(&room, &links)
        .into_iter()
        .filter_map(|route| {
            let (arrow, _) = arrows.iter().find(|(_, link)| *link == route.link)?;
            Some((*arrow, route))
        })
        .collect();
    Plan {
        form,
        size,
        source: place(None),
        states: State::ALL
            .into_iter()
            .map(|state| (state, place(Some(state))))
            .collect(),
        routes,
    }
}

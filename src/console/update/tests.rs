//! What keys and news change, without a terminal or a ledger.

use std::time::{Duration, Instant};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::layout::Rect;
use uuid::Uuid;

use crate::board::{Board, Limits};
use crate::console::dialog::Dialog;
use crate::console::keymap::Keymap;
use crate::console::model::{Fixed, Order, Truth, View};
use crate::ledger::event::{ActorKind, Event, EventKind, FailureKey};
use crate::ledger::feed::{Base, Cell};
use crate::ledger::state::State;
use crate::ledger::text::SafeText;

use super::*;

mod filters;
mod lists;
mod operate;

const NOW_S: i64 = 1_796_008_062;

fn console() -> Model {
    let none: [(&str, [&str; 0]); 0] = [];
    let fixed = Fixed {
        ledger: SafeText::new("test"),
        permit: None,
        copying: false,
        why_read_only: SafeText::new("it is a test"),
        keymap: Keymap::new(none).unwrap(),
        limits: Limits::default(),
    };
    Model::new(fixed, Instant::now(), Rect::new(0, 0, 120, 36))
}

fn ready(queue: &str, seconds_ago: i64, count: u64) -> Cell {
    Cell {
        queue: SafeText::new(queue),
        state: State::Ready,
        since_s: NOW_S - seconds_ago,
        failure: FailureKey::default(),
        available_s: None,
        lease_expires_s: None,
        worker: None,
        count,
    }
}

fn base(cells: Vec<Cell>) -> Msg {
    let as_of = Timestamp::from_seconds(NOW_S);
    let base = Base {
        as_of,
        cells,
        recent: Vec::new(),
        recent_since: as_of,
    };
    Msg::Loaded {
        as_of,
        board: Box::new(Board::load(&base)),
    }
}

/// A console that shows three queues: old, new and wide.
fn loaded_console() -> Model {
    let mut model = console();
    let cells = vec![
        ready("old", 500, 3),
        ready("new", 5, 40),
        ready("wide", 50, 900),
    ];
    tell(&mut model, base(cells));
    model
}

fn tell(model: &mut Model, msg: Msg) -> Vec<Effect> {
    let at = model.now;
    update(model, at, msg)
}

fn later(model: &mut Model, by: Duration, msg: Msg) -> Vec<Effect> {
    let at = model.now + by;
    update(model, at, msg)
}

fn press(model: &mut Model, keys: &str) -> Vec<Effect> {
    let mut effects = Vec::new();
    for key in keys.split(' ') {
        let (code, modifiers) = match key {
            "esc" => (KeyCode::Esc, KeyModifiers::NONE),
            "enter" => (KeyCode::Enter, KeyModifiers::NONE),
            "tab" => (KeyCode::Tab, KeyModifiers::NONE),
            "down" => (KeyCode::Down, KeyModifiers::NONE),
            "ctrl-c" => (KeyCode::Char('c'), KeyModifiers::CONTROL),
            "ctrl-z" => (KeyCode::Char('z'), KeyModifiers::CONTROL),
            "space" => (KeyCode::Char(' '), KeyModifiers::NONE),
            "ctrl-u" => (KeyCode::Char('u'), KeyModifiers::CONTROL),
            other => (
                KeyCode::Char(other.chars().next().unwrap()),
                KeyModifiers::NONE,
            ),
        };
        effects = tell(model, Msg::Key(KeyEvent::new(code, modifiers)));
    }
    effects
}

fn selected(model: &Model) -> &str {
    model
        .view
        .overview()
        .selected
        .as_ref()
        .map_or("", |name| name.as_str())
}

fn names(model: &Model) -> Vec<&str> {
    model.rows().iter().map(|row| row.queue.as_str()).collect()
}

fn enqueued(queue: &str, job: u128, at_s: i64) -> Event {
    Event {
        job: Uuid::from_u128(job),
        version: 1,
        kind: EventKind::Enqueue,
        at: Timestamp::from_seconds(at_s),
        queue: SafeText::new(queue),
        from: None,
        from_since: None,
        to: State::Ready,
        attempt: 0,
        actor_kind: ActorKind::Producer,
        actor: SafeText::new("test"),
        worker: None,
        failure: FailureKey::default(),
        available_at: None,
        lease_expires_at: None,
        from_lease_expires_at: None,
        first_attempt_at: None,
        note: None,
    }
}

fn events(after_s: i64, events: Vec<Event>) -> Msg {
    let as_of = Timestamp::from_seconds(NOW_S + after_s);
    Msg::Events(Batch {
        as_of,
        events,
        more: false,
    })
}

fn ends(effects: &[Effect]) -> Option<Ended> {
    effects.iter().find_map(|effect| match effect {
        Effect::End(ended) => Some(*ended),
        Effect::Refresh(_)
        | Effect::Recount
        | Effect::Suspend
        | Effect::Retake
        | Effect::Repaint
        | Effect::Look { .. }
        | Effect::Dismiss(_)
        | Effect::Operate { .. }
        | Effect::Copy(_)
        | Effect::Free(_) => None,
    })
}

#[test]
fn esc_goes_out_by_one_level_and_never_out_of_the_program() {
    let mut model = loaded_console();
    press(&mut model, "/ o enter enter ? / k");
    // Search in the help, the help, the queue, the filter: four levels.
    for _ in 0..4 {
        assert!(press(&mut model, "esc").is_empty());
    }
    assert_eq!(model.view, loaded_console_view(&model));
    for _ in 0..10 {
        assert!(press(&mut model, "esc").is_empty());
    }
}

/// The plain overview with the present selection.
fn loaded_console_view(model: &Model) -> View {
    let mut view = View::default();
    let (overview, present) = (view.overview_mut(), model.view.overview());
    overview.selected.clone_from(&present.selected);
    overview.chosen = present.chosen;
    view
}

#[test]
fn esc_leaves_the_levels_in_order() {
    let mut model = loaded_console();
    press(&mut model, "/ o enter enter ?");
    assert!(matches!(model.dialog, Some(Dialog::Help(_))));
    press(&mut model, "esc");
    assert!(model.dialog.is_none() && model.view.queue_shown().is_some());
    press(&mut model, "esc");
    assert!(model.view.queue_shown().is_none());
    assert_eq!(
        model.view.overview().filter.text(),
        "o",
        "the filter survives the detour"
    );
    press(&mut model, "esc");
    assert_eq!(model.view.overview().filter.text(), "");
}

#[test]
fn q_goes_back_and_quits_only_from_the_overview() {
    let mut model = loaded_console();
    press(&mut model, "enter ?");
    assert_eq!(ends(&press(&mut model, "q")), None);
    assert_eq!(ends(&press(&mut model, "q")), None);
    assert_eq!(ends(&press(&mut model, "q")), Some(Ended::Quit));
}

#[test]
fn ctrl_c_quits_from_everywhere_and_ctrl_z_suspends() {
    for before in ["j", "enter", "?", ":", "/", "? /"] {
        let mut model = loaded_console();
        press(&mut model, before);
        assert!(
            matches!(press(&mut model, "ctrl-z")[..], [Effect::Suspend]),
            "{before}"
        );
        assert_eq!(
            ends(&press(&mut model, "ctrl-c")),
            Some(Ended::Quit),
            "{before}"
        );
    }
}

#[test]
fn keys_that_type_are_text_in_a_field_and_never_commands() {
    let mut model = loaded_console();
    assert_eq!(ends(&press(&mut model, "/ q p s")), None);
    assert_eq!(model.view.overview().filter.text(), "qps");
    assert_eq!(model.hold, Hold::Follow);
    press(&mut model, "ctrl-u");
    assert_eq!(model.view.overview().filter.text(), "");
}

#[test]
fn pasted_text_reaches_text_fields_only() {
    let mut model = loaded_console();
    assert!(tell(&mut model, Msg::Paste("qqq".to_owned())).is_empty());
    assert_eq!(model.view, loaded_console_view(&model));
    press(&mut model, "/");
    tell(&mut model, Msg::Paste("old\n".to_owned()));
    assert_eq!(names(&model), ["old"]);
}

#[test]
fn the_selection_is_a_name_and_survives_another_order() {
    let mut model = loaded_console();
    assert_eq!(names(&model), ["old", "wide", "new"]);
    press(&mut model, "j");
    assert_eq!(selected(&model), "wide");
    while model.view.overview().order != Order::Name {
        press(&mut model, "s");
    }
    assert_eq!(names(&model), ["new", "old", "wide"]);
    assert_eq!(selected(&model), "wide");
    // News that reorder the rows do not move the selection either.
    press(&mut model, "s");
    tell(
        &mut model,
        base(vec![ready("wide", 9_000, 1), ready("new", 2, 1)]),
    );
    assert_eq!(names(&model), ["wide", "new"]);
    assert_eq!(selected(&model), "wide");
    press(&mut model, "enter");
    assert_eq!(model.view.queue_shown().map(SafeText::as_str), Some("wide"));
}

#[test]
fn until_someone_moves_it_the_selection_is_on_the_worst_queue() {
    let mut model = loaded_console();
    assert_eq!(selected(&model), "old");
    tell(
        &mut model,
        base(vec![ready("old", 500, 3), ready("wide", 9_000, 1)]),
    );
    assert_eq!(selected(&model), "wide");
    press(&mut model, "j");
    assert_eq!(selected(&model), "old");
    tell(
        &mut model,
        base(vec![ready("old", 9_500, 3), ready("wide", 9_000, 1)]),
    );
    assert_eq!(selected(&model), "old");
}

#[test]
fn a_queue_that_is_gone_cannot_be_entered_by_its_row() {
    let mut model = loaded_console();
    press(&mut model, "j");
    tell(&mut model, base(vec![ready("other", 9_000, 1)]));
    press(&mut model, "enter");
    assert_eq!(model.view.queue_shown(), None);
}

#[test]
fn movement_stops_at_both_ends() {
    let mut model = loaded_console();
    press(&mut model, "k k k");
    assert_eq!(selected(&model), "old");
    press(&mut model, "G j j");
    assert_eq!(selected(&model), "new");
    press(&mut model, "g");
    assert_eq!(selected(&model), "old");
    press(&mut model, "enter j");
    assert_eq!(model.view.queue_shown().map(SafeText::as_str), Some("wide"));
}

#[test]
fn paused_numbers_stand_still_while_reading_goes_on() {
    let mut model = loaded_console();
    press(&mut model, "p");
    assert_eq!(model.truth(), Truth::Paused);
    let before = model.shown.clone().unwrap().summary;
    later(
        &mut model,
        Duration::from_secs(1),
        events(1, vec![enqueued("new", 1, NOW_S + 1)]),
    );
    assert_eq!(model.shown.as_ref().unwrap().summary, before);
    press(&mut model, "p");
    let after = &model.shown.as_ref().unwrap().summary;
    assert_eq!(after.total.depth.ready, before.total.depth.ready + 1);
    assert_eq!(model.truth(), Truth::Live);
}

#[test]
fn an_overdue_reading_is_stale_then_reconnecting_then_live() {
    let mut model = loaded_console();
    assert_eq!(model.truth(), Truth::Live);
    later(&mut model, Duration::from_millis(1_900), Msg::Tick);
    assert_eq!(model.truth(), Truth::Live);
    later(&mut model, Duration::from_millis(200), Msg::Tick);
    assert_eq!(model.truth(), Truth::Stale);
    let retry_in = Duration::from_secs(3);
    tell(
        &mut model,
        Msg::Failed {
            error: SafeText::new("gone"),
            retry_in,
        },
    );
    assert_eq!(model.truth(), Truth::Reconnecting);
    assert!(model.shown.is_some(), "the last numbers stay");
    later(&mut model, retry_in, Msg::Opening { attempt: 2 });
    assert_eq!(model.truth(), Truth::Reconnecting);
    let effects = tell(&mut model, base(vec![ready("old", 1, 1)]));
    assert!(
        matches!(effects[..], [Effect::Free(_)]),
        "the old board is freed elsewhere"
    );
    assert_eq!(model.truth(), Truth::Live);
    assert_eq!(names(&model), ["old"]);
}

#[test]
fn the_screen_wakes_exactly_when_a_live_reading_becomes_stale() {
    let mut model = loaded_console();
    let wake = model.next_wake().unwrap();
    update(
        &mut model,
        wake.checked_sub(Duration::from_millis(2)).unwrap(),
        Msg::Tick,
    );
    assert_eq!(model.truth(), Truth::Live);
    update(&mut model, wake, Msg::Tick);
    assert_eq!(model.truth(), Truth::Stale);
}

#[test]
fn a_ledger_that_was_never_reached_says_so_and_keeps_loading() {
    let mut model = console();
    assert_eq!(model.truth(), Truth::Loading);
    tell(&mut model, Msg::Opening { attempt: 1 });
    assert_eq!(model.truth(), Truth::Loading);
    let error = SafeText::new("connection refused");
    tell(
        &mut model,
        Msg::Failed {
            error,
            retry_in: Duration::from_secs(1),
        },
    );
    assert_eq!(model.truth(), Truth::Reconnecting);
}

#[test]
fn a_number_that_cannot_be_explained_is_counted_again() {
    let mut model = loaded_console();
    let claim = Event {
        version: 2,
        kind: EventKind::Claim,
        from: Some(State::Ready),
        from_since: Some(Timestamp::from_seconds(NOW_S - 77_777)),
        to: State::Running,
        ..enqueued("nowhere", 9, NOW_S)
    };
    let effects = tell(&mut model, events(1, vec![claim]));
    assert!(matches!(effects[..], [Effect::Recount]));
}

#[test]
fn a_database_clock_that_is_set_back_never_takes_the_board_back() {
    let mut model = loaded_console();
    tell(&mut model, events(-60, Vec::new()));
    assert_eq!(
        model.shown.unwrap().summary.as_of,
        Timestamp::from_seconds(NOW_S)
    );
}

#[test]
fn the_refresh_steps_are_bounded() {
    let mut model = loaded_console();
    let half = Duration::from_millis(500);
    assert!(matches!(press(&mut model, "+")[..], [Effect::Refresh(step)] if step == half));
    press(&mut model, "+ + + +");
    assert_eq!(model.refresh, Duration::from_millis(250));
    press(&mut model, "- - - - - - - - - -");
    assert_eq!(model.refresh, Duration::from_secs(60));
    assert!(press(&mut model, "-").is_empty());
}

#[test]
fn the_palette_goes_to_a_queue_or_does_an_action_by_name() {
    let mut model = loaded_console();
    press(&mut model, ": w i d enter");
    assert_eq!(model.view.queue_shown().map(SafeText::as_str), Some("wide"));
    press(&mut model, ": p a u s enter");
    assert_eq!(model.hold, Hold::Paused);
    press(&mut model, ": z z z enter");
    assert!(model.dialog.is_none());
}

#[test]
fn a_filter_that_hides_the_selection_selects_what_it_lists() {
    let mut model = loaded_console();
    press(&mut model, "/ n e w enter");
    assert_eq!((selected(&model), names(&model)), ("new", vec!["new"]));
    press(&mut model, "/ esc");
    assert_eq!(
        names(&model),
        ["new"],
        "cancelled typing goes back to the filter before"
    );
}

#[test]
fn the_end_of_the_terminal_and_signals_end_the_console() {
    let mut model = loaded_console();
    assert_eq!(
        ends(&tell(&mut model, Msg::TerminalLost)),
        Some(Ended::TerminalLost)
    );
    assert_eq!(
        ends(&tell(&mut model, Msg::Terminate { signal: 15 })),
        Some(Ended::Signal(15))
    );
    assert_eq!(
        ends(&tell(&mut model, Msg::Panicked)),
        Some(Ended::Panicked)
    );
    assert!(matches!(
        tell(&mut model, Msg::Continued)[..],
        [Effect::Retake]
    ));
}

//! A board in the middle of an incident, as values: what the screens are drawn from in tests.

use std::time::{Duration, Instant};

use ledgertop::board::Limits;
use ledgertop::board::summary::{
    DeadLetterSummary, Depth, Drain, FlowSummary, HISTORY_POINTS, Headline, LeaseSummary, Level,
    Percentiles, QueueSummary, RetrySummary, Summary, Tick,
};
use ledgertop::console::keymap::Keymap;
use ledgertop::console::model::{Fixed, Link, Model, Reading, Shown};
use ledgertop::console::theme::{Background, Depth as Colours, Look, Theme};
use ledgertop::console::{keymap, screen, text};
use ledgertop::ledger::error_class::ErrorClass;
use ledgertop::ledger::event::{ActorKind, EventKind, FailureKey};
use ledgertop::ledger::state::State;
use ledgertop::ledger::text::SafeText;
use ledgertop::ledger::time::Timestamp;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use uuid::Uuid;

/// 2026-11-30 03:07:42 UTC.
pub(crate) const NOW_S: i64 = 1_796_008_062;

fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn failure(class: ErrorClass, reason: &str) -> FailureKey {
    FailureKey {
        class: Some(class),
        reason: Some(SafeText::new(reason)),
    }
}

fn retry(class: ErrorClass, reason: &str, count: u64, before: u64) -> RetrySummary {
    RetrySummary {
        failure: failure(class, reason),
        count,
        before: Some(before),
        waiting: count / 4,
        next_due_in: Some(s(count % 7)),
    }
}

/// The queue that is late.
pub(crate) fn thumbnails() -> QueueSummary {
    QueueSummary {
        queue: SafeText::new("thumbnails"),
        level: Level::Critical,
        depth: Depth {
            pending: 20,
            ready: 12_480,
            running: 40,
            retry_wait: 311,
            dead: 12,
            quarantined: 3,
        },
        oldest_ready_age: Some(s(845)),
        ready_age: Some(Percentiles {
            p50: s(240),
            p95: s(730),
            p99: s(840),
        }),
        ready_spread: [120, 340, 1_800, 4_200, 6_020, 0, 0, 0],
        leases: LeaseSummary {
            in_flight: 40,
            near_expiry: 3,
            expired: 0,
            oldest_age: Some(s(48)),
            by_worker: vec![
                (SafeText::new("render-7f9c"), 24),
                (SafeText::new("render-2b10"), 16),
            ],
        },
        retries: vec![
            retry(ErrorClass::Transient, "rate_limited", 1_204, 310),
            retry(ErrorClass::Transient, "timeout", 187, 201),
            retry(ErrorClass::Unknown, "unclassified", 9, 0),
        ],
        in_per_s: 3.1,
        out_per_s: 0.4,
        drain: Drain::Never,
        ready_history: history(&[
            0, 0, 400, 900, 1_500, 3_000, 4_700, 6_900, 8_800, 10_400, 11_900, 12_480,
        ]),
        dead_letters: DeadLetterSummary {
            oldest_dead_age: Some(s(273_700)),
            oldest_quarantined_age: Some(s(4_000)),
            spread: [0, 0, 2, 6, 4, 1, 0, 2],
            growth_per_h: 52.0,
            by_reason: vec![
                (failure(ErrorClass::Transient, "rate_limited"), 9),
                (failure(ErrorClass::Transient, "timeout"), 3),
                (failure(ErrorClass::Permanent, "unsupported_format"), 3),
            ],
        },
        flow: FlowSummary {
            lease_expirations: 7,
            duplicates: 31,
            stale_refused: 2,
            exhausted: 12,
            time_to_terminal: Some(Percentiles {
                p50: Duration::from_millis(1_240),
                p95: s(74),
                p99: s(610),
            }),
        },
    }
}

/// A history that ends with these points.
fn history(last: &[u64]) -> Vec<Option<u64>> {
    let mut points = vec![None; HISTORY_POINTS - last.len()];
    points.extend(last.iter().copied().map(Some));
    points
}

/// A queue within its limits.
pub(crate) fn digest() -> QueueSummary {
    QueueSummary {
        queue: SafeText::new("digest"),
        level: Level::Fine,
        depth: Depth {
            ready: 212,
            running: 16,
            retry_wait: 4,
            ..Depth::default()
        },
        oldest_ready_age: Some(s(38)),
        ready_age: Some(Percentiles {
            p50: s(9),
            p95: s(31),
            p99: s(37),
        }),
        ready_spread: [120, 71, 21, 0, 0, 0, 0, 0],
        in_per_s: 12.0,
        out_per_s: 12.4,
        drain: Drain::In(s(540)),
        ready_history: history(&[200, 210, 190, 205, 220, 230, 208, 212]),
        ..QueueSummary::default()
    }
}

/// A queue with a warning.
pub(crate) fn billing() -> QueueSummary {
    QueueSummary {
        queue: SafeText::new("billing"),
        level: Level::Warning,
        depth: Depth {
            ready: 3,
            running: 2,
            dead: 312,
            ..Depth::default()
        },
        oldest_ready_age: Some(s(2)),
        ready_spread: [3, 0, 0, 0, 0, 0, 0, 0],
        in_per_s: 0.9,
        out_per_s: 0.9,
        drain: Drain::In(s(3)),
        ready_history: history(&[2, 3, 1, 4, 2, 3]),
        ..QueueSummary::default()
    }
}

fn tick(seconds_ago: i64, queue: &str, kind: EventKind, from: State, to: State) -> Tick {
    Tick {
        job: Uuid::nil(),
        at: Timestamp::from_seconds(NOW_S - seconds_ago),
        queue: SafeText::new(queue),
        kind,
        from: Some(from),
        to,
        actor_kind: ActorKind::Worker,
        actor: SafeText::new("render-7f9c"),
        failure: FailureKey::default(),
        note: None,
    }
}

fn ticker() -> Vec<Tick> {
    vec![
        Tick {
            failure: failure(ErrorClass::Transient, "rate_limited"),
            ..tick(
                0,
                "thumbnails",
                EventKind::Retry,
                State::Running,
                State::RetryWait,
            )
        },
        tick(
            1,
            "digest",
            EventKind::Succeed,
            State::Running,
            State::Succeeded,
        ),
        Tick {
            actor_kind: ActorKind::Operator,
            actor: SafeText::new("mara"),
            failure: failure(ErrorClass::Permanent, "schema_violation"),
            note: Some(SafeText::new("fixed in 4.2, trying one")),
            ..tick(
                9,
                "billing",
                EventKind::Redrive,
                State::Quarantined,
                State::Ready,
            )
        },
        Tick {
            actor_kind: ActorKind::System,
            actor: SafeText::new("housekeeping"),
            failure: failure(ErrorClass::Transient, "lease_expired"),
            ..tick(
                12,
                "thumbnails",
                EventKind::LeaseExpire,
                State::Running,
                State::Ready,
            )
        },
    ]
}

/// The whole board with these queues.
pub(crate) fn summary(queues: Vec<QueueSummary>) -> Summary {
    let mut total = thumbnails();
    total.queue = SafeText::default();
    Summary {
        as_of: Timestamp::from_seconds(NOW_S),
        window: s(900),
        window_since: Timestamp::from_seconds(NOW_S - 900),
        headline: vec![
            Headline {
                queue: SafeText::new("thumbnails"),
                level: Level::Critical,
                text: "oldest ready 14m (limit 2m), growing: 3.1/s in, 0.4/s out; 83% of retries \
                       rate_limited"
                    .to_owned(),
            },
            Headline {
                queue: SafeText::new("billing"),
                level: Level::Warning,
                text: "312 dead in 6m, all schema_violation, first at 02:58".to_owned(),
            },
        ],
        total,
        queues,
        ticker: ticker(),
    }
}

/// The incident: three queues.
pub(crate) fn incident() -> Summary {
    summary(vec![thumbnails(), billing(), digest()])
}

/// A console that shows `summary` as just read.
pub(crate) fn model(summary: Summary, width: u16, height: u16) -> Model {
    let mut model = empty(width, height);
    let reading = Reading {
        as_of: summary.as_of,
        at: model.now,
    };
    model.link = Link::Good;
    model.read = Some(reading);
    model.view.overview_mut().selected = summary.queues.first().map(|queue| queue.queue.clone());
    model.shown = Some(Shown { summary, reading });
    model
}

/// A console that has just been opened.
pub(crate) fn empty(width: u16, height: u16) -> Model {
    let none: [(&str, [&str; 0]); 0] = [];
    let fixed = Fixed {
        ledger: SafeText::new("prod-eu"),
        permit: None,
        copying: false,
        why_read_only: SafeText::new("it was opened with --read-only"),
        keymap: Keymap::new(none).unwrap(),
        limits: Limits::default(),
    };
    Model::new(fixed, Instant::now(), Rect::new(0, 0, width, height))
}

/// The frame of a model.
pub(crate) fn frame(model: &Model, colours: Colours) -> Buffer {
    let theme = Theme::built_in(Look::Standard, Background::Dark, colours).unwrap();
    let mut frame = Buffer::empty(model.size);
    screen::draw(model, &theme, &mut frame);
    frame
}

/// The frame as text, a line a row.
pub(crate) fn drawn(model: &Model) -> String {
    lines(&frame(model, Colours::None)).join("\n")
}

/// The rows of a frame.
pub(crate) fn lines(frame: &Buffer) -> Vec<String> {
    let width = usize::from(frame.area.width);
    frame
        .content()
        .chunks(width.max(1))
        .map(|cells| {
            let mut line = String::new();
            let mut hidden = false;
            for cell in cells {
                if !hidden {
                    line.push_str(cell.symbol());
                }
                hidden = !hidden && text::columns(cell.symbol()) == 2;
            }
            line.trim_end().to_owned()
        })
        .collect()
}

/// A key press.
pub(crate) fn key(text: &str) -> crossterm::event::KeyEvent {
    use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
    let (code, modifiers) = match text {
        "enter" => (KeyCode::Enter, KeyModifiers::NONE),
        "esc" => (KeyCode::Esc, KeyModifiers::NONE),
        "tab" => (KeyCode::Tab, KeyModifiers::NONE),
        "up" => (KeyCode::Up, KeyModifiers::NONE),
        "down" => (KeyCode::Down, KeyModifiers::NONE),
        "backspace" => (KeyCode::Backspace, KeyModifiers::NONE),
        "ctrl-c" => (KeyCode::Char('c'), KeyModifiers::CONTROL),
        "ctrl-z" => (KeyCode::Char('z'), KeyModifiers::CONTROL),
        other => (
            KeyCode::Char(other.chars().next().unwrap()),
            KeyModifiers::NONE,
        ),
    };
    let event = KeyEvent::new(code, modifiers);
    assert!(text.len() == 1 || text.parse::<keymap::Chord>() == Ok(keymap::Chord::of(event)));
    event
}

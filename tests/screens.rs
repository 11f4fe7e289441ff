//! What is drawn: the screens at the sizes people use, with the text strangers send, with and
//! without colours, and how few bytes a change costs.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

#[path = "screens/job.rs"]
mod job;
#[path = "screens/lists.rs"]
mod lists;
#[path = "screens/sample.rs"]
mod sample;
#[path = "screens/story.rs"]
mod story;

use std::time::Duration;

use ledgertop::board::summary::{QueueSummary, Summary, Tick};
use ledgertop::console::clock::TimeStyle;
use ledgertop::console::model::{Hold, Link, Model};
use ledgertop::console::msg::Msg;
use ledgertop::console::terminal::frame::Encoder;
use ledgertop::console::text;
use ledgertop::console::theme::Depth;
use ledgertop::console::update::update;
use ledgertop::ledger::text::SafeText;
use ledgertop::store::StoreError;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier};
use sample::{drawn, empty, frame, incident, key, lines, model, summary, thumbnails};

#[test]
fn the_overview_at_the_sizes_people_use() {
    for (width, height) in [(80, 24), (120, 36), (160, 45), (200, 60), (40, 10)] {
        let model = model(incident(), width, height);
        insta::assert_snapshot!(format!("overview_{width}x{height}"), drawn(&model));
    }
}

fn press(model: &mut Model, keys: &[&str]) {
    for each in keys {
        let at = model.now;
        update(model, at, Msg::Key(key(each)));
    }
}

#[test]
fn one_queue_at_the_sizes_people_use() {
    for (width, height) in [(80, 24), (120, 36), (160, 45)] {
        let mut model = model(incident(), width, height);
        press(&mut model, &["enter"]);
        insta::assert_snapshot!(format!("queue_{width}x{height}"), drawn(&model));
    }
}

#[test]
fn a_queue_past_a_limit_is_never_said_to_be_fine() {
    let mut board = incident();
    board.headline.clear();
    let mut model = model(board, 80, 24);
    press(&mut model, &["enter"]);
    assert!(drawn(&model).contains("▲ Past a limit that calls for an act."));
    press(&mut model, &["j", "j"]);
    assert!(drawn(&model).contains("Within its limits."));
}

#[test]
fn the_first_frame_is_calm_and_needs_no_ledger() {
    insta::assert_snapshot!("loading_80x24", drawn(&empty(80, 24)));
}

#[test]
fn a_lost_ledger_keeps_its_numbers_and_says_what_happens_next() {
    let mut model = model(incident(), 80, 24);
    model.now += Duration::from_secs(14);
    model.link = Link::Lost {
        error: StoreError::Unreachable {
            ledger: SafeText::new("postgres://db/jobs"),
            message: SafeText::new("connection refused"),
        }
        .briefly(),
        next_try: model.now + Duration::from_millis(3_200),
    };
    insta::assert_snapshot!("lost_80x24", drawn(&model));
    // Numbers that may no longer be true are told apart without colour too.
    let frame = frame(&model, Depth::None);
    let number = frame.cell((23, 7)).unwrap();
    assert!(number.modifier.contains(Modifier::DIM), "{number:?}");
}

#[test]
fn a_filtered_and_paused_overview_says_so() {
    let mut model = model(incident(), 80, 24);
    press(&mut model, &["p", "/", "b", "i"]);
    model.now += Duration::from_secs(125);
    // Reading goes on behind the paused numbers.
    if let Some(read) = &mut model.read {
        read.at = model.now;
    }
    assert_eq!(model.hold, Hold::Paused);
    insta::assert_snapshot!("filtered_80x24", drawn(&model));
}

#[test]
fn the_help_lists_the_live_keys_and_can_be_searched() {
    let mut model = model(incident(), 100, 30);
    press(&mut model, &["?"]);
    insta::assert_snapshot!("help_100x30", drawn(&model));
    press(&mut model, &["/", "s", "t", "a", "l", "e"]);
    insta::assert_snapshot!("help_searched_100x30", drawn(&model));
}

#[test]
fn the_palette_names_screens_queues_and_actions() {
    let mut model = model(incident(), 100, 30);
    press(&mut model, &[":", "b", "i"]);
    insta::assert_snapshot!("palette_100x30", drawn(&model));
}

/// Names as strangers send them.
fn hostile() -> Summary {
    let names = [
        "図書館の仕事",
        "🚀 launches 🇩🇪",
        "e\u{301}te\u{301}",
        "שלום עולם",
        "مرحبا بالعالم",
        "\u{1b}[31mred\u{1b}]0;title\u{7}",
        "\u{202e}gnp.exe\u{200b}\r\n",
        "ﷺ\u{301}\u{302}\u{303}",
        "a-very-long-name-that-goes-on-and-on-and-on-and-on",
    ];
    let queues = names.map(|name| QueueSummary {
        queue: SafeText::new(name),
        ..thumbnails()
    });
    let mut summary = summary(queues.to_vec());
    for (headline, name) in summary.headline.iter_mut().zip(names) {
        headline.queue = SafeText::new(name);
    }
    for (tick, name) in summary.ticker.iter_mut().zip(names) {
        tick.queue = SafeText::new(name);
        tick.actor = SafeText::new(name);
    }
    summary
}

#[test]
fn hostile_names_never_break_a_border() {
    for (width, height) in [(80, 30), (120, 36), (60, 40)] {
        let model = model(hostile(), width, height);
        let frame = frame(&model, Depth::None);
        let drawn = lines(&frame);
        let first = drawn.iter().position(|line| line.starts_with('╭')).unwrap();
        for (row, line) in drawn.iter().enumerate().skip(first) {
            let ends = line.ends_with(['│', '╮', '╯', ' ']) || row + 1 == usize::from(height);
            assert!(ends, "{width}: row {row} has no border: {line}");
            let full = text::columns(line);
            assert!(
                full == width || row + 1 == usize::from(height),
                "{width}: {full}: {line}"
            );
        }
        assert!(
            frame
                .content()
                .iter()
                .all(|cell| !cell.symbol().chars().any(char::is_control))
        );
    }
    insta::assert_snapshot!("hostile_120x36", drawn(&model(hostile(), 120, 36)));
}

#[test]
fn hostile_names_stand_within_their_borders_in_a_terminal() {
    let mut model = model(hostile(), 120, 36);
    let shown = terminal_rows(&model, &mut Encoder::default());
    model.view.overview_mut().selected = Some(SafeText::new("שלום עולם"));
    let first = shown.iter().position(|row| row.starts_with('╭')).unwrap();
    for row in shown.get(first..first + 11).unwrap() {
        assert!(row.ends_with(['│', '╮', '╯']), "{row}");
    }
    assert!(shown.iter().any(|row| row.contains("␛[31mred")));
}

/// What a terminal shows of a model.
fn terminal_rows(model: &Model, encoder: &mut Encoder) -> Vec<String> {
    let mut bytes = String::new();
    encoder.encode(frame(model, Depth::Ansi16), &mut bytes);
    let Rect { width, height, .. } = model.size;
    let mut parser = vt100::Parser::new(height.try_into().unwrap(), width.try_into().unwrap(), 0);
    parser.process(bytes.as_bytes());
    parser.screen().rows(0, width).collect()
}

#[test]
fn every_size_from_one_by_one_upwards_is_drawn() {
    let mut sizes: Vec<(u16, u16)> = vec![(0, 0), (1, 1), (500, 200), (1, 200), (500, 1)];
    sizes.extend(
        (1..130)
            .step_by(3)
            .flat_map(|width| (1..50).step_by(2).map(move |height| (width, height))),
    );
    for (width, height) in sizes {
        for keys in [&["j"][..], &["enter"], &["?"], &[":"], &["/"]] {
            let mut model = model(hostile(), width, height);
            press(&mut model, keys);
            assert_eq!(
                frame(&model, Depth::True).area,
                Rect::new(0, 0, width, height)
            );
        }
    }
}

#[test]
fn panes_are_dropped_in_the_stated_order() {
    let panes = |height: u16| {
        let drawn = drawn(&model(incident(), 80, height));
        [
            "Latest events",
            "Flow",
            "Leases",
            "Retries",
            "Dead letters",
            "Queues",
            "thumbnails",
        ]
        .into_iter()
        .filter(|pane| drawn.contains(pane))
        .collect::<Vec<_>>()
    };
    assert_eq!(panes(30).len(), 7);
    assert_eq!(
        panes(24),
        [
            "Flow",
            "Leases",
            "Retries",
            "Dead letters",
            "Queues",
            "thumbnails"
        ]
    );
    assert_eq!(
        panes(18),
        ["Retries", "Dead letters", "Queues", "thumbnails"]
    );
    assert_eq!(panes(11), ["Queues", "thumbnails"]);
    assert_eq!(panes(4), ["thumbnails"]);
}

#[test]
fn the_selected_row_is_seen_without_colours() {
    let mut model = model(incident(), 80, 24);
    press(&mut model, &["j"]);
    let frame = frame(&model, Depth::None);
    let drawn = lines(&frame);
    let selected = drawn
        .iter()
        .position(|line| line.contains("2s △     billing"))
        .unwrap();
    let rows: Vec<usize> = (0..24)
        .filter(|row| {
            let row = u16::try_from(*row).unwrap();
            let name = frame.cell((13, row)).unwrap();
            name.modifier.contains(Modifier::REVERSED)
        })
        .collect();
    assert_eq!(rows, [selected]);
    assert!(drawn[selected].contains("› 2s"), "{}", drawn[selected]);
    let plain = |cell: &ratatui::buffer::Cell| (cell.fg, cell.bg) == (Color::Reset, Color::Reset);
    assert!(frame.content().iter().all(plain));
    let mut bytes = String::new();
    Encoder::default().encode(frame, &mut bytes);
    assert!(
        bytes.contains(";7m") || bytes.contains("[7m"),
        "reverse video is written"
    );
}

#[test]
fn times_can_be_shown_in_utc_local_and_as_ages() {
    let mut model = model(incident(), 160, 45);
    assert!(drawn(&model).contains("03:07:33 redrive"));
    model.clock.zone = ledgertop::console::clock::LocalZone::Named(chrono_tz::Asia::Kolkata);
    press(&mut model, &["T"]);
    assert_eq!(model.clock.style, TimeStyle::Local);
    let local = drawn(&model);
    assert!(
        local.contains("08:37:33 redrive") && local.contains("LIVE 08:37 IST"),
        "{local}"
    );
    press(&mut model, &["T"]);
    assert!(drawn(&model).contains("9s       redrive"));
}

/// Fifty queues with ages of every size.
fn fifty(seconds: u64) -> Summary {
    let queues = (0..50_u64)
        .map(|number| QueueSummary {
            queue: SafeText::new(&format!("queue-{number:02}")),
            oldest_ready_age: Some(Duration::from_secs(number * number * 7 + seconds)),
            ..thumbnails()
        })
        .collect();
    let mut summary = summary(queues);
    summary.as_of = summary.as_of.plus(Duration::from_secs(seconds));
    summary.window_since = summary.window_since.plus(Duration::from_secs(seconds));
    summary
}

#[test]
fn an_idle_tick_writes_nothing_and_a_tick_of_ages_at_most_two_kilobytes() {
    let mut encoder = Encoder::default();
    let mut bytes = |summary: Summary| {
        let mut bytes = String::new();
        encoder.encode(frame(&model(summary, 200, 60), Depth::True), &mut bytes);
        bytes.len()
    };
    let first = bytes(fifty(0));
    assert!(first > 5_000, "the first frame is a full one: {first}");
    assert_eq!(bytes(fifty(0)), 0);
    for second in 1..=60 {
        let tick = bytes(fifty(second));
        assert!(tick <= 2_048, "second {second}: {tick} bytes");
    }
}

#[test]
fn a_tick_of_a_busy_ledger_costs_at_most_two_kilobytes_too() {
    let busy = |second: u64| {
        let mut summary = fifty(second);
        let sample = summary.ticker.clone();
        let tick = |(number, tick): (usize, &Tick)| Tick {
            at: summary.as_of,
            actor: SafeText::new(&format!("worker-{}-{number}", second * 7)),
            ..tick.clone()
        };
        summary.ticker = sample
            .iter()
            .cycle()
            .take(64)
            .enumerate()
            .map(tick)
            .collect();
        summary.queues.truncate(4);
        summary
    };
    let mut encoder = Encoder::default();
    let mut shown = |summary: Summary| {
        let mut bytes = String::new();
        encoder.encode(frame(&model(summary, 200, 60), Depth::True), &mut bytes);
        bytes
    };
    shown(busy(0));
    for second in 1..=20 {
        let bytes = shown(busy(second)).len();
        assert!(bytes <= 2_048, "second {second}: {bytes} bytes");
    }
}

#[test]
fn held_still_the_ticker_shows_as_much_as_fits() {
    let mut summary = incident();
    let tick = summary.ticker[0].clone();
    summary.ticker = (0..40_u64)
        .map(|number| Tick {
            at: tick.at.minus(Duration::from_secs(number)),
            ..tick.clone()
        })
        .collect();
    let mut model = model(summary, 160, 45);
    let lines = |model: &Model| drawn(model).matches(" retry  ").count();
    let moving = lines(&model);
    model.hold = Hold::Paused;
    assert!(lines(&model) > moving, "{}", drawn(&model));
}

#[test]
fn an_idle_ledger_costs_no_bytes_from_refresh_to_refresh_within_a_minute() {
    let quiet = |seconds: u64| {
        let mut summary = summary(vec![QueueSummary {
            queue: SafeText::new("quiet"),
            ..QueueSummary::default()
        }]);
        summary.headline.clear();
        summary.total = QueueSummary::default();
        summary.as_of = summary.as_of.plus(Duration::from_secs(seconds));
        summary.window_since = summary.window_since.plus(Duration::from_secs(seconds));
        summary
    };
    let mut encoder = Encoder::default();
    let mut bytes = String::new();
    encoder.encode(frame(&model(quiet(0), 200, 60), Depth::True), &mut bytes);
    // 03:07:42 to 03:07:59: the header shows the same minute.
    for second in 1..18 {
        bytes.clear();
        encoder.encode(
            frame(&model(quiet(second), 200, 60), Depth::True),
            &mut bytes,
        );
        assert_eq!(bytes, "", "second {second}");
    }
}

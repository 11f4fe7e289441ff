//! The screen of one job: the path, the timeline and the events of stories written by hand.

use ledgertop::console::clock::Clock;
use ledgertop::console::model::{Found, JobState, numbers};
use ledgertop::console::screen::job::{self, Sight};
use ledgertop::console::text;
use ledgertop::console::theme::{Background, Depth, Look, Theme};
use ledgertop::console::widget::Canvas;
use ledgertop::ledger::event::EventKind;
use ledgertop::ledger::view::JobStory;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Modifier;

use super::sample::lines;
use super::story::{HOSTILE, PLAIN, endless, eventful, fresh, held};

fn state(story: JobStory) -> JobState {
    JobState::holding(story)
}

fn frame(state: &JobState, (width, height): (u16, u16), colours: Depth) -> Buffer {
    let story = state.story().unwrap();
    let area = Rect::new(0, 0, width, height);
    let theme = Theme::built_in(Look::Standard, Background::Dark, colours).unwrap();
    let mut buffer = Buffer::empty(area);
    let sight = Sight {
        story,
        walked: state.walked_number(story),
        clock: Clock::default(),
        now: story.as_of,
        reveal_key: "v",
    };
    job::draw(&mut Canvas::new(&mut buffer, &theme), area, &sight);
    buffer
}

fn drawn(state: &JobState, size: (u16, u16)) -> String {
    lines(&frame(state, size, Depth::None)).join("\n")
}

const SIZES: [(u16, u16); 4] = [(80, 22), (120, 34), (160, 43), (40, 8)];

#[test]
fn an_eventful_job_at_the_sizes_people_use() {
    let mut state = state(eventful(PLAIN).story(0));
    for size in SIZES {
        insta::assert_snapshot!(format!("job_{}x{}", size.0, size.1), drawn(&state, size));
    }
    state.step(-10);
    for size in SIZES {
        insta::assert_snapshot!(
            format!("job_walked_{}x{}", size.0, size.1),
            drawn(&state, size)
        );
    }
}

#[test]
fn jobs_of_every_kind() {
    for (name, story) in [
        ("fresh", fresh(PLAIN)),
        ("held", held(PLAIN)),
        ("endless", endless(PLAIN)),
        ("corrupt", eventful(PLAIN).corrupt(7).story(0)),
        ("hostile", eventful(HOSTILE).story(0)),
        ("hostile_family", held(HOSTILE)),
    ] {
        let state = state(story);
        for size in [(80, 22), (120, 34)] {
            let name = format!("job_{name}_{}x{}", size.0, size.1);
            insta::assert_snapshot!(name, drawn(&state, size));
        }
    }
}

#[test]
fn no_text_of_a_stranger_breaks_a_border_or_reaches_the_terminal_raw() {
    for story in [eventful(HOSTILE).story(0), held(HOSTILE)] {
        let state = state(story);
        for size in [(112, 30), (120, 34), (131, 40), (160, 43)] {
            let frame = frame(&state, size, Depth::None);
            for (row, line) in lines(&frame).iter().enumerate().skip(3) {
                assert_eq!(text::columns(line), size.0, "{size:?} row {row}: {line}");
                assert!(
                    line.ends_with(['│', '╮', '╯']),
                    "{size:?} row {row}: {line}"
                );
            }
            let raw = |cell: &ratatui::buffer::Cell| cell.symbol().chars().any(char::is_control);
            assert!(!frame.content().iter().any(raw));
        }
    }
}

#[test]
fn every_size_from_one_by_one_upwards_shows_the_job() {
    let stories = [
        eventful(HOSTILE).corrupt(3).story(0),
        endless(PLAIN),
        fresh(PLAIN),
    ];
    for story in stories {
        let state = state(story);
        for width in (0..170).step_by(11) {
            for height in (0..50).step_by(3) {
                let frame = frame(&state, (width, height), Depth::True);
                assert_eq!(frame.area, Rect::new(0, 0, width, height));
            }
        }
    }
}

#[test]
fn parts_are_dropped_in_the_stated_order() {
    let state = state(eventful(PLAIN).story(0));
    let parts = |height: u16| {
        let drawn = drawn(&state, (80, height));
        [
            ("the walked event", "permanent schema_violation: POST"),
            ("timeline", "\nmarks   "),
            ("diagram", "[running ×5 ]"),
            ("path in words", "ready→running ×5"),
            ("facts", "attempt 1 of 6"),
            ("events", "›  17"),
            ("head", "▲ quarantined"),
        ]
        .into_iter()
        .filter(|(_, sign)| drawn.contains(sign))
        .map(|(part, _)| part)
        .collect::<Vec<_>>()
    };
    assert_eq!(
        parts(23),
        [
            "the walked event",
            "timeline",
            "diagram",
            "facts",
            "events",
            "head"
        ]
    );
    assert_eq!(
        parts(22),
        ["timeline", "diagram", "facts", "events", "head"]
    );
    assert_eq!(parts(17), ["diagram", "facts", "events", "head"]);
    assert_eq!(parts(14), ["path in words", "facts", "events", "head"]);
    assert_eq!(parts(8), ["events", "head"]);
    assert_eq!(parts(1), ["head"]);
}

/// The rows and columns of the frame that are drawn in reverse video.
fn reversed(frame: &Buffer) -> Vec<(u16, u16)> {
    let area = frame.area;
    area.positions()
        .map(|position| (position.x, position.y))
        .filter(|cell| {
            let cell = frame.cell(*cell).unwrap();
            cell.modifier.contains(Modifier::REVERSED)
        })
        .collect()
}

#[test]
fn walking_moves_the_mark_on_diagram_timeline_and_table_together_also_without_colours() {
    let mut state = state(eventful(PLAIN).story(0));
    let size = (160, 43);
    let mut seen: Vec<(String, Vec<(u16, u16)>)> = Vec::new();
    for number in (1..=17).rev() {
        let frame = frame(&state, size, Depth::None);
        let rows = lines(&frame);
        let row = rows.iter().find(|line| line.contains('›')).unwrap();
        let Ok(entry) = &state.story().unwrap().events[number - 1] else {
            panic!("every event can be read");
        };
        let start = format!("› {number:>3}  ");
        assert!(row.contains(&start), "{row}");
        let table = rows.iter().position(|line| line.contains('›')).unwrap();
        let marks = reversed(&frame);
        let in_rows = |rows: std::ops::Range<usize>| {
            marks.iter().any(|(_, y)| rows.contains(&usize::from(*y)))
        };
        assert!(in_rows(3..21), "the diagram has the mark of event {number}");
        assert!(
            in_rows(22..29),
            "the timeline has the mark of event {number}"
        );
        assert!(in_rows(table..table + 1), "the table has it");
        // The name of the state after the event is in it.
        let is_marked = |name: &str| {
            rows.iter().enumerate().take(21).any(|(y, line)| {
                line.match_indices(&format!(" {name} ")).any(|(byte, _)| {
                    let column = text::columns(&line[..byte]) + 1;
                    marks.contains(&(column, u16::try_from(y).unwrap()))
                })
            })
        };
        assert!(is_marked(entry.to.name()), "{number}: {}", entry.to);
        seen.push((row.clone(), marks));
        state.step(-1);
    }
    // At the first event it stays.
    let first = state.walked;
    state.step(-1);
    assert_eq!((state.walked, first), (Some(1), Some(1)));
    state.step(i64::MAX);
    assert_eq!(state.walked, None, "sent to the end, it follows");
}

#[test]
fn the_mark_stays_on_its_event_while_the_job_goes_on() {
    use ledgertop::ledger::event::ActorKind;
    use ledgertop::ledger::state::State;
    let more = || {
        eventful(PLAIN)
            .step(9_000, EventKind::Redrive, State::Ready, ActorKind::Operator)
            .step(10, EventKind::Claim, State::Running, ActorKind::Worker)
            .story(0)
    };
    let mut stayed = state(eventful(PLAIN).story(0));
    stayed.step(-3);
    assert_eq!(stayed.walked, Some(14));
    let mut following = stayed.clone();
    following.step(i64::MAX);
    for (state, expected) in [(stayed, 14), (following, 19)] {
        let mut state = state;
        state.found = Found::Story(Box::new(more()));
        assert_eq!(state.walked_number(state.story().unwrap()), expected);
    }
}

#[test]
fn very_many_events_are_bounded_and_it_is_said_what_is_left_out() {
    let mut state = state(endless(PLAIN));
    let all = numbers(&state.story().unwrap().events);
    assert_eq!(
        (all.first(), all.last(), all.len()),
        (Some(&1), Some(&9_999), 999)
    );
    state.step(i64::MIN);
    state.step(499);
    let drawn = drawn(&state, (120, 34));
    assert!(
        drawn.contains("⋯ 9,000 events are left out here"),
        "{drawn}"
    );
    assert!(drawn.contains("counts of 999 of 9,999 events"), "{drawn}");
}

#[test]
fn an_attempt_that_nobody_settled_stands_out_in_the_head_and_on_the_timeline() {
    for (size, what) in [
        ((80, 22), "its effect may have happened"),
        ((160, 43), "by the key before a replay"),
    ] {
        let drawn = drawn(&state(eventful(PLAIN).story(0)), size);
        let head: Vec<&str> = drawn.lines().take(2).collect();
        assert!(
            head[1].starts_with("? 1 attempt was never settled (2 by pay-7f9c)"),
            "{head:?}"
        );
        assert!(head[1].contains(what), "{head:?}");
        let running = drawn
            .lines()
            .find(|line| line.contains("running  ") && line.contains('↻'));
        assert!(running.unwrap().contains('?'), "{drawn}");
    }
}

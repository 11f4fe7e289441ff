//! The diagram: every arrow, every count, every size.

use ratatui::buffer::Buffer;

use super::*;
use crate::console::theme::{Background, Depth, Look, Theme};

fn path(times: u64) -> Path {
    let mut path = Path {
        current: Some(State::Dead),
        ..Path::default()
    };
    for arrow in arrows() {
        let event = *events_of(arrow).first().unwrap();
        path.walked.entry(arrow).or_default().insert(event, times);
        path.stays.insert(
            arrow.to,
            Stay {
                times,
                total: Duration::from_secs(742),
            },
        );
    }
    path
}

fn drawn(width: u16, height: u16, path: &Path) -> String {
    let area = Rect::new(0, 0, width, height);
    let mut buffer = Buffer::empty(area);
    let theme = Theme::built_in(Look::Standard, Background::Dark, Depth::None).unwrap();
    draw(&mut Canvas::new(&mut buffer, &theme), area, path);
    let lines = buffer.content().chunks(usize::from(width.max(1)));
    lines
        .map(|cells| {
            let line: String = cells.iter().map(ratatui::buffer::Cell::symbol).collect();
            line.trim_end().to_owned()
        })
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn every_arrow_of_the_table_between_different_states_finds_its_way() {
    for plan in [&*layout::LARGE, &*layout::MEDIUM] {
        let mut routed: Vec<Arrow> = plan.routes.iter().map(|(arrow, _)| *arrow).collect();
        routed.sort_unstable();
        let mut wanted = arrows();
        wanted.sort_unstable();
        assert_eq!(routed, wanted, "{:?}", plan.form);
    }
}

#[test]
fn every_walked_arrow_has_its_count_at_both_sizes() {
    for plan in [&*layout::LARGE, &*layout::MEDIUM] {
        let labels = labels::place(plan, &path(7));
        for arrow in arrows() {
            let label = labels.iter().find(|label| label.arrow == arrow);
            assert!(
                label.is_some_and(|label| label.text.contains('7')),
                "{:?} {arrow:?} {label:?}\n{}",
                plan.form,
                drawn(plan.size.0, plan.size.1, &path(7)),
            );
        }
    }
}

#[test]
fn with_less_room_names_go_first_then_frames_then_what_was_not_walked() {
    let path = path(7);
    let large = drawn(Form::Large.size().0, Form::Large.size().1, &path);
    assert!(large.contains("claim ×7") && large.contains("┏"), "{large}");
    let medium = drawn(Form::Medium.size().0, Form::Medium.size().1, &path);
    assert!(
        !medium.contains("claim") && !medium.contains("┏━━━┓"),
        "{medium}"
    );
    assert!(medium.contains("[running ×7 ]"), "{medium}");
    let mut little = path.clone();
    little.walked.retain(|arrow, _| arrow.from.is_none());
    little.stays.retain(|state, _| *state == State::Pending);
    let lines = drawn(76, 2, &little);
    assert!(
        lines.contains("new→pending ×7") && lines.contains("●dead"),
        "{lines}"
    );
    assert!(lines.contains("quarantined"), "all states fit: {lines}");
    let narrow = drawn(30, 2, &little);
    assert!(
        narrow.contains("pending ×7") && narrow.contains("●dead"),
        "{narrow}"
    );
    assert!(!narrow.contains("quarantined"), "{narrow}");
    assert_eq!(drawn(5, 1, &little), "●dead");
}

#[test]
fn what_was_walked_is_told_from_what_was_not_without_colours() {
    let mut path = path(2);
    let claim = Arrow {
        from: Some(State::Ready),
        to: State::Running,
    };
    path.walked.retain(|arrow, _| *arrow == claim);
    for form in [Form::Large, Form::Medium] {
        let (width, height) = form.size();
        let drawn = drawn(width, height, &path);
        let solid = drawn.matches(['►', '◄', '▲', '▼']).count();
        assert_eq!(solid, 1, "one arrow was walked:\n{drawn}");
        assert!(drawn.contains('▷') && drawn.contains('━') && drawn.contains('─'));
    }
}

#[test]
fn every_size_is_drawn() {
    for width in 0..130 {
        for height in 0..22 {
            drawn(width, height, &path(12_345));
        }
    }
}

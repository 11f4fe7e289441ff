//! Stays, events and the columns that they stand in.

use super::*;

fn stay(since: u32, lane: Lane, (begin, end): (i64, i64)) -> Span {
    Span {
        begin_us: begin,
        end_us: end,
        since,
        filling: Filling::Stay {
            lane,
            attempt: None,
            ending: Ending::Open,
        },
    }
}

/// Ready and running in turn, each a second, with an event at each beginning.
fn long(stays: u32) -> Timeline {
    let spans: Vec<Span> = (0..stays)
        .map(|number| {
            let lane = if number % 2 == 0 {
                Lane::Ready
            } else {
                Lane::Running
            };
            let begin = i64::from(number) * 1_000_000;
            stay(number + 1, lane, (begin, begin + 1_000_000))
        })
        .collect();
    let marks = spans
        .iter()
        .map(|span| Mark {
            event: span.since,
            at_us: span.begin_us,
            sign: None,
        })
        .collect();
    Timeline { spans, marks }
}

#[test]
fn every_stay_is_seen_and_none_passes_the_end() {
    for columns in 0..120 {
        for stays in [0, 1, 2, 7, 40, 500] {
            let timeline = long(stays);
            let scale = Scale::new(&timeline, columns, stays / 2);
            let mut end = 0;
            for placed in &scale.placed {
                assert_eq!(placed.column, end);
                assert!(placed.columns > 0);
                end += placed.columns;
            }
            assert!(end <= columns, "{stays} stays in {columns}: {end}");
            let shown = num::count(scale.placed.len());
            assert_eq!(scale.before + shown + scale.after, u64::from(stays));
        }
    }
}

#[test]
fn the_walked_event_is_among_those_shown_however_many_there_are() {
    let timeline = long(500);
    for walked in 1..=500 {
        let scale = Scale::new(&timeline, 60, walked);
        let column = scale.column_of(walked);
        assert!(
            column.is_some_and(|column| column < 60),
            "{walked}: {column:?}"
        );
    }
}

#[test]
fn a_moment_beside_a_day_is_still_seen() {
    let day = 86_400_000_000;
    let timeline = Timeline {
        spans: vec![
            stay(1, Lane::Ready, (0, day)),
            stay(2, Lane::Running, (day, day + 1)),
            stay(3, Lane::RetryWait, (day + 1, day * 2)),
        ],
        marks: Vec::new(),
    };
    let scale = Scale::new(&timeline, 40, 1);
    let columns: Vec<u16> = scale.placed.iter().map(|placed| placed.columns).collect();
    assert_eq!(columns, [19, 2, 19]);
}

//! The fold alone, in memory: applying an event, and summing up for the screen, on a board of 50
//! queues with a million ready jobs. Next: [`crate::draw`], what becomes of a summary.

use std::hint::black_box;
use std::time::Duration;

use anyhow::{Result, ensure};
use ledgertop::board::{Board, Judge, Limits};
use ledgertop::ledger::event::{ActorKind, Event, EventKind, FailureKey};
use ledgertop::ledger::feed::{Base, Cell};
use ledgertop::ledger::num;
use ledgertop::ledger::state::State;
use ledgertop::ledger::text::SafeText;
use ledgertop::ledger::time::Timestamp;
use uuid::Uuid;

use crate::report::Row;
use crate::sample::Sample;

const GROUP: &str = "FOLD (in memory)";
const QUEUES: i64 = 50;
/// Ready jobs.
const READY: i64 = 1_000_000;
/// A day in which they became ready, and its end.
const DAY_S: i64 = 86_400;
const NOW_S: i64 = 1_800_000_000;
/// Jobs that are claimed and settled, two events each.
const WORKED: i64 = 100_000;

/// Measures the fold.
pub(crate) fn measure(quick: bool) -> Result<Vec<Row>> {
    crate::say("the fold, in memory");
    let base = base();
    let mut load = Sample::default();
    let mut board = load.time(|| Board::load(&base));
    let events: Vec<Event> = (0..WORKED).flat_map(worked).collect();
    let mut fold = Sample::default();
    fold.time(|| events.iter().for_each(|event| board.apply(event)));
    ensure!(board.mismatches() == 0, "the events do not fit the board");

    let mut judge = Judge::new(Limits::default());
    let (mut summaries, mut passes) = (Sample::default(), Sample::default());
    for second in 0..if quick { 20 } else { 200 } {
        let now = Timestamp::from_seconds(NOW_S + second);
        summaries.time(|| black_box(board.summary(now, &mut judge)));
    }
    for _ in 0..3 {
        passes.time(|| black_box(board.cells().len()));
    }
    let each_us = fold.ms(50) * 1e3 / num::ratio(num::count(events.len()));
    let load_us = load.ms(50) * 1e3 / num::ratio(num::count(base.cells.len()));
    Ok(vec![
        Row::new(GROUP, "Board::apply, each event", each_us, "us")
            .beside("Board::load, each group of the base", load_us),
        Row::new(
            GROUP,
            "Board::summary, 50 queues, 1M ready, p50",
            summaries.ms(50),
            "ms",
        )
        .beside("one pass over every group", passes.ms(50)),
        Row::new(
            GROUP,
            "Board::summary, 50 queues, 1M ready, p95",
            summaries.ms(95),
            "ms",
        )
        .beside("one pass over every group", passes.ms(50)),
    ])
}

/// A million ready jobs, spread over a day and all queues.
fn base() -> Base {
    let now = Timestamp::from_seconds(NOW_S);
    let cells = (0..READY).map(|number| Cell {
        queue: queue(number),
        state: State::Ready,
        since_s: since_s(number),
        failure: FailureKey::default(),
        available_s: None,
        lease_expires_s: None,
        worker: None,
        count: 1,
    });
    Base {
        as_of: now,
        cells: cells.collect(),
        recent: Vec::new(),
        recent_since: now.minus(Duration::from_hours(1)),
    }
}

/// The claim of a ready job and its end: one in ten fails.
fn worked(number: i64) -> [Event; 2] {
    let at_ms = NOW_S * 1_000 + number * 60_000 / WORKED;
    let claimed = Timestamp::from_millis(at_ms);
    let since = Timestamp::from_seconds(since_s(number));
    let worker = SafeText::new(&format!("worker_{}", number % 8));
    let claim = Event {
        job: Uuid::from_u64_pair(num::unsigned(number), 0),
        version: 2,
        kind: EventKind::Claim,
        at: claimed,
        queue: queue(number),
        from: Some(State::Ready),
        from_since: Some(since),
        to: State::Running,
        attempt: 1,
        actor_kind: ActorKind::Worker,
        actor: worker.clone(),
        worker: Some(worker),
        failure: FailureKey::default(),
        available_at: None,
        lease_expires_at: Some(claimed.plus(Duration::from_secs(30))),
        from_lease_expires_at: None,
        first_attempt_at: Some(claimed),
        note: None,
    };
    let end = Event {
        version: 3,
        kind: EventKind::Succeed,
        at: claimed.plus(Duration::from_millis(700)),
        from: Some(State::Running),
        from_since: Some(claimed),
        to: State::Succeeded,
        ..claim.clone()
    };
    [claim, end]
}

fn queue(number: i64) -> SafeText {
    SafeText::new(&format!("queue_{:02}", number % QUEUES))
}

fn since_s(number: i64) -> i64 {
    NOW_S - DAY_S + number * DAY_S / READY
}

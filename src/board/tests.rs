//! The board against a count of the rows and a filter over the events, for any run of legal events.

use std::collections::BTreeMap;
use std::time::Duration;

use proptest::prelude::*;

use super::summary::*;
use super::testing::{BEGIN, Run, Script, at, choices, many};
use super::*;
use crate::ledger::event::EventKind;
use crate::ledger::feed::Base;
use crate::ledger::num;

mod naive;

use naive::{Naive, check};

/// Long before any run begins, so that windows are complete.
fn always() -> Timestamp {
    BEGIN.minus(Duration::from_hours(24))
}

fn empty(recent_since: Timestamp) -> Board {
    Board::load(&Base {
        as_of: recent_since,
        recent_since,
        ..Base::default()
    })
}

fn applied<'a>(events: impl IntoIterator<Item = &'a Event>) -> Board {
    let mut board = empty(always());
    for event in events {
        board.apply(event);
    }
    board
}

fn summary(board: &Board, now: Timestamp) -> Summary {
    board.summary(now, &mut Judge::default())
}

/// The moment to ask at: some whole number of seconds after the run.
fn moment() -> impl Strategy<Value = Duration> {
    prop_oneof![Just(0), 0_u64..90, 0_u64..4_000].prop_map(Duration::from_secs)
}

proptest! {
    #[test]
    fn the_board_says_what_a_count_of_the_rows_says(
        choices in choices(250), after in moment(),
    ) {
        let run = Run::of(&choices);
        let board = applied(&run.events);
        prop_assert_eq!(board.mismatches(), 0);
        prop_assert_eq!(board.cells(), run.cells());
        let now = run.now.plus(after);
        let said = summary(&board, now);
        prop_assert!(said.is_exact());
        let naive = |queue| Naive { run: &run, now_s: now.second(), queue };
        check(&said.total, &naive(None))?;
        for queue in &said.queues {
            check(queue, &naive(Some(&queue.queue)))?;
        }
        let shown = |name: &SafeText| said.queues.iter().any(|queue| queue.queue == *name);
        for row in run.rows() {
            let naive = naive(Some(&row.queue));
            let is_live = !row.state.is_terminal();
            let happened = naive.events(900, 0).next().is_some();
            prop_assert!(shown(&row.queue) || !(is_live || happened));
        }
    }

    #[test]
    fn a_board_loaded_at_any_event_is_the_board_that_saw_them_all(
        choices in choices(250), cut in any::<prop::sample::Index>(), after in moment(),
    ) {
        let run = Run::of(&choices);
        let cut = cut.index(choices.len() + 1);
        let early = Run::of(choices.get(..cut).unwrap());
        let mut loaded = Board::load(&early.base(always()));
        for event in run.events.get(cut..).unwrap() {
            loaded.apply(event);
        }
        let all = applied(&run.events);
        prop_assert_eq!(loaded.mismatches(), 0);
        prop_assert_eq!(loaded.cells(), all.cells());
        let now = run.now.plus(after);
        prop_assert_eq!(summary(&loaded, now), summary(&all, now));
    }

    #[test]
    fn a_base_that_reaches_back_two_windows_is_as_good_as_all_of_history(
        choices in choices(250), cut in any::<prop::sample::Index>(), after in moment(),
    ) {
        let run = Run::of(&choices);
        let cut = cut.index(choices.len() + 1);
        let early = Run::of(choices.get(..cut).unwrap());
        let reach = WINDOW.saturating_mul(2).saturating_add(Duration::from_mins(1));
        let mut loaded = Board::load(&early.base(early.now.minus(reach)));
        for event in run.events.get(cut..).unwrap() {
            loaded.apply(event);
        }
        let now = run.now.plus(after);
        let mut said = summary(&loaded, now);
        let mut all = summary(&applied(&run.events), now);
        said.ticker.clear();
        all.ticker.clear();
        prop_assert_eq!(said, all);
    }

    #[test]
    fn the_order_in_which_events_of_different_jobs_arrive_does_not_matter(
        choices in choices(250), order in prop::collection::vec(any::<u16>(), 250),
        after in moment(),
    ) {
        let run = Run::of(&choices);
        let mut by_job: BTreeMap<_, Vec<&Event>> = BTreeMap::new();
        for event in run.events.iter().rev() {
            by_job.entry(event.job).or_default().push(event);
        }
        let mut shuffled = Vec::new();
        for pick in order.iter().cycle().take(run.events.len()) {
            let index = usize::from(*pick) % by_job.len();
            let job = *by_job.keys().nth(index).unwrap();
            let events = by_job.get_mut(&job).unwrap();
            shuffled.push(events.pop().unwrap());
            if events.is_empty() {
                by_job.remove(&job);
            }
        }
        let (one, other) = (applied(&run.events), applied(shuffled));
        prop_assert_eq!(other.mismatches(), 0);
        prop_assert_eq!(one.cells(), other.cells());
        let now = run.now.plus(after);
        prop_assert_eq!(summary(&one, now), summary(&other, now));
    }

    #[test]
    fn a_lost_event_takes_no_number_below_zero(
        choices in choices(250), lost in any::<prop::sample::Index>(),
    ) {
        let run = Run::of(&choices);
        let lost = lost.index(run.events.len());
        let mut events = run.events.clone();
        events.remove(lost);
        let board = applied(&events);
        let counted: u64 = board.cells().iter().map(|cell| cell.count).sum();
        prop_assert!(counted <= num::count(run.events.len()));
        let said = summary(&board, run.now);
        let depth = said.total.depth;
        let parts = depth.pending + depth.at_work() + depth.dead + depth.quarantined;
        prop_assert_eq!(parts, counted);
    }
}

#[test]
fn an_event_that_leaves_a_place_where_no_job_was_is_counted_as_a_mismatch() {
    let mut script = Script::default();
    script.enqueue(0, ("digest", 0));
    script.attempt(5, ("digest", 0), EventKind::Succeed, State::Succeeded);
    let mut board = empty(always());
    for event in script.events.iter().skip(1) {
        board.apply(event);
    }
    assert_eq!(board.mismatches(), 1, "the claim of a job not seen ready");
    assert_eq!(board.cells(), []);
}

#[test]
fn windows_say_from_when_they_are_complete() {
    let mut script = Script::default();
    for job in 0..30 {
        script.enqueue(u64::from(job), ("digest", job));
    }
    let mut board = empty(at(0));
    for event in &script.events {
        board.apply(event);
    }
    let young = summary(&board, at(30));
    assert_eq!(young.window_since, at(0));
    assert!(!young.is_exact());
    assert!((young.total.in_per_s - 1.0).abs() < 1e-9, "30 jobs in 30 s");
    assert_eq!(young.total.drain, Drain::Unknown);
    let known = (young.total.ready_history.iter()).filter(|point| point.is_some());
    assert_eq!(many(known), 3, "now, a slot ago, and when it began");
    let full = summary(&board, at(900));
    assert_eq!(full.window_since, at(0));
    assert!(full.is_exact());
    assert_eq!(full.total.drain, Drain::Never);
}

#[test]
fn retries_are_compared_with_the_window_before_only_if_it_was_seen() {
    let mut script = Script::default();
    for job in 0..3 {
        let seconds = if job == 0 { 100 } else { 1_500 };
        script.enqueue(seconds, ("digest", job));
        script.attempt(seconds, ("digest", job), EventKind::Retry, State::RetryWait);
    }
    let retry = |since: Timestamp| {
        let mut board = empty(since);
        for event in &script.events {
            board.apply(event);
        }
        let mut retries = summary(&board, at(1_800)).total.retries;
        let retry = retries.pop().unwrap();
        (retry.count, retry.before, retry.waiting, retries.len())
    };
    assert_eq!(retry(at(0)), (2, Some(1), 3, 0));
    assert_eq!(retry(at(50)), (2, None, 3, 0));
}

#[test]
fn jobs_that_wait_longer_than_any_window_keep_their_reason_a_line() {
    let mut script = Script::default();
    script.with(Duration::from_secs(7_300), 0);
    for (job, queue) in (0..).zip(["digest", "billing", "digest"]) {
        script.enqueue(0, (queue, job));
        let seconds = 10 * u64::from(job);
        script.attempt(seconds, (queue, job), EventKind::Retry, State::RetryWait);
    }
    // Something happens elsewhere, much later, and the windows forget.
    script.enqueue(7_200, ("webhooks", 9));
    let said = summary(&applied(&script.events), at(7_200));
    let line = |retries: &[RetrySummary]| {
        let [retry] = retries else {
            panic!("{retries:?}");
        };
        let due = retry.next_due_in.map(|due| due.as_secs());
        (retry.count, retry.before, retry.waiting, due)
    };
    assert_eq!(line(&said.total.retries), (0, Some(0), 3, Some(100)));
    for queue in said.queues {
        match queue.queue.as_str() {
            "digest" => assert_eq!(line(&queue.retries), (0, Some(0), 2, Some(100))),
            "billing" => assert_eq!(line(&queue.retries), (0, Some(0), 1, Some(110))),
            _ => assert_eq!(queue.retries, []),
        }
    }
}

#[test]
fn what_an_operator_did_stays_in_the_ticker_while_workers_are_busy() {
    let mut script = Script::default();
    script.reject(0, ("billing", 10_000));
    script.step(1, ("billing", 10_000), EventKind::Discard, State::Discarded);
    for job in 0..500 {
        script.enqueue(2, ("digest", job));
        script.step(2, ("digest", job), EventKind::Claim, State::Running);
        script.step(2, ("digest", job), EventKind::Renew, State::Running);
    }
    let ticks = summary(&applied(&script.events), at(2)).ticker;
    assert_eq!(ticks.len(), ticker::LATEST + 1);
    assert_eq!(ticks.last().unwrap().kind, EventKind::Discard);
    assert!(ticks.iter().all(|tick| tick.kind != EventKind::Renew));
    assert!(ticks.is_sorted_by(|newer, older| newer.at >= older.at));
    let kinds: Vec<_> = (applied(&script.events).ticker("billing").iter())
        .map(|tick| tick.kind)
        .collect();
    let expected = [
        EventKind::Discard,
        EventKind::Reject,
        EventKind::Claim,
        EventKind::Enqueue,
    ];
    assert_eq!(kinds, expected, "a queue has a ticker of its own");
}

#[test]
fn a_queue_of_which_nothing_is_left_is_forgotten() {
    let mut script = Script::default();
    script.enqueue(0, ("once", 0));
    script.attempt(0, ("once", 0), EventKind::Succeed, State::Succeeded);
    script.enqueue(900, ("digest", 1));
    let board = applied(&script.events);
    let names = |seconds| -> Vec<String> {
        let queues = summary(&board, at(seconds)).queues;
        queues.iter().map(|queue| queue.queue.to_string()).collect()
    };
    assert_eq!(names(899), ["digest", "once"]);
    assert_eq!(names(900), ["digest"]);
    assert_eq!(board.queues.len(), 2, "it is still needed for comparison");
    script.enqueue(1_900, ("digest", 2));
    assert_eq!(applied(&script.events).queues.len(), 1);
}

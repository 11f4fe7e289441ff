//! The board against a count of the rows and a filter over the events, for any run of legal events.

use std::collections::BTreeMap;
use std::time::Duration;

use proptest::prelude::*;

use super::summary::*;
use super::testing::{BEGIN, Run, Script, at, choices, many};
use super::*;
use crate::ledger::event::{EventKind, FailureKey};
use crate::ledger::feed::Base;
use crate::ledger::num;

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

/// A count by the naive way: all rows, all events, sorted and filtered.
struct Naive<'a> {
    run: &'a Run,
    now_s: i64,
    queue: Option<&'a SafeText>,
}

impl<'a> Naive<'a> {
    fn rows(&self, state: State) -> impl Iterator<Item = &'a testing::Row> {
        let queue = self.queue;
        self.run
            .rows()
            .filter(move |row| row.state == state && queue.is_none_or(|queue| row.queue == *queue))
    }

    fn depth(&self, state: State) -> u64 {
        many(self.rows(state))
    }

    /// The ages of jobs in a state, youngest first.
    fn ages(&self, state: State) -> Vec<i64> {
        let mut ages: Vec<i64> = self
            .rows(state)
            .map(|row| (self.now_s - row.since.second()).max(0))
            .collect();
        ages.sort_unstable();
        ages
    }

    fn oldest(&self, state: State) -> Option<Duration> {
        let ages = self.ages(state);
        ages.last()
            .map(|age| Duration::from_secs(num::unsigned(*age)))
    }

    /// Events in the `span_s` seconds that end with now, or with `ago_s` seconds before now.
    fn events(&self, span_s: i64, ago_s: i64) -> impl Iterator<Item = &'a Event> {
        let queue = self.queue;
        let last = self.now_s - ago_s;
        self.run.events.iter().filter(move |event| {
            let second = event.at.second();
            let in_span = second > last - span_s && (second <= last || ago_s == 0);
            in_span && queue.is_none_or(|queue| event.queue == *queue)
        })
    }

    fn kind(&self, kind: EventKind) -> u64 {
        many(self.events(900, 0).filter(|event| event.kind == kind))
    }

    fn arrivals(&self) -> u64 {
        let arrives =
            |event: &&Event| matches!(event.kind, EventKind::Enqueue | EventKind::Redrive);
        many(self.events(60, 0).filter(arrives))
    }

    fn ends(event: &Event) -> bool {
        let from = event.from.unwrap_or(event.to);
        let was = matches!(
            from,
            State::Pending | State::Ready | State::Running | State::RetryWait
        );
        let is = matches!(
            event.to,
            State::Succeeded | State::Dead | State::Quarantined
        );
        was && is
    }

    /// The exact times to terminal of the window, which begins with a minute of the clock.
    fn times(&self) -> Vec<u64> {
        let span = (self.now_s + 1) - (self.now_s - 899).div_euclid(60) * 60;
        let mut times: Vec<u64> = self
            .events(span, 0)
            .filter(|event| Self::ends(event))
            .filter_map(|event| Some(event.at.since(event.first_attempt_at?).as_millis()))
            .map(|millis| u64::try_from(millis).unwrap())
            .collect();
        times.sort_unstable();
        times
    }

    fn retries(&self) -> BTreeMap<FailureKey, (u64, u64, u64, Option<Duration>)> {
        let mut retries: BTreeMap<FailureKey, (u64, u64, u64, Option<Duration>)> = BTreeMap::new();
        let is_retry = |event: &&Event| event.kind == EventKind::Retry;
        for event in self.events(900, 0).filter(is_retry) {
            retries.entry(event.failure.clone()).or_default().0 += 1;
        }
        for event in self.events(900, 900).filter(is_retry) {
            retries.entry(event.failure.clone()).or_default().1 += 1;
        }
        for row in self.rows(State::RetryWait) {
            let entry = retries.entry(row.failure.clone()).or_default();
            entry.2 += 1;
            let due_s = num::unsigned(row.available_at.second() - self.now_s);
            let due = Duration::from_secs(due_s);
            entry.3 = Some(entry.3.map_or(due, |next| next.min(due)));
        }
        retries.retain(|_, (count, _, waiting, _)| *count > 0 || *waiting > 0);
        retries
    }

    /// Ready depth when all events before second `end_s` had happened.
    fn ready_before(&self, end_s: i64) -> u64 {
        let is =
            |event: &&Event, state| event.from != Some(event.to) && state == Some(State::Ready);
        let past = || self.events(i64::from(u32::MAX), self.now_s - end_s + 1);
        let came = many(past().filter(|event| is(event, Some(event.to))));
        let left = many(past().filter(|event| is(event, event.from)));
        came.saturating_sub(left)
    }
}

fn nearest_rank(sorted: &[u64], percent: usize) -> u64 {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    *sorted.get(rank - 1).unwrap()
}

fn check_depth_and_ages(said: &QueueSummary, naive: &Naive<'_>) -> Result<(), TestCaseError> {
    let depth = Depth {
        pending: naive.depth(State::Pending),
        ready: naive.depth(State::Ready),
        running: naive.depth(State::Running),
        retry_wait: naive.depth(State::RetryWait),
        dead: naive.depth(State::Dead),
        quarantined: naive.depth(State::Quarantined),
    };
    prop_assert_eq!(said.depth, depth);
    prop_assert_eq!(said.oldest_ready_age, naive.oldest(State::Ready));
    let ages: Vec<u64> = naive
        .ages(State::Ready)
        .into_iter()
        .map(num::unsigned)
        .collect();
    let percentiles = (!ages.is_empty()).then(|| {
        let [p50, p95, p99] =
            [50, 95, 99].map(|percent| Duration::from_secs(nearest_rank(&ages, percent)));
        Percentiles { p50, p95, p99 }
    });
    prop_assert_eq!(said.ready_age, percentiles);
    let mut spread = [0; SPREAD_BUCKETS];
    for age in &ages {
        let bucket = SPREAD_BOUNDS_S.iter().filter(|bound| age >= bound).count();
        *spread.get_mut(bucket).unwrap() += 1;
    }
    prop_assert_eq!(said.ready_spread, spread);
    let dead = &said.dead_letters;
    prop_assert_eq!(dead.oldest_dead_age, naive.oldest(State::Dead));
    prop_assert_eq!(
        dead.oldest_quarantined_age,
        naive.oldest(State::Quarantined)
    );
    prop_assert_eq!(
        dead.spread.iter().sum::<u64>(),
        depth.dead + depth.quarantined
    );
    let mut reasons: BTreeMap<FailureKey, u64> = BTreeMap::new();
    for row in naive
        .rows(State::Dead)
        .chain(naive.rows(State::Quarantined))
    {
        *reasons.entry(row.failure.clone()).or_default() += 1;
    }
    prop_assert_eq!(
        dead.by_reason.iter().cloned().collect::<BTreeMap<_, _>>(),
        reasons
    );
    Ok(())
}

fn check_leases(said: &LeaseSummary, naive: &Naive<'_>) -> Result<(), TestCaseError> {
    let ends: Vec<i64> = naive
        .rows(State::Running)
        .filter_map(|row| row.lease_expires_at.map(Timestamp::second))
        .collect();
    prop_assert_eq!(said.in_flight, many(ends.iter()));
    let expired = ends.iter().filter(|end| **end < naive.now_s);
    prop_assert_eq!(said.expired, many(expired));
    let near = naive.now_s..=naive.now_s + 10;
    prop_assert_eq!(
        said.near_expiry,
        many(ends.iter().filter(|end| near.contains(end)))
    );
    prop_assert_eq!(said.oldest_age, naive.oldest(State::Running));
    let mut workers: BTreeMap<SafeText, u64> = BTreeMap::new();
    for row in naive.rows(State::Running) {
        *workers.entry(row.worker.clone().unwrap()).or_default() += 1;
    }
    prop_assert_eq!(
        said.by_worker.iter().cloned().collect::<BTreeMap<_, _>>(),
        workers
    );
    Ok(())
}

fn check_windows(said: &QueueSummary, naive: &Naive<'_>) -> Result<(), TestCaseError> {
    let departures = many(naive.events(60, 0).filter(|event| Naive::ends(event)));
    let per_s = |count: u64| num::ratio(count) / 60.0;
    prop_assert!((said.in_per_s - per_s(naive.arrivals())).abs() < 1e-9);
    prop_assert!((said.out_per_s - per_s(departures)).abs() < 1e-9);
    let flow = said.flow;
    prop_assert_eq!(flow.lease_expirations, naive.kind(EventKind::LeaseExpire));
    prop_assert_eq!(flow.duplicates, naive.kind(EventKind::Duplicate));
    prop_assert_eq!(flow.stale_refused, naive.kind(EventKind::StaleRefused));
    let spent = |event: &&Event| Naive::ends(event) && event.to == State::Dead;
    prop_assert_eq!(flow.exhausted, many(naive.events(900, 0).filter(spent)));
    let retries: BTreeMap<_, _> = said
        .retries
        .iter()
        .map(|retry| {
            let numbers = (
                retry.count,
                retry.before.unwrap(),
                retry.waiting,
                retry.next_due_in,
            );
            (retry.failure.clone(), numbers)
        })
        .collect();
    prop_assert_eq!(retries, naive.retries());
    let times = naive.times();
    prop_assert_eq!(flow.time_to_terminal.is_none(), times.is_empty());
    if let Some(said) = flow.time_to_terminal {
        for (percent, said) in [(50, said.p50), (95, said.p95), (99, said.p99)] {
            let exact = num::ratio(nearest_rank(&times, percent));
            let error = (said.as_secs_f64() * 1_000.0 - exact).abs();
            prop_assert!(error <= exact * 0.01, "{said:?} for {exact} ms");
        }
    }
    Ok(())
}

fn check_growth_and_history(said: &QueueSummary, naive: &Naive<'_>) -> Result<(), TestCaseError> {
    let buried = |state: Option<State>| state.is_some_and(State::is_dead_letter);
    let mut net = 0.0;
    for event in naive.events(900, 0) {
        let after = f64::from(u8::from(buried(Some(event.to))));
        net += after - f64::from(u8::from(buried(event.from)));
    }
    prop_assert!((said.dead_letters.growth_per_h - net * 4.0).abs() < 1e-9);
    prop_assert_eq!(said.ready_history.len(), HISTORY_POINTS);
    let slot = naive.now_s.div_euclid(30);
    for (slot, point) in (slot - 29..=slot).zip(&said.ready_history) {
        let end = ((slot + 1) * 30).min(naive.now_s + 1);
        prop_assert_eq!(*point, Some(naive.ready_before(end)));
    }
    Ok(())
}

fn check(said: &QueueSummary, naive: &Naive<'_>) -> Result<(), TestCaseError> {
    check_depth_and_ages(said, naive)?;
    check_leases(&said.leases, naive)?;
    check_windows(said, naive)?;
    check_growth_and_history(said, naive)
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

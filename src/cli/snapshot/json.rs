//! The board as JSON. A change of this shape is a change for every program that reads it: keys are
//! added, never renamed; `docs/snapshot.md` says what each means, and a test holds the two
//! together.

use std::time::Duration;

use serde::Serialize;

use crate::board::summary::{
    Depth, Drain, Headline, Level, Percentiles, QueueSummary, RetrySummary, Summary,
};
use crate::ledger::error_class::ErrorClass;
use crate::ledger::event::FailureKey;
use crate::ledger::num;
use crate::ledger::text::SafeText;

/// The whole document.
#[derive(Debug, Serialize)]
pub struct Snapshot {
    as_of: String,
    exact: bool,
    window_s: u64,
    window_since: String,
    level: &'static str,
    headline: Vec<Sentence>,
    total: Numbers,
    queues: Vec<Numbers>,
}

#[derive(Debug, Serialize)]
struct Sentence {
    queue: SafeText,
    level: &'static str,
    text: String,
}

#[derive(Debug, Serialize)]
struct Numbers {
    queue: SafeText,
    level: &'static str,
    depth: States,
    oldest_ready_age_s: Option<u64>,
    ready_age_s: Ages,
    oldest_dead_letter_age_s: Option<u64>,
    oldest_dead_age_s: Option<u64>,
    oldest_quarantined_age_s: Option<u64>,
    leases: Leases,
    retries: Vec<Retry>,
    dead_letters: Vec<Failures>,
    dead_letters_per_h: f64,
    in_per_s: f64,
    out_per_s: f64,
    drain: &'static str,
    drain_s: Option<u64>,
    lease_expirations: u64,
    duplicates: u64,
    stale_refused: u64,
    exhausted: u64,
    time_to_terminal_s: Times,
}

#[derive(Debug, Serialize)]
struct States {
    pending: u64,
    ready: u64,
    running: u64,
    retry_wait: u64,
    dead: u64,
    quarantined: u64,
}

#[derive(Debug, Serialize)]
struct Ages {
    p50: Option<u64>,
    p95: Option<u64>,
    p99: Option<u64>,
}

#[derive(Debug, Serialize)]
struct Times {
    p50: Option<f64>,
    p95: Option<f64>,
    p99: Option<f64>,
}

#[derive(Debug, Serialize)]
struct Leases {
    in_flight: u64,
    near_expiry: u64,
    expired: u64,
    oldest_age_s: Option<u64>,
}

#[derive(Debug, Serialize)]
struct Retry {
    class: Option<ErrorClass>,
    reason: Option<SafeText>,
    count: u64,
    count_before: Option<u64>,
    waiting: u64,
    next_due_in_s: Option<u64>,
}

#[derive(Debug, Serialize)]
struct Failures {
    class: Option<ErrorClass>,
    reason: Option<SafeText>,
    count: u64,
}

impl Snapshot {
    /// The document of a board; with `only`, of this queue alone.
    pub fn of(summary: &Summary, only: Option<&SafeText>) -> Self {
        let wanted = |queue: &SafeText| only.is_none_or(|only| only == queue);
        let headline = summary.headline.iter();
        let queues = summary.queues.iter();
        Self {
            as_of: summary.as_of.rfc3339(),
            exact: summary.is_exact(),
            window_s: summary.window.as_secs(),
            window_since: summary.window_since.rfc3339(),
            level: level(summary.total.level),
            headline: headline
                .filter(|sentence| wanted(&sentence.queue))
                .map(Sentence::of)
                .collect(),
            total: Numbers::of(&summary.total),
            queues: queues
                .filter(|queue| wanted(&queue.queue))
                .map(Numbers::of)
                .collect(),
        }
    }
}

impl Sentence {
    fn of(headline: &Headline) -> Self {
        Self {
            queue: headline.queue.clone(),
            level: level(headline.level),
            text: headline.text.clone(),
        }
    }
}

impl Numbers {
    fn of(queue: &QueueSummary) -> Self {
        let (drain, drain_s) = drain(queue.drain);
        Self {
            queue: queue.queue.clone(),
            level: level(queue.level),
            depth: States::of(&queue.depth),
            oldest_ready_age_s: seconds(queue.oldest_ready_age),
            ready_age_s: Ages::of(queue.ready_age),
            oldest_dead_letter_age_s: seconds(queue.dead_letters.oldest_age()),
            oldest_dead_age_s: seconds(queue.dead_letters.oldest_dead_age),
            oldest_quarantined_age_s: seconds(queue.dead_letters.oldest_quarantined_age),
            leases: Leases {
                in_flight: queue.leases.in_flight,
                near_expiry: queue.leases.near_expiry,
                expired: queue.leases.expired,
                oldest_age_s: seconds(queue.leases.oldest_age),
            },
            retries: queue.retries.iter().map(Retry::of).collect(),
            dead_letters: queue
                .dead_letters
                .by_reason
                .iter()
                .map(Failures::of)
                .collect(),
            dead_letters_per_h: thousandths(queue.dead_letters.growth_per_h),
            in_per_s: thousandths(queue.in_per_s),
            out_per_s: thousandths(queue.out_per_s),
            drain,
            drain_s,
            lease_expirations: queue.flow.lease_expirations,
            duplicates: queue.flow.duplicates,
            stale_refused: queue.flow.stale_refused,
            exhausted: queue.flow.exhausted,
            time_to_terminal_s: Times::of(queue.flow.time_to_terminal),
        }
    }
}

impl States {
    fn of(depth: &Depth) -> Self {
        Self {
            pending: depth.pending,
            ready: depth.ready,
            running: depth.running,
            retry_wait: depth.retry_wait,
            dead: depth.dead,
            quarantined: depth.quarantined,
        }
    }
}

impl Ages {
    fn of(percentiles: Option<Percentiles>) -> Self {
        Self {
            p50: seconds(percentiles.map(|each| each.p50)),
            p95: seconds(percentiles.map(|each| each.p95)),
            p99: seconds(percentiles.map(|each| each.p99)),
        }
    }
}

impl Times {
    fn of(percentiles: Option<Percentiles>) -> Self {
        let time = |of: fn(Percentiles) -> Duration| {
            percentiles.map(|each| thousandths(of(each).as_secs_f64()))
        };
        Self {
            p50: time(|each| each.p50),
            p95: time(|each| each.p95),
            p99: time(|each| each.p99),
        }
    }
}

impl Retry {
    fn of(retry: &RetrySummary) -> Self {
        Self {
            class: retry.failure.class,
            reason: retry.failure.reason.clone(),
            count: retry.count,
            count_before: retry.before,
            waiting: retry.waiting,
            next_due_in_s: seconds(retry.next_due_in),
        }
    }
}

impl Failures {
    fn of((failure, count): &(FailureKey, u64)) -> Self {
        Self {
            class: failure.class,
            reason: failure.reason.clone(),
            count: *count,
        }
    }
}

fn level(level: Level) -> &'static str {
    match level {
        Level::Fine => "fine",
        Level::Warning => "warning",
        Level::Critical => "critical",
    }
}

fn drain(drain: Drain) -> (&'static str, Option<u64>) {
    match drain {
        Drain::Empty => ("empty", Some(0)),
        Drain::Never => ("never", None),
        Drain::In(time) => ("in", Some(time.as_secs())),
        Drain::Unknown => ("unknown", None),
    }
}

fn seconds(duration: Option<Duration>) -> Option<u64> {
    duration.map(|duration| duration.as_secs())
}

/// To three decimals: more would be noise.
fn thousandths(value: f64) -> f64 {
    let rounded = num::ratio(num::floor(value.abs().mul_add(1_000.0, 0.5))) / 1_000.0;
    if value < 0.0 { -rounded } else { rounded }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_decimals() {
        let said = [0.0, 0.000_4, 12.345_67, -2.500_4].map(thousandths);
        assert_eq!(
            said.map(|each| each.to_string()),
            ["0", "0", "12.346", "-2.5"]
        );
    }
}

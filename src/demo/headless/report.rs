//! The lines of the demo without a screen, from a board's summary. Pure but for writing them.

use std::io::{self, Write};
use std::time::Duration;

use crate::board::format::{coarse, count, latency, rate};
use crate::board::summary::{Drain, Level, Percentiles, QueueSummary, Summary};
use crate::demo::scenario::Lesson;
use crate::ledger::event::FailureKey;

/// The columns of the closing table.
const COLUMNS: &str = "queue        pending  ready  running  waiting  dead  quarantined  \
                       oldest  lease exp.  dups  stale  exhausted  time to terminal p50/p95/p99";

/// Says what is about to be seen.
pub(super) fn opening(out: &mut dyn Write, seed: u64) -> io::Result<()> {
    writeln!(
        out,
        "ledgertop demo, seed {seed}: real jobs and workers, simulated dependencies"
    )
}

/// Something in the script began or ended.
pub(super) fn news(out: &mut dyn Write, now: Duration, sentence: &str) -> io::Result<()> {
    writeln!(out, "{}  >> {sentence}", clock(now))
}

/// How the ledger stands.
pub(super) fn progress(out: &mut dyn Write, now: Duration, summary: &Summary) -> io::Result<()> {
    let total = &summary.total;
    let depth = total.depth;
    write!(
        out,
        "{}  ready {:>5}  running {:>3}  waiting {:>4}  dead letters {:>3}  in {:>5}/s  \
         out {:>5}/s  {}",
        clock(now),
        count(depth.ready),
        depth.running,
        count(depth.retry_wait),
        count(depth.dead + depth.quarantined),
        rate(total.in_per_s),
        rate(total.out_per_s),
        drain(total.drain),
    )?;
    for headline in summary.headline.iter().take(1) {
        let word = word(headline.level);
        write!(out, "  [{word}] {}: {}", headline.queue, headline.text)?;
    }
    writeln!(out)
}

/// The whole board at the end, queue by queue, and what there is to practise on.
pub(super) fn closing(
    out: &mut dyn Write,
    summary: &Summary,
    lessons: &[Lesson],
) -> io::Result<()> {
    let exact = if summary.is_exact() {
        "exact"
    } else {
        "since the beginning"
    };
    writeln!(
        out,
        "\nthe board as of {}, window {} ({exact})",
        summary.as_of,
        coarse(summary.window)
    )?;
    if summary.headline.is_empty() {
        writeln!(out, "within its limits")?;
    }
    for headline in &summary.headline {
        let word = word(headline.level);
        writeln!(out, "[{word}] {}: {}", headline.queue, headline.text)?;
    }
    writeln!(out, "\n{COLUMNS}")?;
    for queue in summary.queues.iter().chain([&summary.total]) {
        row(out, queue)?;
    }
    writeln!(out)?;
    for queue in &summary.queues {
        reasons(out, queue)?;
    }
    practise(out, summary, lessons)
}

/// The dead letters that the script left behind on purpose, as far as they are there.
fn practise(out: &mut dyn Write, summary: &Summary, lessons: &[Lesson]) -> io::Result<()> {
    let there = lessons.iter().filter_map(|lesson| {
        let number = dead_letters(summary, lesson);
        (number > 0).then_some((lesson, number))
    });
    for (position, (lesson, number)) in there.enumerate() {
        if position == 0 {
            writeln!(out, "\ndead letters to practise on")?;
        }
        let Lesson {
            queue,
            reason,
            text,
        } = lesson;
        writeln!(out, "{:>5}  {queue} {reason}: {text}", count(number))?;
    }
    Ok(())
}

fn dead_letters(summary: &Summary, lesson: &Lesson) -> u64 {
    let queues = summary.queues.iter();
    queues
        .filter(|queue| queue.queue.as_str() == lesson.queue)
        .flat_map(|queue| &queue.dead_letters.by_reason)
        .filter(|(key, _)| {
            let reason = key.reason.as_ref();
            reason.is_some_and(|reason| reason.as_str() == lesson.reason)
        })
        .map(|(_, number)| *number)
        .sum()
}

fn row(out: &mut dyn Write, queue: &QueueSummary) -> io::Result<()> {
    let name = if queue.queue.as_str().is_empty() {
        "all"
    } else {
        queue.queue.as_str()
    };
    let (depth, flow) = (queue.depth, queue.flow);
    writeln!(
        out,
        "{name:<12} {:>7}  {:>5}  {:>7}  {:>7}  {:>4}  {:>11}  {:>6}  {:>10}  {:>4}  {:>5}  \
         {:>9}  {}",
        depth.pending,
        depth.ready,
        depth.running,
        depth.retry_wait,
        depth.dead,
        depth.quarantined,
        queue
            .oldest_ready_age
            .map_or_else(|| "-".to_owned(), coarse),
        flow.lease_expirations,
        flow.duplicates,
        flow.stale_refused,
        flow.exhausted,
        flow.time_to_terminal
            .map_or_else(|| "-".to_owned(), percentiles),
    )
}

fn reasons(out: &mut dyn Write, queue: &QueueSummary) -> io::Result<()> {
    let retries = queue
        .retries
        .iter()
        .map(|retry| format!("{} {}", count(retry.count), failure(&retry.failure)));
    let retries: Vec<String> = retries.collect();
    if !retries.is_empty() {
        writeln!(out, "{} retried: {}", queue.queue, retries.join(", "))?;
    }
    let dead = &queue.dead_letters.by_reason;
    let dead = dead
        .iter()
        .map(|(key, number)| format!("{} {}", count(*number), failure(key)));
    let dead: Vec<String> = dead.collect();
    if !dead.is_empty() {
        writeln!(out, "{} dead letters: {}", queue.queue, dead.join(", "))?;
    }
    Ok(())
}

fn failure(key: &FailureKey) -> String {
    let reason = key.reason.as_ref().map_or("-", |reason| reason.as_str());
    let class = key.class.map_or("-", |class| class.name());
    format!("{reason} ({class})")
}

fn percentiles(times: Percentiles) -> String {
    format!(
        "{}/{}/{}",
        latency(times.p50),
        latency(times.p95),
        latency(times.p99)
    )
}

const fn word(level: Level) -> &'static str {
    match level {
        Level::Fine => "fine",
        Level::Warning => "warning",
        Level::Critical => "critical",
    }
}

fn drain(drain: Drain) -> String {
    match drain {
        Drain::Empty => "keeps up".to_owned(),
        Drain::Never => "drains never".to_owned(),
        Drain::In(time) => format!("drains in {}", coarse(time)),
        Drain::Unknown => String::new(),
    }
}

/// Minutes and seconds since the beginning.
fn clock(now: Duration) -> String {
    let seconds = now.as_secs();
    format!("{:>2}:{:02}", seconds / 60, seconds % 60)
}

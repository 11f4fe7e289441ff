//! The board as a table for a person, 80 columns wide.

use std::io::{self, Write};
use std::time::Duration;

use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

use crate::board::format;
use crate::board::summary::{Drain, Level, QueueSummary, Summary};
use crate::ledger::event::FailureKey;
use crate::ledger::num;
use crate::ledger::text::SafeText;

/// How wide the table is.
const WIDTH: usize = 80;

/// How many lines of reasons are listed; the JSON has them all.
const REASONS_MAX: usize = 10;

/// What stands where there is nothing to say.
const NOTHING: &str = "–";

/// A column: its title, its width, and on which side its text stands.
struct Column {
    title: &'static str,
    width: usize,
    side: Side,
}

enum Side {
    Left,
    Right,
}

const fn left(title: &'static str, width: usize) -> Column {
    let side = Side::Left;
    Column { title, width, side }
}

const fn right(title: &'static str, width: usize) -> Column {
    let side = Side::Right;
    Column { title, width, side }
}

/// The queues' columns; with a blank between each they fill the width.
const COLUMNS: [Column; 10] = [
    left("oldest", 8),
    left("queue", 15),
    right("ready", 7),
    right("running", 7),
    right("retry", 6),
    right("dead", 6),
    right("quar", 6),
    right("in/s", 5),
    right("out/s", 5),
    right("drains", 6),
];

/// Writes the board; with `only`, this queue alone.
///
/// # Errors
/// Where it cannot be written.
pub fn write(
    summary: &Summary,
    ledger: Option<&SafeText>,
    only: Option<&SafeText>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let wanted = |queue: &SafeText| only.is_none_or(|only| only == queue);
    let queues: Vec<&QueueSummary> = summary
        .queues
        .iter()
        .filter(|queue| wanted(&queue.queue))
        .collect();
    title(summary, ledger, out)?;
    headline(summary, &wanted, out)?;
    writeln!(out)?;
    row(&COLUMNS.map(|column| column.title.to_owned()), out)?;
    for queue in &queues {
        row(&cells(queue, queue.queue.as_str()), out)?;
    }
    if queues.is_empty() {
        writeln!(
            out,
            "no live jobs, and no events in the last {}",
            window(summary)
        )?;
    }
    let below = match (only, queues.as_slice()) {
        (None, _) => {
            if queues.len() > 1 {
                row(&cells(&summary.total, "all"), out)?;
            }
            &summary.total
        }
        (Some(_), [queue, ..]) => queue,
        (Some(_), []) => return Ok(()),
    };
    writeln!(out)?;
    details(summary, below, out)
}

fn window(summary: &Summary) -> String {
    format::exact(summary.window)
}

fn title(summary: &Summary, ledger: Option<&SafeText>, out: &mut dyn Write) -> io::Result<()> {
    let ledger = ledger.map_or("", SafeText::as_str);
    let exact = if summary.is_exact() {
        "exact".to_owned()
    } else {
        // Depths and ages are exact always; counts of the window are "at least".
        let known = summary.as_of.since(summary.window_since);
        format!(
            "counts ≥, {} of {} known",
            format::exact(known),
            window(summary)
        )
    };
    writeln!(out, "{ledger}  as of {}  {exact}", summary.as_of)
}

fn headline(
    summary: &Summary,
    wanted: &dyn Fn(&SafeText) -> bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut said = false;
    for sentence in summary.headline.iter().filter(|each| wanted(&each.queue)) {
        said = true;
        let (mark, queue) = (mark(sentence.level), &sentence.queue);
        let colon = if queue.as_str().is_empty() { "" } else { ": " };
        wrapped(&format!("{mark} {queue}{colon}{}", sentence.text), out)?;
    }
    if !said {
        writeln!(out, "everything is within its limits")?;
    }
    Ok(())
}

/// A text on as many lines as it needs; those behind the first are indented.
fn wrapped(text: &str, out: &mut dyn Write) -> io::Result<()> {
    let mut line = String::new();
    for word in text.split(' ') {
        if !line.trim().is_empty() && line.width() + 1 + word.width() > WIDTH {
            writeln!(out, "{line}")?;
            " ".clone_into(&mut line);
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    writeln!(out, "{line}")
}

const fn mark(level: Level) -> &'static str {
    match level {
        Level::Fine => "·",
        Level::Warning => "△",
        Level::Critical => "▲",
    }
}

fn cells(queue: &QueueSummary, name: &str) -> [String; COLUMNS.len()] {
    let mark = match queue.level {
        Level::Fine => String::new(),
        Level::Warning | Level::Critical => format!(" {}", mark(queue.level)),
    };
    let depth = queue.depth;
    [
        format!("{}{mark}", age(queue.oldest_ready_age)),
        name.to_owned(),
        short(depth.ready),
        short(depth.running),
        short(depth.retry_wait),
        short(depth.dead),
        short(depth.quarantined),
        rate(queue.in_per_s),
        rate(queue.out_per_s),
        match queue.drain {
            Drain::Empty => NOTHING.to_owned(),
            Drain::Never => "never".to_owned(),
            Drain::In(time) => format::coarse(time),
            Drain::Unknown => "?".to_owned(),
        },
    ]
}

fn row(cells: &[String; COLUMNS.len()], out: &mut dyn Write) -> io::Result<()> {
    let mut line = String::new();
    for (column, text) in COLUMNS.iter().zip(cells) {
        if !line.is_empty() {
            line.push(' ');
        }
        let text = cut(text, column.width);
        let blanks = " ".repeat(column.width.saturating_sub(text.width()));
        match column.side {
            Side::Left => line.extend([text.as_str(), &blanks]),
            Side::Right => line.extend([blanks.as_str(), &text]),
        }
    }
    writeln!(out, "{}", line.trim_end())
}

/// The text in at most `width` columns, never through the middle of a character.
pub(in crate::cli) fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut kept = String::new();
    for each in text.graphemes(true) {
        if kept.width() + each.width() + 1 > width {
            break;
        }
        kept.push_str(each);
    }
    kept.push('…');
    kept
}

/// A count in at most six columns: `99,999`, `123k`, `1.2M`.
fn short(count: u64) -> String {
    match count {
        0..100_000 => format::count(count),
        100_000..1_000_000 => format!("{}k", count / 1_000),
        1_000_000..100_000_000 => {
            format!("{}.{}M", count / 1_000_000, count % 1_000_000 / 100_000)
        }
        _ => format!("{}M", format::count(count / 1_000_000)),
    }
}

/// A rate in at most five columns: `0.4`, `1,234`, `37k`.
fn rate(per_s: f64) -> String {
    if per_s < 9_999.5 {
        return format::rate(per_s);
    }
    format!("{}k", num::floor(per_s / 1_000.0))
}

fn age(age: Option<Duration>) -> String {
    age.map_or_else(|| NOTHING.to_owned(), format::coarse)
}

fn details(summary: &Summary, queue: &QueueSummary, out: &mut dyn Write) -> io::Result<()> {
    let leases = &queue.leases;
    writeln!(
        out,
        "leases        in flight {}, near expiry {}, expired {}, oldest {}",
        format::count(leases.in_flight),
        format::count(leases.near_expiry),
        format::count(leases.expired),
        age(leases.oldest_age),
    )?;
    let letters = &queue.dead_letters;
    writeln!(
        out,
        "dead letters  oldest dead {}, oldest quarantined {}, growth {}/h",
        age(letters.oldest_dead_age),
        age(letters.oldest_quarantined_age),
        growth(letters.growth_per_h),
    )?;
    for (failure, count) in letters.by_reason.iter().take(REASONS_MAX) {
        writeln!(
            out,
            "              {:>8}  {}",
            format::count(*count),
            named(failure)
        )?;
    }
    more(letters.by_reason.len(), out)?;
    let flow = &queue.flow;
    writeln!(
        out,
        "flow          lease expirations {}, duplicates {}, stale refused {}, exhausted {}",
        format::count(flow.lease_expirations),
        format::count(flow.duplicates),
        format::count(flow.stale_refused),
        format::count(flow.exhausted),
    )?;
    if let Some(times) = flow.time_to_terminal {
        writeln!(
            out,
            "              first attempt to terminal: p50 {}, p95 {}, p99 {}",
            format::latency(times.p50),
            format::latency(times.p95),
            format::latency(times.p99),
        )?;
    }
    let none = if queue.retries.is_empty() {
        "none "
    } else {
        ""
    };
    writeln!(out, "retries       {none}in the last {}", window(summary))?;
    for retry in queue.retries.iter().take(REASONS_MAX) {
        let due = retry.next_due_in.map_or_else(String::new, |due| {
            format!(", next in {}", format::coarse(due))
        });
        writeln!(
            out,
            "              {:>8}  {}, {} waiting{due}",
            format::count(retry.count),
            named(&retry.failure),
            format::count(retry.waiting),
        )?;
    }
    more(queue.retries.len(), out)
}

fn more(all: usize, out: &mut dyn Write) -> io::Result<()> {
    match all.checked_sub(REASONS_MAX) {
        Some(left @ 1..) => writeln!(out, "              and {left} more, see --json"),
        Some(0) | None => Ok(()),
    }
}

fn named(failure: &FailureKey) -> String {
    let class = failure.class.map_or("no failure", |class| class.name());
    let reason = failure.reason.as_ref().map_or("", SafeText::as_str);
    format!("{class} {reason}").trim_end().to_owned()
}

fn growth(per_h: f64) -> String {
    let sign = if per_h < 0.0 { "−" } else { "+" };
    format!("{sign}{}", format::count(num::floor(per_h.abs() + 0.5)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_as_wide_as_a_small_terminal() {
        let wide: usize = COLUMNS.iter().map(|column| column.width).sum();
        assert_eq!(wide + COLUMNS.len() - 1, WIDTH);
    }

    #[test]
    fn a_name_is_cut_between_its_characters() {
        assert_eq!(cut("thumbnails", 16), "thumbnails");
        assert_eq!(cut("図書館図書館図書館", 6), "図書…");
        assert_eq!(cut("👩‍👩‍👧‍👦👩‍👩‍👧‍👦👩‍👩‍👧‍👦", 4), "👩‍👩‍👧‍👦…");
    }

    #[test]
    fn a_count_fits_its_column() {
        let said = [0, 99_999, 123_456, 1_250_000, 99_999_999, 123_456_789].map(short);
        assert_eq!(said, ["0", "99,999", "123k", "1.2M", "99.9M", "123M"]);
        assert_eq!([0.4, 9_999.0, 37_412.0].map(rate), ["0.4", "9,999", "37k"]);
    }

    #[test]
    fn a_long_sentence_is_wrapped() {
        let mut out = Vec::new();
        let text = "word ".repeat(40);
        assert!(wrapped(text.trim(), &mut out).is_ok());
        let said = String::from_utf8_lossy(&out).into_owned();
        assert!(said.lines().all(|line| line.width() <= WIDTH), "{said}");
        assert_eq!(said.lines().count(), 3);
    }
}

//! `ledgertop snapshot`: the whole board, once, for a person or for a program.
//!
//! It reads through a connection that cannot write. The shape of the JSON is in [`json`] and is
//! documented in `docs/snapshot.md`; the table is in [`text`].

use std::io::{self, Write};
use std::time::Duration;

use clap::Args;
use tokio::time::sleep;

use super::{CliError, Streams, open};
use crate::board::summary::Summary;
use crate::board::{Board, Judge, format};
use crate::config::Config;
use crate::config::error::hint;
use crate::ledger::text::SafeText;
use crate::ledger::time::Timestamp;
use crate::store::Feed;

pub mod json;
pub mod text;

/// The shortest stretch that rates are told from. A base reads only so many events of the past;
/// where more than that happened within less time, the snapshot looks on for this long.
const KNOWN_MIN: Duration = Duration::from_secs(2);

/// Flags of `snapshot`.
#[derive(Debug, Args)]
pub struct SnapshotFlags {
    /// Print JSON, see docs/snapshot.md
    #[arg(long)]
    json: bool,
    /// Only this queue
    #[arg(long, value_name = "NAME")]
    queue: Option<String>,
}

/// Runs `snapshot`.
///
/// # Errors
/// Where the ledger cannot be read, or the output not be written.
pub(super) async fn run(
    flags: &SnapshotFlags,
    config: &Config,
    streams: &mut Streams<'_>,
) -> Result<(), CliError> {
    let mut feed = open::feed(config)?;
    let base = feed.base().await?;
    let mut board = Board::load(&base);
    let mut as_of = base.as_of;
    if as_of.since(base.recent_since) < KNOWN_MIN {
        sleep(KNOWN_MIN).await;
        as_of = read_on(&mut *feed, &mut board).await?;
    }
    let mut judge = Judge::new(config.limits.clone());
    let summary = board.summary(as_of, &mut judge);
    let queue = flags.queue.as_deref().map(SafeText::new);
    let written = write(flags, config, &summary, queue.as_ref(), streams.out);
    written.map_err(CliError::Output)?;
    if let Some(queue) = queue {
        note_absence(&summary, &queue, streams.messages).map_err(CliError::Output)?;
    }
    Ok(())
}

/// Applies what was committed since the last reading, and tells until when.
async fn read_on(feed: &mut dyn Feed, board: &mut Board) -> Result<Timestamp, CliError> {
    loop {
        let batch = feed.next().await?;
        for event in &batch.events {
            board.apply(event);
        }
        if !batch.more {
            return Ok(batch.as_of);
        }
    }
}

fn write(
    flags: &SnapshotFlags,
    config: &Config,
    summary: &Summary,
    queue: Option<&SafeText>,
    out: &mut dyn Write,
) -> io::Result<()> {
    if flags.json {
        serde_json::to_writer_pretty(&mut *out, &json::Snapshot::of(summary, queue))?;
        return writeln!(out);
    }
    let ledger = config.ledger.as_ref().map(|ledger| &ledger.value.name);
    text::write(summary, ledger, queue, out)
}

/// A queue that is idle and a queue that was mistyped look alike on a board, so say that it is not
/// there. It is no error: an idle queue is fine.
fn note_absence(summary: &Summary, queue: &SafeText, out: &mut dyn Write) -> io::Result<()> {
    if summary.queues.iter().any(|each| each.queue == *queue) {
        return Ok(());
    }
    let known: Vec<&str> = summary
        .queues
        .iter()
        .map(|each| each.queue.as_str())
        .collect();
    let window = format::exact(summary.window);
    let hint = hint(queue.as_str(), &known);
    writeln!(
        out,
        "ledgertop: queue '{queue}' has no live jobs, and no events in the last {window}{hint}"
    )
}

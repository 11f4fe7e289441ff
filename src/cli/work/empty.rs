//! `work --until-empty`: notices that the queues hold nothing more to do, by the ledger's own
//! events.

use std::time::Duration;

use crate::board::Board;
use crate::ledger::state::State;
use crate::store::{Feed, StoreError};

/// How often it looks.
const GLANCE: Duration = Duration::from_millis(500);

/// Returns when no job of `queues` is ready, running or waiting (for a retry, for its first moment
/// or for children). A ledger that cannot be read is asked again.
pub(super) async fn until_empty(mut feed: Box<dyn Feed>, queues: &[String]) {
    let mut board = None;
    loop {
        match read(feed.as_mut(), &mut board).await {
            Ok(board) if live(board, queues) == 0 => return,
            Ok(_) => {}
            Err(error) => tracing::warn!(%error, "cannot see whether the queues are empty"),
        }
        tokio::time::sleep(GLANCE).await;
    }
}

/// Brings the board up to date.
async fn read<'b>(
    feed: &mut dyn Feed,
    board: &'b mut Option<Board>,
) -> Result<&'b Board, StoreError> {
    let Some(known) = board else {
        let base = feed.base().await?;
        return Ok(board.insert(Board::load(&base)));
    };
    loop {
        let batch = feed.next().await?;
        for event in &batch.events {
            known.apply(event);
        }
        if !batch.more {
            return Ok(known);
        }
    }
}

/// How many jobs of the queues there is something to do for.
fn live(board: &Board, queues: &[String]) -> u64 {
    let cells = board.cells();
    let mine = cells.iter().filter(|cell| {
        let live = match cell.state {
            State::Pending | State::Ready | State::Running | State::RetryWait => true,
            State::Succeeded | State::Dead | State::Quarantined | State::Discarded => false,
        };
        live && queues.iter().any(|queue| queue == cell.queue.as_str())
    });
    mine.map(|cell| cell.count).sum()
}

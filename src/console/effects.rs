//! The only place that holds ways to a ledger: reads its feed again and again, and tells the
//! screen; [`look`] beside it answers questions.
//!
//! Every call has a deadline. After a failure the connection is dropped, opened anew after a wait
//! with full jitter, and the ledger is counted again. The screen never waits for any of it. Next on
//! the walk of a row to a cell: [`super::msg`].

use std::future::Future;
use std::time::{Duration, Instant};

use rand::SeedableRng as _;
use rand_chacha::ChaCha8Rng;
use tokio::sync::watch;

use crate::board::Board;
use crate::ledger::backoff::full_jitter;
use crate::store::{Feed, StoreError};

use super::OpenFeed;
use super::msg::{Ended, Msg, Outbox};

pub mod look;
pub mod operate;

/// How long each call may take.
#[derive(Debug, Clone, Copy)]
pub struct Deadlines {
    /// Connecting.
    pub open: Duration,
    /// Counting everything; the store bounds the statement itself more tightly.
    pub base: Duration,
    /// One reading of events.
    pub next: Duration,
}

impl Default for Deadlines {
    fn default() -> Self {
        Self {
            open: Duration::from_secs(5),
            base: Duration::from_secs(60),
            next: Duration::from_secs(5),
        }
    }
}

/// Waits between attempts: full jitter in `[0, min(cap, base · 2^(n−1))]`, on top of the least. The
/// cap keeps the time from the ledger's return to LIVE within five seconds.
const RETRY_BASE: Duration = Duration::from_millis(500);
const RETRY_CAP: Duration = Duration::from_secs(4);
const RETRY_LEAST: Duration = Duration::from_millis(250);

/// What the screen wants of the reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wish {
    /// How often to read.
    pub refresh: Duration,
    /// Raised by one to have everything counted again.
    pub recounts: u64,
}

/// Why reading in a session ended.
enum Stop {
    /// The screen is gone.
    Ended,
    /// Everything is to be counted again.
    Recount,
    /// A call failed.
    Failed(StoreError),
}

impl From<StoreError> for Stop {
    fn from(error: StoreError) -> Self {
        Self::Failed(error)
    }
}

impl From<Ended> for Stop {
    fn from(Ended: Ended) -> Self {
        Self::Ended
    }
}

/// Reads a ledger for a screen.
pub struct Reader {
    /// Opens the ledger.
    pub open: Box<dyn OpenFeed>,
    /// Where readings go.
    pub outbox: Outbox,
    /// What the screen wants.
    pub wish: watch::Receiver<Wish>,
    /// How long each call may take.
    pub deadlines: Deadlines,
    /// Seeds the jitter.
    pub seed: u64,
}

impl Reader {
    /// Reads until the screen is gone.
    pub async fn run(mut self) {
        let mut random = ChaCha8Rng::seed_from_u64(self.seed);
        let mut attempt = 0_u32;
        loop {
            attempt = attempt.saturating_add(1);
            let error = match self.session(&mut attempt).await {
                Stop::Ended => return,
                Stop::Recount => continue,
                Stop::Failed(error) => error.briefly(),
            };
            let jitter = full_jitter(RETRY_BASE, RETRY_CAP, attempt.max(1), &mut random);
            let retry_in = RETRY_LEAST + jitter;
            tracing::warn!(%error, attempt, ?retry_in, "reading the ledger failed");
            if self.tell(Msg::Failed { error, retry_in }).await.is_err() {
                return;
            }
            tokio::time::sleep(retry_in).await;
        }
    }

    async fn tell(&self, msg: Msg) -> Result<(), Ended> {
        self.outbox.send_async(Instant::now(), msg).await
    }

    /// Opens, counts, then reads what changed, until something ends it.
    async fn session(&mut self, attempt: &mut u32) -> Stop {
        match self.connected(attempt).await {
            Ok(never) => match never {},
            Err(stop) => stop,
        }
    }

    async fn connected(&mut self, attempt: &mut u32) -> Result<Never, Stop> {
        self.tell(Msg::Opening { attempt: *attempt }).await?;
        let recounts = self.wish.borrow_and_update().recounts;
        let limit = self.deadlines;
        let mut feed = within(limit.open, "opening the ledger", self.open.open()).await?;
        let base = within(limit.base, "counting the jobs", feed.base()).await?;
        let read_at = Instant::now();
        let as_of = base.as_of;
        // Folding a large base takes a while: not on a thread that others wait for.
        let folded = tokio::task::spawn_blocking(move || Box::new(Board::load(&base))).await;
        let Ok(board) = folded else {
            // It panicked; the hook has given the terminal back and said so.
            self.tell(Msg::Panicked).await?;
            return Err(Stop::Ended);
        };
        let loaded = Msg::Loaded { as_of, board };
        self.outbox.send_async(read_at, loaded).await?;
        *attempt = 0;
        self.tail(feed.as_mut(), recounts).await
    }

    /// Reads what changed, every refresh interval.
    async fn tail(&mut self, feed: &mut dyn Feed, recounts: u64) -> Result<Never, Stop> {
        let mut last = tokio::time::Instant::now();
        loop {
            self.wait(last, recounts).await?;
            last = tokio::time::Instant::now();
            loop {
                let batch = within(self.deadlines.next, "reading the events", feed.next()).await?;
                let more = batch.more;
                self.tell(Msg::Events(batch)).await?;
                if !more {
                    break;
                }
            }
        }
    }

    /// Waits until the next reading is due, which a new wish may change.
    async fn wait(&mut self, last: tokio::time::Instant, recounts: u64) -> Result<(), Stop> {
        loop {
            let wanted = *self.wish.borrow_and_update();
            if wanted.recounts != recounts {
                return Err(Stop::Recount);
            }
            tokio::select! {
                () = tokio::time::sleep_until(last + wanted.refresh) => return Ok(()),
                changed = self.wish.changed() => changed.map_err(|_closed| Stop::Ended)?,
            }
        }
    }
}

/// A connected session has no end but a [`Stop`].
enum Never {}

async fn within<T>(
    limit: Duration,
    operation: &'static str,
    call: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    match tokio::time::timeout(limit, call).await {
        Ok(result) => result,
        Err(_elapsed) => Err(StoreError::Timeout {
            operation,
            limit_ms: u64::try_from(limit.as_millis()).unwrap_or(u64::MAX),
        }),
    }
}

#[cfg(test)]
mod tests;

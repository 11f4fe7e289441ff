//! The only file that holds a feed: reads the ledger again and again, and tells the screen.
//!
//! Every call has a deadline. After a failure the connection is dropped, opened anew after a wait with full
//! jitter, and the ledger is counted again. The screen never waits for any of it. Next on the walk of a
//! row to a cell: [`super::msg`].

use std::future::Future;
use std::time::{Duration, Instant};

use rand::SeedableRng as _;
use rand_chacha::ChaCha8Rng;
use tokio::sync::watch;

use crate::board::Board;
use crate::ledger::backoff::full_jitter;
use crate::ledger::text::SafeText;
use crate::store::{Feed, StoreError};

use super::OpenFeed;
use super::msg::{Ended, Msg, Outbox};

/// How long connecting may take.
const OPEN_LIMIT: Duration = Duration::from_secs(5);
/// How long counting everything may take; the store bounds the statement itself more tightly.
const BASE_LIMIT: Duration = Duration::from_secs(60);
/// How long one reading of events may take.
const NEXT_LIMIT: Duration = Duration::from_secs(5);
/// Waits between attempts: full jitter in `[0, min(cap, base · 2^(n−1))]`, on top of the least. The cap
/// keeps the time from the ledger's return to LIVE within five seconds.
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

/// Reads until the screen is gone.
pub async fn read(
    open: Box<dyn OpenFeed>,
    outbox: Outbox,
    mut wish: watch::Receiver<Wish>,
    seed: u64,
) {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut attempt = 0_u32;
    loop {
        attempt = attempt.saturating_add(1);
        let stop = session(open.as_ref(), &outbox, &mut wish, &mut attempt).await;
        let error = match stop {
            Stop::Ended => return,
            Stop::Recount => continue,
            Stop::Failed(error) => error,
        };
        let retry_in =
            RETRY_LEAST + full_jitter(RETRY_BASE, RETRY_CAP, attempt.max(1), &mut random);
        let error = SafeText::from(error.to_string());
        tracing::warn!(%error, attempt, ?retry_in, "reading the ledger failed");
        let failed = Msg::Failed { error, retry_in };
        if outbox.send_async(Instant::now(), failed).await.is_err() {
            return;
        }
        tokio::time::sleep(retry_in).await;
    }
}

/// Opens, counts, then reads what changed, until something ends it.
async fn session(
    open: &dyn OpenFeed,
    outbox: &Outbox,
    wish: &mut watch::Receiver<Wish>,
    attempt: &mut u32,
) -> Stop {
    match connected(open, outbox, wish, attempt).await {
        Ok(never) => match never {},
        Err(stop) => stop,
    }
}

/// A connected session has no end but a [`Stop`].
enum Never {}

async fn connected(
    open: &dyn OpenFeed,
    outbox: &Outbox,
    wish: &mut watch::Receiver<Wish>,
    attempt: &mut u32,
) -> Result<Never, Stop> {
    let opening = Msg::Opening { attempt: *attempt };
    outbox.send_async(Instant::now(), opening).await?;
    let recounts = wish.borrow_and_update().recounts;
    let mut feed = within(OPEN_LIMIT, "opening the ledger", open.open()).await?;
    let base = within(BASE_LIMIT, "counting the jobs", feed.base()).await?;
    let read_at = Instant::now();
    let as_of = base.as_of;
    // Folding a large base takes a while: not on a thread that others wait for.
    let folded = tokio::task::spawn_blocking(move || Box::new(Board::load(&base))).await;
    let Ok(board) = folded else {
        // It panicked; the hook has given the terminal back and said so.
        outbox.send_async(Instant::now(), Msg::Panicked).await?;
        return Err(Stop::Ended);
    };
    outbox
        .send_async(read_at, Msg::Loaded { as_of, board })
        .await?;
    *attempt = 0;
    tail(feed.as_mut(), outbox, wish, recounts).await
}

/// Reads what changed, every refresh interval.
async fn tail(
    feed: &mut dyn Feed,
    outbox: &Outbox,
    wish: &mut watch::Receiver<Wish>,
    recounts: u64,
) -> Result<Never, Stop> {
    let mut last = tokio::time::Instant::now();
    loop {
        loop {
            let wanted = *wish.borrow_and_update();
            if wanted.recounts != recounts {
                return Err(Stop::Recount);
            }
            tokio::select! {
                () = tokio::time::sleep_until(last + wanted.refresh) => break,
                changed = wish.changed() => changed.map_err(|_closed| Stop::Ended)?,
            }
        }
        last = tokio::time::Instant::now();
        loop {
            let batch = within(NEXT_LIMIT, "reading the events", feed.next()).await?;
            let more = batch.more;
            outbox
                .send_async(Instant::now(), Msg::Events(batch))
                .await?;
            if !more {
                break;
            }
        }
    }
}

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

//! The demo without a screen: a line every five seconds, what the script says meanwhile, and a
//! closing summary. Every number comes from the ledger's own events through the feed and the board,
//! none from a counter of the demo's.

use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use super::scenario::Lesson;
use super::{Demo, DemoError, DemoOptions, LedgerUse, limits};
use crate::board::{Board, Judge};
use crate::store::{Feed, Store, StoreError};

mod report;

/// How often the feed is read.
const READ_EVERY: Duration = Duration::from_secs(1);
/// How often a line is written, in seconds.
const LINE_EVERY_S: u64 = 5;

/// How long a demo without a screen runs, and what for.
#[derive(Debug, Clone)]
pub struct HeadlessOptions {
    /// What everything is drawn from.
    pub seed: u64,
    /// Whose ledger it runs on.
    pub ledger: LedgerUse,
    /// How long; until `stop` where nothing is said.
    pub lasts: Option<Duration>,
    /// Ends it early, in good order.
    pub stop: CancellationToken,
}

/// Why a demo without a screen ended early.
#[derive(Debug, thiserror::Error)]
pub enum HeadlessError {
    /// It could not begin.
    #[error(transparent)]
    Demo(#[from] DemoError),
    /// The ledger's events could not be read.
    #[error("the demo's ledger could not be read")]
    Feed(#[from] StoreError),
    /// Its lines could not be written.
    #[error("the demo's lines could not be written")]
    Write(#[from] io::Error),
}

/// Runs the demo on the ledger of `store` and `feed`, and writes what happens to `out`.
///
/// # Errors
/// Where the demo cannot begin, the ledger cannot be read, or `out` cannot be written.
pub async fn run_headless(
    store: Arc<dyn Store>,
    mut feed: Box<dyn Feed>,
    options: HeadlessOptions,
    out: &mut (dyn Write + Send),
) -> Result<(), HeadlessError> {
    let base = feed.base().await?;
    let demo = Demo::start(
        store,
        DemoOptions {
            seed: options.seed,
            start: base.as_of,
            ledger: options.ledger,
        },
    )
    .await?;
    let mut watch = Watch {
        board: Board::load(&base),
        judge: Judge::new(limits()),
        feed,
    };
    report::opening(out, options.seed)?;
    let watched = watch.lines(&demo, &options, out).await;
    let lessons = demo.lessons().to_vec();
    demo.stop().await;
    watched?;
    watch.closing(&lessons, out).await
}

/// A board kept up to date by a feed.
struct Watch {
    board: Board,
    judge: Judge,
    feed: Box<dyn Feed>,
}

impl Watch {
    /// Writes what happens until the demo's time is over.
    async fn lines(
        &mut self,
        demo: &Demo,
        options: &HeadlessOptions,
        out: &mut (dyn Write + Send),
    ) -> Result<(), HeadlessError> {
        let mut tick = interval(READ_EVERY);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let end = options
            .lasts
            .map(|lasts| lasts.saturating_sub(demo.elapsed()));
        let over = async {
            match end {
                Some(end) => tokio::time::sleep(end).await,
                None => std::future::pending().await,
            }
        };
        tokio::pin!(over);
        let mut told = Duration::ZERO;
        loop {
            tokio::select! {
                () = options.stop.cancelled() => return Ok(()),
                () = &mut over => return Ok(()),
                _ = tick.tick() => {}
            }
            let now = demo.elapsed();
            for sentence in demo.news(told, now) {
                report::news(out, now, sentence)?;
            }
            let as_of = self.read().await?;
            if now.as_secs() / LINE_EVERY_S > told.as_secs() / LINE_EVERY_S {
                let summary = self.board.summary(as_of, &mut self.judge);
                report::progress(out, now, &summary)?;
            }
            told = now;
        }
    }

    /// Applies everything committed since the last reading; returns the ledger's time.
    async fn read(&mut self) -> Result<crate::ledger::time::Timestamp, StoreError> {
        loop {
            let batch = self.feed.next().await?;
            for event in &batch.events {
                self.board.apply(event);
            }
            if !batch.more {
                return Ok(batch.as_of);
            }
        }
    }

    async fn closing(
        &mut self,
        lessons: &[Lesson],
        out: &mut (dyn Write + Send),
    ) -> Result<(), HeadlessError> {
        let as_of = self.read().await?;
        let summary = self.board.summary(as_of, &mut self.judge);
        report::closing(out, &summary, lessons)?;
        Ok(())
    }
}

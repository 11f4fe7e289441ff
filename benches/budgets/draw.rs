//! Drawing the overview of 50 queues at 200×60, and the bytes that a tick sends to the terminal:
//! the console's own model, drawing and encoder, over a real feed of a real ledger under traffic.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use ledgertop::board::{Board, Judge, Limits};
use ledgertop::console::keymap::Keymap;
use ledgertop::console::model::{Fixed, Model};
use ledgertop::console::msg::Msg;
use ledgertop::console::screen;
use ledgertop::console::terminal::frame::Encoder;
use ledgertop::console::theme::{Background, Depth, Look, Theme};
use ledgertop::console::update::update;
use ledgertop::ledger::feed::Batch;
use ledgertop::ledger::num;
use ledgertop::ledger::text::SafeText;
use ledgertop::ledger::time::Timestamp;
use ledgertop::store::Feed;
use ledgertop::store::url::DatabaseKind;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::options::SMALL;
use crate::place::Place;
use crate::report::Row;
use crate::sample::{Sample, median};
use crate::seed::seed;
use crate::traffic::{BUSY, ORDINARY, Round, Traffic, tell_queues_apart};

const GROUP: &str = "DRAW (200x60, 50 queues)";
const SIZE: Rect = Rect::new(0, 0, 200, 60);
const TICK: Duration = Duration::from_secs(1);

/// A console without a terminal: what it would send is counted.
struct Screen {
    model: Model,
    theme: Theme,
    encoder: Encoder,
    drawing: Sample,
    encoding: Sample,
}

/// Measures drawing and bytes.
pub(crate) async fn measure(quick: bool) -> Result<Vec<Row>> {
    crate::say("drawing");
    let place = Place::create(DatabaseKind::Sqlite).await?;
    seed(&place, SMALL).await?;
    let ledger = place.ledger(None)?;
    tell_queues_apart(&*ledger.store().await?).await?;
    let mut feed = ledger.feed();
    let base = feed.base().await?;
    let mut screen = Screen::open(Board::load(&base), base.as_of)?;
    let first = screen.bytes();
    let unchanged = screen.bytes();
    let ticks = if quick { 5 } else { 20 };
    let ages = screen.ticks(&mut *feed, ticks, None).await?;
    let mut traffic = Traffic::open(&ledger, ORDINARY).await?;
    let ordinary = screen.ticks(&mut *feed, ticks, Some(&mut traffic)).await?;
    let mut traffic = Traffic::open(&ledger, BUSY).await?;
    let busy = screen.ticks(&mut *feed, ticks, Some(&mut traffic)).await?;
    for _ in 0..if quick { 50 } else { 500 } {
        screen.bytes();
    }
    let summary = summing_up(&Board::load(&base), base.as_of);
    let ticks = Ticks {
        first,
        unchanged,
        ages,
        ordinary,
        busy,
    };
    Ok(rows(&screen, &summary, &ticks))
}

/// Bytes sent.
struct Ticks {
    first: f64,
    unchanged: f64,
    ages: f64,
    ordinary: f64,
    busy: f64,
}

async fn read_rest(feed: &mut dyn Feed, batch: &mut Batch) -> Result<()> {
    while batch.more {
        let next = feed.next().await?;
        batch.events.extend(next.events);
        batch.as_of = next.as_of;
        batch.more = next.more;
    }
    Ok(())
}

fn summing_up(board: &Board, now: Timestamp) -> Sample {
    let mut judge = Judge::new(Limits::default());
    let mut sample = Sample::default();
    for _ in 0..50 {
        sample.time(|| std::hint::black_box(board.summary(now, &mut judge)));
    }
    sample
}

impl Screen {
    fn open(board: Board, as_of: Timestamp) -> Result<Self> {
        let unchanged: [(&str, [&str; 0]); 0] = [];
        let fixed = Fixed {
            permit: None,
            copying: false,
            ledger: SafeText::new("bench"),
            why_read_only: SafeText::new("a benchmark"),
            keymap: Keymap::new(unchanged).context("the keys as they come")?,
            limits: Limits::default(),
        };
        let now = Instant::now();
        let mut model = Model::new(fixed, now, SIZE);
        let board = Box::new(board);
        drop(update(&mut model, now, Msg::Loaded { as_of, board }));
        Ok(Self {
            model,
            theme: Theme::built_in(Look::Standard, Background::Dark, Depth::True)?,
            encoder: Encoder::default(),
            drawing: Sample::default(),
            encoding: Sample::default(),
        })
    }

    /// Takes a reading in, as the console's loop does.
    fn take(&mut self, batch: Batch) {
        drop(update(&mut self.model, Instant::now(), Msg::Events(batch)));
    }

    /// The middle of the bytes of some ticks, with a round of traffic in each or with none.
    async fn ticks(
        &mut self,
        feed: &mut dyn Feed,
        count: usize,
        mut traffic: Option<&mut Traffic>,
    ) -> Result<f64> {
        let mut bytes = Vec::new();
        for _ in 0..count {
            tokio::time::sleep(TICK).await;
            if let Some(traffic) = traffic.as_deref_mut() {
                traffic.round().await?;
            }
            let mut batch = feed.next().await?;
            read_rest(feed, &mut batch).await?;
            ensure!(
                batch.events.is_empty() == traffic.is_none(),
                "the feed tells of {} events, which is not what happened",
                batch.events.len()
            );
            self.take(batch);
            bytes.push(self.bytes());
        }
        Ok(median(bytes))
    }

    /// Draws the model as it is now; the bytes that a terminal would get.
    fn bytes(&mut self) -> f64 {
        let frame = self.drawing.time(|| {
            let mut frame = Buffer::empty(SIZE);
            screen::draw(&self.model, &self.theme, &mut frame);
            frame
        });
        let mut bytes = String::new();
        self.encoding
            .time(|| drop(self.encoder.encode(frame, &mut bytes)));
        num::ratio(num::count(bytes.len()))
    }
}

fn rows(screen: &Screen, summary: &Sample, ticks: &Ticks) -> Vec<Row> {
    let pace = |round: Round| format!("a tick under {} changes a second", round.changes());
    let drawing = |percent, name| {
        let beside = "Board::summary, the rest of a tick's work";
        Row::new(GROUP, name, screen.drawing.ms(percent), "ms")
            .at_most(1.0)
            .beside(beside, summary.ms(percent))
    };
    let tick = |name: &str, bytes, limit| {
        Row::new(GROUP, name, bytes, "bytes")
            .at_most(limit)
            .beside("the first frame", ticks.first)
    };
    vec![
        drawing(50, "drawing the overview, p50"),
        drawing(95, "drawing the overview, p95"),
        Row::new(GROUP, "encoding a frame, p95", screen.encoding.ms(95), "ms")
            .beside("drawing it", screen.drawing.ms(95)),
        tick("a tick in which nothing changed", ticks.unchanged, 0.0),
        tick("a tick in which only ages grew", ticks.ages, 2_000.0),
        tick(&pace(ORDINARY), ticks.ordinary, 2_000.0),
        tick(&pace(BUSY), ticks.busy, 2_000.0),
    ]
}

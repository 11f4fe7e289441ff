//! Drawing the overview of 50 queues at 200×60, and the bytes that a tick sends to the terminal: the
//! console's own model, drawing and encoder, over a real feed of a real ledger under traffic.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use ledgertop::board::{Board, Judge, Limits};
use ledgertop::console::keymap::Keymap;
use ledgertop::console::model::{Fixed, Model};
use ledgertop::console::msg::Msg;
use ledgertop::console::screen;
use ledgertop::console::terminal::frame::Encoder;
use ledgertop::console::theme::{Background, Depth, Theme};
use ledgertop::console::update::update;
use ledgertop::ledger::feed::Batch;
use ledgertop::ledger::num;
use ledgertop::ledger::text::SafeText;
use ledgertop::store::Feed;
use ledgertop::store::url::DatabaseKind;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::options::SMALL;
use crate::place::Place;
use crate::report::Row;
use crate::sample::{Sample, median};
use crate::seed::seed;
use crate::traffic::Traffic;

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
    let mut traffic = Traffic::open(&ledger).await?;
    let mut feed = ledger.feed();
    let base = feed.base().await?;
    let mut screen = Screen::open(Board::load(&base), base.as_of)?;

    let first = screen.bytes();
    let unchanged = screen.bytes();
    let ticks = if quick { 5 } else { 20 };
    let mut busy = Vec::new();
    for _ in 0..ticks {
        tokio::time::sleep(TICK).await;
        traffic.round().await?;
        let mut batch = feed.next().await?;
        ensure!(!batch.events.is_empty(), "the feed has missed the traffic");
        read_rest(&mut *feed, &mut batch).await?;
        screen.take(batch);
        busy.push(screen.bytes());
    }
    let mut idle = Vec::new();
    for _ in 0..ticks {
        tokio::time::sleep(TICK).await;
        let batch = feed.next().await?;
        ensure!(batch.events.is_empty(), "the feed tells of events that nobody caused");
        screen.take(batch);
        idle.push(screen.bytes());
    }
    for _ in 0..if quick { 50 } else { 500 } {
        screen.bytes();
    }
    let summary = summing_up(Board::load(&base), base.as_of);
    Ok(rows(&screen, &summary, [first, unchanged, median(idle), median(busy)]))
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

fn summing_up(board: Board, now: ledgertop::ledger::time::Timestamp) -> Sample {
    let mut judge = Judge::new(Limits::default());
    let mut sample = Sample::default();
    for _ in 0..50 {
        sample.time(|| std::hint::black_box(board.summary(now, &mut judge)));
    }
    sample
}

impl Screen {
    fn open(board: Board, as_of: ledgertop::ledger::time::Timestamp) -> Result<Self> {
        let unchanged: [(&str, [&str; 0]); 0] = [];
        let fixed = Fixed {
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
            theme: Theme::built_in(Background::Dark, Depth::True)?,
            encoder: Encoder::default(),
            drawing: Sample::default(),
            encoding: Sample::default(),
        })
    }

    /// Takes a reading in, as the console's loop does.
    fn take(&mut self, batch: Batch) {
        drop(update(&mut self.model, Instant::now(), Msg::Events(batch)));
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

fn rows(screen: &Screen, summary: &Sample, bytes: [f64; 4]) -> Vec<Row> {
    let [first, unchanged, idle, busy] = bytes;
    let drawing = |percent, name| {
        let beside = "Board::summary, the rest of a tick's work";
        Row::new(GROUP, name, screen.drawing.ms(percent), "ms")
            .at_most(1.0)
            .beside(beside, summary.ms(percent))
    };
    let tick = |name, bytes, limit| {
        Row::new(GROUP, name, bytes, "bytes")
            .at_most(limit)
            .beside("the first frame", first)
    };
    vec![
        drawing(50, "drawing the overview, p50"),
        drawing(95, "drawing the overview, p95"),
        Row::new(GROUP, "encoding a frame, p95", screen.encoding.ms(95), "ms")
            .beside("drawing it", screen.drawing.ms(95)),
        tick("a tick in which nothing changed", unchanged, 0.0),
        tick("a tick in which only ages grew", idle, 2_000.0),
        tick("a tick under 500 changes a second", busy, 2_000.0),
    ]
}

//! What comes in: everything that may change what the console shows. Next: [`super::update`].

use std::sync::mpsc::{Receiver, SendError, SyncSender, TrySendError, sync_channel};
use std::time::{Duration, Instant};

use crossterm::event::KeyEvent;
use ratatui::layout::Rect;

use crate::board::Board;
use crate::console::ask::{Answer, Failure, Ticket};
use crate::ledger::feed::Batch;
use crate::ledger::text::SafeText;
use crate::ledger::time::Timestamp;
use crate::operate::Receipt;

/// One thing that happened. Each comes with the moment at which it did, by the monotonic clock.
#[derive(Debug)]
pub enum Msg {
    /// A key was pressed.
    Key(KeyEvent),
    /// Text was pasted: it reaches text fields only.
    Paste(String),
    /// The terminal has another size.
    Resized(Rect),
    /// Time has passed.
    Tick,
    /// The ledger is being opened, for the `attempt`th time in a row (from 1).
    Opening {
        /// Counted from 1 since the last reading.
        attempt: u32,
    },
    /// The ledger was counted: a board, folded from its base.
    Loaded {
        /// When it was read, by the database's clock.
        as_of: Timestamp,
        /// The board.
        board: Box<Board>,
    },
    /// The events since the last reading.
    Events(Batch),
    /// A reading failed.
    Failed {
        /// Why.
        error: SafeText,
        /// When the ledger is opened again, from now.
        retry_in: Duration,
    },
    /// A question was answered, or could not be.
    Looked {
        /// Which.
        ticket: Ticket,
        /// The answer; after a failure the question stays open and is asked again.
        result: Result<Answer, Failure>,
    },
    /// What became of an order.
    Operated {
        /// The order's number.
        number: u64,
        /// The receipt, or why there is none and what was left unchanged.
        result: Result<Box<Receipt>, SafeText>,
    },
    /// Somebody else has used the terminal (the process was stopped and goes on).
    Continued,
    /// The process is asked to end.
    Terminate {
        /// The signal's number.
        signal: i32,
    },
    /// The terminal is gone.
    TerminalLost,
    /// A thread of the console panicked.
    Panicked,
}

/// How many messages may wait: more than a person types in a second, and the feed waits for room.
const WAITING_MAX: usize = 256;

/// Where messages are put in.
#[derive(Debug, Clone)]
pub struct Outbox(SyncSender<(Instant, Msg)>);

/// Where they come out.
pub type Inbox = Receiver<(Instant, Msg)>;

/// A new channel of messages.
pub fn channel() -> (Outbox, Inbox) {
    let (sender, receiver) = sync_channel(WAITING_MAX);
    (Outbox(sender), receiver)
}

/// The screen has ended; nobody takes messages any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the screen has ended")]
pub struct Ended;

/// Tells the screen, should the thread that holds it panic.
#[derive(Debug)]
pub struct Alarm(Outbox);

impl Drop for Alarm {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.last_word(Msg::Panicked);
        }
    }
}

impl Outbox {
    /// An alarm for a thread that puts messages in here.
    pub fn alarm(&self) -> Alarm {
        Alarm(self.clone())
    }

    /// Puts a message in; waits while there is no room.
    ///
    /// # Errors
    /// Where the screen has ended.
    pub fn send(&self, at: Instant, msg: Msg) -> Result<(), Ended> {
        self.0.send((at, msg)).map_err(|SendError(_)| Ended)
    }

    /// Says that something has ended. The screen may have ended already; then nobody needs to know.
    pub fn last_word(&self, msg: Msg) {
        if self.send(Instant::now(), msg).is_err() {
            tracing::debug!("the screen had ended already");
        }
    }

    /// As [`Outbox::send`], without holding up a runtime's thread while there is no room.
    ///
    /// # Errors
    /// Where the screen has ended.
    pub async fn send_async(&self, at: Instant, msg: Msg) -> Result<(), Ended> {
        let mut parcel = (at, msg);
        loop {
            match self.0.try_send(parcel) {
                Ok(()) => return Ok(()),
                Err(TrySendError::Disconnected(_)) => return Err(Ended),
                Err(TrySendError::Full(back)) => parcel = back,
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

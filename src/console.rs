//! The console: a live board of one ledger in the terminal.
//!
//! It holds a [`Feed`], whose fold is the overview, and a [`Look`], which answers what the lists
//! ask; both read through connections that cannot write, and there is no store. This file wires the
//! parts together: threads put [`msg`]s in, [`update`] turns them into a changed [`model`] and
//! [`effect`]s, [`screen`] draws the model into a frame, [`terminal`] sends what changed. Only
//! [`effects`] knows that there is a ledger at the other end. Start reading at [`update`].

use std::future::Future;
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use tokio::sync::watch;

use crate::board::Limits;
use crate::ledger::text::SafeText;
use crate::store::{Feed, Look, StoreError};

pub mod ask;
pub mod clock;
pub mod columns;
pub mod dialog;
pub mod effect;
pub mod effects;
pub mod format;
pub mod keymap;
pub mod model;
pub mod msg;
pub mod screen;
mod signals;
pub mod terminal;
pub mod text;
pub mod theme;
pub mod update;
pub mod widget;

use clock::Clock;
use effect::Effect;
use effects::look::{LOOK_DEADLINE, Looker, Open};
pub use effects::operate::OpenOperate;
use effects::operate::{Clerk, Orders, Permit};
use effects::{Deadlines, Reader, Wish};
use keymap::Keymap;
use model::{Fixed, Model};
use msg::{Inbox, Msg, Outbox};
use terminal::{
    NoTerminal, Taken, input,
    writer::{Fault, Writer},
};
use theme::{Environment, Theme};

/// Opens a reading of the ledger; called again whenever the last one is lost.
#[async_trait]
pub trait OpenFeed: Send + Sync {
    /// Opens it through a connection that cannot write.
    ///
    /// # Errors
    /// Where the ledger cannot be reached or is none.
    async fn open(&self) -> Result<Box<dyn Feed>, StoreError>;
}

#[async_trait]
impl<F, R> OpenFeed for F
where
    F: Fn() -> R + Send + Sync,
    R: Future<Output = Result<Box<dyn Feed>, StoreError>> + Send,
{
    async fn open(&self) -> Result<Box<dyn Feed>, StoreError> {
        self().await
    }
}

/// Opens the ledger for look-ups; called again whenever the last one is lost.
pub trait OpenLook: Send + Sync {
    /// Look-ups through a connection that cannot write. Nothing is connected before the first one.
    fn open(&self) -> Box<dyn Look>;
}

impl<F> OpenLook for F
where
    F: Fn() -> Box<dyn Look> + Send + Sync,
{
    fn open(&self) -> Box<dyn Look> {
        self()
    }
}

/// What a console is opened with.
pub struct ConsoleOptions {
    /// The ledger's name, as the header shows it.
    pub ledger_name: SafeText,
    /// Why this console cannot write, as the help says it.
    pub read_only_reason: SafeText,
    /// Opens the ledger.
    pub feed: Box<dyn OpenFeed>,
    /// Opens it for look-ups.
    pub look: Box<dyn OpenLook>,
    /// Opens it for acts; `None` for a console that only looks.
    pub operate: Option<Box<dyn OpenOperate>>,
    /// Whether the terminal's clipboard may be written to.
    pub copying: bool,
    /// The limits that numbers are held against.
    pub limits: Limits,
    /// How often the ledger is read.
    pub refresh: Duration,
    /// Which key does what.
    pub keymap: Keymap,
    /// How it looks.
    pub theme: Theme,
    /// How moments are shown at first.
    pub clock: Clock,
    /// Seeds the jitter of reconnecting, so that many consoles do not come back at once.
    pub seed: u64,
}

/// How a console came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// It was quit.
    Quit,
    /// A signal of this number asked for it.
    Signal(i32),
    /// The terminal is gone.
    TerminalLost,
    /// A thread of it panicked; the terminal was given back and the panic printed.
    Panicked,
}

/// Why a console could not be opened or go on.
#[derive(Debug, thiserror::Error)]
pub enum ConsoleError {
    /// There is no terminal to draw on.
    #[error(transparent)]
    NoTerminal(#[from] NoTerminal),
    /// The terminal or the system refused something the console needs.
    #[error("the console could not {what}")]
    System {
        /// What was refused.
        what: &'static str,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// A fault of the console itself; it has been printed.
    #[error("the console stopped because of a fault of its own; the ledger was only read")]
    Panicked,
}

impl ConsoleError {
    /// Whether the console was asked for where there can be none (exit code 2).
    pub const fn is_usage(&self) -> bool {
        match self {
            Self::NoTerminal(_) => true,
            Self::System { .. } | Self::Panicked => false,
        }
    }
}

/// How many messages are taken in between two frames: a flood of keys still gets its frames.
const TAKEN_AT_ONCE: usize = 64;
/// How long the last frame may take on the way out.
const LAST_FRAME: Duration = Duration::from_millis(300);

/// Whether a console can run here. Ask before anything is connected to.
///
/// # Errors
/// Where input or output is no terminal, or `TERM` is `dumb`.
pub fn check(environment: &Environment) -> Result<(), ConsoleError> {
    Ok(terminal::check(environment)?)
}

/// Runs a console until it is quit, asked to end, or loses its terminal. Blocks; may be called from
/// within a runtime through its means for blocking calls. The first frame is painted before the
/// ledger is opened.
///
/// # Errors
/// Where the terminal cannot be used or the system refuses a thread.
pub fn run(options: ConsoleOptions) -> Result<Ended, ConsoleError> {
    check(&Environment::of_process())?;
    terminal::install_panic_hook();
    terminal::adopt_thread();
    let ended = run_adopted(options);
    terminal::release_thread();
    match ended? {
        Ended::Panicked => Err(ConsoleError::Panicked),
        ended @ (Ended::Quit | Ended::Signal(_) | Ended::TerminalLost) => Ok(ended),
    }
}

fn run_adopted(options: ConsoleOptions) -> Result<Ended, ConsoleError> {
    let taken = Taken::new().map_err(system("take over the terminal"))?;
    let (outbox, inbox) = msg::channel();
    let lost = outbox.clone();
    let writer = Writer::start(terminal::write_frame, move |fault| {
        let msg = match fault {
            Fault::Refused => Msg::TerminalLost,
            Fault::Panicked => Msg::Panicked,
        };
        lost.last_word(msg);
    })
    .map_err(system("start a thread"))?;
    let mut model = model_of(&options);
    paint(&model, &options.theme, &writer);
    input::start(outbox.clone()).map_err(system("start a thread"))?;
    let at_first = Wish {
        refresh: options.refresh,
        recounts: 0,
    };
    let (wishes, wish) = watch::channel(at_first);
    let ledger = runtime().map_err(system("start a runtime"))?;
    watch_over(&ledger, outbox.clone(), signals_of(outbox.clone()));
    let reader = Reader {
        open: options.feed,
        outbox: outbox.clone(),
        wish,
        deadlines: Deadlines::default(),
        seed: options.seed,
    };
    watch_over(&ledger, outbox.clone(), reader.run());
    let (questions, asked) = watch::channel(Open::new());
    let looker = Looker {
        open: options.look,
        outbox: outbox.clone(),
        asked,
        deadline: LOOK_DEADLINE,
        seed: options.seed,
    };
    watch_over(&ledger, outbox.clone(), looker.run());
    let orders = options.operate.map(|open| {
        let (clerk, orders) = Clerk::new(open, outbox.clone());
        watch_over(&ledger, outbox.clone(), clerk.run());
        orders
    });
    let mut shell = Shell {
        taken,
        writer,
        wishes,
        questions,
        orders,
        inbox,
    };
    let ended = shell.run(&mut model, &options.theme);
    shell.writer.finish(LAST_FRAME);
    drop(shell);
    ledger.shutdown_background();
    ended
}

fn model_of(options: &ConsoleOptions) -> Model {
    let fixed = Fixed {
        ledger: options.ledger_name.clone(),
        why_read_only: options.read_only_reason.clone(),
        permit: options.operate.as_deref().map(Permit::of),
        copying: options.copying,
        keymap: options.keymap.clone(),
        limits: options.limits.clone(),
    };
    let mut model = Model::new(fixed, Instant::now(), terminal::size());
    model.refresh = options.refresh;
    model.clock = options.clock;
    model
}

fn system(what: &'static str) -> impl FnOnce(std::io::Error) -> ConsoleError {
    move |source| ConsoleError::System { what, source }
}

fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .thread_name("ledgertop-feed")
        .on_thread_start(terminal::adopt_thread)
        .enable_all()
        .build()
}

async fn signals_of(outbox: Outbox) {
    if let Err(error) = signals::listen(outbox).await {
        tracing::error!(%error, "signals cannot be listened for");
    }
}

/// Runs a task and tells the screen if it panics.
fn watch_over(
    runtime: &tokio::runtime::Runtime,
    outbox: Outbox,
    task: impl Future<Output = ()> + Send + 'static,
) {
    let task = runtime.spawn(task);
    runtime.spawn(async move {
        if task.await.is_err_and(|error| error.is_panic()) {
            outbox.last_word(Msg::Panicked);
        }
    });
}

fn paint(model: &Model, theme: &Theme, writer: &Writer) {
    let mut frame = writer.buffer(model.size);
    screen::draw(model, theme, &mut frame);
    writer.show(frame);
}

/// What the loop holds while the console runs.
struct Shell {
    taken: Taken,
    writer: Writer,
    wishes: watch::Sender<Wish>,
    questions: watch::Sender<Open>,
    orders: Option<Orders>,
    inbox: Inbox,
}

impl Shell {
    /// Message, update, effects, frame; again and again.
    fn run(&mut self, model: &mut Model, theme: &Theme) -> Result<Ended, ConsoleError> {
        loop {
            let (at, first) = self.wait(model);
            let mut next = Some((at, first));
            let mut taken_in = 0;
            while let Some((at, msg)) = next {
                for effect in update::update(model, at, msg) {
                    if let Some(ended) = self.perform(model, effect)? {
                        return Ok(ended);
                    }
                }
                taken_in += 1;
                next = if taken_in < TAKEN_AT_ONCE {
                    self.inbox.try_recv().ok()
                } else {
                    None
                };
            }
            paint(model, theme, &self.writer);
        }
    }

    fn wait(&self, model: &Model) -> (Instant, Msg) {
        let received = match model.next_wake() {
            Some(wake) => self
                .inbox
                .recv_timeout(wake.saturating_duration_since(Instant::now())),
            None => self
                .inbox
                .recv()
                .map_err(|_closed| RecvTimeoutError::Disconnected),
        };
        match received {
            Ok(parcel) => parcel,
            Err(RecvTimeoutError::Timeout) => (Instant::now(), Msg::Tick),
            // Every thread that could say something is gone; so is the reason to go on.
            Err(RecvTimeoutError::Disconnected) => (Instant::now(), Msg::TerminalLost),
        }
    }

    fn perform(&self, model: &mut Model, effect: Effect) -> Result<Option<Ended>, ConsoleError> {
        match effect {
            Effect::Refresh(refresh) => {
                self.wishes.send_modify(|wish| wish.refresh = refresh);
            }
            Effect::Recount => {
                self.wishes
                    .send_modify(|wish| wish.recounts = wish.recounts.wrapping_add(1));
            }
            Effect::Look { ticket, request } => {
                self.questions.send_modify(|open| {
                    open.insert(request.kind(), (ticket, request));
                });
            }
            Effect::Dismiss(kind) => {
                self.questions.send_modify(|open| {
                    open.remove(&kind);
                });
            }
            Effect::Operate {
                permit: _,
                number,
                order,
            } => {
                if let Some(orders) = &self.orders
                    && let Err(refused) = orders.give(number, order)
                {
                    update::update(model, Instant::now(), refused);
                }
            }
            Effect::Copy(text) => self.writer.copy(&text),
            Effect::Suspend => {
                terminal::restore();
                terminal::suspend();
                self.retake(model)?;
            }
            Effect::Retake => self.retake(model)?,
            Effect::Repaint => self.writer.repaint(),
            Effect::Free(board) => {
                // Where there is no thread to be had, it is freed here and now.
                let freeing = std::thread::Builder::new().spawn(move || drop(board));
                drop(freeing);
            }
            Effect::End(ended) => return Ok(Some(ended)),
        }
        Ok(None)
    }

    fn retake(&self, model: &mut Model) -> Result<(), ConsoleError> {
        self.taken
            .again()
            .map_err(system("take over the terminal"))?;
        model.size = terminal::size();
        self.writer.repaint();
        Ok(())
    }
}

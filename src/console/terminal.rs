//! The terminal: taken over at the start, given back on every way out.
//!
//! This file owns raw mode, the alternate screen and the hidden cursor. Nothing here asks the
//! terminal a question, so nothing waits for an answer. [`restore`] may be called at any time, from
//! any thread and more than once: on quitting, on an error, on a signal and in a panic. [`frame`]
//! makes bytes of frames, [`writer`] sends them, [`input`] reads keys and watches for a lost
//! terminal.

use std::cell::Cell;
use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ratatui::layout::Rect;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Signal;

use crate::ledger::text::SafeText;

use super::theme::Environment;

pub mod frame;
pub mod input;
pub mod writer;

/// Alternate screen; no cursor; no wrapping at the right edge; pasted text marked as such;
/// characters stay in the order they are sent (BDSM, ECMA-48 mode 8, so that no terminal reorders a
/// row of a table).
const ENTER: &[u8] = b"\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[?2004h\x1b[8l\x1b[0m\x1b[2J";
/// The reverse of [`ENTER`], and the end of a synchronised update that may have been cut off.
const LEAVE: &[u8] = b"\x1b[?2026l\x1b[0m\x1b[8h\x1b[?2004l\x1b[?7h\x1b[?25h\x1b[?1049l";

/// How long giving the terminal back may wait for a terminal that takes no bytes.
const LEAVE_WAIT_MS: i64 = 500;
/// How long giving it back may wait for a frame that is just being written.
const LOCK_TRIES: u32 = 50;

/// Whether the terminal is ours at present.
static TAKEN: AtomicBool = AtomicBool::new(false);
/// Held while bytes are being written, so that a frame and the way out never mix.
static OUTPUT: Mutex<()> = Mutex::new(());

thread_local! {
    /// Whether this thread belongs to the console: its panic ends the console.
    static OURS: Cell<bool> = const { Cell::new(false) };
}

/// Why there can be no console here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoTerminal {
    /// Input or output is not a terminal.
    #[error(
        "the console needs a terminal, and {stream} is none; for plain text use: ledgertop snapshot"
    )]
    NotATerminal {
        /// `standard input` or `standard output`.
        stream: &'static str,
    },
    /// `TERM` says that the terminal can do nothing.
    #[error("the console cannot draw on a 'dumb' terminal; for plain text use: ledgertop snapshot")]
    Dumb,
}

/// Whether the console can run here. Ask before anything else: it needs no ledger.
///
/// # Errors
/// Where input or output is no terminal, or `TERM` is `dumb`.
pub fn check(environment: &Environment) -> Result<(), NoTerminal> {
    for (fd, stream) in [
        (rustix::stdio::stdin(), "standard input"),
        (rustix::stdio::stdout(), "standard output"),
    ] {
        if !rustix::termios::isatty(fd) {
            return Err(NoTerminal::NotATerminal { stream });
        }
    }
    if environment.term.as_deref() == Some("dumb") {
        return Err(NoTerminal::Dumb);
    }
    Ok(())
}

/// The size of the terminal; 80 × 24 where it does not say.
pub fn size() -> Rect {
    let size = rustix::termios::tcgetwinsize(rustix::stdio::stdout()).ok();
    let size = size.filter(|size| size.ws_col > 0 && size.ws_row > 0);
    size.map_or(Rect::new(0, 0, 80, 24), |size| {
        Rect::new(0, 0, size.ws_col, size.ws_row)
    })
}

/// The terminal, taken over; given back when dropped.
#[derive(Debug)]
pub struct Taken(());

impl Taken {
    /// Takes the terminal over.
    ///
    /// # Errors
    /// Where its mode cannot be set or it takes no bytes; it is as it was before.
    pub fn new() -> io::Result<Self> {
        let taken = Self(());
        taken.again()?;
        Ok(taken)
    }

    /// Takes it over again after [`restore`] or after somebody else has used it.
    ///
    /// # Errors
    /// As [`Taken::new`].
    pub fn again(&self) -> io::Result<()> {
        // crossterm remembers the first mode it saw; leaving raw mode first makes it look anew, so
        // that a shell's changes during a suspension are kept.
        crossterm::terminal::disable_raw_mode()?;
        crossterm::terminal::enable_raw_mode()?;
        TAKEN.store(true, Ordering::SeqCst);
        write_all(ENTER)
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        restore();
    }
}

/// Gives the terminal back: leaves the alternate screen, shows the cursor, ends raw mode. Does
/// nothing where it was given back already. Failures are passed over: there is nobody left to tell.
pub fn restore() {
    if !TAKEN.swap(false, Ordering::SeqCst) {
        return;
    }
    let mut guard = OUTPUT.try_lock();
    for _ in 0..LOCK_TRIES {
        if guard.is_ok() {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
        guard = OUTPUT.try_lock();
    }
    let sent = wait_writable(LEAVE_WAIT_MS).and_then(|()| write_now(LEAVE));
    let mode = crossterm::terminal::disable_raw_mode();
    drop(guard);
    if let Err(error) = sent.and(mode) {
        tracing::debug!(%error, "the terminal was not given back in full");
    }
}

/// Stops the process as ctrl-z does, together with its process group, so that the shell is told.
/// Returns once it goes on. The terminal must have been given back.
pub fn suspend() {
    if let Err(error) = rustix::process::kill_current_process_group(Signal::TSTP) {
        tracing::debug!(%error, "could not be suspended");
    }
    // The signal is delivered to any thread; this one may run on for a moment before all are
    // stopped.
    std::thread::sleep(Duration::from_millis(50));
}

/// Writes a frame, unless the terminal has been given back.
///
/// # Errors
/// Where the terminal takes no bytes any more.
pub fn write_frame(bytes: &[u8]) -> io::Result<()> {
    let _guard = OUTPUT
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    if TAKEN.load(Ordering::SeqCst) {
        write_now(bytes)
    } else {
        Ok(())
    }
}

fn write_all(bytes: &[u8]) -> io::Result<()> {
    let _guard = OUTPUT
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    write_now(bytes)
}

/// Writes in one call where the terminal takes it in one.
fn write_now(bytes: &[u8]) -> io::Result<()> {
    let mut rest = bytes;
    while !rest.is_empty() {
        match rustix::io::write(rustix::stdio::stdout(), rest) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => rest = rest.get(written..).unwrap_or_default(),
            Err(rustix::io::Errno::INTR) => {}
            // Another process that shares the terminal may have made it non-blocking.
            Err(rustix::io::Errno::AGAIN) => wait_writable(i64::MAX)?,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn wait_writable(milliseconds: i64) -> io::Result<()> {
    let stdout = rustix::stdio::stdout();
    let mut fds = [PollFd::new(&stdout, PollFlags::OUT)];
    let timeout = (milliseconds != i64::MAX).then(|| Timespec {
        tv_sec: milliseconds / 1_000,
        tv_nsec: milliseconds % 1_000 * 1_000_000,
    });
    match poll(&mut fds, timeout.as_ref()) {
        Ok(0) => Err(io::ErrorKind::TimedOut.into()),
        Ok(_) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Marks the present thread as one of the console's: if it panics, the terminal is given back and
/// the console ends.
pub fn adopt_thread() {
    OURS.with(|ours| ours.set(true));
}

/// Takes the mark of [`adopt_thread`] away.
pub fn release_thread() {
    OURS.with(|ours| ours.set(false));
}

/// Installs the hook that gives the terminal back before a panic of the console is printed, made
/// safe. A panic elsewhere in the process (a worker's handler) goes to the log while the console is
/// up, and to the hook that was there before otherwise.
pub fn install_panic_hook() {
    static ONCE: AtomicBool = AtomicBool::new(false);
    if ONCE.swap(true, Ordering::SeqCst) {
        return;
    }
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let message = SafeText::from(panic.to_string());
        if OURS.with(Cell::get) {
            restore();
            let line = format!("ledgertop stopped by a fault of its own: {message}\n");
            // Nobody is left to tell where this fails too.
            drop(io::Write::write_all(&mut io::stderr(), line.as_bytes()));
        } else if TAKEN.load(Ordering::SeqCst) {
            tracing::error!(%message, "a thread outside the console panicked");
        } else {
            before(panic);
        }
    }));
}

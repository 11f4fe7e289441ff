//! Reads keys in a thread of its own, and watches in another for the terminal's end.
//!
//! crossterm 0.29 never returns from a read on a terminal that is gone, and takes a whole core for
//! it (crossterm#793). So a watchdog asks the kernel for a hang-up and ends the console; where the
//! process is still there after [`GRACE`], it ends the process.

use std::time::{Duration, Instant};

use crossterm::event::{Event, KeyEventKind};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::console::msg::{Msg, Outbox};

/// How long the process may take to end after its terminal is lost, before it is ended.
pub const GRACE: Duration = Duration::from_millis(1_200);
/// The exit status then: 128 + SIGHUP, as a shell would report it.
const HANGUP_STATUS: i32 = 129;
/// How long the watchdog sleeps between looks where the kernel does not wake it.
const LOOK: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 500_000_000,
};

/// Starts both threads.
///
/// # Errors
/// Where no thread can be started.
pub fn start(outbox: Outbox) -> std::io::Result<()> {
    let keys = outbox.clone();
    std::thread::Builder::new()
        .name("ledgertop-keys".to_owned())
        .spawn(move || {
            super::adopt_thread();
            let _alarm = keys.alarm();
            read_keys(&keys);
        })?;
    std::thread::Builder::new()
        .name("ledgertop-watch".to_owned())
        .spawn(move || {
            super::adopt_thread();
            let _alarm = outbox.alarm();
            watch(&outbox);
        })?;
    Ok(())
}

fn read_keys(outbox: &Outbox) {
    loop {
        let msg = match crossterm::event::read() {
            Ok(Event::Key(key)) if key.kind != KeyEventKind::Release => Msg::Key(key),
            Ok(Event::Paste(text)) => Msg::Paste(text),
            Ok(Event::Resize(..)) => Msg::Resized(super::size()),
            Ok(Event::Key(_) | Event::Mouse(_) | Event::FocusGained | Event::FocusLost) => continue,
            Err(_) => Msg::TerminalLost,
        };
        let last = matches!(msg, Msg::TerminalLost);
        if outbox.send(Instant::now(), msg).is_err() || last {
            return;
        }
    }
}

fn watch(outbox: &Outbox) {
    while is_there() {}
    outbox.last_word(Msg::TerminalLost);
    std::thread::sleep(GRACE);
    std::process::exit(HANGUP_STATUS);
}

/// Whether the terminal is there; takes at most [`LOOK`]. Keys that wait do not wake it.
fn is_there() -> bool {
    let stdin = rustix::stdio::stdin();
    let mut fds = [PollFd::new(&stdin, PollFlags::empty())];
    let ended = match poll(&mut fds, Some(&LOOK)) {
        Ok(_) => {
            let end = PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL;
            fds.iter().any(|fd| fd.revents().intersects(end))
        }
        Err(rustix::io::Errno::INTR) => false,
        Err(_) => true,
    };
    !ended && rustix::termios::tcgetattr(stdin).is_ok()
}

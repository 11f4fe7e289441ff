//! The real program in a real pseudo-terminal: keys in, screen out.

use std::io::{Read as _, Write as _};
use std::path::Path;
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use portable_pty::{
    Child, ChildKiller, CommandBuilder, ExitStatus, MasterPty, PtySize, native_pty_system,
};

/// How long anything may take before a test gives up: far more than it takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// What the terminal has been sent.
struct Seen {
    parser: vt100::Parser,
    bytes: Vec<u8>,
    reader: Reader,
}

/// What the thread does that reads from the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reader {
    /// It reads.
    Reads,
    /// It is to close its end after the next bytes.
    Stops,
    /// It has closed it.
    Ended,
}

type Shared = Arc<(Mutex<Seen>, Condvar)>;

/// A program in a terminal.
pub(crate) struct Driver {
    master: Box<dyn MasterPty + Send>,
    writer: Box<dyn std::io::Write + Send>,
    child: Option<Box<dyn Child + Send + Sync>>,
    killer: Killer,
    seen: Shared,
}

/// Ends the process with the test, also when the test fails.
struct Killer(Box<dyn ChildKiller + Send + Sync>);

impl Drop for Killer {
    fn drop(&mut self) {
        // Most often it has ended already.
        drop(self.0.kill());
    }
}

/// The program under test.
pub(crate) fn program() -> &'static str {
    env!("CARGO_BIN_EXE_ledgertop")
}

impl Driver {
    /// Starts `arguments` in a terminal of 100 × 30.
    pub(crate) fn start(arguments: &[&str]) -> Self {
        Self::start_with(arguments, &[("TERM", "xterm-256color")])
    }

    /// Starts `arguments` with these variables and no others but `PATH`.
    pub(crate) fn start_with(arguments: &[&str], variables: &[(&str, &str)]) -> Self {
        let size = PtySize {
            rows: 30,
            cols: 100,
            pixel_width: 0,
            pixel_height: 0,
        };
        let pair = native_pty_system().openpty(size).unwrap();
        let mut command = CommandBuilder::new(arguments[0]);
        command.args(&arguments[1..]);
        command.env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap());
        for (name, value) in variables {
            command.env(name, value);
        }
        let child = pair.slave.spawn_command(command).unwrap();
        drop(pair.slave);
        let rows = vt100::Parser::new(30_u16.try_into().unwrap(), 100_u16.try_into().unwrap(), 0);
        let seen = Seen {
            parser: rows,
            bytes: Vec::new(),
            reader: Reader::Reads,
        };
        let seen: Shared = Arc::new((Mutex::new(seen), Condvar::new()));
        let mut reader = pair.master.try_clone_reader().unwrap();
        let theirs = Arc::clone(&seen);
        std::thread::spawn(move || {
            let mut buffer = vec![0; 65_536];
            loop {
                let read = reader.read(&mut buffer).unwrap_or(0);
                let mut seen = theirs.0.lock().unwrap_or_else(PoisonError::into_inner);
                seen.parser.process(&buffer[..read]);
                seen.bytes.extend_from_slice(&buffer[..read]);
                if read == 0 || seen.reader == Reader::Stops {
                    drop(reader);
                    seen.reader = Reader::Ended;
                    theirs.1.notify_all();
                    return;
                }
                theirs.1.notify_all();
            }
        });
        let writer = pair.master.take_writer().unwrap();
        let killer = Killer(child.clone_killer());
        Self {
            master: pair.master,
            writer,
            child: Some(child),
            killer,
            seen,
        }
    }

    /// Types bytes.
    pub(crate) fn press(&mut self, bytes: &str) {
        self.writer.write_all(bytes.as_bytes()).unwrap();
        self.writer.flush().unwrap();
    }

    /// Waits until `holds` of the terminal; fails with what is on the screen.
    fn wait(&self, what: &str, holds: impl Fn(&Seen) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        let mut seen = self.seen.0.lock().unwrap();
        while !holds(&seen) {
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(
                !left.is_zero(),
                "waited for {what}, and there is:\n{}",
                seen.parser.screen().contents()
            );
            seen = self.seen.1.wait_timeout(seen, left).unwrap().0;
        }
    }

    /// Waits until the screen shows `text`.
    pub(crate) fn wait_for(&self, text: &str) {
        self.wait(&format!("'{text}'"), |seen| {
            seen.parser.screen().contents().contains(text)
        });
    }

    /// Waits until the screen no longer shows `text`.
    pub(crate) fn wait_until_gone(&self, text: &str) {
        self.wait(&format!("no '{text}'"), |seen| {
            !seen.parser.screen().contents().contains(text)
        });
    }

    /// Waits until the alternate screen is shown, or no longer shown.
    pub(crate) fn wait_for_alternate_screen(&self, shown: Alternate) {
        let wanted = shown == Alternate::Shown;
        self.wait("the alternate screen", |seen| {
            seen.parser.screen().alternate_screen() == wanted
        });
    }

    /// What the screen shows.
    pub(crate) fn contents(&self) -> String {
        self.seen.0.lock().unwrap().parser.screen().contents()
    }

    /// Everything the terminal has been sent.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.seen.0.lock().unwrap().bytes.clone()
    }

    /// Fails unless the terminal is as a shell wants it.
    pub(crate) fn assert_given_back(&self) {
        let seen = self.seen.0.lock().unwrap();
        let screen = seen.parser.screen();
        assert!(!screen.alternate_screen(), "the alternate screen is left");
        assert!(!screen.hide_cursor(), "the cursor is shown");
        assert!(!screen.bracketed_paste(), "pasted text is not marked");
        drop(seen);
        let mode = self.master.get_termios();
        if let Some(mode) = mode {
            let text = format!("{mode:?}");
            assert!(
                text.contains("ICANON") || !text.contains("local_flags"),
                "{text}"
            );
        }
    }

    /// Changes the size of the terminal.
    pub(crate) fn resize(&self, cols: u16, rows: u16) {
        let size = PtySize {
            rows,
            cols,
            pixel_width: 0,
            pixel_height: 0,
        };
        let mut seen = self.seen.0.lock().unwrap();
        seen.parser
            .screen_mut()
            .set_size(rows.try_into().unwrap(), cols.try_into().unwrap());
        drop(seen);
        self.master.resize(size).unwrap();
    }

    /// Sends a signal to the process.
    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        let child = self.child.as_ref().unwrap();
        let id = i32::try_from(child.process_id().unwrap()).unwrap();
        let id = rustix::process::Pid::from_raw(id).unwrap();
        rustix::process::kill_process(id, signal).unwrap();
    }

    /// Waits for the end of the process and of its output.
    pub(crate) fn end(&mut self) -> ExitStatus {
        let told = wait_for_end(self.child.take().unwrap());
        let status = told.recv_timeout(PATIENCE);
        assert!(status.is_ok(), "it goes on:\n{}", self.contents());
        self.wait("the end of the output", |seen| seen.reader == Reader::Ended);
        status.unwrap()
    }

    /// Takes the terminal away; returns where the end of the process is told, and what kills it.
    pub(crate) fn hang_up(mut self) -> (Receiver<ExitStatus>, impl Drop) {
        self.seen.0.lock().unwrap().reader = Reader::Stops;
        // ctrl-l makes the console paint: the reader wakes, sees the mark, and closes its end.
        self.press("\x0c");
        self.wait("the reader", |seen| seen.reader == Reader::Ended);
        let Self {
            master,
            writer,
            child,
            killer,
            ..
        } = self;
        drop(writer);
        drop(master);
        (wait_for_end(child.unwrap()), killer)
    }
}

fn wait_for_end(mut child: Box<dyn Child + Send + Sync>) -> Receiver<ExitStatus> {
    let (tell, told) = mpsc::channel();
    std::thread::spawn(move || {
        // Nobody listens any more where the test has failed.
        drop(child.wait().map(|status| tell.send(status)));
    });
    told
}

/// Whether the alternate screen is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Alternate {
    /// It is.
    Shown,
    /// The shell's is.
    Left,
}

/// A new ledger in a file of `place`, as an argument.
pub(crate) fn ledger(place: &Path) -> String {
    let url = format!("sqlite:{}", place.join("ledger.db").display());
    let made = std::process::Command::new(program())
        .args(["--ledger", &url, "init"])
        .env_clear()
        .output()
        .unwrap();
    assert!(
        made.status.success(),
        "{}",
        String::from_utf8_lossy(&made.stderr)
    );
    url
}

//! Sends frames from a thread of its own. There is room for one frame that waits: a newer one takes
//! its place, so that a slow terminal gets fewer frames and never delays a key.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::frame::Encoder;
use crate::ledger::text::SafeText;

/// How many used buffers are kept for the next frames.
const SPARE_MAX: usize = 2;

/// What passes between the two threads.
#[derive(Debug, Default)]
struct Slot {
    waiting: Option<Buffer>,
    repaint: bool,
    copied: Option<String>,
    spare: Vec<Buffer>,
    stage: Stage,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum Stage {
    /// Waits for frames.
    #[default]
    Idle,
    /// Writes one.
    Writing,
    /// The screen wants to end: what waits is still sent.
    Closing,
    /// The thread is gone.
    Gone,
}

#[derive(Debug, Default)]
struct Shared {
    slot: Mutex<Slot>,
    changed: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Slot> {
        self.slot.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why the thread ended by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The terminal takes no bytes any more.
    Refused,
    /// It panicked.
    Panicked,
}

/// The way to the terminal.
#[derive(Debug)]
pub struct Writer {
    shared: Arc<Shared>,
}

impl Writer {
    /// Starts the thread. `send` writes bytes; `fault` is called if the thread cannot go on.
    ///
    /// # Errors
    /// Where no thread can be started.
    pub fn start(
        send: impl Fn(&[u8]) -> std::io::Result<()> + Send + 'static,
        fault: impl FnOnce(Fault) + Send + 'static,
    ) -> std::io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let theirs = Arc::clone(&shared);
        std::thread::Builder::new()
            .name("ledgertop-paint".to_owned())
            .spawn(move || {
                super::adopt_thread();
                let painting = AssertUnwindSafe(|| paint(&theirs, send));
                match std::panic::catch_unwind(painting) {
                    Ok(Ok(())) => {}
                    Ok(Err(_)) => fault(Fault::Refused),
                    Err(_) => fault(Fault::Panicked),
                }
                theirs.lock().stage = Stage::Gone;
                theirs.changed.notify_all();
            })?;
        Ok(Self { shared })
    }

    /// An empty buffer of this size, used before where one is at hand.
    pub fn buffer(&self, area: Rect) -> Buffer {
        let spare = self.shared.lock().spare.pop();
        match spare.filter(|buffer| buffer.area == area) {
            Some(mut buffer) => {
                buffer.reset();
                buffer
            }
            None => Buffer::empty(area),
        }
    }

    /// Hands a frame over; a frame that still waits is dropped for it.
    pub fn show(&self, frame: Buffer) {
        let mut slot = self.shared.lock();
        if let Some(passed_over) = slot.waiting.replace(frame) {
            keep(&mut slot, passed_over);
        }
        drop(slot);
        self.shared.changed.notify_all();
    }

    /// Sends text to the terminal's clipboard (OSC 52), with the next frame. Terminals that know no
    /// such thing leave it out.
    pub fn copy(&self, text: &str) {
        self.shared.lock().copied = Some(clipboard(text));
    }

    /// Makes the next frame be painted in full.
    pub fn repaint(&self) {
        self.shared.lock().repaint = true;
    }

    /// Ends the thread after what waits is sent, or at the latest after `patience`.
    pub fn finish(&self, patience: Duration) {
        let deadline = Instant::now() + patience;
        let mut slot = self.shared.lock();
        if slot.stage != Stage::Gone {
            slot.stage = Stage::Closing;
        }
        self.shared.changed.notify_all();
        while slot.stage != Stage::Gone {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let waited = self.shared.changed.wait_timeout(slot, left);
            slot = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// The most text that is copied: terminals bound what they take.
const COPIED_MAX_BYTES: usize = 64 * 1024;

/// The sequence that puts text into the clipboard. The text is made safe once more: who pastes it
/// gets what was seen. Lines stay lines.
fn clipboard(text: &str) -> String {
    let mut safe: Vec<String> = Vec::new();
    let mut bytes = 0_usize;
    for line in text.lines() {
        let line = SafeText::new(line).to_string();
        bytes = bytes.saturating_add(line.len()).saturating_add(1);
        if bytes > COPIED_MAX_BYTES {
            safe.push("(cut)".to_owned());
            break;
        }
        safe.push(line);
    }
    let encoded = BASE64_STANDARD.encode(safe.join("\n"));
    format!("\x1b]52;c;{encoded}\x1b\\")
}

fn keep(slot: &mut Slot, buffer: Buffer) {
    if slot.spare.len() < SPARE_MAX {
        slot.spare.push(buffer);
    }
}

fn paint(shared: &Shared, send: impl Fn(&[u8]) -> std::io::Result<()>) -> std::io::Result<()> {
    let mut encoder = Encoder::default();
    let mut bytes = String::new();
    while let Some((frame, copied)) = take(shared, &mut encoder) {
        bytes.clear();
        if let Some(copied) = copied {
            send(copied.as_bytes())?;
        }
        let used = encoder.encode(frame, &mut bytes);
        if !bytes.is_empty() {
            send(bytes.as_bytes())?;
        }
        let mut slot = shared.lock();
        if let Some(used) = used {
            keep(&mut slot, used);
        }
        if slot.stage == Stage::Writing {
            slot.stage = Stage::Idle;
        }
    }
    Ok(())
}

/// The next frame; `None` when the screen has ended and nothing waits.
fn take(shared: &Shared, encoder: &mut Encoder) -> Option<(Buffer, Option<String>)> {
    let mut slot = shared.lock();
    loop {
        if let Some(frame) = slot.waiting.take() {
            if std::mem::take(&mut slot.repaint) {
                encoder.forget();
            }
            if slot.stage == Stage::Idle {
                slot.stage = Stage::Writing;
            }
            return Some((frame, slot.copied.take()));
        }
        match slot.stage {
            Stage::Closing | Stage::Gone => return None,
            Stage::Idle | Stage::Writing => {
                slot = shared
                    .changed
                    .wait(slot)
                    .unwrap_or_else(PoisonError::into_inner);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    fn frame(text: &str) -> Buffer {
        Buffer::with_lines([text])
    }

    #[test]
    fn what_is_copied_is_safe_and_bounded() {
        let decoded = |text: &str| {
            let sequence = clipboard(text);
            let inner = sequence.strip_prefix("\x1b]52;c;").unwrap();
            let inner = inner.strip_suffix("\x1b\\").unwrap();
            String::from_utf8(BASE64_STANDARD.decode(inner).unwrap()).unwrap()
        };
        assert_eq!(decoded("a\nb\u{1b}[2J"), "a\nb␛[2J");
        let long = decoded(&"x".repeat(COPIED_MAX_BYTES + 5));
        assert_eq!(long, "(cut)");
    }

    #[test]
    fn a_slow_terminal_gets_the_newest_frame_and_holds_nobody_up() {
        let (started, start) = mpsc::channel();
        let (release, gate) = mpsc::channel::<()>();
        let gate = Mutex::new(gate);
        let (sent, received) = mpsc::channel();
        let writer = Writer::start(
            move |bytes| {
                started.send(()).unwrap();
                gate.lock().unwrap().recv().unwrap();
                sent.send(String::from_utf8(bytes.to_vec()).unwrap())
                    .unwrap();
                Ok(())
            },
            |_| {},
        )
        .unwrap();
        writer.show(frame("1"));
        start.recv().unwrap();
        // The terminal takes no bytes; none of these calls waits for it.
        for text in ["2", "3", "4"] {
            writer.show(frame(text));
        }
        release.send(()).unwrap();
        release.send(()).unwrap();
        writer.finish(Duration::from_secs(60));
        let frames: Vec<String> = received.iter().collect();
        assert_eq!(frames.len(), 2);
        assert!(
            frames[0].contains('1') && frames[1].contains('4'),
            "{frames:?}"
        );
    }

    #[test]
    fn a_terminal_that_is_gone_is_reported_once() {
        let (lost, report) = mpsc::channel();
        let writer = Writer::start(
            |_| Err(std::io::ErrorKind::BrokenPipe.into()),
            move |fault| lost.send(fault).unwrap(),
        )
        .unwrap();
        writer.show(frame("1"));
        assert_eq!(report.recv(), Ok(Fault::Refused));
        writer.show(frame("2"));
        writer.finish(Duration::from_secs(60));
    }
}

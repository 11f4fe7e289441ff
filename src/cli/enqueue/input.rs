//! Input cut into numbered lines, each made into a job, on a thread of its own so that reading
//! goes on while a batch is in flight.
//!
//! It stops at the first line that is no job: what is behind it is not looked at. Next: `stream`,
//! which sends what comes out of here.

use std::io::{self, BufRead, Read as _};
use std::thread;

use tokio::sync::mpsc::{self, Receiver};
use uuid::Uuid;

use super::line::{self, LINE_MAX_BYTES, LineProblem};
use crate::ledger::job::NewJob;
use crate::ledger::num;
use crate::store::BATCH_MAX;

/// How many jobs wait for the batch in flight: two more batches, so that the ledger never waits
/// for the parser and memory stays bounded.
const AHEAD_MAX: usize = 2 * BATCH_MAX;

/// A UTF-8 byte order mark, which some editors put before the first line.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// A job and where it stands in the input.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Numbered {
    /// Its line, from 1.
    pub(super) line: u64,
    /// How many bytes of input end with it.
    pub(super) bytes: u64,
    /// The job.
    pub(super) job: NewJob,
}

/// Why reading stopped before the end of the input.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// A line that is no job.
    #[error("line {line}: {problem}")]
    Line {
        /// Its number, from 1.
        line: u64,
        /// What is wrong with it.
        problem: LineProblem,
    },
    /// The input broke off.
    #[error("reading the input failed after line {after}")]
    Read {
        /// The last line that was read.
        after: u64,
        /// What the system said.
        source: io::Error,
    },
}

impl InputError {
    /// The line from which nothing was used.
    pub(super) fn line(&self) -> u64 {
        match self {
            Self::Line { line, .. } => *line,
            Self::Read { after, .. } => after.saturating_add(1),
        }
    }
}

/// Cuts input into jobs, one at a time. After a line that is no job it may be asked for the next.
pub(super) struct Jobs<R> {
    input: R,
    buffer: Vec<u8>,
    /// Whether the buffer holds only the beginning of its line.
    cut: bool,
    line: u64,
    bytes: u64,
}

impl<R: BufRead> Jobs<R> {
    pub(super) fn new(input: R) -> Self {
        Self {
            input,
            buffer: Vec::new(),
            cut: false,
            line: 0,
            bytes: 0,
        }
    }

    /// The next job; blank lines are counted and left out. `None` at the end of the input.
    pub(super) fn next(&mut self) -> Option<Result<Numbered, InputError>> {
        loop {
            match self.read_line() {
                Ok(0) => return None,
                Ok(_) => {}
                Err(source) => {
                    let after = self.line;
                    return Some(Err(InputError::Read { after, source }));
                }
            }
            self.line = self.line.saturating_add(1);
            let mut text = self.buffer.trim_ascii();
            if self.line == 1 {
                text = text.strip_prefix(MARK).unwrap_or(text);
            }
            if text.is_empty() {
                continue;
            }
            let read = if self.cut {
                Err(LineProblem::TooLong)
            } else {
                line::job(text, Uuid::now_v7())
            };
            let (line, bytes) = (self.line, self.bytes);
            return Some(match read {
                Ok(job) => Ok(Numbered { line, bytes, job }),
                Err(problem) => Err(InputError::Line { line, problem }),
            });
        }
    }

    /// Reads up to the end of the line. Of a line that is too long only its beginning is kept, and
    /// the rest is passed over. Returns how many bytes there were.
    fn read_line(&mut self) -> io::Result<u64> {
        self.buffer.clear();
        // With room for a carriage return and a line feed.
        let most = num::count(LINE_MAX_BYTES).saturating_add(2);
        let first = self
            .input
            .by_ref()
            .take(most)
            .read_until(b'\n', &mut self.buffer)?;
        let mut read = num::count(first);
        self.cut = read == most && self.buffer.last() != Some(&b'\n');
        if self.cut {
            read = read.saturating_add(self.pass_over_line()?);
        }
        self.bytes = self.bytes.saturating_add(read);
        Ok(read)
    }

    fn pass_over_line(&mut self) -> io::Result<u64> {
        let mut passed: u64 = 0;
        loop {
            let available = self.input.fill_buf()?;
            let end = available.iter().position(|byte| *byte == b'\n');
            let used = end.map_or(available.len(), |position| position + 1);
            let done = end.is_some() || available.is_empty();
            self.input.consume(used);
            passed = passed.saturating_add(num::count(used));
            if done {
                return Ok(passed);
            }
        }
    }
}

/// Reads ahead on a thread of its own until the end of the input, the first mistake, or until
/// nobody takes the jobs any more. The thread is not waited for: it may be blocked in a read.
pub(super) fn read_ahead<R>(input: R) -> io::Result<Receiver<Result<Numbered, InputError>>>
where
    R: BufRead + Send + 'static,
{
    let (sender, receiver) = mpsc::channel(AHEAD_MAX);
    let name = "enqueue-input".to_owned();
    let _thread = thread::Builder::new().name(name).spawn(move || {
        let mut jobs = Jobs::new(input);
        while let Some(next) = jobs.next() {
            let last = next.is_err();
            if sender.blocking_send(next).is_err() || last {
                break;
            }
        }
    })?;
    Ok(receiver)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"{"queue":"q","kind":"k","idempotency_key":"i"}"#;

    fn lines(input: &[u8]) -> Vec<Result<u64, String>> {
        let mut jobs = Jobs::new(input);
        std::iter::from_fn(|| jobs.next())
            .map(|next| next.map(|it| it.line).map_err(|error| error.to_string()))
            .collect()
    }

    #[test]
    fn lines_are_numbered_as_an_editor_numbers_them() {
        let input = format!("\u{feff}{GOOD}\r\n\n   \n{GOOD}\n{GOOD}");
        assert_eq!(lines(input.as_bytes()), [Ok(1), Ok(4), Ok(5)]);
    }

    #[test]
    fn a_line_that_is_too_long_is_named_and_the_next_is_read() {
        let most = " ".repeat(LINE_MAX_BYTES - GOOD.len());
        let long = "x".repeat(3 * LINE_MAX_BYTES);
        let input = format!("{GOOD}{most}\n{long}\n{GOOD}\n");
        let read = lines(input.as_bytes());
        assert_eq!(read.len(), 3);
        assert_eq!(read.first(), Some(&Ok(1)));
        let said = read.get(1).unwrap().clone().unwrap_err();
        assert!(
            said.starts_with("line 2: longer than 131072 bytes"),
            "{said}"
        );
        assert_eq!(read.get(2), Some(&Ok(3)));
    }

    #[test]
    fn the_bytes_read_add_up_to_the_input() {
        let input = format!("{GOOD}\n{}\n{GOOD}", " ".repeat(3 * LINE_MAX_BYTES));
        let mut jobs = Jobs::new(input.as_bytes());
        while jobs.next().is_some() {}
        assert_eq!(jobs.bytes, num::count(input.len()));
    }

    #[test]
    fn reading_ahead_stops_at_the_first_mistake() {
        let input = format!("{GOOD}\nno job\n{GOOD}\n").into_bytes();
        let mut receiver = read_ahead(io::Cursor::new(input)).unwrap();
        assert_eq!(receiver.blocking_recv().unwrap().unwrap().line, 1);
        assert_eq!(receiver.blocking_recv().unwrap().unwrap_err().line(), 2);
        assert!(receiver.blocking_recv().is_none());
    }
}

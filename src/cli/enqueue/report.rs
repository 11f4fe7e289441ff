//! What `enqueue` says: an outcome per job as JSON, a progress bar for a person, a summary, and
//! where to go on after a stop.

use std::fmt;
use std::io::{self, Write};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;
use uuid::Uuid;

use super::input::{InputError, Numbered};
use super::stream::{End, Observer};
use crate::board::format;
use crate::cli::error::{Exit, exit_of};
use crate::ledger::job::Enqueued;
use crate::ledger::num;
use crate::store::StoreError;

/// How often a second the progress bar is drawn.
const BAR_HZ: u8 = 10;

/// What was committed so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Done {
    /// The last line of input that is in the ledger, and with it all before it; 0 for none.
    pub line: u64,
    /// Jobs that were created.
    pub created: u64,
    /// Jobs whose key was there already.
    pub duplicates: u64,
}

impl fmt::Display for Done {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = if self.duplicates == 1 { "" } else { "s" };
        let created = format::count(self.created);
        let duplicates = format::count(self.duplicates);
        write!(f, "{created} created, {duplicates} duplicate{plural}")
    }
}

/// One line of `enqueue --json`.
#[derive(Serialize)]
struct JobOutcome {
    line: u64,
    id: Uuid,
    outcome: &'static str,
}

/// Counts outcomes, writes them as JSON where that is asked for, and moves the progress bar.
pub(super) struct Report<'o> {
    json: Option<&'o mut dyn Write>,
    broken: Option<io::Error>,
    bar: ProgressBar,
    done: Done,
}

impl<'o> Report<'o> {
    /// `json` receives the outcomes. `bar` is hidden where nobody looks.
    pub(super) fn new(json: Option<&'o mut dyn Write>, bar: ProgressBar) -> Self {
        Self {
            json,
            broken: None,
            bar,
            done: Done::default(),
        }
    }

    /// What was committed, and the error that outcomes could not be written, if there was one:
    /// jobs went on all the same, since half of them would help nobody.
    pub(super) fn finish(self) -> (Done, Option<io::Error>) {
        self.bar.finish_and_clear();
        (self.done, self.broken)
    }

    fn write(&mut self, batch: &[Numbered], outcomes: &[Enqueued]) -> io::Result<()> {
        let Some(out) = self.json.as_mut() else {
            return Ok(());
        };
        for (numbered, outcome) in batch.iter().zip(outcomes) {
            let (id, outcome) = match outcome {
                Enqueued::Created(id) => (*id, "created"),
                Enqueued::Duplicate(id) => (*id, "duplicate"),
            };
            let line = numbered.line;
            serde_json::to_writer(&mut **out, &JobOutcome { line, id, outcome })?;
            out.write_all(b"\n")?;
        }
        out.flush()
    }
}

impl Observer for Report<'_> {
    fn committed(&mut self, batch: &[Numbered], outcomes: &[Enqueued]) {
        for outcome in outcomes {
            let counter = match outcome {
                Enqueued::Created(_) => &mut self.done.created,
                Enqueued::Duplicate(_) => &mut self.done.duplicates,
            };
            *counter = counter.saturating_add(1);
        }
        if let Some(last) = batch.last() {
            self.done.line = last.line;
            self.bar.set_position(last.bytes);
        }
        self.bar.set_message(self.done.to_string());
        if let Err(error) = self.write(batch, outcomes) {
            self.json = None;
            self.broken = Some(error);
        }
    }
}

/// A progress bar on the terminal behind standard error. With the size of the input it shows how
/// much is left, without it only that it goes on.
pub(super) fn bar(size: Option<u64>) -> ProgressBar {
    let template = match size {
        Some(_) => "{bar:30} {percent}%  {msg}, {eta} left",
        None => "{spinner} {msg} in {elapsed}",
    };
    let bar = ProgressBar::with_draw_target(size, ProgressDrawTarget::stderr_with_hz(BAR_HZ));
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

/// The last line on standard error: `9,998 created, 2 duplicates in 0.4 s`.
pub(super) fn summary(done: Done, took: Duration) -> String {
    let tenths = took.as_millis() / 100;
    format!("{done} in {}.{} s", tenths / 10, tenths % 10)
}

/// Why `enqueue` stopped, what is in the ledger and where to go on.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// A line is no job, or the input broke off.
    #[error("{error}; {}", go_on(.done, .error.line()))]
    Input {
        /// What is wrong with it.
        error: InputError,
        /// What was committed.
        done: Done,
    },
    /// The ledger refuses a job.
    #[error("line {line}: {error}; {}", go_on(.done, *.line))]
    Job {
        /// Its line.
        line: u64,
        /// Why.
        error: StoreError,
        /// What was committed.
        done: Done,
    },
    /// A batch failed as a whole.
    #[error("lines {from} to {to}: {error}; {}", after_failure(.error, .done, *.from))]
    Batch {
        /// Its first line.
        from: u64,
        /// Its last line.
        to: u64,
        /// Why.
        error: StoreError,
        /// What was committed.
        done: Done,
    },
    /// The person who started it stopped it.
    #[error("interrupted; {}", go_on(.done, .done.line.saturating_add(1)))]
    Interrupted {
        /// What was committed.
        done: Done,
    },
    /// A dry run found lines that are no jobs.
    #[error("{}; nothing was enqueued", found(*.jobs, *.mistakes))]
    Checked {
        /// Lines that are jobs.
        jobs: u64,
        /// Lines that are none.
        mistakes: u64,
    },
}

impl Refusal {
    /// What the end of a stream means, unless it is the end of the input.
    pub(super) fn of(end: End, done: Done) -> Option<Self> {
        match end {
            End::Input => None,
            End::Mistake(error) => Some(Self::Input { error, done }),
            End::Refused { line, error } => Some(Self::Job { line, error, done }),
            End::Failed { from, to, error } => Some(Self::Batch {
                from,
                to,
                error,
                done,
            }),
            End::Interrupted => Some(Self::Interrupted { done }),
        }
    }

    /// The exit code that says so.
    pub fn exit(&self) -> Exit {
        match self {
            Self::Batch { error, .. } => exit_of(error),
            Self::Input { .. }
            | Self::Job { .. }
            | Self::Interrupted { .. }
            | Self::Checked { .. } => Exit::Refused,
        }
    }
}

/// What is in the ledger, and from which line to go on.
fn go_on(done: &Done, line: u64) -> String {
    match done.line {
        0 => "nothing was enqueued".to_owned(),
        last => format!(
            "{} in the ledger ({done}), line {line} and those after it are not; go on with: \
             tail -n +{line} FILE | ledgertop enqueue, or give the whole input again: what is in \
             the ledger is recognised as a duplicate",
            lines(last)
        ),
    }
}

/// As [`go_on`], but where it is not known whether the batch was committed it says so.
fn after_failure(error: &StoreError, done: &Done, line: u64) -> String {
    match error {
        StoreError::OutcomeUnknown { .. } | StoreError::Timeout { .. } => {
            let before = match done.line {
                0 => String::new(),
                last => format!("{} in the ledger ({done}); ", lines(last)),
            };
            format!(
                "{before}whether the lines from {line} on are is not known; give the whole input \
                 again: what is in the ledger is recognised as a duplicate"
            )
        }
        StoreError::BadUrl { .. }
        | StoreError::Unreachable { .. }
        | StoreError::NotALedger { .. }
        | StoreError::NewerSchema { .. }
        | StoreError::OlderSchema { .. }
        | StoreError::ChangedSchema { .. }
        | StoreError::Refused { .. }
        | StoreError::Corrupt { .. }
        | StoreError::Database { .. } => go_on(done, line),
    }
}

fn lines(last: u64) -> String {
    match last {
        1 => "line 1 is".to_owned(),
        last => format!("lines 1 to {last} are"),
    }
}

/// The result of a dry run: `3 jobs, 1 mistake`.
pub(super) fn found(jobs: u64, mistakes: u64) -> String {
    let some = |count: u64, one: &str| {
        let plural = if count == 1 { "" } else { "s" };
        format!("{} {one}{plural}", format::count(count))
    };
    format!("{}, {}", some(jobs, "job"), some(mistakes, "mistake"))
}

/// The size of the input where it is a plain file, so that a bar can show what is left.
pub(super) fn input_size(stdin: &io::Stdin) -> Option<u64> {
    let stat = rustix::fs::fstat(stdin).ok()?;
    rustix::fs::FileType::from_raw_mode(stat.st_mode)
        .is_file()
        .then(|| num::unsigned(stat.st_size))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_is_a_sentence() {
        let done = Done {
            line: 10_000,
            created: 9_998,
            duplicates: 2,
        };
        assert_eq!(
            summary(done, Duration::from_millis(449)),
            "9,998 created, 2 duplicates in 0.4 s"
        );
        assert_eq!(found(3, 1), "3 jobs, 1 mistake");
    }

    #[test]
    fn a_stop_says_where_to_go_on() {
        assert_eq!(go_on(&Done::default(), 1), "nothing was enqueued");
        let done = Done {
            line: 3,
            created: 2,
            duplicates: 1,
        };
        let said = go_on(&done, 4);
        assert!(
            said.starts_with(
                "lines 1 to 3 are in the ledger (2 created, 1 duplicate), line 4 and those after \
                 it are not; go on with: tail -n +4 FILE"
            ),
            "{said}"
        );
    }
}

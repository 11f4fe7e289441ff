//! Handlers that are commands: each attempt is one process, and its exit code decides the class.
//!
//! The payload is on standard input, what else a handler needs in the environment. The first line
//! of standard output is the output reference, the end of standard error the error text. No shell
//! stands between: the command is a list of arguments. The walk: [`exit`], the table; `group`, the
//! process and its end.

use std::future::Future;
use std::io;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use async_trait::async_trait;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{ChildStdin, Command};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::tail::{FirstLine, Line, Tail};
use super::{Context, Done, Handler, HandlerError};
use crate::ledger::job::{Claimed, TEXT_MAX_BYTES};
use crate::ledger::meaning::{Meaning, Table};
use crate::ledger::text::SafeText;
use crate::ledger::time::Timestamp;
use group::{Endings, Group, Pipes};

pub mod exit;
mod group;

/// The most of standard error that is kept, beside what the exit was.
const ERROR_MAX_BYTES: usize = 1_800;
/// How much is read of a pipe at a time.
const CHUNK_BYTES: usize = 8 * 1024;
/// How long the pipes of a command that has ended may stay open: a process that left the group may
/// hold them for ever.
const PIPES_WITHIN: Duration = Duration::from_secs(1);
/// Variables of this process that are none of the command's business begin so: they may hold the
/// password of the ledger, and must not be taken for facts about a job.
const OURS: &str = "LEDGERTOP_";

/// What a handler that is a command is to be.
#[derive(Debug, Clone)]
pub struct ExecOptions {
    /// The program.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// What an exit code means.
    pub table: Table,
    /// How long an attempt may take.
    pub timeout: Duration,
    /// How long a command that is told to end may take to do so before it is killed.
    pub grace: Duration,
}

/// A command line that is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadCommand {
    /// Nothing to run.
    #[error("'--exec' names no command")]
    Empty,
    /// A quote or a backslash at its end has no partner.
    #[error("'{command}' is no command: a quote is not closed, or a backslash stands at the end")]
    Unclosed {
        /// What was given.
        command: SafeText,
    },
}

/// Cuts a command line into words as a POSIX shell does, without expanding anything.
///
/// # Errors
/// Where there is no word, or a quote is not closed.
pub fn words(command: &str) -> Result<(String, Vec<String>), BadCommand> {
    let words = shlex::split(command).ok_or_else(|| BadCommand::Unclosed {
        command: command.into(),
    })?;
    let mut words = words.into_iter();
    let program = words.next().filter(|program| !program.is_empty());
    let program = program.ok_or(BadCommand::Empty)?;
    Ok((program, words.collect()))
}

/// Does jobs by running a command.
#[derive(Debug)]
pub struct ExecHandler {
    options: ExecOptions,
    endings: Endings,
}

/// What is kept of what a command says.
struct Said {
    output: FirstLine,
    errors: Tail,
}

/// How a command ended.
enum Ended {
    Exited(ExitStatus),
    TimedOut,
    Lost(io::Error),
}

impl ExecHandler {
    /// A handler that runs that command.
    pub fn new(options: ExecOptions) -> Self {
        let endings = Endings {
            grace: options.grace,
            at_once: CancellationToken::new(),
            groups: TaskTracker::new(),
        };
        Self { options, endings }
    }

    /// The longest that an attempt may take, the end of its command included; a worker's own
    /// timeout lies behind it.
    pub fn longest(&self) -> Duration {
        self.options.timeout + self.options.grace + 2 * PIPES_WITHIN
    }

    /// Kills what is told to end, from now on, without any grace.
    pub fn kill(&self) {
        self.endings.at_once.cancel();
    }

    /// Waits until no command of any attempt runs any more; for when no other begins.
    pub async fn all_ended(&self) {
        self.endings.groups.close();
        self.endings.groups.wait().await;
    }

    fn command(&self, job: &Claimed, deadline: Timestamp) -> Command {
        let mut command = Command::new(&self.options.program);
        command
            .args(&self.options.arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        for (name, _) in std::env::vars_os() {
            if name.as_encoded_bytes().starts_with(OURS.as_bytes()) {
                command.env_remove(name);
            }
        }
        let facts = [
            ("JOB_ID", &job.id.to_string()),
            ("ATTEMPT", &job.attempt.to_string()),
            ("FENCE", &job.fence.to_string()),
            ("DEADLINE", &deadline.rfc3339()),
            ("IDEMPOTENCY_KEY", &job.idempotency_key),
            ("QUEUE", &job.queue),
            ("KIND", &job.kind),
            ("TENANT", &job.tenant),
        ];
        for (name, value) in facts {
            command.env(format!("{OURS}{name}"), value);
        }
        command
    }

    /// What the end of a command says.
    fn judge(&self, ended: &Ended, said: Said) -> Result<Done, HandlerError> {
        let (meaning, how) = match ended {
            Ended::TimedOut => {
                let limit = self.options.timeout;
                let how = format!("the command took longer than {limit:?} and was ended");
                (known("timeout"), how)
            }
            Ended::Lost(error) => (known("killed"), format!("the command was lost: {error}")),
            Ended::Exited(status) => self.meaning(*status),
        };
        match meaning {
            Meaning::Done => Ok(Done {
                output_ref: reference(said.output),
            }),
            Meaning::Failed { class, reason } => {
                let text = said.errors.text();
                let error = if text.is_empty() {
                    how
                } else {
                    format!("{how}: {text}")
                };
                Err(HandlerError {
                    class,
                    reason: reason.into_owned(),
                    error,
                    retry_after: None,
                })
            }
        }
    }

    fn meaning(&self, status: ExitStatus) -> (Meaning, String) {
        use std::os::unix::process::ExitStatusExt as _;
        match (status.code().map(u16::try_from), status.signal()) {
            (Some(Ok(code)), _) => (
                self.options.table.meaning(code),
                format!("exit code {code}"),
            ),
            (_, Some(signal)) => (known("killed"), format!("ended by signal {signal}")),
            (Some(Err(_)) | None, None) => (known("killed"), format!("ended as {status}")),
        }
    }
}

#[async_trait]
impl Handler for ExecHandler {
    async fn run(&self, job: &Claimed, context: &Context) -> Result<Done, HandlerError> {
        let until = Instant::now() + self.options.timeout;
        let deadline = context.now().plus(self.options.timeout);
        let mut command = self.command(job, deadline);
        let (group, pipes) =
            Group::start(&mut command, &self.endings).map_err(|error| self.not_started(&error))?;
        let mut said = Said {
            output: FirstLine::new(TEXT_MAX_BYTES),
            errors: Tail::new(ERROR_MAX_BYTES),
        };
        let payload = job.payload.to_string();
        let ended = follow(group, pump(pipes, &payload, &mut said), until).await;
        self.judge(&ended, said)
    }
}

/// Follows a command to its end, by itself or by us, while `pump` moves what goes through its
/// pipes.
async fn follow(mut group: Group, pump: impl Future<Output = ()>, until: Instant) -> Ended {
    let mut pump = std::pin::pin!(pump);
    let mut open = true;
    let ended = loop {
        tokio::select! {
            ended = group.ended() => break ended.map_or_else(Ended::Lost, Ended::Exited),
            () = &mut pump, if open => open = false,
            () = sleep_until(until) => break Ended::TimedOut,
        }
    };
    // What it says while it is ended is read too, or it might wait for a full pipe.
    let end = group.end();
    tokio::pin!(end);
    loop {
        tokio::select! {
            () = &mut end => break,
            () = &mut pump, if open => open = false,
        }
    }
    if open && timeout(PIPES_WITHIN, pump).await.is_err() {
        tracing::debug!("a process that left its group holds the pipes of a command");
    }
    ended
}

impl ExecHandler {
    fn not_started(&self, error: &io::Error) -> HandlerError {
        let reason = match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::OutOfMemory => "unavailable",
            _not_there_or_not_allowed => "misconfigured",
        };
        let program = &self.options.program;
        HandlerError::known(reason, format!("'{program}' could not be started: {error}"))
    }
}

/// Writes the payload and reads both outputs to their ends.
async fn pump(pipes: Pipes, payload: &str, said: &mut Said) {
    tokio::join!(
        feed(pipes.input, payload),
        drain(pipes.output, |bytes| said.output.push(bytes)),
        drain(pipes.errors, |bytes| said.errors.push(bytes)),
    );
}

/// A command need not read its input: that it closes the pipe is no failure.
async fn feed(input: Option<ChildStdin>, payload: &str) {
    if let Some(mut input) = input
        && let Err(error) = input.write_all(payload.as_bytes()).await
    {
        tracing::debug!(%error, "a command did not read all of its input");
    }
}

async fn drain(pipe: Option<impl AsyncRead + Unpin>, mut take: impl FnMut(&[u8])) {
    let Some(mut pipe) = pipe else {
        return;
    };
    let mut chunk = vec![0; CHUNK_BYTES];
    while let Ok(read) = pipe.read(&mut chunk).await {
        if read == 0 {
            return;
        }
        take(chunk.get(..read).unwrap_or_default());
    }
}

fn reference(output: FirstLine) -> Option<String> {
    match output.line() {
        Line::None => None,
        Line::Text(text) => Some(text),
        Line::TooLong => {
            tracing::warn!("an output reference is too long and was not kept");
            None
        }
    }
}

/// A failure by a reason of the table of known failures.
fn known(reason: &'static str) -> Meaning {
    let class = HandlerError::known(reason, "").class;
    Meaning::failed(class, reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_cut_into_words_and_nothing_is_expanded() {
        let (program, arguments) = words("sh -c 'echo $HOME; exit 3' \"a b\" *").unwrap();
        assert_eq!(program, "sh");
        assert_eq!(arguments, ["-c", "echo $HOME; exit 3", "a b", "*"]);
        assert_eq!(words(" "), Err(BadCommand::Empty));
        assert_eq!(words("''"), Err(BadCommand::Empty));
        assert!(matches!(words("a 'b"), Err(BadCommand::Unclosed { .. })));
    }
}

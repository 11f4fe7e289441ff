//! A command with everything it started: its process group, which ends with the attempt.
//!
//! The leader of the group is the command itself. Whatever happens to the attempt (it ends, it
//! takes too long, its future is dropped, the whole runtime goes), the group is ended: by SIGTERM
//! first where there is time for it, by SIGKILL in any case.

use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

/// How groups are ended, and how many there are.
#[derive(Debug, Clone)]
pub(super) struct Endings {
    /// How long a command that is told to end may take to do so before it is killed.
    pub(super) grace: Duration,
    /// Ends every grace at once.
    pub(super) at_once: CancellationToken,
    /// Counts groups until they are gone.
    pub(super) groups: TaskTracker,
}

/// A running command and its group. Dropped while it runs, the group is ended in the background.
#[derive(Debug)]
pub(super) struct Group {
    /// Gone when the command has ended, or is being ended in the background.
    child: Option<Killed>,
    endings: Endings,
}

/// A child whose group is killed with the value.
#[derive(Debug)]
struct Killed {
    child: Child,
    group: Option<Pid>,
    _counted: TaskTrackerToken,
}

impl Drop for Killed {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}

impl Killed {
    /// Signals every process of the group. That none is left is no error.
    fn signal(&self, signal: Signal) {
        if let Some(group) = self.group
            && let Err(error) = kill_process_group(group, signal)
            && error != Errno::SRCH
        {
            tracing::warn!(%error, "a command could not be signalled");
        }
    }

    /// Ends the group: asks, waits up to the grace for the command itself, then kills what is
    /// left.
    async fn end(mut self, endings: Endings) {
        self.signal(Signal::TERM);
        tokio::select! {
            _in_time_or_not = timeout(endings.grace, self.child.wait()) => {}
            () = endings.at_once.cancelled() => {}
        }
        self.signal(Signal::KILL);
        // Takes the command's end, so that it does not stay as a zombie.
        drop(self.child.wait().await);
    }
}

/// The near ends of a command's pipes.
pub(super) struct Pipes {
    /// Its standard input.
    pub(super) input: Option<ChildStdin>,
    /// Its standard output.
    pub(super) output: Option<ChildStdout>,
    /// Its standard error.
    pub(super) errors: Option<ChildStderr>,
}

impl Group {
    /// Starts `command` as the leader of a group of its own.
    ///
    /// # Errors
    /// Where the system does not start it.
    pub(super) fn start(command: &mut Command, endings: &Endings) -> io::Result<(Self, Pipes)> {
        let mut child = command.process_group(0).spawn()?;
        let pipes = Pipes {
            input: child.stdin.take(),
            output: child.stdout.take(),
            errors: child.stderr.take(),
        };
        // The leader's id is the group's.
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        let group = id.and_then(Pid::from_raw);
        let group = Self {
            child: Some(Killed {
                child,
                group,
                _counted: endings.groups.token(),
            }),
            endings: endings.clone(),
        };
        Ok((group, pipes))
    }

    /// Waits for the command to end by itself, and then ends what it left behind. May be dropped
    /// and called again.
    pub(super) async fn ended(&mut self) -> io::Result<ExitStatus> {
        let Some(killed) = &mut self.child else {
            return Err(io::ErrorKind::NotFound.into());
        };
        let status = killed.child.wait().await?;
        // Work that went on behind a settled attempt would meet the next one. The leader is reaped,
        // so its id is free for another group only if nothing of this one is left.
        self.child = None;
        Ok(status)
    }

    /// Ends the command and everything it started: SIGTERM, after the grace SIGKILL.
    pub(super) async fn end(mut self) {
        // Waited for in a task of its own, so that it goes on when this future is dropped.
        let Some(killed) = self.child.take() else {
            return;
        };
        let ending = tokio::spawn(killed.end(self.endings.clone()));
        drop(ending.await);
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let Some(killed) = self.child.take() else {
            return;
        };
        // Without a runtime there is nobody to wait: the value goes, and the group with it.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(killed.end(self.endings.clone()));
        }
    }
}

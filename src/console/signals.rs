//! Signals as messages: an asked-for end, and going on after a stop.

use std::time::Instant;

use rustix::process::Signal;
use tokio::signal::unix::{SignalKind, signal};

use super::msg::{Msg, Outbox};

/// Passes signals on until the screen is gone.
///
/// # Errors
/// Where a signal cannot be listened for.
pub(super) async fn listen(outbox: Outbox) -> std::io::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hangup = signal(SignalKind::hangup())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut quit = signal(SignalKind::quit())?;
    let mut go_on = signal(SignalKind::from_raw(Signal::CONT.as_raw()))?;
    loop {
        let msg = tokio::select! {
            _ = terminate.recv() => ended_by(SignalKind::terminate()),
            _ = hangup.recv() => ended_by(SignalKind::hangup()),
            _ = interrupt.recv() => ended_by(SignalKind::interrupt()),
            _ = quit.recv() => ended_by(SignalKind::quit()),
            _ = go_on.recv() => Msg::Continued,
        };
        if outbox.send_async(Instant::now(), msg).await.is_err() {
            return Ok(());
        }
    }
}

fn ended_by(kind: SignalKind) -> Msg {
    Msg::Terminate {
        signal: kind.as_raw_value(),
    }
}

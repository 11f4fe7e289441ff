//! The signals by which a person or the system asks a command to end in good order.

use tokio::signal::unix::{SignalKind, signal};

/// Ends when the person at the keyboard, the terminal that went, or the system asks for the end.
/// Where that cannot be heard, it never ends.
pub(super) async fn asked_to_end() {
    let (Ok(mut interrupt), Ok(mut terminate), Ok(mut hangup)) = (
        signal(SignalKind::interrupt()),
        signal(SignalKind::terminate()),
        signal(SignalKind::hangup()),
    ) else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
        _ = hangup.recv() => {}
    }
}

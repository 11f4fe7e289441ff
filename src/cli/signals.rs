//! The signals by which a person or the system asks a command to end in good order.

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Hears the person at the keyboard, the terminal that went, and the system ask for the end. None
/// is missed from its making on.
pub(super) struct Requests(Option<[Signal; 3]>);

impl Requests {
    /// Begins to hear; where the system does not allow that, nothing is ever heard.
    pub(super) fn new() -> Self {
        let heard = |kind| signal(kind).ok();
        let all = || {
            Some([
                heard(SignalKind::interrupt())?,
                heard(SignalKind::terminate())?,
                heard(SignalKind::hangup())?,
            ])
        };
        Self(all())
    }

    /// Ends with the next request.
    pub(super) async fn next(&mut self) {
        let Some([interrupt, terminate, hangup]) = &mut self.0 else {
            return std::future::pending().await;
        };
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
    }
}

/// Ends with the first request.
pub(super) async fn asked_to_end() {
    Requests::new().next().await;
}

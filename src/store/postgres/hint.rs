//! Hints that something may have become ready: sent after a commit, not more often than every few
//! milliseconds, and heard by whoever waits. Only a hint: every listener also polls.
//!
//! Owns the two background tasks of a store; both end with it. Next: the store's trait.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgListener, PgPool, PgPoolOptions};
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;

/// The channel of NOTIFY.
const CHANNEL: &str = "ledgertop";
/// The shortest time between two hints of one process: a commit waits for NOTIFY's lock, so many
/// small ones would cost more than they bring.
const QUIET: Duration = Duration::from_millis(3);
/// The pause after the listening connection could not be made.
const RECONNECT: Duration = Duration::from_secs(1);

/// Sends and hears hints. Dropped, it ends its tasks.
#[derive(Debug)]
pub(super) struct Hints {
    wanted: Arc<Notify>,
    speaker: JoinHandle<()>,
    listener: JoinHandle<()>,
    listening: Arc<Notify>,
    started: AtomicBool,
    heard: watch::Sender<u64>,
    seen: std::sync::Mutex<u64>,
}

impl Hints {
    /// Sends over `pool`, listens on a connection of its own that is made when somebody waits.
    pub(super) fn new(pool: PgPool, session: PgConnectOptions) -> Self {
        let (heard, _receiver) = watch::channel(0);
        let wanted = Arc::new(Notify::new());
        let listening = Arc::new(Notify::new());
        let speaker = tokio::spawn(speak(pool, Arc::clone(&wanted)));
        let listener = tokio::spawn(listen(session, Arc::clone(&listening), heard.clone()));
        Self {
            wanted,
            speaker,
            listener,
            listening,
            started: AtomicBool::new(false),
            heard,
            seen: std::sync::Mutex::new(0),
        }
    }

    /// Something may have become ready: tells the others soon, and those here at once.
    pub(super) fn send(&self) {
        self.heard
            .send_modify(|count| *count = count.wrapping_add(1));
        self.wanted.notify_one();
    }

    /// Waits for a hint that came after the last one this store knows of.
    pub(super) async fn wait(&self, longest: Duration) {
        if !self.started.swap(true, Ordering::Relaxed) {
            self.listening.notify_one();
        }
        let mut receiver = self.heard.subscribe();
        let seen = self.seen();
        // An error means that the sender is gone, which it is not: it is ours.
        let heard = tokio::time::timeout(longest, receiver.wait_for(|count| *count != seen)).await;
        if let Ok(Ok(count)) = heard {
            let count = *count;
            self.see(count);
        }
    }

    fn seen(&self) -> u64 {
        match self.seen.lock() {
            Ok(seen) => *seen,
            Err(poisoned) => *poisoned.into_inner(),
        }
    }

    fn see(&self, count: u64) {
        match self.seen.lock() {
            Ok(mut seen) => *seen = count,
            Err(poisoned) => *poisoned.into_inner() = count,
        }
    }
}

impl Drop for Hints {
    fn drop(&mut self) {
        self.speaker.abort();
        self.listener.abort();
    }
}

async fn speak(pool: PgPool, wanted: Arc<Notify>) {
    loop {
        wanted.notified().await;
        // Lost is lost: whoever waits polls as well.
        let said = sqlx::query(include_str!("../../../assets/sql/postgres/hint.sql"))
            .execute(&pool)
            .await;
        if let Err(error) = said {
            tracing::debug!(%error, "no hint was sent");
        }
        tokio::time::sleep(QUIET).await;
    }
}

async fn listen(session: PgConnectOptions, listening: Arc<Notify>, heard: watch::Sender<u64>) {
    listening.notified().await;
    let pool = PgPoolOptions::new()
        .max_connections(1)
        .idle_timeout(None)
        .max_lifetime(None)
        .connect_lazy_with(session);
    loop {
        if let Err(error) = hear(&pool, &heard).await {
            tracing::debug!(%error, "not listening for hints");
        }
        tokio::time::sleep(RECONNECT).await;
    }
}

async fn hear(pool: &PgPool, heard: &watch::Sender<u64>) -> Result<(), sqlx::Error> {
    let mut listener = PgListener::connect_with(pool).await?;
    listener.listen(CHANNEL).await?;
    loop {
        // `None`: the connection was lost and made again; something may have been said meanwhile.
        let _hint_or_gap = listener.try_recv().await?;
        heard.send_modify(|count| *count = count.wrapping_add(1));
    }
}

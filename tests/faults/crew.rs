//! Workers that die and are followed by the next: what a supervisor does for a fleet.
//!
//! Next: `kills.rs`, who kills them.

use std::os::unix::process::ExitStatusExt as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use ledgertop::store::DatabaseKind;
use rustix::process::Signal;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::ledger::Ledger;
use crate::process::{Victim, Worker};
use crate::proxy::Proxy;

/// A place that always has a worker: when one dies the next takes it.
pub(crate) struct Seat {
    /// The worker that has it now.
    pub(crate) victim: Arc<Victim>,
    /// What stands between its workers and PostgreSQL; SQLite has no network.
    pub(crate) proxy: Option<Proxy>,
    /// How many workers of this seat were killed.
    killed: Arc<AtomicU32>,
    task: JoinHandle<()>,
}

/// All seats; their workers end with the value.
pub(crate) struct Crew {
    pub(crate) seats: Vec<Seat>,
    closing: Arc<AtomicBool>,
}

impl Crew {
    /// Fills so many seats; `arguments` says what the workers of each are started with.
    pub(crate) async fn start(
        ledger: &Ledger,
        seats: usize,
        arguments: impl Fn(usize) -> Vec<String>,
    ) -> Self {
        let mut crew = Self {
            seats: Vec::new(),
            closing: Arc::new(AtomicBool::new(false)),
        };
        for number in 0..seats {
            let proxy = match ledger.kind() {
                DatabaseKind::Postgres => Some(Proxy::before(ledger).await),
                DatabaseKind::Sqlite => None,
            };
            let address = match &proxy {
                Some(proxy) => proxy.address(),
                None => ledger.url().to_string(),
            };
            let lives = Lives {
                address,
                name: format!("w{number}"),
                arguments: arguments(number),
                victim: Arc::default(),
                killed: Arc::default(),
                closing: Arc::clone(&crew.closing),
            };
            crew.seats.push(Seat {
                victim: Arc::clone(&lives.victim),
                proxy,
                killed: Arc::clone(&lives.killed),
                task: tokio::spawn(lives.live()),
            });
        }
        crew
    }

    /// How many workers were killed so far.
    pub(crate) fn kills(&self) -> u32 {
        let killed = self.seats.iter().map(|seat| &seat.killed);
        killed.map(|killed| killed.load(Ordering::SeqCst)).sum()
    }

    /// Ends every worker in good order, and waits for that.
    pub(crate) async fn end(self) {
        self.closing.store(true, Ordering::SeqCst);
        for seat in self.seats {
            // Between two lives there is nobody to be told.
            while !seat.task.is_finished() {
                seat.victim.signal(Signal::TERM);
                sleep(Duration::from_millis(50)).await;
            }
            seat.task.await.expect("the seat is as it should be");
        }
    }
}

/// The workers of one seat, one after the other.
struct Lives {
    address: String,
    name: String,
    arguments: Vec<String>,
    victim: Arc<Victim>,
    killed: Arc<AtomicU32>,
    closing: Arc<AtomicBool>,
}

impl Lives {
    async fn live(self) {
        let arguments: Vec<&str> = self.arguments.iter().map(String::as_str).collect();
        let mut life = 0;
        while !self.closing.load(Ordering::SeqCst) {
            let name = format!("{}_{life}", self.name);
            let worker = Worker::start(&self.address, &name, &arguments);
            let status = worker.ended(&self.victim).await;
            let was_killed = status.signal() == Some(Signal::KILL.as_raw());
            let was_asked = self.closing.load(Ordering::SeqCst);
            assert!(was_killed || was_asked, "{name} ended with {status}");
            self.killed
                .fetch_add(u32::from(was_killed), Ordering::SeqCst);
            life += 1;
        }
    }
}

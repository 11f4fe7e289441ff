//! The workers of the demo: real ones, each behind a network of its own, that crash and lose their
//! connection when the script says so.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, interval};
use tokio_util::sync::CancellationToken;

use super::arrivals::Run;
use super::network::{Link, Network};
use super::scenario::{Act, WorkerSpec};
use crate::store::Store;
use crate::worker::{BadOption, Handlers, Shutdown, Worker, WorkerOptions};

/// Short, so that abandoned work is back within seconds; long charts and letters need renewals. A
/// third of it spent, none is near expiry.
const LEASE: Duration = Duration::from_secs(9);
/// No call of the demo's dependencies takes longer on ordinary days.
const TIMEOUT: Duration = Duration::from_secs(12);
/// How long a worker may finish what it holds when the demo ends.
const GRACE: Duration = Duration::from_secs(2);
/// How often the script is looked at.
const GLANCE: Duration = Duration::from_millis(200);

/// What a worker of the demo needs besides its own description.
#[derive(Clone)]
pub(super) struct Employment {
    /// The run.
    pub(super) run: Arc<Run>,
    /// The ledger.
    pub(super) store: Arc<dyn Store>,
    /// The handlers.
    pub(super) handlers: Handlers,
    /// When the demo began.
    pub(super) began: Instant,
    /// Ends the demo.
    pub(super) stop: CancellationToken,
}

/// Runs the worker until the demo ends; where the script lets it crash, it is started again after.
///
/// # Errors
/// Where the script describes a worker that cannot be.
pub(super) async fn employ(
    employment: Employment,
    spec: WorkerSpec,
    seed: u64,
) -> Result<(), BadOption> {
    let options = WorkerOptions {
        queues: spec.queues.clone(),
        concurrency: spec.concurrency,
        lease: LEASE,
        timeout: TIMEOUT,
        poll: Duration::from_millis(250),
        grace: GRACE,
        ..WorkerOptions::new(&spec.name, seed)
    };
    let (network, switch) = Network::new(Arc::clone(&employment.store));
    let network: Arc<dyn Store> = Arc::new(network);
    let mut glance = interval(GLANCE);
    while !employment.stop.is_cancelled() {
        if is_down(&employment, &spec) {
            tokio::select! {
                () = employment.stop.cancelled() => {}
                _ = glance.tick() => {}
            }
            continue;
        }
        let handlers = employment.handlers.clone();
        let worker = Worker::new(Arc::clone(&network), handlers, options.clone())?;
        let shutdown = Shutdown {
            gently: employment.stop.clone(),
            at_once: CancellationToken::new(),
        };
        tokio::select! {
            _ = worker.run(shutdown.clone()) => {}
            () = until_crash(&employment, &spec, &switch) => {}
        }
    }
    Ok(())
}

/// Follows the script: cuts and mends the link, and returns when the worker is to crash. Whoever
/// waits for this together with the worker then drops the worker where it stands.
async fn until_crash(employment: &Employment, spec: &WorkerSpec, switch: &watch::Sender<Link>) {
    let mut glance = interval(GLANCE);
    loop {
        glance.tick().await;
        let link = link(employment, spec);
        switch.send_if_modified(|now| std::mem::replace(now, link) != link);
        if is_down(employment, spec) {
            return;
        }
    }
}

fn is_down(employment: &Employment, spec: &WorkerSpec) -> bool {
    now(employment).any(|act| matches!(act, Act::Crash { worker } if *worker == spec.name))
}

fn link(employment: &Employment, spec: &WorkerSpec) -> Link {
    let cut = !employment.stop.is_cancelled()
        && now(employment).any(|act| matches!(act, Act::CutOff { worker } if *worker == spec.name));
    if cut { Link::Cut } else { Link::Whole }
}

/// What the script says goes on.
fn now(employment: &Employment) -> impl Iterator<Item = &Act> {
    let elapsed = employment.began.elapsed();
    let active = employment.run.scenario.active(elapsed);
    active.map(|incident| &incident.act)
}

//! A producer of the demo: waits for each arrival's moment and enqueues it. An enqueue whose answer
//! was lost is simply made again: the keys make that harmless.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use super::arrivals::{Arrival, Stream};
use crate::ledger::event::ActorKind;
use crate::ledger::job::{Actor, NewJob};
use crate::store::{BATCH_MAX, Store};

/// How long to wait before an enqueue that failed is made again.
const AGAIN: Duration = Duration::from_millis(300);
/// How far ahead of a moment its arrivals are sent together.
const TOGETHER: Duration = Duration::from_millis(10);

/// Enqueues a stream's arrivals at their moments after `began`, until `stop`.
pub(super) async fn produce(
    store: Arc<dyn Store>,
    mut stream: Stream,
    began: Instant,
    stop: CancellationToken,
) {
    let by = Actor {
        kind: ActorKind::Producer,
        name: stream.producer().to_owned(),
    };
    let backlog = stream.backlog();
    enqueue(store.as_ref(), backlog, &by, &stop).await;
    while !stop.is_cancelled() {
        let at = began + stream.next_at();
        tokio::select! {
            () = stop.cancelled() => return,
            () = sleep_until(at) => {}
        }
        let mut arrival = stream.next();
        while began + stream.next_at() <= Instant::now() + TOGETHER
            && arrival.jobs.len() < BATCH_MAX / 2
        {
            arrival.jobs.extend(stream.next().jobs);
        }
        enqueue(store.as_ref(), arrival, &by, &stop).await;
    }
}

/// Enqueues an arrival, again and again until it is done or the demo ends.
async fn enqueue(store: &dyn Store, arrival: Arrival, by: &Actor, stop: &CancellationToken) {
    for jobs in pieces(&arrival.jobs) {
        while let Err(error) = store.enqueue(jobs, by).await {
            tracing::warn!(%error, producer = %by.name, "enqueue failed; making it again");
            if !error.is_transient() {
                return;
            }
            tokio::select! {
                () = stop.cancelled() => return,
                () = sleep(AGAIN) => {}
            }
        }
    }
}

/// Pieces of at most [`BATCH_MAX`] jobs, cut before a job that is nobody's child, so that a parent
/// and its children are enqueued in one transaction.
fn pieces(jobs: &[NewJob]) -> Vec<&[NewJob]> {
    let mut pieces = Vec::new();
    let mut rest = jobs;
    while rest.len() > BATCH_MAX {
        let cut = rest
            .iter()
            .take(BATCH_MAX)
            .rposition(|job| job.parent.is_none())
            .filter(|cut| *cut > 0)
            .unwrap_or(BATCH_MAX);
        let (piece, after) = rest.split_at(cut);
        pieces.push(piece);
        rest = after;
    }
    if !rest.is_empty() {
        pieces.push(rest);
    }
    pieces
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::ledger::job::ParentLink;

    #[test]
    fn a_family_is_never_cut_apart() {
        let mut jobs = Vec::new();
        for number in 0..400 {
            let key = format!("parent-{number}");
            jobs.push(NewJob::new(Uuid::nil(), "q", "parent", &key));
            for child in 0..3 {
                let mut job = NewJob::new(Uuid::nil(), "q", "child", &format!("{key}-{child}"));
                job.parent = Some(ParentLink {
                    key: key.clone(),
                    required: true,
                });
                jobs.push(job);
            }
        }
        let pieces = pieces(&jobs);
        assert_eq!(pieces.iter().map(|piece| piece.len()).sum::<usize>(), 1_600);
        for piece in pieces {
            assert!(piece.len() <= BATCH_MAX && piece[0].parent.is_none());
        }
    }
}

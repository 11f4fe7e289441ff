//! Many jobs on their way into the ledger: batches of [`BATCH_MAX`], each one transaction, one in
//! flight at a time, while `input` reads ahead.
//!
//! Whatever stops the stream, it can say up to which line everything is in the ledger. It prints
//! nothing: an [`Observer`] is told.

use std::time::Duration;

use tokio::sync::mpsc::Receiver;
use tokio::time::{Instant, timeout_at};

use super::input::{InputError, Numbered};
use crate::ledger::job::{Actor, Enqueued, NewJob};
use crate::store::{BATCH_MAX, Store, StoreError};

/// How long a batch that is not full waits for more: long enough to fill it at full speed, short
/// enough that a slow producer's jobs do not lie about.
const LINGER: Duration = Duration::from_millis(100);

/// Is told what was committed.
pub(super) trait Observer {
    /// One batch is in the ledger. `outcomes` are in the order of `batch`.
    fn committed(&mut self, batch: &[Numbered], outcomes: &[Enqueued]);
}

/// Why the stream ended.
#[derive(Debug)]
pub(super) enum End {
    /// With the input.
    Input,
    /// At a line that is no job; everything before it was committed.
    Mistake(InputError),
    /// At a job that the ledger refuses; everything before it was committed.
    Refused {
        /// Its line.
        line: u64,
        /// What the ledger says.
        error: StoreError,
    },
    /// At a batch that failed as a whole.
    Failed {
        /// Its first line.
        from: u64,
        /// Its last line.
        to: u64,
        /// Why.
        error: StoreError,
    },
    /// By the person who started it; the batch in flight was finished.
    Interrupted,
}

/// Sends everything that comes, until the end, a mistake or `interrupted`.
pub(super) async fn run(
    store: &dyn Store,
    by: &Actor,
    mut input: Receiver<Result<Numbered, InputError>>,
    observer: &mut dyn Observer,
    interrupted: impl Future<Output = ()>,
) -> End {
    let mut interrupted = std::pin::pin!(interrupted);
    loop {
        let gathered = tokio::select! {
            biased;
            () = &mut interrupted => return End::Interrupted,
            gathered = gather(&mut input) => gathered,
        };
        if let Err(end) = send(store, by, gathered.jobs, observer).await {
            return end;
        }
        match gathered.end {
            Some(Ok(())) => return End::Input,
            Some(Err(mistake)) => return End::Mistake(mistake),
            None => {}
        }
    }
}

/// A batch, and whether the input ended behind it, well or with a mistake.
struct Gathered {
    jobs: Vec<Numbered>,
    end: Option<Result<(), InputError>>,
}

/// Takes jobs until the batch is full, the input ends, or the first of them has waited long enough.
async fn gather(input: &mut Receiver<Result<Numbered, InputError>>) -> Gathered {
    let mut jobs = Vec::new();
    let mut deadline = None;
    while jobs.len() < BATCH_MAX {
        let next = match deadline {
            None => input.recv().await,
            Some(deadline) => match timeout_at(deadline, input.recv()).await {
                Ok(next) => next,
                Err(_elapsed) => break,
            },
        };
        match next {
            Some(Ok(job)) => jobs.push(job),
            Some(Err(mistake)) => {
                let end = Some(Err(mistake));
                return Gathered { jobs, end };
            }
            None => {
                let end = Some(Ok(()));
                return Gathered { jobs, end };
            }
        }
        deadline.get_or_insert_with(|| Instant::now() + LINGER);
    }
    Gathered { jobs, end: None }
}

/// Commits a batch. Where the ledger refuses it, halves lead to the one job that is refused, so
/// that everything before it is committed and the error can name its line.
async fn send(
    store: &dyn Store,
    by: &Actor,
    jobs: Vec<Numbered>,
    observer: &mut dyn Observer,
) -> Result<(), End> {
    let mut rest = jobs.as_slice();
    let mut size = rest.len();
    while !rest.is_empty() {
        let (batch, behind) = rest.split_at(size.min(rest.len()));
        let sent: Vec<NewJob> = batch.iter().map(|numbered| numbered.job.clone()).collect();
        match store.enqueue(&sent, by).await {
            Ok(outcomes) => {
                observer.committed(batch, &outcomes);
                rest = behind;
            }
            Err(StoreError::Refused { .. }) if batch.len() > 1 => size = batch.len().div_ceil(2),
            Err(error) => return Err(failed(batch, error)),
        }
    }
    Ok(())
}

fn failed(batch: &[Numbered], error: StoreError) -> End {
    let from = batch.first().map_or(0, |first| first.line);
    let to = batch.last().map_or(0, |last| last.line);
    if batch.len() == 1 && matches!(error, StoreError::Refused { .. }) {
        End::Refused { line: from, error }
    } else {
        End::Failed { from, to, error }
    }
}

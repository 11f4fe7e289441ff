//! The feed, and the hint: what other processes did is seen, and nobody is held up.
//!
//! Next: `files.rs`.

use std::time::Duration;

use tokio::time::timeout;

use crate::ledger::{done, good, job, ledger, sql};

/// Far longer than a hint takes, and far shorter than the waits below.
const SOON: Duration = Duration::from_secs(20);
const LONG: Duration = Duration::from_secs(600);

#[tokio::test]
async fn each_event_is_read_once_and_in_order() {
    let ledger = ledger().await;
    ledger.enqueue(&[job("before")]).await;
    let mut feed = ledger.url.feed();
    let base = good(feed.base().await);
    assert_eq!(base.cells.iter().map(|cell| cell.count).sum::<u64>(), 1);
    assert_eq!(base.recent.len(), 1);
    assert!(good(feed.next().await).events.is_empty());
    let claimed = ledger.claim().await;
    ledger.settle(&[done(&claimed[0])]).await;
    let batch = good(feed.next().await);
    let versions: Vec<_> = batch.events.iter().map(|event| event.version).collect();
    assert_eq!(versions, [2, 3]);
    assert!(batch.as_of >= batch.events[1].at);
    assert!(good(feed.next().await).events.is_empty());
}

#[tokio::test]
async fn a_long_backlog_is_read_in_bounded_pieces() {
    let ledger = ledger().await;
    let mut feed = ledger.url.feed();
    good(feed.base().await);
    for thousand in 0..11 {
        let jobs: Vec<_> = (0..1_000)
            .map(|number| job(&format!("{thousand}:{number}")))
            .collect();
        ledger.enqueue(&jobs).await;
    }
    let (mut read, mut pieces) = (0, 0);
    loop {
        let batch = good(feed.next().await);
        read += batch.events.len();
        pieces += 1;
        if !batch.more {
            break;
        }
    }
    assert_eq!((read, pieces), (11_000, 2));
}

#[tokio::test]
async fn what_was_read_can_be_checkpointed_while_a_feed_is_open() {
    let ledger = ledger().await;
    ledger.enqueue(&[job("a")]).await;
    let mut feed = ledger.url.feed();
    good(feed.base().await);
    good(feed.next().await);
    let checkpointed = sql(ledger.path(), "PRAGMA wal_checkpoint(TRUNCATE)");
    assert_eq!(
        checkpointed, "0|0|0",
        "busy, frames in the log, frames moved"
    );
    ledger.enqueue(&[job("b")]).await;
    assert_eq!(good(feed.next().await).events.len(), 1);
}

#[tokio::test]
async fn text_that_is_no_utf_8_does_not_stop_the_feed() {
    let ledger = ledger().await;
    let mut feed = ledger.url.feed();
    good(feed.base().await);
    sql(
        ledger.path(),
        "INSERT INTO jobs (idempotency_key, queue, kind) \
         VALUES ('a', CAST(x'62ff1b' AS TEXT), 'k')",
    );
    let events = good(feed.next().await).events;
    assert_eq!(events[0].queue.as_str(), "b\u{fffd}\u{241b}");
}

#[tokio::test]
async fn a_waiting_worker_hears_of_an_enqueue_here_and_elsewhere() {
    let ledger = ledger().await;
    let looked = async || assert!(good(ledger.store.lanes(&[], 9).await).is_empty());
    let hears = async || {
        timeout(SOON, ledger.store.wait_for_hint(LONG))
            .await
            .is_ok()
    };
    looked().await;
    // After the look and before the wait: the hint is kept.
    ledger.enqueue(&[job("before the wait")]).await;
    assert!(hears().await);
    ledger.claim().await;
    looked().await;
    let (woken, _enqueued) = tokio::join!(hears(), async {
        tokio::task::yield_now().await;
        ledger.enqueue(&[job("in this process")]).await
    });
    assert!(woken);
    ledger.claim().await;
    looked().await;
    let path = ledger.path().to_owned();
    let other = tokio::task::spawn_blocking(move || {
        std::thread::sleep(Duration::from_millis(50));
        let job = "INSERT INTO jobs (idempotency_key, queue, kind) VALUES ('other', 'q', 'k')";
        sql(&path, job)
    });
    assert!(hears().await);
    other.await.expect("it was enqueued");
}

#[tokio::test]
async fn a_hint_is_not_waited_for_longer_than_asked() {
    let ledger = ledger().await;
    let wait = ledger.store.wait_for_hint(Duration::from_millis(30));
    timeout(SOON, wait).await.expect("the wait ends by itself");
}

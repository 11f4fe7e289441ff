//! The feed.
//!
//! Next: `files.rs`.

use crate::ledger::{done, job, ledger, producer, wish};

#[tokio::test]
async fn each_event_is_read_once_and_in_order() {
    let ledger = ledger().await;
    ledger
        .store
        .enqueue(&[job("before")], &producer())
        .await
        .expect("ok");
    let mut feed = ledger.url.feed();
    let base = feed.base().await.expect("ok");
    assert_eq!(base.cells.iter().map(|cell| cell.count).sum::<u64>(), 1);
    assert_eq!(base.recent.len(), 1);
    assert!(feed.next().await.expect("ok").events.is_empty());
    let claimed = ledger
        .store
        .exchange("w", &[], Some(&wish("w", 9)))
        .await
        .expect("ok")
        .claimed;
    ledger
        .store
        .exchange("w", &[done(&claimed[0])], None)
        .await
        .expect("ok");
    let batch = feed.next().await.expect("ok");
    let versions: Vec<_> = batch.events.iter().map(|event| event.version).collect();
    assert_eq!(versions, [2, 3]);
    assert!(feed.next().await.expect("ok").events.is_empty());
}

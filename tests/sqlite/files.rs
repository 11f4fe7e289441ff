//! The file itself: who may read it, and what is said of a place that holds no ledger.
//!
//! Next: `laws.rs`.

#![expect(
    clippy::expect_used,
    reason = "a helper that cannot help fails the test"
)]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use ledgertop::ledger::query::Query;
use ledgertop::ledger::view::Count;
use ledgertop::store::look::Look;
use ledgertop::store::{self, LedgerUrl, StoreError};

use crate::ledger::{good, job, ledger, producer, sql};

/// What the store and the feed say of the place; both must say the same.
async fn said_of(path: &Path) -> StoreError {
    let url = LedgerUrl::sqlite(path);
    let store = url.store().await.map(drop).expect_err("no store");
    let feed = url.feed().base().await.map(drop).expect_err("no feed");
    let kind = std::mem::discriminant::<StoreError>;
    assert_eq!(kind(&store), kind(&feed), "'{store}' and '{feed}'");
    store
}

#[tokio::test]
async fn a_ledger_is_readable_by_its_owner_alone() {
    let ledger = ledger().await;
    for suffix in ["", "-wal", "-shm"] {
        let path = format!("{}{suffix}", ledger.path().display());
        let mode = fs::metadata(&path).expect("it is there").permissions();
        assert_eq!(mode.mode() & 0o777, 0o600, "{path}");
    }
}

#[tokio::test]
async fn a_missing_file_is_no_ledger_and_looking_makes_none() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("ledger.db");
    let error = said_of(&path).await;
    assert!(matches!(error, StoreError::NotALedger { .. }), "{error}");
    assert!(error.to_string().contains("init"), "{error}");
    let left = fs::read_dir(directory.path()).expect("it is read").count();
    assert_eq!(left, 0, "looking made a file");
}

#[tokio::test]
async fn an_empty_file_is_no_ledger_until_it_is_made_one() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("ledger.db");
    fs::write(&path, "").expect("it is written");
    let error = said_of(&path).await;
    assert!(matches!(error, StoreError::NotALedger { .. }), "{error}");
    good(store::init(&LedgerUrl::sqlite(&path)).await);
    good(LedgerUrl::sqlite(&path).store().await);
}

#[tokio::test]
async fn what_is_no_database_is_said_to_be_none_and_stays_as_it_is() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("notes.txt");
    let text = "buy milk\n".repeat(1_000);
    fs::write(&path, &text).expect("it is written");
    let mut errors = vec![said_of(&path).await];
    let made = store::init(&LedgerUrl::sqlite(&path)).await;
    errors.push(made.map(drop).expect_err("init refuses"));
    for error in errors {
        let said = error.to_string();
        assert!(said.contains("the file is not a SQLite database"), "{said}");
    }
    assert_eq!(fs::read_to_string(&path).expect("it is read"), text);
}

#[tokio::test]
async fn a_directory_and_a_missing_one_are_named() {
    let directory = tempfile::tempdir().expect("a directory");
    let said = said_of(directory.path()).await.to_string();
    assert!(said.contains("it is a directory"), "{said}");
    let init = async |path: &Path| {
        let made = store::init(&LedgerUrl::sqlite(path)).await;
        made.map(drop).expect_err("init refuses").to_string()
    };
    let said = init(directory.path()).await;
    assert!(said.contains("it is a directory"), "{said}");
    let missing = directory.path().join("missing");
    let said = init(&missing.join("ledger.db")).await;
    let expected = format!(
        "there is no directory '{}'; make it first",
        missing.display()
    );
    assert!(said.contains(&expected), "{said}");
    assert!(!missing.exists());
}

#[tokio::test]
async fn looking_at_a_ledger_takes_no_lock_from_those_who_use_it() {
    let ledger = ledger().await;
    ledger.enqueue(&[job("before")]).await;
    // A second look at the file from this process, as a console has that opens anew.
    good(ledger.url.feed().base().await);
    // Whoever leaves as the last one takes the log away. This process is not alone, but without its
    // locks it looks so, and the store would go on writing to a log that nobody reads.
    let count = "SELECT count(*) FROM jobs";
    assert_eq!(sql(ledger.path(), count), "1");
    ledger.enqueue(&[job("after")]).await;
    assert_eq!(sql(ledger.path(), count), "2");
}

/// What a feed says after something was done to the file under it.
async fn said_after(harm: impl FnOnce(&Path)) -> String {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("ledger.db");
    let url = LedgerUrl::sqlite(&path);
    good(store::init(&url).await);
    let writer = good(url.store().await);
    let mut feed = url.feed();
    good(feed.base().await);
    good(feed.next().await);
    harm(&path);
    let error = feed.next().await.map(drop).expect_err("it is noticed");
    assert!(error.is_transient(), "{error}");
    drop(writer);
    error.to_string()
}

#[tokio::test]
async fn a_feed_does_not_go_on_with_a_file_that_was_taken_from_under_it() {
    let removed = said_after(|path| fs::remove_file(path).expect("it is removed")).await;
    assert!(removed.contains("the file was removed"), "{removed}");
    let replaced = said_after(|path| {
        let other = path.with_file_name("other.db");
        fs::copy(path, &other).expect("it is copied");
        fs::rename(&other, path).expect("it is replaced");
    })
    .await;
    assert!(replaced.contains("replaced by another"), "{replaced}");
    let logless = said_after(|path| {
        let log = path.with_file_name("ledger.db-wal");
        fs::remove_file(log).expect("it is removed");
    })
    .await;
    assert!(logless.contains("write-ahead log was removed"), "{logless}");
}

#[tokio::test]
async fn a_look_up_after_a_file_was_replaced_reads_the_one_that_is_there() {
    let (one, other) = (ledger().await, ledger().await);
    other.enqueue(&[job("of the other file")]).await;
    let mut look = one.url.look();
    let count = async |look: &mut dyn Look| look.count(&Query::default(), 10).await;
    assert_eq!(good(count(look.as_mut()).await), Count::Exact(0));
    sql(other.path(), "PRAGMA wal_checkpoint(TRUNCATE)");
    fs::copy(other.path(), one.path().with_file_name("next.db")).expect("it is copied");
    fs::rename(one.path().with_file_name("next.db"), one.path()).expect("it is replaced");
    for suffix in ["-wal", "-shm"] {
        fs::remove_file(format!("{}{suffix}", one.path().display())).expect("it is removed");
    }
    assert_eq!(good(count(look.as_mut()).await), Count::Exact(1));
    fs::remove_file(one.path()).expect("it is removed");
    let error = count(look.as_mut()).await.expect_err("it is noticed");
    assert!(
        error.to_string().contains("the file was removed"),
        "{error}"
    );
}

#[tokio::test]
async fn nothing_is_written_to_a_file_that_was_removed() {
    let ledger = ledger().await;
    ledger.enqueue(&[job("before")]).await;
    fs::remove_file(ledger.path()).expect("it is removed");
    let tried = ledger.store.enqueue(&[job("after")], &producer()).await;
    let error = tried.expect_err("it is noticed").to_string();
    assert!(error.contains("the file was removed"), "{error}");
    assert!(error.contains("nothing was changed"), "{error}");
}

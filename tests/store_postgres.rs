//! What only PostgreSQL has: sessions, locks of other people, roles, and calls that are given up.
//!
//! What both databases have in common is in `conformance.rs`; the feed under writers in
//! `feed_postgres.rs`.

#![expect(
    clippy::expect_used,
    reason = "a step that cannot be taken fails the test"
)]

use std::sync::Arc;
use std::time::Duration;

use ledgertop::ledger::event::ActorKind;
use ledgertop::ledger::job::{Actor, Lane, NewJob, Settlement, Verdict};
use ledgertop::ledger::job::{Claimed, LeaseRef};
use ledgertop::ledger::query::Query;
use ledgertop::ledger::view::JobOrder;
use ledgertop::store::{self, ClaimRequest, LaneShare, LedgerUrl, Store, StoreError};
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection};
use tokio::time::timeout;
use uuid::Uuid;

#[path = "support/postgres.rs"]
mod postgres;

use postgres::PostgresDatabase;

/// Sessions of ours in this database that are not at rest.
const RESTLESS: &str = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
                        AND application_name = 'ledgertop' AND state <> 'idle'";
/// Sessions of ours in this database.
const OURS: &str = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
                    AND application_name = 'ledgertop'";

async fn ledger() -> (PostgresDatabase, LedgerUrl) {
    let database = PostgresDatabase::create();
    let url = LedgerUrl::parse(database.url()).expect("a ledger");
    store::init(&url).await.expect("it is made");
    (database, url)
}

async fn connect(database: &PostgresDatabase) -> PgConnection {
    PgConnection::connect(database.url())
        .await
        .expect("connected")
}

async fn number(database: &PostgresDatabase, query: &'static str) -> i64 {
    sqlx::query_scalar(query)
        .fetch_one(&mut connect(database).await)
        .await
        .expect(query)
}

fn producer() -> Actor {
    Actor {
        kind: ActorKind::Producer,
        name: "producer".to_owned(),
    }
}

fn jobs(count: usize) -> Vec<NewJob> {
    (0..count)
        .map(|_| {
            let id = Uuid::now_v7();
            NewJob::new(id, "q", "k", &id.to_string())
        })
        .collect()
}

async fn claim(store: &dyn Store, worker: &str) -> Result<Vec<Claimed>, StoreError> {
    let request = ClaimRequest {
        worker: worker.to_owned(),
        lease: Duration::from_secs(60),
        shares: vec![LaneShare {
            lane: Lane {
                queue: "q".to_owned(),
                tenant: String::new(),
            },
            limit: 5,
        }],
    };
    let exchanged = store.exchange(worker, &[], Some(&request)).await?;
    Ok(exchanged.claimed)
}

/// Enqueues, claims, settles and sweeps.
async fn some_work(store: &dyn Store, worker: &str) -> Result<(), StoreError> {
    store.enqueue(&jobs(5), &producer()).await?;
    let settlements: Vec<Settlement> = claim(store, worker)
        .await?
        .iter()
        .map(|job| Settlement {
            lease: LeaseRef {
                job: job.id,
                fence: job.fence,
            },
            verdict: Verdict::Succeed { output_ref: None },
        })
        .collect();
    store.exchange(worker, &settlements, None).await?;
    store.sweep("housekeeping", 10).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn calls_dropped_at_any_await_leak_no_connection_and_no_transaction() {
    let (database, url) = ledger().await;
    let store = url.store().await.expect("opened");
    let mut calls = Vec::new();
    for number in 0..400_u64 {
        let store = Arc::clone(&store);
        calls.push(tokio::spawn(async move {
            let longest = Duration::from_micros(number * 37);
            let worker = format!("worker {number}");
            // Whether it was done or dropped is all the same here.
            timeout(longest, some_work(store.as_ref(), &worker))
                .await
                .is_ok()
        }));
    }
    let mut dropped = 0;
    for call in calls {
        dropped += usize::from(!call.await.expect("no panic"));
    }
    assert!(dropped > 100, "only {dropped} calls were dropped");
    for _each in 0..500 {
        if number(&database, RESTLESS).await == 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(number(&database, RESTLESS).await, 0);
    // Ten of the pool, and one that listens for hints.
    assert!(number(&database, OURS).await <= 11);
    let again = (0..20).map(|number| {
        let store = Arc::clone(&store);
        async move { some_work(store.as_ref(), &format!("again {number}")).await }
    });
    for done in futures_util::future::join_all(again).await {
        done.expect("the pool is whole");
    }
    let odd = "SELECT count(*) FROM jobs j LEFT JOIN job_events e ON e.job_id = j.id \
               AND e.version = j.version WHERE e.to_state IS DISTINCT FROM j.state";
    assert_eq!(number(&database, odd).await, 0);
}

#[tokio::test]
async fn a_call_behind_somebody_elses_lock_ends_at_its_limit_and_changes_nothing() {
    let (database, url) = ledger().await;
    let store = url.store().await.expect("opened");
    let mut somebody = connect(&database).await;
    somebody
        .execute("BEGIN; LOCK TABLE jobs IN ACCESS EXCLUSIVE MODE")
        .await
        .expect("locked");
    let error = store
        .enqueue(&jobs(1), &producer())
        .await
        .expect_err("it cannot wait for ever");
    assert!(matches!(error, StoreError::Timeout { .. }), "{error:?}");
    assert!(error.is_transient());
    assert_eq!(
        error.to_string(),
        "enqueue took longer than 5 s and was given up"
    );
    somebody.execute("ROLLBACK").await.expect("let go");
    assert_eq!(number(&database, "SELECT count(*) FROM jobs").await, 0);
    store
        .enqueue(&jobs(1), &producer())
        .await
        .expect("the connection is as good as new");
}

#[tokio::test]
async fn a_feed_needs_no_right_to_write() {
    let (database, url) = ledger().await;
    let viewer = format!("viewer_{}", Uuid::now_v7().simple());
    let mut owner = connect(&database).await;
    let role = format!(
        "CREATE ROLE {viewer}; GRANT USAGE ON SCHEMA public TO {viewer}; \
         GRANT SELECT ON ALL TABLES IN SCHEMA public TO {viewer}"
    );
    owner
        .execute(sqlx::raw_sql(AssertSqlSafe(role)))
        .await
        .expect("a role that only reads");
    let store = url.store().await.expect("opened");
    store
        .enqueue(&jobs(3), &producer())
        .await
        .expect("enqueued");

    let address = format!("{}?options[role]={viewer}", database.url());
    let seen = LedgerUrl::parse(&address).expect("a ledger");
    let mut feed = seen.feed();
    let base = feed.base().await.expect("a base");
    assert_eq!(base.cells.iter().map(|cell| cell.count).sum::<u64>(), 3);
    store
        .enqueue(&jobs(2), &producer())
        .await
        .expect("enqueued");
    assert_eq!(feed.next().await.expect("events").events.len(), 2);
    let store = seen.store().await.expect("opened");
    let error = store.enqueue(&jobs(1), &producer()).await;
    let error = error.expect_err("a viewer enqueues nothing");
    assert!(error.to_string().contains("permission denied"), "{error}");

    drop((feed, store));
    let gone = format!("DROP OWNED BY {viewer}; DROP ROLE {viewer}");
    owner
        .execute(sqlx::raw_sql(AssertSqlSafe(gone)))
        .await
        .expect("the role goes");
}

#[tokio::test]
async fn a_server_that_is_not_there_is_said_with_its_address_and_without_the_password() {
    let url = LedgerUrl::parse("postgres://user:s3cret@127.0.0.1:9/ledger").expect("a ledger");
    let errors = [
        url.store().await.map(drop).expect_err("nobody listens"),
        url.feed()
            .base()
            .await
            .map(drop)
            .expect_err("nobody listens"),
        store::init(&url)
            .await
            .map(drop)
            .expect_err("nobody listens"),
    ];
    for error in errors {
        assert!(matches!(error, StoreError::Unreachable { .. }), "{error:?}");
        let said = format!("{error} {error:?}");
        assert!(said.contains("127.0.0.1:9/ledger"), "{said}");
        assert!(!said.contains("s3cret"), "{said}");
    }
}

#[tokio::test]
async fn a_store_whose_connections_were_cut_works_again() {
    let (database, url) = ledger().await;
    let store = url.store().await.expect("opened");
    let cut = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
               WHERE datname = current_database() AND application_name = 'ledgertop'";
    assert!(number(&database, cut).await >= 1);
    let batch = jobs(3);
    // The first call may find that its connection is gone; asking again is safe.
    let first = store.enqueue(&batch, &producer()).await;
    if let Err(error) = first {
        assert!(error.is_transient(), "{error:?}");
    }
    let again = store.enqueue(&batch, &producer()).await.expect("connected");
    assert_eq!(again.len(), 3);
    assert_eq!(
        number(&database, "SELECT count(*) FROM job_events").await,
        3
    );
}

#[tokio::test]
async fn a_look_up_that_nobody_waits_for_any_more_ends_in_the_server() {
    let (database, url) = ledger().await;
    let mut look = url.look();
    let asked = Query::default();
    look.jobs(&asked, JobOrder::CreatedLast, None, 1)
        .await
        .expect("it connects");
    let mut other = connect(&database).await;
    let mut transaction = other.begin().await.expect("begun");
    transaction
        .execute("LOCK TABLE jobs IN ACCESS EXCLUSIVE MODE")
        .await
        .expect("locked");
    let waiting = look.jobs(&asked, JobOrder::CreatedLast, None, 1);
    let given_up = timeout(Duration::from_millis(300), waiting).await;
    assert!(given_up.is_err(), "{given_up:?}");
    // Well before the server's own limits of five and ten seconds.
    let ended = timeout(Duration::from_secs(3), async {
        while number(&database, OURS).await > 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    assert!(ended.await.is_ok(), "it still waits for the lock");
    transaction.rollback().await.expect("unlocked");
    let page = look.jobs(&asked, JobOrder::CreatedLast, None, 1).await;
    assert!(page.is_ok(), "{page:?}");
}

#[tokio::test]
async fn a_look_up_needs_no_right_to_write() {
    let (database, url) = ledger().await;
    assert!(url.store().await.is_ok(), "its owner may write");
    let role = format!("reader_{}", Uuid::now_v7().simple());
    let mut owner = connect(&database).await;
    for statement in [
        format!("CREATE ROLE {role} LOGIN"),
        format!("GRANT SELECT ON ALL TABLES IN SCHEMA public TO {role}"),
    ] {
        owner
            .execute(AssertSqlSafe(statement))
            .await
            .expect("granted");
    }
    let address = database.url().replacen("postgres@", &format!("{role}@"), 1);
    let mut look = LedgerUrl::parse(&address).expect("a ledger").look();
    let all = Query::default();
    look.jobs(&all, JobOrder::OldestFirst, None, 1)
        .await
        .expect("read without a right to write");
    look.dead_letters(&all).await.expect("grouped");
    drop(look);
    for statement in [format!("DROP OWNED BY {role}"), format!("DROP ROLE {role}")] {
        owner
            .execute(AssertSqlSafe(statement))
            .await
            .expect("dropped");
    }
}

/// A required child of the job 'parent', by hand.
const CHILD: &str = "INSERT INTO jobs (idempotency_key, queue, kind, parent_key) \
                     VALUES ('child', 'q', 'k', 'parent')";
/// Ends the wait of the job 'parent' by hand.
const CHILDREN_DONE: &str = "UPDATE jobs SET event = 'children_done', state = 'ready', \
                             actor_kind = 'system', actor = 'a script', version = version + 1 \
                             WHERE idempotency_key = 'parent'";
/// Sessions that wait for a lock of a family.
const WAITING: &str = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted \
                       AND database = (SELECT oid FROM pg_database \
                                       WHERE datname = current_database())";

async fn parent_state(database: &PostgresDatabase) -> String {
    sqlx::query_scalar("SELECT state FROM jobs WHERE idempotency_key = 'parent'")
        .fetch_one(&mut connect(database).await)
        .await
        .expect("a parent")
}

async fn enqueue_parent(store: &dyn Store) {
    let parent = NewJob {
        awaits_children: true,
        ..NewJob::new(Uuid::now_v7(), "q", "k", "parent")
    };
    store
        .enqueue(&[parent], &producer())
        .await
        .expect("a parent");
}

#[tokio::test]
async fn a_parent_waits_for_a_child_whose_transaction_has_not_ended() {
    let (database, url) = ledger().await;
    let store = url.store().await.expect("a store");
    let mut other = connect(&database).await;
    other.execute("BEGIN").await.expect("begun");
    other.execute(CHILD).await.expect("a child");
    enqueue_parent(store.as_ref()).await;
    // Nobody sees the child yet, and nobody is held up by it.
    let swept = store.sweep("housekeeping", 10).await.expect("swept");
    assert_eq!(swept.parents, 0);
    assert_eq!(parent_state(&database).await, "pending");
    other.execute("COMMIT").await.expect("both are there");
    let swept = store.sweep("housekeeping", 10).await.expect("swept");
    assert_eq!(swept.parents, 0, "now the child is seen");

    let claimed = claim(store.as_ref(), "w1").await.expect("claimed");
    let done = claimed.iter().map(|job| Settlement {
        lease: LeaseRef {
            job: job.id,
            fence: job.fence,
        },
        verdict: Verdict::Succeed { output_ref: None },
    });
    let done: Vec<_> = done.collect();
    store.exchange("w1", &done, None).await.expect("settled");
    let swept = store.sweep("housekeeping", 10).await.expect("swept");
    assert_eq!(swept.parents, 1);
}

#[tokio::test]
async fn a_child_that_was_given_up_holds_no_parent() {
    let (database, url) = ledger().await;
    let store = url.store().await.expect("a store");
    let mut other = connect(&database).await;
    other.execute("BEGIN").await.expect("begun");
    other.execute(CHILD).await.expect("a child");
    enqueue_parent(store.as_ref()).await;
    other.execute("ROLLBACK").await.expect("given up");
    let swept = store.sweep("housekeeping", 10).await.expect("swept");
    assert_eq!(swept.parents, 1);
}

#[tokio::test]
async fn of_a_parent_that_stops_waiting_and_a_child_one_comes_first_also_by_hand() {
    let (database, url) = ledger().await;
    let store = url.store().await.expect("a store");
    enqueue_parent(store.as_ref()).await;
    // The parent first: the child waits for its end and is refused.
    let mut first = connect(&database).await;
    first.execute("BEGIN").await.expect("begun");
    first.execute(CHILDREN_DONE).await.expect("it has no child");
    let mut late = connect(&database).await;
    let child = tokio::spawn(async move { late.execute(CHILD).await.map(drop) });
    until_one_waits(&database).await;
    first.execute("COMMIT").await.expect("it is ready");
    let said = child.await.expect("no panic").expect_err("it came late");
    assert!(said.to_string().contains("does not wait"), "{said}");

    // The child first: whoever ends the wait waits for it, and is refused.
    let (database, url) = ledger().await;
    let store = url.store().await.expect("a store");
    enqueue_parent(store.as_ref()).await;
    let mut first = connect(&database).await;
    first.execute("BEGIN").await.expect("begun");
    first.execute(CHILD).await.expect("a child");
    let mut late = connect(&database).await;
    let ends = tokio::spawn(async move { late.execute(CHILDREN_DONE).await.map(drop) });
    until_one_waits(&database).await;
    first.execute("COMMIT").await.expect("a child");
    let said = ends.await.expect("no panic").expect_err("it has a child");
    assert!(said.to_string().contains("required children"), "{said}");
    assert_eq!(parent_state(&database).await, "pending");
}

async fn until_one_waits(database: &PostgresDatabase) {
    for _ in 0..1_000 {
        if number(database, WAITING).await == 1 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    unreachable!("nobody waits for a lock");
}

//! The feed of PostgreSQL under writers that do what writers do: commit late, roll back, hold
//! transactions open and undo parts of them (S6 of the fault scenarios), and more events at once
//! than one reading takes.
//!
//! What both databases have in common is in `conformance.rs`. Next: `feed_postgres/writers.rs`.

#![expect(
    clippy::expect_used,
    reason = "a step that cannot be taken fails the test"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use ledgertop::board::Board;
use ledgertop::ledger::event::Event;
use ledgertop::ledger::feed::Cell;
use ledgertop::store::{self, Feed, LedgerUrl};
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection, Row as _};
use tokio::sync::RwLock;
use uuid::Uuid;

#[path = "support/postgres.rs"]
mod postgres;
#[path = "feed_postgres/writers.rs"]
mod writers;

use postgres::PostgresDatabase;
use writers::Plan;

/// The variable that asks for another number of events than the usual one.
const EVENTS: &str = "LEDGERTOP_TEST_FEED_EVENTS";
const USUAL_EVENTS: i64 = 12_000;
const WRITERS: u64 = 8;

async fn ledger() -> (PostgresDatabase, LedgerUrl) {
    let database = PostgresDatabase::create();
    let url = LedgerUrl::parse(database.url()).expect("a ledger");
    store::init(&url).await.expect("it is made");
    (database, url)
}

/// Runs SQL written by hand.
async fn sql(database: &PostgresDatabase, text: &str) {
    let mut connection = PgConnection::connect(database.url())
        .await
        .expect("connected");
    connection
        .execute(sqlx::raw_sql(AssertSqlSafe(text.to_owned())))
        .await
        .expect(text);
}

async fn number(database: &PostgresDatabase, query: &'static str) -> i64 {
    let mut connection = PgConnection::connect(database.url())
        .await
        .expect("connected");
    sqlx::query_scalar(query)
        .fetch_one(&mut connection)
        .await
        .expect(query)
}

async fn events_stored(database: &PostgresDatabase) -> i64 {
    number(database, "SELECT count(*) FROM job_events").await
}

/// A board fed by a feed, with a check that no event is missed, doubled or out of order.
struct Tail {
    feed: Box<dyn Feed>,
    board: Board,
    versions: BTreeMap<Uuid, u32>,
    delivered: i64,
}

impl Tail {
    /// Of a ledger that is still empty.
    async fn start(url: &LedgerUrl) -> Self {
        let mut feed = url.feed();
        let base = feed.base().await.expect("a base");
        assert!(base.cells.is_empty());
        Self {
            feed,
            board: Board::load(&base),
            versions: BTreeMap::new(),
            delivered: 0,
        }
    }

    fn take(&mut self, event: &Event) {
        let last = self.versions.insert(event.job, event.version).unwrap_or(0);
        assert_eq!(event.version, last + 1, "{} of {}", event.kind, event.job);
        self.board.apply(event);
        self.delivered += 1;
    }

    /// One reading; whether more is waiting.
    async fn read(&mut self) -> bool {
        let batch = self.feed.next().await.expect("the feed goes on");
        batch.events.iter().for_each(|event| self.take(event));
        batch.more
    }

    async fn catch_up(&mut self) {
        while self.read().await {}
    }

    /// Counts everything anew and compares. Nothing may commit meanwhile.
    async fn compare(&self, url: &LedgerUrl) {
        let base = url.feed().base().await.expect("a recount");
        let mut counts: BTreeMap<Cell, u64> = BTreeMap::new();
        for cell in base.cells {
            let count = cell.count;
            *counts.entry(Cell { count: 0, ..cell }).or_default() += count;
        }
        let recount: Vec<Cell> = counts
            .into_iter()
            .map(|(place, count)| Cell { count, ..place })
            .collect();
        let board: BTreeSet<Cell> = self.board.cells().into_iter().collect();
        let recount: BTreeSet<Cell> = recount.into_iter().collect();
        let only_board: Vec<_> = board.difference(&recount).collect();
        let only_recount: Vec<_> = recount.difference(&board).collect();
        assert!(
            only_board.is_empty() && only_recount.is_empty(),
            "on the board: {only_board:#?}\nin the recount: {only_recount:#?}"
        );
        assert_eq!(self.board.mismatches(), 0);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_tailing_board_equals_a_recount_at_every_sample() {
    let wanted = std::env::var(EVENTS).map_or(USUAL_EVENTS, |text| {
        text.parse().expect("a number of events")
    });
    let (database, url) = ledger().await;
    let mut tail = Tail::start(&url).await;
    // Whoever commits holds it for reading, so that a sample can see to it that nothing commits
    // between the reading and the recount, while transactions stay open all around.
    let commits = Arc::new(RwLock::new(()));
    let writers: Vec<_> = (0..WRITERS)
        .map(|seed| {
            let plan = Plan {
                url: url.clone(),
                address: database.url().to_owned(),
                commits: Arc::clone(&commits),
                seed,
            };
            tokio::spawn(writers::write(plan))
        })
        .collect();
    let mut samples = 0;
    while events_stored(&database).await < wanted {
        // Readings that meet commits at any point of theirs.
        for _reading in 0..8 {
            tail.read().await;
            tokio::time::sleep(Duration::from_millis(7)).await;
        }
        // A writer may hold a row that a call to the store waits for, and wait for its turn to
        // commit behind this one: then the sample is taken another time.
        let turn = tokio::time::timeout(Duration::from_millis(100), commits.write());
        let Ok(nobody_commits) = turn.await else {
            continue;
        };
        tail.catch_up().await;
        tail.compare(&url).await;
        let open = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
                    AND application_name = 'ledgertop' AND state LIKE 'idle in transaction%'";
        assert_eq!(
            number(&database, open).await,
            0,
            "a reading left a transaction open"
        );
        drop(nobody_commits);
        samples += 1;
    }
    for writer in writers {
        writer.abort();
    }
    // What was open is rolled back by the server, and what was on its way arrives.
    let busy = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
                AND pid <> pg_backend_pid() AND (application_name = 'writer' OR state <> 'idle')";
    while number(&database, busy).await > 0 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    tail.catch_up().await;
    tail.compare(&url).await;
    assert_eq!(tail.delivered, events_stored(&database).await);
    assert!(samples >= 5, "{samples} samples");
}

/// Makes `jobs` jobs by SQL in the queue `q`, and lets half of them be quarantined.
fn many_events(jobs: u32) -> String {
    format!(
        "INSERT INTO jobs (idempotency_key, queue, kind) \
         SELECT 'many ' || n || ' ' || clock_timestamp(), 'q', 'k' \
         FROM generate_series(1, {jobs}) n; \
         UPDATE jobs SET event = 'quarantine', state = 'quarantined', actor_kind = 'operator', \
         actor = 'x', version = version + 1 WHERE state = 'ready' AND substr(id::text, 36) < '8'"
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn more_events_than_one_reading_takes_come_in_pages_without_a_gap() {
    let (database, url) = ledger().await;
    let mut tail = Tail::start(&url).await;
    // One transaction is open while the others commit, and commits between two pages.
    let mut late = PgConnection::connect(database.url())
        .await
        .expect("connected");
    let insert = "BEGIN; INSERT INTO jobs (idempotency_key, queue, kind) \
                  SELECT 'late ' || n, 'q', 'k' FROM generate_series(1, 50) n";
    late.execute(insert).await.expect("a job of its own");
    sql(&database, &many_events(30_000)).await;
    assert!(tail.read().await, "there are more");
    let first = tail.delivered;
    assert!(first > 0 && first < 45_000, "{first} at once");
    late.execute("COMMIT").await.expect("committed");
    sql(&database, &many_events(100)).await;
    tail.catch_up().await;
    // What was committed between the pages lies beyond the snapshot that was being read.
    tail.catch_up().await;
    assert_eq!(tail.delivered, events_stored(&database).await);
    tail.compare(&url).await;
}

#[tokio::test]
async fn an_event_written_by_a_transaction_that_waited_comes_after_the_one_it_waited_for() {
    let (database, url) = ledger().await;
    let mut tail = Tail::start(&url).await;
    let insert = "INSERT INTO jobs (idempotency_key, queue, kind) VALUES ('waited for', 'q', 'k')";
    sql(&database, insert).await;
    // Has the lowest number of all, and writes last.
    let mut late = PgConnection::connect(database.url())
        .await
        .expect("connected");
    late.execute("BEGIN; SELECT pg_current_xact_id()")
        .await
        .expect("a number");
    sql(&database, &many_events(30_000)).await;
    let change = |event: &str, to: &str| {
        format!(
            "UPDATE jobs SET event = '{event}', state = '{to}', actor_kind = 'operator', \
             actor = 'ops', version = version + 1 \
             WHERE idempotency_key = 'waited for' AND state <> '{to}'"
        )
    };
    sql(&database, &change("quarantine", "quarantined")).await;
    let redrive = change("redrive", "ready") + "; COMMIT";
    late.execute(sqlx::raw_sql(AssertSqlSafe(redrive)))
        .await
        .expect("it waited for nobody");
    assert!(tail.read().await, "there are more");
    // Each reading checks that versions come one after the other.
    tail.catch_up().await;
    assert_eq!(tail.delivered, events_stored(&database).await);
    tail.compare(&url).await;
}

#[tokio::test]
async fn a_feed_whose_connection_is_cut_goes_on_where_it_was() {
    let (database, url) = ledger().await;
    let mut tail = Tail::start(&url).await;
    sql(&database, &many_events(100)).await;
    tail.catch_up().await;
    let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
               WHERE datname = current_database() AND application_name = 'ledgertop'";
    sql(&database, cut).await;
    sql(&database, &many_events(100)).await;
    let error = tail.feed.next().await.expect_err("the connection is gone");
    assert!(error.is_transient(), "{error:?}");
    tail.catch_up().await;
    assert_eq!(tail.delivered, events_stored(&database).await);
    tail.compare(&url).await;
}

#[tokio::test]
async fn a_moment_that_never_comes_is_read_without_a_panic() {
    let (database, url) = ledger().await;
    let mut tail = Tail::start(&url).await;
    sql(
        &database,
        "INSERT INTO jobs (idempotency_key, queue, kind, available_at) \
         VALUES ('a', 'q', 'k', 'infinity')",
    )
    .await;
    tail.catch_up().await;
    tail.compare(&url).await;
    assert_eq!(tail.delivered, 1);
}

#[tokio::test]
async fn a_reading_goes_through_the_index_of_transactions_whatever_is_stored() {
    let (database, url) = ledger().await;
    drop(url);
    sql(&database, &many_events(20_000)).await;
    sql(&database, "ANALYZE").await;
    let mut connection = PgConnection::connect(database.url())
        .await
        .expect("connected");
    connection
        .execute("SET plan_cache_mode = force_custom_plan; SET jit = off")
        .await
        .expect("as the feed's session");
    let statement = include_str!("../assets/sql/postgres/feed_next.sql");
    let prepare = format!("PREPARE reading (text, text[], bigint) AS {statement}");
    connection
        .execute(AssertSqlSafe(prepare))
        .await
        .expect("prepared");
    let snapshot: String = sqlx::query_scalar("SELECT pg_current_snapshot()::text")
        .fetch_one(&mut connection)
        .await
        .expect("a snapshot");
    let xmax = snapshot.split(':').nth(1).expect("its xmax").to_owned();
    sql(&database, &many_events(20)).await;

    let explain = format!(
        "EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF) \
         EXECUTE reading('{xmax}', '{{7}}', 20001)"
    );
    let rows = connection
        .fetch_all(sqlx::raw_sql(AssertSqlSafe(explain)))
        .await
        .expect("a plan");
    let plan: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    let plan = plan.join("\n");
    assert!(plan.contains("job_events_tx"), "{plan}");
    assert!(!plan.contains("Seq Scan"), "{plan}");
    let buffers: u32 = plan
        .lines()
        .find_map(|line| line.trim().strip_prefix("Buffers: shared hit="))
        .and_then(|rest| rest.split(' ').next())
        .and_then(|hit| hit.parse().ok())
        .expect("it says its buffers");
    assert!(buffers < 100, "{plan}");
}

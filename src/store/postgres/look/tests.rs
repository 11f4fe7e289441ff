//! Which index serves which query, asked of the planner, so that a change of a plan is noticed.

use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection};

use super::sql::DIALECT;
use super::{Limits, statement};
use crate::ledger::query::{Query, parse};
use crate::ledger::time::Timestamp;
use crate::ledger::view::JobOrder::{self, CreatedLast, NewestFirst, OldestFirst};
use crate::store::look::{self, Clause};
use crate::store::{self, LedgerUrl};

/// Jobs in every state, as many as make an index worth it.
const JOBS: &str = "SET session_replication_role = replica; \
    INSERT INTO jobs (idempotency_key, queue, tenant, kind, state, state_since, updated_at, \
      policy_version, worker, lease_expires_at, parent_key, reason, error_class) \
    SELECT 'k' || n, 'q' || n % 7, 't' || n % 5, 'work', state, now() - n * interval '1 s', now(), \
      1, CASE WHEN state = 'running' THEN 'w' END, \
      CASE WHEN state = 'running' THEN now() END, CASE WHEN n % 50 = 0 THEN 'p' || n END, \
      'timeout', 'transient' \
    FROM (SELECT n, (ARRAY['pending', 'ready', 'running', 'retry_wait', 'succeeded', 'succeeded', \
      'succeeded', 'dead', 'quarantined', 'discarded'])[1 + n % 10] AS state \
      FROM generate_series(1, 5000) AS n) AS numbered; \
    ANALYZE jobs; ANALYZE job_events; \
    SET enable_seqscan = off; SET enable_bitmapscan = off";

fn query(text: &str) -> Query {
    match parse(text, Timestamp::default(), &chrono::Utc) {
        Ok(query) => query,
        Err(error) => panic!("{text}: {error}"),
    }
}

async fn plan(connection: &mut PgConnection, clause: Option<Clause>) -> String {
    let mut explain = Clause::default();
    explain.sql("EXPLAIN (COSTS OFF) ");
    explain.add(&clause.unwrap());
    let lines: Vec<String> = statement(explain)
        .build_query_scalar()
        .fetch_all(connection)
        .await
        .unwrap();
    lines.join("\n")
}

#[tokio::test]
async fn each_way_to_jobs_goes_by_its_index() {
    let server = std::env::var("LEDGERTOP_TEST_POSTGRES").expect("run scripts/test");
    let name = format!("ledgertop_{}", uuid::Uuid::now_v7().simple());
    let mut owner = PgConnection::connect(&server).await.unwrap();
    let create = format!("CREATE DATABASE {name} TEMPLATE template0");
    owner.execute(AssertSqlSafe(create)).await.unwrap();
    let (base, _database) = server.rsplit_once('/').unwrap();
    let address = format!("{base}/{name}");
    let url = LedgerUrl::parse(&address).unwrap();
    store::init(&url).await.unwrap();
    let mut connection = PgConnection::connect(&address).await.unwrap();
    plans_are_as_they_should(&mut connection).await;
    let drop = format!("DROP DATABASE {name} WITH (FORCE)");
    owner.execute(AssertSqlSafe(drop)).await.unwrap();
}

async fn plans_are_as_they_should(connection: &mut PgConnection) {
    connection.execute(AssertSqlSafe(JOBS)).await.unwrap();
    let cases: [(&str, JobOrder, &str, bool); 13] = [
        ("state:dead", OldestFirst, "jobs_dead_letters", true),
        ("state:dead age>10m", NewestFirst, "jobs_dead_letters", true),
        (
            "state:quarantined reason:timeout",
            OldestFirst,
            "jobs_dead_letters",
            true,
        ),
        (
            "state:dead state:quarantined",
            OldestFirst,
            "jobs_dead_letters",
            false,
        ),
        (
            "state:ready queue:q1 tenant:t1",
            OldestFirst,
            "jobs_ready",
            true,
        ),
        ("state:ready queue:q1", OldestFirst, "jobs_ready", false),
        ("worker:w", OldestFirst, "jobs_leases", false),
        ("state:retry_wait", OldestFirst, "jobs_waiting", false),
        ("state:pending", OldestFirst, "jobs_waiting", false),
        ("key:k77", OldestFirst, "jobs_idempotency_key", false),
        ("key:k7*", OldestFirst, "jobs_idempotency_key", false),
        ("parent:p50", OldestFirst, "jobs_children", false),
        ("", CreatedLast, "jobs_pkey", true),
    ];
    for (text, order, index, is_in_order) in cases {
        let limits = Limits::new(order, None, 50);
        let now = super::Moment::from_micros(0);
        let clause = look::jobs(&query(text), &DIALECT, &limits.bounds(now));
        let plan = plan(connection, clause).await;
        assert!(plan.contains(index), "'{text}' {order:?}:\n{plan}");
        assert!(!plan.contains("Seq Scan on jobs"), "'{text}':\n{plan}");
        assert_eq!(!plan.contains("Sort"), is_in_order, "'{text}':\n{plan}");
    }
    let limits = Limits::new(OldestFirst, None, 50);
    let bounds = limits.bounds(super::Moment::from_micros(0));
    let leases = look::leases(&Query::default(), &DIALECT, &bounds);
    let leases = plan(connection, leases).await;
    assert!(
        leases.contains("jobs_leases") && !leases.contains("Seq Scan on jobs"),
        "{leases}"
    );
    let letters = look::dead_letters(&Query::default(), &DIALECT, &bounds);
    let letters = plan(connection, letters).await;
    assert!(letters.contains("jobs_dead_letters"), "{letters}");
    let acts = include_str!("../../../../assets/sql/postgres/acts.sql");
    let acts: Vec<String> = sqlx::query_scalar(AssertSqlSafe(format!("EXPLAIN {acts}")))
        .bind(super::Moment::from_micros(0))
        .bind(uuid::Uuid::max())
        .bind(1_i32)
        .bind(10_i64)
        .fetch_all(connection)
        .await
        .unwrap();
    assert!(acts.join("\n").contains("job_events_operator"), "{acts:?}");
}

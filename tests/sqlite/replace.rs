//! INSERT OR REPLACE removes rows without telling triggers: it must not get the better of a ledger.
//!
//! Tried by the library that ledgertop brings, with and without recursive triggers, since any
//! connection may set them. Next: `board.rs`.

use sqlx::{AssertSqlSafe, Connection as _, Executor as _};

use crate::laws;
use crate::ledger::{job, ledger};

/// Each tries to put something else in the place of what is there.
const ATTEMPTS: [&str; 9] = [
    "INSERT OR REPLACE INTO jobs (idempotency_key, queue, kind) VALUES ('a', 'q', 'k')",
    "REPLACE INTO jobs (id, idempotency_key, queue, kind) \
     SELECT id, idempotency_key, 'q', 'k' FROM jobs WHERE idempotency_key = 'a'",
    "REPLACE INTO jobs (id, idempotency_key, queue, kind) \
     SELECT id, 'c', 'q', 'k' FROM jobs WHERE idempotency_key = 'a'",
    "UPDATE OR REPLACE jobs SET idempotency_key = 'a' WHERE idempotency_key = 'b'",
    "UPDATE OR REPLACE jobs SET id = (SELECT id FROM jobs WHERE idempotency_key = 'a') \
     WHERE idempotency_key = 'b'",
    "REPLACE INTO job_events SELECT * FROM job_events WHERE seq = 1",
    "REPLACE INTO job_events (seq, job_id, version, event, to_state, at, queue, attempt, fence, \
     actor_kind, actor, policy, policy_version) SELECT 1, job_id, version, event, to_state, at, \
     'other', attempt, fence, actor_kind, actor, policy, policy_version FROM job_events \
     WHERE seq = 2",
    "UPDATE OR REPLACE job_events SET version = 1",
    "REPLACE INTO policies SELECT * FROM policies",
];

#[tokio::test]
async fn nothing_is_replaced() {
    for recursive in ["OFF", "ON"] {
        let ledger = ledger().await;
        ledger.enqueue(&[job("a"), job("b")]).await;
        let mut connection = laws::connect(ledger.path()).await;
        let pragma = format!("PRAGMA recursive_triggers = {recursive}");
        connection
            .execute(AssertSqlSafe(pragma))
            .await
            .expect("it is set");
        let everything = "SELECT id || idempotency_key || queue || version FROM jobs \
             UNION ALL SELECT seq || job_id || version || queue || event FROM job_events \
             UNION ALL SELECT name || version || max_attempts || created_at FROM policies";
        let before = laws::read(&mut connection, everything).await;
        for attempt in ATTEMPTS {
            let tried = connection.execute(attempt).await;
            assert!(tried.is_err(), "'{attempt}' with {recursive}");
            let after = laws::read(&mut connection, everything).await;
            assert_eq!(before, after, "'{attempt}' with {recursive}");
        }
        connection.close().await.expect("it closes");
        laws::hold(ledger.path()).await;
    }
}

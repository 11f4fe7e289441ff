//! A ledger's past, written straight into its tables: millions of jobs with all of their events,
//! as a day of batches would have left them. Every row is one that the triggers would have written.
//!
//! Triggers and indexes are put aside while the rows are written, and put back. The plan of who
//! became what is in `sql/plan_*.sql`: one job in five is ready, one in fifty a dead letter, one in
//! 250 waits for a retry, the rest succeeded. Next: [`crate::traffic`], what goes on after it.

use anyhow::Result;

use crate::place::{Place, Raw};

/// Jobs of one transaction of the plan.
const SLOT_JOBS: u64 = 100;
/// Milliseconds from one transaction of the plan to the next: five million jobs make a day.
const SLOT_MS: u64 = 1_728;
/// Slots from the last enqueue to now: the last settlement must lie in the past.
const REST_SLOTS: u64 = 10;

/// The policy of the jobs that are dead: the budget of one attempt.
const POLICY_ONCE: &str = "INSERT INTO policies (name, version, max_attempts, max_age_ms, \
     backoff_base_ms, backoff_cap_ms, retry_after_cap_ms, on_unknown) \
     VALUES ('once', 1, 1, 86400000, 5000, 900000, 3600000, 'bounded_retry')";

/// Fills an empty ledger with `jobs` jobs.
pub(crate) async fn seed(place: &Place, jobs: u64) -> Result<()> {
    let mut raw = place.raw().await?;
    raw.run(POLICY_ONCE).await?;
    let slots = jobs / SLOT_JOBS + REST_SLOTS;
    match raw {
        Raw::Postgres(_) => postgres(&mut raw, jobs, slots).await,
        Raw::Sqlite(_) => sqlite(&mut raw, jobs, slots).await,
    }
}

async fn postgres(raw: &mut Raw, jobs: u64, slots: u64) -> Result<()> {
    raw.run(
        "SET session_replication_role = replica; SET synchronous_commit = off; \
         SET maintenance_work_mem = '256MB'",
    )
    .await?;
    let past_ms = slots * SLOT_MS;
    raw.run(&format!(
        "CREATE TEMPORARY TABLE seed AS SELECT {jobs}::bigint AS jobs, now, \
           (extract(epoch FROM now) * 1000)::bigint - {past_ms} AS start_ms, \
           {SLOT_MS}::bigint AS slot_ms, pg_current_xact_id()::text::bigint AS first_tx \
         FROM (SELECT date_trunc('milliseconds', clock_timestamp()) AS now) AS clock"
    ))
    .await?;
    // One real transaction for each slot, so that the events name transactions that have ended.
    raw.run(&format!(
        "DO $$ BEGIN FOR slot IN 0..{slots} LOOP PERFORM pg_current_xact_id(); COMMIT; \
         END LOOP; END $$"
    ))
    .await?;
    let back = raw.pairs(include_str!("sql/indexes_postgres.sql")).await?;
    for (drop, _) in &back {
        raw.run(drop).await?;
    }
    raw.run(include_str!("sql/plan_postgres.sql")).await?;
    raw.run(include_str!("sql/jobs_postgres.sql")).await?;
    raw.run(include_str!("sql/events_postgres.sql")).await?;
    for (_, create) in &back {
        raw.run(create).await?;
    }
    raw.run("VACUUM (ANALYZE) jobs").await?;
    raw.run("VACUUM (ANALYZE) job_events").await?;
    raw.run("CHECKPOINT").await
}

async fn sqlite(raw: &mut Raw, jobs: u64, slots: u64) -> Result<()> {
    // Without a journal: a ledger that is half seeded is thrown away.
    raw.run("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -200000")
        .await?;
    let past_ms = slots * SLOT_MS;
    raw.run(&format!(
        "CREATE TEMPORARY TABLE seed AS SELECT {jobs} AS jobs, now, now - {past_ms} AS start_ms, \
           {SLOT_MS} AS slot_ms \
         FROM (SELECT CAST((julianday('now') - 2440587.5) * 86400000.0 AS INTEGER) AS now)"
    ))
    .await?;
    let back = raw.pairs(include_str!("sql/indexes_sqlite.sql")).await?;
    for (drop, _) in &back {
        raw.run(drop).await?;
    }
    raw.run(include_str!("sql/plan_sqlite.sql")).await?;
    raw.run(include_str!("sql/jobs_sqlite.sql")).await?;
    raw.run(include_str!("sql/events_sqlite.sql")).await?;
    for (_, create) in &back {
        raw.run(create).await?;
    }
    raw.run("PRAGMA journal_mode = WAL").await
}

/// Takes the history from an empty ledger: the same tables and indexes, no triggers. What a store
/// does there is what it would cost without the rules and the events.
pub(crate) async fn forget_history(place: &Place) -> Result<()> {
    let mut raw = place.raw().await?;
    let drops = match raw {
        Raw::Postgres(_) => raw.texts(include_str!("sql/triggers_postgres.sql")).await?,
        Raw::Sqlite(_) => raw.texts(include_str!("sql/triggers_sqlite.sql")).await?,
    };
    anyhow::ensure!(
        !drops.is_empty(),
        "a ledger without triggers was expected to have some"
    );
    for drop in drops {
        raw.run(&drop).await?;
    }
    Ok(())
}

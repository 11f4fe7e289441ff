//! What PostgreSQL says that its work has cost it, by the user it did the work for: each part of a
//! benchmark connects as a user of its own, so nothing is told apart by the text of statements.
//!
//! Needs the extension `pg_stat_statements`, which `scripts/with-postgres` preloads.

use anyhow::{Context as _, Result, bail};
use ledgertop::ledger::num;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::place::{Place, Raw};

/// What may be done by a user of the benchmark.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Rights {
    /// What a console needs.
    Read,
    /// What a worker needs.
    Write,
}

/// A user of the server whose work is counted.
pub(crate) struct Account {
    connection: Box<PgConnection>,
    user: String,
}

/// What was counted: statements, and the time and the pages that the server took for them.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Usage {
    /// Statements, as clients sent them.
    pub(crate) statements: f64,
    /// Planning and execution.
    pub(crate) server_ms: f64,
    /// Pages of tables and indexes, wherever they were found.
    pub(crate) buffers: f64,
}

impl Usage {
    /// The share of each, where it was counted for so many.
    pub(crate) fn each(self, times: u64) -> Self {
        let times = num::ratio(times);
        Self {
            statements: self.statements / times,
            server_ms: self.server_ms / times,
            buffers: self.buffers / times,
        }
    }
}

impl Account {
    /// Makes a user; `None` where the ledger is in no server.
    pub(crate) async fn open(place: &Place, rights: Rights) -> Result<Option<Self>> {
        let mut raw = place.raw().await?;
        if matches!(raw, Raw::Sqlite(_)) {
            return Ok(None);
        }
        raw.run("CREATE EXTENSION IF NOT EXISTS pg_stat_statements")
            .await
            .context("the server needs pg_stat_statements: run this by scripts/bench")?;
        // As long as the names that people give: it stands in every event.
        let number = Uuid::now_v7().simple().to_string();
        let user = format!("bench_{}", number.get(22..).unwrap_or(&number));
        let granted = match rights {
            Rights::Read => "SELECT",
            Rights::Write => "SELECT, INSERT, UPDATE",
        };
        raw.run(&format!(
            "CREATE ROLE {user} LOGIN; \
             GRANT {granted} ON ALL TABLES IN SCHEMA public TO {user}; \
             ALTER ROLE {user} SET pg_stat_statements.track_planning = on"
        ))
        .await?;
        let Raw::Postgres(connection) = raw else {
            bail!("the connection changed its kind");
        };
        Ok(Some(Self { connection, user }))
    }

    /// The user's name.
    pub(crate) fn user(&self) -> &str {
        &self.user
    }

    /// Forgets what was counted so far.
    pub(crate) async fn reset(&mut self) -> Result<()> {
        sqlx::query("SELECT pg_stat_statements_reset(oid, 0, 0) FROM pg_roles WHERE rolname = $1")
            .bind(&self.user)
            .execute(&mut *self.connection)
            .await?;
        Ok(())
    }

    /// What was counted since.
    pub(crate) async fn usage(&mut self) -> Result<Usage> {
        let (statements, server_ms, buffers) = sqlx::query_as(include_str!("sql/usage.sql"))
            .bind(&self.user)
            .fetch_one(&mut *self.connection)
            .await?;
        Ok(Usage {
            statements,
            server_ms,
            buffers,
        })
    }

    /// Writes every changed page, so that what follows begins alike.
    pub(crate) async fn checkpoint(&mut self) -> Result<()> {
        sqlx::query("CHECKPOINT")
            .execute(&mut *self.connection)
            .await?;
        Ok(())
    }

    /// Bytes of write-ahead log that the server ever wrote.
    pub(crate) async fn wal_bytes(&mut self) -> Result<u64> {
        let bytes: i64 = sqlx::query_scalar("SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint")
            .fetch_one(&mut *self.connection)
            .await?;
        Ok(num::unsigned(bytes))
    }
}

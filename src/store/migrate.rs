//! The schema of a ledger: which migrations there are, which one a ledger is at, and how it gets to
//! the newest.
//!
//! Owns the list of migrations and the table `ledgertop_schema`. Migrations are appended, never
//! changed: the table keeps the digest of each text that was run, and a ledger of another text is
//! refused. All that are missing run in one transaction under a lock, so that two `init` at once
//! take turns and an interrupted one leaves nothing behind. Next: [`super::url`], which opens what
//! was made here.

use std::fmt::Write as _;
use std::path::Path;

use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection as _, PgConnection, SqliteConnection};

use sha2::{Digest as _, Sha256};

use super::fault::{Call, Effect};
use super::url::{DatabaseKind, LedgerUrl};
use super::{StoreError, postgres, sqlite};
use crate::ledger::text::SafeText;

/// One step of a schema.
#[derive(Debug, Clone, Copy)]
pub struct Migration {
    /// Its number, from 1, without a gap.
    pub version: i64,
    /// Its name, as the file's.
    pub name: &'static str,
    /// What it runs.
    pub sql: &'static str,
}

impl Migration {
    /// The SHA-256 of its text, in hex.
    pub fn digest(&self) -> String {
        let digest = Sha256::digest(self.sql);
        digest.iter().fold(String::new(), |mut hex, byte| {
            // Writing to a string cannot fail.
            write!(hex, "{byte:02x}").ok();
            hex
        })
    }
}

/// Reads what was applied to a ledger, as [`judge`] takes it.
pub(crate) const LIST: &str = include_str!("../../assets/sql/schema_list.sql");

/// A migration that was applied to a ledger: its version, and the digest of its text where that was
/// noted.
pub(crate) type Applied = (i64, Option<String>);

const POSTGRES: [Migration; 2] = [
    Migration {
        version: 1,
        name: "ledger",
        sql: include_str!("../../assets/migrations/postgres/0001_ledger.sql"),
    },
    Migration {
        version: 2,
        name: "plans",
        sql: include_str!("../../assets/migrations/postgres/0002_plans.sql"),
    },
];

const SQLITE: [Migration; 2] = [
    Migration {
        version: 1,
        name: "ledger",
        sql: include_str!("../../assets/migrations/sqlite/0001_ledger.sql"),
    },
    Migration {
        version: 2,
        name: "plans",
        sql: include_str!("../../assets/migrations/sqlite/0002_plans.sql"),
    },
];

/// Every migration of a database, oldest first.
pub const fn migrations(kind: DatabaseKind) -> &'static [Migration] {
    match kind {
        DatabaseKind::Sqlite => &SQLITE,
        DatabaseKind::Postgres => &POSTGRES,
    }
}

/// The newest schema this program knows.
pub fn known_version(kind: DatabaseKind) -> i64 {
    migrations(kind).last().map_or(0, |last| last.version)
}

/// What `init` did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MigrationReport {
    /// The schema before; 0 where there was no ledger.
    pub before: i64,
    /// The schema after.
    pub after: i64,
    /// The names of the migrations that ran.
    pub applied: Vec<&'static str>,
}

/// Everything `init` would run on an empty database, as text.
pub fn print_sql(kind: DatabaseKind) -> String {
    let table = match kind {
        DatabaseKind::Sqlite => sqlite::SCHEMA_TABLE,
        DatabaseKind::Postgres => postgres::SCHEMA_TABLE,
    };
    let mut text = String::from(table);
    for migration in migrations(kind) {
        text.push('\n');
        text.push_str(migration.sql);
        let (version, name, digest) = (migration.version, migration.name, migration.digest());
        let note = format!(
            "\nINSERT INTO ledgertop_schema (version, name, digest)\n\
             VALUES ({version}, '{name}', '{digest}');\n"
        );
        text.push_str(&note);
    }
    text
}

/// Whether this program can work with a ledger to which these migrations were applied, oldest
/// first.
///
/// # Errors
/// [`StoreError::NotALedger`] for none, [`StoreError::NewerSchema`], [`StoreError::ChangedSchema`],
/// [`StoreError::OlderSchema`].
pub(crate) fn judge(
    kind: DatabaseKind,
    ledger: &SafeText,
    applied: &[Applied],
) -> Result<(), StoreError> {
    let known = known_version(kind);
    let ledger = ledger.clone();
    let found = applied.last().map_or(0, |(version, _digest)| *version);
    let changed = migrations(kind).iter().find(|migration| {
        let noted = applied
            .iter()
            .find(|(version, _)| *version == migration.version);
        migration.version <= found
            && noted.and_then(|(_, digest)| digest.as_ref()) != Some(&migration.digest())
    });
    match found {
        0 => Err(StoreError::NotALedger { ledger }),
        found if found > known => Err(StoreError::NewerSchema {
            ledger,
            found,
            known,
        }),
        _any if let Some(migration) = changed => Err(StoreError::ChangedSchema {
            ledger,
            migration: migration.name,
        }),
        found if found < known => Err(StoreError::OlderSchema {
            ledger,
            found,
            known,
        }),
        _the_known_one => Ok(()),
    }
}

/// Creates a ledger, or brings it to the newest schema. Safe to run twice, and from two places at
/// once.
///
/// # Errors
/// Where the database cannot be reached, or its schema is newer than this program's.
pub async fn init(url: &LedgerUrl) -> Result<MigrationReport, StoreError> {
    let (path, options) = (url.path(), url.postgres_options());
    let mut session = Session::begin(url.shown(), path, options).await?;
    let noted = session.applied().await?;
    let before = noted.last().map_or(0, |(version, _digest)| *version);
    if before > 0 {
        // An older ledger is what `init` is for; a newer or another one is left alone.
        match judge(url.kind(), url.shown(), &noted) {
            Ok(()) | Err(StoreError::OlderSchema { .. }) => {}
            Err(unknown) => return Err(unknown),
        }
    }
    let mut applied = Vec::new();
    for migration in migrations(url.kind()) {
        if migration.version > before {
            session.apply(migration).await?;
            applied.push(migration.name);
        }
    }
    session.commit().await?;
    Ok(MigrationReport {
        before,
        after: known_version(url.kind()),
        applied,
    })
}

/// One connection inside the transaction of `init`. Dropped without a commit, it leaves nothing.
struct Session<'a> {
    connection: Either,
    ledger: &'a SafeText,
}

enum Either {
    Sqlite(SqliteConnection),
    Postgres(Box<PgConnection>),
}

/// Runs the same text on whichever database it is.
macro_rules! on_either {
    ($connection:expr, $name:ident => $run:expr) => {
        match $connection {
            Either::Sqlite($name) => $run.map(|_done| ()),
            Either::Postgres(boxed) => {
                let $name = &mut **boxed;
                $run.map(|_done| ())
            }
        }
    };
}

impl<'a> Session<'a> {
    /// Connects, begins a transaction, waits for the turn, and makes the list of migrations.
    async fn begin(
        ledger: &'a SafeText,
        path: Option<&Path>,
        options: Option<&PgConnectOptions>,
    ) -> Result<Self, StoreError> {
        let connect = Call {
            operation: "init",
            ledger,
            effect: Effect::None,
        };
        let connection = match (path, options) {
            (Some(path), _) => Either::Sqlite(sqlite::connect_to_create(path, ledger).await?),
            (None, Some(options)) => Either::Postgres(Box::new(
                PgConnection::connect_with(options)
                    .await
                    .map_err(|error| connect.unreachable(&error.to_string()))?,
            )),
            (None, None) => return Err(connect.unreachable("it is in no database")),
        };
        let mut session = Self { connection, ledger };
        match session.connection {
            Either::Sqlite(_) => {
                session.run("BEGIN IMMEDIATE").await?;
                session.run(sqlite::SCHEMA_TABLE).await?;
            }
            Either::Postgres(_) => {
                session.run("BEGIN").await?;
                session.run(postgres::SCHEMA_LOCK).await?;
                session.run(postgres::SCHEMA_TABLE).await?;
            }
        }
        Ok(session)
    }

    const fn call(&self) -> Call<'a> {
        Call {
            operation: "init",
            ledger: self.ledger,
            effect: Effect::Change,
        }
    }

    async fn run(&mut self, sql: &'static str) -> Result<(), StoreError> {
        on_either!(&mut self.connection, to => sqlx::raw_sql(sql).execute(to).await)
            .map_err(|error| self.call().explain(&error))
    }

    async fn applied(&mut self) -> Result<Vec<Applied>, StoreError> {
        match &mut self.connection {
            Either::Sqlite(to) => sqlx::query_as(LIST).fetch_all(to).await,
            Either::Postgres(to) => sqlx::query_as(LIST).fetch_all(&mut **to).await,
        }
        .map_err(|error| self.call().explain(&error))
    }

    async fn apply(&mut self, migration: &Migration) -> Result<(), StoreError> {
        self.run(migration.sql).await?;
        let note = include_str!("../../assets/sql/schema_applied.sql");
        on_either!(&mut self.connection, to => sqlx::query(note)
            .bind(migration.version)
            .bind(migration.name)
            .bind(migration.digest())
            .execute(to)
            .await)
        .map_err(|error| self.call().explain(&error))
    }

    async fn commit(mut self) -> Result<(), StoreError> {
        self.run("COMMIT").await?;
        // The work is done; how the connection ends changes nothing.
        match self.connection {
            Either::Sqlite(connection) => drop(connection.close().await),
            Either::Postgres(connection) => drop(connection.close().await),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn migrations_are_numbered_without_a_gap() {
        for kind in [DatabaseKind::Sqlite, DatabaseKind::Postgres] {
            for (number, migration) in (1_i64..).zip(migrations(kind)) {
                assert_eq!(migration.version, number, "{kind:?}");
            }
            assert_eq!(known_version(DatabaseKind::Sqlite), known_version(kind));
            assert!(print_sql(kind).contains("CREATE TABLE jobs"), "{kind:?}");
        }
    }

    #[test]
    fn only_the_known_schema_is_worked_with() {
        let ledger = SafeText::new("sqlite:a.db");
        let known = known_version(DatabaseKind::Sqlite);
        let judged = |applied: &[Applied]| judge(DatabaseKind::Sqlite, &ledger, applied);
        let mut applied: Vec<Applied> = migrations(DatabaseKind::Sqlite)
            .iter()
            .map(|migration| (migration.version, Some(migration.digest())))
            .collect();
        assert!(matches!(judged(&[]), Err(StoreError::NotALedger { .. })));
        assert!(judged(&applied).is_ok());
        for other in [None, Some("0".repeat(64))] {
            let mut changed = applied.clone();
            changed[0].1 = other;
            let said = judged(&changed).expect_err("it is another").to_string();
            assert!(said.contains("'ledger' has since changed"), "{said}");
        }
        applied.push((known + 1, Some("0".repeat(64))));
        let newer = judged(&applied).expect_err("it is newer").to_string();
        assert!(
            newer.contains("upgrade ledgertop, nothing was changed"),
            "{newer}"
        );
    }
}

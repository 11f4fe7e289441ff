//! Where the measured ledgers are: a database of its own for each, made fresh and gone with the
//! value. Next: [`crate::seed`], how a ledger gets its past.

use anyhow::{Context as _, Result};
use ledgertop::store::migrate;
use ledgertop::store::url::{DatabaseKind, LedgerUrl};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection, SqliteConnection};

use crate::postgres::PostgresDatabase;
use crate::sqlite::SqliteDatabase;

/// A ledger of a benchmark's own.
pub(crate) struct Place {
    database: Database,
}

enum Database {
    Postgres(PostgresDatabase),
    Sqlite(SqliteDatabase),
}

/// A connection past the store, for what a store never does: to seed, to measure, to recount.
pub(crate) enum Raw {
    Postgres(Box<PgConnection>),
    Sqlite(Box<SqliteConnection>),
}

impl Place {
    /// An empty ledger, made as `init` makes it.
    pub(crate) async fn create(kind: DatabaseKind) -> Result<Self> {
        let database = match kind {
            DatabaseKind::Postgres => Database::Postgres(PostgresDatabase::create()),
            DatabaseKind::Sqlite => Database::Sqlite(SqliteDatabase::create()),
        };
        let place = Self { database };
        migrate::init(&place.ledger(None)?).await?;
        Ok(place)
    }

    /// The ledger as this user of the server reaches it, or as its owner.
    pub(crate) fn ledger(&self, user: Option<&str>) -> Result<LedgerUrl> {
        Ok(LedgerUrl::parse(&self.url(user))?)
    }

    /// The same as text.
    pub(crate) fn url(&self, user: Option<&str>) -> String {
        match (&self.database, user) {
            (Database::Postgres(database), Some(user)) => {
                let url = database.url();
                let host = url.split_once('@').map_or(url, |(_, host)| host);
                format!("postgres://{user}@{host}")
            }
            (Database::Postgres(database), None) => database.url().to_owned(),
            (Database::Sqlite(database), _one_user_only) => database.url().to_owned(),
        }
    }

    /// A connection past the store, as the ledger's owner.
    pub(crate) async fn raw(&self) -> Result<Raw> {
        self.connect(None).await
    }

    /// A connection past the store, as this user of the server.
    pub(crate) async fn raw_as(&self, user: &str) -> Result<Raw> {
        self.connect(Some(user)).await
    }

    async fn connect(&self, user: Option<&str>) -> Result<Raw> {
        let url = self.url(user);
        Ok(match &self.database {
            Database::Postgres(_) => Raw::Postgres(Box::new(PgConnection::connect(&url).await?)),
            Database::Sqlite(_) => Raw::Sqlite(Box::new(SqliteConnection::connect(&url).await?)),
        })
    }
}

impl Raw {
    /// Runs statements that were put together here.
    pub(crate) async fn run(&mut self, sql: &str) -> Result<()> {
        let statement = sqlx::raw_sql(AssertSqlSafe(sql.to_owned()));
        match self {
            Self::Postgres(to) => statement.execute(&mut **to).await.map(|_done| ()),
            Self::Sqlite(to) => statement.execute(&mut **to).await.map(|_done| ()),
        }
        .with_context(|| format!("in: {}", sql.chars().take(200).collect::<String>()))
    }

    /// What PostgreSQL does by itself after a while; in SQLite nobody does it.
    pub(crate) async fn analyze(&mut self) -> Result<()> {
        match self {
            Self::Postgres(_) => self.run("ANALYZE jobs").await,
            Self::Sqlite(_) => Ok(()),
        }
    }

    /// Reads one column of texts.
    pub(crate) async fn texts(&mut self, sql: &'static str) -> Result<Vec<String>> {
        Ok(match self {
            Self::Postgres(to) => sqlx::query_scalar(sql).fetch_all(&mut **to).await,
            Self::Sqlite(to) => sqlx::query_scalar(sql).fetch_all(&mut **to).await,
        }?)
    }

    /// Reads rows of any shape, and says how many there were.
    pub(crate) async fn rows(&mut self, sql: &'static str) -> Result<usize> {
        Ok(match self {
            Self::Postgres(to) => sqlx::query(sql).fetch_all(&mut **to).await?.len(),
            Self::Sqlite(to) => sqlx::query(sql).fetch_all(&mut **to).await?.len(),
        })
    }

    /// Reads two columns of texts.
    pub(crate) async fn pairs(&mut self, sql: &'static str) -> Result<Vec<(String, String)>> {
        Ok(match self {
            Self::Postgres(to) => sqlx::query_as(sql).fetch_all(&mut **to).await,
            Self::Sqlite(to) => sqlx::query_as(sql).fetch_all(&mut **to).await,
        }?)
    }

    /// Reads one number.
    pub(crate) async fn number(&mut self, sql: &'static str) -> Result<i64> {
        Ok(match self {
            Self::Postgres(to) => sqlx::query_scalar(sql).fetch_one(&mut **to).await,
            Self::Sqlite(to) => sqlx::query_scalar(sql).fetch_one(&mut **to).await,
        }?)
    }
}

/// The database's name in a row.
pub(crate) const fn name(kind: DatabaseKind) -> &'static str {
    match kind {
        DatabaseKind::Postgres => "PostgreSQL",
        DatabaseKind::Sqlite => "SQLite",
    }
}

//! A ledger of a case's own, with everything that a case may do to it: the store, feeds, and SQL
//! written by hand.
//!
//! Knows how the two databases differ in spelling (moments, casts), so that a case does not. Next:
//! `steps.rs`, the usual steps of a case.

#![expect(clippy::panic, reason = "a helper that cannot help fails the test")]

use std::sync::Arc;

use ledgertop::store::{self, DatabaseKind, Feed, LedgerUrl, Store};
use sqlx::{
    AssertSqlSafe, Column as _, Connection as _, Executor as _, PgConnection, Row as _,
    SqliteConnection, ValueRef as _,
};

use crate::postgres_database::PostgresDatabase;
use crate::sqlite_database::SqliteDatabase;

/// A fresh ledger; it goes with the value.
pub(crate) struct Ledger {
    url: LedgerUrl,
    address: String,
    store: tokio::sync::OnceCell<Arc<dyn Store>>,
    _database: Database,
}

enum Database {
    Postgres(#[expect(dead_code, reason = "held for its drop")] PostgresDatabase),
    Sqlite(#[expect(dead_code, reason = "held for its drop")] SqliteDatabase),
}

/// A row as text, column by column.
pub(crate) type TextRow = Vec<Option<String>>;

impl Ledger {
    /// A ledger in a PostgreSQL database of its own.
    pub(crate) async fn postgres() -> Self {
        let database = PostgresDatabase::create();
        let address = database.url().to_owned();
        Self::make(address, Database::Postgres(database)).await
    }

    /// A ledger in a SQLite file of its own.
    pub(crate) async fn sqlite() -> Self {
        let database = SqliteDatabase::create();
        let address = database.url().to_owned();
        Self::make(address, Database::Sqlite(database)).await
    }

    async fn make(address: String, database: Database) -> Self {
        let url = LedgerUrl::parse(&address).unwrap_or_else(|error| panic!("{error}"));
        store::init(&url)
            .await
            .unwrap_or_else(|error| panic!("init of {url}: {error}"));
        Self {
            url,
            address,
            store: tokio::sync::OnceCell::new(),
            _database: database,
        }
    }

    pub(crate) const fn url(&self) -> &LedgerUrl {
        &self.url
    }

    pub(crate) const fn kind(&self) -> DatabaseKind {
        self.url.kind()
    }

    /// The store of the case.
    pub(crate) async fn store(&self) -> &dyn Store {
        self.store
            .get_or_init(|| self.another_store())
            .await
            .as_ref()
    }

    /// Another store on the same ledger, as another process would have.
    pub(crate) async fn another_store(&self) -> Arc<dyn Store> {
        self.url
            .store()
            .await
            .unwrap_or_else(|error| panic!("{error}"))
    }

    pub(crate) fn feed(&self) -> Box<dyn Feed> {
        self.url.feed()
    }

    /// A connection for SQL written by hand.
    pub(crate) async fn connect(&self) -> Connection {
        let opened = match self.kind() {
            DatabaseKind::Postgres => PgConnection::connect(&self.address)
                .await
                .map(|connection| Connection::Postgres(Box::new(connection))),
            DatabaseKind::Sqlite => SqliteConnection::connect(&self.address)
                .await
                .map(|connection| Connection::Sqlite(Box::new(connection))),
        };
        opened.unwrap_or_else(|error| panic!("no connection to {}: {error}", self.url))
    }

    /// Runs SQL written by hand; the error is what the database said.
    pub(crate) async fn sql(&self, text: &str) -> Result<(), String> {
        self.connect().await.run(text).await
    }

    /// Reads rows as text; every column must be text already (`CAST(x AS text)`).
    pub(crate) async fn rows(&self, text: &str) -> Vec<TextRow> {
        self.connect().await.rows(text).await
    }

    /// The one value of the one row, as text.
    pub(crate) async fn value(&self, text: &str) -> String {
        let rows = self.rows(text).await;
        match rows.as_slice() {
            [row] => match row.as_slice() {
                [Some(value)] => value.clone(),
                other => panic!("'{text}' gave {other:?}"),
            },
            other => panic!("'{text}' gave {} rows", other.len()),
        }
    }

    /// SQL for the moment `milliseconds` from now (negative: ago), as the column type has it.
    pub(crate) fn moment(&self, milliseconds: i64) -> String {
        match self.kind() {
            DatabaseKind::Postgres => {
                format!("(clock_timestamp() + {milliseconds} * interval '1 millisecond')")
            }
            DatabaseKind::Sqlite => format!(
                "(CAST((julianday('now') - 2440587.5) * 86400000.0 + 0.5 AS INTEGER) \
                 + {milliseconds})"
            ),
        }
    }

    /// The database's clock, in milliseconds since 1970.
    pub(crate) async fn now_ms(&self) -> i64 {
        let query = match self.kind() {
            DatabaseKind::Postgres => {
                "SELECT CAST(CAST(floor(extract(epoch FROM clock_timestamp()) * 1000) AS bigint) \
                 AS text)"
            }
            DatabaseKind::Sqlite => {
                "SELECT CAST(CAST((julianday('now') - 2440587.5) * 86400000.0 + 0.5 AS INTEGER) \
                 AS text)"
            }
        };
        let text = self.value(query).await;
        text.parse()
            .unwrap_or_else(|error| panic!("'{text}' is no moment: {error}"))
    }
}

/// A connection for SQL written by hand. Dropped inside a transaction it is a crash.
pub(crate) enum Connection {
    Postgres(Box<PgConnection>),
    Sqlite(Box<SqliteConnection>),
}

impl Connection {
    /// Runs one or more statements.
    pub(crate) async fn run(&mut self, text: &str) -> Result<(), String> {
        let query = sqlx::raw_sql(AssertSqlSafe(text.to_owned()));
        let done = match self {
            Self::Postgres(connection) => connection.execute(query).await.map(|_done| ()),
            Self::Sqlite(connection) => connection.execute(query).await.map(|_done| ()),
        };
        done.map_err(|error| match error.as_database_error() {
            Some(said) => said.message().to_owned(),
            None => error.to_string(),
        })
    }

    /// Reads rows as text.
    pub(crate) async fn rows(&mut self, text: &str) -> Vec<TextRow> {
        let query = sqlx::raw_sql(AssertSqlSafe(text.to_owned()));
        let read = match self {
            Self::Postgres(connection) => connection.fetch_all(query).await.map(|rows| {
                let texts = rows.iter().map(|row| {
                    let columns = row.columns().iter();
                    let text = |at| {
                        let value = row.try_get_raw(at).ok()?;
                        value.as_str().ok().map(str::to_owned)
                    };
                    columns.map(|column| text(column.ordinal())).collect()
                });
                texts.collect()
            }),
            Self::Sqlite(connection) => connection.fetch_all(query).await.map(|rows| {
                let texts = rows.iter().map(|row| {
                    let columns = row.columns().iter();
                    let text = |at| {
                        let is_null = row.try_get_raw(at).map_or(true, |value| value.is_null());
                        (!is_null).then(|| row.get_unchecked::<String, _>(at))
                    };
                    columns.map(|column| text(column.ordinal())).collect()
                });
                texts.collect()
            }),
        };
        read.unwrap_or_else(|error| panic!("'{text}': {error}"))
    }
}

//! The helpers that other tests stand on: each gives a database of its own, and takes it away.

use sqlx::{Connection as _, Executor as _, PgConnection, Row as _, SqliteConnection};

#[path = "support/postgres.rs"]
mod postgres;
#[path = "support/sqlite.rs"]
mod sqlite;

use postgres::PostgresDatabase;
use sqlite::SqliteDatabase;

/// How many tables named `mark` the database holds.
async fn marks(url: &str) -> Result<i64, sqlx::Error> {
    let mut connection = PgConnection::connect(url).await?;
    let count = "SELECT count(*) FROM pg_class WHERE relname = 'mark'";
    connection.fetch_one(count).await?.try_get(0)
}

#[tokio::test]
async fn each_test_gets_a_postgres_database_of_its_own() {
    let (one, two) = (PostgresDatabase::create(), PostgresDatabase::create());
    let mut connection = PgConnection::connect(one.url())
        .await
        .expect("the database is there");
    connection
        .execute("CREATE TABLE mark ()")
        .await
        .expect("it can be written");

    assert_eq!(
        marks(one.url()).await.expect("the first database answers"),
        1
    );
    assert_eq!(
        marks(two.url()).await.expect("the second database answers"),
        0
    );
}

#[tokio::test]
async fn a_postgres_database_goes_with_its_test_even_when_someone_is_connected() {
    let database = PostgresDatabase::create();
    let url = database.url().to_owned();
    let connection = PgConnection::connect(&url)
        .await
        .expect("the database is there");
    drop(database);

    let error = marks(&url).await.expect_err("the database is gone");
    let code = error
        .as_database_error()
        .and_then(|cause| cause.code().map(String::from));
    assert_eq!(
        code.as_deref(),
        Some("3D000"),
        "invalid_catalog_name, not '{error}'"
    );
    drop(connection);
}

#[tokio::test]
async fn each_test_gets_a_sqlite_file_of_its_own_that_goes_with_it() {
    let database = SqliteDatabase::create();
    let url = format!("{}?mode=rwc", database.url());
    let mut connection = SqliteConnection::connect(&url)
        .await
        .expect("the file can be made");
    connection
        .execute("CREATE TABLE mark (id)")
        .await
        .expect("it can be written");
    connection.close().await.expect("it can be closed");
    assert_ne!(SqliteDatabase::create().url(), database.url());
    drop(database);

    SqliteConnection::connect(url.trim_end_matches("?mode=rwc"))
        .await
        .expect_err("it is gone");
}

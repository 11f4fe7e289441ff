//! `init` on both databases.

use std::thread;

use crate::postgres::PostgresDatabase;
use crate::program::Program;
use crate::sqlite::SqliteDatabase;

fn init_says_what_it_did_and_may_be_repeated(url: &str, database: &str) {
    let program = Program::new();
    let first = program.run(&["--ledger", url, "init"]);
    assert_eq!(first.code, 0, "{}", first.messages);
    assert_eq!(first.out, "");
    let created = format!("created a {database} ledger at {url}: schema ");
    assert!(first.messages.starts_with(&created), "{}", first.messages);
    assert!(
        first.messages.contains("migrations that ran: 'ledger'"),
        "{}",
        first.messages
    );
    let again = program.run(&["--ledger", url, "init"]);
    assert_eq!(again.code, 0, "{}", again.messages);
    assert!(
        again.messages.ends_with("already; nothing was changed\n"),
        "{}",
        again.messages
    );
}

fn init_from_several_places_at_once_creates_one_ledger(url: &str) {
    let runs: Vec<_> = (0..6)
        .map(|_| {
            let url = url.to_owned();
            thread::spawn(move || Program::new().run(&["--ledger", &url, "init"]))
        })
        .collect();
    let ran: Vec<_> = runs.into_iter().map(|run| run.join().unwrap()).collect();
    assert!(ran.iter().all(|ran| ran.code == 0), "{ran:?}");
    let creators = ran
        .iter()
        .filter(|ran| ran.messages.starts_with("created"))
        .count();
    assert_eq!(creators, 1, "{ran:?}");
}

fn what_is_no_ledger_says_how_to_make_it_one(url: &str) {
    let ran = Program::new().run(&["--ledger", url, "snapshot"]);
    assert_eq!(ran.code, 3, "{}", ran.messages);
    let how = format!("create one with: ledgertop --ledger {url} init");
    assert!(ran.messages.contains(&how), "{}", ran.messages);
}

#[test]
fn init_on_sqlite() {
    init_says_what_it_did_and_may_be_repeated(SqliteDatabase::create().url(), "SQLite");
    // Only now and then do two of them meet where the file becomes a WAL file.
    for _ in 0..8 {
        init_from_several_places_at_once_creates_one_ledger(SqliteDatabase::create().url());
    }
    what_is_no_ledger_says_how_to_make_it_one(SqliteDatabase::create().url());
}

#[test]
fn init_on_postgres() {
    init_says_what_it_did_and_may_be_repeated(PostgresDatabase::create().url(), "PostgreSQL");
    init_from_several_places_at_once_creates_one_ledger(PostgresDatabase::create().url());
    what_is_no_ledger_says_how_to_make_it_one(PostgresDatabase::create().url());
}

#[test]
fn the_printed_sql_is_for_the_database_that_is_meant() {
    let sqlite = SqliteDatabase::create();
    let ran = Program::new().run(&["--ledger", sqlite.url(), "init", "--print-sql"]);
    assert_eq!(ran.code, 0, "{}", ran.messages);
    assert!(ran.out.contains("CREATE TABLE jobs"), "{}", ran.out);
    assert!(
        ran.out.contains("STRICT") && !ran.out.contains("plpgsql"),
        "{}",
        ran.out
    );
    // Printing needs no server.
    let postgres = [
        "--ledger",
        "postgres://nobody@nowhere.invalid/x",
        "init",
        "--print-sql",
    ];
    let ran = Program::new().run(&postgres);
    assert_eq!(ran.code, 0, "{}", ran.messages);
    assert!(ran.out.contains("plpgsql"), "{}", ran.out);
}

//! What only a ledger in a SQLite file must show: one file, many processes, other SQLite libraries,
//! crashes.
//!
//! What holds on every database is in `conformance.rs`. Next: the files beside this one.

#[path = "sqlite/board.rs"]
mod board;
#[path = "sqlite/crash.rs"]
mod crash;
#[path = "sqlite/feed.rs"]
mod feed;
#[path = "sqlite/files.rs"]
mod files;
#[path = "sqlite/laws.rs"]
mod laws;
#[path = "sqlite/ledger.rs"]
mod ledger;
#[path = "sqlite/processes.rs"]
mod processes;
#[path = "sqlite/replace.rs"]
mod replace;
#[path = "support/sqlite.rs"]
mod sqlite_database;
#[path = "sqlite/store.rs"]
mod store;

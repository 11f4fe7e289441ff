//! What only a ledger in a SQLite file must show: one file, many processes, other SQLite libraries,
//! crashes.
//!
//! What holds on every database is in `conformance.rs`. Next: the files beside this one.

#[path = "sqlite/feed.rs"]
mod feed;
#[path = "sqlite/files.rs"]
mod files;
#[path = "sqlite/ledger.rs"]
mod ledger;
#[path = "support/sqlite.rs"]
mod sqlite_database;

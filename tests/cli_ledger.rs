//! The commands that need a ledger, through the real program, on both databases.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

#[path = "cli_ledger/demo.rs"]
mod demo;
#[path = "cli_ledger/enqueue.rs"]
mod enqueue;
#[path = "cli_ledger/init.rs"]
mod init;
#[path = "cli_ledger/lists.rs"]
mod lists;
#[path = "cli_ledger/policy.rs"]
mod policy;
#[path = "support/postgres.rs"]
mod postgres;
#[path = "cli/program.rs"]
mod program;
#[path = "cli_ledger/snapshot.rs"]
mod snapshot;
#[path = "support/sqlite.rs"]
mod sqlite;

//! ledgertop: an operations console in the terminal over a durable ledger of background jobs.

pub mod board;
pub mod cli;
pub mod config;
pub mod console;
pub mod demo;
pub mod ledger;
pub mod operate;
pub mod store;
pub mod verify;
pub mod worker;

//! The domain of the ledger, pure: what a job is, which states it may be in, which events move it
//! and who may cause them, how retries are spaced and when they end.
//!
//! Nothing here does I/O, reads a clock or draws a random number: times and random sources are
//! passed in. The module knows neither a database nor a terminal. Start at [`transition`], the one
//! table that everything else obeys, then read [`event`], the record that every change leaves
//! behind.
#![deny(
    clippy::wildcard_enum_match_arm,
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing
)]

pub mod audit;
pub mod backoff;
pub mod error_class;
pub mod event;
pub mod feed;
pub mod fingerprint;
pub mod groups;
pub mod job;
pub mod meaning;
pub mod num;
pub mod plan;
pub mod policy;
pub mod query;
pub mod retry_after;
pub mod state;
pub mod text;
pub mod time;
pub mod transition;
pub mod view;

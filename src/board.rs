//! The board: every number of the overview, as a fold over the event feed.
//!
//! A board is loaded from a [`crate::ledger::feed::Base`] and then changes only by applying events.
//! It knows neither a database nor a terminal, and reads no clock: a [`summary::Summary`] is asked
//! for as of a moment. Next on the walk of a row to a cell: the console's overview screen.

pub mod summary;

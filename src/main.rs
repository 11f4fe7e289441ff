//! The `ledgertop` program.
fn main() {}

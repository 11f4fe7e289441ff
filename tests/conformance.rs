//! One suite for every database: each case is a function over a [`ledger::Ledger`] and runs on
//! PostgreSQL and on SQLite.
//!
//! Owns the list of cases. What one database does alone belongs into a test of its own. A case that
//! stands in a file but not in this list does not compile without a warning. Next:
//! `conformance/ledger.rs`, what a case may do.

#[path = "conformance/ledger.rs"]
mod ledger;
#[path = "support/postgres.rs"]
mod postgres_database;
#[path = "conformance/schema.rs"]
mod schema;
#[path = "support/sqlite.rs"]
mod sqlite_database;

/// Makes a test of every case, once for each database.
macro_rules! on_both_databases {
    ($($module:ident: $($case:ident),+ $(,)?;)+) => {
        mod postgres {
            $(mod $module {
                $(#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
                async fn $case() {
                    let ledger = crate::ledger::Ledger::postgres().await;
                    crate::$module::$case(&ledger).await;
                })+
            })+
        }
        mod sqlite {
            $(mod $module {
                $(#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
                async fn $case() {
                    let ledger = crate::ledger::Ledger::sqlite().await;
                    crate::$module::$case(&ledger).await;
                })+
            })+
        }
    };
}

on_both_databases! {
    schema:
        init_makes_the_newest_schema_and_a_second_one_changes_nothing,
        two_inits_at_once_take_turns,
        the_transitions_table_is_the_table;
}

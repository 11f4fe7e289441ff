//! One list of cases for both databases.
//!
//! A case is a function over a fresh ledger, which the test's own module `ledger` makes. A test
//! names this file with `#[macro_use] #[path = "support/cases.rs"] mod cases;`.

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

//! What holds when processes die, networks lie and databases stand still: the scenarios of
//! `docs/faults.md`, with real processes of the real program and real databases.
//!
//! Owns the list of scenarios. One seed draws every fault; it is said at the start and with every
//! failure. Each scenario ends with `ledgertop verify`. Next: `faults/plan.rs`, the seed and the
//! size.

#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a scenario that cannot go on fails"
)]

#[path = "faults/answers.rs"]
mod answers;
#[expect(
    dead_code,
    reason = "made for the worker's own cases, which use more of it"
)]
#[path = "worker/bench.rs"]
mod bench;
#[path = "faults/crew.rs"]
mod crew;
#[expect(
    dead_code,
    clippy::unwrap_used,
    reason = "made for the terminal's own cases, which use more of it"
)]
#[path = "terminal/driver.rs"]
mod driver;
#[path = "faults/hangs.rs"]
mod hangs;
#[path = "faults/kills.rs"]
mod kills;
#[expect(
    dead_code,
    reason = "made for the conformance suite, which uses more of it"
)]
#[path = "conformance/ledger.rs"]
mod ledger;
#[path = "faults/plan.rs"]
mod plan;
#[path = "support/postgres.rs"]
mod postgres_database;
#[path = "faults/process.rs"]
mod process;
#[path = "faults/proxy.rs"]
mod proxy;
#[expect(
    dead_code,
    reason = "made for the cases of handlers behind HTTP, which use more of it"
)]
#[path = "work/server.rs"]
mod server;
#[path = "faults/sink.rs"]
mod sink;
#[path = "support/sqlite.rs"]
mod sqlite_database;
#[path = "faults/wire.rs"]
mod wire;

/// Makes a test of every scenario, on one database.
macro_rules! scenarios {
    ($database:ident: $($module:ident::$scenario:ident),+ $(,)?) => {
        mod $database {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $scenario() {
                let ledger = crate::ledger::Ledger::$database().await;
                crate::$module::$scenario(&ledger).await;
            })+
        }
    };
}

scenarios! { postgres:
    answers::an_enqueue_whose_answer_is_lost_is_made_once_and_says_so_when_asked_again,
    answers::a_settlement_whose_answer_is_lost_is_made_once_and_says_so_when_asked_again,
    answers::a_claim_whose_answer_is_lost_comes_back_when_its_lease_ends,
    answers::an_act_whose_answer_is_lost_is_made_once_and_says_so_when_asked_again,
    answers::a_renewal_and_a_sweep_whose_answers_are_lost_harm_nothing,
    hangs::a_database_that_hangs_ends_every_call_at_its_deadline_and_is_found_again,
    kills::workers_killed_at_any_point_lose_no_job_and_double_no_effect,
}

scenarios! { sqlite:
    hangs::a_writer_that_stands_still_ends_every_write_at_its_deadline_and_no_read,
    kills::workers_killed_at_any_point_lose_no_job_and_double_no_effect,
}

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
#[path = "faults/clocks.rs"]
mod clocks;
#[path = "faults/contention.rs"]
mod contention;
#[path = "faults/crew.rs"]
mod crew;
#[expect(
    dead_code,
    clippy::unwrap_used,
    reason = "made for the terminal's own cases, which use more of it"
)]
#[path = "terminal/driver.rs"]
mod driver;
#[path = "faults/dropped.rs"]
mod dropped;
#[path = "faults/enqueuers.rs"]
mod enqueuers;
#[path = "faults/hangs.rs"]
mod hangs;
#[path = "faults/holders.rs"]
mod holders;
#[path = "faults/kills.rs"]
mod kills;
#[expect(
    dead_code,
    reason = "made for the conformance suite, which uses more of it"
)]
#[path = "conformance/ledger.rs"]
mod ledger;
#[path = "faults/outage.rs"]
mod outage;
#[path = "faults/plan.rs"]
mod plan;
#[path = "faults/poison.rs"]
mod poison;
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
#[path = "faults/waits.rs"]
mod waits;
#[path = "faults/wire.rs"]
mod wire;

/// Makes a test of every scenario. Most of them wait more than they compute, so that those for both
/// databases run on both at once.
macro_rules! scenarios {
    ($databases:tt: $($module:ident::$scenario:ident),+ $(,)?) => {
        $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $scenario() {
            let runs = scenarios!(@runs $module::$scenario $databases);
            for (database, run) in runs {
                if let Err(error) = run.await {
                    panic!("on {database}: {error}");
                }
            }
        })+
    };
    (@runs $module:ident::$scenario:ident [$($database:ident),+]) => {
        [$((stringify!($database), tokio::spawn(async {
            let ledger = ledger::Ledger::$database().await;
            $module::$scenario(&ledger).await;
        }))),+]
    };
}

scenarios! { [postgres, sqlite]:
    contention::all_kinds_of_writers_at_once_meet_no_error_that_is_not_retried,
    dropped::calls_dropped_at_every_await_leave_no_connection_and_no_lock,
    enqueuers::an_enqueuer_killed_at_every_step_loses_nothing_that_it_acknowledged,
    holders::a_command_ten_leases_long_keeps_its_job,
    holders::a_worker_that_stood_still_past_its_leases_is_refused_and_that_is_recorded,
    kills::workers_killed_at_any_point_lose_no_job_and_double_no_effect,
    outage::retries_after_an_outage_are_spread_evenly_and_are_no_second_one,
    poison::poison_ends_after_its_budget_and_others_hardly_notice,
    waits::a_wait_that_no_clock_holds_ends_in_the_age_budget,
    waits::hostile_headers_lead_to_waits_within_the_caps,
}

scenarios! { [postgres]:
    answers::a_claim_whose_answer_is_lost_is_told_to_its_worker_when_asked_for,
    answers::a_worker_whose_claims_and_settlements_lose_their_answers_spends_no_attempt,
    answers::a_renewal_and_a_sweep_whose_answers_are_lost_harm_nothing,
    answers::a_settlement_whose_answer_is_lost_is_made_once_and_says_so_when_asked_again,
    answers::an_act_whose_answer_is_lost_is_made_once_and_says_so_when_asked_again,
    answers::an_enqueue_whose_answer_is_lost_is_made_once_and_says_so_when_asked_again,
    clocks::no_clock_of_a_worker_decides_anything,
    hangs::a_database_that_hangs_ends_every_call_at_its_deadline_and_is_found_again,
    holders::a_worker_that_is_cut_off_loses_its_job_in_time_and_two_never_run_it_at_once,
}

scenarios! { [sqlite]:
    clocks::a_machine_whose_clock_is_set_breaks_no_law,
    hangs::a_writer_that_stands_still_ends_every_write_at_its_deadline_and_no_read,
}

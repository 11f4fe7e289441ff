//! Workers over real ledgers: each case is a function over a fresh ledger and runs on PostgreSQL
//! and on SQLite.
//!
//! Owns the list of cases, and the body of the worker processes that some cases start (this very
//! program, asked for one ignored test). Next: `worker/bench.rs`, what a case stands on.

#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a case that cannot go on fails"
)]

#[macro_use]
#[path = "support/cases.rs"]
mod cases;
#[path = "worker/attempts.rs"]
mod attempts;
#[path = "worker/bench.rs"]
mod bench;
#[path = "worker/faults.rs"]
mod faults;
#[path = "worker/faulty.rs"]
mod faulty;
#[path = "worker/leases.rs"]
mod leases;
#[expect(
    dead_code,
    reason = "made for the conformance suite, which uses more of it"
)]
#[path = "conformance/ledger.rs"]
mod ledger;
#[path = "worker/many.rs"]
mod many;
#[path = "support/postgres.rs"]
mod postgres_database;
#[path = "worker/process.rs"]
mod process;
#[path = "support/sqlite.rs"]
mod sqlite_database;

on_both_databases! {
    attempts:
        a_job_is_run_once_and_settled_with_its_output,
        a_budget_of_three_attempts_ends_dead_after_exactly_three,
        retry_after_is_a_floor_under_the_wait,
        a_permanent_failure_is_quarantined_with_its_first_attempt,
        an_unknown_failure_is_held_until_its_lease_ends_where_the_policy_says_so,
        panics_and_timeouts_are_typed_and_harm_no_other_job,
        a_parent_that_failed_is_retried_like_any_other_job,
        a_parent_waits_for_its_required_children_and_for_no_other;
    leases:
        a_handler_ten_leases_long_keeps_its_job,
        a_worker_that_dies_leaves_its_jobs_to_the_next,
        a_job_that_kills_every_worker_is_dead_after_exactly_its_budget,
        a_late_result_is_refused_and_recorded,
        a_shutdown_finishes_what_it_can_and_gives_back_the_rest_with_its_attempt,
        a_revoked_job_stops_its_handler;
    faults:
        lost_answers_are_never_counted_as_failures,
        a_claim_whose_answer_was_lost_is_taken_up_at_once_and_costs_no_attempt,
        results_wait_for_a_ledger_that_is_away,
        a_settlement_that_is_refused_holds_up_no_other,
        two_housekeepers_move_each_job_once;
    many:
        workers_in_tasks_share_one_ledger_without_doubling,
        workers_in_processes_share_one_ledger_without_doubling,
        jobs_of_a_killed_process_are_taken_over,
        a_process_that_was_stopped_past_its_lease_is_refused_when_it_goes_on,
        no_queue_has_more_jobs_in_hand_than_its_limit_and_holds_up_no_other,
        a_tenant_with_many_jobs_keeps_no_other_waiting;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "the body of the worker processes that other cases start"]
async fn worker_process() {
    process::body().await;
}

//! Handlers in other processes, over real ledgers: behind HTTP, as commands, and through the real
//! program. Each case is a function over a fresh ledger and runs on PostgreSQL and on SQLite.
//!
//! Owns the list of cases. Next: `work/server.rs`, the far side of the HTTP cases.

#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a case that cannot go on fails"
)]

#[macro_use]
#[path = "support/cases.rs"]
mod cases;
#[expect(
    dead_code,
    reason = "made for the worker's own cases, which use more of it"
)]
#[path = "worker/bench.rs"]
mod bench;
#[path = "work/exec.rs"]
mod exec;
#[path = "work/http.rs"]
mod http;
#[expect(
    dead_code,
    reason = "made for the conformance suite, which uses more of it"
)]
#[path = "conformance/ledger.rs"]
mod ledger;
#[path = "work/node.rs"]
mod node;
#[path = "support/postgres.rs"]
mod postgres_database;
#[path = "work/program.rs"]
mod program;
#[path = "work/server.rs"]
mod server;
#[path = "work/sql.rs"]
mod sql;
#[path = "support/sqlite.rs"]
mod sqlite_database;
#[path = "work/tls.rs"]
mod tls;

on_both_databases! {
    http:
        a_429_waits_for_its_retry_after_and_the_next_answer_completes,
        every_status_ends_as_the_table_says,
        the_config_is_over_the_table,
        a_request_carries_the_facts_of_its_attempt,
        the_output_reference_is_of_the_header_or_of_a_json_body,
        a_redirect_is_not_followed,
        a_private_address_is_not_connected_to,
        an_answer_that_is_cut_late_or_none_is_typed,
        a_huge_body_is_not_waited_for,
        a_date_in_retry_after_is_seen_from_the_ledgers_clock,
        no_more_requests_are_under_way_than_the_worker_may_hold;
    tls:
        an_authority_of_ones_own_is_trusted_and_no_other_and_names_are_checked,
        the_authorities_come_from_a_flag_or_from_the_config;
    exec:
        every_exit_ends_as_the_table_says,
        a_command_gets_the_payload_and_the_facts_of_its_attempt,
        a_timeout_ends_the_command_with_all_that_it_started,
        a_command_that_does_not_listen_is_killed_after_its_grace,
        what_a_command_leaves_behind_is_ended,
        a_shutdown_ends_the_commands_that_it_gives_back,
        only_the_end_of_a_long_error_is_kept;
    program:
        a_first_signal_drains_and_a_second_ends_at_once,
        a_worker_ends_when_its_queues_are_empty,
        queues_and_their_limits_may_come_from_the_config,
        an_unknown_failure_is_held_for_a_person_where_the_policy_says_so,
        a_command_does_not_see_the_workers_own_variables;
    node:
        a_handler_in_node_answers_429_and_then_200;
    sql:
        workers_of_sql_alone_share_a_queue_with_ours_and_some_are_killed,
        a_worker_of_sql_alone_learns_what_to_do_with_a_delivery;
}

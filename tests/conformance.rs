//! One suite for every database: each case is a function over a [`ledger::Ledger`] and runs on
//! PostgreSQL and on SQLite.
//!
//! Owns the list of cases. What one database does alone belongs into a test of its own. A case that
//! stands in a file but not in this list does not compile without a warning. Next:
//! `conformance/ledger.rs`, what a case may do.

#[path = "conformance/audit.rs"]
mod audit;
#[path = "conformance/enqueue.rs"]
mod enqueue;
#[path = "conformance/feed.rs"]
mod feed;
#[path = "conformance/laws.rs"]
mod laws;
#[path = "conformance/leases.rs"]
mod leases;
#[path = "conformance/ledger.rs"]
mod ledger;
#[path = "conformance/look.rs"]
mod look;
#[path = "conformance/look_corrupt.rs"]
mod look_corrupt;
#[path = "conformance/operate.rs"]
mod operate;
#[path = "conformance/plan_sets.rs"]
mod plan_sets;
#[path = "conformance/plans.rs"]
mod plans;
#[path = "support/postgres.rs"]
mod postgres_database;
#[path = "conformance/schema.rs"]
mod schema;
#[path = "support/sqlite.rs"]
mod sqlite_database;
#[path = "conformance/steps.rs"]
mod steps;
#[path = "conformance/work.rs"]
mod work;

/// Makes a test of every case, once for each database. Whatever a case does, the ledger's laws hold
/// afterwards.
macro_rules! on_both_databases {
    ($($module:ident: $($case:ident),+ $(,)?;)+) => {
        mod postgres {
            $(mod $module {
                $(#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
                async fn $case() {
                    let ledger = crate::ledger::Ledger::postgres().await;
                    crate::$module::$case(&ledger).await;
                    crate::audit::holds_its_laws(&ledger, stringify!($module)).await;
                })+
            })+
        }
        mod sqlite {
            $(mod $module {
                $(#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
                async fn $case() {
                    let ledger = crate::ledger::Ledger::sqlite().await;
                    crate::$module::$case(&ledger).await;
                    crate::audit::holds_its_laws(&ledger, stringify!($module)).await;
                })+
            })+
        }
    };
}

on_both_databases! {
    schema:
        init_makes_the_newest_schema_and_a_second_one_changes_nothing,
        two_inits_at_once_take_turns,
        a_newer_schema_is_refused_and_left_alone,
        a_schema_of_another_text_is_refused_and_left_alone,
        a_database_without_a_ledger_says_how_to_make_one,
        a_ledger_without_plans_is_upgraded_with_its_jobs,
        the_transitions_table_is_the_table;
    enqueue:
        a_known_key_is_a_duplicate_of_the_job_that_has_it,
        a_key_twice_in_one_batch_is_one_job_and_a_duplicate,
        producers_racing_for_the_same_keys_make_one_job_of_each,
        a_call_repeated_after_a_lost_answer_finds_its_own_jobs,
        a_batch_is_enqueued_whole_or_not_at_all,
        a_job_that_breaks_a_bound_is_named_by_place_and_key,
        everything_that_was_asked_for_arrives_at_the_worker,
        a_job_is_not_ready_before_it_is_due,
        a_new_job_is_under_the_newest_version_of_its_policy,
        policies_applied_at_once_get_versions_without_a_gap,
        rules_out_of_their_range_are_refused,
        a_parent_waits_for_its_required_children_in_any_order,
        a_parent_that_failed_is_due_again_like_any_job,
        a_required_child_of_a_parent_that_has_begun_is_refused,
        an_enqueue_of_nothing_changes_nothing,
        a_job_of_a_family_can_be_set_aside_and_sent_back;
    work:
        the_oldest_ready_jobs_are_claimed_first,
        each_lane_gives_its_share_in_the_order_asked,
        a_hundred_claimers_never_share_a_job,
        each_verdict_leads_where_the_table_says,
        the_output_is_written_with_the_completion_and_cut_to_its_bound,
        one_call_settles_many_and_claims_the_next,
        a_spent_attempt_budget_makes_a_dead_letter,
        a_retry_past_the_age_budget_makes_a_dead_letter,
        attempts_are_counted_until_the_budget_is_spent,
        a_failed_job_waits_as_long_as_it_was_told,
        a_settle_with_an_old_fence_is_refused_and_recorded,
        only_the_worker_that_holds_a_lease_settles_it,
        a_settle_repeated_after_a_lost_answer_learns_what_it_did,
        a_settle_repeated_with_another_answer_is_another_settle,
        outcomes_keep_the_order_of_the_settlements,
        a_reason_that_is_no_registered_word_is_refused_as_a_whole;
    leases:
        a_renewal_moves_the_lease_and_a_stale_one_is_recorded,
        a_lease_that_ran_out_is_taken_back_or_ends_the_job,
        a_sweep_moves_no_more_than_its_limit,
        sweeps_at_once_share_the_work,
        a_delivery_learns_what_to_do_with_it,
        of_many_deliveries_of_one_job_one_runs_it,
        a_revoked_job_refuses_its_late_result,
        what_a_worker_holds_is_told_as_its_claim_was,
        an_attempt_that_nobody_settled_is_counted_and_stays_counted,
        sql_by_hand_counts_an_unsettled_attempt_without_saying_so,
        a_hint_wakes_whoever_waits,
        a_job_given_back_wakes_whoever_waits;
    operate:
        each_operation_does_what_the_table_allows_and_nothing_else,
        a_redrive_keeps_id_and_key_and_begins_a_fresh_budget,
        a_promoted_job_is_ready_at_once,
        the_last_failure_stays_when_a_job_is_set_aside_or_sent_back,
        an_act_on_a_version_that_has_passed_changes_nothing,
        of_two_operators_one_acts_and_the_other_is_told,
        an_act_repeated_after_a_lost_answer_learns_what_it_did;
    look:
        every_test_of_the_language_finds_what_it_says,
        ages_parents_and_children_are_asked_of_the_database,
        each_order_is_total_and_pages_are_its_pieces,
        rows_that_change_between_pages_are_neither_skipped_nor_told_twice,
        a_story_holds_all_that_happened_to_a_job_and_its_family,
        of_a_job_with_very_many_events_the_first_and_the_last_are_read,
        leases_come_in_the_order_of_their_ends_with_their_renewals,
        dead_letters_are_grouped_and_those_that_died_again_are_counted,
        acts_of_operators_are_told_the_newest_first_and_page_by_page,
        a_look_up_that_was_dropped_leaves_the_next_working;
    look_corrupt:
        a_row_that_cannot_be_understood_is_named_and_the_list_goes_on,
        an_event_that_cannot_be_understood_is_told_among_the_others;
    plans:
        the_table_of_plan_transitions_is_the_table,
        a_redrive_goes_one_job_first_and_widens_while_it_holds,
        a_job_that_fails_again_as_one_did_before_stops_the_plan,
        jobs_that_changed_are_left_alone_and_named,
        what_was_approved_never_changes,
        a_job_is_in_a_plan_once_and_operated_on_once,
        no_event_names_a_plan_that_is_not_under_way,
        of_many_executors_one_holds_the_plan,
        a_plan_moves_as_its_table_says_and_its_executor_is_told,
        the_ends_of_a_plan_that_nobody_carries_out_are_recorded,
        every_operation_works_in_bulk,
        a_revoke_outlives_renewals_and_nothing_else;
    plan_sets:
        a_filter_freezes_the_jobs_that_it_holds_for_and_no_other,
        plans_are_looked_up_and_stand_in_the_audit;
    laws:
        whatever_the_table_does_not_hold_is_refused_by_name,
        every_move_of_the_table_can_be_made_by_hand_and_leaves_its_event,
        a_job_enqueued_by_hand_is_a_job_like_any_other,
        a_change_without_a_step_of_the_version_is_refused,
        a_legal_event_may_not_change_anything_else,
        what_is_out_of_bounds_is_refused_whoever_writes_it,
        what_names_a_job_never_changes,
        history_is_written_once_and_by_the_ledger_alone,
        a_crash_in_the_middle_leaves_nothing_half_done,
        rows_equal_the_last_event_of_their_history;
    feed:
        a_base_counts_every_live_job_once,
        a_board_fed_by_events_equals_a_recount,
        every_event_comes_once_and_a_jobs_own_in_order,
        an_event_carries_all_that_a_fold_needs,
        hostile_text_is_safe_before_it_reaches_a_screen;
    audit:
        a_move_that_the_table_does_not_hold_breaks_l1,
        an_event_that_was_removed_breaks_l1,
        an_event_that_cannot_be_understood_breaks_l1,
        a_moment_before_the_last_breaks_l2,
        a_job_whose_row_is_gone_breaks_l3_and_the_sum,
        a_job_that_is_gone_whole_breaks_l3_where_events_have_numbers,
        a_settle_with_an_old_fence_breaks_l4,
        a_settle_by_another_worker_breaks_l4,
        a_second_end_of_an_attempt_breaks_l5,
        two_jobs_with_one_key_break_l5,
        an_attempt_beyond_the_budget_breaks_l6,
        a_start_before_its_moment_breaks_l6,
        a_parent_that_did_not_wait_breaks_l6,
        a_redrive_of_an_unknown_plan_breaks_l7,
        a_row_that_was_changed_behind_its_events_breaks_l8,
        a_change_that_was_never_recorded_breaks_l8,
        a_row_that_nobody_enqueued_breaks_l9,
        a_way_out_of_a_terminal_state_breaks_l10,
        a_ledger_of_several_pages_is_read_once_and_whole,
        a_ledger_at_work_breaks_no_law;
}

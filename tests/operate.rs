//! What people do to jobs, with real processes: the scenarios S12 to S15 of bulk operations, and
//! the commands that act, on both databases. Each ends with the ledger's laws.
//!
//! Executors and operators are processes of the program; the worker is a task of the test, so that
//! a test decides which job fails when. Next: `operate/place.rs`, what a test stands on.

#![expect(clippy::panic, reason = "a step that cannot be taken fails the test")]

#[path = "operate/place.rs"]
mod place;
#[path = "support/postgres.rs"]
mod postgres_database;
#[path = "support/sqlite.rs"]
mod sqlite_database;

use std::time::Duration;

use ledgertop::ledger::plan::{JobOutcome, PlanState};
use ledgertop::ledger::state::State;

use place::{Fails, Place, said};

/// Makes a test of every scenario, once for each database.
macro_rules! on_both_databases {
    ($($scenario:ident),+ $(,)?) => {
        mod postgres {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
            async fn $scenario() {
                let place = crate::Place::postgres().await;
                crate::$scenario(&place).await;
                place.holds_its_laws();
            })+
        }
        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
            async fn $scenario() {
                let place = crate::Place::sqlite().await;
                crate::$scenario(&place).await;
                place.holds_its_laws();
            })+
        }
    };
}

on_both_databases! {
    s12_a_canary_that_fails_again_stops_the_plan_and_no_other_job_is_touched,
    s13_a_job_that_fails_again_stops_the_plan_within_its_batch,
    s14_an_executor_killed_anywhere_is_followed_by_another,
    s14_of_four_operators_one_carries_the_plan_out,
    s14_workers_carry_on_what_an_operator_left,
    s15_of_two_editors_of_a_job_the_second_is_told,
    s15_jobs_that_changed_and_new_failures_are_left_alone,
    one_job_is_acted_on_at_once_with_a_receipt,
    what_would_change_is_shown_and_nothing_is_done,
    an_act_is_refused_in_a_read_only_session_and_where_nobody_confirms,
    plans_are_listed_paused_resumed_and_cancelled,
}

async fn s12_a_canary_that_fails_again_stops_the_plan_and_no_other_job_is_touched(place: &Place) {
    let jobs = place.dead_letters(30).await;
    let worker = place.worker(Fails::All);
    let done = place.run(&[
        "redrive",
        "--filter",
        "state:quarantined",
        "--reason",
        "mended?",
        "--yes",
        "--stop-percent",
        "100",
    ]);
    worker.stop().await;
    assert_eq!(done.status.code(), Some(1), "{}", said(&done));
    let told = String::from_utf8_lossy(&done.stderr);
    assert!(
        told.contains("is stopped: job ") && told.contains("same permanent reason 'malformed'"),
        "{told}"
    );
    assert!(told.contains("29 jobs stay as they are"), "{told}");
    let plan = place.only_plan().await;
    assert_eq!(plan.state, PlanState::Stopped);
    assert_eq!((plan.progress.failed, plan.progress.waiting), (1, 29));
    let mut touched = 0;
    for job in jobs {
        let row = place.job(job).await;
        assert_eq!(row.state, State::Quarantined);
        touched += row.redrives;
    }
    assert_eq!(touched, 1);
}

async fn s13_a_job_that_fails_again_stops_the_plan_within_its_batch(place: &Place) {
    // The batches of 30 jobs are 1, 10 and 19; of the last, and of one that a rate cuts in pieces.
    for (first, last, item, rate) in [
        (1, 10, 0, "0"),
        (1, 10, 9, "0"),
        (11, 29, 3, "0"),
        (1, 10, 1, "3"),
    ] {
        place.dead_letters(30).await;
        let id = place.approved(&["--stop-percent", "100", "--rate", rate]);
        let frozen = place.plan_jobs(id).await;
        let worker = place.worker(Fails::Job(frozen[first + item].job));
        let done = place.run(&["plan", "run", &id.to_string()]);
        worker.stop().await;
        assert_eq!(done.status.code(), Some(1), "{}", said(&done));
        let plan = place.plan(id).await;
        assert_eq!(plan.state, PlanState::Stopped, "{plan:?}");
        let why = plan.stop_reason.map(|why| why.to_string());
        let why = why.unwrap_or_default();
        assert!(why.contains(&frozen[first + item].job.to_string()), "{why}");
        let jobs = place.plan_jobs(id).await;
        for (position, job) in jobs.iter().enumerate() {
            let touched = job.outcome != JobOutcome::Waiting;
            assert!(
                touched || position > first + item,
                "batch {first}: {position}"
            );
            assert!(!touched || position <= last, "batch {first}: {position}");
            if !touched {
                assert_eq!(place.job(job.job).await.redrives, 0, "it stays where it is");
            }
        }
        place.discard_all_dead_letters();
    }
}

async fn s14_an_executor_killed_anywhere_is_followed_by_another(place: &Place) {
    let jobs = place.dead_letters(60).await;
    let id = place.approved(&["--batch-max", "4"]);
    let worker = place.worker(Fails::None);
    let mut kills = 0;
    let mut seed = 7_u64;
    while place.plan(id).await.state == PlanState::Running {
        let mut executor = place.spawn(&["plan", "run", &id.to_string(), "--lease", "500ms"]);
        // Some milliseconds after it took the plan: wherever it is then.
        place.until_held(id, &mut executor).await;
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        tokio::time::sleep(Duration::from_millis(seed >> 57)).await;
        if executor.try_wait().is_ok_and(|ended| ended.is_none()) {
            executor.kill().unwrap_or_else(|error| panic!("{error}"));
            kills += 1;
        }
        drop(executor.wait());
        assert!(kills < 500, "the plan never ends");
    }
    worker.stop().await;
    assert!(kills >= 3, "{kills} kills show little");
    let plan = place.plan(id).await;
    assert_eq!(plan.state, PlanState::Done);
    assert_eq!((plan.progress.succeeded, plan.progress.total), (60, 60));
    for job in jobs {
        let row = place.job(job).await;
        assert_eq!((row.state, row.redrives), (State::Succeeded, 1));
    }
}

async fn s14_of_four_operators_one_carries_the_plan_out(place: &Place) {
    place.dead_letters(5).await;
    let id = place.approved(&[]);
    let mut operators: Vec<_> = (0..4)
        .map(|_each| place.spawn(&["plan", "run", &id.to_string()]))
        .collect();
    // Nobody works yet, so that the winner waits for its canary while the others are told.
    let mut told = Vec::new();
    let mut winner = None;
    while told.len() < 3 {
        let mut open = Vec::new();
        for mut operator in operators {
            match operator.try_wait() {
                Ok(Some(_status)) => told.push(place::output_of(operator)),
                _still_running => open.push(operator),
            }
        }
        assert!(!open.is_empty(), "nobody carries the plan out");
        if told.len() == 3 {
            winner = open.pop();
            break;
        }
        operators = open;
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    for refused in told {
        assert_eq!(refused.status.code(), Some(1), "{}", said(&refused));
        let text = said(&refused);
        assert!(text.contains("is carried out by '"), "{text}");
    }
    let worker = place.worker(Fails::None);
    let winner = winner.unwrap_or_else(|| panic!("one of four wins"));
    let done = place::output_of(winner);
    worker.stop().await;
    assert_eq!(done.status.code(), Some(0), "{}", said(&done));
    assert_eq!(place.plan(id).await.state, PlanState::Done);
    assert_eq!(place.count_redrives().await, 5);
}

async fn s14_workers_carry_on_what_an_operator_left(place: &Place) {
    place.dead_letters(12).await;
    let id = place.approved(&[]);
    let mut operator = place.spawn(&["plan", "run", &id.to_string(), "--lease", "500ms"]);
    place.until_held(id, &mut operator).await;
    operator.kill().unwrap_or_else(|error| panic!("{error}"));
    drop(operator.wait());
    let mut work = place.spawn(&["work", "--queue", place::QUEUE, "--exec", "true"]);
    place.until(id, |plan| plan.state == PlanState::Done).await;
    place::terminate(&mut work);
    assert_eq!(place.plan(id).await.progress.succeeded, 12);
    assert_eq!(place.count_redrives().await, 12);
}

async fn s15_of_two_editors_of_a_job_the_second_is_told(place: &Place) {
    for job in place.dead_letters(4).await {
        let id = job.to_string();
        let editors = [
            place.spawn(&["redrive", &id, "--reason", "mended", "--yes"]),
            place.spawn(&["discard", &id, "--reason", "old", "--yes"]),
        ];
        let mut applied = 0;
        for editor in editors {
            let done = place::output_of(editor);
            if done.status.success() {
                applied += 1;
            } else {
                assert_eq!(done.status.code(), Some(1), "{}", said(&done));
                let text = said(&done);
                assert!(
                    text.contains("1 stale") || text.contains("no job would change"),
                    "{text}"
                );
            }
        }
        assert_eq!(applied, 1, "one edits, the other is told");
    }
}

async fn s15_jobs_that_changed_and_new_failures_are_left_alone(place: &Place) {
    let jobs = place.dead_letters(6).await;
    let id = place.approved(&[]);
    let discarded = place.run(&[
        "discard",
        &jobs[3].to_string(),
        "--reason",
        "not this one",
        "--yes",
    ]);
    assert!(discarded.status.success(), "{}", said(&discarded));
    let late = place.dead_letters(2).await;
    let worker = place.worker(Fails::None);
    let done = place.run(&["plan", "run", &id.to_string()]);
    worker.stop().await;
    assert_eq!(done.status.code(), Some(1), "{}", said(&done));
    let text = said(&done);
    assert!(text.contains("5 applied, 1 stale"), "{text}");
    assert_eq!(place.job(jobs[3]).await.state, State::Discarded);
    for job in late {
        let row = place.job(job).await;
        assert_eq!((row.state, row.redrives), (State::Quarantined, 0));
    }
}

async fn one_job_is_acted_on_at_once_with_a_receipt(place: &Place) {
    let jobs = place.dead_letters(2).await;
    let key = place.job(jobs[0]).await.idempotency_key.to_string();
    let done = place.run(&["redrive", &key, "--reason", "it's mended", "--yes"]);
    assert!(done.status.success(), "{}", said(&done));
    let text = String::from_utf8_lossy(&done.stdout);
    assert!(
        text.starts_with("redrive: 1 applied, 0 stale, 0 refused, 0 not found\nby Ada L. (os:"),
        "{text}"
    );
    assert!(
        text.contains(" ssh:10.0.0.7)\nwhy: it's mended\n"),
        "{text}"
    );
    let equal = format!("$ ledgertop redrive {} --reason 'it'\\''s mended'", jobs[0]);
    assert!(text.contains(&equal), "{text}");
    assert_eq!(place.job(jobs[0]).await.state, State::Ready);
    assert!(place.plans().await.is_empty(), "one job needs no plan");

    let json = place.run(&[
        "discard",
        &jobs[1].to_string(),
        "--reason",
        "x",
        "-y",
        "--json",
    ]);
    let receipt: serde_json::Value = serde_json::from_slice(&json.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", said(&json)));
    assert_eq!(receipt["applied"], 1);
    assert_eq!(receipt["jobs"][0]["outcome"], "applied");
    let unknown = place.run(&["redrive", "no-such-key", "--reason", "x", "--yes"]);
    assert_eq!(unknown.status.code(), Some(1), "{}", said(&unknown));
    assert!(
        said(&unknown).contains("there is no such job"),
        "{}",
        said(&unknown)
    );
}

async fn what_would_change_is_shown_and_nothing_is_done(place: &Place) {
    place.dead_letters(7).await;
    let filter = format!("queue:{}", place::QUEUE);
    let act = ["redrive", "--filter", &filter, "--reason", "x", "--dry-run"];
    let shown = place.run(&act);
    assert!(shown.status.success(), "{}", said(&shown));
    let text = String::from_utf8_lossy(&shown.stdout);
    assert!(
        text.starts_with("redrive: 7 jobs would change\n  7 quarantined\n"),
        "{text}"
    );
    let json = place.run(&[&act[..], &["--json"]].concat());
    let preview: serde_json::Value = serde_json::from_slice(&json.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", said(&json)));
    assert_eq!(preview["changes"], 7);
    assert_eq!(preview["states"]["quarantined"], 7);
    assert_eq!(preview["sample"].as_array().map(Vec::len), Some(5));
    let wrong = place.run(&[
        "redrive",
        "--filter",
        "quue:mail",
        "--reason",
        "x",
        "--dry-run",
    ]);
    assert_eq!(wrong.status.code(), Some(2), "{}", said(&wrong));
    assert_eq!(place.count_redrives().await, 0);
    assert!(place.plans().await.is_empty());
}

async fn an_act_is_refused_in_a_read_only_session_and_where_nobody_confirms(place: &Place) {
    let jobs = place.dead_letters(1).await;
    let act = ["redrive", &jobs[0].to_string(), "--reason", "x"];
    let read_only = place.run(&[&["--read-only"][..], &act[..], &["--yes"]].concat());
    assert_eq!(read_only.status.code(), Some(1), "{}", said(&read_only));
    assert!(
        said(&read_only).contains("read-only"),
        "{}",
        said(&read_only)
    );
    let nobody = place.run(&act);
    assert_eq!(nobody.status.code(), Some(2), "{}", said(&nobody));
    assert!(said(&nobody).contains("--yes"), "{}", said(&nobody));
    let no_reason = place.run(&["redrive", &jobs[0].to_string(), "--yes"]);
    assert_eq!(no_reason.status.code(), Some(2), "{}", said(&no_reason));
    assert_eq!(place.count_redrives().await, 0);
}

async fn plans_are_listed_paused_resumed_and_cancelled(place: &Place) {
    place.dead_letters(3).await;
    let id = place.approved(&[]).to_string();
    let plan = |verb: &'static str| {
        let act = ["plan", verb, &id, "--reason", "let me look"];
        let done = place.run(&act);
        (done.status.code(), said(&done))
    };
    assert_eq!(plan("pause").0, Some(0));
    let (code, text) = plan("resume");
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("running"), "{text}");
    assert_eq!(plan("cancel").0, Some(0));
    let (code, text) = plan("resume");
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("is cancelled, and resume takes"), "{text}");
    let (code, text) = {
        let done = place.run(&["plan", "run", &id]);
        (done.status.code(), said(&done))
    };
    assert_eq!(code, Some(1), "{text}");
    assert!(
        text.contains("only a running plan is carried out"),
        "{text}"
    );

    let listed = place.run(&["plan", "list", "--json"]);
    let listed: serde_json::Value =
        serde_json::from_slice(&listed.stdout).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(listed[0]["state"], "cancelled");
    assert_eq!(listed[0]["stop_reason"], "let me look");
    let shown = place.run(&["--read-only", "plan", "show", &id]);
    let text = String::from_utf8_lossy(&shown.stdout);
    assert!(text.contains("pause -> paused Ada L. (os:"), "{text}");
    assert!(text.contains("waiting"), "{text}");
    let unknown = uuid::Uuid::now_v7().to_string();
    let unknown = place.run(&["plan", "show", &unknown]);
    assert_eq!(unknown.status.code(), Some(1), "{}", said(&unknown));
    assert_eq!(place.count_redrives().await, 0);
}

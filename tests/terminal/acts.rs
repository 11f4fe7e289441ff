//! Acts on jobs: keys in, screen and database out, on both databases; also those that are refused.

use ledgertop::ledger::job::JobRow;
use ledgertop::ledger::state::State;
use uuid::Uuid;

use crate::driver::{Driver, program};
use crate::lists::{LEASE, Place, on_both};

/// A console that may act.
fn operating(place: &Place) -> Driver {
    let arguments = [
        program(),
        "--ledger",
        &place.url,
        "--refresh",
        "250ms",
        "--operate",
    ];
    let console = Driver::start(&arguments);
    console.wait_for("LIVE");
    console.wait_for("OPERATE");
    console
}

fn row(place: &Place, job: Uuid) -> JobRow {
    let read = place.store.job(job);
    place.runtime.block_on(read).unwrap().unwrap()
}

/// Waits until the job is in a state: what a plan does, it does in its own time.
fn wait_for_state(place: &Place, job: Uuid, state: State) -> JobRow {
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
    loop {
        let row = row(place, job);
        if row.state == state {
            return row;
        }
        assert!(std::time::Instant::now() < deadline, "{row:?}");
        std::thread::yield_now();
    }
}

/// Opens the list of jobs, the last created first.
fn list(console: &mut Driver, first: &str) {
    console.press("2");
    console.wait_for("last created first");
    console.wait_for(first);
    console.wait_for("› ");
}

fn end(mut console: Driver) {
    console.press("\x03");
    assert_eq!(console.end().exit_code(), 0);
}

#[test]
fn a_dead_letter_is_redriven_from_its_own_screen_with_a_reason() {
    on_both(|place| {
        place.enqueue("billing", 0..1);
        let job = place.reject("billing", 1, "schema_violation")[0];
        let before = row(place, job);
        let mut console = operating(place);
        list(&mut console, "billing-0");
        console.press("\r");
        console.wait_for("▲ quarantined");
        console.press("R");
        console.wait_for("Redrive 1 job");
        // Without a reason nothing goes on; keys that would act elsewhere are text here.
        console.press("\r");
        console.wait_for("a reason is needed");
        console.press("fixed in 4.2\r");
        console.wait_for("y redrive 1 job");
        console.press("RQDPX");
        console.wait_for("y redrive 1 job");
        assert_eq!(row(place, job), before, "nothing was done yet");
        console.press("y");
        console.wait_for("1 applied");
        console.wait_for("fixed in 4.2");
        console.wait_for(&format!("$ ledgertop redrive {job}"));
        let after = row(place, job);
        assert_eq!((after.state, after.redrives), (State::Ready, 1));
        assert_eq!(after.version, before.version + 1);
        console.press("\x1b");
        console.wait_for("● ready");
        end(console);
    });
}

#[test]
fn what_changed_since_it_was_seen_is_left_alone_and_the_receipt_says_so() {
    on_both(|place| {
        place.enqueue("billing", 0..1);
        let job = place.reject("billing", 1, "schema_violation")[0];
        let mut console = operating(place);
        list(&mut console, "billing-0");
        console.press("R");
        console.wait_for("Redrive 1 job");
        console.press("mine\r");
        console.wait_for("y redrive 1 job");
        // Another operator is quicker.
        place.discard(job);
        let before = row(place, job);
        console.press("y");
        console.wait_for("1 stale");
        console.wait_for("0 applied");
        assert_eq!(row(place, job), before);
        end(console);
    });
}

#[test]
fn each_act_leaves_its_state_its_reason_and_its_actor_in_the_ledger() {
    on_both(|place| {
        place.enqueue("mail", 0..1);
        let job = place.claim("mail", 1, LEASE)[0].id;
        let mut console = operating(place);
        list(&mut console, "mail-0");
        console.wait_for("running");
        // What the table does not allow is said, and opens nothing.
        console.press("Q");
        console.wait_for("quarantine is not to be had from running; to be had: revoke");
        for (key, word, why, state) in [
            ("X", "revoke", "it hangs", State::Quarantined),
            ("R", "redrive", "once more", State::Ready),
            ("Q", "quarantine", "it was wrong", State::Quarantined),
            ("D", "discard", "never again", State::Discarded),
        ] {
            console.press(key);
            console.wait_for(" 1 job ");
            console.press(&format!("{why}\r"));
            console.wait_for(&format!("y {word} 1 job"));
            console.press("y");
            console.wait_for("1 applied");
            console.press("\x1b");
            console.wait_until_gone("1 applied");
            assert_eq!(row(place, job).state, state);
            console.wait_for(state.name());
        }
        console.press("6");
        for why in ["it hangs", "once more", "it was wrong", "never again"] {
            console.wait_for(why);
        }
        end(console);
    });
}

#[test]
fn esc_at_each_step_and_a_paste_change_nothing() {
    on_both(|place| {
        place.enqueue("billing", 0..1);
        let job = place.reject("billing", 1, "schema_violation")[0];
        let before = row(place, job);
        let mut console = operating(place);
        list(&mut console, "billing-0");
        console.press("D");
        console.wait_for("Discard 1 job");
        console.press("\x1b");
        console.wait_until_gone("Discard 1 job");
        console.press("D");
        console.wait_for("why: ");
        console.press("\x1b[200~closed\r\ny\n\x1b[31m\x1b[201~");
        console.wait_for("why: closedy[31m");
        console.press("\r");
        console.wait_for("y discard 1 job");
        console.press("\x1b[200~y\r\ny\x1b[201~");
        console.press("jkgG");
        console.wait_for("y discard 1 job");
        console.press("\x1b");
        console.wait_for("enter on");
        console.press("\x1b");
        console.wait_until_gone("Discard 1 job");
        assert_eq!(row(place, job), before);
        end(console);
    });
}

#[test]
fn a_large_set_is_a_plan_and_takes_its_number_typed() {
    on_both(|place| {
        place.enqueue("billing", 0..24);
        let dead = place.reject("billing", 24, "schema_violation");
        let mut console = operating(place);
        console.press("3");
        console.wait_for("Dead letters · 24 in 1 groups");
        console.press("D");
        console.wait_for("Discard 24 jobs");
        console.press("reviewed\r");
        console.wait_for("type 24 to discard them");
        console.press("23\r");
        console.wait_for("'23' is not 24; nothing was done");
        console.press("y");
        assert!(
            dead.iter()
                .all(|job| row(place, *job).state == State::Quarantined)
        );
        console.press("\x15");
        console.press("24\r");
        console.wait_for("Discard: receipt");
        console.wait_for("ledgertop plan show");
        for job in dead {
            wait_for_state(place, job, State::Discarded);
        }
        end(console);
    });
}

#[test]
fn marks_are_acted_on_by_what_they_mark_also_when_the_list_moves() {
    on_both(|place| {
        place.enqueue("billing", 0..3);
        let dead = place.reject("billing", 3, "schema_violation");
        let mut console = operating(place);
        list(&mut console, "billing-2");
        console.press("  ");
        console.wait_for("● 2 marked");
        console.press("R");
        console.wait_for("2 marked jobs");
        console.wait_for("Redrive 2 jobs");
        // New rows come in above while the dialog is open, and one of the two goes.
        place.enqueue("billing", 3..6);
        let gone = place.claimed_last(&dead);
        place.discard(gone);
        console.press("again\r");
        console.wait_for("y redrive 2 jobs");
        console.press("y");
        console.wait_for("Redrive: receipt");
        let redriven: Vec<Uuid> = place.marked(&dead, gone);
        for job in redriven {
            wait_for_state(place, job, State::Ready);
        }
        assert_eq!(row(place, gone).state, State::Discarded);
        end(console);
    });
}

#[test]
fn a_console_that_only_looks_says_so_and_opens_nothing() {
    on_both(|place| {
        place.enqueue("billing", 0..1);
        let job = place.reject("billing", 1, "schema_violation")[0];
        let before = row(place, job);
        for flags in [&[][..], &["--operate", "--read-only"]] {
            let mut arguments = vec![program(), "--ledger", &place.url, "--refresh", "250ms"];
            arguments.extend(flags);
            let mut console = Driver::start(&arguments);
            console.wait_for("LIVE");
            console.wait_for("READ-ONLY");
            list(&mut console, "billing-0");
            for (key, word) in [("Q", "quarantine"), ("R", "redrive"), ("D", "discard")] {
                console.press(key);
                console.wait_for(&format!("{word} is not to be had"));
            }
            assert!(!console.contents().contains("why:"));
            end(console);
        }
        assert_eq!(row(place, job), before);
    });
}

#[test]
fn a_job_is_found_by_its_key_and_its_payload_is_shown_only_when_asked_for() {
    on_both(|place| {
        place.enqueue("mail", 0..2);
        let mut console = place.console();
        console.press(":");
        console.wait_for("Go to");
        console.press("job mail-1\r");
        console.wait_for("● ready");
        console.wait_for("mail-1");
        console.wait_for("payload masked");
        console.press("v");
        console.wait_for("Show the payload?");
        console.wait_for("Not recorded");
        console.press("\x1b");
        console.wait_until_gone("Show the payload?");
        console.press("vy");
        console.wait_for("masked again in");
        console.press("\x1b");
        console.wait_until_gone("masked again in");
        console.press(":");
        console.wait_for("Go to");
        console.press("job nothing-like-it\r");
        console.wait_for("there is no job with the key 'nothing-like-it'");
        end(console);
    });
}

/// Who else acts, in words of these tests.
impl Place {
    /// Of these jobs, the one that is listed first by creation.
    fn claimed_last(&self, jobs: &[Uuid]) -> Uuid {
        let by_key = |job: &&Uuid| row(self, **job).idempotency_key;
        *jobs.iter().max_by_key(by_key).unwrap()
    }

    /// The marked jobs but `gone`: those with the two last keys.
    fn marked(&self, jobs: &[Uuid], gone: Uuid) -> Vec<Uuid> {
        let mut jobs: Vec<Uuid> = jobs.to_vec();
        jobs.sort_by_key(|job| row(self, *job).idempotency_key);
        jobs.reverse();
        jobs.truncate(2);
        jobs.retain(|job| *job != gone);
        jobs
    }
}

//! What a worker believes about the leases it holds, at moments made up here.

use uuid::Uuid;

use super::*;
use crate::ledger::policy::Policy;
use crate::ledger::time::Timestamp;

const LEASE: Duration = Duration::from_secs(30);

pub(in crate::worker) fn job(n: u128) -> Arc<Claimed> {
    Arc::new(Claimed {
        id: Uuid::from_u128(n),
        fence: 1,
        version: 2,
        attempt: 1,
        redrives: 0,
        queue: "q".to_owned(),
        kind: "kind".to_owned(),
        tenant: String::new(),
        idempotency_key: format!("key-{n}"),
        payload: serde_json::Value::Null,
        schema_version: None,
        claimed_at: Timestamp::default(),
        lease_expires_at: Timestamp::default(),
        first_attempt_at: Timestamp::default(),
        policy: Policy::default_v1(),
    })
}

fn lease(n: u128) -> LeaseRef {
    LeaseRef {
        job: Uuid::from_u128(n),
        fence: 1,
    }
}

fn admit(flight: &mut Flight, n: u128, sent: Instant) -> CancellationToken {
    let cancel = CancellationToken::new();
    flight.admit(Admission {
        job: job(n),
        phase: Phase::Running,
        sent,
        cancel: cancel.clone(),
        task: None,
    });
    cancel
}

fn done() -> Verdict {
    Verdict::Succeed { output_ref: None }
}

#[test]
fn a_lease_is_renewed_after_a_third_and_again_after_another() {
    let start = Instant::now();
    let mut flight = Flight::new(LEASE);
    let cancel = admit(&mut flight, 1, start);
    assert_eq!(flight.watch(start + LEASE / 4, 10), Watched::default());
    let third = start + LEASE / 3;
    assert_eq!(flight.watch(third, 10).renew, [lease(1)]);
    flight.renewed(lease(1), third);
    assert!(flight.watch(third + LEASE / 4, 10).renew.is_empty());
    assert_eq!(flight.watch(third + LEASE / 3, 10).renew, [lease(1)]);
    assert!(!cancel.is_cancelled());
}

#[test]
fn without_renewals_the_handler_is_stopped_when_the_lease_ends_and_not_before() {
    let start = Instant::now();
    let mut flight = Flight::new(LEASE);
    let cancel = admit(&mut flight, 1, start);
    let mut now = start;
    while now < start + LEASE {
        for lease in flight.watch(now, 10).renew {
            flight.not_renewed(lease, now + LEASE / 12);
        }
        assert!(!cancel.is_cancelled());
        now += LEASE / 60;
    }
    flight.watch(start + LEASE, 10);
    assert!(cancel.is_cancelled());
}

#[test]
fn a_result_that_waits_for_the_ledger_keeps_its_lease() {
    let start = Instant::now();
    let mut flight = Flight::new(LEASE);
    admit(&mut flight, 1, start);
    flight.finish(lease(1), done());
    assert_eq!(flight.watch(start + LEASE / 3, 10).renew, [lease(1)]);
    assert!(
        flight.take_settlements(10).is_empty(),
        "a renewal is under way"
    );
    flight.renewed(lease(1), start + LEASE / 3);
    assert_eq!(flight.take_settlements(10).len(), 1);
}

#[test]
fn what_is_being_settled_is_not_renewed() {
    let start = Instant::now();
    let mut flight = Flight::new(LEASE);
    admit(&mut flight, 1, start);
    flight.finish(lease(1), done());
    let taken = flight.take_settlements(10);
    assert!(flight.watch(start + LEASE / 2, 10).renew.is_empty());
    flight.send_again(taken[0].clone(), Sent::NotMade);
    assert_eq!(flight.watch(start + LEASE / 2, 10).renew, [lease(1)]);
}

#[test]
fn a_settlement_whose_answer_was_lost_is_sent_again_and_not_renewed_meanwhile() {
    let start = Instant::now();
    let mut flight = Flight::new(LEASE);
    admit(&mut flight, 1, start);
    flight.finish(lease(1), done());
    let taken = flight.take_settlements(10);
    flight.send_again(taken[0].clone(), Sent::PerhapsMade);
    assert!(flight.watch(start + LEASE / 2, 10).renew.is_empty());
    assert_eq!(flight.take_settlements(10), taken);
}

#[test]
fn a_refused_renewal_stops_the_handler_and_its_result_is_not_settled() {
    let start = Instant::now();
    let mut flight = Flight::new(LEASE);
    let cancel = admit(&mut flight, 1, start);
    admit(&mut flight, 2, start);
    flight.finish(lease(2), done());
    flight.lost(lease(1));
    flight.lost(lease(2));
    assert!(cancel.is_cancelled());
    assert!(matches!(
        flight.get(lease(1)).unwrap().phase,
        Phase::Stopping(Stop::Lost)
    ));
    assert!(flight.take_settlements(10).is_empty());
    assert_eq!(flight.len(), 1);
}

#[test]
fn a_late_result_is_sent_once_more_and_given_up_a_lease_later() {
    let start = Instant::now();
    let mut flight = Flight::new(LEASE);
    admit(&mut flight, 1, start);
    flight.finish(lease(1), done());
    let late = start + LEASE * 3;
    assert!(flight.watch(late, 10).given_up.is_empty(), "never sent yet");
    let taken = flight.take_settlements(10);
    flight.send_again(taken[0].clone(), Sent::NotMade);
    assert_eq!(flight.watch(late + LEASE, 10).given_up, [lease(1)]);
    assert_eq!(flight.len(), 0);
}

#[test]
fn results_are_settled_in_the_order_in_which_they_came() {
    let start = Instant::now();
    let mut flight = Flight::new(LEASE);
    for n in [3, 1, 2] {
        admit(&mut flight, n, start);
        flight.finish(lease(n), done());
    }
    let taken: Vec<LeaseRef> = flight
        .take_settlements(2)
        .iter()
        .map(|each| each.lease)
        .collect();
    assert_eq!(taken, [lease(3), lease(1)]);
    assert_eq!(flight.take_settlements(2).len(), 1);
}

#[test]
fn looking_over_the_leases_never_asks_to_be_called_again_at_once() {
    let start = Instant::now();
    let mut flight = Flight::new(LEASE);
    admit(&mut flight, 1, start);
    admit(&mut flight, 2, start);
    flight.finish(lease(2), done());
    for step in 0..600_u32 {
        let now = start + Duration::from_millis(250) * step;
        flight.watch(now, usize::from(step % 3 == 0));
        assert!(flight.watch_at().is_none_or(|at| at > now), "{step}");
    }
}

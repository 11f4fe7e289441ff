//! A plan carried out on made-up jobs: whatever they do, it widens only while it holds.

#![expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "a test that counts wrongly shall fail"
)]

use proptest::prelude::*;

use super::*;
use crate::ledger::job::Operation;

/// How a made-up job ends after its redrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Succeeds,
    Dies,
    FailsAgain,
    Stale,
}

fn at(number: u32) -> usize {
    usize::try_from(number).unwrap()
}

fn running(total: u64, pace: Pace) -> Standing {
    Standing {
        state: PlanState::Running,
        pace,
        progress: Progress {
            total,
            waiting: total,
            ..Progress::default()
        },
        batch: BatchStanding::default(),
        chunk: Chunk::default(),
        failures: Vec::new(),
    }
}

/// What a run did: the sizes of its batches, how it ended, and the jobs left alone.
#[derive(Debug)]
struct Run {
    batches: Vec<u32>,
    end: Step,
    left: u64,
}

/// Carries a plan out on jobs that end like `ends`, each as soon as it is looked at.
fn carry_out(pace: Pace, ends: &[End]) -> Run {
    let mut plan = running(u64::try_from(ends.len()).unwrap(), pace);
    let mut ends = ends.iter().copied();
    let mut under_way: Vec<End> = Vec::new();
    let mut batches: Vec<u32> = Vec::new();
    for _step in 0..100_000 {
        match next_step(&plan) {
            Step::Apply { batch, most } => {
                assert!(most > 0, "an empty step is none");
                if batch != plan.batch.number {
                    assert_eq!(plan.batch.open, 0, "a batch begins when the last has ended");
                    plan.batch = BatchStanding {
                        number: batch,
                        first: plan.batch.first,
                        ..BatchStanding::default()
                    };
                }
                plan.chunk = Chunk::default();
                for end in ends.by_ref().take(at(most)) {
                    plan.progress.waiting -= 1;
                    if end == End::Stale {
                        plan.progress.stale += 1;
                        continue;
                    }
                    plan.progress.open += 1;
                    plan.batch.jobs += 1;
                    plan.batch.open += 1;
                    plan.chunk.jobs += 1;
                    under_way.push(end);
                }
                batches.resize(at(batch) + 1, 0);
                batches[at(batch)] = plan.batch.jobs;
            }
            Step::Wait(_) => {
                plan.chunk.age += Duration::from_secs(1);
                for end in under_way.drain(..) {
                    plan.progress.open -= 1;
                    plan.batch.open -= 1;
                    if end == End::Succeeds {
                        plan.progress.succeeded += 1;
                        continue;
                    }
                    plan.progress.failed += 1;
                    plan.batch.failed += 1;
                    plan.failures.push(FailedAgain {
                        job: Uuid::nil(),
                        class: ErrorClass::Permanent,
                        reason: SafeText::new("malformed"),
                        had_before: end == End::FailsAgain,
                    });
                }
            }
            end @ (Step::Stop(_) | Step::Finish) => {
                return Run {
                    batches,
                    end,
                    left: plan.progress.waiting,
                };
            }
            Step::Leave => panic!("a running plan is not left"),
        }
    }
    panic!("the plan never ends")
}

fn redrive() -> Pace {
    Pace::of(Operation::Redrive)
}

#[test]
fn a_plan_that_holds_widens_until_all_is_done() {
    let run = carry_out(redrive(), &[End::Succeeds; 2_500]);
    assert_eq!(run.end, Step::Finish);
    assert_eq!(run.batches, [1, 10, 100, 1_000, 1_000, 389]);
}

#[test]
fn a_canary_that_dies_is_the_only_job_touched() {
    for end in [End::Dies, End::FailsAgain] {
        let mut ends = vec![End::Succeeds; 50];
        ends[0] = end;
        let patient = Pace {
            stop_percent: 100,
            ..redrive()
        };
        for pace in [redrive(), patient] {
            let run = carry_out(pace, &ends);
            assert!(matches!(run.end, Step::Stop(_)), "{run:?}");
            assert_eq!((run.left, run.batches.as_slice()), (49, &[1][..]));
        }
    }
}

#[test]
fn a_job_that_changed_is_no_canary() {
    let run = carry_out(
        redrive(),
        &[End::Stale, End::Stale, End::Dies, End::Succeeds],
    );
    assert_eq!(run.end, Step::Stop(StopWhy::Canary));
    assert_eq!(run.left, 1);
}

#[test]
fn deaths_up_to_the_share_are_borne() {
    let mut ends = vec![End::Succeeds; 11];
    ends[3] = End::Dies;
    ends[4] = End::Dies;
    assert_eq!(carry_out(redrive(), &ends).end, Step::Finish);
    ends[5] = End::Dies;
    let stopped = Step::Stop(StopWhy::Deaths {
        failed: 3,
        of: 10,
        percent: 20,
    });
    assert_eq!(carry_out(redrive(), &ends).end, stopped);
}

#[test]
fn a_rate_is_kept_by_waiting() {
    let pace = Pace {
        rate_per_s: 4,
        ..Pace::of(Operation::Discard)
    };
    let mut plan = running(100, pace);
    assert_eq!(next_step(&plan), Step::Apply { batch: 0, most: 4 });
    plan.batch.jobs = 4;
    plan.chunk.jobs = 4;
    plan.chunk.age = Duration::from_millis(900);
    assert_eq!(next_step(&plan), Step::Wait(Duration::from_millis(100)));
    plan.chunk.age = Duration::from_secs(1);
    assert_eq!(next_step(&plan), Step::Apply { batch: 0, most: 4 });
}

#[test]
fn a_plan_that_is_not_under_way_is_left_alone() {
    for state in PlanState::ALL {
        let plan = Standing {
            state,
            ..running(3, redrive())
        };
        assert_eq!(
            next_step(&plan) == Step::Leave,
            state != PlanState::Running,
            "{state}"
        );
    }
}

#[test]
fn a_resumed_plan_begins_again_with_one_job() {
    let mut plan = running(500, redrive());
    plan.batch = BatchStanding {
        number: 4,
        first: 4,
        ..BatchStanding::default()
    };
    assert_eq!(next_step(&plan), Step::Apply { batch: 4, most: 1 });
}

fn ends() -> impl Strategy<Value = Vec<End>> {
    let end = prop_oneof![
        40 => Just(End::Succeeds),
        1 => Just(End::Dies),
        1 => Just(End::FailsAgain),
        2 => Just(End::Stale),
    ];
    prop::collection::vec(end, 1..400)
}

proptest! {
    #[test]
    fn whatever_the_jobs_do_no_batch_follows_one_that_failed_again(
        ends in ends(),
        batch_max in 1_u32..300,
        rate_per_s in 0_u32..50,
        canary in any::<bool>(),
    ) {
        let pace = Pace { canary, batch_max, rate_per_s, stop_percent: 20 };
        let run = carry_out(pace, &ends);
        for (number, jobs) in (0_u32..).zip(&run.batches) {
            prop_assert!(*jobs <= pace.batch_size(number), "{run:?}");
        }
        let touched = ends.len() - usize::try_from(run.left).unwrap();
        let again = ends[..touched].contains(&End::FailsAgain);
        if again {
            prop_assert!(matches!(run.end, Step::Stop(_)), "{run:?}");
            // The jobs before the last batch did not fail again.
            let last = at(*run.batches.last().unwrap());
            let before: Vec<End> = ends[..touched]
                .iter()
                .copied()
                .filter(|end| *end != End::Stale)
                .collect();
            prop_assert!(!before[..before.len() - last].contains(&End::FailsAgain), "{run:?}");
        }
        if run.end == Step::Finish {
            prop_assert_eq!(run.left, 0);
        }
    }
}

//! The services that the demo's handlers call: how long each call takes and how it ends, decided by
//! the seed, the job and the attempt, and by what the script says goes on. Pure; the waiting is
//! done by [`super::handlers`].

use std::time::Duration;

use rand::{Rng, RngExt as _};

use super::chance;
use super::scenario::{Act, DependencySpec, Fault, Scenario};
use crate::worker::HandlerError;

/// A call, as the dependency sees it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Request<'a> {
    /// The key of the job that calls.
    pub(super) key: &'a str,
    /// Whose job it is.
    pub(super) tenant: &'a str,
    /// The attempts it made before, over all redrives.
    pub(super) attempt: u32,
    /// How long the demo has been going on.
    pub(super) elapsed: Duration,
}

/// How a call goes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Answer {
    /// How long it takes.
    pub(super) latency: Duration,
    /// How it ends.
    pub(super) result: Result<(), HandlerError>,
}

/// How a call to the dependency goes.
pub(super) fn call(
    scenario: &Scenario,
    spec: &DependencySpec,
    seed: u64,
    request: Request<'_>,
) -> Answer {
    let mut random = chance::source(seed, request.key, request.attempt);
    let dice = random.random_range(0..1_000_u32);
    let trouble = scenario
        .active(request.elapsed)
        .filter_map(|incident| match &incident.act {
            Act::Degrade {
                dependency,
                tenant,
                fault,
            } if *dependency == spec.name
                && tenant.as_ref().is_none_or(|only| only == request.tenant) =>
            {
                Some(fault)
            }
            Act::Degrade { .. } | Act::Poison { .. } | Act::Crash { .. } | Act::CutOff { .. } => {
                None
            }
        });
    let mut bound = 0;
    for fault in trouble.chain(&spec.faults) {
        bound += fault.per_mille;
        if dice < bound {
            return fails(fault, &mut random);
        }
    }
    Answer {
        latency: Duration::from_millis(chance::within(spec.latency_ms, &mut random)),
        result: Ok(()),
    }
}

fn fails(fault: &Fault, random: &mut impl Rng) -> Answer {
    let latency = Duration::from_millis(chance::within(fault.latency_ms, random));
    let error = HandlerError::known(&fault.reason, fault.error.as_str());
    let error = match fault.retry_after_s {
        Some(span) => error.retry_after(Duration::from_secs(chance::within(span, random))),
        None => error,
    };
    Answer {
        latency,
        result: Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::error_class::ErrorClass;

    fn answers(seed: u64, name: &str, at_s: u64) -> Vec<Answer> {
        answers_to("acme", seed, name, at_s)
    }

    fn answers_to(tenant: &str, seed: u64, name: &str, at_s: u64) -> Vec<Answer> {
        let scenario = Scenario::built_in().unwrap();
        let found = scenario.dependencies.iter().find(|each| each.name == name);
        let spec = found.unwrap();
        (0..1_000)
            .map(|number| {
                let key = format!("{tenant}:image_{number:06}");
                let request = Request {
                    key: &key,
                    tenant,
                    attempt: 1,
                    elapsed: Duration::from_secs(at_s),
                };
                call(&scenario, spec, seed, request)
            })
            .collect()
    }

    fn failures(answers: &[Answer]) -> usize {
        answers.iter().filter(|each| each.result.is_err()).count()
    }

    #[test]
    fn the_same_seed_gives_the_same_answers_and_another_seed_others() {
        assert_eq!(answers(7, "image_cdn", 5), answers(7, "image_cdn", 5));
        assert_ne!(answers(7, "image_cdn", 5), answers(8, "image_cdn", 5));
    }

    #[test]
    fn the_cdn_answers_429_with_retry_after_while_the_script_says_so() {
        assert!(failures(&answers(7, "image_cdn", 5)) < 40);
        let during = answers(7, "image_cdn", 40);
        assert!(failures(&during) > 850);
        let refused = during
            .iter()
            .filter_map(|each| each.result.as_ref().err())
            .find(|error| error.reason == "rate_limited")
            .unwrap();
        assert_eq!(refused.class, ErrorClass::Transient);
        assert!(refused.retry_after.unwrap() >= Duration::from_secs(3));
        assert!(failures(&answers(7, "image_cdn", 95)) < 40);
    }

    #[test]
    fn an_outage_of_one_dependency_leaves_the_others_alone() {
        assert!(failures(&answers(7, "payments", 40)) < 80);
        assert!(failures(&answers(7, "receivers", 70)) > 900);
    }

    #[test]
    fn one_tenants_poison_never_ends_and_leaves_the_other_tenants_alone() {
        assert!(failures(&answers_to("umbrella", 7, "mailer", 5)) < 60);
        for at_s in [20, 120, 1_000] {
            let poisoned = answers_to("umbrella", 7, "mailer", at_s);
            let by_panic = poisoned.iter().filter(|each| {
                let error = each.result.as_ref().err();
                error.is_some_and(|error| error.reason == "panic")
            });
            assert_eq!(by_panic.count(), 1_000);
            assert!(failures(&answers(7, "mailer", at_s)) < 60);
        }
    }
}

//! Retry policies: named, versioned, immutable sets of rules. What a job's next event after a
//! failure is follows from its policy and from nothing else.

use std::time::Duration;

use rand::Rng;

use super::backoff;
use super::error_class::ErrorClass;
use super::job::{Failed, Verdict};
use super::time::Timestamp;

/// What happens to a failure that no table knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnUnknown {
    /// Retried like a transient failure, within the budgets.
    BoundedRetry,
    /// Left unsettled until its lease expires, for an operator to judge.
    Hold,
}

impl OnUnknown {
    /// The name in the database and in the config.
    pub const fn name(self) -> &'static str {
        match self {
            Self::BoundedRetry => "bounded_retry",
            Self::Hold => "hold",
        }
    }

    /// The value of that name, if there is one.
    pub fn parse(name: &str) -> Option<Self> {
        [Self::BoundedRetry, Self::Hold]
            .into_iter()
            .find(|value| value.name() == name)
    }
}

/// One version of a policy. A version never changes once it is in a ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// Its name.
    pub name: String,
    /// Its version, from 1.
    pub version: u32,
    /// Attempts before a job is dead; at least 1.
    pub max_attempts: u32,
    /// The longest time from the first attempt of a drive to the beginning of another.
    pub max_age: Duration,
    /// The ceiling of the first wait.
    pub backoff_base: Duration,
    /// The ceiling of every wait that backoff draws.
    pub backoff_cap: Duration,
    /// The longest `Retry-After` that is respected; a longer one is clipped to it.
    pub retry_after_cap: Duration,
    /// What happens to failures that no table knows.
    pub on_unknown: OnUnknown,
}

impl Policy {
    /// Version 1 of the `default` policy, which every ledger is created with.
    pub fn default_v1() -> Self {
        Self {
            name: "default".to_owned(),
            version: 1,
            max_attempts: 6,
            max_age: Duration::from_hours(24),
            backoff_base: Duration::from_secs(5),
            backoff_cap: Duration::from_mins(15),
            retry_after_cap: Duration::from_hours(1),
            on_unknown: OnUnknown::BoundedRetry,
        }
    }

    /// Whether another attempt that would begin at `next` is beyond the budgets, after `attempt`
    /// attempts of which the first began at `first`. The database applies the same rule inside the
    /// settling transition; `verify` and tests compare the two.
    pub fn is_spent(&self, attempt: u32, first: Timestamp, next: Timestamp) -> bool {
        attempt >= self.max_attempts || next > first.plus(self.max_age)
    }

    /// The wait before the attempt after `attempt`: full jitter, with `retry_after` (clipped by
    /// policy) as a floor.
    pub fn wait(
        &self,
        attempt: u32,
        retry_after: Option<Duration>,
        random: &mut impl Rng,
    ) -> Duration {
        let drawn = backoff::full_jitter(self.backoff_base, self.backoff_cap, attempt, random);
        retry_after.map_or(drawn, |floor| drawn.max(floor.min(self.retry_after_cap)))
    }

    /// How a failed attempt is settled; `None` where it is left unsettled for an operator to judge.
    pub fn judge(
        &self,
        attempt: u32,
        failure: Failed,
        retry_after: Option<Duration>,
        random: &mut impl Rng,
    ) -> Option<Verdict> {
        match (failure.class, self.on_unknown) {
            (ErrorClass::Permanent, _) => Some(Verdict::Reject { failure }),
            (ErrorClass::Unknown, OnUnknown::Hold) => None,
            (ErrorClass::Transient, _) | (ErrorClass::Unknown, OnUnknown::BoundedRetry) => {
                let delay = self.wait(attempt, retry_after, random);
                Some(Verdict::Retry { failure, delay })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand::SeedableRng as _;
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::ledger::retry_after;

    fn failed(class: ErrorClass) -> Failed {
        Failed {
            class,
            reason: "timeout".to_owned(),
            error: String::new(),
        }
    }

    #[test]
    fn the_class_alone_decides() {
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let mut policy = Policy::default_v1();
        let permanent = policy.judge(1, failed(ErrorClass::Permanent), None, &mut random);
        assert!(matches!(permanent, Some(Verdict::Reject { .. })));
        let transient = policy.judge(1, failed(ErrorClass::Transient), None, &mut random);
        assert!(matches!(transient, Some(Verdict::Retry { .. })));
        let unknown = policy.judge(1, failed(ErrorClass::Unknown), None, &mut random);
        assert!(matches!(unknown, Some(Verdict::Retry { .. })));
        policy.on_unknown = OnUnknown::Hold;
        assert_eq!(
            policy.judge(1, failed(ErrorClass::Unknown), None, &mut random),
            None
        );
    }

    #[test]
    fn the_age_budget_counts_the_moment_of_the_next_attempt() {
        let policy = Policy::default_v1();
        let first = Timestamp::from_seconds(1_000);
        let last = first.plus(policy.max_age);
        assert!(!policy.is_spent(1, first, last));
        assert!(policy.is_spent(1, first, last.plus(Duration::from_millis(1))));
        assert!(policy.is_spent(policy.max_attempts, first, first));
    }

    proptest! {
        #[test]
        fn retry_after_is_a_floor_and_never_passes_its_cap(attempt: u32, asked: u64, seed: u64) {
            let policy = Policy::default_v1();
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            let asked = Duration::from_secs(asked);
            let wait = policy.wait(attempt, Some(asked), &mut random);
            prop_assert!(wait >= asked.min(policy.retry_after_cap));
            prop_assert!(wait <= policy.backoff_cap.max(policy.retry_after_cap));
        }

        #[test]
        fn no_header_at_no_attempt_under_no_policy_leads_beyond_the_caps(
            attempt: u32, seed: u64, now: i64,
            base in 0..=u64::MAX / 2, cap in 0..=u64::MAX / 2, retry_after_cap: u64,
            header in hostile_header(),
        ) {
            let policy = Policy {
                backoff_base: Duration::from_millis(base),
                backoff_cap: Duration::from_millis(cap),
                retry_after_cap: Duration::from_millis(retry_after_cap),
                ..Policy::default_v1()
            };
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            let asked = retry_after::parse(&header, Timestamp::from_millis(now));
            let wait = policy.wait(attempt, asked, &mut random);
            prop_assert!(wait <= policy.backoff_cap.max(policy.retry_after_cap));
            let next = Timestamp::from_millis(now).plus(wait);
            prop_assert!(next >= Timestamp::from_millis(now), "time does not wrap");
        }
    }

    /// Numbers of any length, dates of any year, beginnings of either, and anything else.
    fn hostile_header() -> impl Strategy<Value = String> {
        prop_oneof![
            "[ \t+-]?[0-9]{0,400}[.e]?[0-9]{0,3}[ \t]?",
            "(Mon|Sun|XYZ), [0-9]{1,3} (Jan|Nov) [0-9]{1,6} [0-9]{2}:[0-9]{2}:[0-9]{2} (GMT|UTC)",
            "Sunday, [0-9]{2}-Nov-[0-9]{2} 08:49:37 GMT",
            any::<String>(),
        ]
    }
}

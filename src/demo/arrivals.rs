//! What producers enqueue and when, drawn from the seed: the same seed makes the same jobs at the
//! same moments after the beginning. Pure; [`super::producer`] waits for the moments and enqueues.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use rand::RngExt as _;
use rand_chacha::ChaCha8Rng;
use uuid::Uuid;

use super::chance;
use super::content::{self, Draft};
use super::scenario::{Act, QueueSpec, Scenario, Shape};
use crate::ledger::job::{NewJob, ParentLink};
use crate::ledger::num;
use crate::ledger::time::Timestamp;

/// The latest moment after a job at which its sender repeats it, in milliseconds.
const REPEAT_MAX_MS: u64 = 4_000;

/// Jobs that a producer enqueues in one transaction.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Arrival {
    /// When, after the demo's beginning.
    pub(super) at: Duration,
    /// What.
    pub(super) jobs: Vec<NewJob>,
}

/// What all streams of a run share.
#[derive(Debug)]
pub(super) struct Run {
    /// The script.
    pub(super) scenario: Scenario,
    /// What everything is drawn from.
    pub(super) seed: u64,
    /// The demo's beginning, by the ledger's clock.
    pub(super) start: Timestamp,
    /// Keeps the keys of one run apart from another's on a shared ledger; empty on a private one.
    pub(super) tag: String,
}

/// The arrivals from one producer, without end.
#[derive(Debug)]
pub(super) struct Stream {
    run: Arc<Run>,
    spec: QueueSpec,
    random: ChaCha8Rng,
    /// The next job that comes alone.
    single_at: Duration,
    /// The next burst.
    burst_at: Option<Duration>,
    /// Jobs whose sender will repeat them; at most those of [`REPEAT_MAX_MS`].
    repeats: BTreeMap<(Duration, u64), NewJob>,
    number: u64,
}

impl Stream {
    pub(super) fn new(run: Arc<Run>, spec: QueueSpec) -> Self {
        let random = chance::source(run.seed, &spec.producer, 0);
        let mut stream = Self {
            run,
            spec,
            random,
            single_at: Duration::ZERO,
            burst_at: None,
            repeats: BTreeMap::new(),
            number: 0,
        };
        stream.single_at = stream.gap();
        stream.burst_at = stream.burst_gap();
        stream
    }

    /// Who enqueues.
    pub(super) fn producer(&self) -> &str {
        &self.spec.producer
    }

    /// What is there when the demo begins.
    pub(super) fn backlog(&mut self) -> Arrival {
        let jobs = (0..self.spec.backlog)
            .flat_map(|_| self.make(Duration::ZERO))
            .collect();
        Arrival {
            at: Duration::ZERO,
            jobs,
        }
    }

    /// When the next arrival comes.
    pub(super) fn next_at(&self) -> Duration {
        let repeat_at = self.repeats.keys().next().map(|(at, _)| *at);
        [self.burst_at, repeat_at]
            .into_iter()
            .flatten()
            .fold(self.single_at, Duration::min)
    }

    /// The next arrival.
    pub(super) fn next(&mut self) -> Arrival {
        let at = self.next_at();
        if let Some(entry) = self.repeats.first_entry()
            && entry.key().0 == at
        {
            let jobs = vec![entry.remove()];
            return Arrival { at, jobs };
        }
        let jobs = if self.burst_at == Some(at) {
            self.burst_at = self.burst_gap().map(|gap| at + gap);
            let jobs = self.spec.burst_jobs;
            let count = jobs.map_or(1, |span| chance::within(span, &mut self.random));
            (0..count).flat_map(|_| self.make(at)).collect()
        } else {
            self.single_at = at + self.gap();
            self.make(at)
        };
        Arrival { at, jobs }
    }

    /// The time to the next single arrival: exponential, so that arrivals are independent.
    fn gap(&mut self) -> Duration {
        let even: f64 = self.random.random_range(f64::EPSILON..1.0);
        let millis = num::floor(-even.ln() / self.spec.per_s * 1_000.0);
        Duration::from_millis(millis.min(60_000))
    }

    fn burst_gap(&mut self) -> Option<Duration> {
        let span = self.spec.burst_every_s?;
        let millis = super::scenario::Span(span.0 * 1_000, span.1 * 1_000);
        Some(Duration::from_millis(chance::within(
            millis,
            &mut self.random,
        )))
    }

    fn happens(&mut self, per_mille: u32) -> bool {
        self.random.random_range(0..1_000_u32) < per_mille
    }

    /// One job, or a parent with its children, and perhaps a repetition later.
    fn make(&mut self, at: Duration) -> Vec<NewJob> {
        self.number += 1;
        let draft = self.draft(at);
        let mut job = content::job(&draft, &mut self.random);
        job.id = self.id(at);
        job.queue.clone_from(&self.spec.name);
        job.policy.clone_from(&self.spec.policy);
        let later = self.happens(self.spec.later_per_mille);
        if let Some(span) = self.spec.later_s.filter(|_| later) {
            let wait = Duration::from_secs(chance::within(span, &mut self.random));
            job.available_at = Some(self.run.start.plus(at + wait));
        }
        if self.happens(self.spec.duplicate_per_mille) {
            let after = self.random.random_range(300..=REPEAT_MAX_MS);
            let repeat = NewJob {
                id: self.id(at),
                ..job.clone()
            };
            let when = at + Duration::from_millis(after);
            self.repeats.insert((when, self.number), repeat);
        }
        match self.spec.shape {
            Shape::Digest => self.family(at, &draft, job),
            Shape::Thumbnail | Shape::Invoice | Shape::Webhook | Shape::Payout => vec![job],
        }
    }

    fn draft(&mut self, at: Duration) -> Draft {
        // The first tenants have the most work: the smaller of two draws.
        let tenants = self.run.scenario.tenants.len();
        let (one, two) = (
            self.random.random_range(0..tenants),
            self.random.random_range(0..tenants),
        );
        let tenant = self.run.scenario.tenants.get(one.min(two)).cloned();
        let poison = self.poison(at);
        let malformed = self.happens(self.spec.malformed_per_mille);
        Draft {
            shape: self.spec.shape,
            tenant: tenant.unwrap_or_default(),
            number: self.number,
            tag: self.run.tag.clone(),
            malformed,
            poison,
        }
    }

    /// The schema version that a bad deploy of the producer sends with this job, if it does.
    fn poison(&mut self, at: Duration) -> Option<String> {
        let run = Arc::clone(&self.run);
        let poison = run
            .scenario
            .active(at)
            .find_map(|incident| match &incident.act {
                Act::Poison {
                    queue,
                    per_mille,
                    schema_version,
                } if *queue == self.spec.name && self.spec.shape == Shape::Invoice => {
                    Some((*per_mille, schema_version))
                }
                Act::Poison { .. }
                | Act::Degrade { .. }
                | Act::Crash { .. }
                | Act::CutOff { .. } => None,
            });
        let (per_mille, version) = poison?;
        self.happens(per_mille).then(|| version.clone())
    }

    /// A parent with its children. The parent waits for them, so it is never due later on its own.
    fn family(&mut self, at: Duration, draft: &Draft, mut parent: NewJob) -> Vec<NewJob> {
        let required = self
            .spec
            .required_children
            .map_or(1, |span| chance::within(span, &mut self.random));
        let due = parent.available_at.take();
        let mut family = Vec::new();
        for number in 1..=required + u64::from(self.spec.optional_children) {
            let is_required = number <= required;
            let mut child = content::child(draft, number, &mut self.random);
            child.id = self.id(at);
            child.queue.clone_from(&self.spec.name);
            child.policy.clone_from(&self.spec.policy);
            if let (false, Some(policy)) = (is_required, &self.spec.optional_policy) {
                child.policy.clone_from(policy);
            }
            child.available_at = due;
            child.parent = Some(ParentLink {
                key: parent.idempotency_key.clone(),
                required: is_required,
            });
            family.push(child);
        }
        parent.awaits_children = true;
        family.insert(0, parent);
        family
    }

    /// A UUIDv7 of the arrival's moment: in time order, and the same for the same seed and start.
    fn id(&mut self, at: Duration) -> Uuid {
        let millis = num::unsigned(self.run.start.plus(at).millis());
        let chance: [u8; 10] = self.random.random();
        uuid::Builder::from_unix_timestamp_millis(millis, &chance).into_uuid()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn streams(seed: u64) -> Vec<Stream> {
        let run = Arc::new(Run {
            scenario: Scenario::built_in().unwrap(),
            seed,
            start: Timestamp::from_seconds(1_800_000_000),
            tag: String::new(),
        });
        let specs = run.scenario.queues.clone();
        specs
            .into_iter()
            .map(|spec| Stream::new(Arc::clone(&run), spec))
            .collect()
    }

    fn two_minutes(seed: u64) -> Vec<Arrival> {
        let mut arrivals = Vec::new();
        for mut stream in streams(seed) {
            arrivals.push(stream.backlog());
            while stream.next_at() < Duration::from_secs(120) {
                arrivals.push(stream.next());
            }
        }
        arrivals
    }

    #[test]
    fn the_same_seed_makes_the_same_jobs_and_another_seed_others() {
        assert_eq!(two_minutes(42), two_minutes(42));
        assert_ne!(two_minutes(42), two_minutes(43));
    }

    #[test]
    fn every_job_can_be_enqueued_and_ids_and_keys_name_one_job() {
        let (mut ids, mut keys, mut jobs) = (BTreeSet::new(), BTreeSet::new(), 0_usize);
        for job in two_minutes(42).into_iter().flat_map(|each| each.jobs) {
            assert_eq!(job.check(), Ok(()), "{job:?}");
            assert!(ids.insert(job.id), "{job:?}");
            keys.insert(job.idempotency_key);
            jobs += 1;
        }
        let repeated = jobs - keys.len();
        assert!(jobs > 2_000, "{jobs}");
        assert!((10..200).contains(&repeated), "{repeated} of {jobs}");
    }

    #[test]
    fn arrivals_of_a_queue_come_in_the_order_of_time() {
        for mut stream in streams(7) {
            let mut last = Duration::ZERO;
            for _ in 0..500 {
                let at = stream.next().at;
                assert!(at >= last);
                last = at;
            }
        }
    }

    #[test]
    fn a_parent_comes_together_with_its_children_and_keeps_their_keys_stable() {
        let arrivals = two_minutes(42);
        let family = arrivals
            .iter()
            .map(|arrival| &arrival.jobs)
            .find(|jobs| jobs.first().is_some_and(|job| job.awaits_children))
            .unwrap();
        let parent = &family[0].idempotency_key;
        let links: Vec<&ParentLink> = family[1..]
            .iter()
            .map_while(|job| job.parent.as_ref())
            .collect();
        assert!(links.iter().all(|link| link.key == *parent));
        let optional = links.iter().filter(|link| !link.required).count();
        assert_eq!(optional, 1);
        assert!(family[1].idempotency_key.ends_with(":chart_1"));
    }

    #[test]
    fn invoices_break_their_schema_only_while_the_bad_deploy_lasts() {
        for arrival in two_minutes(42) {
            for job in &arrival.jobs {
                let invoice = job.kind == "collect_invoice";
                let poisoned = invoice && job.payload.get("amount_cents").is_none();
                let during = (35..55).contains(&arrival.at.as_secs());
                assert!(!poisoned || during, "{:?} {job:?}", arrival.at);
            }
        }
    }
}

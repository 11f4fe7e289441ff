//! The demo's script, read from its file and checked: what producers enqueue, what handlers depend
//! on, who works, and what goes wrong when.
//!
//! [`Scenario::parse`] takes the written form (TOML, unknown keys refused) to the resolved one, in
//! which every name is known. Pure. Next: [`written`], the form of the file, and
//! [`super::arrivals`], which makes jobs from it.

use std::time::Duration;

use serde::Deserialize;

use crate::ledger::policy::Policy;

mod written;

/// The script that the program carries.
pub const BUILT_IN: &str = include_str!("../../assets/demo/scenario.toml");

/// Why a script cannot be played.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// It is not the TOML that a script is.
    #[error("the demo's script cannot be read")]
    Syntax(#[from] toml::de::Error),
    /// It names something that it does not have.
    #[error("the demo's script names {what} '{name}', which it does not have")]
    UnknownName {
        /// What is named.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// Something that is needed is not said.
    #[error("the demo's script has a '{what}' without '{field}'")]
    Missing {
        /// Where.
        what: &'static str,
        /// What is not said.
        field: &'static str,
    },
    /// A value cannot be played.
    #[error("the demo's script: '{field}' must be {rule}")]
    BadValue {
        /// Which.
        field: &'static str,
        /// What it must be.
        rule: &'static str,
    },
}

/// A range from which values are drawn evenly, ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct Span(pub u64, pub u64);

/// A way in which a dependency fails.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// The registered reason, which brings its class.
    pub reason: String,
    /// How many of a thousand calls end so; for an incident, the incident says it.
    #[serde(default)]
    pub per_mille: u32,
    /// How long the call takes to end so.
    pub latency_ms: Span,
    /// The `Retry-After` of the answer.
    pub retry_after_s: Option<Span>,
    /// What the far side says.
    pub error: String,
}

/// A service that handlers call.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DependencySpec {
    /// Its name.
    pub name: String,
    /// How long a good call takes.
    pub latency_ms: Span,
    /// How it fails on ordinary days.
    pub faults: Vec<Fault>,
}

/// What the jobs of a queue are about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// One picture to be scaled.
    Thumbnail,
    /// A letter and the charts in it: a parent and its children.
    Digest,
    /// Money to be collected.
    Invoice,
    /// An event to be delivered.
    Webhook,
    /// Money to be paid out.
    Payout,
}

/// A producer and the queue that its jobs go to. Several may share a queue.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QueueSpec {
    /// The queue's name.
    pub name: String,
    /// Who enqueues; no two are alike.
    pub producer: String,
    /// Under which policy.
    pub policy: String,
    /// The policy of optional children.
    #[serde(default)]
    pub optional_policy: Option<String>,
    /// What the jobs are about.
    pub shape: Shape,
    /// What their handler calls.
    pub dependency: String,
    /// What the handler of children calls.
    #[serde(default)]
    pub child_dependency: Option<String>,
    /// How many come a second, at random moments.
    pub per_s: f64,
    /// How many are there when the demo begins.
    #[serde(default)]
    pub backlog: u32,
    /// How far apart bursts are.
    #[serde(default)]
    pub burst_every_s: Option<Span>,
    /// How many come in a burst.
    #[serde(default)]
    pub burst_jobs: Option<Span>,
    /// How many of a thousand are malformed.
    #[serde(default)]
    pub malformed_per_mille: u32,
    /// How many of a thousand are sent twice.
    #[serde(default)]
    pub duplicate_per_mille: u32,
    /// How many of a thousand are due later only.
    #[serde(default)]
    pub later_per_mille: u32,
    /// How much later.
    #[serde(default)]
    pub later_s: Option<Span>,
    /// How many children a parent waits for.
    #[serde(default)]
    pub required_children: Option<Span>,
    /// How many it does not wait for.
    #[serde(default)]
    pub optional_children: u32,
}

/// A worker.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkerSpec {
    /// Its name.
    pub name: String,
    /// The queues it serves.
    pub queues: Vec<String>,
    /// How many jobs it holds at a time.
    pub concurrency: usize,
}

/// Something that goes wrong for a while.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Incident {
    /// When it begins, after the beginning of a cycle.
    pub at: Duration,
    /// How long it lasts; one without an end comes once and stays.
    pub lasts: Option<Duration>,
    /// What happens.
    pub act: Act,
    /// What people say when it begins.
    pub begins: String,
    /// What people say when it ends.
    pub ends: String,
}

impl Incident {
    /// Whether it goes on `elapsed` after the demo began, with cycles of `cycle`.
    fn goes_on(&self, elapsed: Duration, cycle: Duration) -> bool {
        let Some(lasts) = self.lasts else {
            return elapsed >= self.at;
        };
        let position = elapsed.as_millis() % cycle.as_millis().max(1);
        (self.at.as_millis()..(self.at + lasts).as_millis()).contains(&position)
    }
}

/// Dead letters that the incidents leave behind, for a person to practise on.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lesson {
    /// In which queue they are.
    pub queue: String,
    /// Which reason they have.
    pub reason: String,
    /// What they are, and which act is right.
    pub text: String,
}

/// What goes wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    /// A dependency answers most calls with a fault.
    Degrade {
        /// Which.
        dependency: String,
        /// Whose calls; everybody's where nothing is said.
        tenant: Option<String>,
        /// The fault, and how often.
        fault: Fault,
    },
    /// A producer sends jobs that break their schema.
    Poison {
        /// To which queue.
        queue: String,
        /// How many of a thousand.
        per_mille: u32,
        /// The version it says.
        schema_version: String,
    },
    /// A worker dies with its jobs in hand, and is started again in the end.
    Crash {
        /// Which.
        worker: String,
    },
    /// A worker loses its connection to the ledger and works on.
    CutOff {
        /// Which.
        worker: String,
    },
}

/// A script with every name known.
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    /// After this, the incidents begin again.
    pub cycle: Duration,
    /// Whose jobs there are; the first have the most.
    pub tenants: Vec<String>,
    /// The retry rules.
    pub policies: Vec<Policy>,
    /// The services.
    pub dependencies: Vec<DependencySpec>,
    /// The queues.
    pub queues: Vec<QueueSpec>,
    /// The workers.
    pub workers: Vec<WorkerSpec>,
    /// What goes wrong.
    pub incidents: Vec<Incident>,
    /// What they leave behind.
    pub lessons: Vec<Lesson>,
}

impl Scenario {
    /// The script that the program carries.
    ///
    /// # Errors
    /// Where it cannot be played; a test holds that it can.
    pub fn built_in() -> Result<Self, ScenarioError> {
        Self::parse(BUILT_IN)
    }

    /// Reads and checks a script.
    ///
    /// # Errors
    /// The first thing in it that cannot be played.
    pub fn parse(text: &str) -> Result<Self, ScenarioError> {
        let written: written::Written = toml::from_str(text)?;
        let scenario = written.resolve()?;
        scenario.check_values()?;
        scenario.check_names()?;
        Ok(scenario)
    }

    /// The incidents that go on `elapsed` after the demo began.
    pub fn active(&self, elapsed: Duration) -> impl Iterator<Item = &Incident> {
        let incidents = self.incidents.iter();
        incidents.filter(move |incident| incident.goes_on(elapsed, self.cycle))
    }

    /// What begins or ends after `from` and up to `to`, both counted from the demo's beginning.
    pub fn news(&self, from: Duration, to: Duration) -> Vec<&str> {
        let news = self.incidents.iter().filter_map(|incident| {
            let before = incident.goes_on(from, self.cycle);
            match (before, incident.goes_on(to, self.cycle)) {
                (false, true) => Some(incident.begins.as_str()),
                (true, false) => Some(incident.ends.as_str()),
                (false, false) | (true, true) => None,
            }
        });
        news.collect()
    }

    fn check_values(&self) -> Result<(), ScenarioError> {
        let bad = |field, rule| Err(ScenarioError::BadValue { field, rule });
        if self.cycle < Duration::from_secs(1) {
            return bad("cycle_s", "at least 1");
        }
        if self.tenants.is_empty() {
            return bad("tenants", "at least one name");
        }
        let mut producers: Vec<&str> = self.queues.iter().map(|each| &*each.producer).collect();
        producers.sort_unstable();
        if producers.windows(2).any(|pair| pair[0] == pair[1]) {
            return bad("producer", "another one for each queue");
        }
        let rate = 0.001..=10_000.0;
        if !self.queues.iter().all(|queue| rate.contains(&queue.per_s)) {
            return bad("per_s", "from 0.001 to 10000");
        }
        let spans = self
            .queues
            .iter()
            .flat_map(|queue| {
                [
                    queue.burst_every_s,
                    queue.burst_jobs,
                    queue.later_s,
                    queue.required_children,
                ]
            })
            .flatten()
            .chain(self.dependencies.iter().flat_map(|dependency| {
                let faults = dependency.faults.iter().map(|fault| fault.latency_ms);
                faults.chain([dependency.latency_ms])
            }));
        for Span(low, high) in spans {
            if low > high {
                return bad("a range", "two numbers of which the first is not larger");
            }
        }
        if self
            .queues
            .iter()
            .any(|queue| queue.burst_every_s.is_some_and(|span| span.0 == 0))
        {
            return bad("burst_every_s", "at least 1");
        }
        Ok(())
    }

    fn check_names(&self) -> Result<(), ScenarioError> {
        let policies = |name: &str| self.policies.iter().any(|policy| policy.name == name);
        let services = |name: &str| self.dependencies.iter().any(|each| each.name == name);
        let queues = |name: &str| self.queues.iter().any(|queue| queue.name == name);
        let workers = |name: &str| self.workers.iter().any(|worker| worker.name == name);
        let tenants = |name: &str| self.tenants.iter().any(|tenant| tenant == name);
        for queue in &self.queues {
            known("policy", &queue.policy, policies)?;
            known("dependency", &queue.dependency, services)?;
            if let Some(name) = &queue.optional_policy {
                known("policy", name, policies)?;
            }
            if let Some(name) = &queue.child_dependency {
                known("dependency", name, services)?;
            }
        }
        for queue in self.workers.iter().flat_map(|worker| &worker.queues) {
            known("queue", queue, queues)?;
        }
        for incident in &self.incidents {
            match &incident.act {
                Act::Degrade {
                    dependency, tenant, ..
                } => {
                    known("dependency", dependency, services)?;
                    if let Some(name) = tenant {
                        known("tenant", name, tenants)?;
                    }
                }
                Act::Poison { queue, .. } => known("queue", queue, queues)?,
                Act::Crash { worker } | Act::CutOff { worker } => {
                    known("worker", worker, workers)?;
                }
            }
        }
        for lesson in &self.lessons {
            known("queue", &lesson.queue, queues)?;
        }
        Ok(())
    }
}

fn known(
    what: &'static str,
    name: &str,
    is_known: impl Fn(&str) -> bool,
) -> Result<(), ScenarioError> {
    if is_known(name) {
        return Ok(());
    }
    let name = name.to_owned();
    Err(ScenarioError::UnknownName { what, name })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_script_can_be_played_and_mends_within_two_minutes() {
        let scenario = Scenario::built_in().unwrap();
        for incident in &scenario.incidents {
            let end = incident.at + incident.lasts.unwrap_or_default();
            assert!(end < Duration::from_secs(120), "{}", incident.begins);
        }
        // One tenant's trouble never ends; whoever plays the demo has to see it.
        let endless = |incident: &&Incident| incident.lasts.is_none();
        assert_eq!(scenario.incidents.iter().filter(endless).count(), 1);
        assert_eq!(scenario.active(Duration::from_secs(5)).count(), 0);
        assert_eq!(scenario.active(Duration::from_secs(125)).count(), 1);
        assert!(scenario.active(Duration::from_secs(75)).count() >= 3);
    }

    #[test]
    fn news_is_what_begins_and_ends_and_comes_again_in_the_next_cycle() {
        let scenario = Scenario::built_in().unwrap();
        let at = Duration::from_secs;
        assert_eq!(scenario.news(at(0), at(11)), Vec::<&str>::new());
        let begins = scenario.news(at(19), at(21));
        assert!(begins[0].starts_with("the image CDN slows down"));
        assert_eq!(scenario.news(at(379), at(381)), begins);
        let forever = scenario.news(at(11), at(12));
        assert!(forever[0].starts_with("umbrella"));
        assert_eq!(scenario.news(at(371), at(373)), Vec::<&str>::new());
        assert_eq!(
            scenario.news(at(89), at(91)),
            ["the image CDN is itself again"]
        );
    }

    #[test]
    fn a_script_that_names_what_it_does_not_have_is_refused() {
        let wrong = BUILT_IN.replace("target = \"digest-2\"", "target = \"digest-9\"");
        let error = Scenario::parse(&wrong).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the demo's script names worker 'digest-9', which it does not have"
        );
    }

    #[test]
    fn an_unknown_key_is_refused() {
        let wrong = BUILT_IN.replace("backlog = 60", "backlogs = 60");
        assert!(matches!(
            Scenario::parse(&wrong),
            Err(ScenarioError::Syntax(_))
        ));
    }
}

//! The demo's script as its file has it: what may be left out, and what the values become.
//!
//! Next: [`super`], the resolved form.

use std::time::Duration;

use serde::Deserialize;

use super::{
    Act, DependencySpec, Fault, Incident, Lesson, QueueSpec, Scenario, ScenarioError, WorkerSpec,
};
use crate::ledger::policy::{OnUnknown, Policy};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Written {
    cycle_s: u64,
    tenants: Vec<String>,
    policy: Vec<WrittenPolicy>,
    dependency: Vec<DependencySpec>,
    queue: Vec<QueueSpec>,
    worker: Vec<WorkerSpec>,
    incident: Vec<WrittenIncident>,
    #[serde(default)]
    practise: Vec<Lesson>,
}

impl Written {
    /// The script that is meant; its names are not checked yet.
    ///
    /// # Errors
    /// Where an incident does not say what it needs.
    pub(super) fn resolve(self) -> Result<Scenario, ScenarioError> {
        let incidents = self.incident.into_iter().map(incident);
        Ok(Scenario {
            cycle: Duration::from_secs(self.cycle_s),
            tenants: self.tenants,
            policies: self.policy.into_iter().map(policy).collect(),
            dependencies: self.dependency,
            queues: self.queue,
            workers: self.worker,
            incidents: incidents.collect::<Result<_, _>>()?,
            lessons: self.practise,
        })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenPolicy {
    name: String,
    max_attempts: u32,
    max_age_s: u64,
    backoff_base_ms: u64,
    backoff_cap_ms: u64,
    retry_after_cap_ms: u64,
    #[serde(default)]
    on_unknown: WrittenOnUnknown,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "snake_case")]
enum WrittenOnUnknown {
    #[default]
    BoundedRetry,
    Hold,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenIncident {
    at_s: u64,
    for_s: Option<u64>,
    what: WrittenAct,
    target: String,
    tenant: Option<String>,
    per_mille: Option<u32>,
    fault: Option<Fault>,
    schema_version: Option<String>,
    begins: String,
    #[serde(default)]
    ends: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum WrittenAct {
    Degrade,
    Poison,
    Crash,
    CutOff,
}

fn policy(written: WrittenPolicy) -> Policy {
    Policy {
        name: written.name,
        version: 1,
        max_attempts: written.max_attempts,
        max_age: Duration::from_secs(written.max_age_s),
        backoff_base: Duration::from_millis(written.backoff_base_ms),
        backoff_cap: Duration::from_millis(written.backoff_cap_ms),
        retry_after_cap: Duration::from_millis(written.retry_after_cap_ms),
        on_unknown: match written.on_unknown {
            WrittenOnUnknown::BoundedRetry => OnUnknown::BoundedRetry,
            WrittenOnUnknown::Hold => OnUnknown::Hold,
        },
    }
}

fn incident(written: WrittenIncident) -> Result<Incident, ScenarioError> {
    let missing = |what, field| ScenarioError::Missing { what, field };
    let act = match written.what {
        WrittenAct::Degrade => Act::Degrade {
            dependency: written.target,
            tenant: written.tenant,
            fault: Fault {
                per_mille: written
                    .per_mille
                    .ok_or_else(|| missing("degrade", "per_mille"))?,
                ..written.fault.ok_or_else(|| missing("degrade", "fault"))?
            },
        },
        WrittenAct::Poison => Act::Poison {
            queue: written.target,
            per_mille: written
                .per_mille
                .ok_or_else(|| missing("poison", "per_mille"))?,
            schema_version: written
                .schema_version
                .ok_or_else(|| missing("poison", "schema_version"))?,
        },
        WrittenAct::Crash => Act::Crash {
            worker: written.target,
        },
        WrittenAct::CutOff => Act::CutOff {
            worker: written.target,
        },
    };
    Ok(Incident {
        at: Duration::from_secs(written.at_s),
        lasts: written.for_s.map(Duration::from_secs),
        act,
        begins: written.begins,
        ends: written.ends,
    })
}

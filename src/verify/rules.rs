//! The policies and plans of a ledger, found quickly.

use std::collections::HashMap;

use crate::ledger::audit::{ApprovedPlan, PolicyRef, Rules};
use crate::ledger::policy::Policy;

/// What the laws refer to besides the job.
#[derive(Debug, Default)]
pub(super) struct Rulebook<'r> {
    policies: HashMap<&'r str, Vec<&'r Policy>>,
    plans: HashMap<&'r str, &'r ApprovedPlan>,
}

impl<'r> Rulebook<'r> {
    pub(super) fn of(rules: &'r Rules) -> Self {
        let mut book = Self::default();
        for policy in &rules.policies {
            let versions = book.policies.entry(policy.name.as_str()).or_default();
            versions.push(policy);
        }
        let plans = rules.plans.iter().map(|plan| (plan.id.as_str(), plan));
        book.plans.extend(plans);
        book
    }

    /// The policy of that name and version, if the ledger has it.
    pub(super) fn policy(&self, named: &PolicyRef) -> Option<&'r Policy> {
        let versions = self.policies.get(named.name.as_str())?;
        versions
            .iter()
            .find(|policy| policy.version == named.version)
            .copied()
    }

    /// The plan of that id, if it was approved.
    pub(super) fn plan(&self, plan: &str) -> Option<&'r ApprovedPlan> {
        self.plans.get(plan).copied()
    }
}

//! The policies and plans of a ledger, found quickly.

use std::collections::{HashMap, HashSet};

use crate::ledger::audit::{PolicyRef, Rules};
use crate::ledger::policy::Policy;

/// What the laws refer to besides the job.
#[derive(Debug, Default)]
pub(super) struct Rulebook<'r> {
    policies: HashMap<&'r str, Vec<&'r Policy>>,
    plans: HashSet<&'r str>,
}

impl<'r> Rulebook<'r> {
    pub(super) fn of(rules: &'r Rules) -> Self {
        let mut book = Self::default();
        for policy in &rules.policies {
            let versions = book.policies.entry(policy.name.as_str()).or_default();
            versions.push(policy);
        }
        book.plans.extend(rules.plans.iter().map(AsRef::as_ref));
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

    /// Whether the plan was approved.
    pub(super) fn holds_plan(&self, plan: &str) -> bool {
        self.plans.contains(plan)
    }
}

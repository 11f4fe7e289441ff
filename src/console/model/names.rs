//! The names that a filter is completed with: those on the board, and those of the rows that are
//! held.

use std::collections::BTreeSet;

use crate::ledger::query::Known;
use crate::ledger::text::SafeText;

use super::{Model, Screen};

/// Names by what they are of.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Names {
    queues: Vec<SafeText>,
    tenants: Vec<SafeText>,
    workers: Vec<SafeText>,
    policies: Vec<SafeText>,
    kinds: Vec<SafeText>,
}

impl Names {
    /// Those that the console knows now.
    pub fn of(model: &Model) -> Self {
        let mut names = Self::default();
        if let Some(shown) = &model.shown {
            let summary = &shown.summary;
            names.queues = summary
                .queues
                .iter()
                .map(|each| each.queue.clone())
                .collect();
            let workers = summary.total.leases.by_worker.iter();
            names.workers = workers.map(|(worker, _)| worker.clone()).collect();
        }
        let jobs: Vec<_> = match model.view.shown() {
            Screen::Jobs(state) => state.list.rows.iter().collect(),
            Screen::Leases(state) => state.list.rows.iter().map(|lease| &lease.job).collect(),
            _ => Vec::new(),
        };
        let distinct = |of: &dyn Fn(usize) -> SafeText| {
            let all: BTreeSet<SafeText> = (0..jobs.len()).map(of).collect();
            all.into_iter()
                .filter(|name| !name.as_str().is_empty())
                .collect()
        };
        names.tenants = distinct(&|row| jobs[row].row.tenant.clone());
        names.policies = distinct(&|row| jobs[row].policy.clone());
        names.kinds = distinct(&|row| jobs[row].row.kind.clone());
        names
    }

    /// As completion takes them.
    pub fn known(&self) -> Known<'_> {
        Known {
            queues: &self.queues,
            tenants: &self.tenants,
            workers: &self.workers,
            policies: &self.policies,
            kinds: &self.kinds,
        }
    }
}

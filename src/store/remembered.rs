//! Versions of policies that claims have named. A version never changes, so none is read twice.
//!
//! Owns the memory and its bound; knows no driver. Next: each driver's claim.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::ledger::policy::Policy;

/// How many versions are remembered; past that the memory starts anew.
const REMEMBERED_MAX: usize = 1_000;

/// Policies by name and version.
#[derive(Debug, Default)]
pub(crate) struct Remembered(Mutex<HashMap<(String, i64), Arc<Policy>>>);

impl Remembered {
    /// The version of that policy, where it was read before.
    pub(crate) fn get(&self, key: &(String, i64)) -> Option<Arc<Policy>> {
        let remembered = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        remembered.get(key).cloned()
    }

    /// Keeps a version that was read.
    pub(crate) fn keep(&self, key: (String, i64), policy: Policy) -> Arc<Policy> {
        let policy = Arc::new(policy);
        let mut remembered = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if remembered.len() >= REMEMBERED_MAX {
            remembered.clear();
        }
        remembered.insert(key, Arc::clone(&policy));
        policy
    }
}

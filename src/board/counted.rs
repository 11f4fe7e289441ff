//! A multiset in order, for what jobs in a state differ by. It knows nothing of jobs.

use std::collections::BTreeMap;

/// Keys, each with how often it occurs. Invariant: every count is above zero.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Counted<K> {
    counts: BTreeMap<K, u64>,
    total: u64,
}

impl<K> Default for Counted<K> {
    fn default() -> Self {
        Self {
            counts: BTreeMap::new(),
            total: 0,
        }
    }
}

impl<K: Ord> Counted<K> {
    /// How many there are, each counted as often as it occurs.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.total == 0
    }

    /// Adds `key`, `times` times.
    pub(crate) fn add(&mut self, key: K, times: u64) {
        if times > 0 {
            let count = self.counts.entry(key).or_default();
            *count = count.saturating_add(times);
            self.total = self.total.saturating_add(times);
        }
    }

    /// Takes one `key` away; `false`, and nothing is changed, if there is none.
    #[must_use = "what is not there cannot be taken away"]
    pub(crate) fn remove(&mut self, key: &K) -> bool {
        let Some(count) = self.counts.get_mut(key) else {
            return false;
        };
        *count = count.saturating_sub(1);
        if *count == 0 {
            self.counts.remove(key);
        }
        self.total = self.total.saturating_sub(1);
        true
    }

    /// The least key.
    pub(crate) fn first(&self) -> Option<&K> {
        self.counts.first_key_value().map(|(key, _)| key)
    }

    /// Every key at or after `from` with how often it occurs, in order.
    pub(crate) fn from(&self, from: K) -> impl Iterator<Item = (&K, u64)> {
        self.counts.range(from..).map(|(key, count)| (key, *count))
    }

    /// Every key with how often it occurs, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&K, u64)> {
        self.counts.iter().map(|(key, count)| (key, *count))
    }
}

/// Multisets by a first key, for what is both counted together and apart. A part that becomes empty
/// is dropped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Parted<P, K> {
    parts: BTreeMap<P, Counted<K>>,
    total: u64,
}

impl<P, K> Default for Parted<P, K> {
    fn default() -> Self {
        Self {
            parts: BTreeMap::new(),
            total: 0,
        }
    }
}

impl<P: Ord + Clone, K: Ord> Parted<P, K> {
    /// How many there are in all parts.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// Adds `key` to `part`, `times` times.
    pub(crate) fn add(&mut self, part: &P, key: K, times: u64) {
        if times == 0 {
            return;
        }
        self.total = self.total.saturating_add(times);
        if let Some(keys) = self.parts.get_mut(part) {
            keys.add(key, times);
        } else {
            self.parts.entry(part.clone()).or_default().add(key, times);
        }
    }

    /// Takes one `key` away from `part`; `false`, and nothing is changed, if there is none.
    #[must_use = "what is not there cannot be taken away"]
    pub(crate) fn remove(&mut self, part: &P, key: &K) -> bool {
        let Some(keys) = self.parts.get_mut(part) else {
            return false;
        };
        if !keys.remove(key) {
            return false;
        }
        if keys.is_empty() {
            self.parts.remove(part);
        }
        self.total = self.total.saturating_sub(1);
        true
    }

    /// Every part, in order; none is empty.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&P, &Counted<K>)> {
        self.parts.iter()
    }

    /// The part of that name, unless it is empty.
    pub(crate) fn part(&self, part: &P) -> Option<&Counted<K>> {
        self.parts.get(part)
    }

    /// The least key of any part.
    pub(crate) fn first(&self) -> Option<&K> {
        self.parts.values().filter_map(Counted::first).min()
    }
}

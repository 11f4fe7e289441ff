//! A multiset of whole seconds: which second how often, in order, with totals over spans.
//!
//! Every number of the board that has to do with time is a question to one of these: the oldest, a
//! percentile, how many lie before a moment. It knows nothing of jobs. Next: [`super::ages`], which
//! asks it for ages.

use std::collections::BTreeMap;

/// Seconds are grouped by 64, those groups by 64 again, and so on, so that no question looks at
/// more than a few groups of each size. `2^6 = 64`.
const GROUP_BITS: u32 = 6;

/// How many group sizes a multiset of any seconds keeps: 1 s, 64 s, 68 min and 73 h. A year has 120
/// of the largest.
const SIZES: usize = 4;

/// Seconds since 1970-01-01 UTC, each with how often it occurs.
///
/// Adding and removing cost O(log n) for n distinct seconds. Questions cost O(groups of the largest
/// size) plus a small constant; memory is one entry a distinct second and at most as many for the
/// groups.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Seconds {
    /// From the largest group size down to single seconds. Invariant: every count is above zero,
    /// and a group's count is the sum over its members.
    groups: [BTreeMap<i64, u64>; SIZES],
    total: u64,
}

/// How far a second is shifted to become the number of its group at a depth of [`Seconds::groups`].
fn shift(depth: usize) -> u32 {
    let below = u32::try_from(SIZES.saturating_sub(1).saturating_sub(depth)).unwrap_or(0);
    below * GROUP_BITS
}

impl Seconds {
    /// How many there are, each counted as often as it occurs.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.total == 0
    }

    /// Adds `second`, `times` times.
    pub(crate) fn add(&mut self, second: i64, times: u64) {
        if times == 0 {
            return;
        }
        for (depth, groups) in self.groups.iter_mut().enumerate() {
            let count = groups.entry(second >> shift(depth)).or_default();
            *count = count.saturating_add(times);
        }
        self.total = self.total.saturating_add(times);
    }

    /// Takes `second` away, `times` times; `false`, and nothing is changed, if it does not occur so
    /// often.
    #[must_use = "what is not there cannot be taken away"]
    pub(crate) fn remove(&mut self, second: i64, times: u64) -> bool {
        if self.at(second) < times {
            return false;
        }
        for (depth, groups) in self.groups.iter_mut().enumerate() {
            let group = second >> shift(depth);
            if let Some(count) = groups.get_mut(&group) {
                *count = count.saturating_sub(times);
                if *count == 0 {
                    groups.remove(&group);
                }
            }
        }
        self.total = self.total.saturating_sub(times);
        true
    }

    /// Takes away everything before `horizon`.
    pub(crate) fn prune(&mut self, horizon: i64) {
        while let Some(first) = self.first().filter(|first| *first < horizon) {
            if !self.remove(first, self.at(first)) {
                return;
            }
        }
    }

    /// How often `second` occurs.
    pub(crate) fn at(&self, second: i64) -> u64 {
        self.singles().get(&second).copied().unwrap_or(0)
    }

    /// The first second there is.
    pub(crate) fn first(&self) -> Option<i64> {
        self.singles().first_key_value().map(|(second, _)| *second)
    }

    /// How many lie before `second`.
    pub(crate) fn before(&self, second: i64) -> u64 {
        let mut before = 0_u64;
        let mut from = i64::MIN;
        for (depth, groups) in self.groups.iter().enumerate() {
            let group = second >> shift(depth);
            before += groups
                .range(from..group)
                .map(|(_, count)| count)
                .sum::<u64>();
            from = group.saturating_mul(1 << GROUP_BITS);
        }
        before
    }

    /// How many lie at `second` or later.
    pub(crate) fn since(&self, second: i64) -> u64 {
        self.total.saturating_sub(self.before(second))
    }

    /// The second at position `index` (from 0) if all were listed in order, each as often as it
    /// occurs.
    pub(crate) fn nth(&self, index: u64) -> Option<i64> {
        if index >= self.total {
            return None;
        }
        let mut left = index;
        let mut from = i64::MIN;
        let mut found = None;
        for groups in &self.groups {
            for (group, count) in groups.range(from..) {
                if left < *count {
                    found = Some(*group);
                    break;
                }
                left -= *count;
            }
            from = found?.saturating_mul(1 << GROUP_BITS);
        }
        found
    }

    /// Every second with how often it occurs, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (i64, u64)> + '_ {
        self.singles()
            .iter()
            .map(|(second, count)| (*second, *count))
    }

    fn singles(&self) -> &BTreeMap<i64, u64> {
        let [.., singles] = &self.groups;
        singles
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ledger::num;

    /// Close together, far apart, negative, and at the ends of the range.
    fn second() -> impl Strategy<Value = i64> {
        prop_oneof![
            0_i64..200,
            -100_000_i64..1_000_000,
            any::<i64>(),
            Just(i64::MIN),
            Just(i64::MAX),
        ]
    }

    proptest! {
        #[test]
        fn every_answer_is_that_of_a_sorted_list(
            changes in prop::collection::vec((second(), any::<bool>()), 0..200),
            asked in prop::collection::vec(second(), 0..20),
        ) {
            let mut seconds = Seconds::default();
            let mut list: Vec<i64> = Vec::new();
            for (second, adds) in changes {
                if adds {
                    seconds.add(second, 1);
                    list.push(second);
                } else {
                    let victim = list.first().copied().unwrap_or(second);
                    let position = list.iter().position(|each| *each == victim);
                    prop_assert_eq!(seconds.remove(victim, 1), position.is_some());
                    position.map(|position| list.remove(position));
                }
            }
            list.sort_unstable();
            prop_assert_eq!(seconds.total(), num::count(list.len()));
            prop_assert_eq!(seconds.first(), list.first().copied());
            for (index, second) in list.iter().enumerate() {
                prop_assert_eq!(seconds.nth(num::count(index)), Some(*second));
            }
            prop_assert_eq!(seconds.nth(num::count(list.len())), None);
            for moment in asked.iter().chain(&list) {
                let before = num::count(list.iter().filter(|each| *each < moment).count());
                prop_assert_eq!(seconds.before(*moment), before);
            }
        }

        #[test]
        fn pruning_leaves_what_would_be_there_had_the_rest_never_come(
            all in prop::collection::vec(0_i64..20_000, 0..100), horizon in 0_i64..20_000,
        ) {
            let mut pruned = Seconds::default();
            let mut late = Seconds::default();
            for second in all {
                pruned.add(second, 2);
                if second >= horizon {
                    late.add(second, 2);
                }
            }
            pruned.prune(horizon);
            prop_assert_eq!(pruned, late);
        }
    }

    #[test]
    fn what_is_not_there_cannot_be_taken_away() {
        let mut seconds = Seconds::default();
        seconds.add(7, 2);
        let before = seconds.clone();
        assert!(!seconds.remove(7, 3));
        assert!(!seconds.remove(8, 1));
        assert_eq!(seconds, before);
    }
}

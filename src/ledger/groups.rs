//! Dead letters in groups: alike in class, reason and the fingerprint of their error.
//!
//! A fold over dead letters, pure and bounded: it takes one at a time and keeps counts. Next:
//! [`super::view::DeadLetterGroup`], what it makes.

use std::cmp::Reverse;
use std::collections::HashMap;

use uuid::Uuid;

use super::error_class::ErrorClass;
use super::fingerprint::fingerprint;
use super::state::State;
use super::text::SafeText;
use super::time::Timestamp;
use super::view::DeadLetterGroup;

/// The most groups that are kept; what belongs to none of them is counted together.
pub const GROUPS_MAX: usize = 500;
/// The most queues, tenants and policies that a group names.
pub const NAMES_SHOWN_MAX: usize = 10;
/// The most of them that it counts. A name beyond them is not counted apart.
const NAMES_MAX: usize = 2_000;

/// A dead letter, as far as groups need it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadLetter<'a> {
    /// The job.
    pub id: Uuid,
    /// Its state.
    pub state: State,
    /// When the state was entered.
    pub since: Timestamp,
    /// The last failure's class.
    pub class: Option<ErrorClass>,
    /// The last failure's reason.
    pub reason: Option<&'a str>,
    /// The last failure's message.
    pub error: Option<&'a str>,
    /// The queue.
    pub queue: &'a str,
    /// The tenant.
    pub tenant: &'a str,
    /// The policy's name.
    pub policy: &'a str,
    /// The policy's version.
    pub policy_version: u32,
    /// How often it was redriven.
    pub redrives: u32,
    /// Its attempts whose outcome is unknown.
    pub unsettled: u32,
}

type Key = (Option<ErrorClass>, String, String);

/// The fold.
#[derive(Debug, Default)]
pub struct Groups {
    kept: HashMap<Key, Counted>,
    beyond: u64,
    counted: u64,
}

#[derive(Debug)]
struct Counted {
    group: DeadLetterGroup,
    queues: HashMap<String, u64>,
    tenants: HashMap<String, u64>,
    policies: HashMap<(String, u32), u64>,
}

impl Groups {
    /// Counts one.
    pub fn add(&mut self, letter: &DeadLetter<'_>) {
        self.counted = self.counted.saturating_add(1);
        let key = (
            letter.class,
            letter.reason.unwrap_or_default().to_owned(),
            fingerprint(letter.error.unwrap_or_default()),
        );
        if !self.kept.contains_key(&key) && self.kept.len() >= GROUPS_MAX {
            self.beyond = self.beyond.saturating_add(1);
            return;
        }
        let title = SafeText::new(&key.2);
        self.kept
            .entry(key)
            .or_insert_with(|| Counted::new(letter, title))
            .add(letter);
    }

    /// How many were counted, those in no group included.
    pub const fn counted(&self) -> u64 {
        self.counted
    }

    /// The groups, the largest first, and how many dead letters are in none of them.
    pub fn finish(self) -> (Vec<DeadLetterGroup>, u64) {
        let mut groups: Vec<DeadLetterGroup> =
            self.kept.into_values().map(Counted::finish).collect();
        groups.sort_by(|one, other| order(one).cmp(&order(other)));
        (groups, self.beyond)
    }
}

type Order<'a> = (
    Reverse<u64>,
    Reverse<Timestamp>,
    &'a SafeText,
    &'a Option<SafeText>,
    Option<ErrorClass>,
);

/// The largest first, then the one that grew last; total, so that a list keeps still.
fn order(group: &DeadLetterGroup) -> Order<'_> {
    (
        Reverse(group.dead.saturating_add(group.quarantined)),
        Reverse(group.last_at),
        &group.fingerprint,
        &group.reason,
        group.class,
    )
}

impl Counted {
    fn new(letter: &DeadLetter<'_>, fingerprint: SafeText) -> Self {
        Self {
            group: DeadLetterGroup {
                class: letter.class,
                reason: letter.reason.map(SafeText::new),
                fingerprint,
                dead: 0,
                quarantined: 0,
                first_at: letter.since,
                last_at: letter.since,
                died_again: 0,
                unsettled: 0,
                queues: Vec::new(),
                tenants: Vec::new(),
                policies: Vec::new(),
                sample: letter.id,
            },
            queues: HashMap::new(),
            tenants: HashMap::new(),
            policies: HashMap::new(),
        }
    }

    fn add(&mut self, letter: &DeadLetter<'_>) {
        let group = &mut self.group;
        if letter.state == State::Dead {
            raise(&mut group.dead);
        } else {
            raise(&mut group.quarantined);
        }
        if letter.redrives > 0 {
            raise(&mut group.died_again);
        }
        if letter.unsettled > 0 {
            raise(&mut group.unsettled);
        }
        group.first_at = group.first_at.min(letter.since);
        if (letter.since, letter.id) >= (group.last_at, group.sample) {
            group.last_at = letter.since;
            group.sample = letter.id;
        }
        name(&mut self.queues, letter.queue);
        name(&mut self.tenants, letter.tenant);
        let policy = (letter.policy.to_owned(), letter.policy_version);
        if let Some(count) = self.policies.get_mut(&policy) {
            raise(count);
        } else if self.policies.len() < NAMES_MAX {
            self.policies.insert(policy, 1);
        }
    }

    fn finish(self) -> DeadLetterGroup {
        let policies = self
            .policies
            .into_iter()
            .map(|((name, version), count)| (format!("{name}@{version}"), count));
        DeadLetterGroup {
            queues: most(self.queues),
            tenants: most(self.tenants),
            policies: most(policies),
            ..self.group
        }
    }
}

const fn raise(count: &mut u64) {
    *count = count.saturating_add(1);
}

fn name(names: &mut HashMap<String, u64>, name: &str) {
    if let Some(count) = names.get_mut(name) {
        raise(count);
    } else if names.len() < NAMES_MAX {
        names.insert(name.to_owned(), 1);
    }
}

/// The names counted most, then in order of the alphabet.
fn most(names: impl IntoIterator<Item = (String, u64)>) -> Vec<(SafeText, u64)> {
    let mut names: Vec<(String, u64)> = names.into_iter().collect();
    names.sort_by(|one, other| (Reverse(one.1), &one.0).cmp(&(Reverse(other.1), &other.0)));
    names
        .into_iter()
        .take(NAMES_SHOWN_MAX)
        .map(|(name, count)| (SafeText::new(&name), count))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn letter(number: u128) -> DeadLetter<'static> {
        DeadLetter {
            id: Uuid::from_u128(number),
            state: State::Dead,
            since: Timestamp::from_seconds(i64::try_from(number).unwrap()),
            class: Some(ErrorClass::Transient),
            reason: Some("timeout"),
            error: Some("no answer from 10.0.0.7 after 30 s"),
            queue: "mail",
            tenant: "t1",
            policy: "default",
            policy_version: 1,
            redrives: 0,
            unsettled: 0,
        }
    }

    fn grouped(letters: &[DeadLetter<'_>]) -> Vec<DeadLetterGroup> {
        let mut groups = Groups::default();
        for letter in letters {
            groups.add(letter);
        }
        groups.finish().0
    }

    #[test]
    fn errors_that_differ_in_numbers_and_addresses_are_one_group() {
        let second = DeadLetter {
            error: Some("no answer from 10.0.0.99 after 31 s"),
            state: State::Quarantined,
            queue: "sms",
            redrives: 2,
            unsettled: 1,
            ..letter(9)
        };
        let groups = grouped(&[letter(5), second, letter(7)]);
        let [group] = groups.as_slice() else {
            panic!("{groups:?}");
        };
        assert_eq!((group.dead, group.quarantined), (2, 1));
        assert_eq!((group.died_again, group.unsettled), (1, 1));
        assert_eq!(group.first_at, Timestamp::from_seconds(5));
        assert_eq!(group.last_at, Timestamp::from_seconds(9));
        assert_eq!(group.sample, Uuid::from_u128(9));
        let queues: Vec<_> = group
            .queues
            .iter()
            .map(|(name, n)| (name.as_str(), *n))
            .collect();
        assert_eq!(queues, [("mail", 2), ("sms", 1)]);
        assert_eq!(group.policies, [(SafeText::new("default@1"), 3)]);
    }

    #[test]
    fn class_reason_and_error_each_tell_groups_apart_and_the_largest_is_first() {
        let other = |change: fn(&mut DeadLetter<'static>)| {
            let mut letter = letter(1);
            change(&mut letter);
            letter
        };
        let groups = grouped(&[
            other(|letter| letter.class = Some(ErrorClass::Permanent)),
            other(|letter| letter.reason = Some("unavailable")),
            other(|letter| letter.error = Some("the host is gone")),
            other(|letter| letter.error = None),
            letter(2),
            letter(3),
        ]);
        assert_eq!(groups.len(), 5);
        assert_eq!(groups.first().map(|group| group.dead), Some(2));
    }

    #[test]
    fn groups_beyond_the_bound_are_counted_together() {
        let mut groups = Groups::default();
        let word = |number: usize| {
            let letters = number.to_string();
            let shown = letters.bytes().map(|digit| char::from(digit - b'0' + b'a'));
            format!("the error {}", shown.collect::<String>())
        };
        for number in 0..GROUPS_MAX + 7 {
            let error = word(number);
            groups.add(&DeadLetter {
                error: Some(&error),
                ..letter(1)
            });
        }
        groups.add(&DeadLetter {
            error: Some(&word(0)),
            ..letter(1)
        });
        assert_eq!(groups.counted(), 508);
        let (kept, beyond) = groups.finish();
        assert_eq!((kept.len(), beyond), (GROUPS_MAX, 7));
        assert_eq!(kept.first().map(|group| group.dead), Some(2));
    }
}

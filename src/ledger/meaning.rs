//! What the answer of a handler in another process means: the tables that map a status or an exit
//! code to a class and a reason (row C5).
//!
//! A [`Table`] is a list of built-in rules with what the config lays over it. It is the whole
//! truth: what a number means is read from it and from nowhere else, and it prints itself. Next:
//! `worker::handler`, which asks it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use super::error_class::{ErrorClass, REASONS, valid_reason};

/// What a status or an exit code says about an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Meaning {
    /// The work is done.
    Done,
    /// The attempt failed.
    Failed {
        /// The class, which decides scheduling.
        class: ErrorClass,
        /// The reason, which people count by.
        reason: Cow<'static, str>,
    },
}

impl Meaning {
    /// How a meaning is written, as errors say it.
    pub const ALLOWED: &'static str =
        "\"done\", or a class and a reason such as \"permanent rejected\"";

    /// A failure by a reason that is known in advance.
    pub const fn failed(class: ErrorClass, reason: &'static str) -> Self {
        Self::Failed {
            class,
            reason: Cow::Borrowed(reason),
        }
    }

    /// The meaning that `text` writes: `done`, or a class and a reason with one space between. A
    /// reason that no ledger knows may be given; a class that is not the usual one of its reason
    /// too.
    pub fn parse(text: &str) -> Option<Self> {
        if text == "done" {
            return Some(Self::Done);
        }
        let (class, reason) = text.split_once(' ')?;
        let class = ErrorClass::parse(class)?;
        valid_reason(reason).then(|| Self::Failed {
            class,
            reason: Cow::Owned(reason.to_owned()),
        })
    }
}

impl fmt::Display for Meaning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Done => f.write_str("done"),
            Self::Failed { class, reason } => write!(f, "{class} {reason}"),
        }
    }
}

/// What a run of numbers means, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// The first number.
    pub from: u16,
    /// The last one.
    pub to: u16,
    /// What they mean.
    pub meaning: Meaning,
    /// What the numbers are called where they come from.
    pub note: &'static str,
}

impl Rule {
    /// A rule for one number.
    pub const fn one(number: u16, meaning: Meaning, note: &'static str) -> Self {
        Self::run(number, number, meaning, note)
    }

    /// A rule for a run of numbers.
    pub const fn run(from: u16, to: u16, meaning: Meaning, note: &'static str) -> Self {
        Self {
            from,
            to,
            meaning,
            note,
        }
    }
}

/// What every number means: what the config says, else the first built-in rule that holds it, else
/// a failure of no known class.
#[derive(Debug, Clone)]
pub struct Table {
    rules: &'static [Rule],
    chosen: BTreeMap<u16, Meaning>,
}

/// A row of a table as it is in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The first number.
    pub from: u16,
    /// The last one.
    pub to: u16,
    /// What they mean.
    pub meaning: Meaning,
    /// What they are called, or that the config says so.
    pub note: &'static str,
}

/// What a number means that no rule holds.
const OTHER: Meaning = Meaning::failed(ErrorClass::Unknown, "unclassified");

impl Table {
    /// The built-in `rules`, the first that holds a number first, under what was `chosen`.
    pub const fn new(rules: &'static [Rule], chosen: BTreeMap<u16, Meaning>) -> Self {
        Self { rules, chosen }
    }

    /// What `number` means.
    pub fn meaning(&self, number: u16) -> Meaning {
        if let Some(chosen) = self.chosen.get(&number) {
            return chosen.clone();
        }
        let rule = self
            .rules
            .iter()
            .find(|rule| (rule.from..=rule.to).contains(&number));
        rule.map_or(OTHER, |rule| rule.meaning.clone())
    }

    /// The table in force, in the order in which it is read: what was chosen, the rules that still
    /// say something, and last what any other number means.
    pub fn rows(&self) -> (Vec<Row>, Meaning) {
        let chosen = self.chosen.iter().map(|(number, meaning)| Row {
            from: *number,
            to: *number,
            meaning: meaning.clone(),
            note: "by the config",
        });
        let rules = self.rules.iter().filter(|rule| {
            let overruled = rule.from == rule.to && self.chosen.contains_key(&rule.from);
            !overruled
        });
        let rules = rules.map(|rule| Row {
            from: rule.from,
            to: rule.to,
            meaning: rule.meaning.clone(),
            note: rule.note,
        });
        (chosen.chain(rules).collect(), OTHER)
    }
}

/// Every registered reason with its class: what a config may name without inventing a word.
pub fn reasons() -> impl Iterator<Item = (&'static str, ErrorClass)> {
    REASONS.iter().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: &[Rule] = &[
        Rule::one(
            7,
            Meaning::failed(ErrorClass::Transient, "timeout"),
            "seven",
        ),
        Rule::run(5, 9, Meaning::Done, "five to nine"),
    ];

    #[test]
    fn a_meaning_is_read_back_as_it_is_written() {
        for text in ["done", "permanent rejected", "transient moon_phase"] {
            assert_eq!(
                Meaning::parse(text).map(|meaning| meaning.to_string()),
                Some(text.to_owned())
            );
        }
        for text in [
            "",
            "permanent",
            "permanent ",
            "permanent  rejected",
            "final rejected",
            "permanent Rejected",
            "Done",
        ] {
            assert_eq!(Meaning::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn the_config_is_over_the_rules_and_a_number_in_neither_is_unclassified() {
        let chosen = BTreeMap::from([(7, Meaning::Done), (1, Meaning::Done)]);
        let table = Table::new(RULES, chosen);
        assert_eq!(table.meaning(7), Meaning::Done);
        assert_eq!(table.meaning(1), Meaning::Done);
        assert_eq!(table.meaning(5), Meaning::Done);
        assert_eq!(table.meaning(10).to_string(), "unknown unclassified");
        let plain = Table::new(RULES, BTreeMap::new());
        assert_eq!(plain.meaning(7).to_string(), "transient timeout");
    }

    #[test]
    fn a_rule_that_the_config_overrules_is_no_row_any_more() {
        let table = Table::new(RULES, BTreeMap::from([(7, Meaning::Done)]));
        let notes: Vec<_> = table.rows().0.into_iter().map(|row| row.note).collect();
        assert_eq!(notes, ["by the config", "five to nine"]);
    }
}

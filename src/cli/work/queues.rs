//! Which queues `work` serves and how many jobs it holds: flags over the config, and what follows
//! where neither says it.

use std::collections::BTreeMap;

use super::WorkProblem;
use crate::config::Work;
use crate::config::settings::CONCURRENCY;
use crate::ledger::job::NAME_MAX_BYTES;
use crate::store::BATCH_MAX;

/// The most jobs in hand where nothing is said.
const USUAL: usize = 10;

/// `--queue NAME` or `--queue NAME=NUMBER`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct QueueFlag {
    name: String,
    limit: Option<usize>,
}

/// Reads one. What follows the last `=` is a limit where it is a number, and else a part of the
/// name.
pub(super) fn parse(text: &str) -> Result<QueueFlag, String> {
    let number = text.rsplit_once('=').and_then(|(name, number)| {
        let digits = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        digits.then_some((name, number))
    });
    let (name, limit) = match number {
        Some((name, number)) => {
            let allowed = number.parse().ok().filter(|n| CONCURRENCY.contains(n));
            let limit = allowed.and_then(|number: u64| usize::try_from(number).ok());
            let most = CONCURRENCY.end();
            (
                name,
                Some(
                    limit
                        .ok_or_else(|| format!("allowed: NAME, or NAME=NUMBER from 1 to {most}"))?,
                ),
            )
        }
        None => (text, None),
    };
    if (1..=NAME_MAX_BYTES).contains(&name.len()) {
        let name = name.to_owned();
        return Ok(QueueFlag { name, limit });
    }
    Err(format!("allowed: a name from 1 to {NAME_MAX_BYTES} bytes"))
}

/// What is worked on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Queues {
    /// The queues, in the order of their first turns.
    pub(super) names: Vec<String>,
    /// The most jobs of a queue in hand, where it has a limit of its own.
    pub(super) limits: BTreeMap<String, usize>,
    /// The most jobs in hand.
    pub(super) concurrency: usize,
}

impl Queues {
    /// What flags and config say together. A queue that is named by a flag without a number has the
    /// config's limit.
    pub(super) fn of(flags: &[QueueFlag], concurrency: Option<usize>, config: &Work) -> Self {
        let mut names: Vec<String> = Vec::new();
        let mut limits = BTreeMap::new();
        for flag in flags {
            if !names.contains(&flag.name) {
                names.push(flag.name.clone());
            }
            let written = config.queues.get(&flag.name).copied().flatten();
            if let Some(limit) = flag.limit.or(written) {
                limits.insert(flag.name.clone(), limit);
            }
        }
        if flags.is_empty() {
            for (name, limit) in &config.queues {
                names.push(name.clone());
                limits.extend(limit.map(|limit| (name.clone(), limit)));
            }
        }
        let all_have_one = !names.is_empty() && limits.len() == names.len();
        let usual = if all_have_one {
            limits.values().sum::<usize>().min(BATCH_MAX)
        } else {
            USUAL
        };
        Self {
            concurrency: concurrency.or(config.concurrency).unwrap_or(usual),
            names,
            limits,
        }
    }

    /// Whether there is anything to work on.
    pub(super) fn check(&self) -> Result<(), WorkProblem> {
        if self.names.is_empty() {
            return Err(WorkProblem::NoQueue);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queues(flags: &[&str], concurrency: Option<usize>, config: &Work) -> Queues {
        let flags: Vec<QueueFlag> = flags.iter().map(|flag| parse(flag).unwrap()).collect();
        Queues::of(&flags, concurrency, config)
    }

    fn written() -> Work {
        Work {
            concurrency: None,
            queues: [("mail".to_owned(), Some(4)), ("other".to_owned(), None)].into(),
            ..Work::default()
        }
    }

    #[test]
    fn a_number_after_the_last_equals_sign_is_a_limit_and_anything_else_a_name() {
        let parsed = |text| parse(text).map(|flag| (flag.name, flag.limit));
        assert_eq!(parsed("mail=4"), Ok(("mail".to_owned(), Some(4))));
        assert_eq!(parsed("a=b"), Ok(("a=b".to_owned(), None)));
        assert_eq!(parsed("a=b=3"), Ok(("a=b".to_owned(), Some(3))));
        assert_eq!(parsed("mail="), Ok(("mail=".to_owned(), None)));
        for bad in ["", "=4", "mail=0", "mail=1001", "mail=99999999999999999999"] {
            assert!(parsed(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn flags_are_over_the_config_and_the_total_follows_from_the_parts() {
        let none = Work::default();
        let all = queues(&["mail=4", "thumbnails=16"], None, &none);
        assert_eq!(all.names, ["mail", "thumbnails"]);
        assert_eq!(all.concurrency, 20, "the sum, where each has a limit");
        let some = queues(&["mail=4", "thumbnails"], None, &none);
        assert_eq!((some.concurrency, some.limits.len()), (10, 1));
        let said = queues(&["mail=4"], Some(2), &none);
        assert_eq!(said.concurrency, 2);

        let file = queues(&[], None, &written());
        assert_eq!(file.names, ["mail", "other"]);
        assert_eq!((file.limits["mail"], file.concurrency), (4, 10));
        assert_eq!(queues(&["mail"], None, &written()).limits["mail"], 4);
        assert_eq!(queues(&["mail=2"], None, &written()).limits["mail"], 2);
        assert_eq!(queues(&["mail"], None, &written()).names, ["mail"]);
        assert!(queues(&[], None, &none).check().is_err());
    }
}

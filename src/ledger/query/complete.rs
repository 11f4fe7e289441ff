//! What may stand at the cursor: fields, and the values that a field may have.
//!
//! Owns which candidates there are and what they replace; names of queues, tenants and workers
//! come from the caller, who has a board. Next: the console's line of input.

use std::ops::Range;

use super::field::{Field, Kind};
use super::parse::{Word, words};
use super::show::needs_quotes;
use crate::ledger::error_class::{ErrorClass, REASONS};
use crate::ledger::state::State;
use crate::ledger::text::SafeText;

/// The most candidates that are offered.
pub const CANDIDATES_MAX: usize = 50;

/// Names that the caller knows, the most wanted first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Known<'a> {
    /// Queues.
    pub queues: &'a [SafeText],
    /// Tenants.
    pub tenants: &'a [SafeText],
    /// Workers.
    pub workers: &'a [SafeText],
    /// Policies.
    pub policies: &'a [SafeText],
    /// Kinds of jobs.
    pub kinds: &'a [SafeText],
}

/// One of the texts that may stand there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// What is put in place, in the language.
    pub text: String,
    /// What it means; empty where it speaks for itself.
    pub about: &'static str,
}

/// What may stand at the cursor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completion {
    /// What a candidate replaces, in characters from 0.
    pub replaces: Range<usize>,
    /// The candidates, the likeliest first.
    pub candidates: Vec<Candidate>,
}

/// What may stand at the cursor, which is a number of characters.
pub fn complete(text: &str, cursor: usize, known: &Known<'_>) -> Completion {
    let before: String = text.chars().take(cursor).collect();
    let cursor = before.chars().count();
    let nothing = Completion {
        replaces: cursor..cursor,
        candidates: Vec::new(),
    };
    // Within quotes there is nothing to offer, but for a value that a quote has just opened.
    let Ok(words) = words(&before) else {
        return nothing;
    };
    let empty = Word {
        start: cursor,
        chars: Vec::new(),
    };
    let word = words
        .into_iter()
        .next_back()
        .filter(|word| word.span().end == cursor)
        .unwrap_or(empty);
    if let Some(split) = word.split_field() {
        let Some(field) = Field::parse(&split.name) else {
            return nothing;
        };
        let typed: String = split.rest.iter().collect();
        return Completion {
            replaces: split.rest_start..cursor,
            candidates: values(field, &typed, known),
        };
    }
    let negated = usize::from(word.chars.first() == Some(&'!'));
    let typed: String = word.chars.iter().skip(negated).collect();
    Completion {
        replaces: word.start.saturating_add(negated)..cursor,
        candidates: fields(&typed),
    }
}

fn fields(typed: &str) -> Vec<Candidate> {
    let names = Field::ALL.into_iter().map(|field| (field.name(), field));
    ranked(typed, names)
        .into_iter()
        .map(|field| Candidate {
            text: format!("{}{}", field.name(), field.sign()),
            about: field.about(),
        })
        .collect()
}

fn values(field: Field, typed: &str, known: &Known<'_>) -> Vec<Candidate> {
    let names: Vec<&str> = match field.kind() {
        Kind::State => State::ALL.map(State::name).to_vec(),
        Kind::Class => ErrorClass::ALL.map(ErrorClass::name).to_vec(),
        Kind::Span(_) => vec!["1m", "10m", "1h", "1d"],
        Kind::Number(_) => vec!["1", "2", "3"],
        Kind::Id(_) | Kind::Moment(_) => Vec::new(),
        Kind::Text(_) => match field {
            Field::Reason => REASONS.map(|(reason, _class)| reason).to_vec(),
            Field::Queue => texts(known.queues),
            Field::Tenant => texts(known.tenants),
            Field::Worker => texts(known.workers),
            Field::Policy => texts(known.policies),
            Field::Kind => texts(known.kinds),
            Field::State
            | Field::Class
            | Field::Key
            | Field::Id
            | Field::Age
            | Field::Attempts
            | Field::Redrives
            | Field::Unsettled
            | Field::Since
            | Field::Until
            | Field::Parent
            | Field::Plan => Vec::new(),
        },
    };
    let typed = typed.trim_matches('"');
    ranked(typed, names.into_iter().map(|name| (name, name)))
        .into_iter()
        .filter(|name| *name != typed)
        .map(|name| Candidate {
            text: written(name),
            about: "",
        })
        .collect()
}

fn texts(names: &[SafeText]) -> Vec<&str> {
    names.iter().map(SafeText::as_str).collect()
}

/// A value as it is typed.
fn written(value: &str) -> String {
    if !needs_quotes(value, "") {
        return value.to_owned();
    }
    format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""))
}

/// What begins with the typed letters, or else what holds them; upper and lower case alike.
fn ranked<'n, T>(typed: &str, names: impl Iterator<Item = (&'n str, T)>) -> Vec<T> {
    let typed = typed.to_lowercase();
    let (mut beginning, mut holding) = (Vec::new(), Vec::new());
    for (name, each) in names {
        let name = name.to_lowercase();
        if name.starts_with(&typed) {
            beginning.push(each);
        } else if name.contains(&typed) {
            holding.push(each);
        }
    }
    let mut found = if beginning.is_empty() {
        holding
    } else {
        beginning
    };
    found.truncate(CANDIDATES_MAX);
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn offered(text: &str) -> (Range<usize>, Vec<String>) {
        let queues = ["mail", "mail bulk", "thumbnails"].map(SafeText::new);
        let known = Known {
            queues: &queues,
            ..Known::default()
        };
        let completion = complete(text, text.chars().count(), &known);
        let texts = completion.candidates.into_iter().map(|each| each.text);
        (completion.replaces, texts.collect())
    }

    #[test]
    fn fields_are_offered_where_a_term_begins() {
        let (replaces, offered_fields) = offered("");
        assert_eq!(replaces, 0..0);
        assert_eq!(offered_fields.len(), Field::ALL.len());
        assert_eq!(offered_fields.first().map(String::as_str), Some("queue:"));
        assert_eq!(offered("state:dead q").0, 11..12);
        assert_eq!(offered("state:dead q").1, ["queue:"]);
        assert_eq!(offered("!at").0, 1..3);
        assert_eq!(
            offered("!at").1.first().map(String::as_str),
            Some("attempts>=")
        );
    }

    #[test]
    fn values_are_offered_behind_a_field() {
        assert_eq!(
            offered("state:d"),
            (6..7, vec!["dead".into(), "discarded".into()])
        );
        assert_eq!(offered("queue:ma").1, ["mail", "\"mail bulk\""]);
        assert_eq!(offered("!class:").1.len(), 3);
        assert_eq!(offered("reason:limited").1, ["rate_limited"]);
        assert!(offered("age>").1.contains(&"10m".to_owned()));
        assert_eq!(offered("key:a"), (4..5, Vec::new()));
        assert_eq!(offered("quue:a").1, Vec::<String>::new());
        assert_eq!(
            offered("state:dead").1,
            Vec::<String>::new(),
            "it is there already"
        );
    }

    proptest! {
        #[test]
        fn any_text_and_cursor_are_answered_within_the_text(
            text in any::<String>(), cursor in 0_usize..200
        ) {
            let completion = complete(&text, cursor, &Known::default());
            prop_assert!(completion.replaces.start <= completion.replaces.end);
            prop_assert!(completion.replaces.end <= text.chars().count().min(cursor));
        }
    }
}

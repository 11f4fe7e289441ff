//! What is wrong with a text that shall be a query, where, and what would be right.
//!
//! Next: `complete.rs`.

use std::fmt;
use std::ops::Range;

use super::field::{Field, Kind};
use crate::ledger::error_class::ErrorClass;
use crate::ledger::state::State;
use crate::ledger::text::SafeText;

/// How alike two names must be, from 0 to 1, for one to be meant by the other.
const ALIKE_MIN: f64 = 0.6;
/// How much of a value that is wrong is shown, in characters.
const SHOWN_MAX: usize = 60;

/// A mistake and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryError {
    /// Where it stands, in characters from 0; empty where something is missing.
    pub span: Range<usize>,
    /// What it is.
    pub problem: Problem,
}

/// What is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    /// There is no such field.
    UnknownField(SafeText),
    /// The field is not compared: it takes a colon.
    NotCompared(Field),
    /// The value is none that the field may have.
    Unexpected {
        /// Of which field.
        field: Field,
        /// What stands there.
        found: SafeText,
    },
    /// A value is missing.
    NoValue(Field),
    /// Nothing follows the `!`.
    NothingNegated,
    /// A quote is never closed.
    OpenQuote,
    /// Something follows a closing quote.
    BehindQuote,
    /// A `*` behind words of the error.
    StarBehindWords,
    /// The text is too long.
    TooLong,
    /// There are too many terms.
    TooMany,
}

impl QueryError {
    pub(super) fn new(span: Range<usize>, problem: Problem) -> Self {
        let problem = match problem {
            Problem::UnknownField(name) => Problem::UnknownField(short(&name)),
            Problem::Unexpected { field, found } => Problem::Unexpected {
                field,
                found: short(&found),
            },
            other @ (Problem::NotCompared(_)
            | Problem::NoValue(_)
            | Problem::NothingNegated
            | Problem::OpenQuote
            | Problem::BehindQuote
            | Problem::StarBehindWords
            | Problem::TooLong
            | Problem::TooMany) => other,
        };
        Self { span, problem }
    }

    /// The column, in characters from 1.
    pub const fn column(&self) -> usize {
        self.span.start.saturating_add(1)
    }
}

fn short(text: &SafeText) -> SafeText {
    let shown: String = text.as_str().chars().take(SHOWN_MAX).collect();
    SafeText::new(&shown)
}

impl std::error::Error for QueryError {}

impl fmt::Display for QueryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "column {}: {}", self.column(), self.problem)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownField(name) => {
                let fields = Field::ALL.map(Field::name);
                write!(f, "there is no field '{name}'")?;
                match nearest(name.as_str(), &fields) {
                    Some(near) => write!(f, "; did you mean '{near}'?"),
                    None => write!(
                        f,
                        "; the fields are {}; text of the error that holds a sign stands in \
                         quotes",
                        fields.join(", ")
                    ),
                }
            }
            Self::NotCompared(field) => {
                write!(f, "'{0}' is not compared; write {0}:VALUE", field.name())
            }
            Self::Unexpected { field, found } => unexpected(*field, found, f),
            Self::NoValue(field) => write!(
                f,
                "'{}' needs a value, such as {}",
                field.name(),
                example(*field)
            ),
            Self::NothingNegated => write!(f, "'!' negates what follows it, and nothing does"),
            Self::OpenQuote => write!(f, "the quote that opens here is never closed"),
            Self::BehindQuote => write!(f, "after a closing quote stands a space, or one '*'"),
            Self::StarBehindWords => {
                write!(
                    f,
                    "words of the error are found anywhere in it; leave the '*' out"
                )
            }
            Self::TooLong => write!(
                f,
                "a filter has at most {} characters",
                super::parse::TEXT_MAX
            ),
            Self::TooMany => write!(f, "a filter has at most {} terms", super::parse::TERMS_MAX),
        }
    }
}

fn unexpected(field: Field, found: &SafeText, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let of = |f: &mut fmt::Formatter<'_>, what: &str, names: &[&str]| {
        write!(f, "there is no {what} '{found}'")?;
        match nearest(found.as_str(), names) {
            Some(near) => write!(f, "; did you mean '{near}'?"),
            None => write!(f, "; it is one of {}", names.join(", ")),
        }
    };
    match field.kind() {
        Kind::State => of(f, "state", &State::ALL.map(State::name)),
        Kind::Class => of(f, "class", &ErrorClass::ALL.map(ErrorClass::name)),
        Kind::Id(_) => write!(f, "'{found}' is no id; one looks like {}", example(field)),
        Kind::Number(_) => write!(
            f,
            "'{found}' is no number; write {} or another of < <= = >= >",
            example(field)
        ),
        Kind::Span(_) => write!(
            f,
            "'{found}' is no span of time; write {}, with w, d, h, m, s or ms",
            example(field)
        ),
        Kind::Moment(_) => write!(
            f,
            "'{found}' is no moment that there was; write {}, a date, or a full time such as \
             2026-11-30T02:58:00Z",
            example(field)
        ),
        // Any text is a value.
        Kind::Text(_) => write!(f, "'{found}' cannot be a value of '{}'", field.name()),
    }
}

/// A term with that field, for messages.
pub(super) const fn example(field: Field) -> &'static str {
    match field {
        Field::Queue => "queue:mail",
        Field::State => "state:dead",
        Field::Reason => "reason:timeout",
        Field::Class => "class:permanent",
        Field::Tenant => "tenant:t7",
        Field::Key => "key:tenant_7:*",
        Field::Id => "id:019ae0c2-5f3b-7cc1-8b1a-4d0c92f6e0a7",
        Field::Kind => "kind:send",
        Field::Worker => "worker:w3",
        Field::Age => "age>10m",
        Field::Attempts => "attempts>=3",
        Field::Redrives => "redrives>0",
        Field::Unsettled => "unsettled>0",
        Field::Since => "since:02:58",
        Field::Until => "until:03:10",
        Field::Policy => "policy:default",
        Field::Parent => "parent:digest_9",
        Field::Plan => "plan:019ae0c2-5f3b-7cc1-8b1a-4d0c92f6e0a7",
    }
}

/// The name that is meant by `word`, if one is near enough.
fn nearest<'n>(word: &str, names: &[&'n str]) -> Option<&'n str> {
    let word: String = word
        .chars()
        .take(SHOWN_MAX)
        .collect::<String>()
        .to_lowercase();
    names
        .iter()
        .map(|name| (strsim::jaro_winkler(&word, name), *name))
        .filter(|(alike, _name)| *alike >= ALIKE_MIN)
        .max_by(|one, other| one.0.total_cmp(&other.0))
        .map(|(_alike, name)| name)
}

//! From text to a query.
//!
//! Terms stand apart by white space. A term is `field:value`, a field that is compared
//! (`age>10m`, `attempts>=3`), or words of the error, in quotes where there are several. `!` before
//! a term negates it; `*` behind a value means that it begins so. Quotes keep spaces, and within
//! them `\` keeps a quote. A key may hold colons. Nothing here reads a clock: the moment and the
//! zone that `since:02:58` refers to are passed in. Next: `show.rs`, the way back.

use std::ops::Range;
use std::time::Duration;

use chrono::{
    DateTime, Datelike as _, Days, LocalResult, NaiveDate, NaiveDateTime, NaiveTime, TimeZone,
};
use uuid::Uuid;

use super::field::{Field, Kind};
use super::problem::{Problem, QueryError};
use super::{Comparison, Pattern, Query, Term, Test};
use crate::ledger::error_class::ErrorClass;
use crate::ledger::state::State;
use crate::ledger::text::SafeText;
use crate::ledger::time::Timestamp;

/// The longest text that is read, in characters: a filter is typed by a person.
pub const TEXT_MAX: usize = 4_000;
/// The most terms of a query: every one is a condition of a statement.
pub const TERMS_MAX: usize = 100;

/// How often a day is gone back to find a time of day that there was.
const DAYS_BACK: u64 = 3;

/// Reads a query. `now` and `zone` say which moment a time of day means: the last such moment
/// before `now`.
///
/// # Errors
/// The first mistake, with its column and what would be right.
pub fn parse<Z: TimeZone>(text: &str, now: Timestamp, zone: &Z) -> Result<Query, QueryError> {
    if text.chars().count() > TEXT_MAX {
        return Err(QueryError::new(TEXT_MAX..TEXT_MAX, Problem::TooLong));
    }
    let resolve = |local: NaiveDateTime| match zone.from_local_datetime(&local) {
        LocalResult::Single(one) => vec![timestamp(&one)],
        LocalResult::Ambiguous(early, late) => vec![timestamp(&late), timestamp(&early)],
        LocalResult::None => Vec::new(),
    };
    let wall = Wall {
        now,
        today: zone
            .from_utc_datetime(&now.datetime().naive_utc())
            .date_naive(),
        resolve: &resolve,
    };
    let mut query = Query::default();
    for word in words(text)? {
        if query.terms.len() >= TERMS_MAX {
            return Err(QueryError::new(word.span(), Problem::TooMany));
        }
        query.terms.push(word.term(&wall)?);
    }
    Ok(query)
}

fn timestamp<Z: TimeZone>(moment: &DateTime<Z>) -> Timestamp {
    Timestamp::from_millis(moment.timestamp_millis())
}

/// The clock on the wall of whoever asks.
struct Wall<'a> {
    now: Timestamp,
    today: NaiveDate,
    /// The moments at which it shows this date and time, the later first.
    resolve: &'a dyn Fn(NaiveDateTime) -> Vec<Timestamp>,
}

impl Wall<'_> {
    fn at(&self, local: NaiveDateTime) -> Option<Timestamp> {
        (self.resolve)(local).pop()
    }

    /// The last moment up to now at which it showed this time.
    fn last(&self, time: NaiveTime) -> Option<Timestamp> {
        (0..=DAYS_BACK).find_map(|back| {
            let day = self.today.checked_sub_days(Days::new(back))?;
            (self.resolve)(day.and_time(time))
                .into_iter()
                .find(|moment| *moment <= self.now)
        })
    }
}

/// A part of a term between white space, as characters and where they stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Word {
    /// Where it begins, in characters from 0.
    pub(super) start: usize,
    pub(super) chars: Vec<char>,
}

/// A value as it was written.
struct Value {
    text: String,
    /// Whether a `*` outside of quotes follows it.
    begins: bool,
    span: Range<usize>,
}

/// Cuts text at white space outside of quotes. A quote opens at the beginning of a term or of a
/// value only, so that one within a key is a character like any other.
pub(super) fn words(text: &str) -> Result<Vec<Word>, QueryError> {
    let mut words = Vec::new();
    let mut word: Option<Word> = None;
    let mut quote: Option<usize> = None;
    let mut escaped = false;
    let mut end = 0_usize;
    for (place, each) in text.chars().enumerate() {
        end = place.saturating_add(1);
        if quote.is_none() && each.is_whitespace() {
            words.extend(word.take());
            continue;
        }
        let word = word.get_or_insert_with(|| Word {
            start: place,
            chars: Vec::new(),
        });
        if quote.is_some() {
            if each == '"' && !escaped {
                quote = None;
            }
            escaped = each == '\\' && !escaped;
        } else if each == '"' && word.may_open_a_quote() {
            quote = Some(place);
            escaped = false;
        }
        word.chars.push(each);
    }
    if let Some(opened) = quote {
        return Err(QueryError::new(opened..end, Problem::OpenQuote));
    }
    words.extend(word);
    Ok(words)
}

impl Word {
    /// Whether a quote that follows these characters opens.
    fn may_open_a_quote(&self) -> bool {
        let bare = self.chars.strip_prefix(&['!']).unwrap_or(&self.chars);
        bare.is_empty()
            || self
                .split_field()
                .is_some_and(|field| field.rest.is_empty())
    }

    pub(super) fn span(&self) -> Range<usize> {
        self.start..self.start.saturating_add(self.chars.len())
    }

    /// The name before the first sign, the sign and what follows; `None` where it has no sign.
    pub(super) fn split_field(&self) -> Option<Split<'_>> {
        let negated = usize::from(self.chars.first() == Some(&'!'));
        let bare = self.chars.get(negated..)?;
        let length = bare
            .iter()
            .position(|each| !(each.is_ascii_alphanumeric() || *each == '_'))?;
        let (name, after) = bare.split_at_checked(length)?;
        if name.is_empty() {
            return None;
        }
        let (comparison, sign) = match after {
            ['<', '=', ..] => (Some(Comparison::AtMost), 2),
            ['>', '=', ..] => (Some(Comparison::AtLeast), 2),
            ['<', ..] => (Some(Comparison::Less), 1),
            ['>', ..] => (Some(Comparison::More), 1),
            ['=', ..] => (Some(Comparison::Equal), 1),
            [':', ..] => (None, 1),
            _ => return None,
        };
        Some(Split {
            name: name.iter().collect(),
            name_span: {
                let start = self.start.saturating_add(negated);
                start..start.saturating_add(length)
            },
            comparison,
            rest: after.get(sign..)?,
            rest_start: self
                .start
                .saturating_add(negated)
                .saturating_add(length)
                .saturating_add(sign),
        })
    }

    fn term(&self, wall: &Wall<'_>) -> Result<Term, QueryError> {
        let negated = self.chars.first() == Some(&'!');
        let test = match self.split_field() {
            Some(split) => split.test(wall)?,
            None => self.words_of_the_error(usize::from(negated))?,
        };
        Ok(Term { negated, test })
    }

    fn words_of_the_error(&self, from: usize) -> Result<Test, QueryError> {
        let start = self.start.saturating_add(from);
        let chars = self.chars.get(from..).unwrap_or_default();
        if chars.is_empty() {
            return Err(QueryError::new(self.span(), Problem::NothingNegated));
        }
        if chars.first() != Some(&'"') {
            return Ok(Test::Error(chars.iter().collect()));
        }
        let value = value(chars, start)?;
        if value.begins {
            return Err(QueryError::new(value.span, Problem::StarBehindWords));
        }
        Ok(Test::Error(value.text))
    }
}

/// A term with a field.
pub(super) struct Split<'a> {
    pub(super) name: String,
    pub(super) name_span: Range<usize>,
    /// `None` for a colon.
    comparison: Option<Comparison>,
    pub(super) rest: &'a [char],
    pub(super) rest_start: usize,
}

impl Split<'_> {
    fn test(&self, wall: &Wall<'_>) -> Result<Test, QueryError> {
        let Some(field) = Field::parse(&self.name) else {
            let problem = Problem::UnknownField(SafeText::new(&self.name));
            return Err(QueryError::new(self.name_span.clone(), problem));
        };
        if self.rest.is_empty() {
            let missing = self.rest_start..self.rest_start;
            return Err(QueryError::new(missing, Problem::NoValue(field)));
        }
        let value = value(self.rest, self.rest_start)?;
        let refused = || unexpected(field, &value);
        match (field.kind(), self.comparison) {
            (Kind::Number(test), comparison) => {
                let number = value.plain().and_then(read_number).ok_or_else(refused)?;
                Ok(test(comparison.unwrap_or(Comparison::Equal), number))
            }
            (Kind::Span(test), comparison) => {
                let span = value.plain().and_then(read_span).ok_or_else(refused)?;
                Ok(test(comparison.unwrap_or(Comparison::Equal), span))
            }
            (_, Some(_)) => Err(self.wrong_sign(Problem::NotCompared(field))),
            (Kind::Text(test), None) => Ok(test(value.pattern())),
            (Kind::State, None) => {
                let state = value.plain().and_then(State::parse);
                state.map(Test::State).ok_or_else(refused)
            }
            (Kind::Class, None) => {
                let class = value.plain().and_then(ErrorClass::parse);
                class.map(Test::Class).ok_or_else(refused)
            }
            (Kind::Id(test), None) => {
                let id = value.plain().and_then(|text| Uuid::try_parse(text).ok());
                id.map(test).ok_or_else(refused)
            }
            (Kind::Moment(test), None) => {
                let moment = value.plain().and_then(|text| read_moment(text, wall));
                moment.map(test).ok_or_else(refused)
            }
        }
    }

    fn wrong_sign(&self, problem: Problem) -> QueryError {
        let start = self.name_span.end;
        QueryError::new(start..self.rest_start, problem)
    }
}

/// The value that these characters are.
fn value(chars: &[char], start: usize) -> Result<Value, QueryError> {
    let end = start.saturating_add(chars.len());
    let span = start..end;
    if chars.first() != Some(&'"') {
        let (text, begins) = match chars.split_last() {
            Some(('*', text)) => (text, true),
            Some(_) | None => (chars, false),
        };
        let text = text.iter().collect();
        return Ok(Value { text, begins, span });
    }
    let mut text = String::new();
    let mut rest = chars.iter().enumerate().skip(1);
    while let Some((place, each)) = rest.next() {
        match each {
            '"' => {
                let behind = place.saturating_add(1);
                let begins = match chars.get(behind..) {
                    None | Some([]) => false,
                    Some(['*']) => true,
                    Some(_) => {
                        let from = start.saturating_add(behind);
                        return Err(QueryError::new(from..end, Problem::BehindQuote));
                    }
                };
                return Ok(Value { text, begins, span });
            }
            '\\' => text.extend(rest.next().map(|(_place, kept)| kept)),
            _ => text.push(*each),
        }
    }
    Err(QueryError::new(span, Problem::OpenQuote))
}

impl Value {
    /// The text, where no `*` stands behind it.
    fn plain(&self) -> Option<&str> {
        (!self.begins).then_some(self.text.as_str())
    }

    fn pattern(&self) -> Pattern {
        let text = self.text.clone();
        if self.begins {
            Pattern::Begins(text)
        } else {
            Pattern::Is(text)
        }
    }
}

fn read_moment(text: &str, wall: &Wall<'_>) -> Option<Timestamp> {
    let moment = full_moment(text, wall)?;
    // The years that can be written in the language.
    let year = moment.datetime().year();
    (0..=9_999).contains(&year).then_some(moment)
}

fn full_moment(text: &str, wall: &Wall<'_>) -> Option<Timestamp> {
    if let Ok(moment) = DateTime::parse_from_rfc3339(text) {
        return Some(timestamp(&moment));
    }
    if let Ok(date) = NaiveDate::parse_from_str(text, "%Y-%m-%d") {
        return wall.at(date.and_time(NaiveTime::MIN));
    }
    for form in ["%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"] {
        if let Ok(local) = NaiveDateTime::parse_from_str(text, form) {
            return wall.at(local);
        }
    }
    for form in ["%H:%M", "%H:%M:%S"] {
        if let Ok(time) = NaiveTime::parse_from_str(text, form) {
            return wall.last(time);
        }
    }
    None
}

fn read_number(text: &str) -> Option<u32> {
    let is_plain = text.chars().all(|each| each.is_ascii_digit());
    text.parse().ok().filter(|_number| is_plain)
}

/// `90s`, `10m`, `1d12h`: numbers with units, the larger first or not.
pub(super) fn read_span(text: &str) -> Option<Duration> {
    let mut whole = Duration::ZERO;
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.find(|each: char| !each.is_ascii_digit())?;
        let (number, after) = rest.split_at_checked(digits)?;
        let number: u64 = number.parse().ok()?;
        let length = after
            .find(|each: char| !each.is_ascii_alphabetic())
            .unwrap_or(after.len());
        let (unit, after) = after.split_at_checked(length)?;
        let (_name, millis) = UNITS.iter().find(|(name, _millis)| *name == unit)?;
        let part = Duration::from_millis(number.checked_mul(*millis)?);
        whole = whole.checked_add(part)?;
        rest = after;
    }
    (!text.is_empty()).then_some(whole)
}

/// The units of a span, the largest first, in milliseconds.
pub(super) const UNITS: [(&str, u64); 6] = [
    ("w", 604_800_000),
    ("d", 86_400_000),
    ("h", 3_600_000),
    ("m", 60_000),
    ("s", 1_000),
    ("ms", 1),
];

fn unexpected(field: Field, value: &Value) -> QueryError {
    let star = if value.begins { "*" } else { "" };
    let found = SafeText::new(&format!("{}{star}", value.text));
    QueryError::new(value.span.clone(), Problem::Unexpected { field, found })
}

#[cfg(test)]
#[path = "parse/tests.rs"]
mod tests;

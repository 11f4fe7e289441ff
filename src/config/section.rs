//! Reading one table of a TOML file key by key, remembering where each stands.
//!
//! A [`Section`] learns which keys it knows by being asked for them, so that the list that a hint
//! for an unknown key draws from is the list of keys that are read. Mistakes are collected, not
//! thrown: a person mends a file once. It knows no setting; [`super::written`] does.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::time::Duration;

use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

use super::error::{Mistake, Problem, hint};
use super::settings::{Choice, DurationRange};
use crate::ledger::text::SafeText;

/// A value and the line it stands on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct At<T> {
    /// The value.
    pub value: T,
    /// The line, from 1.
    pub line: usize,
}

/// What is being read: the text, for lines, and the mistakes found so far.
#[derive(Debug)]
pub(super) struct Reading<'t> {
    text: &'t str,
    pub(super) mistakes: Vec<Mistake>,
}

impl<'t> Reading<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self {
            text,
            mistakes: Vec::new(),
        }
    }

    /// The line of a byte of the text, from 1.
    pub(super) fn line(&self, byte: usize) -> usize {
        let before = self.text.get(..byte).unwrap_or_default();
        1 + before.matches('\n').count()
    }

    pub(super) fn mistake(&mut self, line: usize, problem: Problem) {
        self.mistakes.push(Mistake { line, problem });
    }
}

/// One table of the file.
#[derive(Debug)]
pub(super) struct Section<'i> {
    path: String,
    line: usize,
    table: DeTable<'i>,
    known: Vec<&'static str>,
}

impl<'i> Section<'i> {
    /// The table that is the whole file.
    pub(super) fn root(table: DeTable<'i>) -> Self {
        Self {
            path: String::new(),
            line: 1,
            table,
            known: Vec::new(),
        }
    }

    /// The section as errors name it.
    pub(super) fn name(&self) -> SafeText {
        if self.path.is_empty() {
            SafeText::new("the file")
        } else {
            SafeText::new(&format!("[{}]", self.path))
        }
    }

    /// The line on which it begins.
    pub(super) fn line(&self) -> usize {
        self.line
    }

    fn take(&mut self, key: &'static str, reading: &Reading<'_>) -> Option<At<DeValue<'i>>> {
        self.known.push(key);
        let (at, value) = self.table.remove_entry(key)?;
        Some(At {
            line: reading.line(at.span().start),
            value: value.into_inner(),
        })
    }

    fn wrong_type(
        &self,
        key: &str,
        found: &At<DeValue<'_>>,
        allowed: String,
        reading: &mut Reading<'_>,
    ) {
        let problem = Problem::WrongType {
            key: SafeText::new(key),
            section: self.name(),
            found: kind(&found.value),
            allowed,
        };
        reading.mistake(found.line, problem);
    }

    fn not_allowed(
        &self,
        key: &str,
        found: &At<String>,
        allowed: String,
        reading: &mut Reading<'_>,
    ) {
        let problem = Problem::NotAllowed {
            key: SafeText::new(key),
            section: self.name(),
            value: SafeText::new(&found.value),
            allowed,
        };
        reading.mistake(found.line, problem);
    }

    /// A text that `parse` understands. A text that it does not is shown in the mistake.
    pub(super) fn text<T>(
        &mut self,
        key: &'static str,
        allowed: &str,
        reading: &mut Reading<'_>,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Option<At<T>> {
        let found = self.take(key, reading)?;
        let Some(text) = found.value.as_str() else {
            self.wrong_type(key, &found, allowed.to_owned(), reading);
            return None;
        };
        let line = found.line;
        if let Some(value) = parse(text) {
            return Some(At { value, line });
        }
        let value = format!("'{text}'");
        self.not_allowed(key, &At { value, line }, allowed.to_owned(), reading);
        None
    }

    /// A text that may hold a secret: as [`Self::text`], but a mistake does not show it.
    pub(super) fn secret<T>(
        &mut self,
        key: &'static str,
        allowed: &str,
        reading: &mut Reading<'_>,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Option<At<T>> {
        let found = self.take(key, reading)?;
        let line = found.line;
        let Some(text) = found.value.as_str() else {
            self.wrong_type(key, &found, allowed.to_owned(), reading);
            return None;
        };
        if let Some(value) = parse(text) {
            return Some(At { value, line });
        }
        let value = "something else".to_owned();
        self.not_allowed(key, &At { value, line }, allowed.to_owned(), reading);
        None
    }

    /// One of a list of names.
    pub(super) fn choice<T: Choice>(
        &mut self,
        key: &'static str,
        reading: &mut Reading<'_>,
    ) -> Option<At<T>> {
        self.text(key, &T::allowed(), reading, T::parse)
    }

    /// A duration within a range.
    pub(super) fn duration(
        &mut self,
        key: &'static str,
        range: DurationRange,
        reading: &mut Reading<'_>,
    ) -> Option<At<Duration>> {
        self.text(key, &range.allowed(), reading, |text| range.parse(text))
    }

    /// A whole number within a range.
    pub(super) fn number(
        &mut self,
        key: &'static str,
        range: &RangeInclusive<u64>,
        reading: &mut Reading<'_>,
    ) -> Option<At<u64>> {
        let found = self.take(key, reading)?;
        let allowed = format!("a whole number from {} to {}", range.start(), range.end());
        let line = found.line;
        let Some(integer) = found.value.as_integer() else {
            self.wrong_type(key, &found, allowed, reading);
            return None;
        };
        let value = u64::from_str_radix(integer.as_str(), integer.radix());
        match value {
            Ok(value) if range.contains(&value) => Some(At { value, line }),
            Ok(_) | Err(_) => {
                let value = integer.to_string();
                self.not_allowed(key, &At { value, line }, allowed, reading);
                None
            }
        }
    }

    /// `true` or `false`.
    pub(super) fn flag(
        &mut self,
        key: &'static str,
        reading: &mut Reading<'_>,
    ) -> Option<At<bool>> {
        let found = self.take(key, reading)?;
        let line = found.line;
        let value = found.value.as_bool();
        if value.is_none() {
            self.wrong_type(key, &found, "true or false".to_owned(), reading);
        }
        value.map(|value| At { value, line })
    }

    /// The section under `key`; an empty one where there is none.
    pub(super) fn section(&mut self, key: &'static str, reading: &mut Reading<'_>) -> Self {
        let path = self.path_of(key);
        let line = self.line;
        let empty = |line| Self {
            path: path.clone(),
            line,
            table: DeTable::new(),
            known: Vec::new(),
        };
        let Some(found) = self.take(key, reading) else {
            return empty(line);
        };
        let line = found.line;
        match found.value {
            DeValue::Table(table) => Self {
                table,
                ..empty(line)
            },
            value => {
                let found = At { value, line };
                self.wrong_type(key, &found, format!("a section [{path}]"), reading);
                empty(line)
            }
        }
    }

    /// Every section in this one, by the names that the file gives them, e.g. `[ledgers.NAME]`.
    pub(super) fn named_sections(mut self, reading: &mut Reading<'_>) -> Vec<(String, Self)> {
        let table = std::mem::take(&mut self.table);
        let mut sections = Vec::new();
        for (key, value) in table {
            let line = reading.line(key.span().start);
            let name = key.into_inner().into_owned();
            let path = self.path_of(&name);
            match value.into_inner() {
                DeValue::Table(table) => sections.push((
                    name,
                    Self {
                        path,
                        line,
                        table,
                        known: Vec::new(),
                    },
                )),
                value => {
                    let found = At { value, line };
                    self.wrong_type(&name, &found, format!("a section [{path}]"), reading);
                }
            }
        }
        sections
    }

    /// Every key of this section with its text or list of texts, e.g. `[keys]`.
    pub(super) fn named_texts(
        mut self,
        reading: &mut Reading<'_>,
    ) -> Vec<(String, At<Vec<String>>)> {
        let allowed = "a key such as \"ctrl-d\", or a list of them";
        let table = std::mem::take(&mut self.table);
        let mut texts = Vec::new();
        for (key, value) in table {
            let line = reading.line(key.span().start);
            let name = key.into_inner().into_owned();
            let found = At {
                value: value.into_inner(),
                line,
            };
            match texts_of(&found.value) {
                Some(value) => texts.push((name, At { value, line })),
                None => self.wrong_type(&name, &found, allowed.to_owned(), reading),
            }
        }
        texts
    }

    /// Every key of this section that is a number within `range`, with the value that `parse` reads
    /// from its text, e.g. `[work.http.status]`.
    pub(super) fn numbered<T>(
        mut self,
        range: &RangeInclusive<u16>,
        allowed: &str,
        reading: &mut Reading<'_>,
        parse: impl Fn(&str) -> Option<T>,
    ) -> BTreeMap<u16, At<T>> {
        let table = std::mem::take(&mut self.table);
        let mut values = BTreeMap::new();
        for (key, value) in table {
            let line = reading.line(key.span().start);
            let name = key.into_inner();
            let number = name.parse().ok().filter(|number| range.contains(number));
            let Some(number) = number else {
                let problem = Problem::UnknownKey {
                    key: SafeText::new(&name),
                    section: self.name(),
                    hint: format!(
                        "; known: the numbers from {} to {}",
                        range.start(),
                        range.end()
                    ),
                };
                reading.mistake(line, problem);
                continue;
            };
            let found = At {
                value: value.into_inner(),
                line,
            };
            let Some(text) = found.value.as_str() else {
                self.wrong_type(&name, &found, allowed.to_owned(), reading);
                continue;
            };
            if let Some(value) = parse(text) {
                values.insert(number, At { value, line });
            } else {
                let value = format!("'{text}'");
                self.not_allowed(&name, &At { value, line }, allowed.to_owned(), reading);
            }
        }
        values
    }

    /// Ends the reading of this section: every key that was not asked for is a mistake.
    pub(super) fn finish(self, reading: &mut Reading<'_>) {
        let section = self.name();
        for key in self.table.keys() {
            let line = reading.line(key.span().start);
            let problem = Problem::UnknownKey {
                key: SafeText::new(key.get_ref()),
                section: section.clone(),
                hint: hint(key.get_ref(), &self.known),
            };
            reading.mistake(line, problem);
        }
    }

    fn path_of(&self, key: &str) -> String {
        if self.path.is_empty() {
            key.to_owned()
        } else {
            format!("{}.{key}", self.path)
        }
    }
}

fn texts_of(value: &DeValue<'_>) -> Option<Vec<String>> {
    if let Some(text) = value.as_str() {
        return Some(vec![text.to_owned()]);
    }
    let list: &DeArray<'_> = value.as_array()?;
    list.iter()
        .map(Spanned::get_ref)
        .map(|each| each.as_str().map(str::to_owned))
        .collect()
}

/// The kind of a value with its article.
fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number with a fraction",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a section",
    }
}

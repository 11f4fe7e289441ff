//! One line of input made into one job, or into the reason why it is none.
//!
//! The line is what a stranger wrote, so everything is bounded and checked here: encoding, depth,
//! keys, types, sizes. Nothing is read or sent. Next: `input`, which cuts input into lines.

use std::fmt;

use chrono::DateTime;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use uuid::Uuid;

use crate::config::error::hint;
use crate::ledger::job::{BadJob, NewJob, ParentLink};
use crate::ledger::text::SafeText;
use crate::ledger::time::Timestamp;

/// The longest line that is read. A job at every bound has about 20 kB; written with nothing but
/// `\u0041`-escapes, which are six times as long, it still fits.
pub const LINE_MAX_BYTES: usize = 131_072;

/// Every key of a job, in the order in which the help lists them.
pub const KEYS: [&str; 12] = [
    "queue",
    "kind",
    "idempotency_key",
    "payload",
    "tenant",
    "event_id",
    "schema_version",
    "available_at",
    "policy",
    "parent_key",
    "required",
    "awaits_children",
];

/// What a moment may be, as errors say it.
pub const MOMENT_ALLOWED: &str = "a moment in RFC 3339, such as 2026-11-30T03:07:42Z";

/// Why a line is no job.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LineProblem {
    /// Longer than [`LINE_MAX_BYTES`].
    #[error(
        "longer than {LINE_MAX_BYTES} bytes; store bodies elsewhere and enqueue references to them"
    )]
    TooLong,
    /// Not UTF-8.
    #[error("not UTF-8 at byte {byte}")]
    NotUtf8 {
        /// The first bad byte of the line, from 1.
        byte: usize,
    },
    /// A NUL byte, which no text file holds.
    #[error("a NUL byte at byte {byte}; the input is no text")]
    NulByte {
        /// Its place in the line, from 1.
        byte: usize,
    },
    /// Not JSON.
    #[error("not JSON at column {column}: {message}")]
    NotJson {
        /// Where, from 1.
        column: usize,
        /// What the parser said.
        message: SafeText,
    },
    /// JSON, but no object.
    #[error(
        "not a JSON object; a job is written as {{\"queue\":…,\"kind\":…,\"idempotency_key\":…}}"
    )]
    NotAnObject,
    /// No such key.
    #[error("unknown key '{key}'{hint}")]
    UnknownKey {
        /// The key.
        key: SafeText,
        /// The nearest key or all of them, as a clause.
        hint: String,
    },
    /// The same key twice.
    #[error("'{key}' is there twice")]
    RepeatedKey {
        /// The key.
        key: &'static str,
    },
    /// A key that every job needs is not there.
    #[error("'{key}' is missing")]
    Missing {
        /// The key.
        key: &'static str,
    },
    /// A value of another kind.
    #[error("'{key}' is {found}; allowed: {allowed}")]
    WrongType {
        /// The key.
        key: &'static str,
        /// Of which kind the value is.
        found: &'static str,
        /// What is allowed.
        allowed: &'static str,
    },
    /// A text that is not one of those allowed.
    #[error("'{key}' is '{value}'; allowed: {allowed}")]
    NotAllowed {
        /// The key.
        key: &'static str,
        /// The value.
        value: SafeText,
        /// What is allowed.
        allowed: &'static str,
    },
    /// `required` without a parent.
    #[error("'required' says something about a parent, and there is no 'parent_key'")]
    RequiredOfNoParent,
    /// A number of the payload would come out as another one.
    #[error("'payload' holds the number {number}, which cannot be kept exactly; write it as text")]
    InexactNumber {
        /// As it would come out.
        number: String,
    },
    /// A bound of the ledger.
    #[error(transparent)]
    Bad(#[from] BadJob),
}

/// The members of a JSON object in the order written, repeated ones included.
struct Members(Vec<(String, Value)>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = Members;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a job")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = Vec::with_capacity(KEYS.len());
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Collect)
    }
}

/// Makes a line into a job with this id.
///
/// # Errors
/// The first reason why it is none.
pub fn job(line: &[u8], id: Uuid) -> Result<NewJob, LineProblem> {
    let mut job = NewJob::new(id, "", "", "");
    let mut parent_key = None;
    let mut required = None;
    let mut seen = [false; KEYS.len()];
    for (key, value) in members(line)? {
        let key = known(&key, &mut seen)?;
        // A key that may be absent may also say `null`, as many writers do.
        if value.is_null() && !matches!(key, "queue" | "kind" | "idempotency_key" | "payload") {
            continue;
        }
        match key {
            "queue" => job.queue = text(key, value)?,
            "kind" => job.kind = text(key, value)?,
            "idempotency_key" => job.idempotency_key = text(key, value)?,
            "payload" => job.payload = payload(value)?,
            "tenant" => job.tenant = text(key, value)?,
            "event_id" => job.event_id = Some(text(key, value)?),
            "schema_version" => job.schema_version = Some(text_or_integer(key, value)?),
            "available_at" => job.available_at = Some(moment(key, &text(key, value)?)?),
            "policy" => job.policy = text(key, value)?,
            "parent_key" => parent_key = Some(text(key, value)?),
            "required" => required = Some(boolean(key, &value)?),
            // `known` lets through what is in KEYS only.
            _ => job.awaits_children = boolean(key, &value)?,
        }
    }
    for (key, seen) in KEYS.iter().zip(seen).take(3) {
        if !seen {
            return Err(LineProblem::Missing { key });
        }
    }
    job.parent = parent(parent_key, required)?;
    job.check()?;
    Ok(job)
}

/// The link to a parent, where there is one. A child is required unless it says otherwise.
///
/// # Errors
/// Where `required` is said of no parent.
pub fn parent(
    key: Option<String>,
    required: Option<bool>,
) -> Result<Option<ParentLink>, LineProblem> {
    match (key, required) {
        (Some(key), required) => Ok(Some(ParentLink {
            key,
            required: required.unwrap_or(true),
        })),
        (None, Some(_)) => Err(LineProblem::RequiredOfNoParent),
        (None, None) => Ok(None),
    }
}

/// A payload as it will be kept.
///
/// # Errors
/// Where a number would come out as another one.
pub fn payload(value: Value) -> Result<Value, LineProblem> {
    match inexact(&value) {
        Some(number) => Err(LineProblem::InexactNumber { number }),
        None => Ok(value),
    }
}

/// A moment from its text.
///
/// # Errors
/// Where it is not RFC 3339.
pub fn moment(key: &'static str, text: &str) -> Result<Timestamp, LineProblem> {
    match DateTime::parse_from_rfc3339(text) {
        Ok(moment) => Ok(Timestamp::from_datetime(moment.to_utc())),
        Err(_) => Err(LineProblem::NotAllowed {
            key,
            value: SafeText::new(text),
            allowed: MOMENT_ALLOWED,
        }),
    }
}

fn members(line: &[u8]) -> Result<Vec<(String, Value)>, LineProblem> {
    if let Some(position) = line.iter().position(|byte| *byte == 0) {
        return Err(LineProblem::NulByte { byte: position + 1 });
    }
    let text = std::str::from_utf8(line).map_err(|error| LineProblem::NotUtf8 {
        byte: error.valid_up_to() + 1,
    })?;
    match serde_json::from_str::<Members>(text) {
        Ok(Members(members)) => Ok(members),
        Err(error) if error.is_data() => Err(LineProblem::NotAnObject),
        Err(error) => Err(LineProblem::NotJson {
            column: error.column(),
            message: SafeText::new(message_of(&error)),
        }),
    }
}

/// What the parser said, without the place, which is said otherwise.
fn message_of(error: &serde_json::Error) -> &'static str {
    let said = error.to_string();
    if said.starts_with("recursion limit exceeded") {
        "nested too deeply, at most 127 levels are read"
    } else if error.is_eof() {
        "the line ends in the middle of a value"
    } else if said.starts_with("trailing characters") {
        "something follows the job; one line holds one job"
    } else if said.starts_with("control character") {
        "a control character stands in a text; write it as an escape"
    } else if said.contains("escape") || said.contains("unicode code point") {
        "an escape stands for no character"
    } else if said.starts_with("number out of range") {
        "a number is out of range"
    } else if said.starts_with("key must be a string") {
        "a key must be a text in double quotes"
    } else {
        "a value, a comma or a bracket is missing or out of place"
    }
}

fn known(key: &str, seen: &mut [bool; KEYS.len()]) -> Result<&'static str, LineProblem> {
    let position = KEYS.iter().position(|known| *known == key);
    let place = position.and_then(|position| Some((KEYS.get(position)?, seen.get_mut(position)?)));
    let Some((key, seen)) = place else {
        return Err(LineProblem::UnknownKey {
            key: SafeText::new(key),
            hint: hint(key, &KEYS),
        });
    };
    if std::mem::replace(seen, true) {
        return Err(LineProblem::RepeatedKey { key });
    }
    Ok(key)
}

fn wrong(key: &'static str, value: &Value, allowed: &'static str) -> LineProblem {
    LineProblem::WrongType {
        key,
        found: kind(value),
        allowed,
    }
}

fn text(key: &'static str, value: Value) -> Result<String, LineProblem> {
    match value {
        Value::String(text) => Ok(text),
        other => Err(wrong(key, &other, "a text")),
    }
}

fn text_or_integer(key: &'static str, value: Value) -> Result<String, LineProblem> {
    match value {
        Value::String(text) => Ok(text),
        Value::Number(number) if !number.is_f64() => Ok(number.to_string()),
        other => Err(wrong(key, &other, "a text or a whole number")),
    }
}

fn boolean(key: &'static str, value: &Value) -> Result<bool, LineProblem> {
    value
        .as_bool()
        .ok_or_else(|| wrong(key, value, "true or false"))
}

/// The first number that is whole and too large to be kept to its last digit: silently changing an
/// id would be worse than refusing it.
fn inexact(value: &Value) -> Option<String> {
    /// 2^53: above it not every whole number has a float of its own.
    const EXACT_BELOW: f64 = 9_007_199_254_740_992.0;
    match value {
        Value::Number(number) if number.is_f64() => {
            let float = number.as_f64()?;
            (float.abs() >= EXACT_BELOW).then(|| number.to_string())
        }
        Value::Array(items) => items.iter().find_map(inexact),
        Value::Object(members) => members.values().find_map(inexact),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

/// The kind of a value with its article.
fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests;

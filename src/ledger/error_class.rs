//! How a failure is typed: a class that decides scheduling and a registered reason that people
//! count by.
//!
//! A renamed exception or another message text never changes what happens to a job; only the class
//! and the reason do (row C5). The message itself is kept beside them as bounded text.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What kind of failure an attempt ended in; it alone decides what happens next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorClass {
    /// May succeed later without anybody's help: waits, then runs again, within the budgets.
    Transient,
    /// Will fail again in the same way: goes to quarantine at once and spends no retry budget.
    Permanent,
    /// Not in the table of known failures: retried within the budgets, or held, as the policy says.
    Unknown,
}

impl ErrorClass {
    /// Every class.
    pub const ALL: [Self; 3] = [Self::Transient, Self::Permanent, Self::Unknown];

    /// The name in the database, on screens and in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Transient => "transient",
            Self::Permanent => "permanent",
            Self::Unknown => "unknown",
        }
    }

    /// The class of that name, if there is one.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|class| class.name() == name)
    }
}

impl fmt::Display for ErrorClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The reasons every ledger knows, each with the class it belongs to. A handler may register
/// others; a reason is a short lower-case word (see [`valid_reason`]), never a message.
pub const REASONS: [(&str, ErrorClass); 23] = [
    ("timeout", ErrorClass::Transient),
    ("connection_refused", ErrorClass::Transient),
    ("connection_lost", ErrorClass::Transient),
    ("rate_limited", ErrorClass::Transient),
    ("unavailable", ErrorClass::Transient),
    ("server_error", ErrorClass::Transient),
    ("lock_conflict", ErrorClass::Transient),
    ("lease_expired", ErrorClass::Transient),
    ("invalid_signature", ErrorClass::Permanent),
    ("schema_violation", ErrorClass::Permanent),
    ("malformed", ErrorClass::Permanent),
    ("unsupported_format", ErrorClass::Permanent),
    ("missing_field", ErrorClass::Permanent),
    ("not_found", ErrorClass::Permanent),
    ("rejected", ErrorClass::Permanent),
    ("panic", ErrorClass::Unknown),
    ("unclassified", ErrorClass::Unknown),
    // Of handlers in other processes.
    ("killed", ErrorClass::Transient),
    ("redirected", ErrorClass::Unknown),
    ("address_refused", ErrorClass::Unknown),
    ("misconfigured", ErrorClass::Unknown),
    ("certificate_untrusted", ErrorClass::Unknown),
    ("certificate_wrong_name", ErrorClass::Unknown),
];

/// The longest reason, in bytes; the database checks the same bound.
pub const REASON_MAX_BYTES: usize = 64;

/// Whether `reason` may be written: 1 to [`REASON_MAX_BYTES`] bytes of `a-z`, `0-9` and `_`,
/// beginning with a letter. The database holds the same rule, so that no message text ends up as a
/// reason.
pub fn valid_reason(reason: &str) -> bool {
    reason.len() <= REASON_MAX_BYTES
        && reason.starts_with(|first: char| first.is_ascii_lowercase())
        && reason
            .chars()
            .all(|each| each.is_ascii_lowercase() || each.is_ascii_digit() || each == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_registered_reason_is_valid_and_named_once() {
        for (position, (reason, _)) in REASONS.iter().enumerate() {
            assert!(valid_reason(reason), "{reason}");
            assert!(
                REASONS
                    .iter()
                    .skip(position + 1)
                    .all(|(other, _)| other != reason),
                "{reason}"
            );
        }
    }

    #[test]
    fn message_texts_are_not_reasons() {
        for text in [
            "",
            "Timeout",
            "timed out",
            "1st",
            "e\u{1b}[31m",
            &"x".repeat(65),
        ] {
            assert!(!valid_reason(text), "{text:?}");
        }
    }
}

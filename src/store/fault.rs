//! What an error of a driver means to a caller.
//!
//! Owns the reading of SQLSTATEs and result codes; says in particular whether a change may have
//! been made although its answer was lost. Both stores come here with every error of theirs. Next:
//! [`super::error`].

use std::io::{self, ErrorKind};
use std::time::Duration;

use super::StoreError;
use crate::ledger::text::SafeText;

/// Whether the ledger may have been changed by the call that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Nothing that could change the ledger had been sent.
    None,
    /// A change had been sent: without an answer it may or may not have been made.
    Change,
}

/// The call that failed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Call<'a> {
    /// In words, as messages name it.
    pub(crate) operation: &'static str,
    /// The ledger, without a password.
    pub(crate) ledger: &'a SafeText,
    /// Whether it may have changed the ledger.
    pub(crate) effect: Effect,
}

impl Call<'_> {
    /// The error of a driver, as the caller shall know it.
    pub(crate) fn explain(&self, error: &sqlx::Error) -> StoreError {
        match error {
            sqlx::Error::Database(cause) => {
                let code = cause.code().unwrap_or_default();
                self.explain_answer(&code, cause.message(), hint(cause.as_ref()))
            }
            sqlx::Error::PoolTimedOut
            | sqlx::Error::PoolClosed
            | sqlx::Error::Tls(_)
            | sqlx::Error::Configuration(_) => self.unreachable(&error.to_string()),
            sqlx::Error::Io(error) => self.lost(&network(error)),
            sqlx::Error::Protocol(_) | sqlx::Error::WorkerCrashed => self.lost(&error.to_string()),
            // The rest are answers that this program did not expect: `sqlx::Error` is open.
            other => self.database("", &other.to_string()),
        }
    }

    /// The deadline passed on this side, so that the answer, if there was one, is lost.
    pub(crate) fn late(&self, limit: Duration) -> StoreError {
        let limit_ms = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
        match self.effect {
            Effect::None => StoreError::Timeout {
                operation: self.operation,
                limit_ms,
            },
            Effect::Change => self.lost(&format!(
                "no answer within {limit_ms} ms, so it was given up"
            )),
        }
    }

    fn explain_answer(&self, code: &str, message: &str, hint: Option<&str>) -> StoreError {
        let rule = message.split_once("ledger: ").map(|(_, rule)| rule);
        match (code, rule) {
            ("LT001" | "LT002" | "LT003" | "LT004" | "LT005", _) => self.refused(message),
            // SQLite has no SQLSTATE for a trigger's refusal; its text begins with this word.
            (_, Some(rule)) => self.refused(rule.trim_end_matches('\'')),
            // Checks and bounds: 23514, 23502, 22P02, 22001, 22003; SQLite's CHECK and NOT NULL.
            ("23514" | "23502" | "22P02" | "22P05" | "22001" | "22003" | "275" | "1299", _) => {
                self.refused(message)
            }
            // statement_timeout, lock_timeout, idle_in_transaction_session_timeout and
            // transaction_timeout undo what was done.
            ("57014" | "55P03" | "25P03" | "25P04", _) => StoreError::Timeout {
                operation: self.operation,
                limit_ms: 0,
            },
            ("57P01" | "57P02" | "57P05" | "08006" | "08000", _) => self.lost(message),
            ("57P03" | "53300" | "08001" | "08003" | "08004" | "28000" | "28P01" | "3D000", _) => {
                self.unreachable(message)
            }
            (code, _) => self.database(
                code,
                &hint.map_or_else(|| message.to_owned(), |hint| format!("{message} ({hint})")),
            ),
        }
    }

    /// The connection broke.
    pub(crate) fn lost(&self, message: &str) -> StoreError {
        match self.effect {
            Effect::None => self.unreachable(message),
            Effect::Change => StoreError::OutcomeUnknown {
                operation: self.operation,
                message: SafeText::new(message),
            },
        }
    }

    /// Nothing was sent.
    pub(crate) fn unreachable(&self, message: &str) -> StoreError {
        StoreError::Unreachable {
            ledger: self.ledger.clone(),
            message: SafeText::new(message),
        }
    }

    /// A rule says no.
    pub(crate) fn refused(&self, message: &str) -> StoreError {
        StoreError::Refused {
            operation: self.operation,
            message: SafeText::new(message),
        }
    }

    fn database(&self, code: &str, message: &str) -> StoreError {
        StoreError::Database {
            operation: self.operation,
            code: SafeText::new(code),
            message: SafeText::new(message),
        }
    }
}

/// What happened on the way, in the words of those who look after it.
fn network(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::ConnectionRefused => "connection refused".to_owned(),
        ErrorKind::ConnectionReset | ErrorKind::BrokenPipe | ErrorKind::UnexpectedEof => {
            "the connection was closed from the other side".to_owned()
        }
        _other => error.to_string(),
    }
}

fn hint(cause: &dyn sqlx::error::DatabaseError) -> Option<&str> {
    cause
        .try_downcast_ref::<sqlx::postgres::PgDatabaseError>()
        .and_then(sqlx::postgres::PgDatabaseError::hint)
}

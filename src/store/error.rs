//! What may go wrong between this program and a ledger.

use crate::ledger::text::SafeText;

/// Why a call to a ledger failed. Messages of a database are made safe before they get here.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The URL names no ledger.
    #[error("'{url}' is not a ledger: use sqlite:PATH or postgres://USER@HOST/DATABASE")]
    BadUrl {
        /// The URL, without a password.
        url: SafeText,
    },
    /// There is nothing at that address, it refused, or the connection broke before anything was
    /// sent.
    #[error("cannot reach the ledger at {ledger}: {message}; nothing was changed")]
    Unreachable {
        /// The ledger, without a password.
        ledger: SafeText,
        /// What the database or the network said.
        message: SafeText,
    },
    /// The deadline passed.
    #[error("{operation} took longer than {} and was given up", limit(*limit_ms))]
    Timeout {
        /// What was being done.
        operation: &'static str,
        /// The deadline, in milliseconds; 0 where the database keeps it.
        limit_ms: u64,
    },
    /// The connection broke after a change was sent: it may or may not have been made. Asking again
    /// is safe.
    #[error("the connection broke during {operation}; it may have been done: ask again")]
    OutcomeUnknown {
        /// What was being done.
        operation: &'static str,
        /// What the database or the network said.
        message: SafeText,
    },
    /// The database holds no ledger.
    #[error("there is no ledger at {ledger}; create one with: ledgertop --ledger {ledger} init")]
    NotALedger {
        /// The ledger, without a password.
        ledger: SafeText,
    },
    /// The ledger was made by a newer program.
    #[error(
        "the ledger at {ledger} has schema {found}, this program knows up to {known}; \
         upgrade ledgertop, nothing was changed"
    )]
    NewerSchema {
        /// The ledger, without a password.
        ledger: SafeText,
        /// The ledger's schema version.
        found: i64,
        /// The newest this program knows.
        known: i64,
    },
    /// The ledger needs an upgrade before this program can use it.
    #[error(
        "the ledger at {ledger} has schema {found}, this program needs {known}; \
         upgrade it with: ledgertop --ledger {ledger} init"
    )]
    OlderSchema {
        /// The ledger, without a password.
        ledger: SafeText,
        /// The ledger's schema version.
        found: i64,
        /// The one this program needs.
        known: i64,
    },
    /// The ledger was made by a version of this program before its first release.
    #[error(
        "the ledger at {ledger} was made by a development version of ledgertop whose schema \
         '{migration}' has since changed; nothing was changed; make a new ledger, with another \
         --ledger and init"
    )]
    ChangedSchema {
        /// The ledger, without a password.
        ledger: SafeText,
        /// The first migration whose text is not this program's.
        migration: &'static str,
    },
    /// The ledger's rules refused the change.
    #[error("the ledger refused {operation}: {message}; nothing was changed")]
    Refused {
        /// What was being done.
        operation: &'static str,
        /// What the rule says.
        message: SafeText,
    },
    /// A stored value cannot be understood.
    #[error("job {job}: column '{column}' holds '{value}', which this program cannot read")]
    Corrupt {
        /// The job, or `-`.
        job: SafeText,
        /// The column.
        column: &'static str,
        /// What it holds, bounded.
        value: SafeText,
    },
    /// Any other answer of the database.
    #[error("the database answered {operation} with an error: {message}")]
    Database {
        /// What was being done.
        operation: &'static str,
        /// Its SQLSTATE or result code.
        code: SafeText,
        /// What it said.
        message: SafeText,
    },
}

impl StoreError {
    /// The same for a screen that says already which ledger it shows and that it only reads.
    pub fn briefly(&self) -> SafeText {
        match self {
            Self::Unreachable { message, .. } => {
                SafeText::from(format!("cannot reach the ledger: {message}"))
            }
            Self::BadUrl { .. }
            | Self::Timeout { .. }
            | Self::OutcomeUnknown { .. }
            | Self::NotALedger { .. }
            | Self::NewerSchema { .. }
            | Self::OlderSchema { .. }
            | Self::ChangedSchema { .. }
            | Self::Refused { .. }
            | Self::Corrupt { .. }
            | Self::Database { .. } => SafeText::from(self.to_string()),
        }
    }

    /// Whether trying again later may help.
    pub const fn is_transient(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Timeout { .. } | Self::OutcomeUnknown { .. } => true,
            Self::BadUrl { .. }
            | Self::NotALedger { .. }
            | Self::NewerSchema { .. }
            | Self::OlderSchema { .. }
            | Self::ChangedSchema { .. }
            | Self::Refused { .. }
            | Self::Corrupt { .. }
            | Self::Database { .. } => false,
        }
    }
}

/// A deadline, as people say it.
fn limit(millis: u64) -> String {
    match (millis / 1_000, millis % 1_000) {
        (0, 0) => "the database allows".to_owned(),
        (seconds, 0) => format!("{seconds} s"),
        _ => format!("{millis} ms"),
    }
}

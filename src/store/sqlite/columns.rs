//! Reading the columns of a row of SQLite.
//!
//! SQLite does not hold text to UTF-8: a program in C may have stored any bytes. What is only shown
//! is read leniently, so that one such job cannot stop a feed; what a worker acts on is read
//! strictly. Next: [`crate::store::row`], which checks what was read.

use std::borrow::Cow;

use sqlx::Row as _;
use sqlx::sqlite::SqliteRow;
use uuid::Uuid;

use crate::ledger::time::Timestamp;

/// The columns of a row, by name.
#[derive(Clone, Copy)]
pub(crate) struct Columns<'r>(pub(crate) &'r SqliteRow);

type Read<T> = Result<T, sqlx::Error>;

impl<'r> Columns<'r> {
    /// Text to be shown; bytes that are not UTF-8 are replaced.
    pub(crate) fn shown(self, column: &'static str) -> Read<Cow<'r, str>> {
        self.0
            .try_get::<&[u8], _>(column)
            .map(String::from_utf8_lossy)
    }

    /// Text to be shown, where there is any.
    pub(crate) fn shown_if(self, column: &'static str) -> Read<Option<Cow<'r, str>>> {
        let bytes: Option<&[u8]> = self.0.try_get(column)?;
        Ok(bytes.map(String::from_utf8_lossy))
    }

    /// Text to be acted on.
    pub(crate) fn text(self, column: &'static str) -> Read<&'r str> {
        self.0.try_get(column)
    }

    /// Text to be acted on, where there is any.
    pub(crate) fn text_if(self, column: &'static str) -> Read<Option<&'r str>> {
        self.0.try_get(column)
    }

    /// An integer.
    pub(crate) fn integer(self, column: &'static str) -> Read<i64> {
        self.0.try_get(column)
    }

    /// An integer, where there is one.
    pub(crate) fn integer_if(self, column: &'static str) -> Read<Option<i64>> {
        self.0.try_get(column)
    }

    /// A moment.
    pub(crate) fn moment(self, column: &'static str) -> Read<Timestamp> {
        self.integer(column).map(Timestamp::from_millis)
    }

    /// A moment, where there is one.
    pub(crate) fn moment_if(self, column: &'static str) -> Read<Option<Timestamp>> {
        Ok(self.integer_if(column)?.map(Timestamp::from_millis))
    }

    /// A job's id; the triggers hold it to the form of a UUID.
    pub(crate) fn id(self, column: &'static str) -> Read<Uuid> {
        let text: &str = self.0.try_get(column)?;
        Uuid::try_parse(text).map_err(|error| sqlx::Error::ColumnDecode {
            index: column.to_owned(),
            source: Box::new(error),
        })
    }
}

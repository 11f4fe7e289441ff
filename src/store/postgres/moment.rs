//! A `timestamptz` as it travels, read without a panic for any value that PostgreSQL can hold.
//!
//! The driver's own decoding adds the value to a calendar date and panics for `infinity`, which a
//! person may well write into `available_at`. Here it becomes the far end of [`Timestamp`].

use chrono::{DateTime, Utc};
use sqlx::encode::IsNull;
use sqlx::error::BoxDynError;
use sqlx::postgres::PgArgumentBuffer;
use sqlx::postgres::{PgTypeInfo, PgValueFormat, PgValueRef, Postgres};
use sqlx::{Decode, Encode, Type};

use crate::ledger::time::Timestamp;

/// Microseconds from 1970-01-01 to 2000-01-01, where PostgreSQL's own count begins.
const EPOCH_GAP_US: i64 = 946_684_800_000_000;

/// A moment to the microsecond, since 1970-01-01 UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Moment {
    micros: i64,
}

impl Moment {
    /// From microseconds since 1970-01-01 UTC.
    pub(super) const fn from_micros(micros: i64) -> Self {
        Self { micros }
    }

    /// Microseconds since 1970-01-01 UTC.
    pub(super) const fn micros(self) -> i64 {
        self.micros
    }

    /// Cut to milliseconds.
    pub(super) const fn timestamp(self) -> Timestamp {
        Timestamp::from_millis(self.micros.div_euclid(1_000))
    }
}

impl Type<Postgres> for Moment {
    fn type_info() -> PgTypeInfo {
        <DateTime<Utc> as Type<Postgres>>::type_info()
    }
}

impl<'r> Decode<'r, Postgres> for Moment {
    fn decode(value: PgValueRef<'r>) -> Result<Self, BoxDynError> {
        match value.format() {
            PgValueFormat::Binary => {
                let since_2000 = <i64 as Decode<Postgres>>::decode(value)?;
                Ok(Self {
                    micros: since_2000.saturating_add(EPOCH_GAP_US),
                })
            }
            PgValueFormat::Text => Err("a moment is read in binary form only".into()),
        }
    }
}

impl Encode<'_, Postgres> for Moment {
    fn encode_by_ref(&self, buffer: &mut PgArgumentBuffer) -> Result<IsNull, BoxDynError> {
        let since_2000 = self.micros.saturating_sub(EPOCH_GAP_US);
        <i64 as Encode<Postgres>>::encode_by_ref(&since_2000, buffer)
    }
}

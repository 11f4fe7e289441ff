//! How a call reaches PostgreSQL: with a deadline, on a connection of the small pool, and again
//! where the database itself says that a repetition may help.
//!
//! Owns deadlines, repetitions and what happens to a connection that did not answer. Knows no
//! statement. Next: `exchange`, the busiest of them.

use std::borrow::Cow;
use std::future::Future;
use std::sync::Mutex;
use std::time::Duration;

use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use sqlx::Postgres;
use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgConnection, PgDatabaseError, PgPool, PgSeverity};
use tokio::time::{Instant, timeout_at};

use super::connect::Limits;
use crate::ledger::num;
use crate::ledger::text::SafeText;
use crate::store::StoreError;
use crate::store::fault::{Call, Effect};
use crate::store::row;

/// How often a transaction is begun again after a deadlock or a serialisation failure.
const REPETITIONS: u32 = 8;
/// The longest pause before the first repetition; it doubles with each.
const PAUSE_MS: u64 = 4;

/// One short transaction. It may be run more than once.
pub(super) trait Work: Sync {
    /// What it brings.
    type Answer: Send;
    /// In words, as messages name it.
    const OPERATION: &'static str;
    /// Whether it may change the ledger.
    const EFFECT: Effect;

    /// Runs it.
    fn run(
        &self,
        connection: &mut PgConnection,
    ) -> impl Future<Output = Result<Self::Answer, Fault>> + Send;
}

/// Why one run failed.
#[derive(Debug)]
pub(super) enum Fault {
    /// The driver says so.
    Driver(sqlx::Error),
    /// A value cannot be read, or a rule says no.
    Store(StoreError),
}

impl From<sqlx::Error> for Fault {
    fn from(error: sqlx::Error) -> Self {
        Self::Driver(error)
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl Fault {
    /// The error as the caller shall know it.
    pub(super) fn explain(self, call: &Call<'_>, limits: Limits) -> StoreError {
        match (self.limit(limits), self) {
            // The server gave up, and says so: nothing was changed.
            (Some(limit), Self::Driver(_)) => StoreError::Timeout {
                operation: call.operation,
                limit_ms: num::unsigned(row::millis(limit)),
            },
            (None, Self::Driver(error)) => call.explain(&error),
            (_, Self::Store(error)) => error,
        }
    }

    /// The SQLSTATE of the database's answer.
    fn code(&self) -> Option<String> {
        match self {
            Self::Driver(error) => error
                .as_database_error()
                .and_then(|cause| cause.code().map(Cow::into_owned)),
            Self::Store(_) => None,
        }
    }

    /// The server's limit that was passed: query_canceled, idle_in_transaction_session_timeout,
    /// lock_not_available.
    fn limit(&self, limits: Limits) -> Option<Duration> {
        match self.code()?.as_str() {
            "57014" | "25P03" => Some(limits.statement),
            "55P03" => Some(limits.lock),
            _another_code => None,
        }
    }

    /// Whether the database undid the transaction and a repetition may go through:
    /// serialization_failure and deadlock_detected.
    fn is_worth_a_repetition(&self) -> bool {
        self.code()
            .is_some_and(|code| matches!(code.as_str(), "40001" | "40P01"))
    }

    /// Whether the connection can be used again: what the database answered is an answer, unless it
    /// was the last word of a session that the server ended.
    fn left_a_good_connection(&self) -> bool {
        match self {
            Self::Driver(error) => error
                .as_database_error()
                .and_then(|said| said.try_downcast_ref::<PgDatabaseError>())
                .is_some_and(|said| said.severity() == PgSeverity::Error),
            Self::Store(_) => true,
        }
    }
}

/// The way to one ledger.
#[derive(Debug)]
pub(super) struct Line {
    pool: PgPool,
    ledger: SafeText,
    limits: Limits,
    random: Mutex<ChaCha8Rng>,
}

impl Line {
    pub(super) fn new(pool: PgPool, ledger: SafeText, limits: Limits, seed: u64) -> Self {
        Self {
            pool,
            ledger,
            limits,
            random: Mutex::new(ChaCha8Rng::seed_from_u64(seed)),
        }
    }

    /// When a call that begins now is given up.
    pub(super) fn give_up_at(&self) -> Instant {
        Instant::now() + self.limits.call
    }

    /// Runs `work` within the deadline, waiting for a connection and repetitions included.
    pub(super) async fn run<W: Work>(&self, work: &W) -> Result<W::Answer, StoreError> {
        self.run_until(self.give_up_at(), work).await
    }

    /// Runs `work`, a part of a call that is given up at `give_up`.
    pub(super) async fn run_until<W: Work>(
        &self,
        give_up: Instant,
        work: &W,
    ) -> Result<W::Answer, StoreError> {
        let mut call = Call {
            operation: W::OPERATION,
            ledger: &self.ledger,
            effect: Effect::None,
        };
        let connection = match timeout_at(give_up, self.pool.acquire()).await {
            Ok(Ok(connection)) => connection,
            Ok(Err(error)) => return Err(call.unreachable(&error.to_string())),
            Err(_elapsed) => return Err(call.late(self.limits.call)),
        };
        let mut in_use = InUse {
            connection,
            then: Then::Closed,
        };
        call.effect = W::EFFECT;
        match timeout_at(give_up, self.repeat(work, &mut in_use.connection)).await {
            Ok(Ok(answer)) => {
                in_use.then = Then::GivenBack;
                Ok(answer)
            }
            Ok(Err(fault)) => {
                if fault.left_a_good_connection() {
                    in_use.then = Then::GivenBack;
                }
                Err(fault.explain(&call, self.limits))
            }
            Err(_elapsed) => Err(call.late(self.limits.call)),
        }
    }

    async fn repeat<W: Work>(
        &self,
        work: &W,
        connection: &mut PgConnection,
    ) -> Result<W::Answer, Fault> {
        let mut repetition = 0;
        loop {
            match work.run(connection).await {
                Err(fault) if fault.is_worth_a_repetition() && repetition < REPETITIONS => {
                    tokio::time::sleep(self.pause(repetition)).await;
                    repetition += 1;
                }
                done => return done,
            }
        }
    }

    /// A pause drawn evenly, so that two that met do not meet again.
    fn pause(&self, repetition: u32) -> Duration {
        let most = PAUSE_MS << repetition.min(REPETITIONS);
        // A panic elsewhere leaves the generator usable all the same.
        let mut random = match self.random.lock() {
            Ok(random) => random,
            Err(poisoned) => poisoned.into_inner(),
        };
        Duration::from_millis(random.random_range(1..=most))
    }
}

/// A connection on which a call is under way.
struct InUse {
    connection: PoolConnection<Postgres>,
    then: Then,
}

/// What becomes of a connection after its call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Then {
    /// The call did not come to its end: it failed on the way, took too long, or was dropped,
    /// perhaps in the middle of a BEGIN. Nobody knows what the server is at; given back, it would
    /// be waited for again, or found in a transaction.
    Closed,
    /// It answered, and can be used again.
    GivenBack,
}

impl Drop for InUse {
    fn drop(&mut self) {
        if self.then == Then::Closed {
            self.connection.close_on_drop();
        }
    }
}

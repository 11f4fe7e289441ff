//! The one connection of a reader that cannot write.
//!
//! Owns making it, looking at its ledger, and the deadline of a reading. Next: `super::feed`,
//! `super::audit` and `super::look`, which read.

use std::future::Future;
use std::time::Duration;

use sqlx::Connection as _;
use sqlx::postgres::{PgConnectOptions, PgConnection};
use tokio::time::timeout;

use super::call::Fault;
use super::connect::{self, Limits};
use crate::ledger::text::SafeText;
use crate::store::fault::{Call, Effect};
use crate::store::{PATIENCE, StoreError};

/// The longest that connecting may take.
const DEADLINE: Duration = Duration::from_secs(12);

/// The one connection. It is taken for a reading and given back after a good one only, so that a
/// reading that failed or was dropped half-way never leaves a connection in use.
pub(super) struct Session {
    options: PgConnectOptions,
    ledger: SafeText,
    connection: Option<PgConnection>,
    /// What a new connection is told first.
    greeting: Option<&'static str>,
}

// The options would print the password.
impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session")
            .field("ledger", &self.ledger)
            .field("connected", &self.connection.is_some())
            .finish_non_exhaustive()
    }
}

impl Session {
    pub(super) const fn new(options: PgConnectOptions, ledger: SafeText) -> Self {
        Self {
            options,
            ledger,
            connection: None,
            greeting: None,
        }
    }

    /// The same, whose connections are told `greeting` first.
    pub(super) const fn greeted(mut self, greeting: &'static str) -> Self {
        self.greeting = Some(greeting);
        self
    }

    /// The connection; made, and its ledger looked at, where there is none.
    pub(super) async fn take(&mut self) -> Result<PgConnection, StoreError> {
        if let Some(connection) = self.connection.take() {
            return Ok(connection);
        }
        self.within("connect", DEADLINE, async {
            let mut connection = PgConnection::connect_with(&self.options).await?;
            connect::check_schema(&mut connection, &self.ledger).await?;
            if let Some(greeting) = self.greeting {
                sqlx::query(greeting).execute(&mut connection).await?;
            }
            Ok(connection)
        })
        .await
    }

    /// Keeps the connection after a good reading.
    pub(super) fn give_back(&mut self, connection: PgConnection) {
        self.connection = Some(connection);
    }

    /// Ends a reading at its deadline, whatever hangs.
    pub(super) async fn within<T>(
        &self,
        operation: &'static str,
        limit: Duration,
        work: impl Future<Output = Result<T, Fault>> + Send,
    ) -> Result<T, StoreError> {
        let call = Call {
            operation,
            ledger: &self.ledger,
            effect: Effect::None,
        };
        match timeout(limit, work).await {
            Ok(done) => done.map_err(|fault| fault.explain(&call, Limits::of(PATIENCE))),
            Err(_elapsed) => Err(call.late(limit)),
        }
    }
}

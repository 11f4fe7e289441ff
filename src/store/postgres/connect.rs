//! What every session of ours is like: named, with deadlines on the server's side, without JIT.
//!
//! Owns the connect options of the store's pool and of the feed's one connection, and the look at
//! the schema that comes first. Next: `call`.

use std::time::Duration;

use sqlx::Connection as _;
use sqlx::postgres::{PgConnectOptions, PgConnection, PgPool, PgPoolOptions};

use super::call::Fault;
use crate::ledger::text::SafeText;
use crate::store::PATIENCE;
use crate::store::migrate;
use crate::store::url::DatabaseKind;

/// The most connections of one store. More than about ten on two cores made every worker slower.
pub(super) const POOL_MAX: u32 = 10;
/// How long a connection may lie idle before it is asked whether it still works.
const IDLE_UNCHECKED: Duration = Duration::from_secs(15);

/// How long everything may take, on the server's side and on ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Limits {
    /// The server's limit of one statement.
    pub(super) statement: Duration,
    /// The server's limit of waiting for a lock.
    pub(super) lock: Duration,
    /// The longest that a call may take, as seen from here; the server's limits are shorter, so
    /// that its answer still arrives.
    pub(super) call: Duration,
}

impl Limits {
    /// The limits of calls that wait for the database so long.
    pub(super) fn of(patience: Duration) -> Self {
        Self {
            statement: patience,
            lock: patience / 2,
            call: patience + patience / 5,
        }
    }
}

/// The session of a store: reads and writes. Its statements take arrays and are planned once a
/// session; planning an exchange takes longer than running it for one job, and left to itself the
/// server would do so each time.
pub(super) fn store_session(options: &PgConnectOptions, limits: Limits) -> PgConnectOptions {
    common(options, limits).options([
        ("plan_cache_mode", "force_generic_plan"),
        ("default_transaction_isolation", "read committed"),
    ])
}

/// The session of a feed: cannot write, and plans for the values at hand: the feed's bound seen as
/// a parameter made the planner assume a third of the log.
pub(super) fn feed_session(options: &PgConnectOptions) -> PgConnectOptions {
    common(options, Limits::of(PATIENCE)).options([
        ("default_transaction_read_only", "on"),
        ("plan_cache_mode", "force_custom_plan"),
        ("max_parallel_workers_per_gather", "0"),
    ])
}

fn common(options: &PgConnectOptions, limits: Limits) -> PgConnectOptions {
    let limits = [
        ("statement_timeout", limits.statement),
        ("idle_in_transaction_session_timeout", limits.statement),
        ("lock_timeout", limits.lock),
    ];
    options
        .clone()
        .application_name("ledgertop")
        .options(limits.map(|(name, limit)| (name, limit.as_millis())))
        .options([("jit", "off")])
}

/// The pool of a store. It connects when it is first used.
pub(super) fn pool(options: &PgConnectOptions, limits: Limits) -> PgPool {
    PgPoolOptions::new()
        .max_connections(POOL_MAX)
        .acquire_timeout(limits.call)
        .idle_timeout(Duration::from_mins(5))
        // A round trip before every call would cost a fifth of a worker's throughput.
        .test_before_acquire(false)
        .before_acquire(|connection, meta| {
            Box::pin(async move {
                if meta.idle_for > IDLE_UNCHECKED {
                    connection.ping().await?;
                }
                Ok(true)
            })
        })
        .connect_lazy_with(store_session(options, limits))
}

/// Makes sure that this program knows the schema.
pub(super) async fn check_schema(
    connection: &mut PgConnection,
    ledger: &SafeText,
) -> Result<(), Fault> {
    let exists: bool = sqlx::query_scalar(include_str!(
        "../../../assets/sql/postgres/schema_exists.sql"
    ))
    .fetch_one(&mut *connection)
    .await?;
    let applied = if exists {
        sqlx::query_as(migrate::LIST).fetch_all(connection).await?
    } else {
        Vec::new()
    };
    Ok(migrate::judge(DatabaseKind::Postgres, ledger, &applied)?)
}

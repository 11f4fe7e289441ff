//! Opening the ledger that is meant, for reading or for writing, and the runtime that a command
//! runs on.
//!
//! This is the only place where a command gets a [`Store`]; under `--read-only` it gets none.

use std::future::Future;
use std::sync::Arc;

use crate::config::Config;
use crate::store::{Audit, Feed, LedgerUrl, Look, Store};

use super::CliError;

/// Runs a command to its end.
///
/// # Errors
/// The command's, or that the system gives no thread.
pub(super) fn block_on<F>(command: F) -> Result<(), CliError>
where
    F: Future<Output = Result<(), CliError>>,
{
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(CliError::Thread)?;
    let result = runtime.block_on(command);
    // A thread may still wait for input that nobody needs any more.
    runtime.shutdown_background();
    result
}

/// Where the ledger is that is meant.
///
/// # Errors
/// Where nothing says which, or the URL names none.
pub(super) fn url(config: &Config) -> Result<LedgerUrl, CliError> {
    let ledger = config.ledger()?;
    Ok(LedgerUrl::parse(ledger.url.expose())?)
}

/// Where the ledger is that is to be changed by `command`.
///
/// # Errors
/// As [`url`], and where something makes this session read-only.
pub(super) fn writable_url(config: &Config, command: &'static str) -> Result<LedgerUrl, CliError> {
    if config.read_only.value {
        return Err(CliError::ReadOnly {
            command,
            origin: config.read_only.origin,
        });
    }
    url(config)
}

/// The ledger, for writing by `command`.
///
/// # Errors
/// As [`writable_url`], and where the ledger cannot be opened.
pub(super) async fn store(
    config: &Config,
    command: &'static str,
) -> Result<Arc<dyn Store>, CliError> {
    Ok(writable_url(config, command)?.store().await?)
}

/// The ledger's events, through a connection that cannot write.
///
/// # Errors
/// As [`url`].
pub(super) fn feed(config: &Config) -> Result<Box<dyn Feed>, CliError> {
    Ok(url(config)?.feed())
}

/// Look-ups, through a connection that cannot write.
///
/// # Errors
/// As [`url`].
pub(super) fn look(config: &Config) -> Result<Box<dyn Look>, CliError> {
    Ok(url(config)?.look())
}

/// The whole ledger, page by page, through a connection that cannot write.
///
/// # Errors
/// As [`url`].
pub(super) fn audit(config: &Config) -> Result<Box<dyn Audit>, CliError> {
    Ok(url(config)?.audit())
}

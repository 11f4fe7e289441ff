//! `ledgertop policy`: brings the config's retry rules into the ledger, and lists those that are
//! there.
//!
//! A version never changes: rules that differ from the newest become another version, which later
//! jobs are enqueued under.

use std::io::{self, Write};

use clap::{Args, Subcommand};
use serde::Serialize;

use super::{CliError, Streams, open};
use crate::config::{Config, Environment, duration};
use crate::ledger::event::ActorKind;
use crate::ledger::job::Actor;
use crate::ledger::policy::Policy;
use crate::ledger::text::SafeText;

/// What to do with policies.
#[derive(Debug, Subcommand)]
pub enum PolicyCommand {
    /// Make the config's rules the newest version of their names; equal rules make none
    Apply,
    /// Print the newest version of every policy in the ledger
    List(ListFlags),
}

/// Flags of `policy list`.
#[derive(Debug, Args)]
pub struct ListFlags {
    /// Print JSON: name, version, max_attempts, max_age_s, backoff_base_s, backoff_cap_s,
    /// retry_after_cap_s, on_unknown
    #[arg(long)]
    json: bool,
}

/// Runs `policy`.
///
/// # Errors
/// Where the ledger cannot be reached, or the session is read-only.
pub(super) async fn run(
    command: &PolicyCommand,
    config: &Config,
    environment: &Environment,
    streams: &mut Streams<'_>,
) -> Result<(), CliError> {
    let store = open::store(config, "policy").await?;
    let there = store.policies().await?;
    match command {
        PolicyCommand::List(flags) => list(&there, flags, streams.out).map_err(CliError::Output),
        PolicyCommand::Apply => {
            let by = Actor {
                kind: ActorKind::Operator,
                name: environment.who_and_where(),
            };
            for policy in config.policies.values() {
                let version = store.apply_policy(policy, &by).await?;
                let newest = there.iter().find(|each| each.name == policy.name);
                let before = newest.map_or(0, |policy| policy.version);
                say(policy, before, version, streams.messages).map_err(CliError::Output)?;
            }
            Ok(())
        }
    }
}

fn say(policy: &Policy, before: u32, version: u32, out: &mut dyn Write) -> io::Result<()> {
    let name = SafeText::new(&policy.name);
    match before {
        0 => writeln!(out, "policy '{name}': created, version {version}"),
        before if before == version => {
            writeln!(out, "policy '{name}': unchanged, version {version}")
        }
        before => writeln!(
            out,
            "policy '{name}': version {version} instead of {before}; jobs enqueued before keep \
             theirs"
        ),
    }
}

/// A policy as JSON.
#[derive(Serialize)]
struct Rules {
    name: SafeText,
    version: u32,
    max_attempts: u32,
    max_age_s: f64,
    backoff_base_s: f64,
    backoff_cap_s: f64,
    retry_after_cap_s: f64,
    on_unknown: &'static str,
}

fn list(policies: &[Policy], flags: &ListFlags, out: &mut dyn Write) -> io::Result<()> {
    if flags.json {
        let rules: Vec<Rules> = policies.iter().map(rules).collect();
        serde_json::to_writer_pretty(&mut *out, &rules)?;
        return writeln!(out);
    }
    for policy in policies {
        writeln!(
            out,
            "{} version {}: {} attempts within {}, backoff {} to {}, Retry-After up to {}, \
             unknown failures: {}",
            SafeText::new(&policy.name),
            policy.version,
            policy.max_attempts,
            duration::text(policy.max_age),
            duration::text(policy.backoff_base),
            duration::text(policy.backoff_cap),
            duration::text(policy.retry_after_cap),
            policy.on_unknown.name(),
        )?;
    }
    Ok(())
}

fn rules(policy: &Policy) -> Rules {
    Rules {
        name: SafeText::new(&policy.name),
        version: policy.version,
        max_attempts: policy.max_attempts,
        max_age_s: policy.max_age.as_secs_f64(),
        backoff_base_s: policy.backoff_base.as_secs_f64(),
        backoff_cap_s: policy.backoff_cap.as_secs_f64(),
        retry_after_cap_s: policy.retry_after_cap.as_secs_f64(),
        on_unknown: policy.on_unknown.name(),
    }
}

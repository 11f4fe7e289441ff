//! `ledgertop config`: every setting, its value and where it comes from. It shows no password.

use std::io::{self, Write};

use super::CliError;
use crate::board::limits::QueueLimits;
use crate::config::settings::Choice as _;
use crate::config::{Config, Origin, Setting, Work, duration};
use crate::ledger::policy::Policy;
use crate::ledger::text::SafeText;

/// Columns that keys are padded to.
const KEY_COLUMNS: usize = 34;
/// Columns that values are padded to.
const VALUE_COLUMNS: usize = 28;

/// Prints it.
///
/// # Errors
/// Where the output cannot be written.
pub(super) fn print(config: &Config, out: &mut dyn Write) -> Result<(), CliError> {
    write(config, out).map_err(CliError::Output)
}

fn write(config: &Config, out: &mut dyn Write) -> io::Result<()> {
    let path = SafeText::new(&config.file.to_string_lossy());
    match (config.file_exists, path.as_str().is_empty()) {
        (true, _) => writeln!(out, "# file: {path}")?,
        (false, true) => writeln!(
            out,
            "# file: none, since neither HOME nor --config is given"
        )?,
        (false, false) => writeln!(out, "# file: {path} (not there)")?,
    }
    match &config.ledger {
        Some(ledger) => {
            row(out, "ledger", ledger.value.name.as_str(), ledger.origin)?;
            row(
                out,
                "ledger url",
                &ledger.value.url.to_string(),
                ledger.origin,
            )?;
        }
        None => row(out, "ledger", "-", Origin::Default)?,
    }
    switch(out, "read_only", &config.read_only)?;
    switch(out, "operate", &config.operate)?;
    for ledger in config.ledgers.values() {
        let key = format!("ledgers.{}.url", ledger.name);
        plain(out, &key, &ledger.url.to_string())?;
    }
    console(config, out)?;
    limits("limits", &config.limits.default, out)?;
    for (queue, each) in &config.limits.queues {
        limits(
            &format!("limits.queues.{}", SafeText::new(queue)),
            each,
            out,
        )?;
    }
    for (action, keys) in &config.keys {
        let key = format!("keys.{}", SafeText::new(action));
        let value = SafeText::new(&keys.value.join(" "));
        row(out, &key, value.as_str(), Origin::Line(keys.line))?;
    }
    for policy in config.policies.values() {
        rules(policy, out)?;
    }
    if let Some(name) = &config.operator {
        let shown = SafeText::new(&name.value);
        row(out, "operate.name", shown.as_str(), name.origin)?;
    }
    work(&config.work, out)
}

/// What `work` works on, and what answers mean.
fn work(work: &Work, out: &mut dyn Write) -> io::Result<()> {
    let limit = |limit: Option<usize>| limit.map_or("-".to_owned(), |limit| limit.to_string());
    plain(out, "work.concurrency", &limit(work.concurrency))?;
    for (queue, own) in &work.queues {
        let key = format!("work.queues.{}.concurrency", SafeText::new(queue));
        plain(out, &key, &limit(*own))?;
    }
    if let Some(file) = &work.ca_file {
        let file = SafeText::new(&file.to_string_lossy());
        plain(out, "work.http.ca_file", file.as_str())?;
    }
    for (section, meanings) in [("http.status", &work.statuses), ("exec.exit", &work.exits)] {
        for (number, meaning) in meanings {
            plain(
                out,
                &format!("work.{section}.{number}"),
                &meaning.to_string(),
            )?;
        }
    }
    Ok(())
}

fn switch(out: &mut dyn Write, key: &str, setting: &Setting<bool>) -> io::Result<()> {
    let value = if setting.value { "true" } else { "false" };
    row(out, key, value, setting.origin)
}

fn console(config: &Config, out: &mut dyn Write) -> io::Result<()> {
    let console = &config.console;
    let refresh = duration::text(console.refresh.value);
    row(out, "console.refresh", &refresh, console.refresh.origin)?;
    let theme = console.theme.value.name();
    row(out, "console.theme", theme, console.theme.origin)?;
    let background = console.background.value.name();
    row(
        out,
        "console.background",
        background,
        console.background.origin,
    )?;
    switch(out, "console.copy", &console.copy)?;
    let time_zone = console.time_zone.value.name();
    row(
        out,
        "console.time_zone",
        time_zone,
        console.time_zone.origin,
    )?;
    let no_color = if console.no_color.value {
        "true"
    } else {
        "false"
    };
    row(out, "no_color", no_color, console.no_color.origin)
}

fn limits(section: &str, limits: &QueueLimits, out: &mut dyn Write) -> io::Result<()> {
    let texts = [
        ("oldest_ready", duration::text(limits.oldest_ready.warning)),
        (
            "oldest_ready_critical",
            duration::text(limits.oldest_ready.critical),
        ),
        (
            "oldest_dead_letter",
            duration::text(limits.oldest_dead_letter.warning),
        ),
        (
            "oldest_dead_letter_critical",
            duration::text(limits.oldest_dead_letter.critical),
        ),
        (
            "dead_letters_per_h",
            limits.dead_letters_per_h.warning.to_string(),
        ),
        (
            "dead_letters_per_h_critical",
            limits.dead_letters_per_h.critical.to_string(),
        ),
        ("expired_leases", limits.expired_leases.warning.to_string()),
        (
            "expired_leases_critical",
            limits.expired_leases.critical.to_string(),
        ),
        ("drain_never", duration::text(limits.drain_never)),
    ];
    for (key, value) in texts {
        plain(out, &format!("{section}.{key}"), &value)?;
    }
    Ok(())
}

fn rules(policy: &Policy, out: &mut dyn Write) -> io::Result<()> {
    let section = format!("policies.{}", SafeText::new(&policy.name));
    let texts = [
        ("max_attempts", policy.max_attempts.to_string()),
        ("max_age", duration::text(policy.max_age)),
        ("backoff_base", duration::text(policy.backoff_base)),
        ("backoff_cap", duration::text(policy.backoff_cap)),
        ("retry_after_cap", duration::text(policy.retry_after_cap)),
        ("on_unknown", policy.on_unknown.name().to_owned()),
    ];
    for (key, value) in texts {
        plain(out, &format!("{section}.{key}"), &value)?;
    }
    Ok(())
}

fn row(out: &mut dyn Write, key: &str, value: &str, origin: Origin) -> io::Result<()> {
    writeln!(out, "{key:KEY_COLUMNS$} {value:VALUE_COLUMNS$} {origin}")
}

fn plain(out: &mut dyn Write, key: &str, value: &str) -> io::Result<()> {
    writeln!(out, "{key:KEY_COLUMNS$} {value}")
}

//! What performance claims rest on: every budget of the design that can be measured, beside
//! something real that is measured in the same run. Started by `scripts/bench`; explained in
//! `docs/benchmarks.md`.
//!
//! Owns the order of the measurements. The walk: `options`, `report`, `sample`, `place`, `seed`,
//! `traffic`, `server`, then one file for each group of rows: `load` and `refresh`, `fold`, `draw`,
//! `work`, `peers` with `engine`, `watch`, `look`.

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result, ensure};
use clap::Parser as _;
use ledgertop::store::url::DatabaseKind;

#[path = "../tests/support/postgres.rs"]
mod postgres;
#[path = "../tests/support/sqlite.rs"]
mod sqlite;

#[path = "budgets/draw.rs"]
mod draw;
#[path = "budgets/engine.rs"]
mod engine;
#[path = "budgets/fold.rs"]
mod fold;
#[path = "budgets/load.rs"]
mod load;
#[path = "budgets/look.rs"]
mod look;
#[path = "budgets/options.rs"]
mod options;
#[path = "budgets/peers.rs"]
mod peers;
#[path = "budgets/place.rs"]
mod place;
#[path = "budgets/refresh.rs"]
mod refresh;
#[path = "budgets/report.rs"]
mod report;
#[path = "budgets/sample.rs"]
mod sample;
#[path = "budgets/seed.rs"]
mod seed;
#[path = "budgets/server.rs"]
mod server;
#[path = "budgets/traffic.rs"]
mod traffic;
#[path = "budgets/watch.rs"]
mod watch;
#[path = "budgets/work.rs"]
mod work;

use options::{Group, Options, SMALL};
use place::Place;
use report::Report;

fn main() -> Result<ExitCode> {
    let options = Options::parse();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    if let Some(url) = &options.load_of {
        let load = runtime.block_on(load::load_once(url))?;
        serde_json::to_writer(std::io::stdout(), &load)?;
        return Ok(ExitCode::SUCCESS);
    }
    let report = runtime.block_on(measure(&options))?;
    write(&report, &options.json)?;
    Ok(ExitCode::SUCCESS)
}

async fn measure(options: &Options) -> Result<Report> {
    let databases = options.databases();
    if databases.contains(&DatabaseKind::Postgres) {
        ensure!(
            std::env::var_os("LEDGERTOP_TEST_POSTGRES").is_some(),
            "there is no PostgreSQL to measure on: run scripts/bench, which starts one"
        );
    }
    let mut report = Report::new(setting(options).await?);
    if options.wants(Group::Fold) {
        report.extend(fold::measure(options.quick)?);
    }
    if options.wants(Group::Draw) {
        report.extend(draw::measure(options.quick).await?);
    }
    for kind in databases.iter().copied() {
        if options.wants(Group::Work) {
            report.extend(work::measure(kind, options.quick).await?);
        }
    }
    if options.wants(Group::Peers) && databases.contains(&DatabaseKind::Postgres) {
        let (rows, notes) = peers::measure(options.node.as_deref(), options.quick).await?;
        report.extend(rows);
        report.setting.extend(notes);
    }
    for kind in databases.iter().copied() {
        if options.wants(Group::Watch) {
            report.extend(watch::measure(kind, options.quick).await?);
        }
    }
    for kind in databases.iter().copied() {
        if options.wants(Group::Look) {
            report.extend(look::measure(kind, options).await?);
        }
    }
    for kind in databases {
        if options.wants(Group::Board) {
            report.extend(refresh::measure(kind, options).await?);
        }
    }
    Ok(report)
}

/// What was measured on: the machine, the databases as they ship, the sizes.
async fn setting(options: &Options) -> Result<Vec<String>> {
    let cores = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    let mut lines = vec![format!(
        "ledgertop {}, {cores} cores shared by client and server; ledgers of {SMALL} and {} jobs",
        env!("CARGO_PKG_VERSION"),
        options.large()
    )];
    for kind in options.databases() {
        let place = Place::create(kind).await?;
        let mut raw = place.raw().await?;
        let version = match kind {
            DatabaseKind::Postgres => raw.texts("SHOW server_version").await?,
            DatabaseKind::Sqlite => raw.texts("SELECT sqlite_version()").await?,
        };
        let name = place::name(kind);
        lines.push(format!(
            "{name} {}, settings as it ships",
            version.join(" ")
        ));
    }
    if options.quick {
        lines.push(
            "A SMOKE RUN: it shows that everything can be measured, and proves no figure".into(),
        );
    }
    Ok(lines)
}

fn write(report: &Report, json: &Path) -> Result<()> {
    let table = report.table();
    let mut out = std::io::stdout().lock();
    out.write_all(table.as_bytes())?;
    let text = serde_json::to_string_pretty(report)? + "\n";
    std::fs::write(json, text).with_context(|| format!("writing '{}'", json.display()))?;
    let beside = json.with_extension("txt");
    std::fs::write(&beside, table).with_context(|| format!("writing '{}'", beside.display()))?;
    writeln!(
        out,
        "\nwritten to {} and {}",
        json.display(),
        beside.display()
    )?;
    Ok(())
}

/// Says what is being measured. Where nobody can be told, the measuring goes on.
fn say(what: &str) {
    drop(writeln!(std::io::stderr(), "bench: {what}"));
}

//! Ours beside the job tables that Node.js teams use, on the same server in the same run: pg-boss
//! and graphile-worker at the settings that their documentation calls fastest.
//!
//! Contestants take turns, and every figure stands beside the machine's own rate of one-row commits
//! measured just before it, so that two rows can be compared though the machine changed its mood
//! between them. Owns the order of the runs and their rows; the peers are scripts in
//! `benches/peers`, which nobody installs but the person who wants them. Next: [`crate::engine`],
//! our worker's runs.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;
use sqlx::{Connection as _, PgConnection};
use tokio::process::Command;

use crate::engine::{self, Engine};
use crate::postgres::PostgresDatabase;
use crate::report::Row;
use crate::sample::{median, per_second};
use crate::work::{Shape, Site};
use ledgertop::store::url::DatabaseKind;

const GROUP: &str = "PEERS (no-op jobs)";
/// The oldest Node.js that the peers run on.
const NODE_MAJOR: u32 = 22;
/// Where the peers' scripts are, and where a person installs what they need.
const SCRIPTS: &str = "benches/peers";
const INSTALL: &str = "(cd benches/peers && npm install)";
/// The longest that one run of a peer may take.
const RUN_MAX: Duration = Duration::from_mins(3);

/// What one run brought.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Run {
    pub(crate) jobs_per_s: f64,
    pub(crate) wal_per_job: f64,
    pub(crate) statements_per_job: f64,
    pub(crate) p50_ms: f64,
    pub(crate) p95_ms: f64,
}

/// Who is measured, doing what.
enum Contestant {
    /// Our store's calls, on connections of their own.
    Calls(Shape),
    /// Our worker, in one process.
    Engine(Engine),
    /// A peer's script: its name, shape, concurrency.
    Peer(&'static str, &'static str, u32),
}

struct Entry {
    name: String,
    jobs: usize,
    contestant: Contestant,
    budget: Option<f64>,
}

/// Measures everybody, or says who was left out, and why.
pub(crate) async fn measure(node: Option<&Path>, quick: bool) -> Result<(Vec<Row>, Vec<String>)> {
    crate::say("PostgreSQL: peers");
    let mut notes = vec![
        "PEERS: ours keep every event; graphile-worker removes what is done, pg-boss keeps its row"
            .to_owned(),
    ];
    let node = match usable_node(node).await {
        Ok(node) => Some(node),
        Err(error) => {
            notes.push(format!(
                "PEERS: pg-boss and graphile-worker are LEFT OUT: {error:#}; to add them: {INSTALL}"
            ));
            None
        }
    };
    let arena = Arena::open(node).await?;
    let rounds = if quick { 1 } else { 3 };
    let entries = entries(quick, arena.node.is_some());
    let mut runs: Vec<Vec<(Run, f64)>> = vec![Vec::new(); entries.len()];
    for round in 0..rounds {
        for (number, (entry, runs)) in entries.iter().zip(&mut runs).enumerate() {
            crate::say(&format!("  {}", entry.name));
            let queue = format!("peers_{number}_{round}");
            let reference = arena.reference().await?;
            runs.push((arena.run(entry, &queue).await?, reference));
        }
    }
    let rows = entries.iter().zip(runs).flat_map(|(e, r)| rows(e, &r));
    Ok((rows.collect(), notes))
}

impl Entry {
    fn new(name: impl Into<String>, jobs: usize, contestant: Contestant) -> Self {
        Self {
            name: name.into(),
            jobs,
            contestant,
            budget: None,
        }
    }

    fn at_least(self, budget: f64) -> Self {
        Self {
            budget: Some(budget),
            ..self
        }
    }
}

fn entries(quick: bool, with_peers: bool) -> Vec<Entry> {
    let mut entries = ours();
    let late = Contestant::Engine(Engine::Latency);
    let mut idle = vec![Entry::new(idle_name("ledgertop worker"), 500, late)];
    if with_peers {
        for (peer, script, concurrency) in [
            ("graphile-worker", "graphile", 10),
            ("pg-boss", "pgboss", 1),
        ] {
            entries.extend(peer_entries(peer, script));
            let late = Contestant::Peer(script, "latency", concurrency);
            idle.push(Entry::new(idle_name(peer), 500, late));
        }
    }
    entries.extend(idle);
    if quick {
        for entry in &mut entries {
            entry.jobs = entry.jobs.div_ceil(5);
        }
    }
    entries
}

fn idle_name(who: &str) -> String {
    format!("{who}, enqueue to start when idle")
}

fn ours() -> Vec<Entry> {
    let calls = |what: &str, jobs, shape: (u32, u32)| {
        let contestant = Contestant::Calls(Shape::of(shape.0, shape.1));
        Entry::new(format!("ledgertop, calls {what}"), jobs, contestant)
    };
    let mut entries = vec![
        calls("one at a time, 1 connection", 4_000, (1, 1)).at_least(2_000.0),
        calls("one at a time, 10 connections", 8_000, (10, 1)).at_least(4_000.0),
        calls("by 100, 2 connections", 40_000, (2, 100)).at_least(25_000.0),
        calls("by 100, 4 connections", 40_000, (4, 100)).at_least(25_000.0),
    ];
    for (concurrency, jobs) in [(1, 4_000), (10, 20_000), (50, 40_000), (500, 60_000)] {
        let name = format!("ledgertop worker, concurrency {concurrency}");
        let contestant = Contestant::Engine(Engine::Work(concurrency));
        entries.push(Entry::new(name, jobs, contestant));
    }
    entries
}

fn peer_entries(peer: &str, script: &'static str) -> Vec<Entry> {
    let entry = |what: &str, shape, concurrency, jobs| {
        let name = format!("{peer}, {what}, concurrency {concurrency}");
        Entry::new(name, jobs, Contestant::Peer(script, shape, concurrency))
    };
    let alone = [(1, 1_500), (10, 5_000), (50, 5_000)];
    let alone = alone.map(|(each, jobs)| entry("one at a time", "plain", each, jobs));
    let batched = [1, 10, 50].map(|each| entry("batched", "batched", each, 30_000));
    alone.into_iter().chain(batched).collect()
}

/// Where everybody is measured: a ledger of ours, and a database for the peers, on one server.
struct Arena {
    node: Option<PathBuf>,
    site: tokio::sync::Mutex<Site>,
    peers: PostgresDatabase,
}

impl Arena {
    async fn open(node: Option<PathBuf>) -> Result<Self> {
        Ok(Self {
            node,
            site: tokio::sync::Mutex::new(Site::open(DatabaseKind::Postgres).await?),
            peers: PostgresDatabase::create(),
        })
    }

    async fn run(&self, entry: &Entry, queue: &str) -> Result<Run> {
        match &entry.contestant {
            Contestant::Calls(shape) => {
                let mut site = self.site.lock().await;
                site.checkpoint().await?;
                site.fill(queue, entry.jobs).await?;
                let drained = site.drain(queue, *shape).await?;
                Ok(Run {
                    jobs_per_s: drained.jobs_per_s,
                    wal_per_job: drained.wal_per_job,
                    statements_per_job: drained.statements_per_job,
                    ..Run::default()
                })
            }
            Contestant::Engine(engine) => {
                let mut site = self.site.lock().await;
                engine::run(&mut site, *engine, queue, entry.jobs).await
            }
            Contestant::Peer(script, shape, concurrency) => {
                self.peer(script, shape, *concurrency, entry.jobs).await
            }
        }
    }

    async fn peer(&self, script: &str, shape: &str, concurrency: u32, jobs: usize) -> Result<Run> {
        let node = self.node.as_deref().context("there is no Node.js")?;
        let running = Command::new(node)
            .arg(Path::new(SCRIPTS).join(script).with_extension("mjs"))
            .args([shape, &concurrency.to_string(), &jobs.to_string()])
            .env("PEERS_URL", self.peers.url())
            .kill_on_drop(true)
            .output();
        let done = tokio::time::timeout(RUN_MAX, running)
            .await
            .with_context(|| format!("{script} {shape} took longer than {RUN_MAX:?}"))??;
        ensure!(
            done.status.success(),
            "{script} {shape} ended with {}: {}",
            done.status,
            String::from_utf8_lossy(&done.stderr)
        );
        let text = String::from_utf8_lossy(&done.stdout);
        serde_json::from_str(text.trim()).with_context(|| format!("{script} {shape} said '{text}'"))
    }

    /// Commits of one row a second, on one connection: what the machine gives at this moment.
    async fn reference(&self) -> Result<f64> {
        let mut connection = PgConnection::connect(self.peers.url()).await?;
        sqlx::raw_sql(include_str!("sql/reference.sql"))
            .execute(&mut connection)
            .await?;
        let started = Instant::now();
        let mut commits = 0;
        while started.elapsed() < Duration::from_millis(400) {
            sqlx::query("UPDATE bench_reference SET n = n + 1 WHERE id = 1")
                .execute(&mut connection)
                .await?;
            commits += 1;
        }
        Ok(per_second(commits, started.elapsed()))
    }
}

/// A Node.js that is new enough, with the peers' packages beside their scripts.
async fn usable_node(asked: Option<&Path>) -> Result<PathBuf> {
    let installed = Path::new(SCRIPTS).join("node_modules");
    let own = installed.join(".bin/node");
    let node = match asked {
        Some(path) => path.to_owned(),
        None if own.exists() => own,
        None => PathBuf::from("node"),
    };
    for package in ["pg", "pg-boss", "graphile-worker"] {
        let path = installed.join(package);
        ensure!(path.exists(), "there is no '{}'", path.display());
    }
    let said = Command::new(&node)
        .arg("--version")
        .output()
        .await
        .with_context(|| format!("'{}' does not start", node.display()))?;
    let version = String::from_utf8_lossy(&said.stdout).trim().to_owned();
    let major = version.trim_start_matches('v').split('.').next();
    let major: u32 = major.and_then(|text| text.parse().ok()).unwrap_or(0);
    ensure!(
        major >= NODE_MAJOR,
        "'{}' is Node.js '{version}', and they need {NODE_MAJOR}",
        node.display()
    );
    Ok(node)
}

fn rows(entry: &Entry, runs: &[(Run, f64)]) -> Vec<Row> {
    let middle =
        |figure: fn(&Run) -> f64| median(runs.iter().map(|(run, _)| figure(run)).collect());
    let reference = median(runs.iter().map(|(_, reference)| *reference).collect());
    let beside = "one-row commits/s then";
    if middle(|run| run.p50_ms) > 0.0 {
        let row =
            |what: &str, figure| Row::new(GROUP, format!("{}, {what}", entry.name), figure, "ms");
        let ours = matches!(entry.contestant, Contestant::Engine(_));
        let (p50, p95) = (
            row("p50", middle(|run| run.p50_ms)),
            row("p95", middle(|run| run.p95_ms)),
        );
        let commit = 1e3 / reference;
        let (p50, p95) = if ours {
            (p50.at_most(3.0), p95.at_most(4.0))
        } else {
            (p50, p95)
        };
        return vec![
            p50.beside("a one-row commit then", commit),
            p95.beside("a one-row commit then", commit),
        ];
    }
    let rate = Row::new(GROUP, &entry.name, middle(|run| run.jobs_per_s), "jobs/s");
    let rate = match entry.budget {
        Some(budget) => rate.at_least(budget),
        None => rate,
    };
    vec![
        rate.beside(beside, reference),
        Row::new(
            GROUP,
            "  write-ahead log, each job",
            middle(|run| run.wal_per_job),
            "bytes",
        ),
        Row::new(
            GROUP,
            "  statements, each job",
            middle(|run| run.statements_per_job),
            "",
        ),
    ]
}

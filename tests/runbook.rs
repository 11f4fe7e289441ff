//! The runbook is true: it has a section for whatever can happen, and every command on it runs as
//! it stands there, on both databases.
//!
//! Next: `docs/runbook.md`, and `assets/help/runbook.md`, its short form in the console.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a case that cannot go on fails"
)]

use std::collections::BTreeSet;
use std::process::Command;
use std::time::Duration;

use ledgertop::ledger::error_class::{ErrorClass, REASONS};
use ledgertop::ledger::event::ActorKind;
use ledgertop::ledger::job::{Actor, Failed, Lane, LeaseRef, NewJob, Settlement, Verdict};
use ledgertop::ledger::policy::Policy;
use ledgertop::ledger::state::State;
use ledgertop::store::{self, ClaimRequest, LaneShare, LedgerUrl, Store};
use tokio::time::{Instant, sleep};
use uuid::Uuid;

#[path = "support/postgres.rs"]
mod postgres;
#[path = "support/sqlite.rs"]
mod sqlite;

const PAGE: &str = include_str!("../docs/runbook.md");
const SHORT: &str = include_str!("../assets/help/runbook.md");

/// Every command of the page, and a piece of what it answers on the ledger of [`prepare`].
const COMMANDS: &[(&str, &str)] = &[
    ("ledgertop snapshot", "webhooks"),
    ("ledgertop dead-letters", "4 dead letters in 4 groups"),
    ("ledgertop leases", "0 leases"),
    ("ledgertop policy list", "once"),
    (
        "ledgertop dead-letters 'queue:webhooks'",
        "dead 1, quarantined 0",
    ),
    (
        "ledgertop jobs 'state:dead queue:webhooks reason:connection_refused'",
        "acme:event_000017:deliver",
    ),
    ("ledgertop job acme:event_000017:deliver", "running → dead"),
    (
        "ledgertop redrive acme:event_000017:deliver --reason 'the receivers are back' --dry-run",
        "1 jobs would change",
    ),
    (
        "ledgertop redrive acme:event_000017:deliver --reason 'the receivers are back' --yes",
        "redrive: 1 applied",
    ),
    ("ledgertop plan list", ""),
    ("ledgertop audit", "1 act of operators"),
    (
        "ledgertop verify",
        "5 accepted: ready 2, dead 2, quarantined 1",
    ),
    (
        "ledgertop jobs 'state:dead unsettled>0'",
        "acme:payout_000012:pay",
    ),
    (
        "ledgertop discard acme:payout_000012:pay --reason 'the bank has paid it, reference 4711' \
         --yes",
        "discard: 1 applied",
    ),
    (
        "ledgertop jobs 'queue:digest tenant:umbrella'",
        "umbrella:digest_000003:send",
    ),
    (
        "ledgertop quarantine --filter 'queue:digest tenant:umbrella' --reason 'its template makes \
         the mailer panic' --yes",
        "quarantine: 1 applied",
    ),
];

/// The lines of the page's blocks of commands, in order.
fn commands() -> Vec<&'static str> {
    let mut commands = Vec::new();
    let mut inside = false;
    for line in PAGE.lines() {
        match line.trim() {
            "```sh" => inside = true,
            "```" => inside = false,
            command if inside => commands.push(command),
            _prose => {}
        }
    }
    commands
}

/// The headings of the section under `title`.
fn headings(title: &str) -> Vec<(&'static str, &'static str)> {
    let title = format!("## {title}");
    let section = PAGE.lines().skip_while(|line| **line != *title).skip(1);
    let lines: Vec<&str> = section
        .take_while(|line| !line.starts_with("## "))
        .collect();
    let named = lines.windows(2).filter_map(|pair| {
        let name = pair[0].strip_prefix("### `")?.strip_suffix('`')?;
        Some((name, pair[1]))
    });
    named.collect()
}

#[test]
fn every_reason_of_the_registry_has_a_section_that_says_its_class() {
    let told: Vec<_> = headings("Reasons");
    let names: BTreeSet<&str> = told.iter().map(|(name, _)| *name).collect();
    let known: BTreeSet<&str> = REASONS.iter().map(|(reason, _)| *reason).collect();
    assert_eq!(names, known);
    for (name, text) in told {
        let (_, class) = REASONS.iter().find(|(reason, _)| *reason == name).unwrap();
        let said = text.split(['.', ',']).next().unwrap().to_lowercase();
        assert_eq!(said, class.name(), "{name}");
    }
}

#[test]
fn every_state_has_a_section() {
    let told: Vec<&str> = headings("States").iter().map(|(name, _)| *name).collect();
    assert_eq!(told, State::ALL.map(State::name));
}

#[test]
fn links_within_the_page_lead_somewhere() {
    let anchors: BTreeSet<String> = PAGE
        .lines()
        .filter_map(|line| line.strip_prefix("## "))
        .map(|title| title.to_lowercase().replace(' ', "-").replace('\'', ""))
        .collect();
    let links = PAGE.split("](#").skip(1);
    let mut found = 0;
    for link in links {
        let link = link.split(')').next().unwrap();
        assert!(anchors.contains(link), "'{link}' is none of {anchors:?}");
        found += 1;
    }
    assert!(found > 5, "the page has links");
}

#[test]
fn the_short_form_in_the_console_has_the_symptoms_of_the_page() {
    let rows = PAGE
        .lines()
        .skip_while(|line| !line.starts_with("| symptom"));
    let rows = rows.skip(2).take_while(|line| line.starts_with("| "));
    let symptoms = rows.map(|row| row.trim_start_matches("| ").split(':').next().unwrap());
    let short = SHORT.lines().map(|line| line.split(" | ").next().unwrap());
    assert_eq!(symptoms.collect::<Vec<_>>(), short.collect::<Vec<_>>());
}

fn job(queue: &str, tenant: &str, key: &str) -> NewJob {
    NewJob {
        tenant: tenant.to_owned(),
        policy: "once".to_owned(),
        ..NewJob::new(Uuid::now_v7(), queue, "deliver", key)
    }
}

/// Claims one job of the queue; the lease ends after `lease`.
async fn claim(store: &dyn Store, queue: &str, tenant: &str, lease: Duration) -> LeaseRef {
    let wish = ClaimRequest {
        worker: "hooks-1".to_owned(),
        lease,
        shares: vec![LaneShare {
            lane: Lane {
                queue: queue.to_owned(),
                tenant: tenant.to_owned(),
            },
            limit: 1,
        }],
    };
    let exchanged = store.exchange("hooks-1", &[], Some(&wish)).await.unwrap();
    let [claimed] = exchanged.claimed.as_slice() else {
        panic!("one job of '{queue}' is ready: {exchanged:?}");
    };
    LeaseRef {
        job: claimed.id,
        fence: claimed.fence,
    }
}

async fn settle(store: &dyn Store, lease: LeaseRef, verdict: Verdict) {
    let settlement = Settlement { lease, verdict };
    let settled = store.exchange("hooks-1", &[settlement], None).await;
    settled.unwrap();
}

/// A ledger in which the runbook is needed: dead letters of each kind, a tenant's poison, work that
/// is in hand, and a payout whose outcome nobody reported.
async fn prepare(url: &str) {
    let url = LedgerUrl::parse(url).unwrap();
    store::init(&url).await.unwrap();
    let store = url.store().await.unwrap();
    let store = store.as_ref();
    let operator = Actor {
        kind: ActorKind::Operator,
        name: "ada".to_owned(),
    };
    let once = Policy {
        name: "once".to_owned(),
        max_attempts: 1,
        ..Policy::default_v1()
    };
    store.apply_policy(&once, &operator).await.unwrap();
    let producer = Actor {
        kind: ActorKind::Producer,
        name: "api".to_owned(),
    };
    let jobs = [
        job("webhooks", "acme", "acme:event_000017:deliver"),
        job("billing", "acme", "acme:invoice_000184:collect"),
        job("digest", "umbrella", "umbrella:digest_000003:send"),
        job("payouts", "acme", "acme:payout_000012:pay"),
        job("webhooks", "globex", "globex:event_000018:deliver"),
    ];
    store.enqueue(&jobs, &producer).await.unwrap();
    let failed = |class, reason: &str, error: &str| Failed {
        class,
        reason: reason.to_owned(),
        error: error.to_owned(),
    };
    let minute = Duration::from_secs(60);
    let lease = claim(store, "webhooks", "acme", minute).await;
    let refused = failed(ErrorClass::Transient, "connection_refused", "hooks.example");
    let verdict = Verdict::Retry {
        failure: refused,
        delay: Duration::ZERO,
    };
    settle(store, lease, verdict).await;
    let lease = claim(store, "billing", "acme", minute).await;
    let broken = failed(ErrorClass::Permanent, "schema_violation", "no amount");
    settle(store, lease, Verdict::Reject { failure: broken }).await;
    let lease = claim(store, "digest", "umbrella", minute).await;
    let panic = failed(ErrorClass::Unknown, "panic", "the template includes itself");
    let verdict = Verdict::Retry {
        failure: panic,
        delay: Duration::ZERO,
    };
    settle(store, lease, verdict).await;
    claim(store, "payouts", "acme", Duration::from_secs(1)).await;
    let began = Instant::now();
    while store.sweep("housekeeper", 10).await.unwrap().expired == 0 {
        assert!(began.elapsed() < minute, "the lease never ran out");
        sleep(Duration::from_millis(50)).await;
    }
}

/// Runs every command of the page, one after the other, on the same ledger.
async fn run_all(url: &str) {
    prepare(url).await;
    let commands = commands();
    let known: Vec<&str> = COMMANDS.iter().map(|(command, _)| *command).collect();
    assert_eq!(commands, known, "the page and this test name the same");
    for (command, expected) in COMMANDS {
        let words = shlex::split(command).unwrap();
        assert_eq!(words[0], "ledgertop", "{command}");
        let ran = Command::new(env!("CARGO_BIN_EXE_ledgertop"))
            .args(&words[1..])
            .env_clear()
            .env("LEDGERTOP_LEDGER", url)
            .output()
            .unwrap();
        let out = String::from_utf8_lossy(&ran.stdout);
        let said = format!("{out}{}", String::from_utf8_lossy(&ran.stderr));
        assert!(ran.status.success(), "{command}: {said}");
        assert!(said.contains(expected), "{command}: {said}");
    }
}

#[tokio::test]
async fn every_command_runs_on_sqlite() {
    run_all(sqlite::SqliteDatabase::create().url()).await;
}

#[tokio::test]
async fn every_command_runs_on_postgres() {
    run_all(postgres::PostgresDatabase::create().url()).await;
}

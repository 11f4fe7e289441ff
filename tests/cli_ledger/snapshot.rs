//! `snapshot` on both databases: a known ledger, its numbers, and the shape that the docs promise.

use std::collections::BTreeSet;
use std::time::Duration;

use ledgertop::ledger::error_class::ErrorClass;
use ledgertop::ledger::event::ActorKind;
use ledgertop::ledger::job::{Actor, Claimed, Failed, Lane, LeaseRef, NewJob, Settlement, Verdict};
use ledgertop::store::{ClaimRequest, LaneShare, LedgerUrl, Store};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::postgres::PostgresDatabase;
use crate::program::Program;
use crate::sqlite::SqliteDatabase;

/// The page that documents the shape.
const DOCS: &str = include_str!("../../docs/snapshot.md");

/// Three jobs of `mail` are ready and one of them was asked for twice; of nine thumbnails one each
/// is running, waiting for a retry, dead and succeeded, and five are quarantined.
#[tokio::main(flavor = "current_thread")]
async fn fill(url: &str) {
    let url = LedgerUrl::parse(url).unwrap();
    ledgertop::store::init(&url).await.unwrap();
    let store = url.store().await.unwrap();
    let producer = Actor {
        kind: ActorKind::Producer,
        name: "test".to_owned(),
    };
    let job = |queue: &str, kind: &str, number: u32| {
        NewJob::new(Uuid::now_v7(), queue, kind, &format!("{queue}:{number}"))
    };
    let mail: Vec<NewJob> = [1, 2, 3, 1]
        .map(|number| job("mail", "send", number))
        .into();
    store.enqueue(&mail, &producer).await.unwrap();
    let thumbnails: Vec<NewJob> = (0..9)
        .map(|number| job("thumbnails", "render", number))
        .collect();
    store.enqueue(&thumbnails, &producer).await.unwrap();
    let claimed = claim(&*store, 9).await;
    let rest = settle(&*store, claimed).await;
    assert_eq!(rest.len(), 1);
}

async fn claim(store: &dyn Store, limit: u32) -> Vec<Claimed> {
    let request = ClaimRequest {
        worker: "w1".to_owned(),
        lease: Duration::from_mins(5),
        shares: vec![LaneShare {
            lane: Lane {
                queue: "thumbnails".to_owned(),
                tenant: String::new(),
            },
            limit,
        }],
    };
    store
        .exchange("w1", &[], Some(&request))
        .await
        .unwrap()
        .claimed
}

/// Settles all but one of the claims, each in another way.
async fn settle(store: &dyn Store, mut claimed: Vec<Claimed>) -> Vec<Claimed> {
    let failed = |class, reason: &str| Failed {
        class,
        reason: reason.to_owned(),
        error: "as the test wants it".to_owned(),
    };
    let reject = Verdict::Reject {
        failure: failed(ErrorClass::Permanent, "schema_violation"),
    };
    let mut verdicts = vec![reject; 5];
    verdicts.extend([
        Verdict::Succeed { output_ref: None },
        Verdict::Retry {
            failure: failed(ErrorClass::Transient, "rate_limited"),
            delay: Duration::from_mins(10),
        },
        // Beyond the age budget of the default policy, so the job is dead.
        Verdict::Retry {
            failure: failed(ErrorClass::Transient, "timeout"),
            delay: Duration::from_hours(25),
        },
    ]);
    let settlements: Vec<Settlement> = verdicts
        .into_iter()
        .map(|verdict| {
            let claim = claimed.pop().unwrap();
            let lease = LeaseRef {
                job: claim.id,
                fence: claim.fence,
            };
            Settlement { lease, verdict }
        })
        .collect();
    store.exchange("w1", &settlements, None).await.unwrap();
    claimed
}

fn snapshot(program: &Program, flags: &[&str]) -> Value {
    let ran = program.run(&[&["snapshot", "--json"], flags].concat());
    assert_eq!(ran.code, 0, "{}", ran.messages);
    serde_json::from_str(&ran.out).unwrap()
}

/// Replaces what depends on when the test runs by its kind, after a look at it.
fn steady(value: &mut Value, key: &str) {
    let timed = key.ends_with("age_s") || key.ends_with("per_s") || key.ends_with("per_h");
    let timed = timed || ["next_due_in_s", "time_to_terminal_s", "drain", "drain_s"].contains(&key);
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                let under = if timed { key } else { name };
                steady(member, under);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| steady(item, key)),
        Value::Number(number) if timed => {
            assert!(number.as_f64().unwrap() < 100_000.0, "{key} is {number}");
            *value = json!("number");
        }
        // Whether a small backlog drains depends on the second.
        Value::String(_) | Value::Null if key.starts_with("drain") => *value = json!("number"),
        _ => {}
    }
}

fn thumbnails() -> Value {
    let some = "number";
    json!({
        "queue": "thumbnails",
        "level": "warning",
        "depth": {
            "pending": 0, "ready": 0, "running": 1, "retry_wait": 1, "dead": 1, "quarantined": 5
        },
        "oldest_ready_age_s": null,
        "ready_age_s": {"p50": null, "p95": null, "p99": null},
        "oldest_dead_letter_age_s": some,
        "oldest_dead_age_s": some,
        "oldest_quarantined_age_s": some,
        "leases": {"in_flight": 1, "near_expiry": 0, "expired": 0, "oldest_age_s": some},
        "retries": [{
            "class": "transient", "reason": "rate_limited", "count": 1, "count_before": 0,
            "waiting": 1, "next_due_in_s": some
        }],
        "dead_letters": [
            {"class": "permanent", "reason": "schema_violation", "count": 5},
            {"class": "transient", "reason": "timeout", "count": 1}
        ],
        "dead_letters_per_h": some,
        "in_per_s": some,
        "out_per_s": some,
        "drain": some,
        "drain_s": some,
        "lease_expirations": 0,
        "duplicates": 0,
        "stale_refused": 0,
        "exhausted": 1,
        "time_to_terminal_s": {"p50": some, "p95": some, "p99": some}
    })
}

fn the_board_is_as_the_ledger(url: &str) {
    fill(url);
    let config = format!(
        "[ledgers.known]\nurl = \"{url}\"\nread_only = true\n[limits]\ndead_letters_per_h = 0\n\
         dead_letters_per_h_critical = 1000000\n"
    );
    let program = Program::new().config(&config);
    let mut board = snapshot(&program, &[]);
    assert_shape(&board);
    steady(&mut board, "");
    assert_eq!(board["window_s"], 900);
    let queues = board["queues"].as_array().unwrap();
    let names: Vec<&str> = queues
        .iter()
        .map(|queue| queue["queue"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["thumbnails", "mail"], "worst first");
    assert_eq!(queues[0], thumbnails(), "{:#}", queues[0]);
    let mail = &queues[1];
    assert_eq!(mail["depth"]["ready"], 3);
    assert_eq!(mail["duplicates"], 1);
    assert_eq!(mail["oldest_ready_age_s"], "number");
    assert_eq!(mail["ready_age_s"]["p95"], "number");
    assert_eq!(mail["oldest_dead_letter_age_s"], Value::Null);
    assert_eq!(mail["time_to_terminal_s"]["p99"], Value::Null);
    assert_eq!(board["total"]["depth"]["ready"], 3);
    assert_eq!(board["total"]["depth"]["dead"], 1);
    let sentences = board["headline"].as_array().unwrap();
    assert_eq!(sentences.len(), 1, "{sentences:?}");
    assert_eq!(sentences[0]["queue"], "thumbnails");

    let only = snapshot(&program, &["--queue", "mail"]);
    assert_eq!(only["queues"].as_array().unwrap().len(), 1);
    assert_eq!(only["headline"], json!([]));
    let program = program.variable("LEDGERTOP_TIME_ZONE", "utc");
    let near = program.run(&["snapshot", "--json", "--queue", "thumbnail"]);
    assert_eq!(near.code, 0);
    assert!(
        near.messages.contains("did you mean 'thumbnails'?"),
        "{}",
        near.messages
    );
    the_table_fits(&program);
}

fn the_table_fits(program: &Program) {
    let ran = program.run(&["snapshot"]);
    assert_eq!(ran.code, 0, "{}", ran.messages);
    let wide = ran.out.lines().find(|line| line.chars().count() > 80);
    assert_eq!(wide, None, "{}", ran.out);
    let row = |name: &str| {
        let row = ran
            .out
            .lines()
            .find(|line| line.contains(&format!(" {name} ")));
        row.unwrap()
            .split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert!(ran.out.starts_with("known  as of "), "{}", ran.out);
    assert_eq!(&row("mail")[2..7], ["3", "0", "0", "0", "0"], "{}", ran.out);
    assert_eq!(
        &row("thumbnails")[3..8],
        ["0", "1", "1", "1", "5"],
        "{}",
        ran.out
    );
    assert!(
        ran.out
            .contains("transient rate_limited, 1 waiting, next in "),
        "{}",
        ran.out
    );
    assert!(
        ran.out.contains("permanent schema_violation"),
        "{}",
        ran.out
    );
}

/// The board has the keys that the docs show, and no others.
fn assert_shape(board: &Value) {
    let example = DOCS
        .split("```json")
        .nth(1)
        .unwrap()
        .split("```")
        .next()
        .unwrap();
    let mut example: Value = serde_json::from_str(example).unwrap();
    example["total"] = example["queues"][0].clone();
    let mut expected = BTreeSet::new();
    keys(&example, "", &mut expected);
    let mut found = BTreeSet::new();
    keys(board, "", &mut found);
    let missing: Vec<_> = expected.difference(&found).collect();
    let unknown: Vec<_> = found.difference(&expected).collect();
    assert!(
        missing.is_empty() && unknown.is_empty(),
        "{missing:?} {unknown:?}"
    );
}

fn keys(value: &Value, path: &str, into: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                let path = format!("{path}.{name}");
                into.insert(path.clone());
                keys(member, &path, into);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| keys(item, path, into)),
        _ => {}
    }
}

/// More events than a base reads, at once: how fast jobs come can only be seen by looking on.
fn rates_are_told_from_a_stretch_that_says_something(url: &str) {
    let program = Program::new().variable("LEDGERTOP_LEDGER", url);
    assert_eq!(program.run(&["init"]).code, 0);
    let job = |number: u32| {
        format!("{{\"queue\":\"q\",\"kind\":\"k\",\"idempotency_key\":\"{number}\"}}\n")
    };
    let input = (0..51_000).map(job).collect::<Vec<_>>().concat();
    let ran = program.run_with(&["enqueue"], input.as_bytes());
    assert_eq!(ran.code, 0, "{}", ran.messages);
    let board = snapshot(&program, &[]);
    assert_eq!(board["exact"], false);
    assert_eq!(board["total"]["depth"]["ready"], 51_000);
    let moment = |key: &str| {
        let text = board[key].as_str().unwrap();
        chrono::DateTime::parse_from_rfc3339(text).unwrap()
    };
    let known = moment("as_of") - moment("window_since");
    assert!(known.num_milliseconds() >= 2_000, "{known}");
}

#[test]
fn snapshot_on_sqlite() {
    rates_are_told_from_a_stretch_that_says_something(SqliteDatabase::create().url());
    the_board_is_as_the_ledger(SqliteDatabase::create().url());
}

#[test]
fn snapshot_on_postgres() {
    rates_are_told_from_a_stretch_that_says_something(PostgresDatabase::create().url());
    the_board_is_as_the_ledger(PostgresDatabase::create().url());
}

#[test]
fn every_key_of_the_example_is_explained() {
    for key in [
        "as_of",
        "exact",
        "window_s",
        "headline",
        "queues",
        "depth",
        "oldest_ready_age_s",
        "ready_age_s",
        "oldest_dead_letter_age_s",
        "leases",
        "retries",
        "in_per_s",
        "out_per_s",
        "lease_expirations",
        "duplicates",
        "stale_refused",
        "exhausted",
        "time_to_terminal_s",
    ] {
        let explained = DOCS
            .lines()
            .filter(|line| line.starts_with('|'))
            .any(|line| line.contains(&format!("`{key}`")));
        assert!(explained, "{key}");
    }
}

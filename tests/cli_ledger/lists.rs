//! `jobs`, `job`, `dead-letters`, `leases` and `audit` on both databases: a known ledger, what is
//! said of it, and the shape that the docs promise.

#![expect(clippy::panic, reason = "what is not as it should be fails the test")]

use std::collections::BTreeSet;
use std::time::Duration;

use ledgertop::ledger::error_class::ErrorClass;
use ledgertop::ledger::event::ActorKind;
use ledgertop::ledger::job::{
    Actor, Disposition, Failed, LeaseRef, NewJob, Operation, Settlement, Verdict,
};
use ledgertop::store::{Act, LedgerUrl, Store};
use serde_json::Value;
use unicode_width::UnicodeWidthStr as _;
use uuid::Uuid;

use crate::postgres::PostgresDatabase;
use crate::program::{Program, Ran};
use crate::sqlite::SqliteDatabase;

/// The page that documents the shape.
const DOCS: &str = include_str!("../../docs/lists.md");
const KEY: &str = "t7:invoice_184:\u{1b}[31mcollect";

async fn begin(store: &dyn Store, id: Uuid) -> LeaseRef {
    match store.begin(id, "w3", Duration::from_mins(5)).await.unwrap() {
        Disposition::Run(claimed) => LeaseRef {
            job: id,
            fence: claimed.fence,
        },
        other => panic!("{other:?}"),
    }
}

async fn reject(store: &dyn Store, id: Uuid, error: &str) {
    let lease = begin(store, id).await;
    let failure = Failed {
        class: ErrorClass::Permanent,
        reason: "schema_violation".to_owned(),
        error: error.to_owned(),
    };
    let verdict = Verdict::Reject { failure };
    let settlement = Settlement { lease, verdict };
    store.exchange("w3", &[settlement], None).await.unwrap();
}

/// Two invoices are quarantined, one of them for the second time; one job runs, two are ready.
#[tokio::main(flavor = "current_thread")]
async fn fill(url: &str) {
    let url = LedgerUrl::parse(url).unwrap();
    ledgertop::store::init(&url).await.unwrap();
    let store = url.store().await.unwrap();
    let producer = Actor {
        kind: ActorKind::Producer,
        name: "test".to_owned(),
    };
    let mut ids = Vec::new();
    for (queue, key) in [
        ("billing", KEY),
        ("billing", "t7:invoice_185:collect"),
        ("mail", "m1"),
        ("mail", "m2"),
        ("図書館の長い名前の待ち行列", "m3"),
    ] {
        let mut job = NewJob::new(Uuid::now_v7(), queue, "collect", key);
        job.payload = serde_json::json!({"card": "4111-secret"});
        ids.push(job.id);
        store.enqueue(&[job], &producer).await.unwrap();
    }
    reject(&*store, ids[0], "field 'total' of invoice 184 is missing").await;
    let act = Act {
        operation: Operation::Redrive,
        job: ids[0],
        version: 3,
        actor: "jo@host".to_owned(),
        note: "the producer was mended".to_owned(),
    };
    store.operate(&act).await.unwrap();
    reject(&*store, ids[0], "field 'total' of invoice 184 is missing").await;
    reject(&*store, ids[1], "field 'sum' of invoice 185 is missing").await;
    begin(&*store, ids[2]).await;
}

fn said(program: &Program, arguments: &[&str]) -> String {
    let ran = program.run(arguments);
    assert_eq!(ran.code, 0, "{arguments:?}: {}", ran.messages);
    assert!(!ran.out.contains('\u{1b}'), "{}", ran.out);
    let is_json = arguments.contains(&"--json");
    for line in ran.out.lines().filter(|_line| !is_json) {
        assert!(line.width() <= 80, "{} columns: {line}", line.width());
    }
    ran.out
}

fn json(program: &Program, arguments: &[&str]) -> Value {
    let value = serde_json::from_str(&said(program, arguments)).unwrap();
    let mut keys = BTreeSet::new();
    gather(&value, &mut keys);
    for key in keys {
        assert!(
            DOCS.contains(&format!("`{key}`")),
            "'{key}' is not in the docs"
        );
    }
    value
}

fn gather(value: &Value, keys: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                keys.insert(name.clone());
                if name != "payload" {
                    gather(member, keys);
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| gather(item, keys)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn jobs_are_listed_counted_and_refused(program: &Program) {
    let text = said(program, &["jobs", "state:quarantined"]);
    assert!(text.contains("t7:invoice_184:␛[31m"), "{text}");
    assert!(text.contains("2 jobs as of 2"), "{text}");
    assert!(text.contains("the longest in their state first"), "{text}");
    let text = said(program, &["jobs", "--limit", "2"]);
    assert!(text.contains("and more: see --limit"), "{text}");
    let found = json(program, &["jobs", "--json", "queue:mail", "!state:ready"]);
    assert_eq!(found["filter"], "queue:mail !state:ready");
    assert_eq!(found["jobs"].as_array().unwrap().len(), 1);
    assert_eq!(found["jobs"][0]["key"], "m1");
    assert_eq!(found["jobs"][0]["worker"], "w3");
    assert_eq!(found["more"], false);
    assert_eq!(
        said(program, &["jobs", "--count", "class:permanent"]),
        "2\n"
    );
    let counted = json(program, &["jobs", "--count", "--json", "since:2020-01-01"]);
    assert_eq!(
        (&counted["count"], &counted["exact"]),
        (&5.into(), &true.into())
    );
    let ran: Ran = program.run(&["jobs", "queue:mail", "stat:dead"]);
    assert_eq!(ran.code, 2, "{}", ran.messages);
    let wanted = "column 12: there is no field 'stat'; did you mean 'state'?";
    assert!(ran.messages.contains(wanted), "{}", ran.messages);
    assert_eq!(ran.out, "");
}

fn one_job_is_told_and_its_payload_masked(program: &Program) {
    let text = said(program, &["job", KEY]);
    for part in [
        "quarantined for",
        "1 of 6 in this drive; redriven 1 times",
        "permanent schema_violation: field 'total' of invoice 184",
        "reject        running → quarantined  ×2",
        "note on 4     the producer was mended",
        "schema_violation\nnote",
        "masked; see --show-payload",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("4111-secret"), "{text}");
    let story = json(program, &["job", "--json", KEY]);
    assert_eq!(story.get("payload"), None);
    assert_eq!(story["events"].as_array().unwrap().len(), 6);
    assert_eq!(story["events"][3]["event"], "redrive");
    let id = story["id"].as_str().unwrap();
    let shown = json(program, &["job", "--json", "--show-payload", id]);
    assert_eq!(shown["payload"]["card"], "4111-secret");
    let ran = program.run(&["job", "nobody"]);
    assert_eq!(ran.code, 1, "{}", ran.messages);
    assert!(ran.messages.contains("no job with the id or key 'nobody'"));
}

fn groups_leases_and_acts_are_told(program: &Program) {
    let text = said(program, &["dead-letters"]);
    assert!(text.contains("field '…' of invoice # is missing"), "{text}");
    assert!(text.contains("redriven before and died again: 1"), "{text}");
    let letters = json(program, &["dead-letters", "--json"]);
    assert_eq!(letters["groups"].as_array().unwrap().len(), 1);
    assert_eq!(letters["groups"][0]["quarantined"], 2);
    let text = said(program, &["leases", "worker:w*"]);
    assert!(text.contains("1 lease as of"), "{text}");
    let leases = json(program, &["leases", "--json"]);
    assert_eq!(leases["leases"][0]["renewals"], 0);
    assert_eq!(leases["leases"][0]["expired"], false);
    let text = said(program, &["audit"]);
    assert!(
        text.contains("jo@host") && text.contains("redrive"),
        "{text}"
    );
    let acts = json(program, &["audit", "--json"]);
    assert_eq!(acts["acts"][0]["note"], "the producer was mended");
    assert_eq!(acts["acts"][0]["from"], "quarantined");
}

fn lists_say_what_the_ledger_holds(url: &str) {
    fill(url);
    let config = format!("[ledgers.known]\nurl = \"{url}\"\nread_only = true\n");
    let program = Program::new().config(&config);
    jobs_are_listed_counted_and_refused(&program);
    one_job_is_told_and_its_payload_masked(&program);
    groups_leases_and_acts_are_told(&program);
}

#[test]
fn lists_say_what_a_ledger_in_sqlite_holds() {
    lists_say_what_the_ledger_holds(SqliteDatabase::create().url());
}

#[test]
fn lists_say_what_a_ledger_in_postgres_holds() {
    lists_say_what_the_ledger_holds(PostgresDatabase::create().url());
}

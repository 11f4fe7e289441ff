//! `ledgertop verify` as its users meet it: the real program, its output and its exit codes.
//!
//! That each law is found when it is broken is in `conformance/audit.rs`.

use std::collections::BTreeSet;

use serde_json::Value;
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, SqliteConnection};

use crate::program::{Program, Ran};

/// A ledger in the program's home with two jobs in it.
fn a_ledger() -> (Program, String) {
    let program = Program::new();
    let url = format!("sqlite:{}/jobs.db", program.directory().display());
    assert_eq!(program.run(&["--ledger", &url, "init"]).code, 0);
    let jobs = br#"{"queue":"billing","kind":"collect","idempotency_key":"invoice_1"}
{"queue":"billing","kind":"collect","idempotency_key":"invoice_2"}
"#;
    let ran = program.run_with(&["--ledger", &url, "enqueue"], jobs);
    assert_eq!(ran.code, 0, "{}", ran.messages);
    (program, url)
}

fn verify(program: &Program, url: &str, flags: &[&str]) -> Ran {
    program.run(&[&["--ledger", url, "verify"], flags].concat())
}

/// Changes every job behind the ledger's back, as an owner can who drops the triggers.
fn tamper(url: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let mut connection = SqliteConnection::connect(url).await.unwrap();
        let text = "DROP TRIGGER jobs_change; UPDATE jobs SET attempt = 7";
        connection
            .execute(sqlx::raw_sql(AssertSqlSafe(text)))
            .await
            .unwrap();
        connection.close().await.unwrap();
    });
}

#[test]
fn a_clean_ledger_is_said_to_hold_every_law() {
    let (program, url) = a_ledger();
    let ran = verify(&program, &url, &[]);
    assert_eq!((ran.code, ran.messages.as_str()), (0, ""), "{}", ran.out);
    assert_eq!(ran.out.matches("holds\n").count(), 10, "{}", ran.out);
    assert!(ran.out.contains("2 events of 2 jobs in "), "{}", ran.out);
    assert!(ran.out.ends_with("2 accepted: ready 2\n"), "{}", ran.out);
}

#[test]
fn a_breach_is_named_with_its_job_and_event_and_exits_with_1() {
    let (program, url) = a_ledger();
    tamper(&url);
    let ran = verify(&program, &url, &["--limit", "1"]);
    assert_eq!(ran.code, 1);
    let first = ran.out.lines().next().unwrap();
    assert!(first.starts_with("L8   job 0"), "{first}");
    let said = ", event 1 enqueue, queue billing: expected attempt 0, found attempt 7";
    assert!(first.ends_with(said), "{first}");
    assert!(
        ran.out
            .contains("\nand 1 more breach; list more of them with --limit\n"),
        "{}",
        ran.out
    );
    assert!(ran.out.contains("2 breaches\n"), "{}", ran.out);
    let message = "ledgertop: the ledger's laws are broken: 2 breaches, in 2 jobs";
    assert!(ran.messages.starts_with(message), "{}", ran.messages);
}

/// Every key of a document, those of objects in lists too; numbers of laws and states stand for
/// themselves.
fn keys(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => {
            for (key, member) in members {
                found.insert(key.clone());
                keys(member, found);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| keys(item, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn the_json_is_the_one_that_the_page_shows() {
    let page = include_str!("../../docs/verify.md");
    let (_, shown) = page.split_once("```json\n").unwrap();
    let (shown, _) = shown.split_once("```").unwrap();
    let shown: Value = serde_json::from_str(shown).unwrap();
    let (program, url) = a_ledger();
    tamper(&url);
    let ran = verify(&program, &url, &["--json"]);
    assert_eq!(ran.code, 1);
    let printed: Value = serde_json::from_str(&ran.out).unwrap();
    let (mut in_page, mut in_program) = (BTreeSet::new(), BTreeSet::new());
    keys(&shown, &mut in_page);
    keys(&printed, &mut in_program);
    assert_eq!(in_page, in_program);
    assert_eq!(printed["clean"], false);
    assert_eq!(printed["breaches"], 2);
    assert_eq!(printed["by_law"]["L8"], 2);
    assert_eq!(printed["states"]["ready"], 2);
    assert_eq!(printed["listed"][0]["found"], "attempt 7");
}

#[test]
fn a_ledger_out_of_reach_exits_with_3() {
    let program = Program::new();
    let ran = verify(&program, "postgres://nobody@127.0.0.1:1/jobs", &[]);
    assert_eq!(ran.code, 3, "{}", ran.messages);
    assert_eq!(ran.out, "");
    let none = format!("sqlite:{}/none.db", program.directory().display());
    let ran = verify(&program, &none, &["--json"]);
    assert_eq!(ran.code, 3, "{}", ran.messages);
}

#[test]
fn a_session_that_may_not_write_may_verify() {
    let (program, url) = a_ledger();
    assert_eq!(verify(&program, &url, &["--read-only"]).code, 0);
}

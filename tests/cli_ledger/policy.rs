//! `policy` on both databases: the config's rules come into the ledger, as versions.

use serde_json::Value;

use crate::postgres::PostgresDatabase;
use crate::program::Program;
use crate::sqlite::SqliteDatabase;

fn rules_become_versions(url: &str) {
    let config = |attempts: u32| {
        format!(
            "[ledgers.here]\nurl = \"{url}\"\n[policies.slow]\nmax_attempts = {attempts}\n\
             backoff_base = \"500ms\"\n"
        )
    };
    let program = Program::new().config(&config(3));
    assert_eq!(program.run(&["init"]).code, 0);
    let first = program.run(&["policy", "apply"]);
    assert_eq!(first.code, 0, "{}", first.messages);
    assert_eq!(
        first.messages,
        "policy 'default': unchanged, version 1\npolicy 'slow': created, version 1\n"
    );
    let again = program.run(&["policy", "apply"]);
    assert!(
        again
            .messages
            .ends_with("policy 'slow': unchanged, version 1\n"),
        "{again:?}"
    );
    let program = program.config(&config(4));
    let changed = program.run(&["policy", "apply"]);
    assert!(
        changed
            .messages
            .contains("policy 'slow': version 2 instead of 1;"),
        "{changed:?}"
    );
    let listed = program.run(&["policy", "list", "--json"]);
    let listed: Value = serde_json::from_str(&listed.out).unwrap();
    let slow = listed
        .as_array()
        .unwrap()
        .iter()
        .find(|each| each["name"] == "slow")
        .unwrap();
    assert_eq!(slow["version"], 2);
    assert_eq!(slow["max_attempts"], 4);
    assert_eq!(slow["backoff_base_s"], 0.5);
    let text = program.run(&["policy", "list"]);
    assert!(
        text.out
            .contains("slow version 2: 4 attempts within 1d, backoff 500ms to 15m"),
        "{}",
        text.out
    );
    // A job may now be enqueued under it.
    let job = [
        "enqueue", "--queue", "q", "--kind", "k", "--key", "x", "--policy", "slow",
    ];
    assert_eq!(program.run(&job).code, 0);
}

#[test]
fn policy_on_sqlite() {
    rules_become_versions(SqliteDatabase::create().url());
}

#[test]
fn policy_on_postgres() {
    rules_become_versions(PostgresDatabase::create().url());
}

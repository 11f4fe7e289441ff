//! `enqueue` on both databases.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, Stdio};
use std::thread;

use portable_pty::{CommandBuilder, PtySize, native_pty_system};
use serde_json::{Value, json};

use crate::postgres::PostgresDatabase;
use crate::program::{Program, Ran};
use crate::sqlite::SqliteDatabase;

/// A ledger to enqueue into.
struct Ledger<'u> {
    program: Program,
    url: &'u str,
}

impl<'u> Ledger<'u> {
    fn create(url: &'u str) -> Self {
        let program = Program::new();
        let ran = program.run(&["--ledger", url, "init"]);
        assert_eq!(ran.code, 0, "{}", ran.messages);
        Self { program, url }
    }

    fn enqueue(&self, flags: &[&str], input: &str) -> Ran {
        let mut arguments = vec!["--ledger", self.url, "enqueue"];
        arguments.extend(flags);
        self.program.run_with(&arguments, input.as_bytes())
    }

    /// Jobs of each queue that are ready, as `snapshot` tells it.
    fn ready(&self) -> BTreeMap<String, u64> {
        self.of_queues("/depth/ready")
    }

    fn of_queues(&self, pointer: &str) -> BTreeMap<String, u64> {
        let ran = self
            .program
            .run(&["--ledger", self.url, "snapshot", "--json"]);
        assert_eq!(ran.code, 0, "{}", ran.messages);
        let board: Value = serde_json::from_str(&ran.out).unwrap();
        let queues = board["queues"].as_array().unwrap();
        queues
            .iter()
            .map(|queue| {
                let name = queue["queue"].as_str().unwrap().to_owned();
                (name, queue.pointer(pointer).unwrap().as_u64().unwrap())
            })
            .collect()
    }
}

fn lines(range: std::ops::Range<u32>) -> String {
    range
        .map(|number| {
            let key = format!("key-{number}");
            let job = json!({"queue": "mail", "kind": "send", "idempotency_key": key});
            format!("{job}\n")
        })
        .collect::<Vec<_>>()
        .concat()
}

fn one_job_from_flags_and_again_as_a_duplicate(url: &str) {
    let ledger = Ledger::create(url);
    let flags = [
        "--queue",
        "mail",
        "--kind",
        "send",
        "--key",
        "t7:mail:1",
        "--payload",
        r#"{"to":"x"}"#,
        "--tenant",
        "t7",
        "--available-at",
        "2020-01-01T00:00:00Z",
        "--json",
    ];
    let first = ledger.enqueue(&flags, "");
    assert_eq!(first.code, 0, "{}", first.messages);
    assert!(
        first.messages.starts_with("1 created, 0 duplicates in 0."),
        "{}",
        first.messages
    );
    let created: Value = serde_json::from_str(&first.out).unwrap();
    assert_eq!(
        (&created["line"], &created["outcome"]),
        (&json!(1), &json!("created"))
    );
    let again = ledger.enqueue(&flags, "");
    assert_eq!(again.code, 0, "{}", again.messages);
    assert!(
        again.messages.starts_with("0 created, 1 duplicate in 0."),
        "{}",
        again.messages
    );
    let duplicate: Value = serde_json::from_str(&again.out).unwrap();
    assert_eq!(duplicate["outcome"], json!("duplicate"));
    assert_eq!(duplicate["id"], created["id"]);
    assert_eq!(ledger.ready().get("mail"), Some(&1));
    assert_eq!(ledger.of_queues("/duplicates").get("mail"), Some(&1));
}

fn a_stream_is_enqueued_once_however_often_it_is_given(url: &str) {
    let ledger = Ledger::create(url);
    let input = format!("{}{}", lines(0..2_500), lines(0..2));
    let first = ledger.enqueue(&["--json"], &input);
    assert_eq!(first.code, 0, "{}", first.messages);
    assert!(
        first
            .messages
            .starts_with("2,500 created, 2 duplicates in "),
        "{}",
        first.messages
    );
    let outcomes: Vec<Value> = first
        .out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let numbers: Vec<u64> = outcomes
        .iter()
        .map(|each| each["line"].as_u64().unwrap())
        .collect();
    assert_eq!(numbers, (1..=2_502).collect::<Vec<u64>>());
    assert_eq!(outcomes.last().unwrap()["outcome"], json!("duplicate"));
    let again = ledger.enqueue(&[], &input);
    assert!(
        again
            .messages
            .starts_with("0 created, 2,502 duplicates in "),
        "{}",
        again.messages
    );
    assert_eq!(again.out, "");
    assert_eq!(ledger.ready().get("mail"), Some(&2_500));
}

fn a_bad_line_stops_the_stream_where_it_says(url: &str) {
    let ledger = Ledger::create(url);
    let bad = r#"{"quue":"mail","kind":"send","idempotency_key":"x"}"#;
    let input = format!("{}{bad}\n{}", lines(0..1_200), lines(1_200..1_210));
    let ran = ledger.enqueue(&[], &input);
    assert_eq!(ran.code, 1);
    let said = ran.messages.lines().last().unwrap();
    assert_eq!(
        said,
        "ledgertop: line 1201: unknown key 'quue'; did you mean 'queue'?; lines 1 to 1200 are in \
         the ledger (1,200 created, 0 duplicates), line 1201 and those after it are not; go on \
         with: tail -n +1201 FILE | ledgertop enqueue, or give the whole input again: what is in \
         the ledger is recognised as a duplicate"
    );
    assert_eq!(ledger.ready().get("mail"), Some(&1_200));
}

fn a_job_that_the_ledger_refuses_is_named_by_its_line(url: &str) {
    let ledger = Ledger::create(url);
    let bad = r#"{"queue":"mail","kind":"send","idempotency_key":"x","policy":"nowhere"}"#;
    let input = format!("{}{bad}\n{}", lines(0..6), lines(6..9));
    let ran = ledger.enqueue(&[], &input);
    assert_eq!(ran.code, 1, "{}", ran.messages);
    let said = ran.messages.lines().last().unwrap();
    assert!(said.starts_with("ledgertop: line 7: "), "{said}");
    assert!(said.contains("nowhere"), "{said}");
    assert!(
        said.contains("lines 1 to 6 are in the ledger (6 created"),
        "{said}"
    );
    assert_eq!(ledger.ready().get("mail"), Some(&6));
}

fn all(url: impl Fn() -> Box<dyn Database>) {
    one_job_from_flags_and_again_as_a_duplicate(url().url());
    a_stream_is_enqueued_once_however_often_it_is_given(url().url());
    a_bad_line_stops_the_stream_where_it_says(url().url());
    a_job_that_the_ledger_refuses_is_named_by_its_line(url().url());
}

trait Database {
    fn url(&self) -> &str;
}

impl Database for SqliteDatabase {
    fn url(&self) -> &str {
        self.url()
    }
}

impl Database for PostgresDatabase {
    fn url(&self) -> &str {
        self.url()
    }
}

#[test]
fn enqueue_on_sqlite() {
    all(|| Box::new(SqliteDatabase::create()));
}

#[test]
fn enqueue_on_postgres() {
    all(|| Box::new(PostgresDatabase::create()));
}

#[test]
fn an_empty_input_is_nothing_to_do() {
    let sqlite = SqliteDatabase::create();
    let ledger = Ledger::create(sqlite.url());
    let ran = ledger.enqueue(&[], "\n\n");
    assert_eq!(ran.code, 0, "{}", ran.messages);
    assert!(
        ran.messages.starts_with("0 created, 0 duplicates"),
        "{}",
        ran.messages
    );
}

/// `enqueue --json` with open pipes on both sides.
fn begin(ledger: &Ledger<'_>) -> Child {
    let child = ledger
        .program
        .command()
        .args(["--ledger", ledger.url, "enqueue", "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    child.unwrap()
}

#[test]
fn a_slow_producer_is_not_kept_waiting_and_an_interrupt_says_where_it_stopped() {
    let sqlite = SqliteDatabase::create();
    let ledger = Ledger::create(sqlite.url());
    let mut child = begin(&ledger);
    let mut stdin = child.stdin.take().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap()).lines();
    // Far from a full batch, and the input goes on.
    stdin.write_all(lines(0..10).as_bytes()).unwrap();
    for _ in 0..10 {
        assert!(out.next().unwrap().unwrap().contains("created"));
    }
    let id = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(id, rustix::process::Signal::INT).unwrap();
    let ended = child.wait_with_output().unwrap();
    drop(stdin);
    assert_eq!(ended.status.code(), Some(1));
    let said = String::from_utf8(ended.stderr).unwrap();
    assert!(
        said.contains("interrupted; lines 1 to 10 are in the ledger (10 created, 0 duplicates)"),
        "{said}"
    );
    assert_eq!(ledger.ready().get("mail"), Some(&10));
}

#[test]
fn whoever_closes_the_output_still_gets_all_jobs_enqueued() {
    let sqlite = SqliteDatabase::create();
    let ledger = Ledger::create(sqlite.url());
    let mut child = begin(&ledger);
    drop(child.stdout.take());
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(lines(0..2_100).as_bytes()).unwrap();
    drop(stdin);
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(0));
    assert_eq!(ledger.ready().get("mail"), Some(&2_100));
}

#[test]
fn a_person_at_a_terminal_sees_a_bar_and_then_the_summary() {
    let sqlite = SqliteDatabase::create();
    let ledger = Ledger::create(sqlite.url());
    let input = ledger.program.directory().join("jobs.ndjson");
    fs::write(&input, lines(0..3_000)).unwrap();
    let pair = native_pty_system().openpty(PtySize::default()).unwrap();
    let mut command = CommandBuilder::new("sh");
    command.env("TERM", "xterm-256color");
    let program = env!("CARGO_BIN_EXE_ledgertop");
    let line = format!(
        "{program} --ledger {} enqueue < {}",
        ledger.url,
        input.display()
    );
    command.args(["-c", &line]);
    let mut child = pair.slave.spawn_command(command).unwrap();
    drop(pair.slave);
    let mut reader = pair.master.try_clone_reader().unwrap();
    let screen = thread::spawn(move || {
        let mut screen = Vec::new();
        // At the end of the program Linux answers with an error; what came before it counts.
        drop(reader.read_to_end(&mut screen));
        String::from_utf8_lossy(&screen).into_owned()
    });
    assert!(child.wait().unwrap().success());
    drop(pair.master);
    let screen = screen.join().unwrap();
    assert!(
        screen.contains("3,000 created, 0 duplicates in "),
        "{screen:?}"
    );
    assert!(screen.contains('█') && screen.contains("% "), "{screen:?}");
}

//! `demo` without a screen: on its own ledger, and never on someone else's.

use std::fs;
use std::io::Read as _;

use portable_pty::{CommandBuilder, PtySize, native_pty_system};

use crate::program::Program;
use crate::sqlite::SqliteDatabase;

#[test]
fn the_demo_leaves_nothing_behind_and_takes_no_ledger_it_was_not_given() {
    let program = Program::new();
    let place = program.directory().join("tmp");
    fs::create_dir(&place).unwrap();
    let other = program.directory().join("other.db");
    let program = program
        .variable("TMPDIR", place.clone())
        .variable("LEDGERTOP_LEDGER", format!("sqlite:{}", other.display()));
    let ran = program.run(&["demo", "--headless", "--for", "1s", "--seed", "7"]);
    assert_eq!(ran.code, 0, "{}", ran.messages);
    assert!(ran.out.contains("seed 7"), "{}", ran.out);
    assert_eq!(fs::read_dir(&place).unwrap().count(), 0);
    assert!(!other.exists());
}

#[test]
fn the_demo_refuses_a_ledger_with_jobs_that_are_not_its_own() {
    let sqlite = SqliteDatabase::create();
    let program = Program::new();
    let demo = [
        "demo",
        "--headless",
        "--for",
        "1s",
        "--ledger",
        sqlite.url(),
    ];
    let empty = program.run(&demo);
    assert_eq!(empty.code, 0, "{}", empty.messages);
    let again = program.run(&demo);
    assert_eq!(
        again.code, 0,
        "a ledger of an earlier demo: {}",
        again.messages
    );

    let real = SqliteDatabase::create();
    let ledger = ["--ledger", real.url()];
    assert_eq!(program.run(&[&ledger[..], &["init"]].concat()).code, 0);
    let job = [
        "enqueue", "--queue", "billing", "--kind", "charge", "--key", "t7:1",
    ];
    assert_eq!(program.run(&[&ledger[..], &job].concat()).code, 0);
    let refused = program.run(&[&ledger[..], &["demo", "--headless", "--for", "1s"]].concat());
    assert_eq!(refused.code, 1);
    assert!(
        refused
            .messages
            .contains("holds jobs that are not the demo's"),
        "{}",
        refused.messages
    );
    let board = program.run(&[&ledger[..], &["snapshot"]].concat());
    assert!(board.out.contains("billing"), "{}", board.out);
    assert!(!board.out.contains("thumbnails"), "{}", board.out);
}

#[test]
fn the_demo_on_a_screen_leaves_nothing_behind_when_its_terminal_goes() {
    let home = tempfile::tempdir().unwrap();
    let place = home.path().join("tmp");
    fs::create_dir(&place).unwrap();
    let pair = native_pty_system().openpty(PtySize::default()).unwrap();
    let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_ledgertop"));
    command.arg("demo");
    command.env("TMPDIR", &place);
    command.env("HOME", home.path());
    command.env("TERM", "xterm-256color");
    let mut child = pair.slave.spawn_command(command).unwrap();
    drop(pair.slave);
    let mut reader = pair.master.try_clone_reader().unwrap();
    let (mut seen, mut piece) = (String::new(), [0; 4_096]);
    // Its queues are on the board: everything runs.
    while !seen.contains("thumbnails") {
        let read = reader.read(&mut piece).unwrap();
        seen.push_str(&String::from_utf8_lossy(&piece[..read]));
    }
    assert_eq!(fs::read_dir(&place).unwrap().count(), 1);
    drop((reader, pair.master));
    child.wait().unwrap();
    assert_eq!(fs::read_dir(&place).unwrap().count(), 0);
}

//! The command line as its users meet it: the real program, its output and its exit codes.
//!
//! What needs no ledger is here; what does is in `cli_ledger.rs`.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

#[path = "cli/program.rs"]
mod program;
#[path = "cli/verify.rs"]
mod verify;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};

use program::Program;

#[test]
fn help_and_version_are_answers_and_a_typo_is_not() {
    let help = Program::new().run(&["--help"]);
    assert_eq!(help.code, 0);
    assert!(
        help.out.contains("Exit codes: 0 done; 1 a threshold"),
        "{}",
        help.out
    );
    let version = Program::new().run(&["--version"]);
    assert_eq!(
        version.out,
        concat!("ledgertop ", env!("CARGO_PKG_VERSION"), "\n")
    );
    let typo = Program::new().run(&["enqeue"]);
    assert_eq!(typo.code, 2);
    assert_eq!(typo.out, "");
    assert!(typo.messages.contains("'enqueue'"), "{}", typo.messages);
}

#[test]
fn a_flag_with_a_value_that_is_not_allowed_says_what_is() {
    let ran = Program::new().run(&["--refresh", "1ms", "config"]);
    assert_eq!(ran.code, 2);
    assert!(
        ran.messages
            .contains("allowed: a duration from 250ms to 1m"),
        "{}",
        ran.messages
    );
}

#[test]
fn without_a_ledger_the_way_to_one_is_shown() {
    let ran = Program::new().run(&["snapshot"]);
    assert_eq!(ran.code, 2);
    assert!(
        ran.messages
            .starts_with("ledgertop: no ledger is named: give --ledger sqlite:PATH"),
        "{}",
        ran.messages
    );
    assert!(ran.messages.contains("ledgertop demo"), "{}", ran.messages);
}

#[test]
fn a_password_in_any_argument_is_refused_and_not_repeated() {
    let url = "postgres://ann:s3cret@db/jobs";
    let with = format!("--ledger={url}");
    for arguments in [
        vec!["--ledger", url, "snapshot"],
        vec![with.as_str(), "snapshot"],
        vec!["snapshot", "--ledger", url],
        vec![url],
        vec!["snapshot", "--lodger", url],
    ] {
        let ran = Program::new().run(&arguments);
        assert_eq!(ran.code, 2, "{arguments:?}");
        assert!(ran.messages.contains("PGPASSFILE"), "{}", ran.messages);
        assert!(!format!("{}{}", ran.out, ran.messages).contains("s3cret"));
    }
}

#[test]
fn a_password_from_the_environment_is_taken_and_never_shown() {
    // Nobody listens on port 1, so this also shows the exit code of a ledger out of reach.
    let url = "postgres://ann:s3cret@127.0.0.1:1/jobs";
    for command in ["snapshot", "init"] {
        let ran = Program::new()
            .variable("LEDGERTOP_LEDGER", url)
            .run(&[command]);
        assert_eq!(ran.code, 3, "{}", ran.messages);
        assert!(
            ran.messages.contains("@127.0.0.1:1/jobs"),
            "{}",
            ran.messages
        );
        assert!(!ran.messages.contains("s3cret"), "{}", ran.messages);
    }
    let shown = Program::new()
        .variable("LEDGERTOP_LEDGER", url)
        .run(&["config"]);
    assert!(
        shown.out.contains("ann:***@127.0.0.1:1/jobs"),
        "{}",
        shown.out
    );
    assert!(!shown.out.contains("s3cret"), "{}", shown.out);
}

#[test]
fn a_mistake_in_the_config_names_file_line_and_nearest_key() {
    let program = Program::new().config("[limits]\noldest_redy = \"2m\"\n");
    let ran = program.run(&["config"]);
    assert_eq!(ran.code, 2);
    let path = program.config_path().display().to_string();
    let said = format!(
        "ledgertop: {path}:2: unknown key 'oldest_redy' in [limits]; did you mean 'oldest_ready'?\n"
    );
    assert_eq!(ran.messages, said);
}

#[test]
fn a_mistake_in_the_keys_names_its_line() {
    for (keys, said) in [
        (
            "srot = \"s\"",
            ":2: [keys]: there is no action 'srot'; did you mean 'sort'?",
        ),
        (
            "sort = \"hyper-s\"",
            ":2: [keys]: 'hyper-s' of action 'sort' is no key",
        ),
        ("sort = \"p\"", ":2: [keys]: 'p' would mean both "),
    ] {
        let ran = Program::new()
            .config(&format!("[keys]\n{keys}\n"))
            .run(&["config"]);
        assert_eq!(ran.code, 2, "{keys}: {}", ran.out);
        assert!(ran.messages.contains(said), "{keys}: {}", ran.messages);
    }
}

#[test]
fn the_console_needs_a_terminal_and_says_what_does_not() {
    let program = Program::new();
    for arguments in [&["--ledger", "sqlite:/nowhere/a.db"][..], &["demo"][..]] {
        let ran = program.run(arguments);
        assert_eq!(ran.code, 2, "{}", ran.messages);
        assert!(
            ran.messages.contains("ledgertop snapshot"),
            "{}",
            ran.messages
        );
    }
}

#[test]
fn config_shows_every_value_and_where_it_comes_from() {
    let program = Program::new()
        .config("[ledgers.prod]\nurl = \"sqlite:/a.db\"\n[console]\ntheme = \"mono\"\n")
        .variable("LEDGERTOP_REFRESH", "2s");
    let ran = program.run(&["config", "--background", "light"]);
    assert_eq!(ran.code, 0, "{}", ran.messages);
    for expected in [
        "console.theme mono line 4",
        "console.refresh 2s LEDGERTOP_REFRESH",
        "console.background light --background",
        "console.time_zone utc default",
        "ledger url sqlite:/a.db default",
        "limits.oldest_ready 2m",
        "policies.default.max_attempts 6",
    ] {
        let found = ran
            .out
            .lines()
            .any(|line| line.split_whitespace().collect::<Vec<_>>().join(" ") == expected);
        assert!(found, "{expected} in\n{}", ran.out);
    }
}

#[test]
fn completions_and_manual_come_from_the_flags_even_where_the_config_is_broken() {
    let program = Program::new().config("broken");
    for shell in ["bash", "zsh", "fish"] {
        let ran = program.run(&["completions", shell]);
        assert_eq!(ran.code, 0, "{}", ran.messages);
        assert!(ran.out.contains("idempotency-key"), "{shell}");
    }
    let page = program.run(&["man"]);
    assert_eq!(page.code, 0, "{}", page.messages);
    assert!(page.out.contains(".TH ledgertop"), "{}", page.out);
    assert!(page.out.contains("idempotency"), "{}", page.out);
}

#[test]
fn a_closed_output_ends_quietly() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_ledgertop"))
        .arg("man")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&ended.stderr), "");
}

#[test]
fn the_log_is_a_file_for_its_owner_only() {
    let program = Program::new();
    let log = program.directory().join("ledgertop.log");
    fs::write(&log, "before\n").unwrap();
    fs::set_permissions(&log, fs::Permissions::from_mode(0o644)).unwrap();
    let url = format!("sqlite:{}", program.directory().join("a.db").display());
    let path = log.to_str().unwrap();
    let ran = program.run(&["--log", path, "--ledger", &url, "init"]);
    assert_eq!(ran.code, 0, "{}", ran.messages);
    let text = fs::read_to_string(&log).unwrap();
    assert!(
        text.starts_with("before\n") && text.contains("init"),
        "{text}"
    );
    let mode = fs::metadata(&log).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let nowhere = program.run(&["--log", "/nowhere/x.log", "--ledger", &url, "init"]);
    assert_eq!(nowhere.code, 2);
    assert!(
        nowhere.messages.contains("cannot log to '/nowhere/x.log'"),
        "{}",
        nowhere.messages
    );
}

#[test]
fn a_read_only_session_refuses_what_writes() {
    let program = Program::new();
    let url = format!("sqlite:{}", program.directory().join("a.db").display());
    let ran = program.run(&["--read-only", "--ledger", &url, "init"]);
    assert_eq!(ran.code, 1);
    assert_eq!(
        ran.messages,
        "ledgertop: 'init' writes, and this session is read-only (by --read-only); nothing was \
         changed\n"
    );
    assert!(!program.directory().join("a.db").exists());
}

#[test]
fn a_dry_run_lists_mistakes_and_needs_no_ledger() {
    let program = Program::new();
    let input = "{\"queue\":\"q\",\"kind\":\"k\",\"idempotency_key\":\"i\"}\nno job\n[1]\n";
    let ran = program.run_with(&["enqueue", "--dry-run"], input.as_bytes());
    assert_eq!(ran.code, 1);
    assert_eq!(
        ran.messages,
        "line 2: not JSON at column 2: a value, a comma or a bracket is missing or out of place\n\
         line 3: not a JSON object; a job is written as \
         {\"queue\":…,\"kind\":…,\"idempotency_key\":…}\n\
         ledgertop: 1 job, 2 mistakes; nothing was enqueued\n"
    );
    let three = input.lines().next().unwrap().to_owned() + "\n";
    let three = three.repeat(3);
    let good = program.run_with(&["enqueue", "--dry-run"], three.as_bytes());
    assert_eq!(good.code, 0);
    assert_eq!(good.messages, "3 jobs, 0 mistakes; nothing was enqueued\n");
}

#[test]
fn a_flag_that_is_wrong_or_missing_is_a_usage_error() {
    let program = Program::new();
    let missing = program.run(&["enqueue", "--queue", "mail", "--kind", "send"]);
    assert_eq!(missing.code, 2);
    assert!(
        missing.messages.contains("--idempotency-key"),
        "{}",
        missing.messages
    );
    let job = ["enqueue", "--queue", "mail", "--kind", "send", "--key", "x"];
    let moment = program.run(&[&job[..], &["--available-at", "tomorrow"]].concat());
    assert_eq!(moment.code, 2);
    assert_eq!(
        moment.messages,
        "ledgertop: 'available_at' is 'tomorrow'; allowed: a moment in RFC 3339, such as \
         2026-11-30T03:07:42Z; nothing was enqueued\n"
    );
    let payload = program.run(&[&job[..], &["--payload", "{x"]].concat());
    assert_eq!(payload.code, 2);
    let required = program.run(&[&job[..], &["--required", "false"]].concat());
    assert_eq!(required.code, 2);
}

#[test]
fn the_mapping_is_what_its_page_shows_and_needs_no_ledger() {
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/work.md")).unwrap();
    let both = Program::new().run(&["work", "--print-mapping"]);
    assert_eq!(both.code, 0, "{}", both.messages);
    assert!(
        page.contains(&both.out),
        "docs/work.md does not hold this:\n{}",
        both.out
    );
}

#[test]
fn the_mapping_shows_what_the_config_changed() {
    let program = Program::new().config(
        "[work.http.status]\n422 = \"permanent rejected\"\n409 = \"done\"\n\
         [work.exec.exit]\n3 = \"transient tide\"\n",
    );
    let http = program.run(&["work", "--http", "http://localhost/", "--print-mapping"]);
    for row in [
        "409        done                           by the config\n",
        "422        permanent rejected             by the config\n",
    ] {
        assert!(http.out.contains(row), "{}", http.out);
    }
    assert!(
        !http.out.contains("unprocessable") && !http.out.contains("--exec"),
        "{}",
        http.out
    );
    let exec = program.run(&["work", "--exec", "true", "--print-mapping"]);
    let row = "3          transient tide                 by the config\n";
    assert!(
        exec.out.contains(row) && !exec.out.contains("--http"),
        "{}",
        exec.out
    );
    let shown = program.run(&["config"]);
    assert!(shown.out.contains("work.exec.exit.3"), "{}", shown.out);
}

#[test]
fn work_that_cannot_begin_is_a_usage_error() {
    let program = Program::new();
    let url = format!("sqlite:{}", program.directory().join("a.db").display());
    let begin = |more: &[&str]| {
        let ran = program.run(&[&["--ledger", &url, "work"], more].concat());
        assert_eq!(ran.code, 2, "{more:?}: {}", ran.messages);
        ran.messages
    };
    assert!(begin(&["--queue", "q"]).contains("--http"));
    assert!(begin(&["--http", "http://example.com/"]).contains("--queue"));
    let both = ["--queue", "q", "--http", "http://example.com/"];
    assert!(begin(&[&both[..], &["--exec", "true"]].concat()).contains("cannot be used with"));
    let of = |kind, what| begin(&["--queue", "q", kind, what]);
    assert_eq!(
        of("--http", "localhost:3000"),
        "ledgertop: 'localhost:3000' is not a URL such as https://example.com/jobs; no job was \
         claimed\n"
    );
    assert_eq!(
        of("--http", "http://169.254.169.254/"),
        "ledgertop: '169.254.169.254' is at 169.254.169.254, which is not a public address; where \
         that is meant, say --allow-private; no job was claimed\n"
    );
    assert!(of("--exec", "sh -c 'oops").contains("a quote is not closed"));
    assert!(of("--exec", " ").contains("names no command"));
    let lease = begin(&["--queue", "q", "--exec", "true", "--lease", "10ms"]);
    assert!(lease.contains("allowed: a duration from 1s"), "{lease}");
    let none = begin(&["--queue", "q", "--exec", "true", "--concurrency", "0"]);
    assert!(none.contains("--concurrency"), "{none}");
}

//! The console in a terminal: the real program, keys, signals, and every way out.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

#[path = "terminal/acts.rs"]
mod acts;
#[path = "terminal/driver.rs"]
mod driver;
#[path = "terminal/faults.rs"]
mod faults;
#[path = "terminal/lists.rs"]
mod lists;
#[path = "terminal/network.rs"]
mod network;
#[path = "support/postgres.rs"]
mod postgres;

use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::time::Duration;

use ledgertop::board::Limits;
use ledgertop::console::clock::Clock;
use ledgertop::console::keymap::Keymap;
use ledgertop::console::theme::{Background, Depth, Look, Theme};
use ledgertop::console::{self, ConsoleOptions};
use ledgertop::ledger::text::SafeText;

use driver::{Alternate, Driver, ledger, program};
use rustix::process::Signal;

#[test]
fn a_console_opens_is_read_and_is_quit() {
    let place = tempfile::tempdir().unwrap();
    let url = ledger(place.path());
    let mut console = Driver::start(&[program(), "--ledger", &url]);
    console.wait_for("LIVE");
    console.wait_for("All queues are within their limits.");
    console.press("?");
    console.wait_for("Help");
    console.press("q");
    console.wait_until_gone("Help");
    console.press("q");
    assert_eq!(console.end().exit_code(), 0);
    console.assert_given_back();
}

#[test]
fn the_terminal_is_never_asked_a_question() {
    let place = tempfile::tempdir().unwrap();
    let url = ledger(place.path());
    let mut console = Driver::start(&[program(), "--ledger", &url]);
    console.wait_for("LIVE");
    console.press("\x03");
    console.end();
    let sent = String::from_utf8_lossy(&console.bytes()).into_owned();
    // Cursor position, device attributes, colours, keyboard protocol, mode reports.
    for question in ["\x1b[6n", "\x1b[c", "\x1b[>c", "\x1b]11;?", "\x1b[?u", "$p"] {
        assert!(!sent.contains(question), "{question:?}");
    }
}

#[test]
fn a_ledger_that_never_answers_delays_neither_the_first_frame_nor_a_key() {
    // It accepts connections and never says a word.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("postgres://nobody@{}/nothing", silent.local_addr().unwrap());
    let mut console = Driver::start(&[program(), "--ledger", &url]);
    console.wait_for("LOADING");
    console.press(":");
    console.wait_for("Go to");
    console.press("\x1b");
    console.wait_until_gone("Go to");
    // The deadline passes, and the frame says what happens next.
    console.wait_for("RECONNECTING");
    console.wait_for("The ledger has not been counted yet.");
    console.press("q");
    assert_eq!(console.end().exit_code(), 0);
    console.assert_given_back();
}

#[test]
fn a_signal_ends_the_console_and_gives_the_terminal_back() {
    let place = tempfile::tempdir().unwrap();
    let url = ledger(place.path());
    for signal in [Signal::TERM, Signal::HUP, Signal::INT, Signal::QUIT] {
        let mut console = Driver::start(&[program(), "--ledger", &url]);
        console.wait_for("LIVE");
        console.signal(signal);
        console.end();
        console.assert_given_back();
    }
}

/// Set where [`a_console_whose_feed_panics`] is run on purpose.
const IN_A_TERMINAL: &str = "LEDGERTOP_TEST_IN_A_TERMINAL";

#[test]
fn a_panic_gives_the_terminal_back_before_its_message_which_is_made_safe() {
    let this = std::env::current_exe().unwrap();
    let arguments = [
        this.to_str().unwrap(),
        "a_console_whose_feed_panics",
        "--exact",
        "--ignored",
        "--nocapture",
    ];
    let variables = [("TERM", "xterm-256color"), (IN_A_TERMINAL, "1")];
    let mut console = Driver::start_with(&arguments, &variables);
    console.wait_for("stopped by a fault of its own");
    console.wait_for("a feed ␛[31mfell over");
    console.wait_for("it ended with Panicked");
    console.end();
    console.assert_given_back();
    let sent = String::from_utf8_lossy(&console.bytes()).into_owned();
    let left = sent.find("\x1b[?1049l").unwrap();
    assert!(
        left < sent.find("stopped by a fault").unwrap(),
        "the screen is left first"
    );
}

#[test]
#[ignore = "it is run by the test above, in a terminal of its own"]
fn a_console_whose_feed_panics() {
    assert!(
        std::env::var_os(IN_A_TERMINAL).is_some(),
        "it needs a terminal of its own"
    );
    let none: [(&str, [&str; 0]); 0] = [];
    let options = ConsoleOptions {
        ledger_name: SafeText::new("test"),
        read_only_reason: SafeText::new("it is a test"),
        feed: Box::new(|| async { panic!("a feed \u{1b}[31mfell over") }),
        look: Box::new(|| panic!("nothing is looked up")),
        operate: None,
        copying: false,
        limits: Limits::default(),
        refresh: Duration::from_secs(1),
        keymap: Keymap::new(none).unwrap(),
        theme: Theme::built_in(Look::Standard, Background::Dark, Depth::Ansi16).unwrap(),
        clock: Clock::default(),
        seed: 1,
    };
    let error = console::run(options).unwrap_err();
    // The harness prints what a test prints to the terminal that this one is given.
    let line = format!("it ended with {error:?}\r\n");
    std::io::Write::write_all(&mut std::io::stdout(), line.as_bytes()).unwrap();
}

#[test]
fn a_lost_terminal_ends_the_process_even_where_the_hangup_signal_is_ignored() {
    let place = tempfile::tempdir().unwrap();
    let url = ledger(place.path());
    let ignoring = format!("trap '' HUP; exec {} --ledger {url}", program());
    for arguments in [
        &[program(), "--ledger", &url][..],
        &["/bin/sh", "-c", &ignoring],
    ] {
        let console = Driver::start(arguments);
        console.wait_for("LIVE");
        let (end, _killer) = console.hang_up();
        // It takes half a second and may take two; a busy machine gets more.
        end.recv_timeout(Duration::from_secs(15)).unwrap();
    }
}

#[test]
fn ctrl_z_hands_the_terminal_to_the_shell_and_fg_takes_it_again() {
    let place = tempfile::tempdir().unwrap();
    let url = ledger(place.path());
    let script = format!(
        "set -m; {} --ledger {url}; echo the shell has it; stty -a; read line; fg; echo the end",
        program()
    );
    let mut shell = Driver::start(&["bash", "-c", &script]);
    shell.wait_for("LIVE");
    shell.press("\x1a");
    shell.wait_for("the shell has it");
    shell.wait_for(" icanon");
    shell.wait_for_alternate_screen(Alternate::Left);
    shell.press("\r");
    shell.wait_for_alternate_screen(Alternate::Shown);
    shell.wait_for("LIVE");
    shell.press("q");
    shell.wait_for("the end");
    shell.end();
    shell.assert_given_back();
}

#[test]
fn another_size_is_another_frame_without_remains() {
    let place = tempfile::tempdir().unwrap();
    let url = ledger(place.path());
    let mut console = Driver::start(&[program(), "--ledger", &url]);
    console.wait_for("LIVE");
    console.resize(60, 20);
    console.wait_for("LIVE");
    console.resize(140, 40);
    console.wait_for("Retries by reason");
    console.resize(1, 1);
    console.resize(80, 24);
    console.wait_for("q quit");
    console.press("q");
    assert_eq!(console.end().exit_code(), 0);
}

#[test]
fn an_idle_ledger_sends_nothing_to_the_terminal() {
    let place = tempfile::tempdir().unwrap();
    let url = ledger(place.path());
    let mut console = Driver::start(&[program(), "--ledger", &url, "--refresh", "250ms"]);
    console.wait_for("LIVE");
    // A minute may begin meanwhile, which the header shows once; never two within this time.
    let quiet = (0..3).any(|_| {
        std::thread::sleep(Duration::from_millis(500));
        let before = console.bytes().len();
        std::thread::sleep(Duration::from_secs(2));
        console.bytes().len() == before
    });
    assert!(quiet, "an idle console writes:\n{}", console.contents());
    console.press("q");
    console.end();
}

#[test]
fn a_dumb_terminal_is_told_what_to_use_instead() {
    let place = tempfile::tempdir().unwrap();
    let url = ledger(place.path());
    let variables = [("TERM", "dumb")];
    let mut console = Driver::start_with(&[program(), "--ledger", &url], &variables);
    assert_eq!(console.end().exit_code(), 2);
    assert!(
        console.contents().contains("ledgertop snapshot"),
        "{}",
        console.contents()
    );
    assert!(
        !console.bytes().contains(&0x1b),
        "no escape sequence is sent"
    );
}

#[test]
fn without_a_terminal_the_message_names_the_text_twin() {
    let ran = Command::new(program())
        .args(["--ledger", "sqlite:/nowhere/ledger.db"])
        .env_clear()
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert_eq!(ran.status.code(), Some(2));
    let message = String::from_utf8(ran.stderr).unwrap();
    assert!(message.contains("ledgertop snapshot"), "{message}");
    assert!(ran.stdout.is_empty());
}

#[test]
fn no_color_sends_no_colour_and_keeps_the_selection_visible() {
    let place = tempfile::tempdir().unwrap();
    let url = ledger(place.path());
    let enqueued = Command::new(program())
        .args([
            "--ledger", &url, "enqueue", "--queue", "mail", "--kind", "send", "--key", "a",
        ])
        .env_clear()
        .output()
        .unwrap();
    assert!(
        enqueued.status.success(),
        "{}",
        String::from_utf8_lossy(&enqueued.stderr)
    );
    let variables = [("TERM", "xterm-256color"), ("NO_COLOR", "1")];
    let mut console = Driver::start_with(&[program(), "--ledger", &url], &variables);
    console.wait_for("› ");
    console.wait_for("mail");
    console.press("q");
    console.end();
    let sent = String::from_utf8_lossy(&console.bytes()).into_owned();
    for sequence in sent.split("\x1b[").skip(1) {
        let end = sequence
            .find(|each: char| each.is_ascii_alphabetic())
            .unwrap();
        let (codes, letter) = sequence.split_at(end);
        if letter.starts_with('m') {
            let colourless = codes
                .split(';')
                .all(|code| matches!(code, "0" | "1" | "2" | "7"));
            assert!(colourless, "{codes}");
        }
    }
    assert!(
        sent.contains("\x1b[1;7m") || sent.contains(";7m"),
        "reverse video is sent"
    );
}

//! The real program: signals, its own end, and what it says.
//!
//! Next: `node.rs`, a handler in another language behind it.

use std::io::Read as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use ledgertop::ledger::job::Operation;
use ledgertop::ledger::policy::OnUnknown;
use ledgertop::ledger::state::State;
use rustix::process::{Pid, Signal, kill_process};
use tokio::time::sleep;

use crate::bench::{enqueue, enqueue_under, events, job, open, policy, row, until, until_state};
use crate::exec::is_alive;
use crate::ledger::Ledger;

/// `ledgertop work` as a process; killed with the value at the latest.
pub(crate) struct Work {
    child: Child,
}

/// How it ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) messages: String,
}

impl Work {
    /// Starts it on the ledger, in a home of its own and with no variables but those given.
    pub(crate) fn start(
        ledger: &Ledger,
        home: &Path,
        arguments: &[&str],
        variables: &[(&str, &str)],
    ) -> Self {
        let messages = std::fs::File::create(home.join("messages")).expect("a file");
        let child = Command::new(env!("CARGO_BIN_EXE_ledgertop"))
            .arg("work")
            .args(arguments)
            .env_clear()
            .env("HOME", home)
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("LEDGERTOP_LEDGER", ledger.url().to_string())
            .envs(variables.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(messages)
            .spawn()
            .expect("the program starts");
        Self { child }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        kill_process(pid.expect("a process"), signal).expect("it is there");
    }

    /// Waits for its end.
    pub(crate) async fn ended(mut self, home: &Path) -> Ran {
        for _ in 0..3_000 {
            if let Some(status) = self.child.try_wait().expect("it is ours") {
                let mut messages = String::new();
                std::fs::File::open(home.join("messages"))
                    .and_then(|mut file| file.read_to_string(&mut messages))
                    .expect("its messages");
                return Ran {
                    code: status.code(),
                    messages,
                };
            }
            sleep(Duration::from_millis(20)).await;
        }
        panic!("the program did not end");
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        // One that has ended is no mistake.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

pub(crate) async fn a_first_signal_drains_and_a_second_ends_at_once(ledger: &Ledger) {
    let store = open(ledger).await;
    let home = tempfile::tempdir().expect("a directory");
    let path = |name: &str| home.path().join(name).display().to_string();
    // Each command says that it has begun and ends when it is let.
    let script = format!(
        "sh -c 'echo $$ > {0}/begun_$LEDGERTOP_IDEMPOTENCY_KEY; \
         until [ -e {0}/let ]; do sleep 0.05; done'",
        home.path().display()
    );
    let arguments = ["--queue", "thumbnails", "--exec", &script];
    let ids = enqueue(store.as_ref(), &[job("one")]).await;
    let drained = Work::start(ledger, home.path(), &arguments, &[]);
    until("the first command", || {
        Path::new(&path("begun_one")).exists()
    })
    .await;
    drained.signal(Signal::TERM);
    let later = enqueue(store.as_ref(), &[job("two")]).await[0];
    std::fs::write(path("let"), "").expect("a file");
    let ran = drained.ended(home.path()).await;
    assert_eq!(ran.code, Some(0), "{}", ran.messages);
    assert!(
        ran.messages.ends_with("1 attempt: 1 succeeded\n"),
        "{}",
        ran.messages
    );
    assert_eq!(row(store.as_ref(), ids[0]).await.state, State::Succeeded);
    assert_eq!(row(store.as_ref(), later).await.state, State::Ready);

    std::fs::remove_file(path("let")).expect("it is there");
    let dropped = Work::start(ledger, home.path(), &arguments, &[]);
    until("the second command", || {
        Path::new(&path("begun_two")).exists()
    })
    .await;
    dropped.signal(Signal::INT);
    until("the drain", || {
        std::fs::read_to_string(path("messages")).is_ok_and(|said| said.contains("draining"))
    })
    .await;
    dropped.signal(Signal::INT);
    let ran = dropped.ended(home.path()).await;
    assert_eq!(ran.code, Some(1), "{}", ran.messages);
    assert!(
        ran.messages.contains("ended at once with 1 in hand"),
        "{}",
        ran.messages
    );
    assert_eq!(events(ledger, later).await, ["enqueue", "claim"]);
    let command = std::fs::read_to_string(path("begun_two")).expect("it is there");
    assert!(!is_alive(&command), "the command outlives its worker");
}

pub(crate) async fn a_worker_ends_when_its_queues_are_empty(ledger: &Ledger) {
    let store = open(ledger).await;
    let home = tempfile::tempdir().expect("a directory");
    let other = ledgertop::ledger::job::NewJob {
        queue: "other".to_owned(),
        ..job("other")
    };
    let ids = enqueue(store.as_ref(), &[job("1"), job("65"), other]).await;
    let arguments = [
        "--queue",
        "thumbnails",
        "--queue",
        "mail",
        "--exec",
        "sh -c 'exit $((LEDGERTOP_IDEMPOTENCY_KEY - 1 + (LEDGERTOP_IDEMPOTENCY_KEY > 1)))'",
        "--until-empty",
        "--name",
        "w1",
        "--log-level",
        "warn",
    ];
    let ran = Work::start(ledger, home.path(), &arguments, &[])
        .ended(home.path())
        .await;
    assert_eq!(ran.code, Some(0), "{}", ran.messages);
    assert_eq!(ran.messages, "2 attempts: 1 succeeded, 1 quarantined\n");
    assert_eq!(row(store.as_ref(), ids[0]).await.state, State::Succeeded);
    assert_eq!(row(store.as_ref(), ids[1]).await.state, State::Quarantined);
    assert_eq!(row(store.as_ref(), ids[2]).await.state, State::Ready);
    let by = format!(
        "SELECT DISTINCT actor FROM job_events WHERE job_id = '{}' AND event = 'succeed'",
        ids[0]
    );
    // A part of the process's own follows, so that no other ever bears the same name.
    let name = ledger.value(&by).await;
    let parts: Vec<&str> = name.split(':').collect();
    assert!(
        matches!(parts[..], ["w1", pid, own] if pid.parse::<u32>().is_ok() && own.len() == 8),
        "{name}"
    );
}

pub(crate) async fn queues_and_their_limits_may_come_from_the_config(ledger: &Ledger) {
    let store = open(ledger).await;
    let home = tempfile::tempdir().expect("a directory");
    let running = home.path().join("running");
    std::fs::create_dir(&running).expect("a directory");
    let jobs: Vec<_> = (0..6).map(|number| job(&number.to_string())).collect();
    let ids = enqueue(store.as_ref(), &jobs).await;
    // Each command counts how many run beside it.
    let script = format!(
        "sh -c 'touch {0}/$$; sleep 0.1; ls {0} | wc -l; rm {0}/$$'",
        running.display()
    );
    let config = home.path().join("config.toml");
    std::fs::write(
        &config,
        "[work.queues.thumbnails]\nconcurrency = 2\n[work.queues.mail]\nconcurrency = 3\n",
    )
    .expect("a file");
    let arguments = ["--exec", &script, "--until-empty", "--log-level", "warn"];
    let variable = config.display().to_string();
    let ran = Work::start(
        ledger,
        home.path(),
        &arguments,
        &[("LEDGERTOP_CONFIG", &variable)],
    )
    .ended(home.path())
    .await;
    assert_eq!(ran.code, Some(0), "{}", ran.messages);
    let mut counts = Vec::new();
    for id in ids {
        let done = row(store.as_ref(), id).await;
        counts.push(done.output_ref.map(|text| text.as_str().to_owned()));
    }
    let two = |count: &Option<String>| count.as_deref() == Some("2");
    assert!(
        counts.iter().all(|count| count.as_deref() <= Some("2")),
        "{counts:?}"
    );
    assert!(counts.iter().any(two), "{counts:?}");

    let none = Work::start(ledger, home.path(), &["--exec", "true"], &[])
        .ended(home.path())
        .await;
    assert_eq!(none.code, Some(2), "{}", none.messages);
    assert!(
        none.messages.contains("no queue is named"),
        "{}",
        none.messages
    );
}

pub(crate) async fn an_unknown_failure_is_held_for_a_person_where_the_policy_says_so(
    ledger: &Ledger,
) {
    let store = open(ledger).await;
    let home = tempfile::tempdir().expect("a directory");
    policy(store.as_ref(), "hold", |policy| {
        policy.on_unknown = OnUnknown::Hold;
    })
    .await;
    let id = enqueue_under(store.as_ref(), "one", "hold").await;
    let arguments = [
        "--queue",
        "thumbnails",
        "--exec",
        "sh -c 'exit 99'",
        "--lease",
        "1h",
    ];
    let worker = Work::start(ledger, home.path(), &arguments, &[]);
    let messages = home.path().join("messages");
    until("it is held", || {
        std::fs::read_to_string(&messages).is_ok_and(|said| said.contains("held for an operator"))
    })
    .await;
    worker.signal(Signal::TERM);
    let ran = worker.ended(home.path()).await;
    assert_eq!(ran.code, Some(0), "{}", ran.messages);
    assert!(
        ran.messages.ends_with("1 attempt: 1 held\n"),
        "{}",
        ran.messages
    );
    // It stands as it was left, and a person judges.
    let held = row(store.as_ref(), id).await;
    assert_eq!(held.state, State::Running);
    let act = ledgertop::store::Act {
        operation: Operation::Revoke,
        job: id,
        version: held.version,
        actor: "ann".to_owned(),
        note: "the far side says that it was done".to_owned(),
    };
    store.operate(&act).await.expect("an answer");
    assert_eq!(row(store.as_ref(), id).await.state, State::Quarantined);
    let unknown = format!("SELECT CAST(unsettled AS text) FROM jobs WHERE id = '{id}'");
    assert_eq!(
        ledger.value(&unknown).await,
        "1",
        "whether it was done is not known here"
    );
}

pub(crate) async fn a_command_does_not_see_the_workers_own_variables(ledger: &Ledger) {
    let store = open(ledger).await;
    let home = tempfile::tempdir().expect("a directory");
    let id = enqueue(store.as_ref(), &[job("1")]).await[0];
    let arguments = [
        "--queue",
        "thumbnails",
        "--exec",
        "sh -c 'echo \"${LEDGERTOP_LEDGER-none} ${LEDGERTOP_LOG_LEVEL-none} $OF_THE_TEAM\"'",
        "--until-empty",
    ];
    let variables = [("LEDGERTOP_LOG_LEVEL", "warn"), ("OF_THE_TEAM", "kept")];
    let ran = Work::start(ledger, home.path(), &arguments, &variables)
        .ended(home.path())
        .await;
    assert_eq!(ran.code, Some(0), "{}", ran.messages);
    let done = until_state(store.as_ref(), id, State::Succeeded).await;
    assert_eq!(done.output_ref, Some("none none kept".into()));
}

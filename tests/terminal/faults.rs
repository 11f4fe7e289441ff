//! The console on PostgreSQL, over a network that is cut and that hangs; and on a SQLite file that
//! is taken away and comes back.

use std::fs;
use std::process::Command;

use crate::driver::{Driver, ledger, program};
use crate::network::{Network, Weather};
use crate::postgres::PostgresDatabase;

/// A ledger on PostgreSQL, and the same ledger seen through a network.
struct Place {
    database: PostgresDatabase,
    network: Network,
    /// The address through the network.
    far: String,
}

fn place() -> Place {
    let database = PostgresDatabase::create();
    run(database.url(), &["init"]);
    let (user, rest) = database.url().rsplit_once('@').unwrap();
    let (server, name) = rest.split_once('/').unwrap();
    let network = Network::to(server);
    let far = format!("{user}@{}/{name}", network.address());
    Place {
        database,
        network,
        far,
    }
}

fn run(ledger: &str, arguments: &[&str]) {
    let ran = Command::new(program())
        .args(["--ledger", ledger])
        .args(arguments)
        .env_clear()
        .output()
        .unwrap();
    assert!(
        ran.status.success(),
        "{}",
        String::from_utf8_lossy(&ran.stderr)
    );
}

impl Place {
    fn enqueue(&self, key: &str) {
        let url = self.database.url();
        run(
            url,
            &["enqueue", "--queue", "mail", "--kind", "send", "--key", key],
        );
    }
}

#[test]
fn a_lost_database_is_said_at_once_keeps_its_numbers_and_comes_back_by_itself() {
    let place = place();
    place.enqueue("first");
    let mut console = Driver::start(&[program(), "--ledger", &place.far]);
    console.wait_for("LIVE");
    console.wait_for("mail");
    place.network.turn(Weather::Cut);
    console.wait_for("RECONNECTING");
    console.wait_for("retry in");
    assert!(
        console.contents().contains("mail"),
        "{}",
        console.contents()
    );
    // What happens meanwhile is there afterwards.
    place.enqueue("second");
    place.network.turn(Weather::Fine);
    console.wait_for("LIVE");
    console.press("\r");
    console.wait_for("ready        2");
    console.press("\x03");
    assert_eq!(console.end().exit_code(), 0);
}

#[test]
fn a_database_that_hangs_is_stale_and_answers_keys() {
    let place = place();
    place.enqueue("first");
    let mut console = Driver::start(&[program(), "--ledger", &place.far]);
    console.wait_for("LIVE");
    place.network.turn(Weather::Hanging);
    console.wait_for("STALE");
    console.wait_for("no answer from the ledger for");
    console.press("?");
    console.wait_for("Help");
    console.press("\x1b");
    console.wait_until_gone("Help");
    // The deadline of the call passes.
    console.wait_for("RECONNECTING");
    place.network.turn(Weather::Fine);
    console.wait_for("LIVE");
    console.press("q");
    assert_eq!(console.end().exit_code(), 0);
}

#[test]
fn a_file_that_is_removed_is_said_at_once_and_the_next_one_is_read_anew() {
    let place = tempfile::tempdir().unwrap();
    let enqueue = |url: &str, queue: &str| {
        run(
            url,
            &[
                "enqueue", "--queue", queue, "--kind", "send", "--key", "one",
            ],
        );
    };
    let url = ledger(place.path());
    enqueue(&url, "mail");
    let mut console = Driver::start(&[program(), "--ledger", &url]);
    console.wait_for("LIVE");
    console.wait_for("mail");
    console.wait_for("All queues are within their limits.");
    for suffix in ["", "-wal", "-shm"] {
        fs::remove_file(place.path().join(format!("ledger.db{suffix}"))).unwrap();
    }
    console.wait_for("RECONNECTING");
    // The last numbers stay, and nothing is said of how it is now.
    console.wait_for("All queues were within their limits then.");
    console.wait_for("mail");
    enqueue(&ledger(place.path()), "other");
    console.wait_for("LIVE");
    console.wait_for("other");
    console.wait_until_gone("mail");
    console.press("q");
    assert_eq!(console.end().exit_code(), 0);
}

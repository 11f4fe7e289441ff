//! S16: what far sides write into `Retry-After`, and waits that no clock can hold, lead to a wait
//! within the policy's caps, on both databases.
//!
//! That no attempt number and no text does otherwise is a property test of `ledger::policy`; here
//! the whole way is gone, from the header on the wire to the moment in the ledger. Next:
//! `clocks.rs`.

use std::collections::BTreeMap;
use std::time::Duration;

use ledgertop::ledger::job::{NewJob, Verdict};
use ledgertop::ledger::state::State;
use ledgertop::store::DatabaseKind;
use rand::RngExt as _;
use uuid::Uuid;

use crate::answers::{failed, settlement, wish};
use crate::bench::{enqueue, job, open, policy, until_state};
use crate::hangs::kind;
use crate::ledger::Ledger;
use crate::plan::{random, say, size};
use crate::process::{Worker, verify};
use crate::server::{Reply, Server};

const BACKOFF_CAP: Duration = Duration::from_millis(200);
const RETRY_AFTER_CAP: Duration = Duration::from_secs(90);

/// Headers, each with the wait that it asks for in seconds where it asks for one.
const HEADERS: [(&str, Option<u64>); 16] = [
    ("7", Some(7)),
    ("0", Some(0)),
    ("-1", None),
    ("+5", None),
    ("1.5", None),
    ("1e9", None),
    ("", None),
    ("soon", None),
    ("NaN", None),
    ("999999999999", Some(90)),
    ("99999999999999999999999999999999999999", Some(90)),
    ("18446744073709551616", Some(90)),
    ("Sun, 06 Nov 1994 08:49:37 GMT", Some(0)),
    ("Fri, 31 Dec 9999 23:59:59 GMT", Some(90)),
    ("Fri, 31 Dec 99999 23:59:59 GMT", None),
    ("Sunday, 06-Nov-94 08:49:37 GMT", Some(0)),
];

/// A header of printable characters.
fn drawn(random: &mut impl rand::Rng) -> String {
    let length = random.random_range(0..60);
    let digits = random.random_bool(0.5);
    let each = |_| {
        if digits {
            char::from(random.random_range(b'0'..=b'9'))
        } else {
            char::from(random.random_range(b' '..=b'~'))
        }
    };
    (0..length).map(each).collect()
}

/// The wait that each job was given after its first attempt, by key.
async fn waits(ledger: &Ledger) -> BTreeMap<String, Duration> {
    let wait = match ledger.kind() {
        DatabaseKind::Postgres => {
            "CAST(1000 * extract(epoch FROM e.available_at - e.at) AS bigint)"
        }
        DatabaseKind::Sqlite => "e.available_at - e.at",
    };
    let query = format!(
        "SELECT j.idempotency_key, CAST({wait} AS text) FROM job_events e \
         JOIN jobs j ON j.id = e.job_id WHERE e.event = 'retry'"
    );
    let rows = ledger.rows(&query).await.into_iter();
    rows.map(|row| {
        let [Some(key), Some(wait)] = row.as_slice() else {
            panic!("{row:?}");
        };
        let millis = wait.parse().expect("no wait is negative");
        (key.clone(), Duration::from_millis(millis))
    })
    .collect()
}

pub(crate) async fn hostile_headers_lead_to_waits_within_the_caps(ledger: &Ledger) {
    let mut random = random(&format!("S16 {}", kind(ledger)));
    let mut headers: Vec<String> = HEADERS.iter().map(|(text, _)| (*text).to_owned()).collect();
    headers.extend((0..size().pick(60, 2_000)).map(|_| drawn(&mut random)));
    let store = open(ledger).await;
    policy(store.as_ref(), "capped", |policy| {
        policy.max_attempts = 3;
        (policy.backoff_base, policy.backoff_cap) = (BACKOFF_CAP, BACKOFF_CAP);
        policy.retry_after_cap = RETRY_AFTER_CAP;
    })
    .await;
    let said = headers.clone();
    let server = Server::start(move |request| {
        let number: usize = request.key().parse().expect("a number");
        Reply::of(503, &format!("Retry-After: {}\r\n", said[number]), "")
    })
    .await;
    let new: Vec<NewJob> = (0..headers.len())
        .map(|number| NewJob {
            policy: "capped".to_owned(),
            ..job(&number.to_string())
        })
        .collect();
    let ids = enqueue(store.as_ref(), &new).await;
    let url = server.url();
    let arguments = ["--http", &url, "--allow-private", "--no-housekeeping"];
    let worker = Worker::start(&ledger.url().to_string(), "w1", &arguments);
    for id in ids {
        until_state(store.as_ref(), id, State::RetryWait).await;
    }
    let said = worker.stop().await;
    assert!(!said.contains("panicked"), "{said}");
    let waits = waits(ledger).await;
    assert_eq!(waits.len(), headers.len());
    for (number, header) in headers.iter().enumerate() {
        let wait = waits[&number.to_string()];
        assert!(wait <= RETRY_AFTER_CAP, "'{header}' led to {wait:?}");
        let Some((_, asked)) = HEADERS.get(number) else {
            continue;
        };
        let floor = Duration::from_secs(asked.unwrap_or_default());
        let backoff = floor.max(BACKOFF_CAP);
        assert!(
            wait >= floor && wait <= backoff,
            "'{header}' led to {wait:?}"
        );
    }
    verify(ledger).await;
    say(&format!(
        "S16 {}: {} headers, no wait longer than {:?}",
        kind(ledger),
        headers.len(),
        waits.values().max().expect("there are waits")
    ));
}

pub(crate) async fn a_wait_that_no_clock_holds_ends_in_the_age_budget(ledger: &Ledger) {
    let store = open(ledger).await;
    for delay in [
        Duration::MAX,
        Duration::from_secs(u64::MAX / 1_000),
        Duration::from_millis(u64::MAX),
        Duration::from_hours(24 * 365 * 300_000),
    ] {
        let id = enqueue(store.as_ref(), &[job(&Uuid::now_v7().to_string())]).await[0];
        let wish = wish("w1", Duration::from_secs(60), 1);
        let claimed = store
            .exchange("w1", &[], Some(&wish))
            .await
            .expect("claimed");
        let Verdict::Retry { failure, .. } = failed(false) else {
            panic!("a transient failure is retried");
        };
        let settled = [settlement(
            &claimed.claimed[0],
            Verdict::Retry { failure, delay },
        )];
        store.exchange("w1", &settled, None).await.expect("settled");
        until_state(store.as_ref(), id, State::Dead).await;
    }
    verify(ledger).await;
}

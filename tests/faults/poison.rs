//! S8: of a hundred jobs one kills its worker, one cannot be decoded and one never returns. Each of
//! these ends after exactly its budget, and the others hardly notice.
//!
//! Jobs come at an even pace, well below what the workers can do, so that the others' throughput is
//! what was done of what came. Next: `outage.rs`.

use std::time::Duration;

use ledgertop::ledger::job::NewJob;
use tokio::time::{Instant, sleep_until};
use uuid::Uuid;

use crate::answers::producer;
use crate::bench::{job, open, policy};
use crate::crew::Crew;
use crate::hangs::kind;
use crate::ledger::Ledger;
use crate::plan::{say, size};
use crate::process::verify;

/// Attempts of every job.
const BUDGET: u32 = 4;
/// How long a job that never returns may take.
const TIMEOUT: &str = "1s";
/// How late a job may be and still count as done in time.
const LATE: Duration = Duration::from_secs(3);

/// Each hundredth job kills its worker, the one behind it cannot be decoded, and the next never
/// returns.
fn key(number: usize) -> String {
    let what = match number % 100 {
        50 => "kills",
        51 => "undecodable",
        52 => "never_returns",
        _any_other => "good",
    };
    format!("{what}_{number}")
}

const COMMAND: &str = "sh -c 'case $LEDGERTOP_IDEMPOTENCY_KEY in \
                       kills*) kill -9 $PPID;; undecodable*) exit 65;; \
                       never*) exec sleep 1000;; esac; sleep 0.05'";

/// The states and attempts of all jobs whose key begins so, and how many have each.
async fn ends(ledger: &Ledger, what: &str) -> Vec<(String, usize)> {
    let query = format!(
        "SELECT state || ' after ' || CAST(attempt AS text), CAST(count(*) AS text) FROM jobs \
         WHERE idempotency_key LIKE '{what}%' GROUP BY 1 ORDER BY 1"
    );
    let rows = ledger.rows(&query).await.into_iter();
    rows.map(|row| {
        let [Some(end), Some(count)] = row.as_slice() else {
            panic!("{row:?}");
        };
        (end.clone(), count.parse().expect("a number"))
    })
    .collect()
}

async fn count(ledger: &Ledger, query: &str) -> usize {
    let query = format!("SELECT CAST(count(*) AS text) FROM jobs WHERE {query}");
    ledger.value(&query).await.parse().expect("a number")
}

pub(crate) async fn poison_ends_after_its_budget_and_others_hardly_notice(ledger: &Ledger) {
    let (jobs, workers, each) = size().pick(
        (400, 4, Duration::from_millis(25)),
        (4_000, 4, Duration::from_millis(25)),
    );
    let store = open(ledger).await;
    policy(store.as_ref(), "four", |policy| {
        policy.max_attempts = BUDGET;
    })
    .await;
    let arguments = |_| {
        let usual = ["--lease", "1s", "--timeout", TIMEOUT, "--concurrency", "5"];
        let usual = usual.map(str::to_owned).into_iter();
        usual
            .chain(["--exec", COMMAND].map(str::to_owned))
            .collect()
    };
    let crew = Crew::start(ledger, workers, arguments).await;
    let began = Instant::now();
    for number in 0..jobs {
        let new = NewJob {
            policy: "four".to_owned(),
            id: Uuid::now_v7(),
            ..job(&key(number))
        };
        store.enqueue(&[new], &producer()).await.expect("enqueued");
        sleep_until(began + each * u32::try_from(number).expect("few")).await;
    }
    let offered = count(ledger, "idempotency_key LIKE 'good%'").await;
    sleep_until(Instant::now() + LATE).await;
    let done = "idempotency_key LIKE 'good%' AND state = 'succeeded'";
    let in_time = count(ledger, done).await;
    while count(ledger, "state NOT IN ('succeeded', 'dead', 'quarantined')").await > 0 {
        let late = began.elapsed() > Duration::from_secs(240);
        assert!(!late, "{:?}", ends(ledger, "").await);
        sleep_until(Instant::now() + Duration::from_millis(100)).await;
    }
    let kills = crew.kills();
    crew.end().await;
    let rows = async |what| ends(ledger, what).await;
    say(&format!(
        "S8 {}: {jobs} jobs, {kills} kills; {in_time} of {offered} good ones done in time; \
         good {:?}, kills {:?}, undecodable {:?}, never returns {:?}",
        kind(ledger),
        rows("good").await,
        rows("kills").await,
        rows("undecodable").await,
        rows("never").await,
    ));
    let of_each = jobs / 100;
    let budget = format!("dead after {BUDGET}");
    assert_eq!(rows("kills").await, [(budget.clone(), of_each)]);
    assert_eq!(rows("never").await, [(budget, of_each)]);
    let first = "quarantined after 1".to_owned();
    let undecodable = rows("undecodable").await;
    // A worker that another job killed takes with it the attempts of what it held.
    let others = |end: &&(String, usize)| end.0 != first;
    let taken: usize = undecodable.iter().filter(others).map(|end| end.1).sum();
    assert!(taken < of_each, "{undecodable:?}");
    assert!(in_time * 10 >= offered * 9, "{in_time} of {offered}");
    verify(ledger).await;
}

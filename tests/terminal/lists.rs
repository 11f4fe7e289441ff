//! The lists over a real ledger: keys in, screen and database out, on both databases.

use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use ledgertop::ledger::error_class::ErrorClass;
use ledgertop::ledger::event::ActorKind;
use ledgertop::ledger::job::{
    Actor, Claimed, Failed, Lane, LeaseRef, NewJob, Operation, Outcome, Settlement, Verdict,
};
use ledgertop::store::{Act, ClaimRequest, LaneShare, LedgerUrl, Store};
use uuid::Uuid;

use crate::driver::{Driver, ledger, program};
use crate::postgres::PostgresDatabase;

/// A ledger to look at, on one of the databases.
pub(crate) struct Place {
    pub(crate) url: String,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) runtime: tokio::runtime::Runtime,
    /// What is removed at the end.
    _held: Held,
}

/// Keeps a database for as long as a test takes.
#[expect(dead_code, reason = "they are held to be dropped")]
enum Held {
    File(tempfile::TempDir),
    Server(PostgresDatabase),
}

pub(crate) const LEASE: Duration = Duration::from_mins(10);

impl Place {
    fn sqlite() -> Self {
        let place = tempfile::tempdir().unwrap();
        let url = ledger(place.path());
        Self::open(url, Held::File(place))
    }

    fn postgres() -> Self {
        let database = PostgresDatabase::create();
        let url = database.url().to_owned();
        let made = Command::new(program())
            .args(["--ledger", &url, "init"])
            .env_clear()
            .output()
            .unwrap();
        assert!(made.status.success());
        Self::open(url, Held::Server(database))
    }

    fn open(url: String, held: Held) -> Self {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let ledger: LedgerUrl = url.parse().unwrap();
        let store = runtime.block_on(ledger.store()).unwrap();
        Self {
            url,
            store,
            runtime,
            _held: held,
        }
    }

    /// Enqueues jobs `mail-FROM` to `mail-TO` in this queue.
    pub(crate) fn enqueue(&self, queue: &str, numbers: std::ops::Range<u32>) {
        let jobs: Vec<NewJob> = numbers
            .map(|number| {
                let key = format!("{queue}-{number}");
                NewJob::new(Uuid::now_v7(), queue, "send", &key)
            })
            .collect();
        let producer = Actor {
            kind: ActorKind::Producer,
            name: "test".to_owned(),
        };
        self.runtime
            .block_on(self.store.enqueue(&jobs, &producer))
            .unwrap();
    }

    pub(crate) fn claim(&self, queue: &str, limit: u32, lease: Duration) -> Vec<Claimed> {
        let lane = Lane {
            queue: queue.to_owned(),
            tenant: String::new(),
        };
        let request = ClaimRequest {
            worker: "render-1".to_owned(),
            lease,
            shares: vec![LaneShare { lane, limit }],
        };
        let exchange = self.store.exchange("render-1", &[], Some(&request));
        self.runtime.block_on(exchange).unwrap().claimed
    }

    /// Makes dead letters of `limit` jobs, each with this reason and a message of its own.
    pub(crate) fn reject(&self, queue: &str, limit: u32, reason: &str) -> Vec<Uuid> {
        let claimed = self.claim(queue, limit, LEASE);
        let settlements: Vec<Settlement> = claimed
            .iter()
            .map(|job| Settlement {
                lease: LeaseRef {
                    job: job.id,
                    fence: job.fence,
                },
                verdict: Verdict::Reject {
                    failure: Failed {
                        class: ErrorClass::Permanent,
                        reason: reason.to_owned(),
                        error: format!("field 'amount' of {} is missing", job.id),
                    },
                },
            })
            .collect();
        let exchange = self.store.exchange("render-1", &settlements, None);
        self.runtime.block_on(exchange).unwrap();
        claimed.into_iter().map(|job| job.id).collect()
    }

    pub(crate) fn discard(&self, job: Uuid) {
        let row = self.runtime.block_on(self.store.job(job)).unwrap().unwrap();
        let act = Act {
            operation: Operation::Discard,
            job,
            version: row.version,
            actor: "mara".to_owned(),
            note: "a test order".to_owned(),
        };
        let outcome = self.runtime.block_on(self.store.operate(&act)).unwrap();
        assert!(matches!(outcome, Outcome::Applied { .. }), "{outcome:?}");
    }

    pub(crate) fn console(&self) -> Driver {
        let console = Driver::start(&[program(), "--ledger", &self.url, "--refresh", "250ms"]);
        console.wait_for("LIVE");
        console
    }
}

pub(crate) fn on_both(journey: impl Fn(&Place)) {
    journey(&Place::sqlite());
    journey(&Place::postgres());
}

#[test]
fn jobs_are_listed_page_by_page_and_marks_and_selection_stay_with_their_jobs() {
    on_both(|place| {
        place.enqueue("mail", 0..260);
        let mut console = place.console();
        // From the queue: the longest in its state first.
        console.press("\r");
        console.wait_for("its jobs");
        console.press("\r");
        console.wait_for("Jobs · 260");
        console.wait_for("mail-0 ");
        console.press("jj ");
        console.wait_for("● 1 marked");
        // The end, by way of two more pages.
        console.press("G");
        console.wait_for("mail-105");
        console.press("G");
        console.wait_for("mail-205");
        console.press("G");
        console.wait_for("mail-259");
        console.wait_for("● 1 marked");
        console.press("g");
        console.wait_for("› ");
        console.wait_for("mail-0 ");
        console.wait_for("● 1 marked");
        // The first jobs are taken away beneath the mark.
        place.claim("mail", 2, LEASE);
        console.wait_for("running");
        console.press("2");
        console.wait_for("last created first");
        console.press("\x1b");
        console.wait_for("longest in their state first");
        console.wait_for("● 1 marked");
        console.press("\x03");
        assert_eq!(console.end().exit_code(), 0);
    });
}

#[test]
fn dead_letters_are_grouped_opened_and_left_by_one_level_each() {
    on_both(|place| {
        place.enqueue("billing", 0..12);
        let dead = place.reject("billing", 7, "schema_violation");
        place.reject("billing", 2, "not_found");
        let mut console = place.console();
        console.press("3");
        console.wait_for("Dead letters · 9 in 2 groups");
        console.wait_for("schema_violation");
        console.press("\r");
        console.wait_for("Jobs · 7");
        console.press("\x1b");
        console.wait_for("Dead letters · 9");
        // One is closed meanwhile: the count follows, and the audit says who did it.
        place.discard(dead[0]);
        console.wait_for("Dead letters · 8 in 2 groups");
        console.press("6");
        console.wait_for("a test order");
        console.wait_for("mara");
        console.press("\x1b");
        console.wait_for("Dead letters · 8");
        console.press("\x1b");
        console.wait_for("Queues");
        console.press("q");
        assert_eq!(console.end().exit_code(), 0);
    });
}

#[test]
fn leases_are_listed_with_expired_ones_first() {
    on_both(|place| {
        place.enqueue("mail", 0..5);
        place.claim("mail", 2, LEASE);
        place.claim("mail", 1, Duration::from_millis(1));
        let mut console = place.console();
        console.press("4");
        console.wait_for("Leases · 3");
        console.wait_for("1 expired");
        let screen = console.contents();
        let ended = screen.find("▲ ended").unwrap();
        assert!(ended < screen.find("9m").unwrap(), "{screen}");
        // A lease that is taken shows without anybody's asking.
        place.claim("mail", 2, LEASE);
        console.wait_for("Leases · 5");
        console.press("\x03");
        assert_eq!(console.end().exit_code(), 0);
    });
}

#[test]
fn a_filter_is_typed_completed_corrected_and_survives_a_detour() {
    on_both(|place| {
        place.enqueue("mail", 0..9);
        place.enqueue("billing", 0..4);
        place.reject("billing", 3, "schema_violation");
        let mut console = place.console();
        console.press("2");
        console.wait_for("Jobs · 13");
        console.press("/que\tbil");
        console.wait_for("filter queue:bil");
        console.press("\t");
        console.wait_for("Jobs · 4");
        console.press("state:quarantine");
        console.wait_for("^^^");
        // The last good filter holds while the text is bad.
        console.wait_for("Jobs · 4");
        console.press("d\r");
        console.wait_for("Jobs · 3");
        console.wait_until_gone("^^^");
        console.press("1");
        console.wait_for("Queues");
        console.press("2");
        console.wait_for("filter queue:billing state:quarantined");
        console.press("/");
        console.wait_for("enter accept");
        console.press("\x15reason:schema_violation !queue:mail \"amount\"\r");
        console.wait_for("Jobs · 3");
        console.press("\x1b");
        console.wait_for("Jobs · 13");
        console.press("\x03");
        assert_eq!(console.end().exit_code(), 0);
    });
}

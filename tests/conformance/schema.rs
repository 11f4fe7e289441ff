//! The schema: `init`, its refusals, and the rows that must equal the one table in Rust.
//!
//! Next: `laws.rs`, what the triggers refuse.

#![expect(clippy::expect_used, reason = "what a case does not find fails it")]

use std::collections::BTreeSet;

use ledgertop::ledger::transition::{AttemptStep, Failure, FenceStep, TABLE, UnsettledStep};
use ledgertop::store::migrate::{known_version, migrations, print_sql};
use ledgertop::store::{self, DatabaseKind, StoreError};

use crate::ledger::Ledger;
use crate::steps::{count_events, enqueue, job};

pub(crate) async fn init_makes_the_newest_schema_and_a_second_one_changes_nothing(ledger: &Ledger) {
    let known = known_version(ledger.kind());
    let again = store::init(ledger.url()).await.expect("a second init");
    assert_eq!((again.before, again.after), (known, known));
    assert!(again.applied.is_empty());
    let noted = ledger
        .value("SELECT CAST(count(*) AS text) FROM ledgertop_schema")
        .await;
    assert_eq!(noted, migrations(ledger.kind()).len().to_string());
}

pub(crate) async fn two_inits_at_once_take_turns(ledger: &Ledger) {
    // Take the ledger away first, so that both have something to make.
    let empty = match ledger.kind() {
        DatabaseKind::Postgres => "DROP SCHEMA public CASCADE; CREATE SCHEMA public;",
        DatabaseKind::Sqlite => return sqlite_inits_take_turns().await,
    };
    ledger.sql(empty).await.expect("the ledger is gone");
    inits_take_turns(ledger.url()).await;
}

async fn sqlite_inits_take_turns() {
    let database = crate::sqlite_database::SqliteDatabase::create();
    let url = store::LedgerUrl::parse(database.url()).expect("a ledger");
    inits_take_turns(&url).await;
}

async fn inits_take_turns(url: &store::LedgerUrl) {
    let inits: Vec<_> = (0..4)
        .map(|_| {
            let url = url.clone();
            tokio::spawn(async move { store::init(&url).await })
        })
        .collect();
    let mut worked = 0;
    for init in inits {
        let report = init
            .await
            .expect("it did not panic")
            .expect("it took its turn");
        worked += usize::from(!report.applied.is_empty());
    }
    assert_eq!(worked, 1, "one made the ledger, the others found it made");
}

pub(crate) async fn a_newer_schema_is_refused_and_left_alone(ledger: &Ledger) {
    let newer = known_version(ledger.kind()) + 1;
    let note = format!(
        "INSERT INTO ledgertop_schema (version, name, digest) VALUES ({newer}, 'later', 'its own')"
    );
    ledger.sql(&note).await.expect("a later program was here");

    let refused = store::init(ledger.url()).await.expect_err("init refuses");
    assert!(
        matches!(refused, StoreError::NewerSchema { found, .. } if found == newer),
        "{refused}"
    );
    let refused = ledger
        .url()
        .store()
        .await
        .map(drop)
        .expect_err("the store refuses");
    assert!(
        matches!(refused, StoreError::NewerSchema { .. }),
        "{refused}"
    );
    let refused = ledger.feed().base().await.expect_err("the feed refuses");
    assert!(
        matches!(refused, StoreError::NewerSchema { .. }),
        "{refused}"
    );
}

pub(crate) async fn a_schema_of_another_text_is_refused_and_left_alone(ledger: &Ledger) {
    let other = "UPDATE ledgertop_schema SET digest = 'of another text' WHERE version = 1";
    ledger.sql(other).await.expect("another text was run");
    is_refused_as_changed(ledger).await;
    // The very first versions noted no digest at all.
    let none = "ALTER TABLE ledgertop_schema DROP COLUMN digest";
    ledger.sql(none).await.expect("the column goes");
    is_refused_as_changed(ledger).await;
    let columns = ledger.value("SELECT name FROM ledgertop_schema WHERE version = 1");
    assert_eq!(columns.await, "ledger", "what was noted stands");
}

async fn is_refused_as_changed(ledger: &Ledger) {
    for refused in [
        store::init(ledger.url()).await.map(drop),
        ledger.url().store().await.map(drop),
        ledger.feed().base().await.map(drop),
        ledger.url().audit().outline().await.map(drop),
    ] {
        let error = refused.expect_err("it is refused");
        let changed = matches!(error, StoreError::ChangedSchema { .. });
        assert!(changed && !error.is_transient(), "{error}");
        let said = error.to_string();
        assert!(said.contains("nothing was changed"), "{said}");
    }
}

pub(crate) async fn a_database_without_a_ledger_says_how_to_make_one(ledger: &Ledger) {
    ledger
        .sql("DROP TABLE ledgertop_schema")
        .await
        .expect("it goes");
    for error in [
        ledger.url().store().await.map(drop).expect_err("no ledger"),
        ledger.feed().base().await.map(drop).expect_err("no ledger"),
    ] {
        assert!(matches!(error, StoreError::NotALedger { .. }), "{error}");
        assert!(error.to_string().contains("init"), "{error}");
    }
}

pub(crate) async fn a_ledger_without_plans_is_upgraded_with_its_jobs(ledger: &Ledger) {
    let older = match ledger.kind() {
        DatabaseKind::Postgres => "DROP SCHEMA public CASCADE; CREATE SCHEMA public;".to_owned(),
        DatabaseKind::Sqlite => {
            // The very file, emptied: triggers first, then what they are on.
            let names = ledger
                .rows(
                    "SELECT type || ' ' || name FROM sqlite_master WHERE name NOT LIKE 'sqlite_%' \
                     AND type IN ('trigger', 'view', 'table') \
                     ORDER BY type = 'table', name = 'plans'",
                )
                .await;
            let drops = names.into_iter().flatten().flatten();
            let drops: Vec<String> = drops.collect();
            format!("DROP {};", drops.join("; DROP "))
        }
    };
    ledger.sql(&older).await.expect("it runs");
    let all = print_sql(ledger.kind());
    let (first, _rest) = all
        .split_once("-- Plans: bulk operations")
        .expect("the second migration begins with its header");
    ledger.sql(first).await.expect("it runs");
    ledger
        .sql(
            "INSERT INTO jobs (idempotency_key, queue, kind, event, actor_kind, actor) \
             VALUES ('old', 'thumbnails', 'render', 'enqueue', 'producer', 'x')",
        )
        .await
        .expect("it runs");

    let refused = ledger.url().store().await.map(drop);
    assert!(
        matches!(refused, Err(StoreError::OlderSchema { .. })),
        "{refused:?}"
    );
    let report = store::init(ledger.url()).await.expect("the upgrade");
    assert_eq!(
        (report.before, report.after),
        (1, known_version(ledger.kind()))
    );
    enqueue(ledger, &[job("old"), job("new")]).await;
    assert_eq!(count_events(ledger, "duplicate").await, "1");
    assert!(
        ledger
            .store()
            .await
            .plans()
            .plans(10)
            .await
            .expect("plans")
            .is_empty()
    );
}

pub(crate) async fn the_transitions_table_is_the_table(ledger: &Ledger) {
    let stored: BTreeSet<String> = ledger
        .rows(
            "SELECT event || ' ' || from_state || ' ' || to_state || ' ' || actor_kind || ' ' || \
             CAST(fence_step AS text) || ' ' || attempt_step || ' ' || failure || ' ' || \
             CAST(unsettled_step AS text) FROM transitions",
        )
        .await
        .into_iter()
        .map(|row| row.concat_text())
        .collect();
    let mut expected = BTreeSet::new();
    for row in &TABLE {
        for actor in row.actors {
            let fence = match row.fence {
                FenceStep::Keep => 0,
                FenceStep::Next => 1,
            };
            let attempt = match row.attempt {
                AttemptStep::Keep => "keep",
                AttemptStep::Next => "next",
                AttemptStep::GiveBack => "give_back",
                AttemptStep::Reset => "reset",
            };
            let failure = match row.failure {
                Failure::Silent => "silent",
                Failure::Entered => "entered",
                Failure::Carried => "carried",
            };
            let unsettled = match row.unsettled {
                UnsettledStep::Keep => 0,
                UnsettledStep::Next => 1,
            };
            let from = row.from.map_or("", |from| from.name());
            expected.insert(format!(
                "{} {from} {} {actor} {fence} {attempt} {failure} {unsettled}",
                row.event, row.to
            ));
        }
    }
    assert_eq!(stored, expected);
}

trait ConcatText {
    fn concat_text(&self) -> String;
}

impl ConcatText for crate::ledger::TextRow {
    fn concat_text(&self) -> String {
        self.iter().flatten().cloned().collect()
    }
}

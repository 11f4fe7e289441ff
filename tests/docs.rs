//! What the documentation says of the ledger is what the code and the databases do: tables are
//! generated from the one table of transitions, and the SQL of the page runs as it stands there.
//!
//! `LEDGERTOP_WRITE_DOCS=1 cargo test --test docs` writes the generated parts anew.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a page that cannot be read or made fails the test"
)]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use sqlx::{AssertSqlSafe, Connection as _, PgConnection, Row as _, SqliteConnection};

use ledgertop::ledger::event::EventKind;
use ledgertop::ledger::state::State;
use ledgertop::ledger::transition::{AttemptStep, FenceStep, TABLE, Transition, UnsettledStep};

#[path = "support/postgres.rs"]
mod postgres;

const PAGE: &str = "docs/ledger.md";
const BEGIN: &str = "<!-- generated from src/ledger/transition.rs -->";
const END: &str = "<!-- end of the generated part -->";

fn read(page: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(page);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn effects(row: &Transition) -> String {
    let mut effects = Vec::new();
    if row.fence == FenceStep::Next {
        effects.push("fence + 1");
    }
    match row.attempt {
        AttemptStep::Keep => {}
        AttemptStep::Next => effects.push("attempt + 1"),
        AttemptStep::GiveBack => effects.push("attempt − 1"),
        AttemptStep::Reset => effects.push("attempt = 0, redrives + 1"),
    }
    if row.unsettled == UnsettledStep::Next {
        effects.push("unsettled + 1");
    }
    effects.join(", ")
}

/// The table of transitions as Markdown; moves that keep whatever state a job is in share a line.
fn transitions_table() -> String {
    let mut text = String::from("| event | from → to | who | besides |\n|---|---|---|---|\n");
    let mut same = BTreeMap::new();
    for row in &TABLE {
        let who: Vec<_> = row.actors.iter().map(|actor| actor.name()).collect();
        let from = row.from.map_or("–", State::name);
        let keeps_any_state = row.from == Some(row.to) && row.event != EventKind::Renew;
        if keeps_any_state {
            same.insert(row.event, who.join(", "));
            continue;
        }
        let besides = effects(row);
        writeln!(
            text,
            "| {} | {from} → {} | {} | {besides} |",
            row.event,
            row.to,
            who.join(", ")
        )
        .unwrap();
    }
    for (event, who) in same {
        writeln!(text, "| {event} | any → same | {who} | |").unwrap();
    }
    text
}

/// The same moves drawn as a diagram.
fn diagram() -> String {
    let mut edges: BTreeMap<(String, &str), Vec<&str>> = BTreeMap::new();
    for row in &TABLE {
        if row.from != Some(row.to) {
            let from = row
                .from
                .map_or("[*]".to_owned(), |from| from.name().to_owned());
            let events = edges.entry((from, row.to.name())).or_default();
            if !events.contains(&row.event.name()) {
                events.push(row.event.name());
            }
        }
    }
    let mut text = String::from("```mermaid\nstateDiagram-v2\n");
    for ((from, to), events) in edges {
        writeln!(text, "  {from} --> {to}: {}", events.join(", ")).unwrap();
    }
    for state in State::ALL.into_iter().filter(|state| state.is_terminal()) {
        writeln!(text, "  {state} --> [*]").unwrap();
    }
    text.push_str("```\n");
    text
}

#[test]
fn the_page_on_the_ledger_shows_the_one_table_of_transitions() {
    let generated = format!("{BEGIN}\n{}\n{}{END}", transitions_table(), diagram());
    let page = read(PAGE);
    let begin = page
        .find(BEGIN)
        .expect("the page marks where the generated part begins");
    let end = page
        .find(END)
        .expect("the page marks where the generated part ends")
        + END.len();
    if std::env::var_os("LEDGERTOP_WRITE_DOCS").is_some() {
        let written = format!("{}{generated}{}", &page[..begin], &page[end..]);
        std::fs::write(Path::new(env!("CARGO_MANIFEST_DIR")).join(PAGE), written).unwrap();
        return;
    }
    assert!(
        page[begin..end] == generated,
        "{PAGE} is not what the table says; write it anew with LEDGERTOP_WRITE_DOCS=1"
    );
}

/// The page with every block that follows `<!-- FILE -->` as the file has it.
fn with_files_shown(page: &str) -> (String, usize) {
    let mut parts = page.split("\n<!-- ");
    let mut shown = parts.next().unwrap_or_default().to_owned();
    let mut files = 0;
    for part in parts {
        shown.push_str("\n<!-- ");
        let file = part
            .split_once(" -->\n```")
            .filter(|(name, _)| !name.contains('\n'));
        let Some((name, (language, block))) =
            file.and_then(|(name, rest)| Some((name, rest.split_once('\n')?)))
        else {
            shown.push_str(part);
            continue;
        };
        let after = block
            .strip_prefix("```")
            .or(block.split_once("\n```").map(|(_, after)| after));
        let (text, after) = (read(name), after.unwrap_or_default());
        write!(shown, "{name} -->\n```{language}\n{text}```{after}").unwrap();
        files += 1;
    }
    (shown, files)
}

#[test]
fn pages_show_the_very_files_that_tests_run() {
    for (page, expected) in [(PAGE, 2), ("docs/work.md", 1)] {
        let text = read(page);
        let (shown, files) = with_files_shown(&text);
        assert_eq!(files, expected, "{page} shows its files");
        if std::env::var_os("LEDGERTOP_WRITE_DOCS").is_some() {
            std::fs::write(Path::new(env!("CARGO_MANIFEST_DIR")).join(page), shown).unwrap();
            continue;
        }
        assert!(
            shown == text,
            "{page} shows another text than the file; write it anew with LEDGERTOP_WRITE_DOCS=1"
        );
    }
}

/// All Rust text under a folder of the repository.
fn sources(folder: &Path, into: &mut String) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, into);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            into.push_str(&std::fs::read_to_string(&path).unwrap());
        }
    }
}

#[test]
fn every_promise_of_the_readme_names_a_test_that_there_is() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut code = String::new();
    sources(&root.join("src"), &mut code);
    sources(&root.join("tests"), &mut code);
    let readme = read("README.md");
    let promises = readme.split("| promise | test |").nth(1).unwrap();
    let promises = promises.split("\n\n").next().unwrap();
    let named = promises.split('`').skip(1).step_by(2);
    let tests: Vec<_> = named.filter(|name| name.matches('_').count() > 2).collect();
    assert!(tests.len() > 10, "{tests:?}");
    for test in tests {
        assert!(
            code.contains(&format!("fn {test}(")),
            "there is no test '{test}'"
        );
    }
}

/// The SQL of the page for one database, in order; the producer acts twice, as the page says.
fn statements(database: &str) -> Vec<String> {
    let page = read(PAGE);
    let marker = format!("-- {database}:");
    let mut found: Vec<String> = page
        .split("```sql\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next())
        .filter(|block| block.starts_with(&marker))
        .map(str::to_owned)
        .collect();
    assert_eq!(found.len(), 7, "statements for {database}");
    found.insert(1, found[0].clone());
    found
}

/// What the page's statements must leave behind, in order: event, state after, actor, fence.
const STORY: [(&str, &str, &str, i64); 8] = [
    ("enqueue", "ready", "shop", 0),
    ("duplicate", "ready", "shop", 0),
    ("claim", "running", "worker-1", 1),
    ("renew", "running", "worker-1", 1),
    ("retry", "retry_wait", "worker-1", 1),
    ("promote", "ready", "ann", 1),
    ("claim", "running", "worker-2", 2),
    ("succeed", "succeeded", "worker-2", 2),
];

const TRAIL: &str =
    "SELECT event, to_state, actor, CAST(fence AS bigint) FROM job_events ORDER BY version";

fn assert_story(trail: &[(String, String, String, i64)]) {
    let trail: Vec<_> = trail
        .iter()
        .map(|(event, state, actor, fence)| (&**event, &**state, &**actor, *fence))
        .collect();
    assert_eq!(trail, STORY);
}

#[tokio::test]
async fn the_page_s_sql_for_postgres_runs_as_it_stands() {
    let database = postgres::PostgresDatabase::create();
    let mut connection = PgConnection::connect(database.url()).await.unwrap();
    let schema = read("assets/migrations/postgres/0001_ledger.sql");
    sqlx::raw_sql(AssertSqlSafe(schema))
        .execute(&mut connection)
        .await
        .unwrap();
    for statement in statements("postgres") {
        let done = sqlx::raw_sql(AssertSqlSafe(statement.clone()))
            .execute(&mut connection)
            .await;
        assert_eq!(done.unwrap().rows_affected(), 1, "{statement}");
    }
    let rows = sqlx::query(TRAIL).fetch_all(&mut connection).await.unwrap();
    let trail: Vec<_> = rows
        .iter()
        .map(|row| (row.get(0), row.get(1), row.get(2), row.get(3)))
        .collect();
    assert_story(&trail);
}

#[tokio::test]
async fn the_page_s_sql_for_sqlite_runs_as_it_stands() {
    let mut connection = SqliteConnection::connect("sqlite::memory:").await.unwrap();
    let schema = read("assets/migrations/sqlite/0001_ledger.sql");
    sqlx::raw_sql(AssertSqlSafe(schema))
        .execute(&mut connection)
        .await
        .unwrap();
    for statement in statements("sqlite") {
        let done = sqlx::raw_sql(AssertSqlSafe(statement.clone()))
            .execute(&mut connection)
            .await;
        assert_eq!(done.unwrap().rows_affected(), 1, "{statement}");
    }
    let rows = sqlx::query(TRAIL).fetch_all(&mut connection).await.unwrap();
    let trail: Vec<_> = rows
        .iter()
        .map(|row| (row.get(0), row.get(1), row.get(2), row.get(3)))
        .collect();
    assert_story(&trail);
}

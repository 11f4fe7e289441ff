//! Looking things up in a large ledger: the first page of lists, groups of dead letters, leases,
//! one job's story, as the console and the command line ask for them.
//!
//! Every call is timed whole, from the caller's side, over one connection. Next: `work.rs`.

use std::time::Instant;

use anyhow::{Context as _, Result};
use ledgertop::ledger::query::{Query, parse};
use ledgertop::ledger::time::Timestamp;
use ledgertop::ledger::view::{JobName, JobOrder};
use ledgertop::store::Look;
use ledgertop::store::url::DatabaseKind;

use crate::options::Options;
use crate::place::{Place, name};
use crate::report::Row;
use crate::sample::{Sample, ms};
use crate::{say, seed};

/// What the first page of a list may take.
const FIRST_PAGE_MS: f64 = 300.0;
/// Rows of a page.
const PAGE: u32 = 100;
/// How often each call is timed; the first is not.
const TIMES: usize = 15;

/// Lists, and whether an index leads to them: only those have a budget.
const LISTS: [(&str, JobOrder, bool); 9] = [
    ("", JobOrder::CreatedLast, true),
    ("state:ready queue:queue_07", JobOrder::OldestFirst, true),
    ("state:dead queue:queue_01", JobOrder::OldestFirst, true),
    ("key:bench:7777", JobOrder::OldestFirst, true),
    ("key:bench:7777*", JobOrder::OldestFirst, true),
    ("state:dead reason:timeout", JobOrder::NewestFirst, true),
    (
        "state:quarantined class:permanent age>1h",
        JobOrder::OldestFirst,
        true,
    ),
    (
        "state:dead \"host 10.0.0.17 \"",
        JobOrder::OldestFirst,
        true,
    ),
    ("tenant:nobody", JobOrder::CreatedLast, false),
];

/// Times every look-up on a ledger of the large size.
pub(crate) async fn measure(kind: DatabaseKind, options: &Options) -> Result<Vec<Row>> {
    let jobs = options.large();
    let size = if jobs >= 1_000_000 {
        format!("{}M", jobs / 1_000_000)
    } else {
        format!("{}k", jobs / 1_000)
    };
    let title = format!("{} {size}", name(kind));
    say(&format!("look-ups, {title}: seeding"));
    let place = Place::create(kind).await?;
    seed::seed(&place, jobs).await?;
    let mut raw = place.raw().await?;
    let started = Instant::now();
    raw.number("SELECT count(*) FROM jobs").await?;
    let recount = ms(started.elapsed());
    let mut look = place.ledger(None)?.look();
    let times = if options.quick { 3 } else { TIMES };
    let mut rows = Vec::new();
    for (text, order, is_indexed) in LISTS {
        let query = query(text)?;
        let mut sample = Sample::default();
        for _each in 0..=times {
            let started = Instant::now();
            look.jobs(&query, order, None, PAGE).await?;
            sample.push(started.elapsed());
        }
        let what = format!("{title}: first page of '{text}', p95");
        let row = Row::new("look", what, sample.ms(95), "ms").beside("count of all", recount);
        rows.push(if is_indexed {
            row.at_most(FIRST_PAGE_MS)
        } else {
            row
        });
    }
    rows.extend(others(&mut *look, &title, times, recount).await?);
    Ok(rows)
}

async fn others(look: &mut dyn Look, title: &str, times: usize, recount: f64) -> Result<Vec<Row>> {
    let all = Query::default();
    let story = JobName::Key("bench:7777".to_owned());
    let mut samples: [Sample; 4] = Default::default();
    for _each in 0..=times {
        let [letters, leases, acts, one] = &mut samples;
        let started = Instant::now();
        look.dead_letters(&all).await?;
        letters.push(started.elapsed());
        let started = Instant::now();
        look.leases(&all, None, PAGE).await?;
        leases.push(started.elapsed());
        let started = Instant::now();
        look.audit(None, PAGE).await?;
        acts.push(started.elapsed());
        let started = Instant::now();
        look.story(&story).await?.context("the job of the story")?;
        one.push(started.elapsed());
    }
    let names = [
        "all dead letters, grouped",
        "first page of leases",
        "first page of operator acts",
        "one job's story",
    ];
    let rows = samples.iter().zip(names).map(|(sample, what)| {
        Row::new("look", format!("{title}: {what}, p95"), sample.ms(95), "ms")
            .at_most(FIRST_PAGE_MS)
            .beside("count of all", recount)
    });
    Ok(rows.collect())
}

fn query(text: &str) -> Result<Query> {
    parse(text, Timestamp::default(), &chrono::Utc).with_context(|| text.to_owned())
}

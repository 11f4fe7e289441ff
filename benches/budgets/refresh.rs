//! A refresh of the board over a small and over a large ledger, under the same traffic, beside the
//! plain recount of the same tables. The promise under test: the cost follows what changed, not
//! what is stored.
//!
//! Every run ends with a check that the board equals the recount; a wrong board has no figures.

use std::collections::BTreeMap;
use std::time::Instant;

use anyhow::{Result, ensure};
use ledgertop::board::summary::{Depth, Summary};
use ledgertop::board::{Board, Judge, Limits};
use ledgertop::ledger::num;
use ledgertop::store::Feed;
use ledgertop::store::url::{DatabaseKind, LedgerUrl};

use crate::load::Loads;
use crate::options::{Options, SMALL};
use crate::place::{self, Place};
use crate::report::Row;
use crate::sample::Sample;
use crate::seed::seed;
use crate::server::{Account, Rights, Usage};
use crate::traffic::{BUSY, Traffic};

const GROUP: &str = "BOARD";
/// What someone would run who has no board.
const RECOUNT: &str =
    "SELECT queue, state, count(*), min(state_since) FROM jobs GROUP BY queue, state";

/// What was measured over one ledger.
struct Measured {
    kind: DatabaseKind,
    jobs: u64,
    loads: Loads,
    refresh: Refresh,
    recount: Recount,
}

#[derive(Default)]
struct Refresh {
    times: u64,
    whole: Sample,
    read: Sample,
    fold: Sample,
    summary: Sample,
    /// All refreshes together, where there is a server.
    usage: Option<Usage>,
}

struct Recount {
    whole: Sample,
    /// One recount, where there is a server.
    usage: Option<Usage>,
}

/// Measures both sizes on one database.
pub(crate) async fn measure(kind: DatabaseKind, options: &Options) -> Result<Vec<Row>> {
    let small = one(kind, SMALL, options.quick).await?;
    let large = one(kind, options.large(), options.quick).await?;
    let mut rows = Vec::new();
    rows.extend(load_rows(&small));
    rows.extend(load_rows(&large));
    rows.extend(refresh_rows(&small));
    rows.extend(refresh_rows(&large));
    rows.extend(growth_rows(&small, &large));
    Ok(rows)
}

async fn one(kind: DatabaseKind, jobs: u64, quick: bool) -> Result<Measured> {
    crate::say(&format!("{}: a ledger of {jobs} jobs", place::name(kind)));
    let place = Place::create(kind).await?;
    seed(&place, jobs).await?;
    let mut console = Account::open(&place, Rights::Read).await?;
    let user = console.as_ref().map(|account| account.user().to_owned());
    let url = place.url(user.as_deref());
    crate::say("  base load");
    let loads = Loads::measure(&url, if quick { 1 } else { 3 })?;
    crate::say("  refreshes");
    let rounds = if quick { 20 } else { 60 };
    let refresh = refreshes(&place, &LedgerUrl::parse(&url)?, rounds, console.as_mut()).await?;
    crate::say("  recounts");
    let recount = recounts(&place, console.as_mut()).await?;
    Ok(Measured {
        kind,
        jobs,
        loads,
        refresh,
        recount,
    })
}

async fn refreshes(
    place: &Place,
    url: &LedgerUrl,
    rounds: u64,
    mut console: Option<&mut Account>,
) -> Result<Refresh> {
    let mut traffic = Traffic::open(&place.ledger(None)?, BUSY).await?;
    let mut feed = url.feed();
    let mut board = Board::load(&feed.base().await?);
    let mut judge = Judge::new(Limits::default());
    // The first reading prepares statements; those after it are what a console does all day.
    traffic.round().await?;
    refresh(&mut *feed, &mut board, &mut judge, &mut Refresh::default()).await?;
    if let Some(account) = console.as_deref_mut() {
        account.reset().await?;
    }
    let mut measured = Refresh::default();
    let mut last = None;
    for _ in 0..rounds {
        traffic.round().await?;
        let (events, summary) = refresh(&mut *feed, &mut board, &mut judge, &mut measured).await?;
        let changes = u64::from(BUSY.changes());
        ensure!(events == changes, "{events} events of {changes} changes");
        last = Some(summary);
    }
    if let Some(account) = console {
        measured.usage = Some(account.usage().await?);
    }
    ensure!(board.mismatches() == 0, "the board does not add up");
    if let Some(summary) = last {
        equals_recount(place, &summary).await?;
    }
    Ok(measured)
}

async fn refresh(
    feed: &mut dyn Feed,
    board: &mut Board,
    judge: &mut Judge,
    measured: &mut Refresh,
) -> Result<(u64, Summary)> {
    let mut events = 0;
    let mut as_of;
    let started = Instant::now();
    loop {
        let reading = Instant::now();
        let batch = feed.next().await?;
        measured.read.push(reading.elapsed());
        measured
            .fold
            .time(|| batch.events.iter().for_each(|event| board.apply(event)));
        events += num::count(batch.events.len());
        as_of = batch.as_of;
        if !batch.more {
            break;
        }
    }
    let summary = measured.summary.time(|| board.summary(as_of, judge));
    measured.whole.push(started.elapsed());
    measured.times += 1;
    Ok((events, summary))
}

/// That the board says of each queue and state what the table says.
async fn equals_recount(place: &Place, summary: &Summary) -> Result<()> {
    let mut raw = place.raw().await?;
    let counted: BTreeMap<String, String> = raw
        .pairs(
            "SELECT queue || ' ' || state, CAST(count(*) AS text) FROM jobs \
             WHERE state NOT IN ('succeeded', 'discarded') GROUP BY queue, state",
        )
        .await?
        .into_iter()
        .collect();
    let mut shown = BTreeMap::new();
    for queue in &summary.queues {
        for (state, count) in by_state(&queue.depth) {
            if count > 0 {
                shown.insert(format!("{} {state}", queue.queue), count.to_string());
            }
        }
    }
    ensure!(shown == counted, "the board is not what a recount says");
    Ok(())
}

const fn by_state(depth: &Depth) -> [(&'static str, u64); 6] {
    [
        ("pending", depth.pending),
        ("ready", depth.ready),
        ("running", depth.running),
        ("retry_wait", depth.retry_wait),
        ("dead", depth.dead),
        ("quarantined", depth.quarantined),
    ]
}

async fn recounts(place: &Place, console: Option<&mut Account>) -> Result<Recount> {
    let mut whole = Sample::default();
    let times = 5;
    let Some(account) = console else {
        let mut raw = place.raw().await?;
        for _ in 0..times {
            let started = Instant::now();
            raw.rows(RECOUNT).await?;
            whole.push(started.elapsed());
        }
        return Ok(Recount { whole, usage: None });
    };
    let mut raw = place.raw_as(account.user()).await?;
    account.reset().await?;
    for _ in 0..times {
        let started = Instant::now();
        raw.rows(RECOUNT).await?;
        whole.push(started.elapsed());
    }
    let usage = account.usage().await?;
    Ok(Recount {
        whole,
        usage: Some(usage.each(times)),
    })
}

fn load_rows(measured: &Measured) -> Vec<Row> {
    let name = format!("{} {}", place::name(measured.kind), size(measured.jobs));
    let loads = &measured.loads;
    let mut rows = vec![
        Row::new(
            GROUP,
            format!("{name}: base load, {} groups", loads.cells()),
            loads.ms(),
            "ms",
        )
        .beside("one recount", measured.recount.whole.ms(50)),
    ];
    if let Some([board, process, peak]) = loads.mib() {
        let held = format!("{name}: resident memory of the board");
        rows.push(Row::new(GROUP, held, board, "MiB").beside("whole process", process));
        let most = format!("{name}: most memory while it loads");
        rows.push(Row::new(GROUP, most, peak, "MiB").beside("whole process after", process));
    }
    rows
}

fn refresh_rows(measured: &Measured) -> Vec<Row> {
    let name = format!("{} {}", place::name(measured.kind), size(measured.jobs));
    let (refresh, recount) = (&measured.refresh, &measured.recount);
    let changes = BUSY.changes();
    let mut rows = vec![
        Row::new(
            GROUP,
            format!("{name}: refresh of {changes} changes, p50"),
            refresh.whole.ms(50),
            "ms",
        )
        .at_most(10.0)
        .beside("recount", recount.whole.ms(50)),
        Row::new(
            GROUP,
            format!("{name}: refresh of {changes} changes, p95"),
            refresh.whole.ms(95),
            "ms",
        )
        .beside("recount", recount.whole.ms(95)),
    ];
    let parts = [
        ("reading", &refresh.read),
        ("folding", &refresh.fold),
        ("summing up", &refresh.summary),
    ];
    for (part, sample) in parts {
        let what = format!("{name}:   of that {part}, p50");
        rows.push(
            Row::new(GROUP, what, sample.ms(50), "ms").beside("refresh", refresh.whole.ms(50)),
        );
    }
    if let (Some(all), Some(plain)) = (refresh.usage, recount.usage) {
        let each = all.each(refresh.times);
        rows.extend([
            Row::new(GROUP, format!("{name}: server time"), each.server_ms, "ms")
                .at_most(10.0)
                .beside("recount", plain.server_ms),
            Row::new(GROUP, format!("{name}: buffers"), each.buffers, "pages")
                .at_most(1_000.0)
                .beside("recount", plain.buffers),
            Row::new(
                GROUP,
                format!("{name}: statements"),
                each.statements,
                "a refresh",
            ),
        ]);
    }
    rows
}

/// The large ledger over the small one: the database's part of a refresh, which is what the budget
/// is about, and all of it; beside the recount.
fn growth_rows(small: &Measured, large: &Measured) -> Vec<Row> {
    let name = place::name(large.kind);
    let sizes = format!("{} over {}", size(large.jobs), size(small.jobs));
    let grown = |of: fn(&Measured) -> f64| of(large) / of(small);
    let recount = grown(|measured| measured.recount.whole.ms(50));
    let row = |what: &str, growth| {
        Row::new(GROUP, format!("{name}: {what}, {sizes}"), growth, "x").beside("recount", recount)
    };
    let database = match (large.refresh.usage, small.refresh.usage) {
        (Some(usage), Some(base)) => {
            let of = |usage: Usage, times| usage.each(times).server_ms;
            let growth = of(usage, large.refresh.times) / of(base, small.refresh.times);
            row("server time", growth)
        }
        (Some(_), None) | (None, _) => row(
            "reading, p50",
            grown(|measured| measured.refresh.read.ms(50)),
        ),
    };
    vec![
        database.at_most(1.2),
        row(
            "refresh, p50",
            grown(|measured| measured.refresh.whole.ms(50)),
        ),
    ]
}

fn size(jobs: u64) -> String {
    if jobs.is_multiple_of(1_000_000) {
        format!("{}M", jobs / 1_000_000)
    } else {
        format!("{}k", jobs / 1_000)
    }
}

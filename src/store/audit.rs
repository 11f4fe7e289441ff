//! Reading a whole ledger, page by page, for whoever judges it.
//!
//! Each page is read at one instant and is small, so that no snapshot of a busy database is held
//! for long, and a change that is made meanwhile is in a page as a whole or not at all. A job whose
//! events do not fit is carried on to the next page: events never change, and its row is read
//! beside the last of them. This file owns how a page is cut and which rows and events belong
//! together; `sqlite` and `postgres` read them; `row` understands the columns. Next: `row`.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::future::Future;

use async_trait::async_trait;

use super::StoreError;
use super::row::corrupt;
use crate::ledger::audit::{
    Chapter, CurrentRow, Ending, Entry, Outline, Page, Rules, Twins, Unreadable,
};
use crate::ledger::num;
use crate::ledger::text::SafeText;

pub(super) mod row;

/// The most events, and the most rows, of one page: a few megabytes, and far less than a second.
pub(super) const PAGE_MAX: usize = 5_000;

/// The most keys that are named, of those that more than one job has.
pub(super) const TWINS_MAX: i64 = 1_000;

/// A reading of a whole ledger through a connection that cannot write.
#[async_trait]
pub trait Audit: Send {
    /// Connects, looks at the schema, and begins anew.
    ///
    /// # Errors
    /// Where the ledger cannot be reached, is not a ledger, or its schema is older or newer than
    /// this program's.
    async fn outline(&mut self) -> Result<Outline, StoreError>;

    /// The next page; `None` after the last.
    ///
    /// # Errors
    /// Where the ledger cannot be read; the same page may be asked for again.
    async fn page(&mut self) -> Result<Option<Page>, StoreError>;

    /// Keys that more than one job has, at most a thousand. Where the database itself keeps keys
    /// unique there are none, and nothing is read.
    ///
    /// # Errors
    /// Where the ledger cannot be read.
    async fn twins(&mut self) -> Result<Vec<Twins>, StoreError>;
}

/// What one database reads. Each call is one short transaction, and leaves no connection in use
/// when it fails or is dropped.
pub(super) trait Source: Send {
    /// A job's id, in the order in which the database compares them.
    type Job: Ord + Clone + Display + Send;

    /// What is known before the first page.
    fn outline(&mut self) -> impl Future<Output = Result<Known, StoreError>> + Send;

    /// Events after the cursor, the rows beside them and the rules, all of one instant.
    fn read(
        &mut self,
        from: &Cursor<Self::Job>,
    ) -> impl Future<Output = Result<(Reading<Self::Job>, Rules), StoreError>> + Send;

    /// Looks for keys that more than one job has.
    fn twins(&mut self) -> impl Future<Output = Result<Vec<Twins>, StoreError>> + Send;
}

/// What a database says before the first page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Known {
    pub(super) outline: Outline,
    /// Whether a unique index keeps keys apart.
    pub(super) keyed: bool,
}

/// A reading of a whole ledger from one database.
#[derive(Debug)]
pub(super) struct Pages<S: Source> {
    source: S,
    known: Known,
    /// Where to go on; `None` after the last page.
    cursor: Option<Cursor<S::Job>>,
}

impl<S: Source> Pages<S> {
    pub(super) fn new(source: S) -> Self {
        Self {
            source,
            known: Known::default(),
            cursor: Some(Cursor::Begin),
        }
    }
}

#[async_trait]
impl<S: Source> Audit for Pages<S> {
    async fn outline(&mut self) -> Result<Outline, StoreError> {
        self.known = self.source.outline().await?;
        self.cursor = Some(Cursor::Begin);
        Ok(self.known.outline)
    }

    async fn page(&mut self) -> Result<Option<Page>, StoreError> {
        let Some(from) = self.cursor.clone() else {
            return Ok(None);
        };
        let (reading, rules) = self.source.read(&from).await?;
        let (page, next) = gather(&from, reading, rules, self.known.outline.last_event);
        if let Some(next) = &next
            && !next.is_beyond(&from)
        {
            return Err(stuck(next));
        }
        self.cursor = next;
        Ok(Some(page))
    }

    async fn twins(&mut self) -> Result<Vec<Twins>, StoreError> {
        if self.known.keyed {
            return Ok(Vec::new());
        }
        self.source.twins().await
    }
}

/// Up to where a ledger was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Cursor<K> {
    /// Nothing yet.
    Begin,
    /// All before this job, and its events up to this one.
    Within(K, i64),
    /// This job and all before it.
    After(K),
}

impl<K: Ord> Cursor<K> {
    /// Whether the log was read further than `other` says.
    fn is_beyond(&self, other: &Self) -> bool {
        self.place() > other.place()
    }

    fn place(&self) -> Option<(&K, i64)> {
        match self {
            Self::Begin => None,
            Self::Within(job, version) => Some((job, *version)),
            Self::After(job) => Some((job, i64::MAX)),
        }
    }
}

/// An id that does not come back as it was stored, so that the reading would never end.
fn stuck<K: Display>(cursor: &Cursor<K>) -> StoreError {
    let job = match cursor {
        Cursor::Begin => String::new(),
        Cursor::Within(job, _) | Cursor::After(job) => job.to_string(),
    };
    corrupt(&job, "job_id", &job)
}

/// An event as it was read.
#[derive(Debug)]
pub(super) struct ReadEvent<K> {
    pub(super) job: K,
    pub(super) version: i64,
    /// Its number in the ledger, where there is one.
    pub(super) number: Option<u64>,
    pub(super) entry: Result<Entry, Unreadable>,
}

/// Events after a cursor and the rows beside them, read at one instant, each in the order of their
/// jobs and at most `limit`.
#[derive(Debug)]
pub(super) struct Reading<K> {
    pub(super) events: Vec<ReadEvent<K>>,
    /// From the cursor's job to the last event's, or to the last row where the events ended.
    pub(super) rows: Vec<(K, Result<CurrentRow, Unreadable>)>,
    pub(super) limit: usize,
}

impl<K: Ord + Clone> Reading<K> {
    /// The job up to which rows are to be read beside these events; `None` for all that follow.
    pub(super) fn last_job(events: &[ReadEvent<K>], limit: usize) -> Option<K> {
        let last = events.last().filter(|_last| events.len() >= limit);
        last.map(|last| last.job.clone())
    }

    /// Up to where this reading is complete; `None` where it reached the end.
    fn reaches(&self) -> Option<Cursor<K>> {
        let event = self
            .events
            .last()
            .filter(|_last| self.events.len() >= self.limit)
            .map(|last| (last.job.clone(), last.version));
        let row = self
            .rows
            .last()
            .filter(|_last| self.rows.len() >= self.limit)
            .map(|(job, _row)| job.clone());
        match (row, event) {
            (None, None) => None,
            (Some(row), None) => Some(Cursor::After(row)),
            (Some(row), Some((job, _version))) if row < job => Some(Cursor::After(row)),
            (_, Some((job, version))) => Some(Cursor::Within(job, version)),
        }
    }
}

/// What is read of one job.
struct Gathered {
    entries: Vec<Result<Entry, Unreadable>>,
    row: Option<Result<CurrentRow, Unreadable>>,
}

impl Gathered {
    const fn new() -> Self {
        Self {
            entries: Vec::new(),
            row: None,
        }
    }

    fn into_chapter(self, job: &impl Display, is_open: bool) -> Chapter {
        let ending = match self.row {
            _ if is_open => Ending::Open,
            Some(Ok(row)) => Ending::Row(Box::new(row)),
            Some(Err(unreadable)) => Ending::Unreadable(unreadable),
            None => Ending::Missing,
        };
        Chapter {
            job: SafeText::new(&job.to_string()),
            entries: self.entries,
            ending,
        }
    }
}

/// Puts rows and events together, and says where to go on; `None` after the last page.
fn gather<K: Ord + Clone + Display>(
    from: &Cursor<K>,
    reading: Reading<K>,
    rules: Rules,
    last_number: Option<u64>,
) -> (Page, Option<Cursor<K>>) {
    let next = reading.reaches();
    let mut jobs: BTreeMap<K, Gathered> = BTreeMap::new();
    if let Cursor::Within(job, _version) = from {
        // Its last event may have been the last of the page before.
        jobs.insert(job.clone(), Gathered::new());
    }
    let mut numbered = 0_u64;
    for event in reading.events {
        if is_beyond(&event.job, next.as_ref()) {
            break;
        }
        if event.number <= last_number && event.number.is_some() {
            numbered = numbered.saturating_add(1);
        }
        let gathered = jobs.entry(event.job).or_insert_with(Gathered::new);
        gathered.entries.push(event.entry);
    }
    for (job, row) in reading.rows {
        if *from == Cursor::After(job.clone()) || is_beyond(&job, next.as_ref()) {
            continue;
        }
        jobs.entry(job).or_insert_with(Gathered::new).row = Some(row);
    }
    let chapters = jobs
        .into_iter()
        .map(|(job, gathered)| {
            let is_open = matches!(&next, Some(Cursor::Within(open, _version)) if *open == job);
            gathered.into_chapter(&job, is_open)
        })
        .collect();
    let page = Page {
        rules,
        chapters,
        numbered,
    };
    (page, next)
}

/// Jobs that share a key, as they are shown.
pub(super) fn shown_twins(key: &str, jobs: i64, first: &str, last: &str) -> Twins {
    Twins {
        idempotency_key: SafeText::new(key),
        jobs: num::unsigned(jobs),
        first: SafeText::new(first),
        last: SafeText::new(last),
    }
}

/// Whether a job comes after what the reading is complete for.
fn is_beyond<K: Ord>(job: &K, next: Option<&Cursor<K>>) -> bool {
    match next {
        None | Some(Cursor::Begin) => false,
        Some(Cursor::After(last) | Cursor::Within(last, _)) => job > last,
    }
}

#[cfg(test)]
#[path = "audit/tests.rs"]
mod tests;

//! However a ledger is cut into pages, each event comes once and each row beside its last event.

use proptest::prelude::*;

use super::*;
use crate::ledger::audit::Unreadable;

/// A ledger as a database keeps it: events by job and version, rows by job. What cannot be
/// understood serves as well as what can, and says what it is.
#[derive(Debug, Clone, Default)]
struct Kept {
    events: Vec<(u8, i64)>,
    rows: Vec<u8>,
    limit: usize,
}

fn mark(version: Option<i64>, job: u8) -> Unreadable {
    Unreadable {
        version,
        column: "job",
        value: SafeText::new(&job.to_string()),
    }
}

impl Source for Kept {
    type Job = u8;

    async fn outline(&mut self) -> Result<Known, StoreError> {
        Ok(Known::default())
    }

    async fn read(&mut self, from: &Cursor<u8>) -> Result<(Reading<u8>, Rules), StoreError> {
        let (job, version) = match from {
            Cursor::Begin => (0, i64::MIN),
            Cursor::Within(job, version) => (*job, *version),
            Cursor::After(job) => (*job, i64::MAX),
        };
        let events: Vec<ReadEvent<u8>> = self
            .events
            .iter()
            .filter(|event| **event > (job, version))
            .take(self.limit)
            .map(|(job, version)| ReadEvent {
                job: *job,
                version: *version,
                number: None,
                entry: Err(mark(Some(*version), *job)),
            })
            .collect();
        let last = Reading::last_job(&events, self.limit).unwrap_or(u8::MAX);
        let rows = self
            .rows
            .iter()
            .filter(|row| (job..=last).contains(row))
            .take(self.limit)
            .map(|job| (*job, Err(mark(None, *job))))
            .collect();
        let reading = Reading {
            events,
            rows,
            limit: self.limit,
        };
        Ok((reading, Rules::default()))
    }

    async fn twins(&mut self) -> Result<Vec<Twins>, StoreError> {
        Ok(Vec::new())
    }
}

/// Every job with its versions and whether it has a row, as the pages deliver them.
async fn delivered(kept: &Kept) -> Vec<(String, Vec<i64>, bool)> {
    let mut pages = Pages::new(kept.clone());
    let mut jobs: Vec<(String, Vec<i64>, bool)> = Vec::new();
    let mut open = false;
    while let Some(page) = pages.page().await.unwrap() {
        assert!(page.chapters.len() <= 2 * kept.limit + 1);
        for chapter in page.chapters {
            let name = chapter.job.to_string();
            let versions = chapter
                .entries
                .iter()
                .map(|entry| entry.as_ref().unwrap_err().version.unwrap());
            let versions: Vec<i64> = versions.collect();
            let has_row = matches!(chapter.ending, Ending::Unreadable(_));
            match jobs.last_mut().filter(|_last| open) {
                Some(last) => {
                    assert_eq!(last.0, name, "a job that was open is carried on first");
                    last.1.extend(versions);
                    last.2 = has_row;
                }
                None => jobs.push((name, versions, has_row)),
            }
            open = chapter.ending == Ending::Open;
        }
    }
    assert!(!open, "the last job has an end");
    jobs
}

/// The same, gathered without pages.
fn stored(kept: &Kept) -> Vec<(String, Vec<i64>, bool)> {
    let mut jobs: BTreeMap<u8, (Vec<i64>, bool)> = BTreeMap::new();
    for (job, version) in &kept.events {
        jobs.entry(*job).or_default().0.push(*version);
    }
    for job in &kept.rows {
        jobs.entry(*job).or_default().1 = true;
    }
    jobs.into_iter()
        .map(|(job, (versions, has_row))| (job.to_string(), versions, has_row))
        .collect()
}

proptest! {
    #[test]
    fn pages_deliver_a_ledger_once_and_whole(
        lives in prop::collection::btree_map(1_u8..40, 0_i64..9, 0..20),
        rows in prop::collection::btree_set(1_u8..40, 0..20),
        mostly_whole: bool,
        limit in 2_usize..7,
    ) {
        let events: Vec<(u8, i64)> = lives
            .iter()
            .flat_map(|(job, count)| (1..=*count).map(|version| (*job, version)))
            .collect();
        // Either rows and events have nothing to do with each other, or as in a good ledger.
        let rows = if mostly_whole { lives.keys().copied().collect() } else { rows };
        let kept = Kept { events, rows: rows.into_iter().collect(), limit };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        prop_assert_eq!(runtime.block_on(delivered(&kept)), stored(&kept));
    }
}

#[tokio::test]
async fn an_id_that_does_not_come_back_ends_the_reading_with_an_error() {
    // As bytes that are no text do in SQLite: read back they compare as another id.
    struct Stuck;
    impl Source for Stuck {
        type Job = u8;
        async fn outline(&mut self) -> Result<Known, StoreError> {
            Ok(Known::default())
        }
        async fn read(&mut self, _from: &Cursor<u8>) -> Result<(Reading<u8>, Rules), StoreError> {
            let event = |version| ReadEvent {
                job: 7,
                version,
                number: None,
                entry: Err(mark(Some(version), 7)),
            };
            let reading = Reading {
                events: vec![event(1), event(2)],
                rows: Vec::new(),
                limit: 2,
            };
            Ok((reading, Rules::default()))
        }
        async fn twins(&mut self) -> Result<Vec<Twins>, StoreError> {
            Ok(Vec::new())
        }
    }
    let mut pages = Pages::new(Stuck);
    assert!(pages.page().await.unwrap().is_some());
    let error = pages.page().await.unwrap_err();
    assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
}

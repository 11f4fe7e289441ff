//! Enqueueing: new keys become jobs, known keys leave a `duplicate` event, in one transaction.
//!
//! Owns the order of locks: parents by id, then new keys by key, then known jobs by id; two calls
//! that meet wait for each other in one direction only. Next: `exchange`.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use sqlx::postgres::PgConnection;
use sqlx::{Connection as _, Row as _};
use uuid::Uuid;

use super::call::{Fault, Work};
use crate::ledger::job::{Actor, Enqueued, NAME_MAX_BYTES, NewJob};
use crate::ledger::text::SafeText;
use crate::ledger::time::Timestamp;
use crate::store::StoreError;
use crate::store::fault::Effect;
use crate::store::row::{cut, refuse_bad_jobs};

/// How often keys that were neither new nor there are looked at again: the transaction that held
/// one was undone meanwhile.
const LOOKS: u32 = 4;

/// The last moment that is stored, in milliseconds: the end of the year 9999.
const LAST_MS: i64 = 253_402_300_799_999;

/// Jobs to be enqueued, checked.
#[derive(Debug)]
pub(super) struct Enqueue<'a> {
    jobs: &'a [NewJob],
    by: &'a Actor,
    /// Each key once, in order, with the places of the jobs that have it; the first is made.
    places: BTreeMap<&'a str, Vec<usize>>,
}

impl<'a> Enqueue<'a> {
    /// # Errors
    /// [`StoreError::Refused`] naming the first job that breaks a bound.
    pub(super) fn new(jobs: &'a [NewJob], by: &'a Actor) -> Result<Self, StoreError> {
        refuse_bad_jobs(jobs)?;
        let mut places: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (place, job) in jobs.iter().enumerate() {
            places.entry(&job.idempotency_key).or_default().push(place);
        }
        Ok(Self { jobs, by, places })
    }

    /// The first job of each key, in the order of keys.
    fn firsts(&self) -> impl Iterator<Item = &'a NewJob> {
        self.places
            .values()
            .filter_map(|places| self.jobs.get(*places.first()?))
    }

    fn actor(&self) -> String {
        cut(&self.by.name, NAME_MAX_BYTES)
    }

    async fn hold_parents(&self, connection: &mut PgConnection) -> Result<(), Fault> {
        let parents: BTreeSet<&str> = self
            .firsts()
            .filter_map(|job| job.parent.as_ref())
            .filter(|link| link.required)
            .map(|link| link.key.as_str())
            .collect();
        if !parents.is_empty() {
            let keys: Vec<&str> = parents.into_iter().collect();
            sqlx::query(include_str!(
                "../../../assets/sql/postgres/enqueue_parents.sql"
            ))
            .bind(keys)
            .execute(connection)
            .await?;
        }
        Ok(())
    }

    /// Creates the jobs of those `keys` that are new; returns these keys.
    async fn create(
        &self,
        connection: &mut PgConnection,
        jobs: &[&NewJob],
    ) -> Result<HashSet<String>, Fault> {
        // Children in this very batch make their parents wait.
        let awaited: HashSet<&str> = self
            .firsts()
            .filter_map(|job| job.parent.as_ref())
            .filter(|link| link.required)
            .map(|link| link.key.as_str())
            .collect();
        let parent =
            |job: &&NewJob| job.awaits_children || awaited.contains(job.idempotency_key.as_str());
        let texts = |of: fn(&NewJob) -> &str| jobs.iter().map(|job| of(job)).collect::<Vec<_>>();
        let options =
            |of: fn(&NewJob) -> Option<&str>| jobs.iter().map(|job| of(job)).collect::<Vec<_>>();
        let rows = sqlx::query(include_str!("../../../assets/sql/postgres/enqueue.sql"))
            .bind(jobs.iter().map(|job| job.id).collect::<Vec<Uuid>>())
            .bind(texts(|job| &job.idempotency_key))
            .bind(texts(|job| &job.queue))
            .bind(texts(|job| &job.kind))
            .bind(texts(|job| &job.tenant))
            .bind(options(|job| job.event_id.as_deref()))
            .bind(options(|job| job.schema_version.as_deref()))
            .bind(
                jobs.iter()
                    .map(|job| job.payload.to_string())
                    .collect::<Vec<_>>(),
            )
            .bind(
                jobs.iter()
                    .map(|job| job.available_at.map(due_ms))
                    .collect::<Vec<_>>(),
            )
            .bind(texts(|job| &job.policy))
            .bind(options(|job| {
                job.parent.as_ref().map(|link| link.key.as_str())
            }))
            .bind(
                jobs.iter()
                    .map(|job| is_required(job))
                    .collect::<Vec<bool>>(),
            )
            .bind(jobs.iter().map(parent).collect::<Vec<bool>>())
            .bind(self.by.kind.name())
            .bind(self.actor())
            .fetch_all(connection)
            .await?;
        let mut created = HashSet::with_capacity(rows.len());
        for row in rows {
            created.insert(row.try_get(0)?);
        }
        Ok(created)
    }

    /// Records a duplicate of each job that has one of these keys. `asked` is the id that the call
    /// wanted for the key: a job under that id was made by an earlier call.
    async fn suppress(
        &self,
        connection: &mut PgConnection,
        asked: &[(&str, Uuid)],
    ) -> Result<HashMap<String, Enqueued>, Fault> {
        let (keys, ids): (Vec<&str>, Vec<Uuid>) = asked.iter().copied().unzip();
        let rows = sqlx::query(include_str!("../../../assets/sql/postgres/duplicate.sql"))
            .bind(keys)
            .bind(ids)
            .bind(self.by.kind.name())
            .bind(self.actor())
            .fetch_all(connection)
            .await?;
        let mut found = HashMap::with_capacity(rows.len());
        for row in rows {
            let id = row.try_get("id")?;
            let made_before: bool = row.try_get("made_before")?;
            let outcome = if made_before {
                Enqueued::Created(id)
            } else {
                Enqueued::Duplicate(id)
            };
            found.insert(row.try_get("idempotency_key")?, outcome);
        }
        Ok(found)
    }

    /// What became of the first job of each key.
    async fn first_round(
        &self,
        connection: &mut PgConnection,
    ) -> Result<HashMap<String, Enqueued>, Fault> {
        let mut outcomes: HashMap<String, Enqueued> = HashMap::with_capacity(self.places.len());
        let mut open: Vec<&NewJob> = self.firsts().collect();
        for _look in 0..LOOKS {
            let created = self.create(connection, &open).await?;
            let (new, known): (Vec<&NewJob>, Vec<&NewJob>) = open
                .into_iter()
                .partition(|job| created.contains(&job.idempotency_key));
            for job in new {
                outcomes.insert(job.idempotency_key.clone(), Enqueued::Created(job.id));
            }
            if known.is_empty() {
                break;
            }
            let asked: Vec<(&str, Uuid)> = known
                .iter()
                .map(|job| (job.idempotency_key.as_str(), job.id))
                .collect();
            outcomes.extend(self.suppress(connection, &asked).await?);
            open = known
                .into_iter()
                .filter(|job| !outcomes.contains_key(&job.idempotency_key))
                .collect();
            if open.is_empty() {
                break;
            }
        }
        Ok(outcomes)
    }

    /// Keys that stand in the batch more than once: each further job is a duplicate.
    async fn further_rounds(&self, connection: &mut PgConnection) -> Result<(), Fault> {
        let rounds = self.places.values().map(Vec::len).max().unwrap_or(0);
        for round in 1..rounds {
            let again: Vec<(&str, Uuid)> = self
                .places
                .iter()
                .filter(|(_, places)| places.len() > round)
                // No job has this id, so that each counts as a duplicate.
                .map(|(key, _)| (*key, Uuid::nil()))
                .collect();
            self.suppress(connection, &again).await?;
        }
        Ok(())
    }
}

impl Work for Enqueue<'_> {
    type Answer = Vec<Enqueued>;
    const OPERATION: &'static str = "enqueue";
    const EFFECT: Effect = Effect::Change;

    async fn run(&self, connection: &mut PgConnection) -> Result<Vec<Enqueued>, Fault> {
        let mut transaction = connection.begin().await?;
        self.hold_parents(&mut transaction).await?;
        let outcomes = self.first_round(&mut transaction).await?;
        self.further_rounds(&mut transaction).await?;
        let mut answers = vec![None; self.jobs.len()];
        for (key, places) in &self.places {
            let first = outcomes.get(*key).copied();
            for (nth, place) in places.iter().enumerate() {
                if let Some(answer) = answers.get_mut(*place) {
                    *answer = if nth == 0 { first } else { first.map(repeated) };
                }
            }
        }
        // A key that vanished at every look: nothing is enqueued, and the caller asks again.
        let answers: Option<Vec<Enqueued>> = answers.into_iter().collect();
        let Some(answers) = answers else {
            return Err(Fault::Store(StoreError::Database {
                operation: Self::OPERATION,
                code: SafeText::default(),
                message: SafeText::new("others kept creating the same keys and undoing it"),
            }));
        };
        transaction.commit().await?;
        Ok(answers)
    }
}

fn repeated(first: Enqueued) -> Enqueued {
    match first {
        Enqueued::Created(id) | Enqueued::Duplicate(id) => Enqueued::Duplicate(id),
    }
}

fn is_required(job: &NewJob) -> bool {
    job.parent.as_ref().is_none_or(|link| link.required)
}

fn due_ms(due: Timestamp) -> i64 {
    due.millis().clamp(0, LAST_MS)
}

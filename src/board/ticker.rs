//! The latest events, bounded: the newest of all, and a few by operators, so that a busy ledger
//! does not wash away what a person did a minute ago.

use std::collections::BTreeMap;

use uuid::Uuid;

use super::summary::Tick;
use crate::ledger::event::{ActorKind, Event, EventKind};
use crate::ledger::time::Timestamp;

/// How many of the latest events are kept of the whole ledger.
pub const LATEST: usize = 64;
/// How many of the latest events by operators are kept beside them.
pub const LATEST_BY_OPERATORS: usize = 16;
/// How many of the latest events are kept of each queue.
pub const LATEST_OF_QUEUE: usize = 32;
/// How many of the latest events by operators are kept beside them.
pub const LATEST_OF_QUEUE_BY_OPERATORS: usize = 8;

/// The latest events of the whole ledger.
pub(crate) type LedgerTicker = Ticker<LATEST, LATEST_BY_OPERATORS>;
/// The latest events of one queue.
pub(crate) type QueueTicker = Ticker<LATEST_OF_QUEUE, LATEST_OF_QUEUE_BY_OPERATORS>;

/// Orders events by time; the rest makes the order, and so what is dropped, the same however the
/// events of different jobs arrive.
type Key = (Timestamp, Uuid, u32);

/// The latest `ALL` events, and the latest `BY_OPERATORS` by operators.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Ticker<const ALL: usize, const BY_OPERATORS: usize> {
    latest: BTreeMap<Key, Tick>,
    by_operators: BTreeMap<Key, Tick>,
}

impl<const ALL: usize, const BY_OPERATORS: usize> Ticker<ALL, BY_OPERATORS> {
    /// Notes an event; a renewal is no news.
    pub(crate) fn note(&mut self, event: &Event) {
        if event.kind == EventKind::Renew {
            return;
        }
        keep(&mut self.latest, event, ALL);
        if event.actor_kind == ActorKind::Operator {
            keep(&mut self.by_operators, event, BY_OPERATORS);
        }
    }

    /// The events, newest first.
    pub(crate) fn ticks(&self) -> Vec<Tick> {
        let mut all: BTreeMap<&Key, &Tick> = self.by_operators.iter().collect();
        all.extend(&self.latest);
        all.into_values().rev().cloned().collect()
    }
}

fn keep(events: &mut BTreeMap<Key, Tick>, event: &Event, most: usize) {
    let key = (event.at, event.job, event.version);
    let is_old = events
        .first_key_value()
        .is_some_and(|(oldest, _)| key < *oldest);
    if is_old && events.len() >= most {
        return;
    }
    events.insert(key, tick(event));
    if events.len() > most {
        events.pop_first();
    }
}

fn tick(event: &Event) -> Tick {
    Tick {
        job: event.job,
        at: event.at,
        queue: event.queue.clone(),
        kind: event.kind,
        from: event.from,
        to: event.to,
        actor_kind: event.actor_kind,
        actor: event.actor.clone(),
        failure: event.failure.clone(),
        note: event.note.clone(),
    }
}

//! Looks things up beside the feed, on a connection of its own that cannot write either.
//!
//! At most one question of each kind is open, the newest; one is asked at a time. A question that
//! is no longer wanted is cancelled by dropping its call. Every call has a deadline. After a
//! failure the screen is told why and when it is tried again, and the question stays open.

use std::collections::BTreeMap;
use std::time::Duration;

use rand::SeedableRng as _;
use rand_chacha::ChaCha8Rng;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::console::OpenLook;
use crate::console::ask::{Answer, Asked, Failure, Kind, Request, Ticket};
use crate::console::msg::{Ended, Msg, Outbox};
use crate::ledger::backoff::full_jitter;
use crate::ledger::num;
use crate::ledger::text::SafeText;
use crate::ledger::time::Timestamp;
use crate::operate::Preview;
use crate::store::look::PAGE_MAX;
use crate::store::{Look, StoreError};

use super::{RETRY_BASE, RETRY_CAP, RETRY_LEAST, within};

/// How long one call may take; the store bounds the statement itself more tightly.
pub const LOOK_DEADLINE: Duration = Duration::from_secs(30);
/// How long until a question is asked again that the ledger was reached for and did not answer: it
/// would most likely not answer it in a second either.
const REFUSED_RETRY: Duration = Duration::from_secs(30);

/// The open questions.
pub type Open = BTreeMap<Kind, (Ticket, Request)>;

/// Looks things up for a screen.
pub struct Looker {
    /// Opens the ledger.
    pub open: Box<dyn OpenLook>,
    /// Where answers go.
    pub outbox: Outbox,
    /// What is asked; the screen adds and takes away.
    pub asked: watch::Receiver<Open>,
    /// How long each call may take.
    pub deadline: Duration,
    /// Seeds the jitter.
    pub seed: u64,
}

/// What a looker knows between two questions.
struct Memory {
    look: Option<Box<dyn Look>>,
    /// The last question of each kind that was answered.
    answered: BTreeMap<Kind, Ticket>,
    /// The last question of each kind that failed, and when it is asked again.
    failed: BTreeMap<Kind, (Ticket, Instant)>,
    /// Failures in a row.
    attempt: u32,
    random: ChaCha8Rng,
}

/// What there is to do.
enum Next {
    Ask(Ticket, Request),
    WaitUntil(Instant),
    Nothing,
}

impl Looker {
    /// Looks things up until the screen is gone.
    pub async fn run(mut self) {
        let mut memory = Memory {
            look: None,
            answered: BTreeMap::new(),
            failed: BTreeMap::new(),
            attempt: 0,
            random: ChaCha8Rng::seed_from_u64(self.seed),
        };
        while self.step(&mut memory).await.is_ok() {}
    }

    async fn step(&mut self, memory: &mut Memory) -> Result<(), Ended> {
        let next = memory.next(&self.asked.borrow_and_update(), Instant::now());
        match next {
            Next::Nothing => self.asked.changed().await.map_err(|_closed| Ended),
            Next::WaitUntil(moment) => tokio::select! {
                () = tokio::time::sleep_until(moment) => Ok(()),
                changed = self.asked.changed() => changed.map_err(|_closed| Ended),
            },
            Next::Ask(ticket, request) => self.ask(memory, ticket, &request).await,
        }
    }

    async fn ask(
        &mut self,
        memory: &mut Memory,
        ticket: Ticket,
        request: &Request,
    ) -> Result<(), Ended> {
        let look = memory.look.get_or_insert_with(|| self.open.open());
        let call = within(self.deadline, request.name(), call(look.as_mut(), request));
        let result = tokio::select! {
            result = call => result,
            gone = dismissed(&mut self.asked, request.kind(), ticket) => return gone,
        };
        let result = match result {
            Ok(answer) => {
                memory.succeeded(request.kind(), ticket);
                Ok(answer)
            }
            Err(error) => Err(memory.failed(request.kind(), ticket, &error)),
        };
        let msg = Msg::Looked { ticket, result };
        self.outbox.send_async(std::time::Instant::now(), msg).await
    }
}

/// Returns once the question is no longer open.
async fn dismissed(
    asked: &mut watch::Receiver<Open>,
    kind: Kind,
    ticket: Ticket,
) -> Result<(), Ended> {
    loop {
        asked.changed().await.map_err(|_closed| Ended)?;
        let open = asked.borrow().get(&kind).map(|(ticket, _)| *ticket);
        if open != Some(ticket) {
            return Ok(());
        }
    }
}

async fn call(look: &mut dyn Look, request: &Request) -> Result<Answer, StoreError> {
    Ok(match request {
        Request::Reach { query, order } => Answer::Reach(look.reach(query, *order).await?),
        Request::Jobs {
            query,
            order,
            after,
            limit,
        } => Answer::Jobs(look.jobs(query, *order, after.as_ref(), *limit).await?),
        Request::Count { query, at_most } => Answer::Count(look.count(query, *at_most).await?),
        Request::Preview(asked) => Answer::Preview(Box::new(preview(look, asked).await?)),
        Request::Story(job) => Answer::Story(look.story(job).await?.map(Box::new)),
        Request::DeadLetters(query) => Answer::DeadLetters(look.dead_letters(query).await?),
        Request::Leases {
            query,
            after,
            limit,
        } => Answer::Leases(look.leases(query, after.as_ref(), *limit).await?),
        Request::Plans { limit } => Answer::Plans(look.plans(*limit).await?),
        Request::Audit { before, limit } => {
            Answer::Audit(look.audit(before.as_ref(), *limit).await?)
        }
    })
}

/// Reads the jobs of an act, page by page, in the order in which they will be taken.
async fn preview(look: &mut dyn Look, asked: &Asked) -> Result<Preview, StoreError> {
    let order = asked.query.natural_order();
    let mut preview: Option<Preview> = None;
    let mut after = None;
    let mut read = 0_u64;
    loop {
        let room = asked.at_most.saturating_sub(read);
        let limit = u32::try_from(room).map_or(PAGE_MAX, |room| room.min(PAGE_MAX));
        if limit == 0 {
            if let Some(preview) = &mut preview {
                preview.cut();
            }
            break;
        }
        let page = look
            .jobs(&asked.query, order, after.as_ref(), limit)
            .await?;
        let preview = preview.get_or_insert_with(|| Preview::new(asked.operation, page.as_of));
        for job in &page.jobs {
            preview.add(job);
        }
        let here = page.jobs.len().saturating_add(page.unreadable.len());
        read = read.saturating_add(num::count(here));
        match page.next {
            Some(next) => after = Some(next),
            None => break,
        }
    }
    let mut preview =
        preview.unwrap_or_else(|| Preview::new(asked.operation, Timestamp::default()));
    preview.skipped.not_found = asked.named.unwrap_or(0).saturating_sub(read);
    Ok(preview)
}

impl Memory {
    /// The question that has been open longest and may be asked now.
    fn next(&self, open: &Open, now: Instant) -> Next {
        let mut ask: Option<(Ticket, &Request)> = None;
        let mut wait: Option<Instant> = None;
        for (kind, (ticket, request)) in open {
            if self.answered.get(kind) == Some(ticket) {
                continue;
            }
            match self.failed.get(kind) {
                Some((failed, again)) if failed == ticket && *again > now => {
                    wait = Some(wait.map_or(*again, |wait| wait.min(*again)));
                }
                _ if ask.is_none_or(|(other, _)| *ticket < other) => ask = Some((*ticket, request)),
                _ => {}
            }
        }
        match (ask, wait) {
            (Some((ticket, request)), _) => Next::Ask(ticket, request.clone()),
            (None, Some(moment)) => Next::WaitUntil(moment),
            (None, None) => Next::Nothing,
        }
    }

    fn succeeded(&mut self, kind: Kind, ticket: Ticket) {
        self.attempt = 0;
        self.answered.insert(kind, ticket);
        self.failed.remove(&kind);
    }

    fn failed(&mut self, kind: Kind, ticket: Ticket, error: &StoreError) -> Failure {
        // Whatever is left of the call dies with its connection.
        self.look = None;
        self.attempt = self.attempt.saturating_add(1);
        let was_lost = matches!(
            error,
            StoreError::Unreachable { .. } | StoreError::OutcomeUnknown { .. }
        );
        let retry_in = if was_lost {
            RETRY_LEAST + full_jitter(RETRY_BASE, RETRY_CAP, self.attempt, &mut self.random)
        } else {
            REFUSED_RETRY
        };
        let error = SafeText::from(error.to_string());
        tracing::warn!(%error, ?kind, ?retry_in, "a look-up failed");
        self.failed
            .insert(kind, (ticket, Instant::now() + retry_in));
        Failure { error, retry_in }
    }
}

#[cfg(test)]
mod tests;

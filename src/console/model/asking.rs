//! A screen's side of looking things up: what it wants, what it got, and what went wrong.
//!
//! A screen does not ask; it says what it wants ([`Looks::wish`]) as long as it is shown.
//! `update/looking.rs` compares that with what is open and asks. So a screen that is left cancels
//! its question, a newer wish takes the place of an older one, and an answer that is no longer
//! wanted is passed over. What was shown stays until something better comes.

use std::time::{Duration, Instant};

use crate::console::ask::{Answer, Request};
use crate::ledger::event::Event;
use crate::ledger::text::SafeText;

use super::Reading;

/// What a screen wants to be looked up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wish {
    /// The question.
    pub request: Request,
    /// How soon.
    pub when: When,
}

/// How soon something is to be looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// At once: it was never seen.
    Now,
    /// It is shown; again once the feed tells that it changed.
    OnNews,
}

/// Why there is no newer answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Why.
    pub error: SafeText,
    /// When it is asked again; in the past while it is being asked.
    pub next_try: Instant,
}

/// A screen that looks things up.
pub trait Looks {
    /// What it wants now, if anything.
    fn wish(&self) -> Option<Wish>;

    /// Takes an answer in; one to a question that it no longer asks is passed over.
    fn take(&mut self, request: &Request, answer: Answer, reading: Reading);

    /// Whether an event may change what it shows.
    fn concerns(&self, event: &Event) -> bool;

    /// How its looking stands.
    fn asking(&self) -> &Asking;

    /// As [`Looks::asking`], to be changed.
    fn asking_mut(&mut self) -> &mut Asking;
}

/// How a screen's looking stands.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Asking {
    /// Why there is no newer answer.
    pub fault: Option<Fault>,
    /// Whether something changed in the ledger since it was asked last.
    pub news: bool,
    /// When it was asked last.
    pub asked_at: Option<Instant>,
    /// How long the last answer took.
    pub took: Duration,
}

/// Of the time, at most one part in this many is spent on looking at the same list again: a slow
/// ledger is asked less often.
const SHARE: u32 = 5;

impl Asking {
    /// Whether what is shown may be looked up again at `now`, with this refresh interval.
    pub fn is_due(&self, now: Instant, refresh: Duration) -> bool {
        self.news
            && self
                .asked_at
                .is_none_or(|asked| asked + self.pause(refresh) <= now)
    }

    /// When it is due, if there are news.
    pub fn due_at(&self, refresh: Duration) -> Option<Instant> {
        let asked = self.asked_at.filter(|_| self.news)?;
        Some(asked + self.pause(refresh))
    }

    fn pause(&self, refresh: Duration) -> Duration {
        refresh.max(self.took.saturating_mul(SHARE))
    }
}

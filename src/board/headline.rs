//! What is wrong, in at most three sentences, worst first: a queue's numbers held against its
//! limits, with a memory of what is raised, so that a number that trembles about its limit does not
//! flicker.
//!
//! A board stays a pure fold; the memory is a [`Judge`], which belongs to whoever asks again and
//! again. Its state follows from the fold and the moments at which it judged. Next:
//! `sentence.rs`, the words.

use std::collections::BTreeMap;
use std::time::Duration;

use super::limits::{Bound, LEASE_GRACE, Limits, QueueLimits};
use super::queue::Queue;
use super::sentence;
use super::summary::{Drain, Headline, Level, QueueSummary};
use super::window::{Reach, seconds};
use crate::ledger::num;
use crate::ledger::text::SafeText;

/// How many sentences the headline has at most.
pub const HEADLINE_MAX: usize = 3;

/// A raised limit stays raised until the number falls below this share of it.
const CLEARS_BELOW: f64 = 0.8;

/// Fewer dead letters than this in a window are not growth, whatever the limit: one bad job is no
/// incident.
const GROWTH_MIN: u64 = 5;

/// A backlog smaller than this is not said to never drain.
const BACKLOG_MIN: u64 = 20;

/// What can be wrong with a queue, in the order in which a responder wants to hear of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Concern {
    /// Jobs wait too long.
    OldestReady,
    /// Dead letters come too fast.
    DeadLettersGrow,
    /// Leases ran out and nobody reclaims them.
    ExpiredLeases,
    /// The backlog does not shrink.
    NeverDrains,
    /// A dead letter waits too long for a person.
    OldestDeadLetter,
}

impl Concern {
    const ALL: [Self; 5] = [
        Self::OldestReady,
        Self::DeadLettersGrow,
        Self::ExpiredLeases,
        Self::NeverDrains,
        Self::OldestDeadLetter,
    ];
}

/// A queue with the numbers it is judged by.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Case<'a> {
    pub(crate) queue: &'a Queue,
    pub(crate) summary: &'a QueueSummary,
    pub(crate) limits: &'a QueueLimits,
    pub(crate) reach: Reach,
}

/// A concern that is raised.
#[derive(Debug, Clone, PartialEq)]
struct Raised {
    queue: SafeText,
    concern: Concern,
    level: Level,
    /// The number as a multiple of its limit, to order queues with the same concern.
    excess: f64,
    text: String,
}

/// Remembers which limits are raised from one judgement to the next.
#[derive(Debug, Clone, Default)]
pub struct Judge {
    limits: Limits,
    raised: BTreeMap<SafeText, BTreeMap<Concern, Level>>,
}

impl Judge {
    /// A judge by these limits; nothing is raised yet.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            raised: BTreeMap::new(),
        }
    }

    /// The limits it judges by.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Judges every queue as of one moment: sets each level, returns the headline, and forgets
    /// queues that are not among them.
    pub(crate) fn judge(
        &mut self,
        queues: &mut [(&Queue, QueueSummary)],
        reach: Reach,
    ) -> Vec<Headline> {
        let before = std::mem::take(&mut self.raised);
        let mut all = Vec::new();
        for (queue, summary) in queues {
            let case = Case {
                queue,
                summary,
                limits: self.limits.of(summary.queue.as_str()),
                reach,
            };
            let was = before.get(&summary.queue);
            let mut raised = BTreeMap::new();
            let mut found: Vec<Raised> = Vec::new();
            for concern in Concern::ALL {
                let level = was.and_then(|was| was.get(&concern)).copied();
                if let Some(one) = case.weigh(concern, level.unwrap_or_default()) {
                    raised.insert(concern, one.level);
                    found.push(one);
                }
            }
            // The sentence of the oldest job says where the backlog goes already.
            let told = raised.contains_key(&Concern::OldestReady);
            all.extend(
                (found.into_iter()).filter(|one| !(told && one.concern == Concern::NeverDrains)),
            );
            summary.level = raised.values().copied().max().unwrap_or_default();
            if !raised.is_empty() {
                self.raised.insert(summary.queue.clone(), raised);
            }
        }
        worst(all)
    }
}

/// The worst first; one sentence of each queue before a second one of any.
fn worst(mut raised: Vec<Raised>) -> Vec<Headline> {
    raised.sort_by(|a, b| {
        (b.level.cmp(&a.level))
            .then_with(|| a.concern.cmp(&b.concern))
            .then_with(|| b.excess.total_cmp(&a.excess))
            .then_with(|| a.queue.cmp(&b.queue))
    });
    let mut seen: BTreeMap<SafeText, usize> = BTreeMap::new();
    let mut turns: Vec<(usize, Raised)> = Vec::with_capacity(raised.len());
    for one in raised {
        let turn = seen.entry(one.queue.clone()).or_default();
        turns.push((*turn, one));
        *turn += 1;
    }
    turns.sort_by_key(|(turn, _)| *turn);
    turns.truncate(HEADLINE_MAX);
    turns
        .into_iter()
        .map(|(_, one)| Headline {
            queue: one.queue,
            level: one.level,
            text: one.text,
        })
        .collect()
}

/// The level of a number after it stood at `was`: it rises above a limit, and falls below 80 % of
/// it.
pub(crate) fn next_level(value: f64, bound: Bound<f64>, was: Level) -> Level {
    let holds = |limit: f64, level: Level| {
        value > limit || (was >= level && value >= limit * CLEARS_BELOW && value > 0.0)
    };
    if holds(bound.critical, Level::Critical) {
        Level::Critical
    } else if holds(bound.warning, Level::Warning) {
        Level::Warning
    } else {
        Level::Fine
    }
}

impl Case<'_> {
    /// Whether a concern that stood at `was` is raised now.
    fn weigh(&self, concern: Concern, was: Level) -> Option<Raised> {
        let (level, excess) = match concern {
            Concern::OldestReady => {
                let age = self.summary.oldest_ready_age?;
                by_age(age, self.limits.oldest_ready, was)
            }
            Concern::OldestDeadLetter => {
                let age = self.summary.dead_letters.oldest_age()?;
                by_age(age, self.limits.oldest_dead_letter, was)
            }
            Concern::DeadLettersGrow => self.growth(was),
            Concern::ExpiredLeases => {
                let grace = seconds(LEASE_GRACE);
                let ended = self.queue.leases().ended(self.reach.now_s(), grace);
                by_number(num::ratio(ended), self.limits.expired_leases, was)
            }
            Concern::NeverDrains => self.never_drains(was),
        };
        (level > Level::Fine).then(|| Raised {
            queue: self.summary.queue.clone(),
            concern,
            level,
            excess,
            text: sentence::of(concern, self),
        })
    }

    fn growth(&self, was: Level) -> (Level, f64) {
        let came = self.queue.rates().buried(self.reach);
        if came < GROWTH_MIN {
            return (Level::Fine, 0.0);
        }
        let per_h = self.summary.dead_letters.growth_per_h;
        by_number(per_h, self.limits.dead_letters_per_h, was)
    }

    /// A warning once arrivals have kept up with departures for as long as the limit says while
    /// there was a backlog: one that stood a minute ago already, for a burst that has just come in
    /// says nothing yet. Cleared when departures are ahead over both the last minute and that time,
    /// or the backlog is gone.
    fn never_drains(&self, was: Level) -> (Level, f64) {
        let backlog = self.summary.depth.at_work();
        let never = self.summary.drain == Drain::Never;
        let span = self.limits.drain_never;
        let stands = self.reach.covers(span) && self.queue.rates().did_not_shrink(self.reach, span);
        let raised = if was == Level::Fine {
            let net_per_minute = (self.summary.in_per_s - self.summary.out_per_s) * 60.0;
            let a_minute_ago = num::ratio(backlog) - net_per_minute;
            never && stands && a_minute_ago.min(num::ratio(backlog)) >= num::ratio(BACKLOG_MIN)
        } else {
            (never || stands) && num::ratio(backlog) >= num::ratio(BACKLOG_MIN) * CLEARS_BELOW
        };
        if raised {
            (Level::Warning, num::ratio(backlog))
        } else {
            (Level::Fine, 0.0)
        }
    }
}

fn by_age(age: Duration, bound: Bound<Duration>, was: Level) -> (Level, f64) {
    let bound = Bound {
        warning: bound.warning.as_secs_f64(),
        critical: bound.critical.as_secs_f64(),
    };
    weighed(age.as_secs_f64(), bound, was)
}

fn by_number(value: f64, bound: Bound<u64>, was: Level) -> (Level, f64) {
    let bound = Bound {
        warning: num::ratio(bound.warning),
        critical: num::ratio(bound.critical),
    };
    weighed(value, bound, was)
}

fn weighed(value: f64, bound: Bound<f64>, was: Level) -> (Level, f64) {
    let level = next_level(value, bound, was);
    (level, value / bound.warning.max(1.0))
}

#[cfg(test)]
mod tests;

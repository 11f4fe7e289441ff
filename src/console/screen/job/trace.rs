//! What a job's events come to: the path through the state machine, the timeline, the attempts
//! that nobody settled. Pure; every part of the screen is drawn from it.
//!
//! A stay is known from the event that ended it, which says in which state the job was and since
//! when; so an event that cannot be read, or is left out, costs no more than its own line. Where
//! the stays do not join, there is a gap.

use std::time::Duration;

use crate::console::model::numbers;
use crate::console::widget::machine::{Arrow, Mark, Path};
use crate::console::widget::timeline::{self, Ending, Filling, Lane, Sign, Span, Timeline};
use crate::ledger::audit::Entry;
use crate::ledger::event::{ActorKind, EventKind};
use crate::ledger::num;
use crate::ledger::state::State;
use crate::ledger::text::SafeText;
use crate::ledger::transition::{self, UnsettledStep};
use crate::ledger::view::JobStory;

/// An attempt that began and that its worker never settled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unsettled {
    /// Its number.
    pub attempt: u32,
    /// Who ran it.
    pub worker: Option<SafeText>,
}

/// What the events come to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Trace {
    /// The path through the state machine.
    pub path: Path,
    /// The timeline.
    pub timeline: Timeline,
    /// The attempts that nobody settled, as far as their events are shown.
    pub unsettled: Vec<Unsettled>,
}

impl Trace {
    /// Of a story, with the mark on the event `walked`.
    pub(super) fn of(story: &JobStory, walked: u32) -> Self {
        let mut building = Building::default();
        for (event, number) in story.events.iter().zip(numbers(&story.events)) {
            match event {
                Ok(entry) => building.take(entry, number),
                Err(_) => building.take_unreadable(number),
            }
            if number == walked
                && let Ok(entry) = event
            {
                building.trace.path.mark = Some(mark(entry));
            }
        }
        building.close(story);
        building.trace
    }
}

fn arrow(entry: &Entry) -> Option<Arrow> {
    let arrow = Arrow {
        from: entry.from,
        to: entry.to,
    };
    (entry.from != Some(entry.to)).then_some(arrow)
}

fn mark(entry: &Entry) -> Mark {
    match arrow(entry) {
        Some(arrow) => Mark::Arrow(arrow, entry.doing.event),
        None => Mark::State(entry.to, entry.doing.event),
    }
}

/// Whether an event ended an attempt whose outcome nobody knows: the table says which do.
pub(super) fn leaves_unsettled(entry: &Entry) -> bool {
    let Entry {
        doing, from, to, ..
    } = entry;
    transition::find(doing.event, *from, *to, doing.actor_kind)
        .is_some_and(|row| row.unsettled == UnsettledStep::Next)
}

/// What stands out about an event.
fn sign(entry: &Entry) -> Option<Sign> {
    match (entry.doing.event, entry.doing.actor_kind) {
        (_, ActorKind::Operator) => Some(Sign::Operator),
        (EventKind::Duplicate, _) => Some(Sign::Duplicate),
        (EventKind::StaleRefused, _) => Some(Sign::StaleRefused),
        (EventKind::LeaseExpire, _) => Some(Sign::LeaseExpired),
        (
            EventKind::Enqueue
            | EventKind::ChildrenDone
            | EventKind::Claim
            | EventKind::Renew
            | EventKind::Succeed
            | EventKind::Retry
            | EventKind::Exhaust
            | EventKind::Reject
            | EventKind::Release
            | EventKind::Due
            | EventKind::Promote
            | EventKind::Quarantine
            | EventKind::Revoke
            | EventKind::Redrive
            | EventKind::Discard,
            _,
        ) => None,
    }
}

/// How a stay was, or is.
struct Over {
    begin_us: i64,
    end_us: i64,
    /// The event that ended it.
    by: u32,
    ending: Ending,
}

#[derive(Debug, Default)]
struct Building {
    trace: Trace,
    /// The event that the present stay began with.
    since: u32,
    /// The state after the last event that could be read, and since when.
    state: Option<(State, i64)>,
    /// Where the last part of the time ended.
    end_us: Option<i64>,
    /// The attempt that runs, as its claim counted it.
    attempt: Option<u32>,
    last_us: i64,
    /// The last event that could be read.
    last_read: u32,
}

impl Building {
    fn take(&mut self, entry: &Entry, number: u32) {
        let at_us = entry.at.micros();
        if number > self.last_read.saturating_add(1) {
            // The claim may be among those that are not shown.
            self.attempt = None;
        }
        self.trace.timeline.marks.push(timeline::Mark {
            event: number,
            at_us,
            sign: sign(entry),
        });
        if leaves_unsettled(entry) {
            self.trace.unsettled.push(Unsettled {
                attempt: entry.attempt,
                worker: entry.worker.clone(),
            });
        }
        if let Some(arrow) = arrow(entry) {
            self.walk(entry, arrow, number);
        }
        self.last_us = at_us;
        self.last_read = number;
    }

    fn walk(&mut self, entry: &Entry, arrow: Arrow, number: u32) {
        let at_us = entry.at.micros();
        let events = self.trace.path.walked.entry(arrow).or_default();
        let times = events.entry(entry.doing.event).or_default();
        *times = times.saturating_add(1);
        let stay = self.trace.path.stays.entry(entry.to).or_default();
        stay.times = stay.times.saturating_add(1);
        if let (Some(from), Some(since)) = (entry.from, entry.from_since) {
            let over = Over {
                begin_us: since.micros(),
                end_us: at_us,
                by: number,
                ending: ending(entry),
            };
            self.end_stay(from, &over);
        }
        self.state = Some((entry.to, at_us));
        self.since = number;
        self.attempt = (entry.to == State::Running).then_some(entry.attempt);
    }

    /// A stay that is over, or that goes on.
    fn end_stay(&mut self, state: State, over: &Over) {
        let Over {
            begin_us,
            end_us,
            by,
            ending,
        } = *over;
        if let Some(before) = self.end_us
            && before < begin_us
        {
            self.trace.timeline.spans.push(Span {
                begin_us: before,
                end_us: begin_us,
                since: self.last_read.saturating_add(1),
                filling: Filling::Gap,
            });
            self.since = by.saturating_sub(1);
        }
        let length = num::unsigned(end_us.saturating_sub(begin_us));
        let stay = self.trace.path.stays.entry(state).or_default();
        stay.times = stay.times.max(1);
        stay.total = stay.total.saturating_add(Duration::from_micros(length));
        self.end_us = Some(end_us);
        let Some(lane) = Lane::of(state) else {
            return;
        };
        self.trace.timeline.spans.push(Span {
            begin_us,
            end_us,
            since: self.since,
            filling: Filling::Stay {
                lane,
                attempt: self.attempt.filter(|_| lane == Lane::Running),
                ending,
            },
        });
    }

    fn take_unreadable(&mut self, number: u32) {
        self.trace.timeline.marks.push(timeline::Mark {
            event: number,
            at_us: self.last_us,
            sign: Some(Sign::Unreadable),
        });
    }

    /// The stay that goes on; the row says in which state.
    fn close(&mut self, story: &JobStory) {
        let row = &story.job.row;
        self.trace.path.current = Some(row.state);
        let as_of_us = story.as_of.millis().saturating_mul(1_000);
        let since_us = match self.state {
            Some((state, since_us)) if state == row.state => since_us,
            Some(_) | None => row.state_since.millis().saturating_mul(1_000),
        };
        if row.state.is_terminal() {
            let stay = self.trace.path.stays.entry(row.state).or_default();
            stay.times = stay.times.max(1);
        } else {
            let over = Over {
                begin_us: since_us,
                end_us: as_of_us.max(since_us),
                by: self.last_read.saturating_add(1),
                ending: Ending::Open,
            };
            self.end_stay(row.state, &over);
        }
    }
}

/// How the stay that an event ended is marked.
fn ending(entry: &Entry) -> Ending {
    if leaves_unsettled(entry) {
        return Ending::Unsettled;
    }
    match entry.doing.event {
        EventKind::Release => Ending::GivenBack,
        EventKind::Enqueue
        | EventKind::ChildrenDone
        | EventKind::Claim
        | EventKind::Renew
        | EventKind::Succeed
        | EventKind::Retry
        | EventKind::Exhaust
        | EventKind::Reject
        | EventKind::LeaseExpire
        | EventKind::Due
        | EventKind::Promote
        | EventKind::Quarantine
        | EventKind::Revoke
        | EventKind::Redrive
        | EventKind::Discard
        | EventKind::Duplicate
        | EventKind::StaleRefused => Ending::Into(entry.to),
    }
}

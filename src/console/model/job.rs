//! The screen of one job: which job, what was read of it, and the event that the mark stands on.
//!
//! The mark is kept by the number of its event, never by a row: events may be added while one
//! looks.

use crate::console::ask::{Answer, Request};
use crate::ledger::audit::{Entry, Unreadable};
use crate::ledger::event::{Event, EventKind};
use crate::ledger::num;
use crate::ledger::view::{JobName, JobStory};

use super::Reading;
use super::asking::{Asking, Looks, When, Wish};

/// The screen of one job.
#[derive(Debug, Clone, PartialEq)]
pub struct JobState {
    /// How the job was named; by its id as soon as that is known.
    pub name: JobName,
    /// What was read of it.
    pub found: Found,
    /// The event that the mark stands on; `None` for the last one, whichever that is.
    pub walked: Option<u32>,
    asking: Asking,
}

/// What was read of a job.
#[derive(Debug, Clone, PartialEq)]
pub enum Found {
    /// Nothing yet.
    Unread,
    /// There is no such job.
    Nothing,
    /// This.
    Story(Box<JobStory>),
}

/// The numbers of a job's events, in order. An event whose number cannot be read has the one after
/// its predecessor's.
pub fn numbers(events: &[Result<Entry, Unreadable>]) -> Vec<u32> {
    let mut last = 0_u32;
    events
        .iter()
        .map(|event| {
            let next = last.saturating_add(1);
            last = match event {
                Ok(entry) => entry.version,
                Err(unreadable) => unreadable
                    .version
                    .and_then(|version| u32::try_from(version).ok())
                    .unwrap_or(next),
            };
            last
        })
        .collect()
}

impl JobState {
    /// A job that nothing was read of yet.
    pub fn new(name: JobName) -> Self {
        Self {
            name,
            found: Found::Unread,
            walked: None,
            asking: Asking::default(),
        }
    }

    /// A job of which this is known.
    pub fn holding(story: JobStory) -> Self {
        Self {
            name: JobName::Id(story.job.row.id),
            found: Found::Story(Box::new(story)),
            walked: None,
            asking: Asking::default(),
        }
    }

    /// What was read of it.
    pub fn story(&self) -> Option<&JobStory> {
        match &self.found {
            Found::Story(story) => Some(story),
            Found::Unread | Found::Nothing => None,
        }
    }

    /// The number of the event that the mark stands on: the nearest before it that is still shown.
    pub fn walked_number(&self, story: &JobStory) -> u32 {
        let numbers = numbers(&story.events);
        let last = numbers.last().copied().unwrap_or(0);
        let Some(walked) = self.walked else {
            return last;
        };
        let place = numbers.partition_point(|number| *number <= walked);
        let before = place.checked_sub(1).and_then(|place| numbers.get(place));
        before.or(numbers.first()).copied().unwrap_or(0)
    }

    /// Moves the mark by `lines` events. At the last one it follows what is added from then on only
    /// if it was sent there, not if it stopped there.
    pub fn step(&mut self, lines: i64) {
        let Found::Story(story) = &self.found else {
            return;
        };
        let numbers = numbers(&story.events);
        let walked = self.walked_number(story);
        let place = numbers.partition_point(|number| *number < walked);
        let last = num::signed(num::count(numbers.len().saturating_sub(1)));
        let to = num::signed(num::count(place))
            .saturating_add(lines)
            .clamp(0, last);
        self.walked = if lines == i64::MAX {
            None
        } else {
            numbers.get(num::index(num::unsigned(to))).copied()
        };
    }
}

impl Looks for JobState {
    fn wish(&self) -> Option<Wish> {
        let when = match &self.found {
            Found::Unread => When::Now,
            Found::Nothing | Found::Story(_) => When::OnNews,
        };
        Some(Wish {
            request: Request::Story(self.name.clone()),
            when,
        })
    }

    fn take(&mut self, request: &Request, answer: Answer, _reading: Reading) {
        let Answer::Story(story) = answer else {
            return;
        };
        if *request != Request::Story(self.name.clone()) {
            return;
        }
        self.found = match story {
            Some(story) => {
                // A key may be long; an id is not, and stays the same whatever becomes of the key.
                self.name = JobName::Id(story.job.row.id);
                Found::Story(story)
            }
            None => Found::Nothing,
        };
    }

    fn concerns(&self, event: &Event) -> bool {
        match &self.found {
            Found::Unread => false,
            Found::Nothing => event.kind == EventKind::Enqueue,
            Found::Story(story) => {
                let family = story.parent.iter().chain(&story.children);
                event.job == story.job.row.id
                    || family
                        .filter_map(|relative| relative.job.as_ref())
                        .any(|(id, _)| *id == event.job)
            }
        }
    }

    fn asking(&self) -> &Asking {
        &self.asking
    }

    fn asking_mut(&mut self) -> &mut Asking {
        &mut self.asking
    }
}

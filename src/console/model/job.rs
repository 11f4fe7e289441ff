//! The screen of one job: which job, what was read of it, and the event that the mark stands on.
//!
//! The mark is kept by the number of its event, never by a row: events may be added while one
//! looks.

use crate::ledger::audit::{Entry, Unreadable};
use crate::ledger::num;
use crate::ledger::view::{JobName, JobStory};

/// The screen of one job.
#[derive(Debug, Clone, PartialEq)]
pub struct JobState {
    /// How the job was named; by its id as soon as that is known.
    pub name: JobName,
    /// What was read of it.
    pub found: Found,
    /// The event that the mark stands on; `None` for the last one, whichever that is.
    pub walked: Option<u32>,
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
    pub const fn new(name: JobName) -> Self {
        Self {
            name,
            found: Found::Unread,
            walked: None,
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

//! An act on jobs, from the question to the receipt: quarantine, revoke, redrive, promote, discard.
//!
//! The dialog is bound to ids and versions as they were read when it opened; what happens to a list
//! beneath it changes nothing. It shows what will change, demands a reason, and is confirmed by a
//! key that opens nothing ([`Action::Confirm`]), or by typing the number of jobs where they are
//! many. Text that is pasted reaches the field and nothing else. What it asks for is an [`Order`];
//! only `update` makes an effect of that, and only with a permit. Next: [`drawing`].
//!
//! [`Action::Confirm`]: crate::console::keymap::Action::Confirm

use std::time::Instant;

use crate::console::keymap::Place;
use crate::console::model::Field;
use crate::ledger::job::Operation;
use crate::ledger::plan::Pace;
use crate::ledger::text::SafeText;
use crate::operate::{Preview, Receipt, Target};

pub(super) mod drawing;

#[cfg(test)]
mod tests;

/// What an act was asked for on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// One job, by its key.
    Job(SafeText),
    /// Marked jobs: how many, and the keys of those that are no longer listed.
    Marks {
        /// How many.
        count: u64,
        /// Those that the list no longer shows; bounded.
        unlisted: Vec<SafeText>,
    },
    /// A group of dead letters, by its title.
    Group(SafeText),
    /// All jobs of a filter, as it is written.
    Filter(SafeText),
}

/// Where the dialog stands.
#[derive(Debug, Clone, PartialEq)]
pub enum Stage {
    /// The jobs are being read.
    Reading {
        /// Why they could not be read, where that was tried.
        error: Option<SafeText>,
    },
    /// There is nothing to be done: no job may be.
    Nothing(Box<Preview>),
    /// A reason is asked for.
    Reason(Box<Asked>),
    /// The number of jobs is asked for.
    Count(Box<Asked>),
    /// It waits for the key that confirms.
    Confirm(Box<Asked>),
    /// It was sent.
    Sent {
        /// When.
        since: Instant,
        /// What.
        asked: Box<Asked>,
    },
    /// It is done.
    Done(Box<Receipt>),
    /// It failed; the text says what was left unchanged.
    Failed(SafeText),
}

/// What is known and what was typed so far.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    /// What will change.
    pub preview: Preview,
    /// The reason, as it is typed.
    pub reason: Field,
    /// The number of jobs, as it is typed.
    pub count: Field,
    /// What was wrong with the last thing typed.
    pub complaint: Option<String>,
}

/// An act, decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// What to do.
    pub operation: Operation,
    /// To which jobs, in which versions.
    pub targets: Vec<Target>,
    /// Why.
    pub reason: String,
    /// The filter that they were found with, where there was one.
    pub query: Option<String>,
    /// How a plan of them advances; one job is no plan.
    pub pace: Option<Pace>,
}

/// The dialog.
#[derive(Debug, Clone, PartialEq)]
pub struct Operating {
    /// What is to be done.
    pub operation: Operation,
    /// What it was asked for on.
    pub subject: Subject,
    /// Where it stands.
    pub stage: Stage,
}

/// Whether a dialog stays when one goes out of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outward {
    /// It went back by a step.
    Stays,
    /// It closes; nothing was changed by it that the ledger did not say.
    Closes,
}

impl Operating {
    /// A dialog whose jobs are to be read.
    pub const fn new(operation: Operation, subject: Subject) -> Self {
        Self {
            operation,
            subject,
            stage: Stage::Reading { error: None },
        }
    }

    /// The jobs were read. Only a dialog that waits for them takes them: what was shown to a person
    /// is never exchanged beneath them.
    pub fn read(&mut self, preview: Preview) {
        if !matches!(self.stage, Stage::Reading { .. }) {
            return;
        }
        self.stage = if preview.at_least() == 0 {
            Stage::Nothing(Box::new(preview))
        } else {
            Stage::Reason(Box::new(Asked {
                preview,
                reason: Field::default(),
                count: Field::default(),
                complaint: None,
            }))
        };
    }

    /// The jobs could not be read.
    pub fn unread(&mut self, error: SafeText) {
        if let Stage::Reading { error: shown } = &mut self.stage {
            *shown = Some(error);
        }
    }

    /// Where keys have their meaning.
    pub const fn place(&self) -> Place {
        match self.stage {
            Stage::Reason(_) | Stage::Count(_) => Place::Field,
            Stage::Confirm(_) => Place::Question,
            Stage::Reading { .. }
            | Stage::Nothing(_)
            | Stage::Sent { .. }
            | Stage::Done(_)
            | Stage::Failed(_) => Place::Result,
        }
    }

    /// The field that takes text now.
    pub fn field(&mut self) -> Option<&mut Field> {
        match &mut self.stage {
            Stage::Reason(asked) => Some(&mut asked.reason),
            Stage::Count(asked) => Some(&mut asked.count),
            Stage::Reading { .. }
            | Stage::Nothing(_)
            | Stage::Confirm(_)
            | Stage::Sent { .. }
            | Stage::Done(_)
            | Stage::Failed(_) => None,
        }
    }

    /// Accepts what was typed. The number of jobs, where it is the right one, is the confirmation.
    pub fn enter(&mut self) -> Option<Order> {
        let stage = std::mem::replace(&mut self.stage, Stage::Reading { error: None });
        self.stage = match stage {
            Stage::Reason(mut asked) if asked.reason.text().trim().is_empty() => {
                asked.complaint = Some("a reason is needed: it stands in the event".to_owned());
                Stage::Reason(asked)
            }
            Stage::Reason(mut asked) => {
                asked.complaint = None;
                if asked.preview.needs_typed_count() {
                    Stage::Count(asked)
                } else {
                    Stage::Confirm(asked)
                }
            }
            Stage::Count(mut asked) => {
                let wanted = asked.preview.at_least().to_string();
                let typed = asked.count.text().trim().replace([',', '_'], "");
                if typed == wanted {
                    let order = self.order(&asked);
                    self.stage = Stage::Count(asked);
                    return Some(order);
                }
                asked.complaint = Some(if typed.is_empty() {
                    format!("type the number of jobs, {wanted}, to do it")
                } else {
                    format!("'{typed}' is not {wanted}; nothing was done")
                });
                asked.count.erase_all();
                Stage::Count(asked)
            }
            other @ (Stage::Reading { .. }
            | Stage::Nothing(_)
            | Stage::Confirm(_)
            | Stage::Sent { .. }
            | Stage::Done(_)
            | Stage::Failed(_)) => other,
        };
        None
    }

    /// The key that confirms. It means something only where it is asked for.
    pub fn confirm(&self) -> Option<Order> {
        match &self.stage {
            Stage::Confirm(asked) => Some(self.order(asked)),
            Stage::Reading { .. }
            | Stage::Nothing(_)
            | Stage::Reason(_)
            | Stage::Count(_)
            | Stage::Sent { .. }
            | Stage::Done(_)
            | Stage::Failed(_) => None,
        }
    }

    /// What was ordered is on its way.
    pub fn sent(&mut self, at: Instant) {
        let stage = std::mem::replace(&mut self.stage, Stage::Reading { error: None });
        self.stage = match stage {
            Stage::Confirm(asked) | Stage::Count(asked) => Stage::Sent { since: at, asked },
            other @ (Stage::Reading { .. }
            | Stage::Nothing(_)
            | Stage::Reason(_)
            | Stage::Sent { .. }
            | Stage::Done(_)
            | Stage::Failed(_)) => other,
        };
    }

    /// Out by one step.
    pub fn out(&mut self) -> Outward {
        let stage = std::mem::replace(&mut self.stage, Stage::Reading { error: None });
        match stage {
            Stage::Count(mut asked) | Stage::Confirm(mut asked) => {
                asked.complaint = None;
                asked.count.erase_all();
                self.stage = Stage::Reason(asked);
                Outward::Stays
            }
            other @ (Stage::Reading { .. }
            | Stage::Nothing(_)
            | Stage::Reason(_)
            | Stage::Sent { .. }
            | Stage::Done(_)
            | Stage::Failed(_)) => {
                self.stage = other;
                Outward::Closes
            }
        }
    }

    fn order(&self, asked: &Asked) -> Order {
        let targets = asked.preview.targets().to_vec();
        let query = match &self.subject {
            Subject::Filter(query) => Some(query.to_string()),
            Subject::Job(_) | Subject::Marks { .. } | Subject::Group(_) => None,
        };
        Order {
            operation: self.operation,
            pace: (targets.len() > 1).then(|| Pace::of(self.operation)),
            targets,
            reason: asked.reason.text().trim().to_owned(),
            query,
        }
    }
}

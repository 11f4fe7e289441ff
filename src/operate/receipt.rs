//! What became of an act: counted, to be pasted into the incident, with the equal command line.
//!
//! Pure. Every text in it is safe. Next: the dialogs of the console and the answers of the command
//! line, which show it.

use std::fmt::Write as _;

use uuid::Uuid;

use crate::ledger::job::{Operation, Outcome};
use crate::ledger::plan::Plan;
use crate::ledger::state::State;
use crate::ledger::text::SafeText;

/// The most jobs that are named.
pub const NAMED_MAX: usize = 20;

/// What an act was on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// Single jobs.
    Jobs,
    /// A plan: this is its id; what follows is carried out in the background.
    Plan(Uuid),
}

/// What became of one job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The job.
    pub job: Uuid,
    /// What became of it.
    pub outcome: Outcome,
}

/// What became of an act.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    /// What was done.
    pub operation: Operation,
    /// On what.
    pub scope: Scope,
    /// Why.
    pub reason: SafeText,
    /// Who, as the events record it.
    pub actor: SafeText,
    /// The filter that the jobs were found with, where there was one.
    pub query: Option<SafeText>,
    /// Jobs that were changed.
    pub applied: u64,
    /// Jobs that had changed since they were seen; left alone.
    pub stale: u64,
    /// Jobs in a state that the operation may not leave; left alone.
    pub refused: u64,
    /// Jobs that are not there.
    pub not_found: u64,
    /// Jobs of a plan that wait for their turn.
    pub waiting: u64,
    /// The first jobs with their outcomes, at most [`NAMED_MAX`].
    pub jobs: Vec<Line>,
}

impl Receipt {
    /// Nothing was done yet.
    pub fn new(operation: Operation, reason: &str, actor: &str) -> Self {
        Self {
            operation,
            scope: Scope::Jobs,
            reason: SafeText::new(reason),
            actor: SafeText::new(actor),
            query: None,
            applied: 0,
            stale: 0,
            refused: 0,
            not_found: 0,
            waiting: 0,
            jobs: Vec::new(),
        }
    }

    /// The receipt of a plan, as it stands.
    pub fn of_plan(plan: &Plan) -> Self {
        let done = plan.progress;
        Self {
            scope: Scope::Plan(plan.id),
            query: Some(plan.query.clone()).filter(|query| !query.as_str().is_empty()),
            applied: done.open + done.succeeded + done.failed,
            stale: done.stale,
            refused: done.refused,
            not_found: done.missing,
            waiting: done.waiting,
            ..Self::new(plan.operation, plan.reason.as_str(), plan.actor.as_str())
        }
    }

    /// Counts what became of one job.
    pub fn add(&mut self, job: Uuid, outcome: Outcome) {
        match outcome {
            Outcome::Applied { .. } => self.applied += 1,
            Outcome::Stale { .. } => self.stale += 1,
            Outcome::Refused { .. } => self.refused += 1,
            Outcome::NotFound => self.not_found += 1,
        }
        if self.jobs.len() < NAMED_MAX {
            self.jobs.push(Line { job, outcome });
        }
    }

    /// Whether everything that was asked for was done, or is on its way.
    pub const fn is_whole(&self) -> bool {
        self.stale == 0 && self.refused == 0 && self.not_found == 0
    }

    /// The counts in one line, e.g. `redrive: 1 applied, 0 stale, 0 refused, 0 not found`.
    pub fn summary(&self) -> String {
        let mut text = format!(
            "{}: {} applied, {} stale, {} refused, {} not found",
            self.operation.name(),
            self.applied,
            self.stale,
            self.refused,
            self.not_found
        );
        if self.waiting > 0 {
            let waiting = format!(", {} waiting", self.waiting);
            text.push_str(&waiting);
        }
        text
    }

    /// The command line that does the same, or shows the same plan.
    pub fn command(&self) -> String {
        let verb = self.operation.name();
        let reason = quoted(self.reason.as_str());
        match (&self.scope, &self.query, self.jobs.as_slice()) {
            (Scope::Plan(plan), _, _) => format!("ledgertop plan show {plan}"),
            (Scope::Jobs, _, []) => format!("ledgertop {verb} --reason {reason}"),
            (Scope::Jobs, _, lines) => {
                let jobs: Vec<String> = lines.iter().map(|line| line.job.to_string()).collect();
                format!("ledgertop {verb} {} --reason {reason}", jobs.join(" "))
            }
        }
    }

    /// Text to paste into the incident.
    pub fn text(&self) -> String {
        let mut text = format!(
            "{}\nby {}\nwhy: {}\n",
            self.summary(),
            self.actor,
            self.reason
        );
        if let Some(query) = &self.query {
            push(&mut text, format_args!("jobs: {query}"));
        }
        if let Scope::Plan(plan) = &self.scope {
            push(&mut text, format_args!("plan: {plan}"));
        }
        for line in &self.jobs {
            push(
                &mut text,
                format_args!("{} {}", line.job, said(line.outcome)),
            );
        }
        let named = u64::try_from(self.jobs.len()).unwrap_or(u64::MAX);
        let all = self.applied + self.stale + self.refused + self.not_found;
        if self.scope == Scope::Jobs && all > named {
            push(&mut text, format_args!("and {} more", all - named));
        }
        push(&mut text, format_args!("$ {}", self.command()));
        text
    }
}

fn push(text: &mut String, line: std::fmt::Arguments<'_>) {
    // Writing to a String cannot fail.
    if writeln!(text, "{line}").is_err() {
        text.push('\n');
    }
}

/// What became of a job, in words.
pub fn said(outcome: Outcome) -> String {
    match outcome {
        Outcome::Applied { state, version } => format!("applied: now {state}, version {version}"),
        Outcome::Stale { state, version } => format!(
            "stale: it changed since it was seen and is {state} in version {version}; left alone, \
             look again"
        ),
        Outcome::Refused { state, .. } => refused(state),
        Outcome::NotFound => "not found: there is no such job".to_owned(),
    }
}

fn refused(state: State) -> String {
    format!("refused: no such move from {state}; left alone")
}

/// A word for a shell, in single quotes.
pub fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_receipt_counts_names_and_repeats_itself_as_a_command() {
        let job = Uuid::nil();
        let mut receipt = Receipt::new(Operation::Redrive, "it's\u{1b} mended", "ada (os:ada)");
        let (state, version) = (State::Ready, 5);
        receipt.add(job, Outcome::Applied { state, version });
        assert!(receipt.is_whole());
        receipt.add(job, Outcome::Stale { state, version });
        receipt.add(job, Outcome::Refused { state, version });
        receipt.add(job, Outcome::NotFound);
        assert!(!receipt.is_whole());
        assert_eq!(
            receipt.summary(),
            "redrive: 1 applied, 1 stale, 1 refused, 1 not found"
        );
        let text = receipt.text();
        assert!(
            text.contains("by ada (os:ada)\nwhy: it's␛ mended\n"),
            "{text}"
        );
        assert!(
            text.contains(&format!(
                "$ ledgertop redrive {job} {job} {job} {job} --reason 'it'\\''s␛ mended'"
            )),
            "{text}"
        );
    }

    #[test]
    fn a_long_receipt_names_the_first_and_counts_the_rest() {
        let mut receipt = Receipt::new(Operation::Discard, "reviewed", "ada");
        for _job in 0..NAMED_MAX + 3 {
            receipt.add(Uuid::nil(), Outcome::NotFound);
        }
        assert_eq!(receipt.jobs.len(), NAMED_MAX);
        assert!(receipt.text().contains("and 3 more"), "{}", receipt.text());
    }
}

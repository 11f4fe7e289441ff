//! What a person asks for: the filter language of the console and the command line, as meaning.
//!
//! A [`Query`] is a conjunction: every field named must hold. The same field named twice with a
//! value, without `!`, means either of the two (`queue:mail queue:sms`, `attempts:3 attempts:4`);
//! with `!`, neither. What compares or limits (`age>10m age<1h`, `since:`, `until:`, words of the
//! error) holds all at once. A test of something that a job does not have is false, and its
//! negation true. Text is read by one parser for both places, and [`Query`] shows itself again in
//! the same language. It knows no database: `store` turns it into bound values. Next:
//! `query/parse.rs`, then `store::look`.

use std::time::Duration;

use uuid::Uuid;

use super::error_class::ErrorClass;
use super::state::State;
use super::time::Timestamp;
use super::view::JobOrder;

pub mod complete;
pub mod field;
pub mod parse;
pub mod problem;
mod show;

pub use complete::{Candidate, Completion, Known, complete};
pub use parse::parse;
pub use problem::QueryError;

/// What must be true of a job. An empty query is true of every job.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Query {
    /// In the order in which they were written.
    pub terms: Vec<Term>,
}

/// One condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Term {
    /// Whether it must not hold (`!` before it).
    pub negated: bool,
    /// The condition.
    pub test: Test,
}

/// A text to be equal to, or to begin with when it was written with a `*` at its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pattern {
    /// Equal to this.
    Is(String),
    /// Begins with this.
    Begins(String),
}

/// How a number or a duration is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// `<`
    Less,
    /// `<=`
    AtMost,
    /// `=`, or nothing before the value
    Equal,
    /// `>=`
    AtLeast,
    /// `>`
    More,
}

/// What one condition asks of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Test {
    /// `id:` the job itself.
    Id(Uuid),
    /// `key:` the idempotency key.
    Key(Pattern),
    /// `queue:`
    Queue(Pattern),
    /// `kind:`
    Kind(Pattern),
    /// `tenant:`
    Tenant(Pattern),
    /// `state:`
    State(State),
    /// `class:` of the last failure.
    Class(ErrorClass),
    /// `reason:` of the last failure.
    Reason(Pattern),
    /// `worker:` the holder of the lease.
    Worker(Pattern),
    /// `policy:`
    Policy(Pattern),
    /// `parent:` the parent's key.
    Parent(Pattern),
    /// `plan:` a plan that touched the job.
    Plan(Uuid),
    /// `age` the time since the present state was entered; `=` to the second.
    Age(Comparison, Duration),
    /// `attempts` counted in this drive.
    Attempts(Comparison, u32),
    /// `redrives`
    Redrives(Comparison, u32),
    /// `unsettled` the attempts that began and whose outcome nobody reported.
    Unsettled(Comparison, u32),
    /// `since:` the present state was entered at or after this moment.
    Since(Timestamp),
    /// `until:` the present state was entered before this moment.
    Until(Timestamp),
    /// Words in the last failure's message, upper and lower case of ASCII alike.
    Error(String),
}

impl Query {
    /// The states that a job may be in for this to hold; all of them where it does not say.
    pub fn states(&self) -> Vec<State> {
        let named = |negated| {
            self.terms.iter().filter_map(move |term| {
                if let Test::State(state) = term.test {
                    (term.negated == negated).then_some(state)
                } else {
                    None
                }
            })
        };
        let wanted: Vec<State> = named(false).collect();
        let unwanted: Vec<State> = named(true).collect();
        // Only a running job has a worker.
        let held = self
            .terms
            .iter()
            .any(|term| !term.negated && matches!(term.test, Test::Worker(_)));
        State::ALL
            .into_iter()
            .filter(|state| wanted.is_empty() || wanted.contains(state))
            .filter(|state| !unwanted.contains(state))
            .filter(|state| !held || *state == State::Running)
            .collect()
    }

    /// The order in which its jobs are listed where nobody asks for another: the longest in their
    /// state first among jobs that wait for something, and the last created first where jobs that
    /// are done are among them, of which there are ever more.
    pub fn natural_order(&self) -> JobOrder {
        if self.states().iter().any(|state| state.is_terminal()) {
            JobOrder::CreatedLast
        } else {
            JobOrder::OldestFirst
        }
    }
}

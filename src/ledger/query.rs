//! What a person asks for: the filter language of the console and the command line, as meaning.
//!
//! A [`Query`] is a conjunction: every field named must hold. The same field named twice, without
//! `!`, means either of the two (`queue:mail queue:sms`); with `!`, neither. Text is read by one
//! parser for both places, and [`Query`] shows itself again in the same language. It knows no
//! database: `store` turns it into bound values. Next: `store::look`.

use std::time::Duration;

use uuid::Uuid;

use super::error_class::ErrorClass;
use super::state::State;
use super::time::Timestamp;

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
    /// `plan:` the plan that touched the job last.
    Plan(Uuid),
    /// `age` the time since the present state was entered.
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
    /// Words in the last failure's message, upper and lower case alike.
    Error(String),
}

//! The fields of the filter language: their names, what their values are, and what they are for.
//!
//! One list feeds the parser, completion and help. Next: `parse.rs`.

use std::time::Duration;

use uuid::Uuid;

use super::{Comparison, Pattern, Test};
use crate::ledger::time::Timestamp;

/// A field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Field {
    /// `queue:`
    Queue,
    /// `state:`
    State,
    /// `reason:`
    Reason,
    /// `class:`
    Class,
    /// `tenant:`
    Tenant,
    /// `key:`
    Key,
    /// `id:`
    Id,
    /// `kind:`
    Kind,
    /// `worker:`
    Worker,
    /// `age`
    Age,
    /// `attempts`
    Attempts,
    /// `redrives`
    Redrives,
    /// `unsettled`
    Unsettled,
    /// `since:`
    Since,
    /// `until:`
    Until,
    /// `policy:`
    Policy,
    /// `parent:`
    Parent,
    /// `plan:`
    Plan,
}

/// What values of a field are, and the test that one makes.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// Text, with `*` behind it where it only begins so.
    Text(fn(Pattern) -> Test),
    /// A state.
    State,
    /// A class.
    Class,
    /// An id.
    Id(fn(Uuid) -> Test),
    /// A number, compared.
    Number(fn(Comparison, u32) -> Test),
    /// A span of time, compared.
    Span(fn(Comparison, Duration) -> Test),
    /// A moment.
    Moment(fn(Timestamp) -> Test),
}

impl Field {
    /// Every field, in the order in which they are offered.
    pub const ALL: [Self; 18] = [
        Self::Queue,
        Self::State,
        Self::Reason,
        Self::Class,
        Self::Tenant,
        Self::Key,
        Self::Id,
        Self::Kind,
        Self::Worker,
        Self::Age,
        Self::Attempts,
        Self::Redrives,
        Self::Unsettled,
        Self::Since,
        Self::Until,
        Self::Policy,
        Self::Parent,
        Self::Plan,
    ];

    /// The name as it is typed.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Queue => "queue",
            Self::State => "state",
            Self::Reason => "reason",
            Self::Class => "class",
            Self::Tenant => "tenant",
            Self::Key => "key",
            Self::Id => "id",
            Self::Kind => "kind",
            Self::Worker => "worker",
            Self::Age => "age",
            Self::Attempts => "attempts",
            Self::Redrives => "redrives",
            Self::Unsettled => "unsettled",
            Self::Since => "since",
            Self::Until => "until",
            Self::Policy => "policy",
            Self::Parent => "parent",
            Self::Plan => "plan",
        }
    }

    /// The field of that name, if there is one.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|field| field.name() == name)
    }

    /// Whether the last word of `text` may yet become the name of a field: `sta`, which is no word
    /// to be looked for while it is being typed.
    pub fn is_begun_by(text: &str) -> bool {
        let last = text.rsplit(char::is_whitespace).next().unwrap_or_default();
        let word = last.strip_prefix('!').unwrap_or(last);
        !word.is_empty() && Self::ALL.iter().any(|field| field.name().starts_with(word))
    }

    /// What its values are.
    pub const fn kind(self) -> Kind {
        match self {
            Self::Queue => Kind::Text(Test::Queue),
            Self::Reason => Kind::Text(Test::Reason),
            Self::Tenant => Kind::Text(Test::Tenant),
            Self::Key => Kind::Text(Test::Key),
            Self::Kind => Kind::Text(Test::Kind),
            Self::Worker => Kind::Text(Test::Worker),
            Self::Policy => Kind::Text(Test::Policy),
            Self::Parent => Kind::Text(Test::Parent),
            Self::State => Kind::State,
            Self::Class => Kind::Class,
            Self::Id => Kind::Id(Test::Id),
            Self::Plan => Kind::Id(Test::Plan),
            Self::Attempts => Kind::Number(Test::Attempts),
            Self::Redrives => Kind::Number(Test::Redrives),
            Self::Unsettled => Kind::Number(Test::Unsettled),
            Self::Age => Kind::Span(Test::Age),
            Self::Since => Kind::Moment(Test::Since),
            Self::Until => Kind::Moment(Test::Until),
        }
    }

    /// The sign that usually follows the name.
    pub const fn sign(self) -> &'static str {
        match self.kind() {
            Kind::Text(_) | Kind::State | Kind::Class | Kind::Id(_) | Kind::Moment(_) => ":",
            Kind::Number(_) => ">=",
            Kind::Span(_) => ">",
        }
    }

    /// What it asks, for help and completion.
    pub const fn about(self) -> &'static str {
        match self {
            Self::Queue => "the queue",
            Self::State => "the state",
            Self::Reason => "the last failure's reason",
            Self::Class => "the last failure's class",
            Self::Tenant => "the tenant",
            Self::Key => "the idempotency key",
            Self::Id => "the job's id",
            Self::Kind => "what is to be done",
            Self::Worker => "who holds the lease",
            Self::Age => "how long in the present state",
            Self::Attempts => "attempts counted in this drive",
            Self::Redrives => "how often sent back",
            Self::Unsettled => "attempts whose outcome is unknown",
            Self::Since => "in the present state since this moment or later",
            Self::Until => "in the present state since before this moment",
            Self::Policy => "the retry policy",
            Self::Parent => "the parent's key",
            Self::Plan => "a plan that touched it",
        }
    }
}

//! Rows of `jobs` and `job_events` as an audit keeps them: text becomes a state, a kind, a class,
//! or an [`Unreadable`] that says which column could not be understood.
//!
//! Unlike [`crate::store::row`], which refuses what it cannot read, this hands it on: a ledger is
//! audited because something may be wrong with it. SQLite hands a row out as a JSON array in the
//! order of the fields here, with moments in milliseconds.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer};

use crate::ledger::audit::{
    Children, CurrentRow, Doing, Entry, LastFailure, Moment, PolicyRef, Unreadable,
};
use crate::ledger::error_class::ErrorClass;
use crate::ledger::event::{ActorKind, EventKind};
use crate::ledger::state::State;
use crate::ledger::text::SafeText;

/// How much of a value that cannot be understood is shown, in characters.
const SHOWN_MAX: usize = 80;

/// Text as a database hands it out.
pub(in crate::store) type Text<'r> = Cow<'r, str>;

/// The columns that rows and events share.
#[derive(Debug, Deserialize)]
pub(in crate::store) struct RawCommon<'r> {
    pub(in crate::store) version: i64,
    #[serde(borrow)]
    pub(in crate::store) queue: Text<'r>,
    pub(in crate::store) attempt: i64,
    pub(in crate::store) fence: i64,
    #[serde(borrow)]
    pub(in crate::store) event: Text<'r>,
    #[serde(borrow)]
    pub(in crate::store) actor_kind: Text<'r>,
    #[serde(borrow)]
    pub(in crate::store) actor: Text<'r>,
    pub(in crate::store) note: Option<Text<'r>>,
    pub(in crate::store) plan: Option<Text<'r>>,
    pub(in crate::store) worker: Option<Text<'r>>,
    pub(in crate::store) error_class: Option<Text<'r>>,
    pub(in crate::store) reason: Option<Text<'r>>,
    pub(in crate::store) error: Option<Text<'r>>,
    #[serde(borrow)]
    pub(in crate::store) policy: Text<'r>,
    pub(in crate::store) policy_version: i64,
    #[serde(deserialize_with = "millis_if")]
    pub(in crate::store) first_attempt_at: Option<Moment>,
    #[serde(deserialize_with = "millis_if")]
    pub(in crate::store) lease_expires_at: Option<Moment>,
    pub(in crate::store) output_ref: Option<Text<'r>>,
}

/// A row of `job_events` as it is stored.
#[derive(Debug, Deserialize)]
pub(in crate::store) struct RawEntry<'r> {
    #[serde(borrow)]
    pub(in crate::store) common: RawCommon<'r>,
    #[serde(deserialize_with = "millis")]
    pub(in crate::store) at: Moment,
    pub(in crate::store) from_state: Option<Text<'r>>,
    #[serde(deserialize_with = "millis_if")]
    pub(in crate::store) from_since: Option<Moment>,
    #[serde(borrow)]
    pub(in crate::store) to_state: Text<'r>,
    #[serde(deserialize_with = "millis_if")]
    pub(in crate::store) available_at: Option<Moment>,
    #[serde(deserialize_with = "millis_if")]
    pub(in crate::store) from_lease_expires_at: Option<Moment>,
    pub(in crate::store) idempotency_key: Option<Text<'r>>,
}

/// A row of `jobs` as it is stored.
#[derive(Debug, Deserialize)]
pub(in crate::store) struct RawRow<'r> {
    #[serde(borrow)]
    pub(in crate::store) common: RawCommon<'r>,
    #[serde(borrow)]
    pub(in crate::store) idempotency_key: Text<'r>,
    #[serde(deserialize_with = "millis")]
    pub(in crate::store) created_at: Moment,
    #[serde(borrow)]
    pub(in crate::store) state: Text<'r>,
    #[serde(deserialize_with = "millis")]
    pub(in crate::store) state_since: Moment,
    #[serde(deserialize_with = "millis")]
    pub(in crate::store) updated_at: Moment,
    pub(in crate::store) redrives: i64,
    pub(in crate::store) unsettled: i64,
    #[serde(deserialize_with = "millis")]
    pub(in crate::store) available_at: Moment,
    /// 0: not awaited; 1: all have succeeded; 2: one has not.
    pub(in crate::store) children: i64,
}

impl RawEntry<'_> {
    /// The event, if every column can be understood.
    pub(in crate::store) fn check(self) -> Result<Entry, Unreadable> {
        let version = self.common.version;
        self.read().map_err(|unreadable| Unreadable {
            version: Some(version),
            ..unreadable
        })
    }

    fn read(self) -> Result<Entry, Unreadable> {
        let common = self.common;
        let doing = common.doing()?;
        let failure = common.failure()?;
        let from = match &self.from_state {
            Some(name) => Some(state("from_state", name)?),
            None => None,
        };
        Ok(Entry {
            version: counter("version", common.version)?,
            at: self.at,
            doing,
            from,
            from_since: self.from_since,
            to: state("to_state", &self.to_state)?,
            queue: SafeText::new(&common.queue),
            attempt: counter("attempt", common.attempt)?,
            fence: counter("fence", common.fence)?,
            worker: safe(common.worker.as_ref()),
            failure,
            policy: common.policy()?,
            first_attempt_at: common.first_attempt_at,
            available_at: self.available_at,
            lease_expires_at: common.lease_expires_at,
            from_lease_expires_at: self.from_lease_expires_at,
            output_ref: safe(common.output_ref.as_ref()),
            idempotency_key: safe(self.idempotency_key.as_ref()),
        })
    }
}

impl RawRow<'_> {
    /// The row, if every column can be understood.
    pub(in crate::store) fn check(self) -> Result<CurrentRow, Unreadable> {
        let common = self.common;
        Ok(CurrentRow {
            idempotency_key: SafeText::new(&self.idempotency_key),
            queue: SafeText::new(&common.queue),
            created_at: self.created_at,
            state: state("state", &self.state)?,
            state_since: self.state_since,
            updated_at: self.updated_at,
            version: counter("version", common.version)?,
            fence: counter("fence", common.fence)?,
            attempt: counter("attempt", common.attempt)?,
            redrives: counter("redrives", self.redrives)?,
            unsettled: counter("unsettled", self.unsettled)?,
            available_at: self.available_at,
            first_attempt_at: common.first_attempt_at,
            worker: safe(common.worker.as_ref()),
            lease_expires_at: common.lease_expires_at,
            policy: common.policy()?,
            output_ref: safe(common.output_ref.as_ref()),
            failure: common.failure()?,
            doing: common.doing()?,
            children: match self.children {
                0 => Children::NotAwaited,
                1 => Children::Done,
                _ => Children::Open,
            },
        })
    }
}

impl RawCommon<'_> {
    fn doing(&self) -> Result<Doing, Unreadable> {
        Ok(Doing {
            event: EventKind::parse(&self.event).ok_or_else(|| unreadable("event", &self.event))?,
            actor_kind: ActorKind::parse(&self.actor_kind)
                .ok_or_else(|| unreadable("actor_kind", &self.actor_kind))?,
            actor: SafeText::new(&self.actor),
            note: safe(self.note.as_ref()),
            plan: safe(self.plan.as_ref()),
        })
    }

    fn failure(&self) -> Result<LastFailure, Unreadable> {
        let class = match &self.error_class {
            Some(name) => {
                Some(ErrorClass::parse(name).ok_or_else(|| unreadable("error_class", name))?)
            }
            None => None,
        };
        Ok(LastFailure {
            class,
            reason: safe(self.reason.as_ref()),
            error: safe(self.error.as_ref()),
        })
    }

    fn policy(&self) -> Result<PolicyRef, Unreadable> {
        Ok(PolicyRef {
            name: SafeText::new(&self.policy),
            version: counter("policy_version", self.policy_version)?,
        })
    }
}

fn millis<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Moment, D::Error> {
    i64::deserialize(deserializer).map(Moment::from_millis)
}

fn millis_if<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Moment>, D::Error> {
    let millis = Option::<i64>::deserialize(deserializer)?;
    Ok(millis.map(Moment::from_millis))
}

/// A row whose columns hold values of other types than they should.
pub(in crate::store) fn misshapen(version: Option<i64>, error: &serde_json::Error) -> Unreadable {
    Unreadable {
        version,
        ..unreadable("*", &error.to_string())
    }
}

fn unreadable(column: &'static str, value: &str) -> Unreadable {
    let value: String = value.chars().take(SHOWN_MAX).collect();
    Unreadable {
        version: None,
        column,
        value: SafeText::new(&value),
    }
}

fn state(column: &'static str, name: &str) -> Result<State, Unreadable> {
    State::parse(name).ok_or_else(|| unreadable(column, name))
}

fn counter(column: &'static str, value: i64) -> Result<u32, Unreadable> {
    u32::try_from(value).map_err(|_out_of_range| unreadable(column, &value.to_string()))
}

fn safe(text: Option<&Text<'_>>) -> Option<SafeText> {
    text.map(|text| SafeText::new(text))
}

//! Conditions as pieces: text that this program holds, and values that are bound.
//!
//! A [`Clause`] can only be made of `&'static str` and [`Value`], so no value of a person or of a
//! job ever becomes SQL text, and it is made of plain conditions, so that a planner sees which
//! index serves them. Owns what each test of the filter language means as a condition; the words in
//! which databases differ come from a [`Dialect`]. Next: `path.rs`.

use std::time::Duration;

use uuid::Uuid;

use crate::ledger::error_class::ErrorClass;
use crate::ledger::query::{Comparison, Pattern, Query, Term, Test};
use crate::ledger::state::State;

/// A value to be bound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::store) enum Value {
    /// Text.
    Text(String),
    /// A number, also of rows.
    Number(i64),
    /// A moment, in microseconds since 1970-01-01 UTC.
    Moment(i64),
    /// A job's id, or a plan's.
    Id(Uuid),
}

/// A part of a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::store) enum Piece {
    /// Text of this program.
    Sql(&'static str),
    /// A value, where the statement has a parameter.
    Bound(Value),
}

/// Pieces in order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(in crate::store) struct Clause(Vec<Piece>);

/// The words in which databases differ.
#[derive(Debug, Clone, Copy)]
pub(in crate::store) struct Dialect {
    /// How a text that begins with another is found.
    pub(in crate::store) begins: Begins,
    /// A function of a text and a part of it: the place of the part, 0 where there is none.
    pub(in crate::store) place_of: &'static str,
    /// What follows the number of rows after LIMIT.
    pub(in crate::store) limit_end: &'static str,
    /// A job of a state, in the words of the partial index that holds it.
    pub(in crate::store) branch: fn(super::Branch) -> &'static str,
}

/// How a text that begins with another is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::store) enum Begins {
    /// By a pattern of LIKE.
    Like,
    /// By being between it and the first text that comes after all that begin with it.
    Range,
}

impl Clause {
    /// Adds text.
    pub(in crate::store) fn sql(&mut self, text: &'static str) -> &mut Self {
        self.0.push(Piece::Sql(text));
        self
    }

    /// Adds a value.
    pub(in crate::store) fn bind(&mut self, value: Value) -> &mut Self {
        self.0.push(Piece::Bound(value));
        self
    }

    /// Adds another clause.
    pub(in crate::store) fn add(&mut self, other: &Self) -> &mut Self {
        self.0.extend_from_slice(&other.0);
        self
    }

    /// The pieces, in order.
    pub(in crate::store) fn pieces(self) -> Vec<Piece> {
        self.0
    }

    /// Adds clauses with `between` between them.
    fn join(&mut self, clauses: &[Self], between: &'static str) -> &mut Self {
        for (place, clause) in clauses.iter().enumerate() {
            if place > 0 {
                self.sql(between);
            }
            self.add(clause);
        }
        self
    }
}

/// All that must hold of a job `j`, but for its state: ` AND a AND b`, or nothing.
pub(in crate::store) fn conditions(query: &Query, dialect: &Dialect, now_us: i64) -> Clause {
    let mut all = Clause::default();
    let mut done = Vec::new();
    for term in &query.terms {
        if matches!(term.test, Test::State(_)) || done.contains(&term) {
            continue;
        }
        all.sql(" AND ");
        if is_alternative(term) {
            let same: Vec<&Term> = query
                .terms
                .iter()
                .filter(|other| is_alternative(other) && same_field(other, term))
                .collect();
            let tests: Vec<Clause> = same
                .iter()
                .map(|term| condition(&term.test, dialect, now_us))
                .collect();
            all.sql("(").join(&tests, " OR ").sql(")");
            done.extend(same);
        } else if term.negated {
            let test = condition(&term.test, dialect, now_us);
            all.sql("(").add(&test).sql(") IS NOT TRUE");
        } else {
            all.add(&condition(&term.test, dialect, now_us));
        }
    }
    all
}

/// That a job `j` is in one of `states`: ` AND (...)`, or nothing where it may be in any.
pub(in crate::store) fn in_states(states: &[State]) -> Clause {
    let mut clause = Clause::default();
    if states.len() == State::ALL.len() {
        return clause;
    }
    clause.sql(" AND j.state IN (");
    for (place, state) in states.iter().enumerate() {
        if place > 0 {
            clause.sql(", ");
        }
        clause.sql(literal(*state));
    }
    if states.is_empty() {
        clause.sql("NULL");
    }
    clause.sql(")");
    clause
}

const fn literal(state: State) -> &'static str {
    match state {
        State::Pending => "'pending'",
        State::Ready => "'ready'",
        State::Running => "'running'",
        State::RetryWait => "'retry_wait'",
        State::Succeeded => "'succeeded'",
        State::Dead => "'dead'",
        State::Quarantined => "'quarantined'",
        State::Discarded => "'discarded'",
    }
}

/// Whether a term is one of several values, of which any will do.
fn is_alternative(term: &Term) -> bool {
    !term.negated
        && match &term.test {
            Test::Id(_)
            | Test::Key(_)
            | Test::Queue(_)
            | Test::Kind(_)
            | Test::Tenant(_)
            | Test::State(_)
            | Test::Class(_)
            | Test::Reason(_)
            | Test::Worker(_)
            | Test::Policy(_)
            | Test::Parent(_)
            | Test::Plan(_) => true,
            Test::Age(comparison, _)
            | Test::Attempts(comparison, _)
            | Test::Redrives(comparison, _)
            | Test::Unsettled(comparison, _) => *comparison == Comparison::Equal,
            Test::Since(_) | Test::Until(_) | Test::Error(_) => false,
        }
}

fn same_field(one: &Term, other: &Term) -> bool {
    std::mem::discriminant(&one.test) == std::mem::discriminant(&other.test)
}

/// One test of a job `j`.
fn condition(test: &Test, dialect: &Dialect, now_us: i64) -> Clause {
    let mut clause = Clause::default();
    match test {
        Test::Id(id) => clause.sql("j.id = ").bind(Value::Id(*id)),
        Test::Plan(id) => clause
            .sql("j.id IN (SELECT e.job_id FROM job_events e WHERE e.plan = ")
            .bind(Value::Id(*id))
            .sql(")"),
        Test::Key(pattern) => text(&mut clause, "j.idempotency_key", pattern, dialect),
        Test::Queue(pattern) => text(&mut clause, "j.queue", pattern, dialect),
        Test::Kind(pattern) => text(&mut clause, "j.kind", pattern, dialect),
        Test::Tenant(pattern) => text(&mut clause, "j.tenant", pattern, dialect),
        Test::Reason(pattern) => text(&mut clause, "j.reason", pattern, dialect),
        Test::Worker(pattern) => text(&mut clause, "j.worker", pattern, dialect),
        Test::Policy(pattern) => text(&mut clause, "j.policy", pattern, dialect),
        Test::Parent(pattern) => text(&mut clause, "j.parent_key", pattern, dialect),
        Test::State(state) => clause.sql("j.state = ").sql(literal(*state)),
        Test::Class(class) => clause.sql("j.error_class = ").sql(match class {
            ErrorClass::Transient => "'transient'",
            ErrorClass::Permanent => "'permanent'",
            ErrorClass::Unknown => "'unknown'",
        }),
        Test::Age(comparison, age) => since(&mut clause, *comparison, *age, now_us),
        Test::Attempts(comparison, number) => count(clause.sql("j.attempt"), *comparison, *number),
        Test::Redrives(comparison, number) => count(clause.sql("j.redrives"), *comparison, *number),
        Test::Unsettled(comparison, number) => {
            count(clause.sql("j.unsettled"), *comparison, *number)
        }
        Test::Since(moment) => clause
            .sql("j.state_since >= ")
            .bind(Value::Moment(moment.millis().saturating_mul(1_000))),
        Test::Until(moment) => clause
            .sql("j.state_since < ")
            .bind(Value::Moment(moment.millis().saturating_mul(1_000))),
        Test::Error(words) => clause
            .sql(dialect.place_of)
            .sql("(lower(j.error), lower(")
            .bind(Value::Text(without_nul(words)))
            .sql(")) > 0"),
    };
    clause
}

fn text<'c>(
    clause: &'c mut Clause,
    column: &'static str,
    pattern: &Pattern,
    dialect: &Dialect,
) -> &'c mut Clause {
    match (pattern, dialect.begins) {
        (Pattern::Is(text), _) => clause
            .sql(column)
            .sql(" = ")
            .bind(Value::Text(without_nul(text))),
        (Pattern::Begins(start), Begins::Like) => clause
            .sql(column)
            .sql(" LIKE ")
            .bind(Value::Text(like(&without_nul(start)))),
        (Pattern::Begins(start), Begins::Range) => {
            clause
                .sql("(")
                .sql(column)
                .sql(" >= ")
                .bind(Value::Text(start.clone()));
            if let Some(end) = after_all_that_begin_with(start) {
                clause
                    .sql(" AND ")
                    .sql(column)
                    .sql(" < ")
                    .bind(Value::Text(end));
            }
            clause.sql(")")
        }
    }
}

/// Whether the state was entered so long ago. An age rises as the moment falls.
fn since(clause: &mut Clause, comparison: Comparison, age: Duration, now_us: i64) -> &mut Clause {
    let back = |by: Duration| {
        let by = i64::try_from(by.as_micros()).unwrap_or(i64::MAX);
        Value::Moment(now_us.saturating_sub(by))
    };
    clause.sql("j.state_since");
    match comparison {
        Comparison::Less => clause.sql(" > ").bind(back(age)),
        Comparison::AtMost => clause.sql(" >= ").bind(back(age)),
        Comparison::AtLeast => clause.sql(" <= ").bind(back(age)),
        Comparison::More => clause.sql(" < ").bind(back(age)),
        Comparison::Equal => clause
            .sql(" <= ")
            .bind(back(age))
            .sql(" AND j.state_since > ")
            .bind(back(age.saturating_add(Duration::from_secs(1)))),
    }
}

fn count(clause: &mut Clause, comparison: Comparison, number: u32) -> &mut Clause {
    let sign = match comparison {
        Comparison::Less => " < ",
        Comparison::AtMost => " <= ",
        Comparison::Equal => " = ",
        Comparison::AtLeast => " >= ",
        Comparison::More => " > ",
    };
    clause.sql(sign).bind(Value::Number(i64::from(number)))
}

/// No database keeps a NUL in text: one that was asked for is found nowhere, which a character that
/// is no text says as well.
fn without_nul(text: &str) -> String {
    text.replace('\0', "\u{fffe}")
}

/// A pattern of LIKE for what begins with `start`.
fn like(start: &str) -> String {
    let mut pattern = String::with_capacity(start.len() + 1);
    for each in start.chars() {
        if matches!(each, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(each);
    }
    pattern.push('%');
    pattern
}

/// The first text, in the order of characters, that comes after all that begin with `start`; `None`
/// where nothing does.
fn after_all_that_begin_with(start: &str) -> Option<String> {
    let mut end: Vec<char> = start.chars().collect();
    while let Some(last) = end.pop() {
        if let Some(next) = (u32::from(last) + 1..=0x0010_ffff).find_map(char::from_u32) {
            end.push(next);
            return Some(end.into_iter().collect());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_holds_no_sign_of_its_own() {
        assert_eq!(like(r"a_b%c\d"), r"a\_b\%c\\d%");
    }

    #[test]
    fn the_end_of_a_range_is_behind_all_that_begin_with_it() {
        let end = |start| after_all_that_begin_with(start);
        assert_eq!(end("mail").as_deref(), Some("maim"));
        assert_eq!(end("a\u{10ffff}").as_deref(), Some("b"));
        // Surrogates are no characters.
        assert_eq!(end("\u{d7ff}").as_deref(), Some("\u{e000}"));
        assert_eq!(end(""), None);
        assert_eq!(end("\u{10ffff}"), None);
    }
}

//! Dead letters in groups: alike in class, reason and the fingerprint of their error.

use crate::console::ask::{Answer, Request};
use crate::console::columns::dead_letters::Column;
use crate::ledger::error_class::ErrorClass;
use crate::ledger::event::Event;
use crate::ledger::query::{Pattern, Query, Term, Test};
use crate::ledger::state::State;
use crate::ledger::text::SafeText;
use crate::ledger::view::{Count, DeadLetterGroup, UnreadableJob};

use super::Reading;
use super::asking::{Asking, Looks, When, Wish};
use super::listing::{Item, Listing};
use super::query_line::{Filtered, QueryLine};

/// What tells a group from every other.
pub type GroupKey = (Option<ErrorClass>, Option<SafeText>, SafeText);

impl Item for DeadLetterGroup {
    type Key = GroupKey;
    // All groups come at once.
    type Cursor = ();

    fn key(&self) -> GroupKey {
        (self.class, self.reason.clone(), self.fingerprint.clone())
    }
}

/// An order of groups. Equal ones are listed by their key, so that an order never jumps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum GroupOrder {
    /// The largest first.
    #[default]
    Largest,
    /// The last one that got a job first.
    Latest,
    /// Those first of which most died again after a redrive.
    DiedAgain,
}

impl GroupOrder {
    /// The next of the cycle.
    const fn next(self) -> Self {
        match self {
            Self::Largest => Self::Latest,
            Self::Latest => Self::DiedAgain,
            Self::DiedAgain => Self::Largest,
        }
    }

    /// In words, for the pane's title.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Largest => "largest first",
            Self::Latest => "latest first",
            Self::DiedAgain => "died again most first",
        }
    }

    fn sort(self, groups: &mut [DeadLetterGroup]) {
        let size = |group: &DeadLetterGroup| group.dead.saturating_add(group.quarantined);
        groups.sort_by(|a, b| {
            let order = match self {
                Self::Largest => size(b).cmp(&size(a)),
                Self::Latest => b.last_at.cmp(&a.last_at),
                Self::DiedAgain => b.died_again.cmp(&a.died_again),
            };
            order.then_with(|| a.key().cmp(&b.key()))
        });
    }
}

/// Dead letters in groups.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DeadLettersState {
    /// Which.
    pub query: Query,
    /// The order of the groups.
    pub order: GroupOrder,
    /// The groups.
    pub list: Listing<DeadLetterGroup>,
    /// How many dead letters were grouped.
    pub counted: Option<Count>,
    /// How many dead letters are in groups that are not listed.
    pub beyond: u64,
    /// Dead letters that cannot be understood.
    pub unreadable: Vec<UnreadableJob>,
    /// The columns that are not shown.
    pub hidden: Vec<Column>,
    line: QueryLine,
    asking: Asking,
    /// The filter that the groups are of.
    held: Option<Query>,
}

impl DeadLettersState {
    /// Whether the groups are those that are asked for.
    pub fn is_held(&self) -> bool {
        self.held.as_ref() == Some(&self.query)
    }

    /// The next order of the cycle.
    pub fn sort(&mut self) {
        self.order = self.order.next();
        self.order.sort(&mut self.list.rows);
    }

    /// The filter for the jobs of a group, within the filter that the groups are of.
    pub fn jobs_of(&self, group: &DeadLetterGroup) -> Query {
        let mut query = self.query.clone();
        let named = query
            .terms
            .iter()
            .any(|term| !term.negated && matches!(term.test, Test::State(_)));
        if !named {
            let states = [State::Dead, State::Quarantined];
            query
                .terms
                .extend(states.map(|state| term(Test::State(state))));
        }
        query
            .terms
            .extend(group.class.map(|class| term(Test::Class(class))));
        let reason = group.reason.as_ref();
        query.terms.extend(
            reason.map(|reason| term(Test::Reason(Pattern::Is(reason.as_str().to_owned())))),
        );
        let words = literal_words(group.fingerprint.as_str());
        query
            .terms
            .extend(words.map(|words| term(Test::Error(words))));
        query
    }
}

const fn term(test: Test) -> Term {
    Term {
        negated: false,
        test,
    }
}

/// The most pieces of a fingerprint that are looked for: they tell one group from the others.
const PIECES_MAX: usize = 3;
/// Shorter pieces stand in every other message too.
const PIECE_MIN: usize = 4;

/// What stands in every error of a fingerprint as it is written: the longest pieces between what
/// was folded.
fn literal_words(fingerprint: &str) -> impl Iterator<Item = String> {
    let folded = ['#', '<', '>', '…', '*', '"', '\''];
    let mut pieces: Vec<&str> = fingerprint
        .split(folded)
        .map(str::trim)
        .filter(|piece| piece.len() >= PIECE_MIN && !matches!(*piece, "U+"))
        .collect();
    pieces.sort_by_key(|piece| std::cmp::Reverse(piece.len()));
    pieces.truncate(PIECES_MAX);
    pieces.into_iter().map(str::to_owned)
}

impl Filtered for DeadLettersState {
    fn query(&self) -> &Query {
        &self.query
    }

    fn line(&self) -> &QueryLine {
        &self.line
    }

    fn line_mut(&mut self) -> &mut QueryLine {
        &mut self.line
    }

    fn hold(&mut self, query: Query) {
        self.query = query;
        self.list.restart();
    }
}

impl Looks for DeadLettersState {
    fn wish(&self) -> Option<Wish> {
        let when = if self.is_held() {
            When::OnNews
        } else {
            When::Now
        };
        let request = Request::DeadLetters(self.query.clone());
        Some(Wish { request, when })
    }

    fn take(&mut self, request: &Request, answer: Answer, reading: Reading) {
        if let Answer::DeadLetters(found) = answer
            && *request == Request::DeadLetters(self.query.clone())
        {
            self.held = Some(self.query.clone());
            self.counted = Some(found.counted);
            self.beyond = found.beyond;
            self.unreadable = found.unreadable;
            let reading = Reading {
                as_of: found.as_of,
                ..reading
            };
            let mut groups = found.groups;
            self.order.sort(&mut groups);
            self.list.take(groups, None, reading);
        }
    }

    fn concerns(&self, event: &Event) -> bool {
        let is_dead_letter = |state| matches!(state, State::Dead | State::Quarantined);
        event.from.is_some_and(is_dead_letter) || is_dead_letter(event.to)
    }

    fn asking(&self) -> &Asking {
        &self.asking
    }

    fn asking_mut(&mut self) -> &mut Asking {
        &mut self.asking
    }
}

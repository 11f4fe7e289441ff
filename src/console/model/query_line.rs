//! The filter of a list: what holds, what is being typed, and what is wrong with it.
//!
//! The text is read with each key. While it is good, it filters already; while it is not, or ends
//! in what may yet become a field, the last good filter stays. Which query holds is the list's own;
//! this knows the text. Next: `update/filtering.rs`.

use crate::ledger::query::{self, Completion, Known, Query, QueryError, complete};

use super::field::Field;

/// The text of a filter.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct QueryLine {
    /// What holds, as it was written.
    text: String,
    /// What the screen was opened with.
    base: Query,
    typing: Option<Typing>,
}

/// A filter that is being typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Typing {
    /// What is typed.
    pub field: Field,
    /// What is wrong with it.
    pub mistake: Option<QueryError>,
    /// Which candidate is chosen.
    pub chosen: usize,
    /// What held before.
    before: (String, Query),
}

impl QueryLine {
    /// The line of a list that was opened with `query`.
    pub fn of(query: &Query) -> Self {
        Self {
            text: query.to_string(),
            base: query.clone(),
            typing: None,
        }
    }

    /// What is typed or holds.
    pub fn text(&self) -> &str {
        match &self.typing {
            Some(typing) => typing.field.text(),
            None => &self.text,
        }
    }

    /// What is being typed.
    pub const fn typing(&self) -> Option<&Typing> {
        self.typing.as_ref()
    }

    /// Begins to type, from what holds.
    pub fn edit(&mut self, query: &Query) {
        if self.typing.is_none() {
            self.typing = Some(Typing {
                field: Field::holding(&self.text),
                mistake: None,
                chosen: 0,
                before: (self.text.clone(), query.clone()),
            });
        }
    }

    /// Changes what is typed and reads it; returns what holds from now on, if that changed.
    pub fn change(
        &mut self,
        change: impl FnOnce(&mut Field),
        read: impl FnOnce(&str) -> Result<Query, QueryError>,
    ) -> Option<Query> {
        let typing = self.typing.as_mut()?;
        change(&mut typing.field);
        typing.chosen = 0;
        match read(typing.field.text()) {
            Ok(query) => {
                typing.mistake = None;
                // Else the list would be empty at each letter of `state`.
                (!query::field::Field::is_begun_by(typing.field.text())).then_some(query)
            }
            Err(mistake) => {
                typing.mistake = Some(mistake);
                None
            }
        }
    }

    /// Takes what was typed, unless it is mistaken; returns what holds from now on.
    pub fn accept(
        &mut self,
        read: impl FnOnce(&str) -> Result<Query, QueryError>,
    ) -> Option<Query> {
        let typing = self.typing.take_if(|typing| typing.mistake.is_none())?;
        typing.field.text().trim().clone_into(&mut self.text);
        read(&self.text).ok()
    }

    /// Out by one level: from typing to what held before, from a filter to the one that the screen
    /// was opened with. Returns what holds then; `None` where there was no level to leave.
    pub fn out(&mut self, query: &Query) -> Option<Query> {
        if let Some(typing) = self.typing.take() {
            let (text, query) = typing.before;
            self.text = text;
            return Some(query);
        }
        if *query == self.base {
            return None;
        }
        self.text = self.base.to_string();
        Some(self.base.clone())
    }

    /// Goes back to a filter that held before.
    pub fn restore(&mut self, query: &Query) {
        self.typing = None;
        self.text = query.to_string();
    }

    /// What may stand at the cursor.
    pub fn completion(&self, known: &Known<'_>) -> Completion {
        let text = self.text();
        complete(text, text.chars().count(), known)
    }

    /// Chooses another candidate, of `count`.
    pub fn choose(&mut self, count: usize, forward: bool) {
        if let Some(typing) = &mut self.typing
            && count > 0
        {
            let step = if forward { 1 } else { count - 1 };
            typing.chosen = (typing.chosen + step) % count;
        }
    }
}

/// A list that has a filter.
pub trait Filtered {
    /// What holds.
    fn query(&self) -> &Query;

    /// Its text.
    fn line(&self) -> &QueryLine;

    /// As [`Filtered::line`], to be changed.
    fn line_mut(&mut self) -> &mut QueryLine;

    /// Makes another query hold: the list begins anew, and its rows stay until others come.
    fn hold(&mut self, query: Query);
}

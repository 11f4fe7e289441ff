//! Text being typed, and the filter made of it.

use crate::ledger::text::is_hostile;

/// The longest text that a field takes, in characters: longer than any name in a ledger.
const LENGTH_MAX: usize = 256;

/// A line of text being typed; the cursor is at its end.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Field(String);

impl Field {
    /// A field that holds `text` already.
    pub fn holding(text: &str) -> Self {
        let mut field = Self::default();
        field.insert(text);
        field
    }

    /// What has been typed. It holds no control, bidi or invisible character.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// Adds typed or pasted text; characters that a terminal would obey are left out.
    pub fn insert(&mut self, text: &str) {
        let room = LENGTH_MAX.saturating_sub(self.0.chars().count());
        self.0
            .extend(text.chars().filter(|each| !is_hostile(*each)).take(room));
    }

    /// Takes the last character away.
    pub fn erase(&mut self) {
        self.0.pop();
    }

    /// Takes the last word away.
    pub fn erase_word(&mut self) {
        let kept = self.0.trim_end().rfind(' ').map_or(0, |space| space + 1);
        self.0.truncate(kept);
    }

    /// Empties the field.
    pub fn erase_all(&mut self) {
        self.0.clear();
    }
}

/// A text that names must hold, whatever the case of its letters.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Filter {
    /// None.
    #[default]
    Off,
    /// Being typed; it filters already.
    Typing {
        /// What is typed.
        field: Field,
        /// What it was before, to go back to.
        before: String,
    },
    /// Set.
    On(String),
}

impl Filter {
    /// The text; empty where there is none.
    pub fn text(&self) -> &str {
        match self {
            Self::Off => "",
            Self::Typing { field, .. } => field.text(),
            Self::On(text) => text,
        }
    }

    /// Whether it is being typed.
    pub const fn is_typing(&self) -> bool {
        matches!(self, Self::Typing { .. })
    }

    /// Whether `name` holds the text.
    pub fn admits(&self, name: &str) -> bool {
        let text = self.text();
        text.is_empty() || name.to_lowercase().contains(&text.to_lowercase())
    }

    /// Begins to type, from the text that is set.
    pub fn edit(&mut self) {
        let before = self.text().to_owned();
        *self = Self::Typing {
            field: Field::holding(&before),
            before,
        };
    }

    /// Takes what was typed.
    pub fn accept(&mut self) {
        *self = Self::of(self.text());
    }

    /// Out by one level: from typing to what it was before, from a filter to none. Returns whether
    /// there was a level to leave.
    pub fn out(&mut self) -> bool {
        let next = match self {
            Self::Off => return false,
            Self::Typing { before, .. } => Self::of(before),
            Self::On(_) => Self::Off,
        };
        *self = next;
        true
    }

    fn of(text: &str) -> Self {
        if text.is_empty() {
            Self::Off
        } else {
            Self::On(text.to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pasted_text_is_bounded_and_cannot_carry_controls() {
        let mut field = Field::default();
        field.insert("mail\u{1b}[2J\n\u{202e}box");
        assert_eq!(field.text(), "mail[2Jbox");
        field.insert(&"x".repeat(1_000));
        assert_eq!(field.text().chars().count(), LENGTH_MAX);
    }

    #[test]
    fn words_and_characters_are_taken_away() {
        let mut field = Field::holding("two words ");
        field.erase_word();
        assert_eq!(field.text(), "two ");
        field.erase();
        assert_eq!(field.text(), "two");
        field.erase_word();
        assert_eq!(field.text(), "");
        field.erase();
        assert_eq!(field.text(), "");
    }

    #[test]
    fn a_filter_is_left_level_by_level() {
        let mut filter = Filter::On("mail".to_owned());
        filter.edit();
        assert!(filter.is_typing() && filter.admits("MAILBOX") && !filter.admits("digest"));
        assert!(filter.out());
        assert_eq!(filter, Filter::On("mail".to_owned()));
        assert!(filter.out());
        assert_eq!(filter, Filter::Off);
        assert!(!filter.out());
    }
}

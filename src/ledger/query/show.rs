//! From a query to the text that means it: what is shown is read again as the same.
//!
//! Values stand as they are; who shows a query to a person does so through [`Query::shown`]. Next:
//! `complete.rs`.

use std::fmt::{self, Write as _};
use std::time::Duration;

use super::parse::UNITS;
use super::{Comparison, Pattern, Query, Term, Test};
use crate::ledger::text::SafeText;

impl Query {
    /// The text, safe to show.
    pub fn shown(&self) -> SafeText {
        SafeText::new(&self.to_string())
    }
}

impl fmt::Display for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, term) in self.terms.iter().enumerate() {
            if place > 0 {
                f.write_char(' ')?;
            }
            write!(f, "{term}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.negated {
            f.write_char('!')?;
        }
        match &self.test {
            Test::Id(id) => write!(f, "id:{id}"),
            Test::Plan(id) => write!(f, "plan:{id}"),
            Test::Key(pattern) => write!(f, "key:{pattern}"),
            Test::Queue(pattern) => write!(f, "queue:{pattern}"),
            Test::Kind(pattern) => write!(f, "kind:{pattern}"),
            Test::Tenant(pattern) => write!(f, "tenant:{pattern}"),
            Test::Reason(pattern) => write!(f, "reason:{pattern}"),
            Test::Worker(pattern) => write!(f, "worker:{pattern}"),
            Test::Policy(pattern) => write!(f, "policy:{pattern}"),
            Test::Parent(pattern) => write!(f, "parent:{pattern}"),
            Test::State(state) => write!(f, "state:{state}"),
            Test::Class(class) => write!(f, "class:{class}"),
            Test::Age(comparison, age) => write!(f, "age{comparison}{}", Span(*age)),
            Test::Attempts(comparison, number) => write!(f, "attempts{comparison}{number}"),
            Test::Redrives(comparison, number) => write!(f, "redrives{comparison}{number}"),
            Test::Unsettled(comparison, number) => write!(f, "unsettled{comparison}{number}"),
            Test::Since(moment) => write!(f, "since:{moment}"),
            Test::Until(moment) => write!(f, "until:{moment}"),
            Test::Error(words) => quoted(words, f),
        }
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Less => "<",
            Self::AtMost => "<=",
            Self::Equal => "=",
            Self::AtLeast => ">=",
            Self::More => ">",
        })
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (text, star) = match self {
            Self::Is(text) => (text, ""),
            Self::Begins(text) => (text, "*"),
        };
        if needs_quotes(text, star) {
            quoted(text, f)?;
        } else {
            f.write_str(text)?;
        }
        f.write_str(star)
    }
}

/// Whether a value must stand in quotes, with this behind it.
pub(super) fn needs_quotes(text: &str, star: &str) -> bool {
    text.is_empty() && star.is_empty()
        || text.starts_with('"')
        || text.ends_with('*')
        || text.contains(char::is_whitespace)
}

fn quoted(text: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_char('"')?;
    for each in text.chars() {
        if matches!(each, '"' | '\\') {
            f.write_char('\\')?;
        }
        f.write_char(each)?;
    }
    f.write_char('"')
}

/// A span in the units of the language; what is below a millisecond is left out.
struct Span(Duration);

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = u64::try_from(self.0.as_millis()).unwrap_or(u64::MAX);
        if rest == 0 {
            return f.write_str("0s");
        }
        for (unit, millis) in UNITS {
            let whole = rest.checked_div(millis).unwrap_or(0);
            if whole > 0 {
                write!(f, "{whole}{unit}")?;
                rest = rest.checked_rem(millis).unwrap_or(0);
            }
        }
        Ok(())
    }
}

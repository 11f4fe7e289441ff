//! Rust source taken apart into code and comments, line by line, as far as the rules need it.
//!
//! Owns knowing where a comment or a string begins and ends. It is no parser: code stays text, with
//! the contents of strings and characters blanked. Next: `code.rs`, the rules that read this.

/// One line of a file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Line {
    /// The code, without comments, and with nothing between the quotes of a string.
    pub(crate) code: String,
    /// The comment with its marker (`//`, `///`, `//!`), empty when there is none.
    pub(crate) comment: String,
}

/// Where the scanner stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Code,
    LineComment,
    /// Block comments nest; the number is how deep.
    BlockComment(usize),
    Text,
    /// The number is how many `#` end the raw string.
    RawText(usize),
}

/// Takes a file apart; the first line of the answer is line 1 of the file.
pub(crate) fn lines(text: &str) -> Vec<Line> {
    let mut scanner = Scanner {
        rest: text,
        place: Place::Code,
        lines: vec![Line::default()],
        before: ' ',
    };
    while let Some(next) = scanner.rest.chars().next() {
        scanner.step(next);
    }
    scanner.lines
}

struct Scanner<'a> {
    rest: &'a str,
    place: Place,
    lines: Vec<Line>,
    /// The last character of code, which tells `r"` from the end of a name.
    before: char,
}

impl Scanner<'_> {
    fn step(&mut self, next: char) {
        if next == '\n' {
            self.lines.push(Line::default());
            if self.place == Place::LineComment {
                self.place = Place::Code;
            }
            return self.skip(1);
        }
        match self.place {
            Place::Code => self.code(next),
            Place::LineComment => self.comment(next),
            Place::BlockComment(depth) => self.block_comment(next, depth),
            Place::Text => self.text(next),
            Place::RawText(hashes) => self.raw_text(hashes),
        }
    }

    fn code(&mut self, next: char) {
        if self.rest.starts_with("//") {
            self.place = Place::LineComment;
        } else if self.rest.starts_with("/*") {
            self.place = Place::BlockComment(0);
        } else if let Some(hashes) = self.opens_raw_text() {
            self.place = Place::RawText(hashes);
            self.keep('"');
            self.skip(hashes + 2);
        } else if next == '"' {
            self.place = Place::Text;
            self.keep(next);
            self.skip(1);
        } else if let Some(length) = character(self.rest) {
            self.keep('\'');
            self.keep('\'');
            self.skip(length);
        } else {
            self.keep(next);
            self.skip(1);
        }
    }

    /// The number of `#` when `r"`, `r#"`, ... begins here.
    fn opens_raw_text(&self) -> Option<usize> {
        if self.before.is_alphanumeric() && self.before != 'b' && self.before != 'c' {
            return None;
        }
        let after = self.rest.strip_prefix('r')?;
        let quote = after.trim_start_matches('#');
        quote.starts_with('"').then(|| after.len() - quote.len())
    }

    fn comment(&mut self, next: char) {
        if let Some(line) = self.lines.last_mut() {
            line.comment.push(next);
        }
        self.skip(next.len_utf8());
    }

    fn block_comment(&mut self, next: char, depth: usize) {
        if self.rest.starts_with("/*") {
            self.place = Place::BlockComment(depth + 1);
            self.skip(2);
        } else if self.rest.starts_with("*/") {
            self.place = if depth > 1 {
                Place::BlockComment(depth - 1)
            } else {
                Place::Code
            };
            self.skip(2);
        } else {
            self.comment(next);
        }
    }

    fn text(&mut self, next: char) {
        // An escaped line end stays, so that lines keep their numbers.
        let escaped = self.rest.starts_with("\\\"") || self.rest.starts_with("\\\\");
        if escaped {
            self.skip(2);
        } else {
            if next == '"' {
                self.place = Place::Code;
                self.keep(next);
            }
            self.skip(next.len_utf8());
        }
    }

    fn raw_text(&mut self, hashes: usize) {
        let after = self.rest.strip_prefix('"').unwrap_or_default();
        if self.rest.starts_with('"') && after.bytes().take_while(|b| *b == b'#').count() >= hashes
        {
            self.place = Place::Code;
            self.keep('"');
            self.skip(hashes + 1);
        } else {
            self.skip(self.rest.chars().next().map_or(0, char::len_utf8));
        }
    }

    fn keep(&mut self, next: char) {
        self.before = next;
        if let Some(line) = self.lines.last_mut() {
            line.code.push(next);
        }
    }

    fn skip(&mut self, bytes: usize) {
        self.rest = self.rest.get(bytes..).unwrap_or_default();
    }
}

/// The length in bytes of the character literal that begins here; a lifetime is none.
fn character(rest: &str) -> Option<usize> {
    let inside = rest.strip_prefix('\'')?;
    let first = inside.chars().next()?;
    let length = if first == '\\' {
        // The escaped character itself may be a quote: search behind it.
        2 + inside.get(2..)?.find('\'')?
    } else {
        first.len_utf8()
    };
    inside
        .get(length..)?
        .starts_with('\'')
        .then_some(length + 2)
}

mod tests {
    use super::{Line, lines};

    fn code(text: &str) -> String {
        lines(text)
            .into_iter()
            .map(|line| line.code)
            .collect::<Vec<_>>()
            .join("\n")
    }

    #[test]
    fn comments_are_told_from_code() {
        let expected = Line {
            code: "let a = 1; ".into(),
            comment: "// one; two".into(),
        };
        assert_eq!(lines("let a = 1; // one; two"), [expected]);
        assert_eq!(code("a /* b\n c /* d */ e */ f"), "a \n f");
    }

    #[test]
    fn what_strings_hold_is_neither_code_nor_comment() {
        assert_eq!(code(r#"f("crate::store // \" x", 1)"#), r#"f("", 1)"#);
        assert_eq!(code("f(r#\"a \" // b\n c\"#, br\"x\")"), "f(\"\n\", b\"\")");
        assert_eq!(code("f(\"a \\\n // b\")"), "f(\"\n\")");
    }

    #[test]
    fn a_quote_may_be_a_character_or_a_lifetime() {
        assert_eq!(code("'\"' '\\'' '\\u{7f}' 'é' x"), "'' '' '' '' x");
        assert_eq!(
            code("fn f<'a>(x: &'a str) {} // y"),
            "fn f<'a>(x: &'a str) {} "
        );
    }
}

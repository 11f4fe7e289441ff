//! Text in display columns: how wide it is, and how to cut it without splitting what a reader sees.
//!
//! The unit is the grapheme cluster, measured in terminal columns. Text of any script goes in; what
//! comes out never takes more columns than were asked for. It knows nothing of colours or
//! positions. Next on the walk: [`super::widget::canvas`], which puts text into a frame.

use ratatui::buffer::CellWidth as _;
use unicode_segmentation::UnicodeSegmentation as _;

/// Stands at the end of text that was cut.
pub const ELLIPSIS: &str = "…";

/// A grapheme cluster and the columns it takes: 1 or 2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grapheme<'a> {
    /// What is to be written.
    pub symbol: &'a str,
    /// How many columns a terminal gives it.
    pub columns: u16,
    /// Whether it is a combining mark without a letter, which needs one to stand on.
    pub needs_base: bool,
}

/// The clusters of `text` in order. Nothing is dropped: a mark without a letter counts as one
/// column. Control characters do not occur in safe text; if one did, it would count as one column
/// and [`super::widget::canvas`] would show a replacement character.
pub fn graphemes(text: &str) -> impl Iterator<Item = Grapheme<'_>> {
    text.graphemes(true).map(|symbol| {
        let width = if symbol.chars().any(char::is_control) {
            1
        } else {
            symbol.cell_width()
        };
        Grapheme {
            symbol,
            columns: width.clamp(1, 2),
            needs_base: width == 0,
        }
    })
}

/// How many columns `text` takes.
pub fn columns(text: &str) -> u16 {
    if text.is_ascii() {
        return crate::ledger::num::columns(text.len());
    }
    graphemes(text).fold(0, |sum: u16, each| sum.saturating_add(each.columns))
}

/// The longest beginning of `text` that fits into `most` columns, and the columns it takes.
pub fn fitting(text: &str, most: u16) -> (&str, u16) {
    let mut used = 0_u16;
    let mut end = 0_usize;
    for each in graphemes(text) {
        let next = used.saturating_add(each.columns);
        if next > most {
            break;
        }
        used = next;
        end = end.saturating_add(each.symbol.len());
    }
    (text.get(..end).unwrap_or_default(), used)
}

/// `text` in at most `most` columns, with an ellipsis where something was cut.
pub fn cut(text: &str, most: u16) -> String {
    if columns(text) <= most {
        return text.to_owned();
    }
    if most == 0 {
        return String::new();
    }
    let (kept, _) = fitting(text, most.saturating_sub(1));
    format!("{kept}{ELLIPSIS}")
}

/// The lines of `text`, broken at spaces where possible, each at most `most` columns wide. A word
/// longer than a line is broken within. An empty text is one empty line.
pub fn wrapped(text: &str, most: u16) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split(' ') {
        let mut rest = word;
        loop {
            let mut longer = line.clone();
            if !line.is_empty() {
                longer.push(' ');
            }
            longer.push_str(rest);
            // Measured as a whole: a word that begins with a mark joins the space before it.
            if columns(&longer) <= most {
                line = longer;
                break;
            }
            if !line.is_empty() {
                lines.push(std::mem::take(&mut line));
                continue;
            }
            let (head, _) = fitting(rest, most);
            if head.is_empty() {
                return lines;
            }
            lines.push(head.to_owned());
            rest = rest.get(head.len()..).unwrap_or_default();
        }
    }
    lines.push(line);
    lines
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn width_counts_columns_and_not_characters() {
        assert_eq!(columns("thumbnails"), 10);
        assert_eq!(columns("図書館"), 6);
        assert_eq!(columns("🚀"), 2);
        assert_eq!(columns("e\u{301}"), 1);
        assert_eq!(columns("שלום"), 4);
        assert_eq!(columns("\u{301}"), 1, "a mark without a letter is shown");
    }

    #[test]
    fn a_cut_never_splits_a_wide_character() {
        assert_eq!(cut("図書館", 6), "図書館");
        assert_eq!(cut("図書館", 5), "図書…");
        assert_eq!(cut("図書館", 4), "図…");
        assert_eq!(cut("図書館", 1), "…");
        assert_eq!(cut("図書館", 0), "");
    }

    #[test]
    fn lines_break_at_spaces_and_long_words_within() {
        assert_eq!(wrapped("retry in 4s", 8), ["retry in", "4s"]);
        assert_eq!(wrapped("abcdefgh", 3), ["abc", "def", "gh"]);
        assert_eq!(wrapped("", 3), [""]);
        assert_eq!(wrapped("ab  ", 2), ["ab", ""]);
        assert_eq!(wrapped("図書", 1), Vec::<String>::new());
    }

    proptest! {
        #[test]
        fn a_cut_fits_whatever_the_text(text in any::<String>(), most in 0_u16..40) {
            prop_assert!(columns(&cut(&text, most)) <= most);
        }

        #[test]
        fn wrapped_lines_fit_whatever_the_text(text in any::<String>(), most in 0_u16..40) {
            for line in wrapped(&text, most) {
                prop_assert!(columns(&line) <= most);
            }
        }
    }
}

//! Text made by strangers, made safe once, at the store's edge.
//!
//! A [`SafeText`] holds no character that could move a cursor, set a title, reorder a line or hide:
//! control characters, bidirectional controls and invisible characters stand in it as visible
//! tokens. Nothing is dropped. Data of a job reaches a screen, a receipt, a log or an error only as
//! `SafeText`.

use std::borrow::Borrow;
use std::fmt::{self, Write as _};
use std::sync::Arc;

use serde::{Serialize, Serializer};

/// Text that a terminal shows and never obeys. Cheap to clone.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct SafeText(Arc<str>);

impl SafeText {
    /// Makes `raw` safe: C0 controls and DEL become control pictures (`␛`, `␊`), every other
    /// character of [`is_hostile`] becomes `<U+XXXX>`. Text that is safe already is kept as it is.
    pub fn new(raw: &str) -> Self {
        if !raw.chars().any(is_hostile) {
            return Self(raw.into());
        }
        let mut safe = String::with_capacity(raw.len().saturating_add(16));
        for each in raw.chars() {
            push_safe(&mut safe, each);
        }
        Self(safe.into())
    }

    /// Makes bytes safe: what is valid UTF-8 as [`SafeText::new`] does, each other byte as
    /// `<0xNN>`.
    pub fn from_bytes(raw: &[u8]) -> Self {
        let mut safe = String::with_capacity(raw.len());
        for chunk in raw.utf8_chunks() {
            for each in chunk.valid().chars() {
                push_safe(&mut safe, each);
            }
            for byte in chunk.invalid() {
                push_token(&mut safe, format_args!("<0x{byte:02X}>"));
            }
        }
        Self(safe.into())
    }

    /// The safe text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Whether a character would do something to a terminal or to a reader other than stand in its
/// place: C0, DEL, C1, bidirectional controls, zero-width and other invisible characters, line and
/// paragraph separators, interlinear marks and tags.
pub const fn is_hostile(each: char) -> bool {
    matches!(each,
        '\0'..='\u{1f}'
        | '\u{7f}'..='\u{9f}'
        | '\u{ad}'
        | '\u{34f}'
        | '\u{61c}'
        | '\u{115f}'..='\u{1160}'
        | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{3164}'
        | '\u{feff}'
        | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e0fff}')
}

fn push_safe(into: &mut String, each: char) {
    match each {
        '\0'..='\u{1f}' => {
            let picture = char::from_u32(0x2400_u32.saturating_add(u32::from(each)));
            into.push(picture.unwrap_or(char::REPLACEMENT_CHARACTER));
        }
        '\u{7f}' => into.push('\u{2421}'),
        _ if is_hostile(each) => push_token(into, format_args!("<U+{:04X}>", u32::from(each))),
        _ => into.push(each),
    }
}

fn push_token(into: &mut String, token: fmt::Arguments<'_>) {
    // Writing to a String cannot fail; if it ever did, the replacement character says so.
    if into.write_fmt(token).is_err() {
        into.push(char::REPLACEMENT_CHARACTER);
    }
}

impl From<&str> for SafeText {
    fn from(raw: &str) -> Self {
        Self::new(raw)
    }
}

impl From<String> for SafeText {
    fn from(raw: String) -> Self {
        Self::new(&raw)
    }
}

impl Borrow<str> for SafeText {
    fn borrow(&self) -> &str {
        self.as_str()
    }
}

impl AsRef<str> for SafeText {
    fn as_ref(&self) -> &str {
        self.as_str()
    }
}

impl fmt::Display for SafeText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for SafeText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl Serialize for SafeText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn controls_become_visible_and_nothing_is_dropped() {
        assert_eq!(SafeText::new("a\u{1b}[31mb\n").as_str(), "a␛[31mb␊");
        assert_eq!(SafeText::new("\u{7f}\u{9b}").as_str(), "␡<U+009B>");
        assert_eq!(
            SafeText::new("x\u{202e}y\u{200b}").as_str(),
            "x<U+202E>y<U+200B>"
        );
        assert_eq!(SafeText::from_bytes(b"ok\xff\x1b").as_str(), "ok<0xFF>␛");
    }

    #[test]
    fn text_of_any_script_is_kept() {
        for text in ["thumbnails", "図書館", "naïve", "🚀", "שלום", "e\u{301}"] {
            assert_eq!(SafeText::new(text).as_str(), text);
        }
    }

    proptest! {
        #[test]
        fn safe_text_holds_nothing_hostile_and_is_stable(raw in any::<String>()) {
            let safe = SafeText::new(&raw);
            prop_assert!(!safe.as_str().chars().any(is_hostile));
            prop_assert_eq!(SafeText::new(safe.as_str()), safe.clone());
            prop_assert!(safe.as_str().chars().count() >= raw.chars().count());
        }

        #[test]
        fn bytes_never_panic_and_hold_nothing_hostile(raw in any::<Vec<u8>>()) {
            prop_assert!(!SafeText::from_bytes(&raw).as_str().chars().any(is_hostile));
        }
    }
}

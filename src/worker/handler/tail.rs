//! Bounded keeping of a stream of bytes: its end, for error texts, or its first line.

use std::collections::VecDeque;

/// The last bytes of a stream, at most a given number.
#[derive(Debug)]
pub(super) struct Tail {
    kept: VecDeque<u8>,
    most: usize,
    /// Whether earlier bytes were let go.
    cut: bool,
}

impl Tail {
    /// Keeps the last `most` bytes.
    pub(super) fn new(most: usize) -> Self {
        Self {
            kept: VecDeque::new(),
            most,
            cut: false,
        }
    }

    /// Takes in what follows.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let from = bytes.len().saturating_sub(self.most);
        let fresh = bytes.get(from..).unwrap_or_default();
        let over = (self.kept.len() + fresh.len()).saturating_sub(self.most);
        self.cut |= from > 0 || over > 0;
        self.kept.drain(..over);
        self.kept.extend(fresh);
    }

    /// The end of the stream as text, without blanks around it; what is not UTF-8 is replaced. It
    /// begins with an ellipsis where something came before it.
    pub(super) fn text(mut self) -> String {
        // A character that the cut went through is left out.
        let torn = |byte: &u8| byte & 0xC0 == 0x80;
        let skip = if self.cut {
            self.kept
                .iter()
                .take(3)
                .take_while(|byte| torn(byte))
                .count()
        } else {
            0
        };
        self.kept.drain(..skip);
        let bytes: Vec<u8> = self.kept.into();
        let text = String::from_utf8_lossy(&bytes);
        let text = text.trim();
        if self.cut {
            format!("…{text}")
        } else {
            text.to_owned()
        }
    }
}

/// The first line of a stream, where it is no longer than a given number of bytes.
#[derive(Debug)]
pub(super) struct FirstLine {
    kept: Vec<u8>,
    most: usize,
    ended: bool,
}

impl FirstLine {
    /// Keeps a line of at most `most` bytes.
    pub(super) fn new(most: usize) -> Self {
        Self {
            kept: Vec::new(),
            most,
            ended: false,
        }
    }

    /// Takes in what follows.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        if self.ended {
            return;
        }
        let end = bytes.iter().position(|byte| *byte == b'\n');
        self.ended = end.is_some();
        let line = bytes.get(..end.unwrap_or(bytes.len())).unwrap_or_default();
        // One byte more than is kept tells that it was too long.
        let room = (self.most + 1).saturating_sub(self.kept.len());
        self.kept.extend(line.iter().take(room));
    }

    /// The line without blanks around it.
    pub(super) fn line(self) -> Line {
        if self.kept.len() > self.most {
            return Line::TooLong;
        }
        let text = String::from_utf8_lossy(&self.kept);
        match text.trim() {
            "" => Line::None,
            text => Line::Text(text.to_owned()),
        }
    }
}

/// What became of a first line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// There is none, or an empty one.
    None,
    /// It is this.
    Text(String),
    /// It is longer than what is kept.
    TooLong,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn tail(most: usize, parts: &[&str]) -> String {
        let mut tail = Tail::new(most);
        for part in parts {
            tail.push(part.as_bytes());
        }
        tail.text()
    }

    #[test]
    fn a_short_stream_is_kept_whole_and_a_long_one_by_its_end() {
        assert_eq!(tail(10, &["one ", "two\n"]), "one two");
        assert_eq!(tail(5, &["one ", "two ", "three"]), "…three");
        assert_eq!(tail(3, &["abcdef"]), "…def");
        assert_eq!(tail(4, &["aé", "éb"]), "…éb");
    }

    #[test]
    fn the_first_line_ends_at_its_end_wherever_the_stream_is_torn() {
        let mut line = FirstLine::new(20);
        for part in ["s3://", "out/1\r", "\nnoise", "\nmore"] {
            line.push(part.as_bytes());
        }
        assert_eq!(line.line(), Line::Text("s3://out/1".to_owned()));
        let mut long = FirstLine::new(3);
        long.push(b"abcd");
        assert_eq!(long.line(), Line::TooLong);
        let mut empty = FirstLine::new(3);
        empty.push(b"\nabc");
        assert_eq!(empty.line(), Line::None);
    }

    proptest! {
        #[test]
        fn a_tail_never_holds_more_than_it_may(
            parts in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..50), 0..10),
            most in 0_usize..40,
        ) {
            let mut tail = Tail::new(most);
            for part in &parts {
                tail.push(part);
                prop_assert!(tail.kept.len() <= most);
            }
            let all: Vec<u8> = parts.concat();
            let from = all.len().saturating_sub(most);
            prop_assert_eq!(Vec::from(tail.kept.clone()), all[from..].to_vec());
            let _text = tail.text();
        }
    }
}

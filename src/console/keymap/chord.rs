//! A key with its modifiers, as it is pressed and as it is written: `j`, `G`, `ctrl-d`,
//! `shift-tab`.

use std::fmt;
use std::str::FromStr;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// A key with its modifiers. Shift is part of the character for letters and signs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Chord {
    code: KeyCode,
    modifiers: KeyModifiers,
}

/// The text names no key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoChord;

/// Keys that have a name.
const NAMED: [(&str, KeyCode); 14] = [
    ("enter", KeyCode::Enter),
    ("esc", KeyCode::Esc),
    ("tab", KeyCode::Tab),
    ("backspace", KeyCode::Backspace),
    ("delete", KeyCode::Delete),
    ("up", KeyCode::Up),
    ("down", KeyCode::Down),
    ("left", KeyCode::Left),
    ("right", KeyCode::Right),
    ("home", KeyCode::Home),
    ("end", KeyCode::End),
    ("pageup", KeyCode::PageUp),
    ("pagedown", KeyCode::PageDown),
    ("space", KeyCode::Char(' ')),
];

impl Chord {
    /// The chord of a key press.
    pub fn of(key: KeyEvent) -> Self {
        Self::normal(key.code, key.modifiers)
    }

    /// The character that this key types into a text field, if it types one. There it is text and
    /// never a command.
    pub fn typed(self) -> Option<char> {
        let plain = !self
            .modifiers
            .intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
        self.code.as_char().filter(|_| plain)
    }

    /// One form for what terminals report in several: `BackTab` is shift-tab, a capital is itself,
    /// and a control letter is small.
    fn normal(code: KeyCode, modifiers: KeyModifiers) -> Self {
        let known = KeyModifiers::CONTROL | KeyModifiers::ALT | KeyModifiers::SHIFT;
        let modifiers = modifiers & known;
        match code {
            KeyCode::BackTab => Self {
                code: KeyCode::Tab,
                modifiers: modifiers | KeyModifiers::SHIFT,
            },
            KeyCode::Char(letter) if modifiers.contains(KeyModifiers::CONTROL) => Self {
                code: KeyCode::Char(letter.to_ascii_lowercase()),
                modifiers: modifiers - KeyModifiers::SHIFT,
            },
            KeyCode::Char(letter) => Self {
                code: if modifiers.contains(KeyModifiers::SHIFT) {
                    KeyCode::Char(letter.to_ascii_uppercase())
                } else {
                    KeyCode::Char(letter)
                },
                modifiers: modifiers - KeyModifiers::SHIFT,
            },
            other => Self {
                code: other,
                modifiers,
            },
        }
    }
}

impl FromStr for Chord {
    type Err = NoChord;

    fn from_str(text: &str) -> Result<Self, NoChord> {
        let mut modifiers = KeyModifiers::NONE;
        let mut rest = text;
        for (prefix, modifier) in [
            ("ctrl-", KeyModifiers::CONTROL),
            ("alt-", KeyModifiers::ALT),
            ("shift-", KeyModifiers::SHIFT),
        ] {
            if let Some(after) = rest.strip_prefix(prefix).filter(|after| !after.is_empty()) {
                modifiers |= modifier;
                rest = after;
            }
        }
        let named = NAMED
            .iter()
            .find(|(name, _)| *name == rest)
            .map(|(_, code)| *code);
        let function = rest
            .strip_prefix('f')
            .and_then(|number| number.parse::<u8>().ok())
            .filter(|number| (1..=12).contains(number))
            .map(KeyCode::F);
        let mut characters = rest.chars();
        let single = match (characters.next(), characters.next()) {
            (Some(only), None) if !only.is_control() => Some(KeyCode::Char(only)),
            _ => None,
        };
        let code = named.or(function).or(single).ok_or(NoChord)?;
        Ok(Self::normal(code, modifiers))
    }
}

impl fmt::Display for Chord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (modifier, prefix) in [
            (KeyModifiers::CONTROL, "ctrl-"),
            (KeyModifiers::ALT, "alt-"),
            (KeyModifiers::SHIFT, "shift-"),
        ] {
            if self.modifiers.contains(modifier) {
                f.write_str(prefix)?;
            }
        }
        if let Some((name, _)) = NAMED.iter().find(|(_, code)| *code == self.code) {
            return f.write_str(name);
        }
        if let KeyCode::F(number) = self.code {
            return write!(f, "f{number}");
        }
        match self.code.as_char() {
            Some(character) => write!(f, "{character}"),
            None => write!(f, "{:?}", self.code),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_what_is_pressed() {
        let press = |code, modifiers| Chord::of(KeyEvent::new(code, modifiers));
        let read = |text: &str| text.parse::<Chord>().unwrap();
        assert_eq!(read("G"), press(KeyCode::Char('G'), KeyModifiers::SHIFT));
        assert_eq!(read("G"), press(KeyCode::Char('g'), KeyModifiers::SHIFT));
        assert_eq!(
            read("shift-tab"),
            press(KeyCode::BackTab, KeyModifiers::SHIFT)
        );
        assert_eq!(
            read("ctrl-d"),
            press(KeyCode::Char('d'), KeyModifiers::CONTROL)
        );
        assert_eq!(read("+"), press(KeyCode::Char('+'), KeyModifiers::NONE));
        assert_eq!(read("-"), press(KeyCode::Char('-'), KeyModifiers::NONE));
        assert_eq!("hyper-x".parse::<Chord>(), Err(NoChord));
        assert_eq!("".parse::<Chord>(), Err(NoChord));
    }

    #[test]
    fn a_chord_is_written_as_it_is_read() {
        for text in [
            "j",
            "G",
            "ctrl-d",
            "alt-x",
            "shift-tab",
            "enter",
            "space",
            "f5",
            "?",
            "+",
            "-",
        ] {
            assert_eq!(text.parse::<Chord>().unwrap().to_string(), text);
        }
    }
}

//! Every key of the console, once. This registry feeds the keys themselves, the help, the footer,
//! the palette and the table in `assets/help/keys.md`, which a test holds equal.
//!
//! A key means one thing in one place; two meanings are an error when the config is read, never a
//! surprise later. Movement keys only move. Next: [`super::update`], which does what a key means.

use crossterm::event::KeyEvent;

mod chord;
mod registry;

pub use chord::Chord;
pub use registry::{Action, Binding, Place, REGISTRY};

/// Why a keymap could not be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeymapError {
    /// The config names an action that does not exist.
    #[error("there is no action '{name}'{}", suggestion(*nearest))]
    UnknownAction {
        /// What it names.
        name: String,
        /// The action spelt most like it, if one is close.
        nearest: Option<&'static str>,
    },
    /// A key cannot be read.
    #[error(
        "'{key}' of action '{action}' is no key: write 'x', 'X', 'ctrl-x', 'alt-x', 'enter' or 'f5'"
    )]
    BadKey {
        /// The action.
        action: &'static str,
        /// What is written.
        key: String,
    },
    /// One key would mean two things in one place.
    #[error("'{key}' would mean both '{first}' and '{second}' ({place})")]
    Clash {
        /// The key.
        key: String,
        /// One action.
        first: &'static str,
        /// The other.
        second: &'static str,
        /// Where.
        place: &'static str,
    },
    /// What opens an act would confirm it too.
    #[error("'{key}' would both open '{opens}' and 'confirm' it; a slip must not act")]
    Slip {
        /// The key.
        key: String,
        /// The action that it opens.
        opens: &'static str,
    },
    /// An action that must be reachable would have no key.
    #[error("'{action}' needs at least one key")]
    Unreachable {
        /// The action.
        action: &'static str,
    },
}

fn suggestion(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |name| format!("; did you mean '{name}'?"))
}

/// Which key does what, where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keymap {
    keys: Vec<(Chord, &'static Binding)>,
}

/// Spellings further apart than this are not offered as a correction (Jaro-Winkler, 0 to 1).
const NEAR_ENOUGH: f64 = 0.75;

impl Keymap {
    /// The keys as they come, with `rebound` in place of the keys of the actions it names: action
    /// and keys, as the config writes them.
    ///
    /// # Errors
    /// Where an action or a key is not known, or two actions would share a key in one place.
    pub fn new<'a, A, K>(rebound: A) -> Result<Self, KeymapError>
    where
        A: IntoIterator<Item = (&'a str, K)>,
        K: IntoIterator<Item = &'a str>,
    {
        let mut chosen: Vec<(&'static Binding, Vec<Chord>)> = Vec::new();
        for binding in &REGISTRY {
            chosen.push((binding, parse(binding, binding.keys.iter().copied())?));
        }
        for (name, keys) in rebound {
            let Some(entry) = chosen.iter_mut().find(|(binding, _)| binding.name == name) else {
                return Err(unknown(name));
            };
            entry.1 = parse(entry.0, keys)?;
        }
        let mut keymap = Self { keys: Vec::new() };
        for (binding, chords) in chosen {
            if chords.is_empty() && matches!(binding.action, Action::Quit | Action::Out) {
                return Err(KeymapError::Unreachable {
                    action: binding.name,
                });
            }
            for chord in chords {
                keymap.add(chord, binding)?;
            }
        }
        keymap.check_confirm()?;
        Ok(keymap)
    }

    /// An act is confirmed by another key than the one that opened it.
    fn check_confirm(&self) -> Result<(), KeymapError> {
        let confirms = self.keys_of(Action::Confirm);
        for opens in Action::OPENING {
            let slip = self.keys.iter().find(|(chord, binding)| {
                binding.action == opens && confirms.contains(&chord.to_string())
            });
            if let Some((chord, binding)) = slip {
                return Err(KeymapError::Slip {
                    key: chord.to_string(),
                    opens: binding.name,
                });
            }
        }
        Ok(())
    }

    fn add(&mut self, chord: Chord, binding: &'static Binding) -> Result<(), KeymapError> {
        for (other_chord, other) in &self.keys {
            if *other_chord != chord {
                continue;
            }
            let shared = binding
                .places
                .iter()
                .filter(|place| **place != Place::Field || chord.typed().is_none())
                .find(|place| other.places.contains(place));
            if let Some(place) = shared
                && other.action != binding.action
            {
                return Err(KeymapError::Clash {
                    key: chord.to_string(),
                    first: other.name,
                    second: binding.name,
                    place: place.name(),
                });
            }
        }
        self.keys.push((chord, binding));
        Ok(())
    }

    /// What a key means in a place. A key that types a character means nothing in a text field.
    pub fn action(&self, key: KeyEvent, place: Place) -> Option<Action> {
        let chord = Chord::of(key);
        if place == Place::Field && chord.typed().is_some() {
            return None;
        }
        self.keys
            .iter()
            .find(|(each, binding)| *each == chord && binding.places.contains(&place))
            .map(|(_, binding)| binding.action)
    }

    /// The keys of an action, as they are written.
    pub fn keys_of(&self, action: Action) -> Vec<String> {
        self.keys
            .iter()
            .filter(|(_, binding)| binding.action == action)
            .map(|(chord, _)| chord.to_string())
            .collect()
    }

    /// The first key of an action; empty where it has none.
    pub fn key_of(&self, action: Action) -> String {
        self.keys_of(action).into_iter().next().unwrap_or_default()
    }

    /// The table of all keys as Markdown.
    pub fn table(&self) -> String {
        let mut table =
            String::from("| key | action | what it does | where |\n|---|---|---|---|\n");
        for binding in &REGISTRY {
            let keys: Vec<String> = self
                .keys_of(binding.action)
                .iter()
                .map(|key| format!("`{key}`"))
                .collect();
            let places: Vec<&str> = binding.places.iter().map(|place| place.name()).collect();
            let row = [
                keys.join(" "),
                format!("`{}`", binding.name),
                binding.help.to_owned(),
                places.join(", "),
            ];
            table.push_str("| ");
            table.push_str(&row.join(" | "));
            table.push_str(" |\n");
        }
        table
    }
}

fn parse<'a>(
    binding: &'static Binding,
    keys: impl IntoIterator<Item = &'a str>,
) -> Result<Vec<Chord>, KeymapError> {
    keys.into_iter()
        .map(|key| {
            key.parse().map_err(|chord::NoChord| KeymapError::BadKey {
                action: binding.name,
                key: key.to_owned(),
            })
        })
        .collect()
}

fn unknown(name: &str) -> KeymapError {
    let nearest = REGISTRY
        .iter()
        .map(|binding| (strsim::jaro_winkler(binding.name, name), binding.name))
        .filter(|(nearness, _)| *nearness >= NEAR_ENOUGH)
        .max_by(|a, b| a.0.total_cmp(&b.0));
    KeymapError::UnknownAction {
        name: name.to_owned(),
        nearest: nearest.map(|(_, name)| name),
    }
}

#[cfg(test)]
mod tests {
    use crossterm::event::{KeyCode, KeyModifiers};

    use super::*;

    const NONE: [(&str, [&str; 0]); 0] = [];

    fn press(code: KeyCode, modifiers: KeyModifiers) -> KeyEvent {
        KeyEvent::new(code, modifiers)
    }

    #[test]
    fn the_default_keys_do_not_clash() {
        let keymap = Keymap::new(NONE).unwrap();
        let quit = press(KeyCode::Char('c'), KeyModifiers::CONTROL);
        for place in Place::ALL {
            assert_eq!(keymap.action(quit, place), Some(Action::Quit), "{place:?}");
        }
    }

    #[test]
    fn every_action_has_one_entry_and_a_key() {
        let keymap = Keymap::new(NONE).unwrap();
        for (position, binding) in REGISTRY.iter().enumerate() {
            assert!(
                !keymap.keys_of(binding.action).is_empty(),
                "{}",
                binding.name
            );
            let twin = REGISTRY
                .iter()
                .skip(position + 1)
                .find(|other| other.action == binding.action || other.name == binding.name);
            assert_eq!(twin, None);
        }
    }

    #[test]
    fn a_rebound_key_replaces_the_old_one() {
        let keymap = Keymap::new([("pause", ["f5"])]).unwrap();
        let f5 = press(KeyCode::F(5), KeyModifiers::NONE);
        let p = press(KeyCode::Char('p'), KeyModifiers::NONE);
        assert_eq!(keymap.action(f5, Place::Overview), Some(Action::Pause));
        assert_eq!(keymap.action(p, Place::Overview), None);
        assert_eq!(keymap.key_of(Action::Pause), "f5");
    }

    #[test]
    fn mistakes_are_errors_that_name_them() {
        let error = |name: &'static str, key: &'static str| {
            Keymap::new([(name, [key])]).unwrap_err().to_string()
        };
        assert_eq!(
            error("pause", "s"),
            "'s' would mean both 'sort' and 'pause' (overview)"
        );
        assert_eq!(
            error("confirm", "R"),
            "'R' would both open 'redrive' and 'confirm' it; a slip must not act"
        );
        assert_eq!(
            error("paus", "x"),
            "there is no action 'paus'; did you mean 'pause'?"
        );
        assert_eq!(error("zzzz", "x"), "there is no action 'zzzz'");
        assert!(error("pause", "hyper-x").starts_with("'hyper-x' of action 'pause' is no key"));
        let none: [(&str, [&str; 0]); 1] = [("quit", [])];
        assert_eq!(
            Keymap::new(none).unwrap_err().to_string(),
            "'quit' needs at least one key"
        );
    }

    #[test]
    fn the_documented_table_is_the_registry() {
        let table = Keymap::new(NONE).unwrap().table();
        let documented = include_str!("../../assets/help/keys.md");
        assert!(
            documented.ends_with(&table),
            "assets/help/keys.md is out of date; its table should be:\n{table}"
        );
    }
}

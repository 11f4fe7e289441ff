//! What may be wrong with a config, in words that name the file, the line, the key and what is
//! allowed.
//!
//! A value is shown only where it cannot be a secret, and only as [`SafeText`].

use std::fmt;
use std::path::PathBuf;

use crate::ledger::text::SafeText;

/// Why there is no config to work with. Nothing was changed anywhere.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// A file that was asked for by name is not there.
    #[error("there is no config file '{path}', which {asked_by} names", path = shown(.path))]
    Missing {
        /// Which.
        path: PathBuf,
        /// What named it: a flag or a variable.
        asked_by: &'static str,
    },
    /// The file cannot be read.
    #[error("cannot read the config file '{path}': {message}", path = shown(.path))]
    Unreadable {
        /// Which.
        path: PathBuf,
        /// What the system said.
        message: String,
    },
    /// The file is far too large to be a config.
    #[error("'{path}' is no config file: it has more than {max} bytes", path = shown(.path))]
    TooLarge {
        /// Which.
        path: PathBuf,
        /// The most that is read.
        max: u64,
    },
    /// The file holds a password and others may read it.
    #[error(
        "{path} holds a password (line {line}) and others may read it (mode {mode:04o}); \
         nothing was opened; mend it with: chmod 600 {quoted}",
        path = shown(.path),
        quoted = shell_quoted(.path)
    )]
    Exposed {
        /// Which.
        path: PathBuf,
        /// The line of the URL with the password.
        line: usize,
        /// Its permission bits.
        mode: u32,
    },
    /// The file has mistakes.
    #[error("{}", listed(.path, .mistakes))]
    Mistakes {
        /// Which.
        path: PathBuf,
        /// All that were found, by line; never empty.
        mistakes: Vec<Mistake>,
    },
    /// A variable of the environment has a value that its setting does not take.
    #[error("{variable} is '{value}'; allowed: {allowed}")]
    BadVariable {
        /// Which.
        variable: &'static str,
        /// Its value.
        value: SafeText,
        /// What it may be.
        allowed: String,
    },
    /// Nothing says which ledger is meant.
    #[error(
        "no ledger is named: give --ledger sqlite:PATH or --ledger postgres://USER@HOST/DATABASE, \
         set LEDGERTOP_LEDGER, or write one into {file}; to look around without one: \
         ledgertop demo",
        file = shown(.file)
    )]
    NoLedger {
        /// The config file that could name it.
        file: PathBuf,
    },
    /// A ledger is named that the config does not know.
    #[error(
        "{origin} names the ledger '{name}', which is neither a URL nor one of [ledgers] in \
         the config{hint}"
    )]
    UnknownLedger {
        /// The name.
        name: SafeText,
        /// Who names it.
        origin: String,
        /// The nearest name or the list of names, as a clause; empty where there are none.
        hint: String,
    },
    /// A password stands in the arguments, where every user of the machine can read it.
    #[error(
        "a password in an argument can be read by every user of this machine, so it is refused; \
         give the URL without it and the password in PGPASSFILE or PGPASSWORD, or give the whole \
         URL in LEDGERTOP_LEDGER or in a config file of mode 0600 (and change that password if \
         the machine is shared)"
    )]
    PasswordInArguments,
}

/// One mistake of a config file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong there.
    pub problem: Problem,
}

/// What may be wrong at a line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// The file is no TOML from here on.
    #[error("not valid TOML: {message}")]
    Syntax {
        /// What the parser said.
        message: SafeText,
    },
    /// No such key.
    #[error("unknown key '{key}' in {section}{hint}")]
    UnknownKey {
        /// The key.
        key: SafeText,
        /// Where it stands, e.g. `[limits]`.
        section: SafeText,
        /// The nearest key or the list of keys, as a clause.
        hint: String,
    },
    /// The key's value is of another kind.
    #[error("'{key}' in {section} is {found}; allowed: {allowed}")]
    WrongType {
        /// The key.
        key: SafeText,
        /// Where it stands.
        section: SafeText,
        /// Of which kind the value is, with an article.
        found: &'static str,
        /// What is allowed.
        allowed: String,
    },
    /// The key's value is of the right kind but not one that is allowed.
    #[error("'{key}' in {section} is {value}; allowed: {allowed}")]
    NotAllowed {
        /// The key.
        key: SafeText,
        /// Where it stands.
        section: SafeText,
        /// The value as written; never of a key that may hold a secret.
        value: SafeText,
        /// What is allowed.
        allowed: String,
    },
    /// A section lacks a key that it needs.
    #[error("{section} needs '{key}': {allowed}")]
    MissingKey {
        /// The section.
        section: SafeText,
        /// The key.
        key: &'static str,
        /// What it may be.
        allowed: &'static str,
    },
    /// Two values that are each allowed do not go together.
    #[error("{section}: {rule}")]
    Contradiction {
        /// The section.
        section: SafeText,
        /// What must hold.
        rule: String,
    },
    /// A name that the rest of the file does not know.
    #[error("'{key}' names {name}, which is not there{hint}")]
    UnknownName {
        /// The key.
        key: &'static str,
        /// The name, quoted.
        name: SafeText,
        /// The nearest name or the list of names, as a clause.
        hint: String,
    },
}

/// A mistake of `[keys]`, which only the console's keymap can find.
pub fn in_keys(path: &std::path::Path, line: usize, said: &str) -> ConfigError {
    let problem = Problem::Contradiction {
        section: SafeText::new("[keys]"),
        rule: SafeText::new(said).as_str().to_owned(),
    };
    ConfigError::Mistakes {
        path: path.to_owned(),
        mistakes: vec![Mistake { line, problem }],
    }
}

/// A clause that helps after an unknown name: the nearest of `known`, else all of them.
pub fn hint(unknown: &str, known: &[&str]) -> String {
    match nearest(unknown, known) {
        Some(near) => format!("; did you mean '{near}'?"),
        None if known.is_empty() => String::new(),
        None => {
            let listed: Vec<String> = known
                .iter()
                .take(HINT_NAMES_MAX)
                .map(|name| format!("'{}'", SafeText::new(name)))
                .collect();
            let more = if known.len() > HINT_NAMES_MAX {
                ", …"
            } else {
                ""
            };
            format!("; known: {}{more}", listed.join(", "))
        }
    }
}

/// How many names a hint lists before it stops: more would bury the mistake.
const HINT_NAMES_MAX: usize = 20;

/// The one of `known` that `unknown` was most likely meant to be: at most a third of its letters
/// off (and at least two may be), counting swapped neighbours as one.
pub fn nearest<'a>(unknown: &str, known: &[&'a str]) -> Option<&'a str> {
    let most = (unknown.chars().count() / 3).max(2);
    known
        .iter()
        .map(|name| (strsim::damerau_levenshtein(unknown, name), *name))
        .filter(|(distance, name)| *distance <= most && *distance < name.chars().count())
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

fn shown(path: &std::path::Path) -> SafeText {
    SafeText::new(&path.to_string_lossy())
}

/// A path as a shell takes it.
fn shell_quoted(path: &std::path::Path) -> SafeText {
    let text = path.to_string_lossy();
    let plain = |each: char| each.is_ascii_alphanumeric() || "/._-+".contains(each);
    if text.chars().all(plain) {
        SafeText::new(&text)
    } else {
        SafeText::new(&format!("'{}'", text.replace('\'', "'\\''")))
    }
}

fn listed(path: &std::path::Path, mistakes: &[Mistake]) -> String {
    let lines: Vec<String> = mistakes
        .iter()
        .map(|mistake| format!("{}:{mistake}", shown(path)))
        .collect();
    lines.join("\n")
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.line, self.problem)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_key_is_named_and_a_far_one_is_not() {
        let known = ["oldest_ready", "oldest_dead_letter", "refresh"];
        assert_eq!(nearest("oldest_redy", &known), Some("oldest_ready"));
        assert_eq!(nearest("referhs", &known), Some("refresh"));
        assert_eq!(nearest("colour", &known), None);
        assert_eq!(hint("x", &[]), "");
        assert_eq!(
            hint("colour", &known),
            "; known: 'oldest_ready', 'oldest_dead_letter', 'refresh'"
        );
    }

    #[test]
    fn the_command_that_mends_a_file_survives_a_strange_name() {
        let error = ConfigError::Exposed {
            path: PathBuf::from("/tmp/it's here.toml"),
            line: 3,
            mode: 0o644,
        };
        assert!(
            error
                .to_string()
                .ends_with("chmod 600 '/tmp/it'\\''s here.toml'"),
            "{error}"
        );
    }
}

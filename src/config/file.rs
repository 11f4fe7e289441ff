//! Finding and reading the config file: which one is meant, and whether it may be used.

use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::environment::{self, Environment};
use super::error::ConfigError;
use super::written::{self, Written};

/// The most that is read of a file: no config comes near it, and no device file can fill the
/// memory.
const SIZE_MAX: u64 = 1 << 20;

/// Permission bits that let someone other than the owner read.
const OTHERS_READ: u32 = 0o044;

/// The file that was read, or would have been.
#[derive(Debug, Default)]
pub struct Found {
    /// Its path; empty where not even a home directory is known.
    pub path: PathBuf,
    /// Whether it is there.
    pub exists: bool,
    /// What it says; nothing where it is not there.
    pub written: Written,
}

/// Finds the config file by flag, environment or default place, and reads it. A file that nobody
/// named may be missing.
///
/// # Errors
/// Where a named file is missing, a file cannot be read or has mistakes, or holds a password that
/// others may read.
pub fn find(flag: Option<&Path>, environment: &Environment) -> Result<Found, ConfigError> {
    let from_variable = environment.path(environment::CONFIG);
    let (path, asked_by) = match (flag, from_variable) {
        (Some(path), _) => (path.to_owned(), Some("--config")),
        (None, Some(path)) => (path, Some(environment::CONFIG)),
        (None, None) => match environment.default_config() {
            Some(path) => (path, None),
            None => return Ok(Found::default()),
        },
    };
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return match asked_by {
                Some(asked_by) => Err(ConfigError::Missing { path, asked_by }),
                None => Ok(Found {
                    path,
                    ..Found::default()
                }),
            };
        }
        Err(error) => return Err(unreadable(path, &error)),
    };
    let written = read(&path, file)?;
    Ok(Found {
        path,
        exists: true,
        written,
    })
}

fn read(path: &Path, file: File) -> Result<Written, ConfigError> {
    let metadata = file
        .metadata()
        .map_err(|error| unreadable(path.to_owned(), &error))?;
    let mut text = String::new();
    file.take(SIZE_MAX + 1)
        .read_to_string(&mut text)
        .map_err(|error| unreadable(path.to_owned(), &error))?;
    let too_large = u64::try_from(text.len()).map_or(true, |size| size > SIZE_MAX);
    if too_large {
        return Err(ConfigError::TooLarge {
            path: path.to_owned(),
            max: SIZE_MAX,
        });
    }
    let written = written::read(&text).map_err(|mistakes| ConfigError::Mistakes {
        path: path.to_owned(),
        mistakes,
    })?;
    refuse_exposed(path, &written, metadata.mode())?;
    Ok(written)
}

/// A password is only as secret as the file it stands in.
fn refuse_exposed(path: &Path, written: &Written, mode: u32) -> Result<(), ConfigError> {
    let secret = written
        .ledgers
        .values()
        .map(|ledger| &ledger.url)
        .find(|url| url.value.has_password());
    match secret {
        Some(url) if mode & OTHERS_READ != 0 => Err(ConfigError::Exposed {
            path: path.to_owned(),
            line: url.line,
            mode: mode & 0o7777,
        }),
        Some(_) | None => Ok(()),
    }
}

fn unreadable(path: PathBuf, error: &std::io::Error) -> ConfigError {
    ConfigError::Unreadable {
        path,
        message: error.to_string(),
    }
}

//! The variables of the environment that ledgertop reads, taken once, so that what a run does can
//! be repeated and tested without changing the environment of a process.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use super::error::ConfigError;
use crate::ledger::text::SafeText;

/// Which ledger: a name of the config, or a URL.
pub const LEDGER: &str = "LEDGERTOP_LEDGER";
/// Which config file.
pub const CONFIG: &str = "LEDGERTOP_CONFIG";
/// As `--read-only`.
pub const READ_ONLY: &str = "LEDGERTOP_READ_ONLY";
/// As `--operate`.
pub const OPERATE: &str = "LEDGERTOP_OPERATE";
/// As `--refresh`.
pub const REFRESH: &str = "LEDGERTOP_REFRESH";
/// As `--theme`.
pub const THEME: &str = "LEDGERTOP_THEME";
/// As `--background`.
pub const BACKGROUND: &str = "LEDGERTOP_BACKGROUND";
/// As `--time-zone`.
pub const TIME_ZONE: &str = "LEDGERTOP_TIME_ZONE";
/// As `--log`.
pub const LOG: &str = "LEDGERTOP_LOG";
/// As `--log-level`.
pub const LOG_LEVEL: &str = "LEDGERTOP_LOG_LEVEL";
/// As `enqueue --producer`.
pub const PRODUCER: &str = "LEDGERTOP_PRODUCER";
/// The `Authorization` header of `work --http`: a secret, and so no flag.
pub const HTTP_AUTHORIZATION: &str = "LEDGERTOP_HTTP_AUTHORIZATION";
/// Who acts on jobs and plans.
pub const OPERATOR: &str = "LEDGERTOP_OPERATOR";
/// No colours, whatever the value, where it is not empty: see no-color.org.
pub const NO_COLOR: &str = "NO_COLOR";

/// Every variable that is read, ours and those of the system.
const READ: [&str; 20] = [
    LEDGER,
    CONFIG,
    READ_ONLY,
    OPERATE,
    REFRESH,
    THEME,
    BACKGROUND,
    TIME_ZONE,
    LOG,
    LOG_LEVEL,
    PRODUCER,
    HTTP_AUTHORIZATION,
    OPERATOR,
    NO_COLOR,
    "SSH_CONNECTION",
    "XDG_CONFIG_HOME",
    "HOME",
    "USER",
    "HOSTNAME",
    "TERM",
];

/// The variables as they were when the program began. An empty one counts as not set.
#[derive(Clone, Default)]
pub struct Environment(BTreeMap<&'static str, OsString>);

impl Environment {
    /// Those of this process.
    pub fn of_this_process() -> Self {
        Self::from_pairs(
            READ.iter()
                .filter_map(|name| Some((*name, std::env::var_os(name)?))),
        )
    }

    /// The given ones and no others.
    pub fn from_pairs<V: Into<OsString>>(
        pairs: impl IntoIterator<Item = (&'static str, V)>,
    ) -> Self {
        let set = pairs.into_iter().map(|(name, value)| (name, value.into()));
        Self(set.filter(|(_, value)| !value.is_empty()).collect())
    }

    /// Whether the variable is set to anything.
    pub fn is_set(&self, name: &'static str) -> bool {
        self.0.contains_key(name)
    }

    /// The variable as a path.
    pub fn path(&self, name: &'static str) -> Option<PathBuf> {
        self.0.get(name).map(PathBuf::from)
    }

    /// The variable as text, where it is set and is text.
    pub fn text(&self, name: &'static str) -> Option<&str> {
        self.0.get(name)?.to_str()
    }

    /// The variable as `parse` understands it; `None` where it is not set.
    ///
    /// # Errors
    /// Where it is set and `parse` does not understand it.
    pub fn value<T>(
        &self,
        name: &'static str,
        allowed: impl FnOnce() -> String,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<Option<T>, ConfigError> {
        let Some(raw) = self.0.get(name) else {
            return Ok(None);
        };
        match raw.to_str().and_then(parse) {
            Some(value) => Ok(Some(value)),
            None => Err(ConfigError::BadVariable {
                variable: name,
                value: SafeText::new(&raw.to_string_lossy()),
                allowed: allowed(),
            }),
        }
    }

    /// Who acts, where nothing else names them: `USER@HOST`, or as much of it as is known.
    pub fn who_and_where(&self) -> String {
        let host = self.text("HOSTNAME").map(str::to_owned).or_else(|| {
            let name = std::fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
            Some(name.trim().to_owned()).filter(|name| !name.is_empty())
        });
        match (self.text("USER"), host) {
            (Some(user), Some(host)) => format!("{user}@{host}"),
            (Some(name), None) => name.to_owned(),
            (None, Some(host)) => format!("ledgertop@{host}"),
            (None, None) => "ledgertop".to_owned(),
        }
    }

    /// The user of this process, as the system says; `USER` where it does not.
    pub fn os_user(&self) -> Option<String> {
        use std::os::unix::fs::MetadataExt as _;
        let said = std::fs::metadata("/proc/self").ok().map(|own| own.uid());
        let named = said.and_then(|id| {
            let users = std::fs::read_to_string("/etc/passwd").ok()?;
            user_of(id, &users)
        });
        let number = || said.map(|id| format!("uid {id}"));
        let variable = || self.text("USER").map(str::to_owned);
        named.or_else(number).or_else(variable)
    }

    /// Where the config file is looked for when nothing names one:
    /// `$XDG_CONFIG_HOME/ledgertop/config.toml`, else `~/.config/ledgertop/config.toml`.
    pub fn default_config(&self) -> Option<PathBuf> {
        // The XDG base directory specification: a relative path there is to be ignored.
        let xdg = self
            .path("XDG_CONFIG_HOME")
            .filter(|path| path.is_absolute());
        let directory = xdg.or_else(|| Some(self.path("HOME")?.join(".config")))?;
        Some(directory.join("ledgertop").join("config.toml"))
    }
}

/// The name of a user in the lines of passwd(5).
fn user_of(id: u32, users: &str) -> Option<String> {
    users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let (name, _password, number) = (fields.next()?, fields.next()?, fields.next()?);
        (number.parse() == Ok(id)).then(|| name.to_owned())
    })
}

impl std::fmt::Debug for Environment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // A URL with a password may be among the values.
        f.debug_list().entries(self.0.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_file_follows_the_xdg_specification() {
        let at = |pairs: &[(&'static str, &'static str)]| {
            Environment::from_pairs(pairs.iter().copied()).default_config()
        };
        assert_eq!(
            at(&[("XDG_CONFIG_HOME", "/x"), ("HOME", "/h")]),
            Some(PathBuf::from("/x/ledgertop/config.toml"))
        );
        assert_eq!(
            at(&[("XDG_CONFIG_HOME", "relative"), ("HOME", "/h")]),
            Some(PathBuf::from("/h/.config/ledgertop/config.toml"))
        );
        assert_eq!(at(&[]), None);
    }

    #[test]
    fn who_acts_is_a_user_at_a_host() {
        let both = Environment::from_pairs([("USER", "ann"), ("HOSTNAME", "db1")]);
        assert_eq!(both.who_and_where(), "ann@db1");
        assert!(!Environment::default().who_and_where().is_empty());
    }

    #[test]
    fn the_user_is_the_one_that_the_system_says() {
        let users = "root:x:0:0::/:/bin/sh\nada:x:1000:1000::/:/bin/sh\nbroken\n";
        assert_eq!(user_of(1000, users).as_deref(), Some("ada"));
        assert_eq!(user_of(7, users), None);
        assert!(Environment::default().os_user().is_some());
    }

    #[test]
    fn the_values_are_never_shown() {
        let environment = Environment::from_pairs([(LEDGER, "postgres://ann:s3cret@db")]);
        assert!(!format!("{environment:?}").contains("s3cret"));
    }
}

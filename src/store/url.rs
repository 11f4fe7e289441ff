//! Where a ledger is: `sqlite:PATH` or `postgres://USER@HOST/DATABASE`.
//!
//! Owns reading such a URL, showing it without its secrets, and the choice of the store and the
//! feed behind it. A password never gets into `Debug`, `Display` or an error. Next: `postgres`,
//! `sqlite`.

use std::fmt;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgSslMode};

use super::{Audit, Feed, Look, PATIENCE, Store, StoreError, postgres, sqlite};
use crate::ledger::text::SafeText;

/// Which database keeps a ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DatabaseKind {
    /// A file on this machine.
    Sqlite,
    /// A PostgreSQL server.
    Postgres,
}

/// Where a ledger is. Its `Debug` and `Display` show no password.
#[derive(Clone)]
pub struct LedgerUrl {
    shown: SafeText,
    place: Place,
}

#[derive(Clone)]
enum Place {
    Sqlite(PathBuf),
    // Boxed: many times the size of a path. Its own Debug would print the password.
    Postgres(Box<PgConnectOptions>),
}

impl LedgerUrl {
    /// Reads a URL.
    ///
    /// # Errors
    /// [`StoreError::BadUrl`] when it names no ledger.
    pub fn parse(text: &str) -> Result<Self, StoreError> {
        let shown = SafeText::new(&without_secrets(text));
        let place = if let Some(path) = text.strip_prefix("sqlite:") {
            sqlite_path(path).map(Place::Sqlite)
        } else if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            postgres_options(text).map(|options| Place::Postgres(Box::new(options)))
        } else {
            None
        };
        match place {
            Some(place) => Ok(Self { shown, place }),
            None => Err(StoreError::BadUrl { url: shown }),
        }
    }

    /// The ledger in a SQLite file.
    pub fn sqlite(path: &Path) -> Self {
        Self {
            shown: SafeText::new(&format!("sqlite:{}", path.display())),
            place: Place::Sqlite(path.to_owned()),
        }
    }

    /// Which database it is in.
    pub const fn kind(&self) -> DatabaseKind {
        match self.place {
            Place::Sqlite(_) => DatabaseKind::Sqlite,
            Place::Postgres(_) => DatabaseKind::Postgres,
        }
    }

    /// The URL without its secrets, as screens and messages show it.
    pub const fn shown(&self) -> &SafeText {
        &self.shown
    }

    /// The file, if it is one.
    pub fn path(&self) -> Option<&Path> {
        match &self.place {
            Place::Sqlite(path) => Some(path),
            Place::Postgres(_) => None,
        }
    }

    /// How to connect, if it is a PostgreSQL server.
    pub(crate) const fn postgres_options(&self) -> Option<&PgConnectOptions> {
        match &self.place {
            Place::Sqlite(_) => None,
            Place::Postgres(options) => Some(options),
        }
    }

    /// Whether the connection leaves this machine without checking certificate and host name. Only
    /// an explicit `sslmode` in the URL makes it so; screens say it.
    pub fn is_unverified(&self) -> bool {
        self.postgres_options().is_some_and(|options| {
            !is_local(options) && !matches!(options.get_ssl_mode(), PgSslMode::VerifyFull)
        })
    }

    /// Opens the ledger for reading and writing, after a look at its schema.
    ///
    /// # Errors
    /// Where it cannot be reached, is not a ledger, or its schema is older or newer than this
    /// program's.
    pub async fn store(&self) -> Result<Arc<dyn Store>, StoreError> {
        self.patient_store(PATIENCE).await
    }

    /// As [`LedgerUrl::store`], for calls that wait `patience` for the database: one that hangs is
    /// given up a fifth later on PostgreSQL, and after twice as long on SQLite, where a call may
    /// wait for its turn among the writers first.
    ///
    /// # Errors
    /// As [`LedgerUrl::store`].
    pub async fn patient_store(&self, patience: Duration) -> Result<Arc<dyn Store>, StoreError> {
        match &self.place {
            Place::Sqlite(path) => sqlite::open_store(path, &self.shown, patience).await,
            Place::Postgres(options) => postgres::open_store(options, &self.shown, patience).await,
        }
    }

    /// A feed of the ledger's events through a connection that cannot write. Nothing is connected
    /// before its first reading.
    pub fn feed(&self) -> Box<dyn Feed> {
        match &self.place {
            Place::Sqlite(path) => sqlite::feed(path, &self.shown),
            Place::Postgres(options) => postgres::feed(options, &self.shown),
        }
    }

    /// Look-ups through a connection that cannot write. Nothing is connected before the first.
    pub fn look(&self) -> Box<dyn Look> {
        match &self.place {
            Place::Sqlite(path) => sqlite::look(path, &self.shown),
            Place::Postgres(options) => postgres::look(options, &self.shown),
        }
    }

    /// A reading of the whole ledger through a connection that cannot write. Nothing is connected
    /// before it begins.
    pub fn audit(&self) -> Box<dyn Audit> {
        match &self.place {
            Place::Sqlite(path) => sqlite::audit(path, &self.shown),
            Place::Postgres(options) => postgres::audit(options, &self.shown),
        }
    }
}

impl fmt::Display for LedgerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.shown, f)
    }
}

impl fmt::Debug for LedgerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("LedgerUrl").field(&self.shown).finish()
    }
}

impl std::str::FromStr for LedgerUrl {
    type Err = StoreError;
    fn from_str(text: &str) -> Result<Self, StoreError> {
        Self::parse(text)
    }
}

/// `sqlite:ledger.db`, `sqlite:/var/lib/ledger.db` and `sqlite:///var/lib/ledger.db`. A database in
/// memory is no ledger: nobody else could see it.
fn sqlite_path(text: &str) -> Option<PathBuf> {
    let path = text.strip_prefix("//").unwrap_or(text);
    let usable = !path.is_empty() && !path.starts_with(':') && !path.contains(['\0', '?']);
    usable.then(|| PathBuf::from(path))
}

fn postgres_options(text: &str) -> Option<PgConnectOptions> {
    let options: PgConnectOptions = text.parse().ok()?;
    let asked = query(text).is_some_and(|query| {
        query
            .split('&')
            .filter_map(|pair| pair.split_once('='))
            .any(|(key, _)| matches!(key, "sslmode" | "ssl-mode"))
    });
    // What the driver would take from PGSSLMODE or from its own default may be weaker than what
    // leaves this machine deserves.
    if asked || is_local(&options) {
        Some(options)
    } else {
        Some(options.ssl_mode(PgSslMode::VerifyFull))
    }
}

/// Whether the connection stays on this machine.
fn is_local(options: &PgConnectOptions) -> bool {
    let host = options.get_host();
    let address = host.trim_start_matches('[').trim_end_matches(']');
    options.get_socket().is_some()
        || host.starts_with('/')
        || host == "localhost"
        || address.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

fn query(text: &str) -> Option<&str> {
    text.split_once('?').map(|(_, query)| query)
}

/// The URL without the password: neither the one before the host nor one among the parameters.
fn without_secrets(text: &str) -> String {
    if text.starts_with("sqlite:") {
        return text.to_owned();
    }
    let (front, query) = text.split_once('?').unwrap_or((text, ""));
    let front = match front.split_once("://") {
        // The last '@': a password may hold one that nobody escaped.
        Some((scheme, rest)) => match rest.rsplit_once('@') {
            Some((user, host)) => {
                let user = user.split_once(':').map_or(user, |(user, _)| user);
                format!("{scheme}://{user}@{host}")
            }
            None => front.to_owned(),
        },
        None => front.to_owned(),
    };
    let kept: Vec<&str> = query
        .split('&')
        .filter(|pair| !pair.is_empty() && !pair.to_ascii_lowercase().contains("password"))
        .collect();
    if kept.is_empty() {
        front
    } else {
        format!("{front}?{}", kept.join("&"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(text: &str) -> String {
        let url = LedgerUrl::parse(text).expect("it is a ledger");
        format!(
            "{:?}",
            url.postgres_options().expect("PostgreSQL").get_ssl_mode()
        )
    }

    #[test]
    fn a_password_is_shown_nowhere() {
        for text in [
            "postgres://u:s3cret@db.example/l?sslmode=require",
            "postgres://u:s3c@s3cret@db.example/l?sslmode=require",
            "postgres://u@db.example/l?sslmode=require&password=s3cret",
            "mysql://u:s3cret@db.example/l",
            "postgres://u:s3cret@db.example:port/l",
        ] {
            let shown = match LedgerUrl::parse(text) {
                Ok(url) => format!("{url} {url:?}"),
                Err(error) => format!("{error} {error:?}"),
            };
            assert!(!shown.contains("s3c"), "{shown}");
            assert!(shown.contains("db.example"), "{shown}");
        }
    }

    #[test]
    fn what_leaves_the_machine_is_verified_unless_the_url_says_otherwise() {
        assert_eq!(mode("postgres://u@db.example/l"), "VerifyFull");
        assert_eq!(mode("postgres://u@db.example/l?sslmode=disable"), "Disable");
        assert_eq!(mode("postgres://u@10.0.0.7/l"), "VerifyFull");
        for local in [
            "127.0.0.1",
            "localhost",
            "[::1]",
            "%2Fvar%2Frun%2Fpostgresql",
        ] {
            let url = format!("postgres://u@{local}/l");
            assert_ne!(mode(&url), "VerifyFull", "{local}");
            assert!(
                !LedgerUrl::parse(&url).expect("a ledger").is_unverified(),
                "{local}"
            );
        }
        let open = LedgerUrl::parse("postgres://u@db.example/l?sslmode=prefer").expect("a ledger");
        assert!(open.is_unverified());
    }

    #[test]
    fn sqlite_paths_are_taken_as_they_are() {
        for (text, path) in [
            ("sqlite:a b.db", "a b.db"),
            ("sqlite:/var/l.db", "/var/l.db"),
            ("sqlite:///var/l.db", "/var/l.db"),
        ] {
            let url = LedgerUrl::parse(text).expect("a ledger");
            assert_eq!(url.path(), Some(Path::new(path)));
        }
    }

    #[test]
    fn what_names_no_ledger_is_refused() {
        for text in [
            "",
            "sqlite:",
            "sqlite::memory:",
            "ledger.db",
            "mysql://a/b",
            "sqlite:a?b",
        ] {
            let error = LedgerUrl::parse(text).expect_err("it names no ledger");
            assert!(
                matches!(error, StoreError::BadUrl { .. }),
                "{text}: {error}"
            );
        }
    }
}

//! The text of a ledger's URL. It may hold a password, so it can be shown but never shows one.
//!
//! Only [`UrlText::expose`] gives the text as it was written, for the store alone: what a URL
//! means is the store's business (`store::LedgerUrl`), which config must not know. This file knows
//! just enough to find what must stay secret.

use std::fmt;
use std::path::Path;

use crate::ledger::text::SafeText;

/// What stands in place of a password.
const HIDDEN: &str = "***";

/// The query parameters of a PostgreSQL URL that hold a secret.
const SECRET_PARAMETERS: [&str; 2] = ["password", "sslpassword"];

/// The text of a ledger's URL: `sqlite:PATH` or `postgres://…`. `Debug` and `Display` show it
/// without its password and with hostile characters made visible.
#[derive(Clone, PartialEq, Eq)]
pub struct UrlText(String);

impl UrlText {
    /// Takes a URL; `None` where the text begins like none that names a ledger.
    pub fn parse(text: &str) -> Option<Self> {
        let known = ["sqlite:", "postgres://", "postgresql://"];
        known
            .iter()
            .any(|scheme| {
                text.strip_prefix(scheme)
                    .is_some_and(|rest| !rest.is_empty())
            })
            .then(|| Self(text.to_owned()))
    }

    /// The URL as it was written, password included. For the store only: never print it.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Whether the URL holds a password.
    pub fn has_password(&self) -> bool {
        holds_password(&self.0)
    }

    /// The URL without its password, safe to show.
    pub fn redacted(&self) -> SafeText {
        shown(&self.0)
    }

    /// A relative SQLite path, seen from `directory`; any other URL as it is.
    #[must_use]
    pub fn relative_to(&self, directory: &Path) -> Self {
        let Some(path) = self.0.strip_prefix("sqlite:") else {
            return self.clone();
        };
        let relative = !path.starts_with(['/', ':', '?']) && !directory.as_os_str().is_empty();
        match directory.to_str() {
            Some(directory) if relative => Self(format!("sqlite:{directory}/{path}")),
            Some(_) | None => self.clone(),
        }
    }
}

/// Whether an argument holds the URL of a PostgreSQL ledger with a password, also where its scheme
/// is mistyped. URLs of other things, in a payload for example, are none of our business.
pub fn argument_holds_password(argument: &str) -> bool {
    let mut rest = argument;
    while let Some((before, behind)) = rest.split_once("://") {
        let letters = |each: char| !each.is_ascii_alphanumeric();
        let scheme = before.rsplit(letters).next().unwrap_or_default();
        let near = SCHEMES.iter().any(|known| {
            strsim::damerau_levenshtein(&scheme.to_ascii_lowercase(), known) <= SCHEME_TYPOS_MAX
        });
        if near && holds_password(&format!("{scheme}://{behind}")) {
            return true;
        }
        rest = behind;
    }
    false
}

/// The schemes of URLs that may hold a password.
const SCHEMES: [&str; 2] = ["postgres", "postgresql"];

/// How many letters of a scheme may be off for it still to be meant.
const SCHEME_TYPOS_MAX: usize = 2;

/// Whether any text is a URL with a password, of whatever scheme.
pub fn holds_password(text: &str) -> bool {
    redact(text) != text
}

/// Any text as if it were a URL: without its password, safe to show.
pub fn shown(text: &str) -> SafeText {
    SafeText::new(&redact(text))
}

/// `text` with everything that could be a password of a URL replaced. It errs on the side of
/// hiding: a password may hold `@`, `/` or `?` where someone forgot to escape them, so it reaches
/// up to the last `@` of all.
fn redact(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else {
        return text.to_owned();
    };
    let hidden = rest.rsplit_once('@').and_then(|(user, host)| {
        let (name, password) = user.split_once(':')?;
        (!password.is_empty()).then(|| format!("{name}:{HIDDEN}@{host}"))
    });
    let rest = hidden.unwrap_or_else(|| rest.to_owned());
    let Some((address, query)) = rest.split_once('?') else {
        return format!("{scheme}://{rest}");
    };
    let query: Vec<String> = query.split('&').map(redact_parameter).collect();
    format!("{scheme}://{address}?{}", query.join("&"))
}

fn redact_parameter(parameter: &str) -> String {
    match parameter.split_once('=') {
        Some((name, value))
            if !value.is_empty()
                && SECRET_PARAMETERS
                    .iter()
                    .any(|secret| name.eq_ignore_ascii_case(secret)) =>
        {
            format!("{name}={HIDDEN}")
        }
        Some(_) | None => parameter.to_owned(),
    }
}

impl fmt::Display for UrlText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.redacted(), f)
    }
}

impl fmt::Debug for UrlText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.redacted(), f)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn said(text: &str) -> String {
        UrlText::parse(text).unwrap().to_string()
    }

    #[test]
    fn a_password_is_never_shown() {
        for text in [
            "postgres://ann:s3cret@db/jobs",
            "postgresql://ann:s3cret@db:5432/jobs?sslmode=require",
            "postgres://ann:s3cret/with@slash@db/jobs",
            "postgres://ann:s3cret?x@db/jobs",
            "postgres://ann:a@s3cret?x@db/jobs",
            "postgres://ann:a?b@s3cret@db/jobs?sslmode=require",
            "postgres://:s3cret@db",
            "postgres://db/jobs?user=ann&password=s3cret",
            "postgres://db/jobs?PASSWORD=s3cret&sslmode=require",
            "postgres://ann@db/jobs?password=s3cret@x",
        ] {
            let url = UrlText::parse(text).unwrap();
            assert!(url.has_password(), "{text}");
            assert!(!format!("{url} {url:?}").contains("s3cret"), "{url}");
            assert_eq!(url.expose(), text);
        }
    }

    #[test]
    fn only_a_ledgers_password_is_refused_in_an_argument() {
        for argument in [
            "postgres://ann:s3cret@db/jobs",
            "--ledger=postgresql://ann:s3cret@db/jobs",
            "--ledger=posgres://ann:s3cret@db/jobs",
            "POSTGRES://ann:s3cret@db",
            "{\"x\":\"http://a\",\"y\":\"postgres://ann:s3cret@db\"}",
        ] {
            assert!(argument_holds_password(argument), "{argument}");
        }
        for argument in [
            "postgres://ann@db:5432/jobs",
            "{\"url\":\"https://host:8080/a@b\"}",
            "https://ann:s3cret@elsewhere/",
            "t7:mail:1",
            "",
        ] {
            assert!(!argument_holds_password(argument), "{argument}");
        }
    }

    #[test]
    fn what_is_no_secret_is_shown() {
        for text in [
            "sqlite:jobs.db",
            "sqlite:/var/lib/a:b@c.db",
            "postgres://ann@db:5432/jobs?sslmode=verify-full",
            "postgres://db/jobs",
        ] {
            assert_eq!(said(text), text);
        }
        assert_eq!(
            said("postgres://ann:s3cret@db/jobs"),
            "postgres://ann:***@db/jobs"
        );
    }

    #[test]
    fn a_name_is_not_a_url() {
        for text in [
            "prod",
            "mysql://db",
            "sqlite:",
            "postgres://",
            "http://x",
            "",
        ] {
            assert_eq!(UrlText::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_relative_path_is_seen_from_the_directory_of_its_config() {
        let from = |text: &str| {
            let url = UrlText::parse(text).unwrap();
            url.relative_to(Path::new("/etc/ledgertop"))
                .expose()
                .to_owned()
        };
        assert_eq!(from("sqlite:jobs.db"), "sqlite:/etc/ledgertop/jobs.db");
        assert_eq!(from("sqlite:/srv/jobs.db"), "sqlite:/srv/jobs.db");
        assert_eq!(from("sqlite::memory:"), "sqlite::memory:");
        assert_eq!(from("postgres://db/jobs"), "postgres://db/jobs");
    }

    proptest! {
        #[test]
        fn no_password_slips_through(password in "[a-zA-Z0-9:/?#@&=%]{6,20}") {
            let text = format!("postgres://ann:{password}@db/jobs");
            let url = UrlText::parse(&text).unwrap();
            prop_assert!(!url.to_string().contains(&password), "{}", url);
        }
    }
}

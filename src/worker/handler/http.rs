//! Handlers behind HTTP: each attempt is one POST, and the answer's status decides the class.
//!
//! Owns the request, the connection (to checked addresses only) and the reading of the answer. It
//! follows no redirect, reads a bounded part of a body, and never decides what follows a failure.
//! The walk: [`status`], the table; `request`; `connect` behind [`guard`]; `answer`.

use std::error::Error as _;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use async_trait::async_trait;
use http::{HeaderValue, Uri, header};
use http_body_util::Full;
use hyper::body::Bytes;
use hyper_util::client::legacy::{self, Client};
use hyper_util::rt::{TokioExecutor, TokioTimer};

use super::{Context, Done, Handler, HandlerError};
use crate::ledger::job::Claimed;
use crate::ledger::meaning::Table;
use answer::Answer;
use connect::{CertificateFault, ConnectError, Connector};
use guard::Reach;

mod answer;
mod connect;
pub mod guard;
mod request;
pub mod status;

/// How long a connection is kept for the next request. Shorter than the 5 s after which Node.js
/// closes an idle one: a request that meets the closing fails although nobody is at fault.
const IDLE: Duration = Duration::from_secs(4);
/// The most that the head of an answer may take.
const HEAD_MAX_BYTES: usize = 64 * 1024;

/// What a handler behind HTTP is to be.
#[derive(Debug, Clone)]
pub struct HttpOptions {
    /// Where requests go.
    pub url: Uri,
    /// How far that may be.
    pub reach: Reach,
    /// What a status means.
    pub table: Table,
    /// A PEM file with the certificate authorities that are trusted, and no others; those that
    /// browsers trust where there is none.
    pub ca_file: Option<PathBuf>,
    /// What proves to the far side who asks; it is never shown.
    pub authorization: Option<HeaderValue>,
    /// How long an attempt may take; the worker holds it, requests say when it ends.
    pub timeout: Duration,
    /// The most connections that are kept for later.
    pub connections: usize,
}

/// Why there can be no such handler.
#[derive(Debug, thiserror::Error)]
pub enum HttpSetupError {
    /// Not a URL that can be posted to.
    #[error("'{url}' is not a URL such as https://example.com/jobs")]
    BadUrl {
        /// What was given, made safe.
        url: crate::ledger::text::SafeText,
    },
    /// The URL leads inside.
    #[error(
        "'{host}' is at {address}, which is not a public address; where that is meant, say \
         --allow-private"
    )]
    NotPublic {
        /// Its host.
        host: crate::ledger::text::SafeText,
        /// One of the host's addresses.
        address: std::net::IpAddr,
    },
    /// The credentials cannot be sent.
    #[error("the credentials hold a character that no header may hold")]
    BadAuthorization,
    /// The certificate authorities cannot be read.
    #[error("the certificate authorities in '{file}' cannot be read: {message}")]
    BadAuthorities {
        /// The file.
        file: crate::ledger::text::SafeText,
        /// Why not.
        message: crate::ledger::text::SafeText,
    },
    /// TLS cannot be set up.
    #[error("TLS cannot be set up")]
    Tls(#[from] tokio_rustls::rustls::Error),
}

/// Reads a URL that requests may go to: http or https, with a host and without credentials.
///
/// # Errors
/// Where it is none.
pub fn url(text: &str) -> Result<Uri, HttpSetupError> {
    let parsed: Option<Uri> = text.parse().ok().filter(|uri: &Uri| {
        let scheme = matches!(uri.scheme_str(), Some("http" | "https"));
        let place = uri
            .authority()
            .is_some_and(|place| !place.host().is_empty() && !place.as_str().contains('@'));
        scheme && place
    });
    parsed.ok_or_else(|| HttpSetupError::BadUrl { url: text.into() })
}

/// Reads credentials for the `Authorization` header; shown nowhere, also not in errors.
///
/// # Errors
/// Where no header can hold them.
pub fn authorization(text: &str) -> Result<HeaderValue, HttpSetupError> {
    let value = HeaderValue::from_str(text);
    let mut value = value.map_err(|_shows_nothing| HttpSetupError::BadAuthorization)?;
    value.set_sensitive(true);
    Ok(value)
}

/// Does jobs by posting them to a URL.
pub struct HttpHandler {
    options: HttpOptions,
    connector: Connector,
    client: Client<Connector, Full<Bytes>>,
}

impl HttpHandler {
    /// A handler that connects when the first job comes.
    ///
    /// # Errors
    /// Where TLS cannot be set up, or the certificate authorities not be read.
    pub fn new(options: HttpOptions) -> Result<Self, HttpSetupError> {
        let roots = match &options.ca_file {
            Some(file) => connect::authorities(file).map_err(|message| {
                let (file, message) = (file.to_string_lossy(), message.as_str());
                HttpSetupError::BadAuthorities {
                    file: file.as_ref().into(),
                    message: message.into(),
                }
            })?,
            None => connect::public_authorities(),
        };
        let connector = Connector::new(options.reach, roots)?;
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE)
            .pool_max_idle_per_host(options.connections)
            .http1_max_buf_size(HEAD_MAX_BYTES)
            .build(connector.clone());
        Ok(Self {
            options,
            connector,
            client,
        })
    }

    /// Looks whether the URL may be reached, before any job is claimed for it. A name that cannot
    /// be resolved now may be later, so that is no error here.
    ///
    /// # Errors
    /// Where every address of the URL lies beyond the reach.
    pub async fn check(&self) -> Result<(), HttpSetupError> {
        match self.connector.addresses(&self.options.url).await {
            Err(ConnectError::NotPublic { host, address }) => Err(HttpSetupError::NotPublic {
                host: host.into(),
                address,
            }),
            Err(error) => {
                let cause = error.source().map(ToString::to_string).unwrap_or_default();
                tracing::warn!(%error, cause, "the URL cannot be looked up now; going on");
                Ok(())
            }
            Ok(_addresses) => Ok(()),
        }
    }
}

#[async_trait]
impl Handler for HttpHandler {
    async fn run(&self, job: &Claimed, context: &Context) -> Result<Done, HandlerError> {
        let deadline = context.now().plus(self.options.timeout);
        let mut request = request::request(&self.options.url, job, deadline);
        if let Some(value) = &self.options.authorization {
            request
                .headers_mut()
                .insert(header::AUTHORIZATION, value.clone());
        }
        let response = self
            .client
            .request(request)
            .await
            .map_err(|error| unsent(&error))?;
        let answer = Answer::read(response)
            .await
            .map_err(|error| broken(&error))?;
        answer.judge(&self.options.table, context.now())
    }
}

impl std::fmt::Debug for HttpHandler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpHandler")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

/// A request that has no answer.
fn unsent(error: &legacy::Error) -> HandlerError {
    let mut source = error.source();
    while let Some(cause) = source {
        if let Some(connect) = cause.downcast_ref::<ConnectError>() {
            return unconnected(connect);
        }
        if let Some(hyper) = cause.downcast_ref::<hyper::Error>() {
            return broken(hyper);
        }
        source = cause.source();
    }
    HandlerError::known("connection_lost", told(error))
}

fn unconnected(error: &ConnectError) -> HandlerError {
    let reason = match error {
        ConnectError::NotPublic { .. } => "address_refused",
        ConnectError::TimedOut { .. } => "timeout",
        ConnectError::BadCertificate { fault, .. } => match fault {
            CertificateFault::Untrusted => "certificate_untrusted",
            CertificateFault::WrongName => "certificate_wrong_name",
        },
        ConnectError::NoAddress { .. } | ConnectError::NoTls { .. } => "unavailable",
        ConnectError::NoConnection { source, .. } => match source.kind() {
            io::ErrorKind::ConnectionRefused => "connection_refused",
            io::ErrorKind::TimedOut => "timeout",
            _unreachable_and_others => "connection_lost",
        },
    };
    HandlerError::known(reason, told(error))
}

/// A connection that broke before the answer was whole.
fn broken(error: &hyper::Error) -> HandlerError {
    let reason = if error.is_parse() {
        "server_error"
    } else {
        "connection_lost"
    };
    HandlerError::known(reason, told(error))
}

/// An error with its causes.
fn told(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_not_shown() {
        let value = authorization("Bearer s3cret").unwrap();
        assert!(!format!("{value:?}").contains("s3cret"));
        let refused = authorization("s3\ncret").unwrap_err();
        assert!(!format!("{refused} {refused:?}").contains("s3"));
    }

    #[test]
    fn a_url_names_a_host_over_http_and_no_secret() {
        for text in [
            "http://localhost:3000/jobs",
            "https://example.com",
            "http://[::1]:80/x?y=1",
        ] {
            assert!(url(text).is_ok(), "{text}");
        }
        for text in [
            "",
            "localhost:3000",
            "/jobs",
            "ftp://example.com/",
            "http://",
            "http://ann@example.com/",
            "unix:/run/x",
        ] {
            assert!(url(text).is_err(), "{text}");
        }
    }
}

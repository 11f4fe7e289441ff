//! Connecting: resolve the name, check every address, connect to the first that answers, speak TLS
//! where the URL says so.
//!
//! The one way out of a worker: no proxy of the environment is used, since a proxy would resolve
//! the name again, behind the guard. Knows no request. Next: [`super`], which sends one.

use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, lookup_host};
use tokio::time::{Instant, timeout, timeout_at};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{self, CertificateError, ClientConfig, RootCertStore, crypto::ring};

use super::guard::Reach;

/// How long it may take to be connected, TLS included.
pub(super) const CONNECT_WITHIN: Duration = Duration::from_secs(10);
/// The most addresses of a name that are tried.
const ADDRESSES_MAX: usize = 8;

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub(super) enum ConnectError {
    /// The name leads nowhere.
    #[error("'{host}' could not be resolved")]
    NoAddress {
        /// The name.
        host: String,
        /// What the resolver said, where it said something.
        source: Option<io::Error>,
    },
    /// Every address of the name is private.
    #[error("'{host}' is at {address}, which is not a public address")]
    NotPublic {
        /// The name.
        host: String,
        /// One of its addresses.
        address: IpAddr,
    },
    /// Not connected in time.
    #[error("no connection to '{host}' within {CONNECT_WITHIN:?}")]
    TimedOut {
        /// The name.
        host: String,
    },
    /// The far side or the network refused.
    #[error("no connection to {address}")]
    NoConnection {
        /// Where to.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// The far side did not prove who it is.
    #[error("'{host}' is not trusted: {fault}")]
    BadCertificate {
        /// The name.
        host: String,
        /// In which way.
        fault: CertificateFault,
        /// What was found.
        source: io::Error,
    },
    /// The far side does not speak TLS, or none that we speak.
    #[error("no TLS with '{host}'")]
    NoTls {
        /// The name.
        host: String,
        /// Why not.
        source: io::Error,
    },
}

/// What may be wrong with a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum CertificateFault {
    /// Nobody we trust says that it is good now.
    #[error("no trusted authority vouches for its certificate, or it is not in force")]
    Untrusted,
    /// It is good, and somebody else's.
    #[error("its certificate is of another name")]
    WrongName,
}

impl CertificateFault {
    /// The fault that ended a handshake, if it was one.
    fn of(error: &io::Error) -> Option<Self> {
        let error = error.get_ref()?.downcast_ref()?;
        let rustls::Error::InvalidCertificate(certificate) = error else {
            return None;
        };
        Some(match certificate {
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                Self::WrongName
            }
            _any_other => Self::Untrusted,
        })
    }
}

/// Reads the certificates of authorities from a PEM file.
///
/// # Errors
/// In words, where it holds none or cannot be read.
pub(super) fn authorities(file: &Path) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    let found = CertificateDer::pem_file_iter(file).map_err(|error| error.to_string())?;
    for certificate in found {
        let certificate = certificate.map_err(|error| error.to_string())?;
        let added = roots.add(certificate);
        added.map_err(|error| error.to_string())?;
    }
    if roots.is_empty() {
        return Err("it holds no certificate in PEM form".to_owned());
    }
    Ok(roots)
}

/// The certificate authorities that browsers trust.
pub(super) fn public_authorities() -> RootCertStore {
    RootCertStore {
        roots: webpki_roots::TLS_SERVER_ROOTS.to_vec(),
    }
}

/// A stream of bytes, encrypted or not.
pub(super) trait Wire: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Wire for T {}

impl Connection for Box<dyn Wire> {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

/// Makes connections, within its reach.
#[derive(Clone)]
pub(super) struct Connector {
    reach: Reach,
    tls: TlsConnector,
}

impl Connector {
    /// A connector that trusts these certificate authorities.
    ///
    /// # Errors
    /// Where TLS cannot be set up.
    pub(super) fn new(reach: Reach, roots: RootCertStore) -> Result<Self, rustls::Error> {
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let tls = TlsConnector::from(Arc::new(config));
        Ok(Self { reach, tls })
    }

    /// The addresses of `uri` that may be connected to; never none.
    ///
    /// # Errors
    /// Where its name cannot be resolved, or all of its addresses lie beyond the reach.
    pub(super) async fn addresses(&self, uri: &Uri) -> Result<Vec<SocketAddr>, ConnectError> {
        let (host, port) = place(uri);
        let no_address = |source| ConnectError::NoAddress {
            host: host.to_owned(),
            source,
        };
        let found: Vec<SocketAddr> = match host.parse::<IpAddr>() {
            Ok(address) => vec![SocketAddr::new(address, port)],
            Err(_a_name) => lookup_host((host, port))
                .await
                .map_err(|source| no_address(Some(source)))?
                .take(ADDRESSES_MAX)
                .collect(),
        };
        let Some(first) = found.first().map(SocketAddr::ip) else {
            return Err(no_address(None));
        };
        let allowed: Vec<SocketAddr> = found
            .into_iter()
            .filter(|address| self.reach.allows(address.ip()))
            .collect();
        if allowed.is_empty() {
            return Err(ConnectError::NotPublic {
                host: host.to_owned(),
                address: first,
            });
        }
        Ok(allowed)
    }

    async fn connect(self, uri: Uri) -> Result<TokioIo<Box<dyn Wire>>, ConnectError> {
        let until = Instant::now() + CONNECT_WITHIN;
        let (host, _) = place(&uri);
        let late = || ConnectError::TimedOut {
            host: host.to_owned(),
        };
        let addresses = timeout_at(until, self.addresses(&uri))
            .await
            .map_err(|_late| late())??;
        let stream = reach_one(&addresses, until)
            .await
            .unwrap_or_else(|| Err(late()))?;
        // Small requests are sent at once. Where that cannot be set they are sent a little later.
        drop(stream.set_nodelay(true));
        if uri.scheme_str() != Some("https") {
            return Ok(TokioIo::new(Box::new(stream)));
        }
        let no_tls = |source| {
            let host = host.to_owned();
            match CertificateFault::of(&source) {
                Some(fault) => ConnectError::BadCertificate {
                    host,
                    fault,
                    source,
                },
                None => ConnectError::NoTls { host, source },
            }
        };
        let name = ServerName::try_from(host.to_owned())
            .map_err(|error| no_tls(io::Error::new(io::ErrorKind::InvalidInput, error)))?;
        let stream = timeout_at(until, self.tls.connect(name, stream))
            .await
            .map_err(|_late| late())?
            .map_err(no_tls)?;
        Ok(TokioIo::new(Box::new(stream)))
    }
}

/// Connects to the first address that answers; each gets its share of the time that is left. `None`
/// where the time is over.
async fn reach_one(
    addresses: &[SocketAddr],
    until: Instant,
) -> Option<Result<TcpStream, ConnectError>> {
    let mut refused = None;
    for (tried, address) in addresses.iter().enumerate() {
        let left = until.saturating_duration_since(Instant::now());
        let others = u32::try_from(addresses.len() - tried).unwrap_or(u32::MAX);
        match timeout(left / others, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => return Some(Ok(stream)),
            Ok(Err(source)) => {
                refused = Some(Err(ConnectError::NoConnection {
                    address: *address,
                    source,
                }));
            }
            Err(_late) => {}
        }
    }
    refused
}

/// Host and port of a URL; an IPv6 address stands without its brackets.
fn place(uri: &Uri) -> (&str, u16) {
    let host = uri.host().unwrap_or_default();
    let host = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'))
        .unwrap_or(host);
    let usual = if uri.scheme_str() == Some("https") {
        443
    } else {
        80
    };
    (host, uri.port_u16().unwrap_or(usual))
}

impl tower_service::Service<Uri> for Connector {
    type Response = TokioIo<Box<dyn Wire>>;
    type Error = ConnectError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        Box::pin(self.clone().connect(uri))
    }
}

//! Handlers behind HTTPS: who is trusted, with a certificate authority of the case's own.
//!
//! Next: `exec.rs`, handlers that are commands.

use std::path::Path;
use std::sync::Arc;

use ledgertop::ledger::state::State;
use ledgertop::worker::handler::http::HttpOptions;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

use crate::bench::{enqueue, job, open, policy, until_state};
use crate::http::{failure, usual, work};
use crate::ledger::Ledger;
use crate::program::Work;
use crate::server::{Reply, Server};

/// The authority's certificate, written to `file`, and a server with one for `localhost` from it.
fn localhost(file: &Path) -> TlsAcceptor {
    let authority_key = KeyPair::generate().expect("a key");
    let mut authority = CertificateParams::new(Vec::new()).expect("no names");
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let root = authority
        .self_signed(&authority_key)
        .expect("a certificate");
    std::fs::write(file, root.pem()).expect("a file");
    let issuer = Issuer::new(authority, authority_key);
    let key = KeyPair::generate().expect("a key");
    let params = CertificateParams::new(vec!["localhost".to_owned()]).expect("a name");
    let certificate = params.signed_by(&key, &issuer).expect("a certificate");
    let private = PrivateKeyDer::try_from(key.serialize_der()).expect("a key");
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("the usual versions")
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], private)
        .expect("they belong together");
    TlsAcceptor::from(Arc::new(config))
}

async fn server(file: &Path) -> Server {
    Server::start_tls(localhost(file), |_| {
        Reply::of(200, "Ledgertop-Output: over/tls\r\n", "")
    })
    .await
}

pub(crate) async fn an_authority_of_ones_own_is_trusted_and_no_other_and_names_are_checked(
    ledger: &Ledger,
) {
    let store = open(ledger).await;
    policy(store.as_ref(), "default", |policy| policy.max_attempts = 1).await;
    let home = tempfile::tempdir().expect("a directory");
    let (own, other) = (home.path().join("own.pem"), home.path().join("other.pem"));
    let server = server(&own).await;
    localhost(&other);
    let by_name = format!("https://localhost:{}/jobs", server.port());
    let by_address = format!("https://127.0.0.1:{}/jobs", server.port());
    let untrusted = "unknown certificate_untrusted";
    for (url, ca_file, expected) in [
        (&by_name, Some(&own), None),
        (&by_name, Some(&other), Some(untrusted)),
        (&by_name, None, Some(untrusted)),
        (
            &by_address,
            Some(&own),
            Some("unknown certificate_wrong_name"),
        ),
    ] {
        let sent = server.requests().len();
        let key = format!("{url} {ca_file:?}");
        let id = enqueue(store.as_ref(), &[job(&key)]).await[0];
        let worker = work(
            &store,
            HttpOptions {
                ca_file: ca_file.cloned(),
                ..usual(url)
            },
        );
        match expected {
            None => {
                let done = until_state(store.as_ref(), id, State::Succeeded).await;
                assert_eq!(done.output_ref, Some("over/tls".into()));
            }
            Some(reason) => {
                until_state(store.as_ref(), id, State::Dead).await;
                let (found, error) = failure(ledger, id).await;
                assert_eq!(found, reason, "{key}: {error}");
                assert!(error.contains("is not trusted"), "{error}");
                assert_eq!(server.requests().len(), sent, "nothing was sent");
            }
        }
        worker.stop().await;
    }
}

pub(crate) async fn the_authorities_come_from_a_flag_or_from_the_config(ledger: &Ledger) {
    let store = open(ledger).await;
    let home = tempfile::tempdir().expect("a directory");
    let server = server(&home.path().join("own.pem")).await;
    let url = format!("https://localhost:{}/jobs", server.port());
    let config = home.path().join("config.toml");
    // Seen from the config file.
    std::fs::write(&config, "[work.http]\nca_file = \"own.pem\"\n").expect("a file");
    let variable = config.display().to_string();
    let arguments = [
        "--queue",
        "thumbnails",
        "--http",
        &url,
        "--allow-private",
        "--until-empty",
    ];
    let id = enqueue(store.as_ref(), &[job("by the config")]).await[0];
    let ran = Work::start(
        ledger,
        home.path(),
        &arguments,
        &[("LEDGERTOP_CONFIG", &variable)],
    )
    .ended(home.path())
    .await;
    assert_eq!(ran.code, Some(0), "{}", ran.messages);
    until_state(store.as_ref(), id, State::Succeeded).await;

    // A flag is over it; what cannot be read ends the worker before it claims anything.
    let nowhere = home.path().join("nowhere.pem").display().to_string();
    let arguments = [&arguments[..], &["--ca-file", &nowhere]].concat();
    let id = enqueue(store.as_ref(), &[job("by a flag")]).await[0];
    let ran = Work::start(
        ledger,
        home.path(),
        &arguments,
        &[("LEDGERTOP_CONFIG", &variable)],
    )
    .ended(home.path())
    .await;
    assert_eq!(ran.code, Some(2), "{}", ran.messages);
    assert!(ran.messages.contains("nowhere.pem"), "{}", ran.messages);
    assert!(
        ran.messages.contains("no job was claimed"),
        "{}",
        ran.messages
    );
    until_state(store.as_ref(), id, State::Ready).await;
}

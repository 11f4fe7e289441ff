//! Handlers behind HTTP: what each answer, and each kind of none, does to its job.
//!
//! Next: `exec.rs`, the same for commands.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use ledgertop::ledger::job::NewJob;
use ledgertop::ledger::meaning::{Meaning, Table};
use ledgertop::ledger::state::State;
use ledgertop::store::Store;
use ledgertop::worker::handler::http::guard::Reach;
use ledgertop::worker::handler::http::{HttpHandler, HttpOptions, authorization, status, url};
use ledgertop::worker::{Handlers, WorkerOptions};
use tokio::net::TcpListener;
use tokio::time::Instant;
use uuid::Uuid;

use crate::bench::{
    Housekeeper, Running, enqueue, events, job, open, options, policy, row, start, until_all,
    until_state,
};
use crate::ledger::Ledger;
use crate::server::{Reply, Server};

fn table(chosen: &[(u16, &str)]) -> Table {
    let chosen = chosen.iter().map(|(status, meaning)| {
        let meaning = Meaning::parse(meaning).expect("a meaning");
        (*status, meaning)
    });
    Table::new(status::RULES, chosen.collect::<BTreeMap<_, _>>())
}

/// What is usual: the built-in table, any address, one second.
pub(crate) fn usual(address: &str) -> HttpOptions {
    HttpOptions {
        url: url(address).expect("a URL"),
        reach: Reach::Private,
        table: table(&[]),
        ca_file: None,
        authorization: Some(authorization("Bearer of the test").expect("a value")),
        timeout: Duration::from_secs(1),
        connections: 10,
    }
}

pub(crate) fn work(store: &Arc<dyn Store>, http: HttpOptions) -> Running {
    let worker = WorkerOptions {
        timeout: http.timeout,
        ..options("w1")
    };
    let handler = HttpHandler::new(http).expect("TLS can be set up");
    start(Arc::clone(store), Handlers::all(Arc::new(handler)), worker)
}

/// Class and reason of the job's last failure, and its text.
pub(crate) async fn failure(ledger: &Ledger, job: Uuid) -> (String, String) {
    let of = |column: &str| {
        format!(
            "SELECT {column} FROM job_events WHERE job_id = '{job}' AND error IS NOT NULL \
             ORDER BY version DESC LIMIT 1"
        )
    };
    let failure = ledger.value(&of("error_class || ' ' || reason")).await;
    (failure, ledger.value(&of("error")).await)
}

fn with(key: &str, payload: serde_json::Value) -> NewJob {
    NewJob {
        payload,
        ..job(key)
    }
}

pub(crate) async fn a_429_waits_for_its_retry_after_and_the_next_answer_completes(ledger: &Ledger) {
    let store = open(ledger).await;
    policy(store.as_ref(), "default", |_| {}).await;
    let server = Server::start(|request| match request.attempt() {
        1 => Reply::of(429, "Retry-After: 1\r\n", "slow down"),
        _ => Reply::of(
            200,
            "Content-Type: application/json\r\n",
            r#"{"output_ref":"s3://out/1"}"#,
        ),
    })
    .await;
    let id = enqueue(store.as_ref(), &[job("image_1")]).await[0];
    let _housekeeper = Housekeeper::start(Arc::clone(&store));
    let worker = work(&store, usual(&server.url()));
    let waiting = until_state(store.as_ref(), id, State::RetryWait).await;
    let wait = waiting.available_at.since(waiting.state_since);
    assert!(wait >= Duration::from_secs(1), "{wait:?}");
    let done = until_state(store.as_ref(), id, State::Succeeded).await;
    worker.stop().await;
    assert_eq!(done.output_ref, Some("s3://out/1".into()));
    assert!(done.state_since >= waiting.available_at);
    assert_eq!(
        events(ledger, id).await,
        ["enqueue", "claim", "retry", "due", "claim", "succeed"]
    );
    let (class, error) = failure(ledger, id).await;
    assert_eq!(class, "transient rate_limited");
    assert_eq!(error, "HTTP 429 Too Many Requests: slow down");
}

pub(crate) async fn every_status_ends_as_the_table_says(ledger: &Ledger) {
    let store = open(ledger).await;
    let server = Server::start(|request| {
        let status = request.key().parse().expect("a status");
        Reply::of(status, "", "why")
    })
    .await;
    let cases = [
        (200, ""),
        (204, ""),
        (299, ""),
        (302, "unknown redirected"),
        (400, "permanent malformed"),
        (401, "unknown unclassified"),
        (404, "unknown unclassified"),
        (408, "transient timeout"),
        (409, "unknown unclassified"),
        (415, "permanent unsupported_format"),
        (422, "permanent schema_violation"),
        (429, "transient rate_limited"),
        (500, "transient server_error"),
        (502, "transient unavailable"),
        (503, "transient unavailable"),
        (504, "transient timeout"),
        (599, "transient server_error"),
        (799, "unknown unclassified"),
    ];
    let jobs: Vec<NewJob> = cases
        .iter()
        .map(|(status, _)| job(&status.to_string()))
        .collect();
    let ids = enqueue(store.as_ref(), &jobs).await;
    let worker = work(&store, usual(&server.url()));
    for (id, (status, expected)) in ids.into_iter().zip(cases) {
        let state = match expected.split(' ').next() {
            Some("permanent") => State::Quarantined,
            Some("") => State::Succeeded,
            _retried => State::RetryWait,
        };
        until_state(store.as_ref(), id, state).await;
        if !expected.is_empty() {
            let (class, error) = failure(ledger, id).await;
            assert_eq!(class, expected, "{status}");
            let begins = format!("HTTP {status} ");
            assert!(
                error.starts_with(&begins) && error.ends_with(": why"),
                "{error}"
            );
        }
    }
    worker.stop().await;
}

pub(crate) async fn the_config_is_over_the_table(ledger: &Ledger) {
    let store = open(ledger).await;
    let server =
        Server::start(|request| Reply::of(request.key().parse().expect("a status"), "", "")).await;
    let ids = enqueue(store.as_ref(), &[job("409"), job("404"), job("503")]).await;
    let http = HttpOptions {
        table: table(&[
            (409, "done"),
            (404, "permanent not_found"),
            (503, "permanent tenant_closed"),
        ]),
        ..usual(&server.url())
    };
    let worker = work(&store, http);
    until_state(store.as_ref(), ids[0], State::Succeeded).await;
    until_state(store.as_ref(), ids[1], State::Quarantined).await;
    until_state(store.as_ref(), ids[2], State::Quarantined).await;
    worker.stop().await;
    assert_eq!(failure(ledger, ids[1]).await.0, "permanent not_found");
    assert_eq!(failure(ledger, ids[2]).await.0, "permanent tenant_closed");
}

pub(crate) async fn a_request_carries_the_facts_of_its_attempt(ledger: &Ledger) {
    let store = open(ledger).await;
    let server = Server::start(|_| Reply::of(200, "", "")).await;
    let payload = serde_json::json!({"image": "cat", "width": 31.245_270_191_439_438});
    let new = NewJob {
        tenant: "Zürich 100%".to_owned(),
        ..with("tenant_7:image_1", payload.clone())
    };
    let id = enqueue(store.as_ref(), &[new]).await[0];
    let worker = work(&store, usual(&server.url()));
    let done = until_state(store.as_ref(), id, State::Succeeded).await;
    worker.stop().await;
    let request = server.requests().remove(0);
    assert_eq!(request.line, "POST /jobs HTTP/1.1");
    let body: serde_json::Value = serde_json::from_str(&request.body).expect("JSON");
    assert_eq!(body, payload);
    let host = format!("127.0.0.1:{}", server.port());
    for (name, value) in [
        ("host", host.as_str()),
        ("content-type", "application/json"),
        ("authorization", "Bearer of the test"),
        ("idempotency-key", "tenant_7:image_1"),
        ("ledgertop-job-id", &id.to_string()),
        ("ledgertop-attempt", "1"),
        ("ledgertop-fence", "1"),
        ("ledgertop-queue", "thumbnails"),
        ("ledgertop-kind", "render"),
        ("ledgertop-tenant", "Z%C3%BCrich%20100%25"),
    ] {
        assert_eq!(request.header(name), Some(value), "{name}");
    }
    let deadline = request.header("ledgertop-deadline").expect("a deadline");
    let deadline = chrono::DateTime::parse_from_rfc3339(deadline).expect("RFC 3339");
    let left = deadline.timestamp_millis() - done.state_since.millis();
    assert!((0..=1_000).contains(&left), "{left} ms of 1 s were left");
    assert!(deadline.to_rfc3339().ends_with("+00:00"));
}

pub(crate) async fn the_output_reference_is_of_the_header_or_of_a_json_body(ledger: &Ledger) {
    let store = open(ledger).await;
    let json = "Content-Type: application/json; charset=utf-8\r\n";
    let both = format!("{json}Ledgertop-Output: s3://of/header\r\n");
    let long = format!("Ledgertop-Output: {}\r\n", "x".repeat(2_001));
    let body = r#"{"output_ref": "s3://of/body", "more": [1]}"#;
    let cases: [(&str, String, &str, Option<&str>); 7] = [
        ("header", both, body, Some("s3://of/header")),
        ("body", json.to_owned(), body, Some("s3://of/body")),
        (
            "plain",
            "Content-Type: text/plain\r\n".to_owned(),
            body,
            None,
        ),
        ("other", json.to_owned(), r#"{"output_ref": 7}"#, None),
        ("null", json.to_owned(), r#"{"output_ref": null}"#, None),
        ("broken", json.to_owned(), "{", None),
        ("long", long, "", None),
    ];
    let answers = cases.clone();
    let server = Server::start(move |request| {
        let found = answers.iter().find(|(key, ..)| *key == request.key());
        let (_, headers, body, _) = found.expect("a case");
        Reply::of(200, headers, body)
    })
    .await;
    let jobs: Vec<NewJob> = cases.iter().map(|(key, ..)| job(key)).collect();
    let ids = enqueue(store.as_ref(), &jobs).await;
    let worker = work(&store, usual(&server.url()));
    until_all(store.as_ref(), &ids, State::Succeeded).await;
    worker.stop().await;
    for (id, (key, _, _, expected)) in ids.into_iter().zip(cases) {
        let found = row(store.as_ref(), id).await.output_ref;
        assert_eq!(
            found
                .as_ref()
                .map(ledgertop::ledger::text::SafeText::as_str),
            expected,
            "{key}"
        );
    }
}

pub(crate) async fn a_redirect_is_not_followed(ledger: &Ledger) {
    let store = open(ledger).await;
    let server = Server::start(|_| Reply::of(307, "Location: /elsewhere\r\n", "")).await;
    let id = enqueue(store.as_ref(), &[job("image_1")]).await[0];
    let worker = work(&store, usual(&server.url()));
    until_state(store.as_ref(), id, State::RetryWait).await;
    worker.stop().await;
    assert_eq!(server.requests().len(), 1);
    let (class, error) = failure(ledger, id).await;
    assert_eq!(class, "unknown redirected");
    assert_eq!(error, "HTTP 307 Temporary Redirect to '/elsewhere'");
}

pub(crate) async fn a_private_address_is_not_connected_to(ledger: &Ledger) {
    let store = open(ledger).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    for (key, host) in [
        ("address", "127.0.0.1"),
        ("name", "localhost"),
        ("mapped", "[::ffff:127.0.0.1]"),
        ("number", "2130706433"),
    ] {
        let id = enqueue(store.as_ref(), &[job(key)]).await[0];
        let http = HttpOptions {
            reach: Reach::Public,
            ..usual(&format!("http://{host}:{port}/"))
        };
        let worker = work(&store, http.clone());
        until_state(store.as_ref(), id, State::RetryWait).await;
        worker.stop().await;
        let (class, error) = failure(ledger, id).await;
        // The old spelling of an address as one number is one only where the system takes it so.
        if key != "number" || class != "transient unavailable" {
            assert_eq!(class, "unknown address_refused", "{host}: {error}");
            assert!(error.contains("not a public address"), "{error}");
            let handler = HttpHandler::new(http).expect("TLS can be set up");
            let refused = handler.check().await.expect_err("it is private");
            assert!(refused.to_string().contains("--allow-private"), "{refused}");
        }
    }
    let nobody = tokio::time::timeout(Duration::from_millis(50), listener.accept()).await;
    assert!(nobody.is_err(), "somebody connected");
}

pub(crate) async fn an_answer_that_is_cut_late_or_none_is_typed(ledger: &Ledger) {
    let store = open(ledger).await;
    let server = Server::start(|request| match request.key() {
        "cut" => Reply::raw("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\npartial"),
        "silent" => Reply::raw(""),
        "noise" => Reply::raw("SSH-2.0-OpenSSH_9.2\r\n"),
        _slow => Reply::dribble(),
    })
    .await;
    let gone = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let refused = format!("http://{}/", gone.local_addr().expect("an address"));
    drop(gone);
    for (key, url, expected) in [
        ("cut", server.url(), "transient connection_lost"),
        ("silent", server.url(), "transient connection_lost"),
        ("noise", server.url(), "transient server_error"),
        ("slow", server.url(), "transient timeout"),
        ("refused", refused, "transient connection_refused"),
        (
            "tls",
            server.url().replace("http", "https"),
            "transient unavailable",
        ),
        (
            "nowhere",
            "http://nowhere.invalid/".to_owned(),
            "transient unavailable",
        ),
    ] {
        let id = enqueue(store.as_ref(), &[job(key)]).await[0];
        let worker = work(&store, usual(&url));
        until_state(store.as_ref(), id, State::RetryWait).await;
        worker.stop().await;
        let (class, error) = failure(ledger, id).await;
        assert_eq!(class, expected, "{key}: {error}");
    }
}

/// More than any worker would wait for.
const HUGE: usize = 4_000_000_000;

pub(crate) async fn a_huge_body_is_not_waited_for(ledger: &Ledger) {
    let store = open(ledger).await;
    let server = Server::start(|request| match request.key() {
        "done" => Reply::flood(200, "Ledgertop-Output: s3://out/1\r\n", HUGE),
        _failed => Reply::flood(500, "", HUGE),
    })
    .await;
    let ids = enqueue(store.as_ref(), &[job("done"), job("failed")]).await;
    let worker = work(&store, usual(&server.url()));
    let done = until_state(store.as_ref(), ids[0], State::Succeeded).await;
    until_state(store.as_ref(), ids[1], State::RetryWait).await;
    worker.stop().await;
    assert_eq!(done.output_ref, Some("s3://out/1".into()));
    let (class, error) = failure(ledger, ids[1]).await;
    assert_eq!(class, "transient server_error");
    assert!(
        error.contains("(body cut)") && error.ends_with("xxx"),
        "{error}"
    );
    assert!(error.len() < 2_000, "{}", error.len());
}

pub(crate) async fn a_date_in_retry_after_is_seen_from_the_ledgers_clock(ledger: &Ledger) {
    let store = open(ledger).await;
    let server = Server::start(|_| {
        #[expect(
            clippy::disallowed_methods,
            reason = "ledger and test run on one machine, so its clock is the ledger's"
        )]
        let later = SystemTime::now() + Duration::from_secs(90);
        let date = httpdate::fmt_http_date(later);
        Reply::of(503, &format!("Retry-After: {date}\r\n"), "")
    })
    .await;
    let id = enqueue(store.as_ref(), &[job("image_1")]).await[0];
    let worker = work(&store, usual(&server.url()));
    let waiting = until_state(store.as_ref(), id, State::RetryWait).await;
    worker.stop().await;
    let wait = waiting.available_at.since(waiting.state_since);
    let about = Duration::from_secs(85)..=Duration::from_secs(91);
    assert!(about.contains(&wait), "{wait:?}");
}

pub(crate) async fn no_more_requests_are_under_way_than_the_worker_may_hold(ledger: &Ledger) {
    let store = open(ledger).await;
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("http://{}/", listener.local_addr().expect("an address"));
    let (under_way, peak) = (Arc::clone(&now), Arc::clone(&most));
    let far_side = tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let (under_way, peak) = (Arc::clone(&under_way), Arc::clone(&peak));
            tokio::spawn(async move {
                use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
                let mut request = [0; 4096];
                drop(stream.read(&mut request).await);
                peak.fetch_max(
                    under_way.fetch_add(1, Ordering::SeqCst) + 1,
                    Ordering::SeqCst,
                );
                tokio::time::sleep(Duration::from_millis(30)).await;
                under_way.fetch_sub(1, Ordering::SeqCst);
                let answer = b"HTTP/1.1 204 OK\r\nConnection: close\r\n\r\n";
                drop(stream.write_all(answer).await);
            });
        }
    });
    let jobs: Vec<NewJob> = (0..20).map(|each| job(&each.to_string())).collect();
    let ids = enqueue(store.as_ref(), &jobs).await;
    let began = Instant::now();
    let handler = HttpHandler::new(usual(&url)).expect("TLS can be set up");
    let worker = WorkerOptions {
        concurrency: 3,
        ..options("w1")
    };
    let worker = start(Arc::clone(&store), Handlers::all(Arc::new(handler)), worker);
    until_all(store.as_ref(), &ids, State::Succeeded).await;
    worker.stop().await;
    far_side.abort();
    assert_eq!(most.load(Ordering::SeqCst), 3);
    // 20 requests of 30 ms, three at a time, take seven rounds.
    assert!(began.elapsed() >= Duration::from_millis(7 * 30));
}

//! The far side of the HTTP cases: a server that reads requests and answers them with raw bytes,
//! so that a case can answer what no HTTP library would.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{
    AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader,
};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio::time::sleep;
use tokio_rustls::TlsAcceptor;

/// A request as it came.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    /// Method, path and version.
    pub(crate) line: String,
    headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Request {
    /// A header's value; names in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(each, _)| each == name);
        found.map(|(_, value)| value.as_str())
    }

    pub(crate) fn attempt(&self) -> u32 {
        self.header("ledgertop-attempt")
            .and_then(|attempt| attempt.parse().ok())
            .unwrap_or_else(|| panic!("no attempt in {self:?}"))
    }

    pub(crate) fn key(&self) -> &str {
        self.header("idempotency-key")
            .unwrap_or_else(|| panic!("no key in {self:?}"))
    }
}

/// An answer: bytes, and what happens after them.
pub(crate) struct Reply {
    bytes: Vec<u8>,
    then: Then,
}

enum Then {
    NextRequest,
    Close,
    /// A byte of body every now and then, for ever.
    Dribble,
    /// As fast as they are taken, this many bytes.
    Flood(usize),
}

impl Reply {
    /// An answer with a status, headers (each ended with a line end) and a body.
    pub(crate) fn of(status: u16, headers: &str, body: &str) -> Self {
        let length = body.len();
        let head = format!("HTTP/1.1 {status} Whatever\r\n{headers}Content-Length: {length}\r\n");
        Self {
            bytes: format!("{head}\r\n{body}").into_bytes(),
            then: Then::NextRequest,
        }
    }

    /// These bytes and then the end of the connection.
    pub(crate) fn raw(bytes: &str) -> Self {
        Self {
            bytes: bytes.as_bytes().to_vec(),
            then: Then::Close,
        }
    }

    /// 200 and a body that never ends.
    pub(crate) fn dribble() -> Self {
        Self {
            bytes: b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n".to_vec(),
            then: Then::Dribble,
        }
    }

    /// A status and a body of `bytes` bytes of `x`.
    pub(crate) fn flood(status: u16, headers: &str, bytes: usize) -> Self {
        let head =
            format!("HTTP/1.1 {status} Whatever\r\n{headers}Content-Length: {bytes}\r\n\r\n");
        Self {
            bytes: head.into_bytes(),
            then: Then::Flood(bytes),
        }
    }
}

/// A server that ends with the value.
pub(crate) struct Server {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<Request>>>,
    task: JoinHandle<()>,
}

impl Server {
    /// Answers every request with what `answer` says.
    pub(crate) async fn start<F>(answer: F) -> Self
    where
        F: Fn(&Request) -> Reply + Send + Sync + 'static,
    {
        Self::listen(None, answer).await
    }

    /// As [`Server::start`], behind TLS.
    pub(crate) async fn start_tls<F>(tls: TlsAcceptor, answer: F) -> Self
    where
        F: Fn(&Request) -> Reply + Send + Sync + 'static,
    {
        Self::listen(Some(tls), answer).await
    }

    async fn listen<F>(tls: Option<TlsAcceptor>, answer: F) -> Self
    where
        F: Fn(&Request) -> Reply + Send + Sync + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (seen, answer) = (Arc::clone(&requests), Arc::new(answer));
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (seen, answer, tls) = (Arc::clone(&seen), Arc::clone(&answer), tls.clone());
                // A client that goes away in the middle is no matter here.
                tokio::spawn(async move {
                    match tls {
                        None => serve(stream, &seen, answer.as_ref()).await,
                        Some(tls) => serve(tls.accept(stream).await?, &seen, answer.as_ref()).await,
                    }
                });
            }
        });
        Self {
            address,
            requests,
            task,
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/jobs", self.address)
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    /// Every request so far.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.lock().expect("no panic holds it").clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    seen: &Mutex<Vec<Request>>,
    answer: &(impl Fn(&Request) -> Reply + Sync),
) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    loop {
        let Some(request) = read(&mut stream).await? else {
            return Ok(());
        };
        let reply = answer(&request);
        seen.lock().expect("no panic holds it").push(request);
        stream.write_all(&reply.bytes).await?;
        match reply.then {
            Then::NextRequest => {}
            Then::Close => return stream.shutdown().await,
            Then::Dribble => loop {
                stream.write_all(b"x").await?;
                sleep(Duration::from_millis(20)).await;
            },
            Then::Flood(bytes) => {
                let chunk = [b'x'; 4096];
                let mut left = bytes;
                while left > 0 {
                    let now = left.min(chunk.len());
                    stream.write_all(&chunk[..now]).await?;
                    left -= now;
                }
            }
        }
    }
}

async fn read(
    stream: &mut BufReader<impl AsyncRead + AsyncWrite + Unpin>,
) -> std::io::Result<Option<Request>> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).await? == 0 {
            return Ok(None);
        }
        let line = line.trim_end().to_owned();
        if line.is_empty() {
            break;
        }
        lines.push(line);
    }
    let line = lines.remove(0);
    let headers: Vec<(String, String)> = lines
        .iter()
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    let mut request = Request {
        line,
        headers,
        body: String::new(),
    };
    let length = request
        .header("content-length")
        .and_then(|length| length.parse().ok())
        .unwrap_or(0);
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    request.body = String::from_utf8(body).expect("JSON is UTF-8");
    Ok(Some(request))
}

//! A proxy between our processes and PostgreSQL that does at named points what networks and servers
//! do at the worst moment.
//!
//! A point is a request or its answer, by the name of the statement: before the request is passed
//! on nothing has happened; before the answer is passed on everything has. A rule says what happens
//! there, and may kill a process on the way. Next: `process.rs`.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ledgertop::store::LedgerUrl;
use tokio::io::{AsyncWriteExt as _, BufReader};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::ledger::Ledger;
use crate::wire::{Asked, Message, Names, Opening, Requests};

/// When a rule is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    /// The request has come and was not passed on: the server knows nothing.
    Asked,
    /// The server has done it, and its answer was not passed on.
    Answered,
}

/// Where a rule is asked.
#[derive(Debug)]
pub(crate) struct Point<'a> {
    /// The statement by the name of its file, or its first word (`COMMIT`).
    pub(crate) statement: &'a str,
    pub(crate) moment: Moment,
}

impl Point<'_> {
    pub(crate) fn is(&self, statement: &str, moment: Moment) -> bool {
        self.statement == statement && self.moment == moment
    }
}

/// What happens at a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Act {
    /// It is passed on.
    Pass,
    /// It is passed on later.
    Delay(Duration),
    /// It is lost, and the connection with it.
    Cut,
    /// It is lost, and nothing more is heard on this connection, which stays open.
    Hang,
}

/// What the network does at large.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Weather {
    Fine,
    /// Everything is accepted and nothing is passed on, until it is fine again.
    Hanging,
}

type Rule = Box<dyn Fn(&Point<'_>) -> Act + Send + Sync>;

struct Shared {
    target: String,
    names: Names,
    weather: watch::Sender<Weather>,
    rule: Mutex<Option<Arc<Rule>>>,
}

/// A proxy; it ends with the value.
pub(crate) struct Proxy {
    shared: Arc<Shared>,
    address: SocketAddr,
    user: String,
    database: String,
    task: JoinHandle<()>,
}

impl Proxy {
    /// A proxy before the server of a ledger.
    pub(crate) async fn before(ledger: &Ledger) -> Self {
        let address = ledger.url().to_string();
        let (user, rest) = address.rsplit_once('@').expect("a user");
        let (server, database) = rest.split_once('/').expect("a database");
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let shared = Arc::new(Shared {
            target: server.to_owned(),
            names: Names::read(),
            weather: watch::Sender::new(Weather::Fine),
            rule: Mutex::new(None),
        });
        let (own, theirs) = (listener.local_addr().expect("an address"), shared.clone());
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let shared = Arc::clone(&theirs);
                // A side that goes away in the middle is what this is for.
                tokio::spawn(async move { drop(serve(client, &shared).await) });
            }
        });
        Self {
            shared,
            address: own,
            user: user.to_owned(),
            database: database.to_owned(),
            task,
        }
    }

    /// The ledger as it is seen through the proxy.
    pub(crate) fn address(&self) -> String {
        format!("{}@{}/{}", self.user, self.address, self.database)
    }

    pub(crate) fn url(&self) -> LedgerUrl {
        LedgerUrl::parse(&self.address()).expect("a ledger")
    }

    /// From now on, this happens.
    pub(crate) fn rule(&self, rule: impl Fn(&Point<'_>) -> Act + Send + Sync + 'static) {
        *self.shared.rule.lock().expect("no panic") = Some(Arc::new(Box::new(rule)));
    }

    /// From now on, everything passes.
    pub(crate) fn no_rule(&self) {
        *self.shared.rule.lock().expect("no panic") = None;
    }

    /// At the next such point, and only there, this happens.
    pub(crate) fn once(&self, statement: &'static str, moment: Moment, act: Act) {
        let left = Mutex::new(Some(act));
        self.rule(move |point| {
            let here = point.is(statement, moment);
            let act = if here {
                left.lock().expect("no panic").take()
            } else {
                None
            };
            act.unwrap_or(Act::Pass)
        });
    }

    pub(crate) fn turn(&self, weather: Weather) {
        self.shared.weather.send_replace(weather);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Shared {
    /// Waits for fine weather, then does what the rule says; whether to pass on.
    async fn passes(&self, statement: &str, moment: Moment) -> bool {
        self.fine().await;
        let rule = self.rule.lock().expect("no panic").clone();
        let point = Point { statement, moment };
        let act = rule.map_or(Act::Pass, |rule| rule(&point));
        match act {
            Act::Pass => true,
            Act::Delay(delay) => {
                tokio::time::sleep(delay).await;
                true
            }
            Act::Cut => false,
            Act::Hang => std::future::pending().await,
        }
    }

    async fn fine(&self) {
        let mut weather = self.weather.subscribe();
        let fine = weather.wait_for(|weather| *weather == Weather::Fine).await;
        fine.expect("the sender is in self");
    }
}

/// The statements whose answers are awaited, in order.
type Awaited = Mutex<VecDeque<Asked>>;

/// Serves one connection until either side goes or a rule cuts it.
async fn serve(client: TcpStream, shared: &Shared) -> io::Result<()> {
    client.set_nodelay(true)?;
    shared.fine().await;
    let server = TcpStream::connect(&shared.target).await?;
    server.set_nodelay(true)?;
    let (from_client, mut to_client) = client.into_split();
    let (from_server, mut to_server) = server.into_split();
    let mut from_client = BufReader::new(from_client);
    let opening = loop {
        match Opening::read(&mut from_client).await? {
            Opening::Encryption => to_client.write_all(b"N").await?,
            Opening::Other(bytes) => break bytes,
        }
    };
    shared.fine().await;
    to_server.write_all(&opening).await?;
    let awaited = Awaited::default();
    tokio::select! {
        asked = ask(from_client, to_server, shared, &awaited) => asked,
        answered = answer(from_server, to_client, shared, &awaited) => answered,
    }
}

async fn ask(
    mut client: BufReader<OwnedReadHalf>,
    mut server: OwnedWriteHalf,
    shared: &Shared,
    awaited: &Awaited,
) -> io::Result<()> {
    let mut requests = Requests::new(&shared.names);
    while let Some((asked, bytes)) = requests.read(&mut client).await? {
        if let Asked::Run(statement) = &asked
            && !shared.passes(statement, Moment::Asked).await
        {
            return Ok(());
        }
        shared.fine().await;
        awaited.lock().expect("no panic").push_back(asked);
        server.write_all(&bytes).await?;
    }
    Ok(())
}

async fn answer(
    server: OwnedReadHalf,
    mut client: OwnedWriteHalf,
    shared: &Shared,
    awaited: &Awaited,
) -> io::Result<()> {
    let mut server = BufReader::new(server);
    let mut answer = Vec::new();
    while let Some(message) = Message::read(&mut server).await? {
        let asked = awaited.lock().expect("no panic").front().cloned();
        answer.extend_from_slice(&message.bytes);
        // Nothing is awaited while a session begins, and where a notification comes by itself.
        if asked.is_some() && message.kind != b'Z' && message.kind != b'R' {
            continue;
        }
        if message.kind == b'Z' {
            awaited.lock().expect("no panic").pop_front();
        }
        if let Some(Asked::Run(statement)) = &asked
            && !shared.passes(statement, Moment::Answered).await
        {
            return Ok(());
        }
        shared.fine().await;
        client.write_all(&answer).await?;
        answer.clear();
    }
    Ok(())
}

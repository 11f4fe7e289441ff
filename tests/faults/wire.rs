//! As much of PostgreSQL's protocol as a fault needs: where a request ends, which statement it
//! runs, and where its answer ends.
//!
//! Source: "Message Formats" and "Message Flow" in PostgreSQL's documentation of protocol 3.0.
//! Knows no faults. Next: `proxy.rs`.

use std::collections::HashMap;
use std::io;
use std::path::Path;

use tokio::io::{AsyncRead, AsyncReadExt as _};

/// The longest message that is taken: far longer than any of ours.
const MESSAGE_MAX: usize = 64 << 20;
/// The codes in the place of a protocol's version that ask for encryption: TLS and GSSAPI.
const ENCRYPTION: [u32; 2] = [80_877_103, 80_877_104];

/// A message as it travels: its type, and everything including type and length.
pub(crate) struct Message {
    pub(crate) kind: u8,
    pub(crate) bytes: Vec<u8>,
}

impl Message {
    /// Reads the next message; `None` where the other side has gone.
    pub(crate) async fn read(from: &mut (impl AsyncRead + Unpin)) -> io::Result<Option<Self>> {
        let mut head = [0; 5];
        if from.read_exact(&mut head[..1]).await.is_err() {
            return Ok(None);
        }
        from.read_exact(&mut head[1..]).await?;
        let length = length(&head[1..])?;
        let mut bytes = head.to_vec();
        bytes.resize(1 + length, 0);
        from.read_exact(&mut bytes[5..]).await?;
        Ok(Some(Self {
            kind: head[0],
            bytes,
        }))
    }

    /// The strings that follow the length, each ended by a zero.
    fn strings(&self) -> impl Iterator<Item = &str> {
        self.bytes[5..]
            .split(|byte| *byte == 0)
            .map(|text| std::str::from_utf8(text).unwrap_or_default())
    }
}

fn length(bytes: &[u8]) -> io::Result<usize> {
    let bytes: [u8; 4] = bytes.try_into().map_err(io::Error::other)?;
    let length = usize::try_from(u32::from_be_bytes(bytes)).map_err(io::Error::other)?;
    if (4..=MESSAGE_MAX).contains(&length) {
        Ok(length)
    } else {
        Err(io::Error::other(format!("a message of {length} bytes")))
    }
}

/// What a client says first: a message without a type.
pub(crate) enum Opening {
    /// May the connection be encrypted? It is answered with one byte.
    Encryption,
    /// Everything else is passed on.
    Other(Vec<u8>),
}

impl Opening {
    pub(crate) async fn read(from: &mut (impl AsyncRead + Unpin)) -> io::Result<Self> {
        let mut head = [0; 8];
        from.read_exact(&mut head).await?;
        let [_, _, _, _, code @ ..] = head;
        if ENCRYPTION.contains(&u32::from_be_bytes(code)) {
            return Ok(Self::Encryption);
        }
        let length = length(&head[..4])?;
        let mut bytes = head.to_vec();
        bytes.resize(length.max(8), 0);
        from.read_exact(&mut bytes[8..]).await?;
        Ok(Self::Other(bytes))
    }
}

/// The names of our statements: of their files, without the ending.
pub(crate) struct Names(HashMap<String, String>);

impl Names {
    pub(crate) fn read() -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/sql/postgres");
        let files = std::fs::read_dir(&folder).expect("our statements");
        let named = files.map(|file| {
            let path = file.expect("a file").path();
            let stem = path.file_stem().expect("a name").to_string_lossy();
            let text = std::fs::read_to_string(&path).expect("a statement");
            (text, stem.into_owned())
        });
        Self(named.collect())
    }

    /// Of a statement of ours its name, of any other its first word.
    fn of(&self, statement: &str) -> String {
        let known = self.0.get(statement).cloned();
        known.unwrap_or_else(|| {
            let word = statement.split_whitespace().next().unwrap_or_default();
            word.trim_end_matches(';').to_uppercase()
        })
    }
}

/// What a request asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Asked {
    /// To run a statement: its name.
    Run(String),
    /// To get one ready, and the like; nothing of it can change a ledger.
    Nothing,
    /// The end.
    Goodbye,
}

/// Reads what one client asks.
pub(crate) struct Requests<'n> {
    names: &'n Names,
    /// The statements that the client prepared, by the name it gave them.
    prepared: HashMap<String, String>,
}

impl<'n> Requests<'n> {
    pub(crate) fn new(names: &'n Names) -> Self {
        Self {
            names,
            prepared: HashMap::new(),
        }
    }

    /// The next request, whole: up to where the client waits for an answer.
    pub(crate) async fn read(
        &mut self,
        from: &mut (impl AsyncRead + Unpin),
    ) -> io::Result<Option<(Asked, Vec<u8>)>> {
        let mut bytes = Vec::new();
        let (mut asked, mut bound) = (Asked::Nothing, None);
        while let Some(message) = Message::read(from).await? {
            bytes.extend_from_slice(&message.bytes);
            match message.kind {
                b'P' => {
                    let mut strings = message.strings();
                    let name = strings.next().unwrap_or_default().to_owned();
                    let statement = self.names.of(strings.next().unwrap_or_default());
                    self.prepared.insert(name, statement);
                }
                b'B' => {
                    let name = message.strings().nth(1).unwrap_or_default();
                    bound = self.prepared.get(name).cloned();
                }
                b'E' => asked = Asked::Run(bound.clone().unwrap_or_default()),
                b'Q' => {
                    let statement = message.strings().next().unwrap_or_default();
                    return Ok(Some((Asked::Run(self.names.of(statement)), bytes)));
                }
                b'S' => return Ok(Some((asked, bytes))),
                b'X' => return Ok(Some((Asked::Goodbye, bytes))),
                _password_and_others => {
                    if message.kind == b'p' {
                        return Ok(Some((Asked::Nothing, bytes)));
                    }
                }
            }
        }
        Ok(None)
    }
}

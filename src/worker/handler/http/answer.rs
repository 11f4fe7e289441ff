//! An answer as the end of an attempt: status, `Retry-After`, output reference, and the end of a
//! body that says why.

use http::header::{CONTENT_TYPE, HeaderMap, RETRY_AFTER};
use http_body_util::BodyExt as _;
use hyper::body::Body;
use serde::Deserialize;

use super::super::tail::Tail;
use super::super::{Done, HandlerError};
use crate::ledger::job::TEXT_MAX_BYTES;
use crate::ledger::meaning::{Meaning, Table};
use crate::ledger::retry_after;
use crate::ledger::time::Timestamp;

/// The most that is read of a body: a reference or the end of an error text; no answer needs more.
const BODY_MAX_BYTES: usize = 64 * 1024;
/// The most of a body that is kept as error text, beside the status.
const ERROR_MAX_BYTES: usize = 1_800;
/// Where a handler says where its output is.
const OUTPUT: &str = "ledgertop-output";

/// The head of an answer and what was read of its body.
pub(super) struct Answer {
    status: http::StatusCode,
    headers: HeaderMap,
    body: Vec<u8>,
    /// Whether that is all of it.
    whole: bool,
}

impl Answer {
    /// Reads an answer, at most [`BODY_MAX_BYTES`] of its body. What is left of it is not waited
    /// for: its connection is closed.
    ///
    /// # Errors
    /// Where the connection breaks in the middle.
    pub(super) async fn read<B>(response: http::Response<B>) -> Result<Self, B::Error>
    where
        B: Body + Unpin,
        B::Data: AsRef<[u8]>,
    {
        let (head, mut incoming) = response.into_parts();
        let mut body = Vec::new();
        let mut whole = true;
        while let Some(frame) = incoming.frame().await {
            let Ok(data) = frame?.into_data() else {
                continue;
            };
            let room = BODY_MAX_BYTES - body.len();
            body.extend(data.as_ref().iter().take(room));
            if data.as_ref().len() > room {
                whole = false;
                break;
            }
        }
        Ok(Self {
            status: head.status,
            headers: head.headers,
            body,
            whole,
        })
    }

    /// What it says about the attempt, at `now` by the database's clock.
    ///
    /// # Errors
    /// Where it says that the attempt failed.
    pub(super) fn judge(self, table: &Table, now: Timestamp) -> Result<Done, HandlerError> {
        match table.meaning(self.status.as_u16()) {
            Meaning::Done => Ok(Done {
                output_ref: self.output_ref(),
            }),
            Meaning::Failed { class, reason } => Err(HandlerError {
                class,
                reason: reason.into_owned(),
                retry_after: self.retry_after(now),
                error: self.error(),
            }),
        }
    }

    fn retry_after(&self, now: Timestamp) -> Option<std::time::Duration> {
        let value = self.headers.get(RETRY_AFTER)?.to_str().ok()?;
        retry_after::parse(value, now)
    }

    /// The output reference: of the header, else of a JSON body. One that is too long is no
    /// reference any more when cut, so it is left out.
    fn output_ref(&self) -> Option<String> {
        let found = self.output_of_header().or_else(|| self.output_of_body())?;
        if found.len() > TEXT_MAX_BYTES {
            tracing::warn!(
                bytes = found.len(),
                "an output reference is too long and was not kept"
            );
            return None;
        }
        Some(found).filter(|found| !found.is_empty())
    }

    fn output_of_header(&self) -> Option<String> {
        let value = self.headers.get(OUTPUT)?;
        Some(String::from_utf8_lossy(value.as_bytes()).trim().to_owned())
    }

    fn output_of_body(&self) -> Option<String> {
        #[derive(Deserialize)]
        struct Output {
            output_ref: Option<String>,
        }
        let kind = self.headers.get(CONTENT_TYPE)?.to_str().ok()?;
        let kind = kind.split(';').next().unwrap_or_default().trim();
        let json = kind.eq_ignore_ascii_case("application/json") || kind.ends_with("+json");
        if !json || !self.whole {
            return None;
        }
        serde_json::from_slice::<Output>(&self.body)
            .ok()?
            .output_ref
    }

    /// The status and the end of the body, for people.
    fn error(&self) -> String {
        let mut tail = Tail::new(ERROR_MAX_BYTES);
        tail.push(&self.body);
        let text = tail.text();
        let status = self.status.as_u16();
        let name = self.status.canonical_reason().unwrap_or("no known status");
        let location = self.headers.get(http::header::LOCATION);
        let to = location.map_or_else(String::new, |to| {
            let to = String::from_utf8_lossy(to.as_bytes());
            format!(" to '{}'", to.chars().take(200).collect::<String>())
        });
        let cut = if self.whole { "" } else { " (body cut)" };
        if text.is_empty() {
            format!("HTTP {status} {name}{to}")
        } else {
            format!("HTTP {status} {name}{to}{cut}: {text}")
        }
    }
}

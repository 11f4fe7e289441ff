//! Faults that a real database shows only by chance: calls that hang, fail, or come back.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;

use crate::console::msg::{Inbox, channel};
use crate::ledger::feed::{Base, Batch};
use crate::ledger::text::SafeText;
use crate::ledger::time::Timestamp;

use super::*;

/// What the next call does.
#[derive(Debug, Clone, Copy)]
enum Act {
    Answer,
    More,
    Fail,
    Hang,
}

/// A feed whose calls, and whose opening, follow a script; after its end they hang.
struct Scripted(Arc<Mutex<VecDeque<Act>>>);

async fn act(script: &Mutex<VecDeque<Act>>) -> Result<Act, StoreError> {
    let next = script.lock().unwrap().pop_front();
    match next {
        Some(act @ (Act::Answer | Act::More)) => Ok(act),
        Some(Act::Fail) => Err(StoreError::Unreachable {
            ledger: SafeText::new("here"),
            message: SafeText::new("gone"),
        }),
        Some(Act::Hang) | None => std::future::pending().await,
    }
}

#[async_trait]
impl Feed for Scripted {
    async fn base(&mut self) -> Result<Base, StoreError> {
        act(&self.0).await?;
        Ok(Base {
            as_of: Timestamp::from_seconds(1),
            ..Base::default()
        })
    }

    async fn next(&mut self) -> Result<Batch, StoreError> {
        let more = matches!(act(&self.0).await?, Act::More);
        Ok(Batch {
            as_of: Timestamp::from_seconds(2),
            events: Vec::new(),
            more,
        })
    }
}

/// Reads along a script with short deadlines; says what the screen was told, in words.
fn told(script: &[Act], count: usize, wish: Wish) -> Vec<String> {
    let script = Arc::new(Mutex::new(script.iter().copied().collect::<VecDeque<_>>()));
    let open = move || {
        let script = Arc::clone(&script);
        async move {
            act(&script).await?;
            Ok(Box::new(Scripted(script)) as Box<dyn Feed>)
        }
    };
    let (outbox, inbox) = channel();
    let (_wishes, wish) = watch::channel(wish);
    let limit = Duration::from_millis(50);
    let reader = Reader {
        open: Box::new(open),
        outbox,
        wish,
        deadlines: Deadlines {
            open: limit,
            base: limit,
            next: limit,
        },
        seed: 1,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    runtime.spawn(reader.run());
    let told = listen(&inbox, count);
    runtime.shutdown_background();
    told
}

fn listen(inbox: &Inbox, count: usize) -> Vec<String> {
    let next = || inbox.recv_timeout(Duration::from_secs(30)).unwrap().1;
    (0..count)
        .map(|_| match next() {
            Msg::Opening { attempt } => format!("opening {attempt}"),
            Msg::Loaded { .. } => "loaded".to_owned(),
            Msg::Events(batch) if batch.more => "events, more".to_owned(),
            Msg::Events(_) => "events".to_owned(),
            Msg::Failed { error, retry_in } => {
                assert!(retry_in >= RETRY_LEAST && retry_in <= RETRY_LEAST + RETRY_CAP);
                format!("failed: {error}")
            }
            other => panic!("{other:?}"),
        })
        .collect()
}

const FAST: Wish = Wish {
    refresh: Duration::from_millis(1),
    recounts: 0,
};

#[test]
fn a_ledger_is_opened_counted_and_then_read_again_and_again() {
    use Act::{Answer, More};
    let told = told(&[Answer, Answer, Answer, More, Answer, Answer], 6, FAST);
    assert_eq!(
        told,
        [
            "opening 1",
            "loaded",
            "events",
            "events, more",
            "events",
            "events"
        ]
    );
}

#[test]
fn after_a_failure_the_ledger_is_opened_and_counted_anew() {
    use Act::{Answer, Fail};
    let script = [Answer, Answer, Answer, Fail, Fail, Answer, Answer, Answer];
    let told = told(&script, 9, FAST);
    let failed = "failed: cannot reach the ledger: gone";
    assert_eq!(
        told,
        [
            "opening 1",
            "loaded",
            "events",
            failed,
            "opening 1",
            failed,
            "opening 2",
            "loaded",
            "events"
        ]
    );
}

#[test]
fn every_call_that_hangs_ends_at_its_deadline() {
    use Act::{Answer, Hang};
    for (script, messages, operation) in [
        (&[Hang, Answer, Answer][..], 4, "opening the ledger"),
        (&[Answer, Hang, Answer, Answer], 4, "counting the jobs"),
        (
            &[Answer, Answer, Hang, Answer, Answer],
            5,
            "reading the events",
        ),
    ] {
        let told = told(script, messages, FAST);
        let failed = format!("failed: {operation} took longer than 50 ms and was given up");
        assert!(told.contains(&failed), "{told:?}");
        assert_eq!(told.last().map(String::as_str), Some("loaded"), "{told:?}");
    }
}

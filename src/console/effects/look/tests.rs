//! Questions that hang, fail, are replaced or dismissed: what a real database shows only by chance.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use uuid::Uuid;

use crate::console::msg::{Inbox, channel};
use crate::ledger::plan::{Plan, PlanEntry, PlanJob};
use crate::ledger::query::Query;
use crate::ledger::view::{
    AuditCursor, AuditPage, Count, DeadLetters, JobCursor, JobName, JobOrder, JobPage, JobStory,
    LeasePage,
};
use crate::store::look::Reach;
use crate::store::plans::PlanJobsPage;

use super::*;

/// What the next call does.
#[derive(Debug, Clone, Copy)]
enum Act {
    Break,
    Refuse,
    Hang,
}

/// What calls do, in order, and what was seen of them; after the script's end they answer.
#[derive(Default)]
struct Script {
    acts: Mutex<VecDeque<Act>>,
    opened: AtomicU32,
    dropped: AtomicU32,
}

struct Scripted(Arc<Script>);

/// Counts the call as dropped unless it came to its end.
struct Call(Arc<Script>);

impl Drop for Call {
    fn drop(&mut self) {
        self.0.dropped.fetch_add(1, Ordering::SeqCst);
    }
}

impl Scripted {
    async fn act(&self) -> Result<(), StoreError> {
        let next = self.0.acts.lock().unwrap().pop_front();
        match next {
            None => Ok(()),
            Some(Act::Break) => Err(StoreError::Unreachable {
                ledger: SafeText::new("here"),
                message: SafeText::new("gone"),
            }),
            Some(Act::Refuse) => Err(StoreError::Refused {
                operation: "looking",
                message: SafeText::new("no"),
            }),
            Some(Act::Hang) => {
                let _call = Call(Arc::clone(&self.0));
                std::future::pending().await
            }
        }
    }
}

#[async_trait]
impl Look for Scripted {
    async fn reach(&mut self, _: &Query, _: JobOrder) -> Result<Reach, StoreError> {
        self.act().await?;
        Ok(Reach::Indexed)
    }

    async fn jobs(
        &mut self,
        _: &Query,
        _: JobOrder,
        _: Option<&JobCursor>,
        _: u32,
    ) -> Result<JobPage, StoreError> {
        self.act().await?;
        Ok(JobPage::default())
    }

    async fn count(&mut self, _: &Query, at_most: u64) -> Result<Count, StoreError> {
        self.act().await?;
        Ok(Count::Exact(at_most))
    }

    async fn story(&mut self, _: &JobName) -> Result<Option<JobStory>, StoreError> {
        self.act().await?;
        Ok(None)
    }

    async fn dead_letters(&mut self, _: &Query) -> Result<DeadLetters, StoreError> {
        self.act().await?;
        unreachable!("no test asks for dead letters")
    }

    async fn leases(
        &mut self,
        _: &Query,
        _: Option<&JobCursor>,
        _: u32,
    ) -> Result<LeasePage, StoreError> {
        self.act().await?;
        Ok(LeasePage::default())
    }

    async fn audit(&mut self, _: Option<&AuditCursor>, _: u32) -> Result<AuditPage, StoreError> {
        self.act().await?;
        Ok(AuditPage::default())
    }

    async fn plan(&mut self, _: Uuid) -> Result<Option<Plan>, StoreError> {
        self.act().await?;
        Ok(None)
    }

    async fn plans(&mut self, _: u32) -> Result<Vec<Plan>, StoreError> {
        self.act().await?;
        Ok(Vec::new())
    }

    async fn plan_jobs(&mut self, _: Uuid, _: PlanJobsPage) -> Result<Vec<PlanJob>, StoreError> {
        self.act().await?;
        Ok(Vec::new())
    }

    async fn plan_history(&mut self, _: Uuid, _: u32) -> Result<Vec<PlanEntry>, StoreError> {
        self.act().await?;
        Ok(Vec::new())
    }
}

/// A looker along a script, in a runtime of its own.
struct Place {
    script: Arc<Script>,
    asked: watch::Sender<Open>,
    inbox: Inbox,
    _runtime: tokio::runtime::Runtime,
}

fn place(acts: &[Act]) -> Place {
    let script = Arc::new(Script {
        acts: Mutex::new(acts.iter().copied().collect()),
        ..Script::default()
    });
    let theirs = Arc::clone(&script);
    let open = move || {
        theirs.opened.fetch_add(1, Ordering::SeqCst);
        let look: Box<dyn Look> = Box::new(Scripted(Arc::clone(&theirs)));
        look
    };
    let (outbox, inbox) = channel();
    let (asked, theirs) = watch::channel(Open::new());
    let looker = Looker {
        open: Box::new(open),
        outbox,
        asked: theirs,
        deadline: Duration::from_millis(50),
        seed: 1,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    runtime.spawn(looker.run());
    Place {
        script,
        asked,
        inbox,
        _runtime: runtime,
    }
}

fn count(at_most: u64) -> Request {
    Request::Count {
        query: Query::default(),
        at_most,
    }
}

fn reach() -> Request {
    Request::Reach {
        query: Query::default(),
        order: JobOrder::default(),
    }
}

impl Place {
    fn ask(&self, ticket: u64, request: Request) {
        self.asked.send_modify(|open| {
            open.insert(request.kind(), (Ticket(ticket), request));
        });
    }

    /// What is told next, in words.
    fn told(&self) -> String {
        match self.inbox.recv_timeout(Duration::from_secs(30)).unwrap().1 {
            Msg::Looked { ticket, result } => match result {
                Ok(Answer::Count(Count::Exact(number))) => format!("{}: {number}", ticket.0),
                Ok(answer) => format!("{}: {answer:?}", ticket.0),
                Err(failure) => format!("{}: {}", ticket.0, failure.error),
            },
            other => panic!("{other:?}"),
        }
    }

    /// Waits until every call of the script has begun.
    fn wait_until_begun(&self) {
        let deadline = std::time::Instant::now() + Duration::from_secs(30);
        while !self.script.acts.lock().unwrap().is_empty() {
            assert!(std::time::Instant::now() < deadline, "no call was made");
            std::thread::yield_now();
        }
    }

    fn wait_until_dropped(&self, calls: u32) {
        let deadline = std::time::Instant::now() + Duration::from_secs(30);
        while self.script.dropped.load(Ordering::SeqCst) < calls {
            assert!(std::time::Instant::now() < deadline, "no call was dropped");
            std::thread::yield_now();
        }
    }
}

#[test]
fn a_question_is_answered_once_and_the_connection_is_kept() {
    let place = place(&[]);
    place.ask(1, count(5));
    assert_eq!(place.told(), "1: 5");
    place.ask(2, reach());
    assert_eq!(place.told(), "2: Reach(Indexed)");
    place.ask(3, count(6));
    assert_eq!(place.told(), "3: 6");
    assert_eq!(place.script.opened.load(Ordering::SeqCst), 1);
}

#[test]
fn the_newest_question_of_a_kind_takes_the_place_of_one_that_hangs() {
    let place = place(&[Act::Hang]);
    place.ask(1, count(5));
    place.wait_until_begun();
    place.ask(2, count(6));
    assert_eq!(place.told(), "2: 6");
}

#[test]
fn a_question_that_is_dismissed_is_cancelled() {
    let place = place(&[Act::Hang]);
    place.ask(1, count(5));
    place.wait_until_begun();
    place.asked.send_modify(|open| {
        open.remove(&Kind::Count);
    });
    place.wait_until_dropped(1);
    place.ask(2, count(6));
    assert_eq!(place.told(), "2: 6");
}

#[test]
fn a_question_that_hangs_ends_at_its_deadline_and_says_so() {
    let place = place(&[Act::Hang]);
    place.ask(1, count(5));
    let late = "1: counting the jobs listed took longer than 50 ms and was given up";
    assert_eq!(place.told(), late);
    // Another question is asked at once, on a new connection.
    place.ask(2, count(6));
    assert_eq!(place.told(), "2: 6");
    assert_eq!(place.script.opened.load(Ordering::SeqCst), 2);
}

#[test]
fn a_broken_connection_is_said_and_the_question_is_asked_again() {
    let place = place(&[Act::Break]);
    place.ask(1, count(5));
    let broken = "1: cannot reach the ledger at here: gone; nothing was changed";
    assert_eq!(place.told(), broken);
    assert_eq!(place.told(), "1: 5");
    assert_eq!(place.script.opened.load(Ordering::SeqCst), 2);
}

#[test]
fn a_question_that_is_refused_holds_up_no_other_kind() {
    let place = place(&[Act::Refuse]);
    place.ask(1, count(5));
    let refused = "1: the ledger refused looking: no; nothing was changed";
    assert_eq!(place.told(), refused);
    place.ask(2, reach());
    assert_eq!(place.told(), "2: Reach(Indexed)");
}

//! L8, the current row equals the fold of its events, and the laws that need both: L3, an accepted
//! job is there; L6, a parent waited for its children; L9, a row has a history.

use crate::ledger::audit::{Children, CurrentRow, Doing, LastFailure};
use crate::ledger::event::EventKind;
use crate::ledger::state::State;

use super::{Findings, shown};
use crate::verify::law::Law;
use crate::verify::replay::{Due, Replay};

/// Holds a row against the fold of its events.
pub(in crate::verify) fn on_row(replay: &Replay, row: &CurrentRow, findings: &mut Findings) {
    let Some(state) = replay.state else {
        if !replay.torn {
            let found = format!("a row in {} without any event", row.state);
            findings.after(Law::L9, (0, None), "a row made by an enqueue", found);
        }
        return;
    };
    let last = last(replay);
    let mut differs = Differences::default();
    stands(&mut differs, replay, state, row);
    counts(&mut differs, replay, row);
    waits(&mut differs, replay, row);
    says(&mut differs, replay, row);
    if !replay.torn {
        remembers(&mut differs, replay, row);
    }
    if !differs.expected.is_empty() {
        let (expected, found) = (differs.expected.join(", "), differs.found.join(", "));
        findings.after(Law::L8, last, expected, found);
    }
    waited_for_its_children(replay, row, findings);
    was_spent(replay, row, findings);
}

/// L3: a job whose events are there and whose row is gone.
pub(in crate::verify) fn on_missing_row(replay: &Replay, findings: &mut Findings) {
    let expected = "the row of a job that was accepted";
    findings.after(Law::L3, last(replay), expected, "no row");
}

fn last(replay: &Replay) -> (u32, Option<EventKind>) {
    let kind = replay.doing.as_ref().map(|doing| doing.event);
    (replay.version, kind)
}

/// What a row should hold and does not.
#[derive(Debug, Default)]
struct Differences {
    expected: Vec<String>,
    found: Vec<String>,
}

impl Differences {
    fn compare<T: PartialEq + ToString>(&mut self, column: &str, expected: &T, found: &T) {
        if expected != found {
            self.note(column, expected.to_string(), &found.to_string());
        }
    }

    fn compare_if<T: PartialEq + ToString>(
        &mut self,
        column: &str,
        expected: Option<&T>,
        found: Option<&T>,
    ) {
        if expected != found {
            self.note(column, shown(expected), &shown(found));
        }
    }

    fn note(&mut self, column: &str, expected: impl AsRef<str>, found: &str) {
        self.expected
            .push(format!("{column} {}", expected.as_ref()));
        self.found.push(format!("{column} {found}"));
    }
}

/// Where the job stands, and since when.
fn stands(differs: &mut Differences, replay: &Replay, state: State, row: &CurrentRow) {
    differs.compare("version", &replay.version, &row.version);
    differs.compare("state", &state, &row.state);
    differs.compare("state_since", &replay.since, &row.state_since);
    differs.compare("updated_at", &replay.at, &row.updated_at);
    differs.compare_if("queue", replay.queue.as_ref(), Some(&row.queue));
}

/// What is counted, and by which rules.
fn counts(differs: &mut Differences, replay: &Replay, row: &CurrentRow) {
    differs.compare("fence", &replay.fence, &row.fence);
    differs.compare("attempt", &replay.attempt, &row.attempt);
    differs.compare_if(
        "first_attempt_at",
        replay.first_attempt_at.as_ref(),
        row.first_attempt_at.as_ref(),
    );
    differs.compare_if("policy", replay.policy.as_ref(), Some(&row.policy));
}

/// Who holds it, and what it waits for.
fn waits(differs: &mut Differences, replay: &Replay, row: &CurrentRow) {
    let lease = &replay.lease;
    differs.compare_if("worker", lease.holder.as_ref(), row.worker.as_ref());
    differs.compare_if(
        "lease_expires_at",
        lease.end.as_ref(),
        row.lease_expires_at.as_ref(),
    );
    let found = row.available_at;
    match replay.due {
        Due::At(moment) => differs.compare("available_at", &moment, &found),
        Due::NotAfter(moment) if found > moment => {
            let expected = format!("{moment} or before");
            differs.note("available_at", expected, &found.to_string());
        }
        // What an exhausted job would have waited for is judged by `was_spent`.
        Due::NotAfter(_) | Due::After(..) | Due::Unknown => {}
    }
}

/// What happened last, who did it, and the last failure.
fn says(differs: &mut Differences, replay: &Replay, row: &CurrentRow) {
    if let Some(doing) = &replay.doing {
        let Doing {
            event,
            actor_kind,
            actor,
            note,
            plan,
        } = &row.doing;
        differs.compare("event", &doing.event, event);
        differs.compare("actor_kind", &doing.actor_kind, actor_kind);
        differs.compare("actor", &doing.actor, actor);
        differs.compare_if("note", doing.note.as_ref(), note.as_ref());
        differs.compare_if("plan", doing.plan.as_ref(), plan.as_ref());
    }
    if let Some(failure) = &replay.failure {
        let LastFailure {
            class,
            reason,
            error,
        } = &row.failure;
        differs.compare_if("error_class", failure.class.as_ref(), class.as_ref());
        differs.compare_if("reason", failure.reason.as_ref(), reason.as_ref());
        differs.compare_if("error", failure.error.as_ref(), error.as_ref());
    }
}

/// What only a history without a gap can tell.
fn remembers(differs: &mut Differences, replay: &Replay, row: &CurrentRow) {
    differs.compare("redrives", &replay.redrives, &row.redrives);
    differs.compare("unsettled", &replay.unsettled, &row.unsettled);
    differs.compare_if(
        "output_ref",
        replay.output_ref.as_ref(),
        row.output_ref.as_ref(),
    );
    let created = replay.created.map(|created| created.at);
    differs.compare_if("created_at", created.as_ref(), Some(&row.created_at));
    if let Some(key) = &replay.idempotency_key {
        differs.compare("idempotency_key", key, &row.idempotency_key);
    }
}

/// L6: a job waits for a moment or for its children, and a parent until all of them succeeded.
fn waited_for_its_children(replay: &Replay, row: &CurrentRow, findings: &mut Findings) {
    let awaits = row.children != Children::NotAwaited;
    if let Some(created) = replay.created {
        let waits = awaits || created.waits;
        let at = (1, Some(EventKind::Enqueue));
        if waits && created.to == State::Ready {
            let found = "ready at once";
            findings.after(Law::L6, at, "pending until its children are done", found);
        }
        if !waits && created.to == State::Pending {
            let found = "pending, with nothing to wait for";
            findings.after(Law::L6, at, "ready at once", found);
        }
    }
    let Some((version, kind)) = replay.left_pending else {
        return;
    };
    let at = (version, Some(kind));
    if awaits != (kind == EventKind::ChildrenDone) {
        let expected = if awaits { "children_done" } else { "due" };
        findings.after(Law::L6, at, expected, kind.name());
    } else if row.children == Children::Open {
        let found = "one that has not";
        findings.after(Law::L6, at, "required children that succeeded", found);
    }
}

/// L6: a job is exhausted only beyond its budgets. The event does not tell when the next attempt
/// would have begun; the row does, until it is redriven.
fn was_spent(replay: &Replay, row: &CurrentRow, findings: &mut Findings) {
    if let Due::After(until, version) = replay.due
        && row.available_at <= until
    {
        let at = (version, Some(EventKind::Exhaust));
        let expected = format!("another attempt, which may begin until {until}");
        let found = format!("dead, and the next was due at {}", row.available_at);
        findings.after(Law::L6, at, expected, found);
    }
}

//! L1, a legal run without a gap; L2, the order of the log; L5, one end and one effect; L10,
//! nothing leaves a terminal state.

use crate::ledger::audit::Entry;
use crate::ledger::event::EventKind;
use crate::ledger::state::State;
use crate::ledger::transition::{self, Failure};

use super::{Findings, shown};
use crate::verify::law::Law;
use crate::verify::replay::{self, Replay};
use crate::verify::rules::Rulebook;

/// L1: the number is one more than the last.
pub(super) fn is_numbered_without_a_gap(before: &Replay, entry: &Entry, findings: &mut Findings) {
    let next = before.version.saturating_add(1);
    if entry.version != next {
        let found = format!("event {}", entry.version);
        findings.event(Law::L1, entry, format!("event {next}"), found);
    }
}

/// L1: it starts from the state that the job is in, and the table of transitions holds the move.
pub(super) fn is_the_next_move(
    before: &Replay,
    entry: &Entry,
    _rules: &Rulebook<'_>,
    findings: &mut Findings,
) {
    if ends_again(before, entry) || leaves_terminal(before, entry) {
        return;
    }
    if entry.from != before.state {
        let expected = format!("from {}", shown(before.state.as_ref()));
        let found = format!("from {}", shown(entry.from.as_ref()));
        findings.event(Law::L1, entry, expected, found);
        return;
    }
    let (kind, actor) = (entry.doing.event, entry.doing.actor_kind);
    if transition::find(kind, entry.from, entry.to, actor).is_none() {
        let found = format!("{kind} to {} ({actor})", entry.to);
        findings.event(Law::L1, entry, legal_from(entry.from), found);
        return;
    }
    let since = entry.from.map(|_state| before.since);
    if entry.from_since != since {
        let expected = format!("in that state since {}", shown(since.as_ref()));
        let found = shown(entry.from_since.as_ref());
        findings.event(Law::L1, entry, expected, found);
    }
    if before
        .queue
        .as_ref()
        .is_some_and(|queue| *queue != entry.queue)
    {
        let expected = format!("queue '{}'", shown(before.queue.as_ref()));
        findings.event(Law::L1, entry, expected, format!("'{}'", entry.queue));
    }
}

/// L1: it carries a failure where the table says so, and the one that the job has.
pub(super) fn carries_what_the_table_says(
    before: &Replay,
    entry: &Entry,
    _rules: &Rulebook<'_>,
    findings: &mut Findings,
) {
    let Some(rule) = replay::failure(entry).filter(|_rule| entry.from == before.state) else {
        return;
    };
    let said = &entry.failure;
    let key = (said.class.as_ref(), said.reason.as_ref());
    let (holds, expected) = match rule {
        Failure::Silent => (key == (None, None), "no failure".to_owned()),
        Failure::Entered => (
            said.class.is_some() && said.reason.is_some(),
            "a class and a reason".to_owned(),
        ),
        Failure::Carried => {
            let Some(last) = &before.failure else {
                return;
            };
            let last = (last.class.as_ref(), last.reason.as_ref());
            (key == last, pair(last))
        }
    };
    if !holds {
        findings.event(Law::L1, entry, expected, pair(key));
    }
    if rule != Failure::Entered && said.error.is_some() {
        findings.event(Law::L1, entry, "no message", shown(said.error.as_ref()));
    }
}

fn pair<A: ToString, B: ToString>((class, reason): (Option<&A>, Option<&B>)) -> String {
    format!("class {}, reason {}", shown(class), shown(reason))
}

/// L2: what happened to a job later is later by the database's clock, or at the same moment.
pub(super) fn is_not_before_the_last(
    before: &Replay,
    entry: &Entry,
    _rules: &Rulebook<'_>,
    findings: &mut Findings,
) {
    if before.state.is_some() && entry.at < before.at {
        let expected = format!("not before {}, the moment of the last event", before.at);
        findings.event(Law::L2, entry, expected, entry.at.to_string());
    }
}

/// L5: an attempt has one end.
pub(super) fn ends_an_attempt_once(
    before: &Replay,
    entry: &Entry,
    _rules: &Rulebook<'_>,
    findings: &mut Findings,
) {
    if ends_again(before, entry) {
        let ended = shown(before.settled.as_ref());
        let expected = format!("one end of the attempt, which event {ended} was");
        let found = format!("{} to {}", entry.doing.event, entry.to);
        findings.event(Law::L5, entry, expected, found);
    }
}

/// L5: only success has an output, so that there is one effect a key.
pub(super) fn has_one_effect(
    before: &Replay,
    entry: &Entry,
    _rules: &Rulebook<'_>,
    findings: &mut Findings,
) {
    let succeeds = entry.doing.event == EventKind::Succeed;
    if entry.output_ref.is_some() && !succeeds {
        let expected = "no output but with success";
        findings.event(Law::L5, entry, expected, shown(entry.output_ref.as_ref()));
    }
    let creates = entry.doing.event == EventKind::Enqueue && before.state.is_none();
    if entry.idempotency_key.is_some() && !creates {
        let expected = "no key but with the event that creates the job";
        findings.event(
            Law::L5,
            entry,
            expected,
            shown(entry.idempotency_key.as_ref()),
        );
    }
}

/// L10: nothing leaves `succeeded` or `discarded`.
pub(super) fn leaves_nothing_terminal(
    before: &Replay,
    entry: &Entry,
    _rules: &Rulebook<'_>,
    findings: &mut Findings,
) {
    if leaves_terminal(before, entry) {
        let expected = format!("{} for ever", shown(before.state.as_ref()));
        let found = format!("{} to {}", entry.doing.event, entry.to);
        findings.event(Law::L10, entry, expected, found);
    }
}

/// Whether it ends an attempt that has ended already.
fn ends_again(before: &Replay, entry: &Entry) -> bool {
    let runs = Some(State::Running);
    entry.from == runs
        && entry.to != State::Running
        && before.state != runs
        && before.settled.is_some()
}

fn leaves_terminal(before: &Replay, entry: &Entry) -> bool {
    let terminal = before.state.is_some_and(State::is_terminal);
    terminal && before.state != Some(entry.to) && !ends_again(before, entry)
}

/// The legal moves from a state, as reports name them.
fn legal_from(from: Option<State>) -> String {
    let legal = transition::TABLE.iter().filter(|row| row.from == from);
    let moves: Vec<String> = legal
        .map(|row| {
            let actors: Vec<&str> = row.actors.iter().map(|actor| actor.name()).collect();
            format!("{} to {} ({})", row.event, row.to, actors.join(" or "))
        })
        .collect();
    format!("one of: {}", moves.join(", "))
}

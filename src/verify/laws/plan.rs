//! L7: every redrive of a bulk belongs to an approved plan.

use crate::ledger::audit::Entry;
use crate::ledger::event::ActorKind;

use super::Findings;
use crate::verify::law::Law;
use crate::verify::replay::Replay;
use crate::verify::rules::Rulebook;

/// An event that names a plan names one that was approved before, for this operation, and that did
/// not act on the job before. A row keeps the plan of its last event until another is set, so that
/// of what workers and the system do only the event counts that brings one.
pub(super) fn belongs_to_an_approved_plan(
    before: &Replay,
    entry: &Entry,
    rules: &Rulebook<'_>,
    findings: &mut Findings,
) {
    let Some(plan) = &entry.doing.plan else {
        return;
    };
    let inherited = before.doing.as_ref().and_then(|doing| doing.plan.as_ref());
    let operates = entry.doing.actor_kind == ActorKind::Operator;
    if !operates && inherited == Some(plan) {
        return;
    }
    let Some(approved) = rules.plan(plan.as_str()) else {
        let expected = "no plan, or an approved one";
        findings.event(Law::L7, entry, expected, format!("plan '{plan}'"));
        return;
    };
    let event = entry.doing.event;
    if approved.operation.as_str() != event.name() {
        let expected = format!("{}, as plan '{plan}' was approved for", approved.operation);
        findings.event(Law::L7, entry, expected, event.name());
    } else if entry.at < approved.approved_at {
        let expected = format!(
            "not before {}, when plan '{plan}' was approved",
            approved.approved_at
        );
        findings.event(Law::L7, entry, expected, entry.at.to_string());
    } else if before.plans.contains(plan) {
        let expected = format!("one event of plan '{plan}' for the job");
        findings.event(Law::L7, entry, expected, format!("{event} a second time"));
    }
}

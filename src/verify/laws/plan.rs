//! L7: every redrive of a bulk belongs to an approved plan.

use crate::ledger::audit::Entry;
use crate::ledger::event::EventKind;

use super::Findings;
use crate::verify::law::Law;
use crate::verify::replay::Replay;
use crate::verify::rules::Rulebook;

/// An event that names a plan names one that the ledger knows. A row keeps the plan of its last
/// event until another is set, so that only the event is reported that brings it, and each redrive.
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
    let acts = inherited != Some(plan) || entry.doing.event == EventKind::Redrive;
    if acts && !rules.holds_plan(plan.as_str()) {
        let expected = "no plan, or an approved one";
        findings.event(Law::L7, entry, expected, format!("plan '{plan}'"));
    }
}

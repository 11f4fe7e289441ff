//! What stands beside the diagram: who the job is, its budgets, its lease, its family, what it
//! brought. Pure: a list of labels and values, drawn in a column or folded into lines.

use ratatui::layout::Rect;

use super::Sight;
use crate::board::format::{coarse, count, exact};
use crate::console::text;
use crate::console::theme::Role;
use crate::console::widget::canvas::{Canvas, Piece, Spot};
use crate::ledger::state::State;
use crate::ledger::view::{Count, JobStory, Relative};

/// A label with its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fact {
    /// What it is.
    pub label: &'static str,
    /// What it is worth.
    pub value: String,
    /// What that means.
    pub role: Role,
}

impl Fact {
    fn text(label: &'static str, value: impl Into<String>) -> Self {
        Self {
            label,
            value: value.into(),
            role: Role::Text,
        }
    }

    fn or_none(label: &'static str, value: Option<impl Into<String>>) -> Self {
        value.map_or_else(
            || Self::text(label, "–").muted(),
            |value| Self::text(label, value),
        )
    }

    const fn role(mut self, role: Role) -> Self {
        self.role = role;
        self
    }

    const fn muted(self) -> Self {
        self.role(Role::Muted)
    }
}

/// The most children that are named.
const CHILDREN_MAX: usize = 5;

/// Every fact, the ones that are read first, first.
pub(super) fn of(sight: &Sight<'_>) -> Vec<Fact> {
    let story = sight.story;
    let row = &story.job.row;
    let mut facts = budgets(sight);
    facts.extend(lease(sight));
    facts.extend(failure(story));
    facts.extend(family(story));
    facts.push(Fact::or_none(
        "output",
        row.output_ref.as_ref().map(ToString::to_string),
    ));
    facts.push(Fact::text("payload", payload(sight)).muted());
    facts.push(Fact::text("id", row.id.to_string()));
    facts.push(Fact::text("key", row.idempotency_key.to_string()));
    facts.push(Fact::or_none(
        "event id",
        story.event_id.as_ref().map(ToString::to_string),
    ));
    let tenant = row.tenant.as_str();
    facts.push(Fact::or_none(
        "tenant",
        (!tenant.is_empty()).then_some(tenant),
    ));
    facts.push(Fact::text("queue", row.queue.to_string()));
    facts.push(Fact::text("kind", row.kind.to_string()));
    facts.push(Fact::or_none(
        "schema",
        story.schema_version.as_ref().map(ToString::to_string),
    ));
    let policy = format!("{}@{}", story.job.policy, story.job.policy_version);
    facts.push(Fact::text("policy", policy));
    facts.push(Fact::text(
        "created",
        sight.clock.stamp(story.job.created_at, sight.now),
    ));
    facts
}

fn budgets(sight: &Sight<'_>) -> Vec<Fact> {
    let story = sight.story;
    let row = &story.job.row;
    let attempt = match &story.rules {
        Some(rules) => format!("{} of {}", row.attempt, rules.max_attempts),
        None => format!("{} of ?", row.attempt),
    };
    let spent = story
        .rules
        .as_ref()
        .is_some_and(|rules| row.attempt >= rules.max_attempts);
    let mut facts = vec![Fact::text("attempt", attempt)];
    if spent && let Some(fact) = facts.last_mut() {
        fact.role = Role::Warning;
    }
    // The age of a job that waits for a person does not grow against its budget.
    let until = if row.state.is_terminal() || row.state.is_dead_letter() {
        row.state_since
    } else {
        sight.now
    };
    let age = match (story.first_attempt_at, &story.rules) {
        (Some(first), Some(rules)) => {
            format!("{} of {}", coarse(until.since(first)), exact(rules.max_age))
        }
        (Some(first), None) => coarse(until.since(first)),
        (None, Some(rules)) => format!("not begun, {} long", exact(rules.max_age)),
        (None, None) => "not begun".to_owned(),
    };
    facts.push(Fact::text("age", age));
    let redrives = Fact::text("redrives", row.redrives.to_string());
    facts.push(if row.redrives == 0 {
        redrives.muted()
    } else {
        redrives
    });
    if row.state.waits_for_a_moment() {
        let due = if row.available_at > sight.now {
            format!("in {}", coarse(row.available_at.since(sight.now)))
        } else if row.state == State::Pending {
            "when its children are done, or now".to_owned()
        } else {
            "now".to_owned()
        };
        facts.push(Fact::text("due", due));
    }
    facts
}

fn lease(sight: &Sight<'_>) -> Option<Fact> {
    let job = &sight.story.job;
    if job.row.state != State::Running {
        return None;
    }
    let worker = job
        .worker
        .as_ref()
        .map_or_else(|| "–".to_owned(), ToString::to_string);
    let fact = match job.lease_expires_at {
        Some(end) if end > sight.now => Fact::text(
            "lease",
            format!("{worker}, {} left", coarse(end.since(sight.now))),
        ),
        Some(end) => Fact::text(
            "lease",
            format!("{worker}, ran out {} ago", coarse(sight.now.since(end))),
        )
        .role(Role::Critical),
        None => Fact::text("lease", worker),
    };
    Some(fact)
}

fn failure(story: &JobStory) -> Option<Fact> {
    let job = &story.job;
    let mut said: Vec<String> = Vec::new();
    said.extend(job.class.map(|class| class.to_string()));
    said.extend(job.reason.as_ref().map(ToString::to_string));
    let mut value = said.join(" ");
    if let Some(error) = &job.error {
        if !value.is_empty() {
            value.push_str(": ");
        }
        value.push_str(error.as_str());
    }
    (!value.is_empty()).then(|| Fact::text("failure", value))
}

fn relative(relative: &Relative) -> String {
    let state = match &relative.job {
        Some((_, state)) => state.name(),
        None => "not in the ledger",
    };
    let required = if relative.required { "" } else { ", optional" };
    format!("{} ({state}{required})", relative.idempotency_key)
}

fn family(story: &JobStory) -> Vec<Fact> {
    let mut facts = Vec::new();
    if let Some(parent) = &story.parent {
        facts.push(Fact::text("parent", relative(parent)));
    }
    let (counted, mark) = match story.children_count {
        Count::Exact(counted) => (counted, ""),
        Count::AtLeast(counted) => (counted, "≥"),
    };
    if counted > 0 {
        let named: Vec<String> = story
            .children
            .iter()
            .take(CHILDREN_MAX)
            .map(relative)
            .collect();
        let more = if story.children.len() > CHILDREN_MAX {
            ", …"
        } else {
            ""
        };
        let value = format!("{mark}{}: {}{more}", count(counted), named.join(", "));
        facts.push(Fact::text("children", value));
    }
    facts
}

fn payload(sight: &Sight<'_>) -> String {
    let payload = &sight.story.payload;
    let what = match payload {
        serde_json::Value::Object(fields) => format!("{} fields", fields.len()),
        serde_json::Value::Array(items) => format!("{} items", items.len()),
        serde_json::Value::Null
        | serde_json::Value::Bool(_)
        | serde_json::Value::Number(_)
        | serde_json::Value::String(_) => "one value".to_owned(),
    };
    let bytes = payload.to_string().len();
    let bytes = count(crate::ledger::num::count(bytes));
    if sight.reveal_key.is_empty() {
        format!("masked: {what}, {bytes} bytes")
    } else {
        format!(
            "masked: {what}, {bytes} bytes ({} reveals)",
            sight.reveal_key
        )
    }
}

/// Columns of the labels.
const LABEL: u16 = 10;
/// The most lines of one value in a column.
const LINES_MAX: usize = 3;

/// Draws the facts one below the other, long values in up to three lines.
pub(super) fn draw_column(canvas: &mut Canvas<'_>, area: Rect, facts: &[Fact]) {
    let label = LABEL.min(area.width / 2);
    let room = area.width.saturating_sub(label);
    let mut row = 0;
    for fact in facts {
        let mut lines = text::wrapped(&fact.value, room);
        if lines.len() > LINES_MAX {
            let rest = lines.split_off(LINES_MAX - 1).join(" ");
            lines.push(text::cut(&rest, room));
        }
        for (number, line) in lines.iter().enumerate() {
            let Some(spot) = Spot::row(area, row) else {
                return;
            };
            if number == 0 {
                canvas.text(spot.first(label.saturating_sub(1)), Role::Muted, fact.label);
            }
            canvas.text(spot.after(label), fact.role, line);
            row += 1;
        }
    }
}

/// The widest that a value gets in a line.
const FOLDED_MAX: u16 = 34;

/// Draws the facts one after the other in as many lines as there are; the last ones go first.
pub(super) fn draw_lines(canvas: &mut Canvas<'_>, area: Rect, facts: &[Fact]) {
    let mut row = 0;
    let Some(mut spot) = Spot::row(area, 0) else {
        return;
    };
    for fact in facts {
        let value = text::cut(&fact.value, FOLDED_MAX);
        let columns = text::columns(fact.label) + 1 + text::columns(&value);
        if columns > spot.columns && spot.columns < area.width {
            row += 1;
            match Spot::row(area, row) {
                Some(next) => spot = next,
                None => return,
            }
        }
        let pieces: [Piece<'_>; 3] = [
            (Role::Muted, fact.label),
            (Role::Muted, " "),
            (fact.role, &value),
        ];
        let used = canvas.pieces(spot, &pieces);
        spot = spot.after(used.saturating_add(3));
    }
}

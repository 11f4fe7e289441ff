//! The first lines: the state, the job, and what must be known before anything is done to it.

use super::Sight;
use super::trace::{Trace, Unsettled};
use crate::board::format::{coarse, count};
use crate::console::theme::Role;
use crate::ledger::num;
use crate::ledger::state::State;

/// A line: groups of pieces with their roles. What does not fit is left out group by group.
pub(super) type Line = Vec<Vec<(Role, String)>>;

/// The lines, the first one always.
pub(super) fn lines(sight: &Sight<'_>, trace: &Trace) -> Vec<Line> {
    let row = &sight.story.job.row;
    let (role, shape) = super::state_role(row.state);
    let age = coarse(sight.now.since(row.state_since));
    let mut title = vec![
        vec![
            (role, format!("{shape} {}", row.state)),
            (Role::Muted, format!(" {age}  ")),
            (Role::Title, row.idempotency_key.to_string()),
        ],
        vec![(Role::Muted, format!("  {}", row.queue))],
        vec![(Role::Muted, format!(" · {}", row.kind))],
    ];
    if !row.tenant.as_str().is_empty() {
        title.push(vec![(Role::Muted, format!(" · {}", row.tenant))]);
    }
    let mut lines = vec![title];
    if let Some(end) = sight.story.job.lease_expires_at
        && row.state == State::Running
        && end <= sight.now
    {
        let ago = coarse(sight.now.since(end));
        lines.push(vec![
            vec![(Role::Critical, format!("! the lease ran out {ago} ago"))],
            vec![(
                Role::Critical,
                " and was not taken back yet; the worker may be gone".to_owned(),
            )],
        ]);
    }
    if sight.story.job.unsettled > 0 {
        lines.push(unsettled(sight.story.job.unsettled, &trace.unsettled));
    }
    let unreadable = sight.story.events.iter().filter(|event| event.is_err());
    let unreadable = num::count(unreadable.count());
    if unreadable > 0 {
        let text = format!("# {} of the events cannot be read", count(unreadable));
        lines.push(vec![
            vec![(Role::Critical, text)],
            vec![(Role::Muted, ": what is drawn leaves them out".to_owned())],
        ]);
    }
    lines
}

/// What is said of unsettled attempts (row C14).
fn unsettled(times: u32, known: &[Unsettled]) -> Line {
    let what = if times == 1 {
        "? 1 attempt was never settled".to_owned()
    } else {
        format!("? {} attempts were never settled", count(u64::from(times)))
    };
    let role = Role::Critical;
    vec![
        vec![(role, what)],
        vec![(role, which(known))],
        vec![(role, ": its effect may have happened".to_owned())],
        vec![(
            Role::Text,
            "; look for it by the key before a replay".to_owned(),
        )],
    ]
}

/// Which attempts, of whom; of many, the first.
fn which(unsettled: &[Unsettled]) -> String {
    const NAMED: usize = 3;
    if unsettled.is_empty() {
        return String::new();
    }
    let named: Vec<String> = unsettled
        .iter()
        .take(NAMED)
        .map(|each| match &each.worker {
            Some(worker) => format!("{} by {worker}", each.attempt),
            None => each.attempt.to_string(),
        })
        .collect();
    let more = num::count(unsettled.len().saturating_sub(NAMED));
    let more = if more > 0 {
        format!(", and {} more", count(more))
    } else {
        String::new()
    };
    format!(" ({}{more})", named.join(", "))
}

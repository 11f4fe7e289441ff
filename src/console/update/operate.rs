//! Acts on jobs: from the key to the order, and from the answer to the receipt.
//!
//! A key only opens a dialog. What it is opened on is fixed then: ids, or a filter whose jobs are
//! read once. An order leaves here with the permit of a console that may operate, or not at all.

use crate::console::ask::{Answer, Asked, Failure, Kind, Request, Ticket};
use crate::console::dialog::operate::{Operating, Order, Stage, Subject};
use crate::console::dialog::{Dialog, whole};
use crate::console::effect::Effect;
use crate::console::model::{JobState, JobsState, Model, Previewing, Screen, Tab};
use crate::ledger::job::{JobRow, Operation};
use crate::ledger::num;
use crate::ledger::query::{Query, Term, Test};
use crate::ledger::state::State;
use crate::ledger::text::SafeText;
use crate::operate::Receipt;

/// The most jobs that one dialog takes: what is shown is what is acted on, so all of them are read.
pub const JOBS_MAX: u64 = 20_000;

/// What an act is to be on, and the filter that finds it.
struct Wanted {
    subject: Subject,
    query: Query,
    named: Option<u64>,
}

/// Opens the dialog of an operation, or says why not.
pub(super) fn begin(model: &mut Model, operation: Operation) -> Vec<Effect> {
    if model.fixed.permit.is_none() {
        model.notice = Some(format!(
            "{} is not to be had: {}",
            operation.name(),
            model.fixed.why_read_only
        ));
        return Vec::new();
    }
    match wanted(model, operation) {
        Ok(Some(wanted)) => open(model, operation, wanted),
        Ok(None) => {
            let what = operation.name();
            model.notice = Some(format!("nothing is selected to {what}"));
            Vec::new()
        }
        Err(why) => {
            model.notice = Some(why);
            Vec::new()
        }
    }
}

fn open(model: &mut Model, operation: Operation, wanted: Wanted) -> Vec<Effect> {
    let Wanted {
        subject,
        query,
        named,
    } = wanted;
    model.tickets = Ticket(model.tickets.0.wrapping_add(1));
    let ticket = model.tickets;
    model.previewing = Some(Previewing { ticket });
    model.dialog = Some(Dialog::Operate(Box::new(Operating::new(
        operation, subject,
    ))));
    let asked = Asked {
        operation,
        query,
        named,
        at_most: JOBS_MAX,
    };
    vec![Effect::Look {
        ticket,
        request: Request::Preview(Box::new(asked)),
    }]
}

/// What the act is to be on: all of a filter where that was chosen, else what the screen says.
fn wanted(model: &Model, operation: Operation) -> Result<Option<Wanted>, String> {
    if let Some(Dialog::Whole(whole)) = &model.dialog {
        return Ok(Some(Wanted {
            subject: Subject::Filter(SafeText::new(&whole.query.to_string())),
            query: whole.query.clone(),
            named: None,
        }));
    }
    match model.view.shown() {
        Screen::Job(job) => {
            let row = JobState::story(job).map(|story| &story.job.row);
            row.map(|row| one(row, operation)).transpose()
        }
        Screen::Jobs(jobs) if !jobs.marks.is_empty() => Ok(Some(marked(jobs))),
        Screen::Jobs(jobs) => {
            let row = jobs.list.selected_row().map(|job| &job.row);
            row.map(|row| one(row, operation)).transpose()
        }
        Screen::Leases(leases) => {
            let row = leases.list.selected_row().map(|lease| &lease.job.row);
            row.map(|row| one(row, operation)).transpose()
        }
        Screen::DeadLetters(letters) => Ok(letters.list.selected_row().map(|group| Wanted {
            subject: Subject::Group(group.fingerprint.clone()),
            query: letters.jobs_of(group),
            named: None,
        })),
        Screen::Overview | Screen::Queue(_) | Screen::Plans(_) | Screen::Audit(_) => Ok(None),
    }
}

/// One job, if the table of transitions lets an operator do it from the state that is shown.
fn one(row: &JobRow, operation: Operation) -> Result<Wanted, String> {
    if !operation.may_leave(row.state) {
        return Err(why_not(operation, row.state));
    }
    Ok(Wanted {
        subject: Subject::Job(row.idempotency_key.clone()),
        query: ids([row.id]),
        named: Some(1),
    })
}

/// Why an operation is not to be had from a state, and what is.
fn why_not(operation: Operation, state: State) -> String {
    let may: Vec<&str> = Operation::ALL
        .into_iter()
        .filter(|each| each.may_leave(state))
        .map(Operation::name)
        .collect();
    let instead = if may.is_empty() {
        "nothing can be done to it".to_owned()
    } else {
        format!("to be had: {}", may.join(", "))
    };
    format!(
        "{} is not to be had from {state}; {instead}",
        operation.name()
    )
}

fn marked(jobs: &JobsState) -> Wanted {
    let unlisted = jobs.marks.unlisted(&jobs.list.rows);
    Wanted {
        subject: Subject::Marks {
            count: num::count(jobs.marks.len()),
            unlisted: unlisted
                .into_iter()
                .map(|row| row.idempotency_key.clone())
                .collect(),
        },
        query: ids(jobs.marks.jobs().map(|row| row.id)),
        named: Some(num::count(jobs.marks.len())),
    }
}

fn ids(ids: impl IntoIterator<Item = uuid::Uuid>) -> Query {
    let term = |id| Term {
        negated: false,
        test: Test::Id(id),
    };
    Query {
        terms: ids.into_iter().map(term).collect(),
    }
}

/// Asks what is to be done to every job of the shown filter.
pub(super) fn begin_whole(model: &mut Model) {
    if let Screen::Jobs(jobs) = model.view.shown() {
        let whole = whole::Whole {
            query: jobs.query.clone(),
            counted: jobs.counted.map(|(count, _)| count),
        };
        model.dialog = Some(Dialog::Whole(whole));
    }
}

/// The answer to what a dialog asked, if it is one. A dialog that was left no longer wants it.
pub(super) fn previewed(
    model: &mut Model,
    ticket: Ticket,
    result: Result<Answer, Failure>,
) -> Option<Result<Answer, Failure>> {
    if model.previewing.is_none_or(|open| open.ticket != ticket) {
        return Some(result);
    }
    let Some(Dialog::Operate(dialog)) = &mut model.dialog else {
        model.previewing = None;
        return None;
    };
    match result {
        Ok(Answer::Preview(preview)) => {
            dialog.read(*preview);
            model.previewing = None;
        }
        Ok(_) => model.previewing = None,
        // The question stays open and is asked again.
        Err(failure) => dialog.unread(failure.error),
    }
    None
}

/// Takes what was typed; the number of jobs, where it is right, is an order.
pub(super) fn enter(model: &mut Model) -> Vec<Effect> {
    let order = match &mut model.dialog {
        Some(Dialog::Operate(dialog)) => {
            if let Stage::Done(receipt) = &dialog.stage
                && let crate::operate::Scope::Plan(plan) = receipt.scope
            {
                show_plan(model, plan);
                return Vec::new();
            }
            dialog.enter()
        }
        Some(_) | None => None,
    };
    give(model, order)
}

/// The key that confirms.
pub(super) fn confirm(model: &mut Model) -> Vec<Effect> {
    let order = match &model.dialog {
        Some(Dialog::Operate(dialog)) => dialog.confirm(),
        Some(_) | None => None,
    };
    give(model, order)
}

/// Gives an order, with the permit that only a console has that may operate.
fn give(model: &mut Model, order: Option<Order>) -> Vec<Effect> {
    let (Some(order), Some(permit)) = (order, model.fixed.permit) else {
        return Vec::new();
    };
    let now = model.now;
    if let Some(Dialog::Operate(dialog)) = &mut model.dialog {
        dialog.sent(now);
    }
    model.orders = model.orders.wrapping_add(1);
    let number = model.orders;
    vec![Effect::Operate {
        permit,
        number,
        order,
    }]
}

/// Out of the dialog by one step.
pub(super) fn out(model: &mut Model) -> Vec<Effect> {
    let Some(Dialog::Operate(dialog)) = &mut model.dialog else {
        return Vec::new();
    };
    match dialog.out() {
        crate::console::dialog::operate::Outward::Stays => Vec::new(),
        crate::console::dialog::operate::Outward::Closes => {
            model.dialog = None;
            match model.previewing.take() {
                Some(_) => vec![Effect::Dismiss(Kind::Preview)],
                None => Vec::new(),
            }
        }
    }
}

/// What became of an order. Its dialog shows it; where that was left, or another is open, it is
/// shown once nothing else is.
pub(super) fn operated(model: &mut Model, number: u64, result: Result<Box<Receipt>, SafeText>) {
    let stage = match result {
        Ok(receipt) => Stage::Done(receipt),
        Err(error) => Stage::Failed(error),
    };
    if let Some(Dialog::Operate(dialog)) = &mut model.dialog
        && matches!(dialog.stage, Stage::Sent { .. })
        && number == model.orders
    {
        dialog.stage = stage;
        return;
    }
    let operation = match &stage {
        Stage::Done(receipt) => receipt.operation.name(),
        _ => "the act",
    };
    match (&model.dialog, stage) {
        (None, Stage::Done(receipt)) => {
            let operation = receipt.operation;
            let mut dialog = Operating::new(operation, Subject::Filter(SafeText::default()));
            dialog.stage = Stage::Done(receipt);
            model.dialog = Some(Dialog::Operate(Box::new(dialog)));
        }
        (_, Stage::Done(receipt)) => model.notice = Some(receipt.summary()),
        (_, Stage::Failed(error)) => model.notice = Some(format!("{operation} failed: {error}")),
        (_, _) => {}
    }
}

/// Copies the receipt, where the terminal's clipboard was allowed.
pub(super) fn copy(model: &mut Model) -> Vec<Effect> {
    let text = match &model.dialog {
        Some(Dialog::Operate(dialog)) => match &dialog.stage {
            Stage::Done(receipt) => Some(receipt.text()),
            Stage::Failed(error) => Some(error.to_string()),
            _ => None,
        },
        Some(_) | None => None,
    };
    let Some(text) = text else {
        return Vec::new();
    };
    if model.fixed.copying {
        model.notice = Some("copied to the terminal's clipboard".to_owned());
        vec![Effect::Copy(text)]
    } else {
        model.notice = Some("copying is off: 'copy = true' under [console] turns it on".to_owned());
        Vec::new()
    }
}

/// Leads to the plan that a receipt is of.
fn show_plan(model: &mut Model, plan: uuid::Uuid) {
    model.dialog = None;
    model.view.go(Tab::Plans);
    if let Screen::Plans(here) = model.view.shown_mut() {
        here.list.selected = Some(plan);
    }
}

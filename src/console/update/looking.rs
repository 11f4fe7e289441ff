//! What is asked of the ledger: what the shown screen wants is compared with what is open.

use std::time::Instant;

use crate::console::ask::{Answer, Failure, Ticket};
use crate::console::effect::Effect;
use crate::console::model::{Fault, Hold, Looks, Model, Open, Reading, When, Wish};
use crate::ledger::event::Event;
use crate::ledger::time::Timestamp;

/// Asks what the shown screen wants, and dismisses what nobody wants any more.
pub(super) fn look_after(model: &mut Model, effects: &mut Vec<Effect>) {
    let (now, refresh, hold) = (model.now, model.refresh, model.hold);
    let looks = model.view.shown().looks();
    let wish = looks.and_then(Looks::wish);
    let is_due = looks.is_some_and(|looks| looks.asking().is_due(now, refresh));
    let Some(Wish { request, when }) = wish else {
        dismiss(model, effects);
        return;
    };
    if model
        .open
        .as_ref()
        .is_some_and(|open| open.request == request)
    {
        return;
    }
    let wanted = match when {
        When::Now => true,
        When::OnNews => is_due && hold == Hold::Follow,
    };
    if !wanted {
        dismiss(model, effects);
        return;
    }
    if model
        .open
        .as_ref()
        .is_some_and(|open| open.request.kind() != request.kind())
    {
        dismiss(model, effects);
    }
    model.tickets = Ticket(model.tickets.0.wrapping_add(1));
    let ticket = model.tickets;
    if let Some(looks) = model.view.shown_mut().looks_mut() {
        let asking = looks.asking_mut();
        asking.asked_at = Some(now);
        asking.news = false;
        asking.fault = None;
    }
    model.open = Some(Open {
        ticket,
        request: request.clone(),
        since: now,
    });
    effects.push(Effect::Look { ticket, request });
}

fn dismiss(model: &mut Model, effects: &mut Vec<Effect>) {
    if let Some(open) = model.open.take() {
        effects.push(Effect::Dismiss(open.request.kind()));
    }
}

/// An answer, or why there is none. One that nobody waits for is passed over.
pub(super) fn looked(
    model: &mut Model,
    at: Instant,
    ticket: Ticket,
    result: Result<Answer, Failure>,
) {
    let Some(open) = model.open.take_if(|open| open.ticket == ticket) else {
        return;
    };
    let Some(looks) = model.view.shown_mut().looks_mut() else {
        return;
    };
    match result {
        Ok(answer) => {
            let asking = looks.asking_mut();
            asking.fault = None;
            asking.took = at.saturating_duration_since(open.since);
            let reading = Reading {
                as_of: Timestamp::default(),
                at,
            };
            looks.take(&open.request, answer, reading);
        }
        Err(Failure { error, retry_in }) => {
            looks.asking_mut().fault = Some(Fault {
                error,
                next_try: at + retry_in,
            });
            // It stays open and is asked again.
            model.open = Some(open);
        }
    }
}

/// Events came in: a screen that shows what they may have changed looks again when it is due.
pub(super) fn heard(model: &mut Model, events: &[Event]) {
    let Some(looks) = model.view.shown_mut().looks_mut() else {
        return;
    };
    if !looks.asking().news && events.iter().any(|event| looks.concerns(event)) {
        looks.asking_mut().news = true;
    }
}

/// What happened while the feed was lost is not known: everything may have changed.
pub(super) fn heard_of_anything(model: &mut Model) {
    if let Some(looks) = model.view.shown_mut().looks_mut() {
        looks.asking_mut().news = true;
    }
}

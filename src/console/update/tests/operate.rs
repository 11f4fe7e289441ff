//! Acts: which keys lead to an order, and which never do.

use async_trait::async_trait;
use uuid::Uuid;

use super::*;
use crate::console::ask::{Answer, Request};
use crate::console::dialog::operate::{Order, Stage};
use crate::console::effects::operate::{OpenOperate, Permit};
use crate::console::model::{JobsState, Screen};
use crate::ledger::job::{JobRow, Operation, Outcome};
use crate::ledger::query::Query;
use crate::ledger::view::{JobOrder, JobPage, ListedJob};
use crate::operate::{Operate, Preview, Receipt, Scope};
use crate::store::StoreError;

struct Never;

#[async_trait]
impl OpenOperate for Never {
    async fn open(&self) -> Result<Operate, StoreError> {
        unreachable!("update opens nothing")
    }
}

fn listed(number: u128, state: State, version: u32) -> ListedJob {
    let text = |text: &str| SafeText::new(text);
    ListedJob {
        row: JobRow {
            id: Uuid::from_u128(number),
            idempotency_key: text(&format!("key-{number}")),
            queue: text("billing"),
            kind: text("collect"),
            tenant: text(""),
            state,
            state_since: Timestamp::from_seconds(NOW_S - 60),
            version,
            fence: 2,
            attempt: 2,
            redrives: 0,
            available_at: Timestamp::from_seconds(NOW_S),
            output_ref: None,
        },
        created_at: Timestamp::from_seconds(NOW_S - 90),
        class: None,
        reason: None,
        error: None,
        worker: None,
        lease_expires_at: None,
        policy: text("default"),
        policy_version: 1,
        unsettled: 0,
    }
}

/// A console that may operate, with these jobs listed and the first selected.
fn operating(jobs: Vec<ListedJob>) -> Model {
    let mut model = loaded_console();
    model.fixed.permit = Some(Permit::of(&Never));
    let jobs_state = JobsState::of(Query::default(), JobOrder::CreatedLast);
    model.view.enter(Screen::Jobs(Box::new(jobs_state)));
    let at = model.now;
    let effects = update(&mut model, at, Msg::Tick);
    answer(&mut model, &effects, page(jobs));
    model
}

fn page(jobs: Vec<ListedJob>) -> Answer {
    Answer::Jobs(JobPage {
        as_of: Timestamp::from_seconds(NOW_S),
        jobs,
        ..JobPage::default()
    })
}

/// Answers the question among the effects.
fn answer(model: &mut Model, effects: &[Effect], answer: Answer) {
    let ticket = effects.iter().find_map(|effect| match effect {
        Effect::Look { ticket, .. } => Some(*ticket),
        _ => None,
    });
    let msg = Msg::Looked {
        ticket: ticket.expect("something is asked"),
        result: Ok(answer),
    };
    let at = model.now;
    update(model, at, msg);
}

fn preview(operation: Operation, jobs: &[ListedJob]) -> Answer {
    let as_of = Timestamp::from_seconds(NOW_S);
    Answer::Preview(Box::new(Preview::of(operation, as_of, jobs)))
}

/// Presses key after key; all of what they ask for.
fn pressed(model: &mut Model, keys: &str) -> Vec<Effect> {
    let keys = keys.split_whitespace();
    keys.flat_map(|key| press(model, key)).collect()
}

fn orders(effects: &[Effect]) -> Vec<Order> {
    let orders = effects.iter().filter_map(|effect| match effect {
        Effect::Operate { order, .. } => Some(order.clone()),
        _ => None,
    });
    orders.collect()
}

fn stage(model: &Model) -> &Stage {
    match &model.dialog {
        Some(Dialog::Operate(dialog)) => &dialog.stage,
        other => panic!("no act is open: {other:?}"),
    }
}

const EVERY_KEY: &str = "j k g G down ctrl-u s p T + - tab space V U r v enter y";

#[test]
fn a_console_without_a_permit_opens_no_dialog_and_says_why() {
    let dead = listed(1, State::Dead, 4);
    let mut model = operating(vec![dead]);
    model.fixed.permit = None;
    for key in ["Q", "R", "P", "D", "X"] {
        assert!(orders(&pressed(&mut model, key)).is_empty());
        assert_eq!(model.dialog, None, "{key}");
        let notice = model.notice.clone().unwrap();
        assert!(notice.contains("it is a test"), "{notice}");
    }
    pressed(&mut model, "j");
    assert_eq!(model.notice, None, "it is said until the next key");
}

#[test]
fn what_the_table_does_not_allow_is_said_and_not_opened() {
    let mut model = operating(vec![listed(1, State::Ready, 4)]);
    for (key, name) in [
        ("R", "redrive"),
        ("P", "promote"),
        ("D", "discard"),
        ("X", "revoke"),
    ] {
        pressed(&mut model, key);
        assert_eq!(model.dialog, None);
        let notice = model.notice.clone().unwrap();
        let expected = format!("{name} is not to be had from ready; to be had: quarantine");
        assert_eq!(notice, expected);
    }
}

#[test]
fn an_act_needs_a_reason_and_another_key_and_takes_what_was_seen_when_it_opened() {
    let jobs = vec![listed(1, State::Dead, 4), listed(2, State::Dead, 9)];
    let mut model = operating(jobs.clone());
    let effects = pressed(&mut model, "R");
    let asked = effects.iter().any(|effect| {
        matches!(effect, Effect::Look { request: Request::Preview(asked), .. }
            if asked.named == Some(1))
    });
    assert!(asked, "{effects:?}");
    answer(
        &mut model,
        &effects,
        preview(Operation::Redrive, &jobs[..1]),
    );
    assert!(
        orders(&pressed(&mut model, "enter")).is_empty(),
        "no reason"
    );
    assert!(orders(&pressed(&mut model, "m e n d e d enter")).is_empty());
    // The list moves beneath the dialog: the selected row is another job now.
    if let Screen::Jobs(list) = model.view.shown_mut() {
        list.list.rows.reverse();
        list.list.selected = Some(Uuid::from_u128(2));
    }
    assert!(orders(&pressed(&mut model, "R Q D P X")).is_empty());
    let given = orders(&pressed(&mut model, "y"));
    assert_eq!(given.len(), 1);
    let target = given[0].targets[0];
    assert_eq!((target.job, target.version), (Uuid::from_u128(1), 4));
    assert_eq!(given[0].reason, "mended");
    assert!(
        orders(&pressed(&mut model, "y y y")).is_empty(),
        "it is given once"
    );
}

#[test]
fn keys_that_move_or_choose_never_act_at_any_step() {
    let jobs = [listed(1, State::Dead, 4)];
    for typed in ["", "w h y"] {
        let mut model = operating(jobs.to_vec());
        let effects = pressed(&mut model, "D");
        assert!(
            orders(&pressed(&mut model, EVERY_KEY)).is_empty(),
            "while it reads"
        );
        if model.dialog.is_none() {
            continue;
        }
        answer(&mut model, &effects, preview(Operation::Discard, &jobs));
        pressed(&mut model, typed);
        let moves = "j k g G down ctrl-u tab";
        assert!(orders(&pressed(&mut model, moves)).is_empty());
    }
}

#[test]
fn esc_at_each_step_changes_nothing() {
    let jobs: Vec<ListedJob> = (0..25)
        .map(|number| listed(number, State::Dead, 1))
        .collect();
    let steps = [
        "",
        "w h y",
        "w h y enter",
        "w h y enter 2 4",
        "w h y enter 2 4 enter",
    ];
    for keys in steps {
        let mut model = operating(jobs.clone());
        pressed(&mut model, "space space");
        let effects = pressed(&mut model, "R");
        answer(&mut model, &effects, preview(Operation::Redrive, &jobs));
        assert!(orders(&pressed(&mut model, keys)).is_empty(), "{keys}");
        let mut left = Vec::new();
        for _ in 0..4 {
            left.extend(orders(&pressed(&mut model, "esc")));
        }
        assert!(left.is_empty(), "{keys}");
        assert_eq!(model.dialog, None);
    }
}

#[test]
fn pasted_text_with_a_newline_and_escape_sequences_confirms_nothing() {
    let jobs = [listed(1, State::Dead, 4)];
    let mut model = operating(jobs.to_vec());
    let effects = pressed(&mut model, "R");
    answer(&mut model, &effects, preview(Operation::Redrive, &jobs));
    let at = model.now;
    let paste = || Msg::Paste("why\r\ny\u{1b}[201~\ny".to_owned());
    assert!(orders(&update(&mut model, at, paste())).is_empty());
    assert!(matches!(stage(&model), Stage::Reason(asked) if asked.reason.text() == "whyy[201~y"));
    pressed(&mut model, "enter");
    assert!(orders(&update(&mut model, at, paste())).is_empty());
    assert!(matches!(stage(&model), Stage::Confirm(_)));
}

#[test]
fn a_receipt_finds_its_dialog_or_is_shown_when_nothing_else_is() {
    let jobs = [listed(1, State::Dead, 4)];
    let receipt = || {
        let mut receipt = Receipt::new(Operation::Redrive, "why", "mara");
        let (state, version) = (State::Ready, 5);
        receipt.add(Uuid::from_u128(1), Outcome::Applied { state, version });
        Ok(Box::new(receipt))
    };
    for leaves in ["", "esc", "esc ?"] {
        let mut model = operating(jobs.to_vec());
        let effects = pressed(&mut model, "R");
        answer(&mut model, &effects, preview(Operation::Redrive, &jobs));
        pressed(&mut model, "w enter y");
        assert!(matches!(stage(&model), Stage::Sent { .. }));
        pressed(&mut model, leaves);
        let (at, result) = (model.now, receipt());
        update(&mut model, at, Msg::Operated { number: 1, result });
        if leaves.ends_with('?') {
            let notice = model.notice.clone().unwrap();
            assert!(notice.starts_with("redrive: 1 applied"), "{notice}");
        } else {
            assert!(matches!(stage(&model), Stage::Done(_)), "{leaves}");
        }
    }
}

#[test]
fn enter_on_the_receipt_of_a_plan_leads_to_the_plan() {
    let jobs = [listed(1, State::Dead, 4)];
    let plan = Uuid::from_u128(7);
    for (scope, led) in [(Scope::Plan(plan), true), (Scope::Jobs, false)] {
        let mut model = operating(jobs.to_vec());
        let effects = pressed(&mut model, "R");
        answer(&mut model, &effects, preview(Operation::Redrive, &jobs));
        pressed(&mut model, "w enter y");
        let mut receipt = Receipt::new(Operation::Redrive, "why", "mara");
        receipt.scope = scope;
        let (at, result) = (model.now, Ok(Box::new(receipt)));
        update(&mut model, at, Msg::Operated { number: 1, result });
        pressed(&mut model, "enter");
        let chosen = match model.view.shown() {
            Screen::Plans(here) => here.list.selected,
            _ => None,
        };
        assert_eq!(chosen, led.then_some(plan), "leads to the plan: {led}");
    }
}

#[test]
fn an_answer_to_a_dialog_that_was_left_is_passed_over() {
    let jobs = [listed(1, State::Dead, 4)];
    let mut model = operating(jobs.to_vec());
    let first = pressed(&mut model, "R");
    pressed(&mut model, "esc");
    let second = pressed(&mut model, "D");
    answer(&mut model, &first, preview(Operation::Redrive, &jobs));
    assert!(
        matches!(stage(&model), Stage::Reading { .. }),
        "it waits for its own"
    );
    answer(&mut model, &second, preview(Operation::Discard, &jobs));
    assert!(matches!(stage(&model), Stage::Reason(_)));
}

#[test]
fn all_of_a_filter_is_asked_for_by_a_key_of_its_own() {
    let mut model = operating(vec![listed(1, State::Dead, 4)]);
    pressed(&mut model, "*");
    assert!(matches!(model.dialog, Some(Dialog::Whole(_))));
    let effects = pressed(&mut model, "R");
    let whole = effects.iter().any(|effect| {
        matches!(effect, Effect::Look { request: Request::Preview(asked), .. }
            if asked.named.is_none())
    });
    assert!(whole, "{effects:?}");
}

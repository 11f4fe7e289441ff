//! The lists: what is drawn of jobs that strangers named, at the sizes people use, and when looking
//! fails.

use std::time::Duration;

use ledgertop::console::ask::{Answer, Failure, Request};
use ledgertop::console::effect::Effect;
use ledgertop::console::model::Model;
use ledgertop::console::msg::Msg;
use ledgertop::console::text;
use ledgertop::console::theme::Depth;
use ledgertop::console::update::update;
use ledgertop::ledger::error_class::ErrorClass;
use ledgertop::ledger::event::EventKind;
use ledgertop::ledger::job::{JobRow, Operation};
use ledgertop::ledger::plan::{Pace, Plan, PlanState, Progress};
use ledgertop::ledger::query::{Pattern, Test};
use ledgertop::ledger::state::State;
use ledgertop::ledger::text::SafeText;
use ledgertop::ledger::time::Timestamp;
use ledgertop::ledger::view::{
    ActKind, AuditPage, Count, DeadLetterGroup, DeadLetters, JobCursor, JobPage, Lease, LeasePage,
    ListedJob, OperatorAct, UnreadableJob,
};
use ledgertop::store::look::Reach;
use ratatui::layout::Rect;
use ratatui::style::Modifier;
use uuid::Uuid;

use crate::sample::{NOW_S, drawn, frame, incident, key, lines, model};

/// Names, keys, tenants and messages as strangers send them.
const HOSTILE: [&str; 9] = [
    "図書館の仕事",
    "🚀 launches 🇩🇪",
    "e\u{301}te\u{301}",
    "שלום עולם",
    "مرحبا بالعالم",
    "\u{1b}[31mred\u{1b}]0;title\u{7}",
    "\u{202e}gnp.exe\u{200b}\r\n",
    "ﷺ\u{301}\u{302}\u{303}",
    "a-very-long-name-that-goes-on-and-on-and-on-and-on-and-on-and-on-and-on",
];

/// A job of an incident; every ninth of each kind of trouble.
pub(crate) fn listed(number: u64) -> ListedJob {
    let states = [
        State::Ready,
        State::Running,
        State::RetryWait,
        State::Dead,
        State::Quarantined,
        State::Succeeded,
        State::Pending,
    ];
    let index = usize::try_from(number).unwrap();
    let name = HOSTILE[index % HOSTILE.len()];
    let state = states[index % states.len()];
    let at = Timestamp::from_seconds(NOW_S).minus(Duration::from_secs(number * number * 3 + 2));
    let failed = matches!(state, State::RetryWait | State::Dead | State::Quarantined);
    ListedJob {
        row: JobRow {
            id: Uuid::from_u128(u128::from(number)),
            idempotency_key: SafeText::from(format!("invoice_{number} {name}")),
            queue: SafeText::new(["mail", "thumbnails", name][index % 3]),
            kind: SafeText::new("send"),
            tenant: SafeText::new(["t7", name][index % 2]),
            state,
            state_since: at,
            version: 3,
            fence: 1,
            attempt: u32::try_from(number % 5).unwrap(),
            redrives: u32::try_from(number % 2).unwrap(),
            available_at: Timestamp::from_seconds(NOW_S + 30),
            output_ref: None,
        },
        created_at: at.minus(Duration::from_secs(100)),
        class: failed.then_some(ErrorClass::Transient),
        reason: failed.then(|| SafeText::new("rate_limited")),
        error: failed.then(|| SafeText::from(format!("429 from {name}: slow down"))),
        worker: (state == State::Running).then(|| SafeText::new("render-7f9c")),
        lease_expires_at: None,
        policy: SafeText::new("default"),
        policy_version: 2,
        unsettled: 0,
    }
}

pub(crate) fn page(numbers: impl IntoIterator<Item = u64>) -> JobPage {
    JobPage {
        as_of: Timestamp::from_seconds(NOW_S - 1),
        jobs: numbers.into_iter().map(listed).collect(),
        ..JobPage::default()
    }
}

/// Presses keys, and answers what is asked.
pub(crate) fn play(model: &mut Model, keys: &[&str], answer: &dyn Fn(&Request) -> Answer) {
    for each in keys {
        let at = model.now;
        let mut effects = update(model, at, Msg::Key(key(each)));
        while let Some((ticket, request)) = effects.into_iter().find_map(|effect| match effect {
            Effect::Look { ticket, request } => Some((ticket, request)),
            _ => None,
        }) {
            let result = Ok(answer(&request));
            effects = update(model, at, Msg::Looked { ticket, result });
        }
    }
}

/// Twenty jobs, and many more that are not read.
fn many(request: &Request) -> Answer {
    match request {
        Request::Count { at_most, .. } => Answer::Count(Count::AtLeast(*at_most)),
        Request::Reach { .. } => Answer::Reach(Reach::Indexed),
        _ => Answer::Jobs(JobPage {
            next: Some(JobCursor {
                since_us: 0,
                id: Uuid::nil(),
            }),
            ..page(0..60)
        }),
    }
}

fn few(request: &Request) -> Answer {
    match request {
        Request::Reach { .. } => Answer::Reach(Reach::Indexed),
        _ => Answer::Jobs(page(0..9)),
    }
}

fn on_jobs(width: u16, height: u16, answer: &dyn Fn(&Request) -> Answer) -> Model {
    let mut model = model(incident(), width, height);
    play(&mut model, &["2"], answer);
    model
}

#[test]
fn jobs_at_the_sizes_people_use() {
    for (width, height) in [(80, 24), (120, 36), (160, 45), (40, 10)] {
        let mut model = on_jobs(width, height, &many);
        play(&mut model, &["j", " ", "j", " "], &many);
        insta::assert_snapshot!(format!("jobs_{width}x{height}"), drawn(&model));
    }
}

#[test]
fn the_first_look_at_a_list_says_that_it_looks() {
    let mut model = model(incident(), 80, 24);
    let at = model.now;
    update(&mut model, at, Msg::Key(key("2")));
    assert!(drawn(&model).contains("looking …"));
    let later = at + Duration::from_secs(3);
    update(&mut model, later, Msg::Tick);
    assert!(drawn(&model).contains("looking for 3s …"));
}

#[test]
fn a_list_that_cannot_be_read_again_keeps_its_rows_and_says_why() {
    let mut model = on_jobs(80, 24, &few);
    let at = model.now;
    let effects = update(&mut model, at, Msg::Key(key("r")));
    let Some(Effect::Look { ticket, .. }) = effects.first() else {
        panic!("{effects:?}");
    };
    let failure = Failure {
        error: SafeText::new("listing jobs took longer than 5000 ms and was given up"),
        retry_in: Duration::from_millis(3_200),
    };
    let looked = Msg::Looked {
        ticket: *ticket,
        result: Err(failure),
    };
    update(&mut model, at, looked);
    insta::assert_snapshot!("jobs_not_read_again_80x24", drawn(&model));
    let frame = frame(&model, Depth::None);
    let key = frame.cell((30, 5)).unwrap();
    assert!(key.modifier.contains(Modifier::DIM), "{key:?}");
}

#[test]
fn marks_that_are_not_listed_any_more_are_named() {
    let mut model = on_jobs(120, 36, &few);
    play(&mut model, &[" ", " "], &few);
    play(&mut model, &["r"], &|_| Answer::Jobs(page(1..9)));
    let drawn = drawn(&model);
    assert!(
        drawn.contains("● 2 marked · 1 no longer in this list: invoice_0 図書館の仕事 (mail)"),
        "{drawn}"
    );
}

#[test]
fn hostile_jobs_never_break_a_border_at_any_size() {
    let mut sizes: Vec<(u16, u16)> = vec![(0, 0), (1, 1), (500, 200), (1, 200), (500, 1)];
    sizes.extend(
        (1..130)
            .step_by(7)
            .flat_map(|width| (1..50).step_by(5).map(move |height| (width, height))),
    );
    for (width, height) in sizes {
        let model = on_jobs(width, height, &many);
        let frame = frame(&model, Depth::None);
        assert_eq!(frame.area, Rect::new(0, 0, width, height));
        let drawn = lines(&frame);
        let Some(first) = drawn.iter().position(|line| line.starts_with('╭')) else {
            continue;
        };
        let last = drawn.iter().position(|line| line.starts_with('╰')).unwrap();
        for line in &drawn[first..=last] {
            assert_eq!(text::columns(line), width, "{width}×{height}: {line}");
            assert!(line.ends_with(['╮', '│', '╯']), "{width}×{height}: {line}");
        }
        let control = |cell: &ratatui::buffer::Cell| cell.symbol().chars().any(char::is_control);
        assert!(!frame.content().iter().any(control));
    }
}

#[test]
fn the_selected_job_is_seen_without_colours() {
    let mut model = on_jobs(80, 24, &few);
    play(&mut model, &["j"], &few);
    let frame = frame(&model, Depth::None);
    let reversed: Vec<u16> = (0..24)
        .filter(|row| {
            let cell = frame.cell((20, *row)).unwrap();
            cell.modifier.contains(Modifier::REVERSED)
        })
        .collect();
    let drawn = lines(&frame);
    let selected = drawn.iter().position(|line| line.contains("› ")).unwrap();
    assert_eq!(reversed, [u16::try_from(selected).unwrap()]);
}

fn group(number: u64) -> DeadLetterGroup {
    let index = usize::try_from(number).unwrap();
    let name = HOSTILE[index % HOSTILE.len()];
    let at = Timestamp::from_seconds(NOW_S);
    let named = |count: u64| vec![(SafeText::new(name), count), (SafeText::new("mail"), 2)];
    let reasons = ["schema_violation", "rate_limited", "unclassified"];
    DeadLetterGroup {
        class: Some(ErrorClass::ALL[index % 3]),
        reason: Some(SafeText::new(reasons[index % 3])),
        fingerprint: SafeText::from(format!("{name}: field 'amount' of <id> is missing")),
        dead: 400 - number * 40,
        quarantined: number * 3,
        first_at: at.minus(Duration::from_secs(40_000 + number * 999)),
        last_at: at.minus(Duration::from_secs(number * 100)),
        died_again: number % 4,
        unsettled: number % 3,
        queues: named(390),
        tenants: named(200),
        policies: vec![(SafeText::new("default@2"), 400)],
        sample: Uuid::from_u128(u128::from(number)),
    }
}

fn dead_letters(_: &Request) -> Answer {
    Answer::DeadLetters(DeadLetters {
        as_of: Timestamp::from_seconds(NOW_S - 1),
        groups: (0..9).map(group).collect(),
        beyond: 0,
        unreadable: Vec::new(),
        counted: Count::Exact(2_304),
    })
}

fn leases(_: &Request) -> Answer {
    let lease = |number: u64| {
        let mut job = listed(number * 7 + 1);
        job.row.state = State::Running;
        job.worker = Some(SafeText::new(HOSTILE[usize::try_from(number).unwrap() % 9]));
        let end = Timestamp::from_seconds(NOW_S - 65).plus(Duration::from_secs(number * 33));
        job.lease_expires_at = Some(end);
        Lease {
            job,
            claimed_at: Timestamp::from_seconds(NOW_S - 200),
            renewals: u32::try_from(number % 4).unwrap(),
        }
    };
    Answer::Leases(LeasePage {
        as_of: Timestamp::from_seconds(NOW_S - 1),
        leases: (0..12).map(lease).collect(),
        ..LeasePage::default()
    })
}

fn act(number: u64) -> OperatorAct {
    let index = usize::try_from(number).unwrap();
    let plan = (number % 3 == 1).then(|| Uuid::from_u128(0x00c0_ffee));
    let what = if number == 10 {
        ActKind::Plan {
            operation: Operation::Redrive,
            step: SafeText::new("approved"),
            jobs: 1_204,
        }
    } else {
        ActKind::Job {
            id: Uuid::from_u128(u128::from(number)),
            version: 4,
            queue: SafeText::new(HOSTILE[index % 9]),
            event: EventKind::Redrive,
            from: Some(State::Dead),
            to: State::Ready,
        }
    };
    OperatorAct {
        at: Timestamp::from_seconds(NOW_S).minus(Duration::from_secs(number * 61)),
        actor: SafeText::from(format!("{} from 10.0.0.{number}", HOSTILE[(index + 3) % 9])),
        db_user: Some(SafeText::new("ops")),
        what,
        note: Some(SafeText::new("the template is fixed in 4.2 \u{202e}dexif")),
        plan,
    }
}

fn acts(_: &Request) -> Answer {
    Answer::Audit(AuditPage {
        as_of: Timestamp::from_seconds(NOW_S - 1),
        acts: (0..14).map(act).collect(),
        unreadable: vec![UnreadableJob {
            job: SafeText::new("7f9c"),
            column: "to_state",
            value: SafeText::new("\u{1b}[2Jsunny"),
        }],
        next: None,
    })
}

/// A screen's name, its key, and what it is answered.
type Shown = (&'static str, &'static str, fn(&Request) -> Answer);

fn plans(_: &Request) -> Answer {
    let plan = |number: u64, state, stop: Option<&str>| Plan {
        id: Uuid::from_u128(u128::from(number)),
        operation: Operation::Redrive,
        state,
        version: 3,
        query: SafeText::new("state:dead reason:rate_limited"),
        reason: SafeText::from(format!("the limit is raised {}", HOSTILE[5])),
        actor: SafeText::new("mara from 10.0.0.7"),
        created_at: Timestamp::from_seconds(NOW_S - 400),
        updated_at: Timestamp::from_seconds(NOW_S - 4),
        pace: Pace {
            canary: true,
            batch_max: 100,
            rate_per_s: 20,
            stop_percent: 20,
        },
        batch: 2,
        progress: Progress {
            total: 312,
            waiting: 201,
            open: 9,
            succeeded: 88,
            failed: 11,
            stale: 2,
            refused: 1,
            missing: 0,
        },
        stop_reason: stop.map(SafeText::new),
        executor: Some(SafeText::new("ledgertop plan run")),
        lease_expires_at: Some(Timestamp::from_seconds(NOW_S + 20)),
    };
    Answer::Plans(vec![
        plan(1, PlanState::Running, None),
        plan(
            2,
            PlanState::Stopped,
            Some("job 7 failed permanently again: rate_limited"),
        ),
        plan(3, PlanState::Done, None),
    ])
}

const SHOWN: [Shown; 4] = [
    ("dead_letters", "3", dead_letters),
    ("leases", "4", leases),
    ("plans", "5", plans),
    ("audit", "6", acts),
];

#[test]
fn dead_letters_leases_and_audit_at_the_sizes_people_use() {
    for (name, number, answer) in SHOWN {
        for (width, height) in [(80, 24), (120, 36), (160, 45), (40, 10)] {
            let mut model = model(incident(), width, height);
            play(&mut model, &[number, "j"], &answer);
            insta::assert_snapshot!(format!("{name}_{width}x{height}"), drawn(&model));
        }
    }
}

#[test]
fn every_list_is_drawn_at_every_size() {
    for (_, number, answer) in SHOWN {
        for width in (1..170).step_by(13) {
            for height in (1..60).step_by(5) {
                let mut model = model(incident(), width, height);
                play(&mut model, &[number], &answer);
                let frame = frame(&model, Depth::None);
                let control =
                    |cell: &ratatui::buffer::Cell| cell.symbol().chars().any(char::is_control);
                assert!(!frame.content().iter().any(control));
            }
        }
    }
}

#[test]
fn a_group_is_opened_as_the_filter_for_its_jobs_and_left_to_where_it_was() {
    let mut model = model(incident(), 120, 36);
    play(&mut model, &["3", "j"], &dead_letters);
    let asked = std::cell::RefCell::new(Vec::new());
    play(&mut model, &["enter"], &|request| {
        asked.borrow_mut().push(request.clone());
        many(request)
    });
    let asked = asked.into_inner();
    let Some(Request::Jobs { query, .. }) = asked.get(1) else {
        panic!("{asked:?}");
    };
    let tests: Vec<&Test> = query.terms.iter().map(|term| &term.test).collect();
    assert_eq!(tests[0], &Test::State(State::Dead));
    assert_eq!(tests[1], &Test::State(State::Quarantined));
    assert_eq!(tests[2], &Test::Class(ErrorClass::Permanent));
    assert_eq!(
        tests[3],
        &Test::Reason(Pattern::Is("rate_limited".to_owned()))
    );
    assert!(matches!(tests[4], Test::Error(_)));
    play(&mut model, &["esc"], &dead_letters);
    assert!(drawn(&model).contains("Dead letters · 2,304 in 9 groups"));
}

#[test]
fn a_filter_is_completed_corrected_and_warned_of_above_its_list() {
    let mut model = on_jobs(80, 24, &few);
    let text = |model: &mut Model, text: &str| {
        let keys: Vec<String> = text.chars().map(String::from).collect();
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        play(model, &keys, &few);
    };
    text(&mut model, "/queue:");
    insta::assert_snapshot!("filter_completed_80x24", drawn(&model));
    text(&mut model, "mail sate:dead");
    insta::assert_snapshot!("filter_mistaken_80x24", drawn(&model));
    for width in (1..100).step_by(3) {
        model.size = Rect::new(0, 0, width, 24);
        drop(frame(&model, Depth::None));
    }
    play(&mut model, &["esc"], &few);
    let scan = |request: &Request| match request {
        Request::Reach { .. } => Answer::Reach(Reach::Scan { jobs: 5_000_000 }),
        _ => Answer::Jobs(page(0..9)),
    };
    model.size = Rect::new(0, 0, 80, 24);
    play(&mut model, &["/", "t", "o", "o"], &scan);
    insta::assert_snapshot!("filter_withheld_80x24", drawn(&model));
}

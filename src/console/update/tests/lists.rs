//! What lists ask of the ledger, what they do with answers, and how one gets from screen to screen.

use crate::console::ask::{Answer, Failure, Kind, Request, Ticket};
use crate::console::model::{JobsState, Screen, Tab};
use crate::ledger::job::JobRow;
use crate::ledger::view::{Count, JobCursor, JobOrder, JobPage, ListedJob};
use crate::store::look::Reach;

use super::*;

pub(super) fn listed(number: u128) -> ListedJob {
    let at = Timestamp::from_seconds(NOW_S - 60);
    ListedJob {
        row: JobRow {
            id: Uuid::from_u128(number),
            idempotency_key: SafeText::from(format!("job-{number}")),
            queue: SafeText::new("mail"),
            kind: SafeText::new("send"),
            tenant: SafeText::new(""),
            state: State::Ready,
            state_since: at,
            version: 1,
            fence: 0,
            attempt: 0,
            redrives: 0,
            available_at: at,
            output_ref: None,
        },
        created_at: at,
        class: None,
        reason: None,
        error: None,
        worker: None,
        lease_expires_at: None,
        policy: SafeText::new("default"),
        policy_version: 1,
        unsettled: 0,
    }
}

/// The one question that effects ask.
pub(super) fn asked(effects: &[Effect]) -> Option<(Ticket, Request)> {
    effects.iter().find_map(|effect| match effect {
        Effect::Look { ticket, request } => Some((*ticket, request.clone())),
        _ => None,
    })
}

pub(super) fn dismissed(effects: &[Effect]) -> Option<Kind> {
    effects.iter().find_map(|effect| match effect {
        Effect::Dismiss(kind) => Some(*kind),
        _ => None,
    })
}

fn answer(model: &mut Model, ticket: Ticket, answer: Answer) -> Vec<Effect> {
    let result = Ok(answer);
    tell(model, Msg::Looked { ticket, result })
}

/// A ledger of jobs `0..all`, in order of their number, that answers pages.
fn page(request: &Request, all: u64) -> JobPage {
    let Request::Jobs { after, limit, .. } = request else {
        panic!("{request:?}");
    };
    let from = after
        .as_ref()
        .map_or(0, |cursor| u64::try_from(cursor.since_us).unwrap() + 1);
    let to = all.min(from + u64::from(*limit));
    JobPage {
        as_of: Timestamp::from_seconds(NOW_S),
        jobs: (from..to).map(|each| listed(u128::from(each))).collect(),
        next: (to < all).then(|| JobCursor {
            since_us: i64::try_from(to).unwrap() - 1,
            id: Uuid::from_u128(u128::from(to) - 1),
        }),
        ..JobPage::default()
    }
}

/// Answers whatever is asked until nothing more is.
fn settle(model: &mut Model, mut effects: Vec<Effect>, all: u64) {
    while let Some((ticket, request)) = asked(&effects) {
        let found = match &request {
            Request::Count { .. } => Answer::Count(Count::Exact(all)),
            Request::Reach { .. } => Answer::Reach(Reach::Indexed),
            _ => Answer::Jobs(page(&request, all)),
        };
        effects = answer(model, ticket, found);
    }
}

/// A console on its list of jobs, `0..all`.
fn on_jobs(all: u64) -> Model {
    let mut model = loaded_console();
    let effects = press(&mut model, "2");
    settle(&mut model, effects, all);
    model
}

fn jobs(model: &Model) -> &JobsState {
    model.view.jobs_shown().unwrap()
}

fn selected_job(model: &Model) -> u128 {
    jobs(model).list.selected.unwrap().as_u128()
}

#[test]
fn a_list_is_asked_for_as_soon_as_its_screen_is_shown() {
    let mut model = loaded_console();
    let (_, request) = asked(&press(&mut model, "2")).unwrap();
    assert!(matches!(request, Request::Jobs { after: None, .. }));
    assert!(jobs(&model).list.rows.is_empty());
    let ticket = model.open.as_ref().unwrap().ticket;
    answer(&mut model, ticket, Answer::Jobs(page(&request, 3)));
    assert_eq!(jobs(&model).list.rows.len(), 3);
    assert_eq!(selected_job(&model), 0);
    assert_eq!(
        jobs(&model).counted.unwrap().0,
        Count::Exact(3),
        "a list that is held in full needs no counting"
    );
}

#[test]
fn a_screen_that_is_left_cancels_its_question() {
    let mut model = loaded_console();
    press(&mut model, "2");
    assert_eq!(dismissed(&press(&mut model, "1")), Some(Kind::Jobs));
    assert!(model.open.is_none());
}

#[test]
fn an_answer_to_an_older_question_changes_nothing() {
    let mut model = loaded_console();
    let (old, request) = asked(&press(&mut model, "2")).unwrap();
    let (new, _) = asked(&press(&mut model, "s")).unwrap();
    assert_ne!(old, new);
    answer(&mut model, old, Answer::Jobs(page(&request, 3)));
    assert!(jobs(&model).list.rows.is_empty());
}

#[test]
fn a_list_is_looked_up_again_only_after_news_of_it_and_not_while_paused() {
    let mut model = on_jobs(3);
    let second = Duration::from_secs(1);
    assert!(later(&mut model, second, Msg::Tick).is_empty());
    let news = |at| events(at, vec![enqueued("mail", 9, NOW_S + at)]);
    let again = later(&mut model, second, news(1));
    assert!(asked(&again).is_some());
    settle(&mut model, again, 4);
    assert_eq!(jobs(&model).list.rows.len(), 4);
    press(&mut model, "p");
    assert!(asked(&later(&mut model, second, news(2))).is_none());
    assert!(asked(&press(&mut model, "p")).is_some(), "what was held up");
}

#[test]
fn news_of_other_queues_are_no_news() {
    let mut model = loaded_console();
    let effects = press(&mut model, "enter enter");
    settle(&mut model, effects, 3);
    let second = Duration::from_secs(1);
    let other = events(1, vec![enqueued("elsewhere", 9, NOW_S + 1)]);
    assert!(asked(&later(&mut model, second, other)).is_none());
    let own = events(2, vec![enqueued("old", 10, NOW_S + 2)]);
    assert!(asked(&later(&mut model, second, own)).is_some());
}

#[test]
fn a_ledger_that_is_slow_to_answer_is_asked_less_often() {
    let mut model = on_jobs(3);
    let news = |at| events(at, vec![enqueued("mail", 9, NOW_S + at)]);
    let again = later(&mut model, Duration::from_secs(1), news(1));
    let (ticket, request) = asked(&again).unwrap();
    let late = Msg::Looked {
        ticket,
        result: Ok(Answer::Jobs(page(&request, 3))),
    };
    later(&mut model, Duration::from_secs(4), late);
    assert!(asked(&later(&mut model, Duration::from_secs(1), news(5))).is_none());
    let due = model.next_wake().unwrap();
    assert!(due > model.now);
    assert!(asked(&later(&mut model, Duration::from_secs(16), Msg::Tick)).is_some());
}

#[test]
fn after_a_failure_the_old_rows_stay_and_the_question_stays_open() {
    let mut model = on_jobs(3);
    let news = events(1, vec![enqueued("mail", 9, NOW_S + 1)]);
    let again = later(&mut model, Duration::from_secs(1), news);
    let (ticket, request) = asked(&again).unwrap();
    let failure = Failure {
        error: SafeText::new("gone"),
        retry_in: Duration::from_secs(3),
    };
    let result = Err(failure);
    tell(&mut model, Msg::Looked { ticket, result });
    assert_eq!(jobs(&model).list.rows.len(), 3);
    let fault = model.view.shown().looks().unwrap().asking().fault.clone();
    assert_eq!(fault.unwrap().error.as_str(), "gone");
    // It is answered under the same ticket once the ledger is back.
    answer(&mut model, ticket, Answer::Jobs(page(&request, 5)));
    assert_eq!(jobs(&model).list.rows.len(), 5);
    assert!(model.view.shown().looks().unwrap().asking().fault.is_none());
}

#[test]
fn going_down_reads_on_and_holds_no_more_than_a_window() {
    let all = 2_000;
    let mut model = on_jobs(all);
    for expected in 1..1_700_u128 {
        let effects = press(&mut model, "j");
        settle(&mut model, effects, all);
        assert_eq!(selected_job(&model), expected);
        assert!(jobs(&model).list.rows.len() <= 500);
    }
    for expected in (0..1_699_u128).rev() {
        let effects = press(&mut model, "k");
        settle(&mut model, effects, all);
        assert_eq!(selected_job(&model), expected);
    }
    assert_eq!(jobs(&model).list.window.offset, 0);
}

#[test]
fn the_first_row_is_one_key_away_from_anywhere() {
    let all = 2_000;
    let mut model = on_jobs(all);
    for _ in 0..12 {
        let effects = press(&mut model, "G");
        settle(&mut model, effects, all);
    }
    assert!(selected_job(&model) > 700);
    let effects = press(&mut model, "g");
    settle(&mut model, effects, all);
    assert_eq!(selected_job(&model), 0);
}

/// Answers the open refresh with these jobs.
fn refresh(model: &mut Model, numbers: &[u128]) {
    press(model, "r");
    let open = model.open.clone().unwrap();
    let page = JobPage {
        as_of: Timestamp::from_seconds(NOW_S + 1),
        jobs: numbers.iter().map(|each| listed(*each)).collect(),
        ..JobPage::default()
    };
    answer(model, open.ticket, Answer::Jobs(page));
}

#[test]
fn the_selection_is_a_job_and_stays_with_it_where_rows_move() {
    let mut model = on_jobs(5);
    press(&mut model, "j j");
    assert_eq!(selected_job(&model), 2);
    refresh(&mut model, &[9, 8, 0, 1, 2, 3]);
    assert_eq!(selected_job(&model), 2);
    assert_eq!(jobs(&model).list.position(), Some(4));
    // Its row leaves the list: no other job takes its place until someone moves.
    refresh(&mut model, &[9, 8, 0, 1, 3]);
    assert_eq!(selected_job(&model), 2);
    assert_eq!(jobs(&model).list.position(), None);
    press(&mut model, "j");
    assert_eq!(selected_job(&model), 3, "the one that is where it was");
}

#[test]
fn marks_are_jobs_and_survive_refreshes_orders_and_detours() {
    let mut model = on_jobs(5);
    press(&mut model, "space j space");
    let marked = |model: &Model| -> Vec<u128> {
        let jobs = jobs(model).marks.jobs();
        jobs.map(|job| job.id.as_u128()).collect()
    };
    assert_eq!(marked(&model), [0, 2]);
    refresh(&mut model, &[7, 2, 1]);
    assert_eq!(marked(&model), [0, 2]);
    let unlisted = jobs(&model).marks.unlisted(&jobs(&model).list.rows);
    assert_eq!(unlisted[0].idempotency_key.as_str(), "job-0");
    press(&mut model, "1 2 s");
    assert_eq!(marked(&model), [0, 2]);
    press(&mut model, "U");
    assert!(jobs(&model).marks.is_empty());
}

#[test]
fn a_range_of_marks_goes_from_where_it_began_to_the_selection() {
    let mut model = on_jobs(9);
    press(&mut model, "j V j j");
    assert_eq!(
        jobs(&model).marks.len(),
        0,
        "nothing is marked before it ends"
    );
    press(&mut model, "V");
    assert_eq!(jobs(&model).marks.len(), 3);
    press(&mut model, "V G esc");
    assert_eq!(jobs(&model).marks.len(), 3, "esc drops the range");
    assert_eq!(
        model.view.tab(),
        Tab::Jobs,
        "and leaves by no more than that"
    );
}

#[test]
fn the_selected_job_stays_selected_in_another_order() {
    let mut model = on_jobs(5);
    press(&mut model, "j j");
    let effects = press(&mut model, "s");
    let (_, request) = asked(&effects).unwrap();
    assert!(matches!(
        request,
        Request::Jobs {
            order: JobOrder::OldestFirst,
            ..
        }
    ));
    settle(&mut model, effects, 5);
    assert_eq!(selected_job(&model), 2);
}

#[test]
fn a_detour_comes_back_to_what_was_left() {
    let mut model = on_jobs(5);
    press(&mut model, "j j space s");
    let left = model.view.shown().clone();
    press(&mut model, "1 j enter enter");
    assert!(matches!(model.view.shown(), Screen::Jobs(_)));
    assert_eq!(model.view.tab(), Tab::Overview);
    press(&mut model, "2");
    let (Screen::Jobs(left), Screen::Jobs(found)) = (&left, model.view.shown()) else {
        panic!("{left:?}");
    };
    assert_eq!((&left.marks, left.order), (&found.marks, found.order));
    assert_eq!(left.list.selected, found.list.selected);
}

#[test]
fn esc_goes_out_by_one_level_and_to_the_tab_that_one_came_from() {
    let mut model = loaded_console();
    press(&mut model, "enter enter");
    assert!(matches!(model.view.shown(), Screen::Jobs(_)));
    press(&mut model, "2");
    assert_eq!(model.view.tab(), Tab::Jobs);
    press(&mut model, "esc");
    assert_eq!(model.view.tab(), Tab::Overview);
    assert!(
        matches!(model.view.shown(), Screen::Jobs(_)),
        "the queue's jobs"
    );
    press(&mut model, "esc");
    assert!(model.view.queue_shown().is_some());
    press(&mut model, "esc");
    assert!(matches!(model.view.shown(), Screen::Overview));
    assert!(
        press(&mut model, "esc").is_empty(),
        "never out of the program"
    );
    assert!(matches!(model.view.shown(), Screen::Overview));
}

#[test]
fn a_tab_s_number_pressed_on_it_leads_to_its_first_screen() {
    let mut model = loaded_console();
    press(&mut model, "enter enter 1");
    assert!(matches!(model.view.shown(), Screen::Overview));
}

#[test]
fn tab_goes_around_the_tabs() {
    let mut model = loaded_console();
    for _ in Tab::ALL {
        press(&mut model, "tab");
    }
    assert_eq!(model.view.tab(), Tab::Overview);
}

#[test]
fn trails_are_bounded() {
    let mut model = loaded_console();
    for _ in 0..100 {
        let jobs = JobsState::default();
        model.view.enter(Screen::Jobs(Box::new(jobs)));
    }
    assert!(model.view.trail().len() <= 16);
    for _ in 0..100 {
        press(&mut model, "esc");
    }
    assert!(matches!(model.view.shown(), Screen::Overview));
}

//! Filters of lists: what is typed, what holds, what is asked before jobs are read one by one.

use crate::console::ask::{Answer, Kind, Request};
use crate::console::model::{Filtered as _, JobsState, Leave};
use crate::ledger::view::{Count, JobPage};
use crate::store::look::Reach;

use super::lists::{asked, dismissed, listed};
use super::*;

/// A ledger in which every filter by a word must read all jobs.
fn reach(request: &Request) -> Reach {
    match request {
        Request::Reach { query, .. } if query.to_string().contains('"') => {
            Reach::Scan { jobs: 5_000_000 }
        }
        _ => Reach::Indexed,
    }
}

fn answer_to(request: &Request) -> Answer {
    match request {
        Request::Reach { .. } => Answer::Reach(reach(request)),
        Request::Count { .. } => Answer::Count(Count::Exact(3)),
        _ => Answer::Jobs(JobPage {
            as_of: Timestamp::from_seconds(NOW_S),
            jobs: (1..4).map(listed).collect(),
            ..JobPage::default()
        }),
    }
}

/// Presses keys, answers what is asked; says what that was.
fn play(model: &mut Model, keys: &str) -> Vec<Request> {
    let mut seen = Vec::new();
    for key in keys.split(' ') {
        let mut effects = press(model, key);
        while let Some((ticket, request)) = asked(&effects) {
            seen.push(request.clone());
            let result = Ok(answer_to(&request));
            effects = tell(model, Msg::Looked { ticket, result });
        }
    }
    seen
}

fn type_in(model: &mut Model, text: &str) -> Vec<Request> {
    let keys: Vec<String> = text
        .chars()
        .map(|each| match each {
            ' ' => "space".to_owned(),
            other => other.to_string(),
        })
        .collect();
    play(model, &keys.join(" "))
}

fn jobs(model: &Model) -> &JobsState {
    model.view.jobs_shown().unwrap()
}

fn shown_query(model: &Model) -> String {
    jobs(model).query.to_string()
}

#[test]
fn a_filter_holds_as_it_is_typed_and_a_bad_text_keeps_the_last_good_one() {
    let mut model = loaded_console();
    play(&mut model, "2 /");
    type_in(&mut model, "state:dead");
    assert_eq!(shown_query(&model), "state:dead");
    type_in(&mut model, " sta:x");
    let typing = jobs(&model).line().typing().unwrap();
    let mistake = typing.mistake.as_ref().unwrap();
    assert_eq!(mistake.column(), 12);
    assert_eq!(
        shown_query(&model),
        "state:dead",
        "what may yet become a field is not looked for as a word"
    );
    play(&mut model, "enter");
    assert!(
        jobs(&model).line().typing().is_some(),
        "a mistake is not accepted"
    );
    play(&mut model, "esc");
    assert_eq!(
        shown_query(&model),
        "",
        "typing that is left changes nothing"
    );
}

#[test]
fn a_word_that_begins_like_a_field_is_looked_for_once_it_is_whole() {
    let mut model = loaded_console();
    play(&mut model, "2 /");
    type_in(&mut model, "sta");
    assert_eq!(shown_query(&model), "");
    type_in(&mut model, " ");
    assert_eq!(shown_query(&model), "\"sta\"");
    play(&mut model, "esc /");
    type_in(&mut model, "key");
    play(&mut model, "enter");
    assert_eq!(shown_query(&model), "\"key\"");
}

#[test]
fn a_filter_survives_detours_and_is_left_before_the_screen_is() {
    let mut model = loaded_console();
    play(&mut model, "2 /");
    type_in(&mut model, "queue:mail");
    play(&mut model, "enter 1 2");
    assert_eq!(shown_query(&model), "queue:mail");
    play(&mut model, "esc");
    assert_eq!(shown_query(&model), "");
    assert!(model.view.jobs_shown().is_some());
    play(&mut model, "esc");
    assert!(model.view.jobs_shown().is_none());
}

#[test]
fn a_filter_that_must_read_every_job_says_so_and_waits_for_enter() {
    let mut model = loaded_console();
    play(&mut model, "2 /");
    let requests = type_in(&mut model, "timeout");
    assert!(
        requests.iter().all(|each| each.kind() == Kind::Reach),
        "{requests:?}"
    );
    assert_eq!(jobs(&model).leave, Leave::Withheld { jobs: 5_000_000 });
    assert_eq!(jobs(&model).list.rows.len(), 3, "the last rows stay");
    // One enter takes the text and lets it run.
    let requests = play(&mut model, "enter");
    assert!(
        matches!(requests[..], [Request::Jobs { .. }]),
        "{requests:?}"
    );
    assert!(jobs(&model).is_held());
    // It is not read again without being asked to.
    let news = events(1, vec![enqueued("mail", 9, NOW_S + 1)]);
    assert!(asked(&later(&mut model, Duration::from_secs(9), news)).is_none());
    assert_eq!(play(&mut model, "r").len(), 1);
}

#[test]
fn esc_cancels_a_filter_that_is_being_read_one_by_one() {
    let mut model = loaded_console();
    play(&mut model, "2 /");
    type_in(&mut model, "timeout");
    assert!(asked(&press(&mut model, "enter")).is_some(), "it runs");
    let effects = press(&mut model, "esc");
    let gone = dismissed(&effects).is_some() || asked(&effects).is_some();
    assert!(gone, "{effects:?}");
    assert_eq!(shown_query(&model), "");
    assert!(model.view.jobs_shown().is_some(), "out by that level only");
}

#[test]
fn tab_completes_names_of_fields_and_of_the_board() {
    let mut model = loaded_console();
    play(&mut model, "2 /");
    type_in(&mut model, "que");
    play(&mut model, "tab");
    assert_eq!(jobs(&model).line().text(), "queue:");
    type_in(&mut model, "w");
    play(&mut model, "tab");
    assert_eq!(jobs(&model).line().text(), "queue:wide ");
    assert_eq!(shown_query(&model), "queue:wide");
    type_in(&mut model, "state:");
    play(&mut model, "down tab");
    assert_eq!(shown_query(&model), "queue:wide state:ready");
}

#[test]
fn pasted_text_reaches_the_filter_and_holds_no_control() {
    let mut model = loaded_console();
    play(&mut model, "2 /");
    tell(&mut model, Msg::Paste("queue:mail\u{1b}[2J\n".to_owned()));
    assert_eq!(jobs(&model).line().text(), "queue:mail[2J");
}

//! Every form of the language, every mistake, and the way there and back.

use chrono::{FixedOffset, Utc};
use chrono_tz::Europe::Paris;
use proptest::prelude::*;

use super::*;
use crate::ledger::query::Comparison::{AtLeast, AtMost, Equal, Less, More};

fn moment(text: &str) -> Timestamp {
    Timestamp::from_datetime(text.parse::<DateTime<Utc>>().unwrap())
}

fn now() -> Timestamp {
    moment("2026-11-30T03:07:42.120Z")
}

fn read(text: &str) -> Query {
    match parse(text, now(), &Utc) {
        Ok(query) => query,
        Err(error) => panic!("{text}: {error}"),
    }
}

fn only(query: &Query) -> &Test {
    match query.terms.as_slice() {
        [term] => &term.test,
        other => panic!("{other:?}"),
    }
}

/// The moment of a query `since:`.
fn since(query: &Query) -> String {
    if let Test::Since(moment) = only(query) {
        moment.rfc3339()
    } else {
        panic!("{query:?}")
    }
}

fn refused(text: &str) -> String {
    match parse(text, now(), &Utc) {
        Ok(query) => panic!("{text}: {query:?}"),
        Err(error) => error.to_string(),
    }
}

fn is(text: &str) -> Pattern {
    Pattern::Is(text.to_owned())
}

fn begins(text: &str) -> Pattern {
    Pattern::Begins(text.to_owned())
}

#[test]
fn every_form_of_the_language_is_read() {
    let id = "019ae0c2-5f3b-7cc1-8b1a-4d0c92f6e0a7";
    let uuid = Uuid::try_parse(id).unwrap();
    let minutes = |minutes: u64| Duration::from_secs(60 * minutes);
    for (text, test) in [
        ("queue:mail", Test::Queue(is("mail"))),
        ("state:dead", Test::State(State::Dead)),
        ("reason:timeout", Test::Reason(is("timeout"))),
        ("class:permanent", Test::Class(ErrorClass::Permanent)),
        ("tenant:t7", Test::Tenant(is("t7"))),
        ("tenant:\"\"", Test::Tenant(is(""))),
        ("key:invoice_184", Test::Key(is("invoice_184"))),
        (
            "key:tenant_7:invoice_184:*",
            Test::Key(begins("tenant_7:invoice_184:")),
        ),
        ("key:\"a b\"*", Test::Key(begins("a b"))),
        ("key:\"a*\"", Test::Key(is("a*"))),
        (r#"key:"say \"a\\b\"""#, Test::Key(is(r#"say "a\b""#))),
        (r#"key:5"tall\"#, Test::Key(is(r#"5"tall\"#))),
        ("kind:*", Test::Kind(begins(""))),
        ("worker:w3", Test::Worker(is("w3"))),
        ("policy:default", Test::Policy(is("default"))),
        ("parent:digest:9", Test::Parent(is("digest:9"))),
        ("age>10m", Test::Age(More, minutes(10))),
        ("age<=1h30m", Test::Age(AtMost, minutes(90))),
        ("age:0s", Test::Age(Equal, Duration::ZERO)),
        ("attempts>=3", Test::Attempts(AtLeast, 3)),
        ("attempts:3", Test::Attempts(Equal, 3)),
        ("redrives=0", Test::Redrives(Equal, 0)),
        ("unsettled<1", Test::Unsettled(Less, 1)),
        ("since:02:58", Test::Since(moment("2026-11-30T02:58:00Z"))),
        (
            "until:2026-11-30",
            Test::Until(moment("2026-11-30T00:00:00Z")),
        ),
        (
            "\"free text: in the error\"",
            Test::Error("free text: in the error".to_owned()),
        ),
        ("gone", Test::Error("gone".to_owned())),
    ] {
        assert_eq!(
            read(text).terms,
            [Term {
                negated: false,
                test: test.clone()
            }],
            "{text}"
        );
        let negated = read(&format!("!{text}"));
        assert_eq!(
            negated.terms,
            [Term {
                negated: true,
                test
            }],
            "!{text}"
        );
    }
    assert_eq!(only(&read(&format!("id:{id}"))), &Test::Id(uuid));
    assert_eq!(only(&read(&format!("plan:{id}"))), &Test::Plan(uuid));
    assert_eq!(read("  queue:a \t queue:b\n").terms.len(), 2);
    assert_eq!(read("").terms, []);
}

#[test]
fn a_time_of_day_is_the_last_such_moment_before_now() {
    let since = |text: &str, zone: &dyn Fn(&str) -> Query| since(&zone(text));
    let utc = |text: &str| parse(text, now(), &Utc).unwrap();
    let east = |text: &str| parse(text, now(), &FixedOffset::east_opt(5 * 3600).unwrap()).unwrap();
    assert_eq!(since("since:03:07", &utc), "2026-11-30T03:07:00.000Z");
    assert_eq!(since("since:03:07:42", &utc), "2026-11-30T03:07:42.000Z");
    assert_eq!(since("since:03:08", &utc), "2026-11-29T03:08:00.000Z");
    assert_eq!(since("since:08:07", &east), "2026-11-30T03:07:00.000Z");
    assert_eq!(since("since:08:08", &east), "2026-11-29T03:08:00.000Z");
    assert_eq!(since("since:2026-11-30", &east), "2026-11-29T19:00:00.000Z");
    assert_eq!(
        since("since:2026-11-30T08:00", &east),
        "2026-11-30T03:00:00.000Z"
    );
    assert_eq!(
        since("since:2026-11-30T03:00:00+01:00", &east),
        "2026-11-30T02:00:00.000Z"
    );
}

#[test]
fn a_time_of_day_that_a_change_of_clocks_skips_or_repeats_is_found() {
    // Clocks went from 02:00 to 03:00 on 29 March 2026, and from 03:00 to 02:00 on 25 October.
    let at = |now: &str| since(&parse("since:02:30", moment(now), &Paris).unwrap());
    assert_eq!(at("2026-03-29T10:00:00Z"), "2026-03-28T01:30:00.000Z");
    assert_eq!(at("2026-10-25T00:45:00Z"), "2026-10-25T00:30:00.000Z");
    assert_eq!(at("2026-10-25T10:00:00Z"), "2026-10-25T01:30:00.000Z");
}

#[test]
fn a_mistake_names_its_column_and_what_would_be_right() {
    for (text, said) in [
        (
            "queue:mail quue:sms",
            "column 12: there is no field 'quue'; did you mean 'queue'?",
        ),
        (
            "state:ded",
            "column 7: there is no state 'ded'; did you mean 'dead'?",
        ),
        (
            "!class:perm",
            "column 8: there is no class 'perm'; did you mean 'permanent'?",
        ),
        (
            "図書 state:x",
            "column 10: there is no state 'x'; it is one of pending, ready",
        ),
        ("age>10", "column 5: '10' is no span of time; write age>10m"),
        ("age>1000000000000000000w", "is no span of time"),
        (
            "attempts>=x",
            "column 11: 'x' is no number; write attempts>=3",
        ),
        ("attempts>=-1", "'-1' is no number"),
        ("attempts>=+1", "'+1' is no number"),
        (
            "queue>3",
            "column 6: 'queue' is not compared; write queue:VALUE",
        ),
        (
            "queue:",
            "column 7: 'queue' needs a value, such as queue:mail",
        ),
        ("id:7", "column 4: '7' is no id"),
        (
            "since:25:00",
            "column 7: '25:00' is no moment that there was; write since:02:58",
        ),
        ("state:dead*", "there is no state 'dead*'"),
        ("!", "column 1: '!' negates what follows it"),
        (
            "key:\"a b",
            "column 5: the quote that opens here is never closed",
        ),
        (
            "a \"b c",
            "column 3: the quote that opens here is never closed",
        ),
        ("key:\"a\"b", "column 8: after a closing quote"),
        ("\"a b\"*", "leave the '*' out"),
        ("http://x", "column 1: there is no field 'http'"),
        ("state:\u{1b}[31m", "there is no state '␛[31m'"),
    ] {
        let error = refused(text);
        assert!(error.contains(said), "{text}: {error}");
    }
    assert!(refused(&"a ".repeat(TEXT_MAX)).contains("at most 4000 characters"));
    assert!(refused(&"a ".repeat(TERMS_MAX + 1)).contains("at most 100 terms"));
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![any::<String>(), "[a-z0-9_:]{0,12}", "[ \"*\\\\!:><=a]{0,6}",]
}

fn pattern() -> impl Strategy<Value = Pattern> {
    prop_oneof![
        text().prop_map(Pattern::Is),
        text().prop_map(Pattern::Begins)
    ]
}

fn comparison() -> impl Strategy<Value = Comparison> {
    prop_oneof![
        Just(Less),
        Just(AtMost),
        Just(Equal),
        Just(AtLeast),
        Just(More)
    ]
}

fn time() -> impl Strategy<Value = Timestamp> {
    // The years that RFC 3339 can write.
    (-62_167_219_200_000_i64..253_402_300_800_000).prop_map(Timestamp::from_millis)
}

fn test() -> impl Strategy<Value = Test> {
    let id = any::<u128>().prop_map(Uuid::from_u128);
    prop_oneof![
        id.clone().prop_map(Test::Id),
        id.prop_map(Test::Plan),
        pattern().prop_map(Test::Key),
        pattern().prop_map(Test::Queue),
        pattern().prop_map(Test::Kind),
        pattern().prop_map(Test::Tenant),
        pattern().prop_map(Test::Reason),
        pattern().prop_map(Test::Worker),
        pattern().prop_map(Test::Policy),
        pattern().prop_map(Test::Parent),
        prop::sample::select(State::ALL.to_vec()).prop_map(Test::State),
        prop::sample::select(ErrorClass::ALL.to_vec()).prop_map(Test::Class),
        (comparison(), any::<u64>())
            .prop_map(|(how, age)| Test::Age(how, Duration::from_millis(age))),
        (comparison(), any::<u32>()).prop_map(|(how, number)| Test::Attempts(how, number)),
        (comparison(), any::<u32>()).prop_map(|(how, number)| Test::Redrives(how, number)),
        (comparison(), any::<u32>()).prop_map(|(how, number)| Test::Unsettled(how, number)),
        time().prop_map(Test::Since),
        time().prop_map(Test::Until),
        text().prop_map(Test::Error),
    ]
}

prop_compose! {
    fn term()(negated in any::<bool>(), test in test()) -> Term {
        Term { negated, test }
    }
}

proptest! {
    #[test]
    fn what_a_query_shows_is_read_as_the_same(terms in prop::collection::vec(term(), 0..6)) {
        let query = Query { terms };
        let shown = query.to_string();
        if shown.chars().count() <= TEXT_MAX {
            prop_assert_eq!(parse(&shown, now(), &Utc), Ok(query), "{}", shown);
        }
    }

    #[test]
    fn any_text_is_read_or_its_mistake_lies_within_it(text in text()) {
        match parse(&text, now(), &Utc) {
            Ok(query) => {
                let shown = query.to_string();
                prop_assert_eq!(parse(&shown, now(), &Utc), Ok(query), "{}", shown);
            }
            Err(error) => {
                prop_assert!(error.span.start <= error.span.end);
                prop_assert!(error.span.end <= text.chars().count());
                prop_assert!(!error.to_string().chars().any(crate::ledger::text::is_hostile));
            }
        }
    }

    #[test]
    fn words_of_the_language_in_any_order_never_panic(
        words in prop::collection::vec(
            prop_oneof![
                Just("state:"), Just("dead"), Just("!"), Just("\""), Just("*"), Just(" "),
                Just("age"), Just(">"), Just("="), Just("10m"), Just("since:"), Just("02:58"),
                Just("key:"), Just("\\"), Just("図"),
            ],
            0..12,
        )
    ) {
        let text = words.concat();
        if let Err(error) = parse(&text, now(), &Utc) {
            prop_assert!(error.span.end <= text.chars().count());
        }
    }
}

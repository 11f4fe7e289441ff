//! Lines as strangers write them.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn read(line: &str) -> Result<NewJob, LineProblem> {
    job(line.as_bytes(), Uuid::nil())
}

fn problem(line: &str) -> String {
    read(line).unwrap_err().to_string()
}

/// A job with one more member.
fn with(member: &str) -> String {
    format!(r#"{{"queue":"q","kind":"k","idempotency_key":"i",{member}}}"#)
}

#[test]
fn the_least_that_a_job_needs_is_enough() {
    let job = read(r#"{"queue":"mail","kind":"send","idempotency_key":"t7:mail:1"}"#).unwrap();
    let expected = NewJob::new(Uuid::nil(), "mail", "send", "t7:mail:1");
    assert_eq!(job, expected);
}

#[test]
fn every_key_reaches_its_field() {
    let job = read(
        r#"{"queue":"q","kind":"k","idempotency_key":"i","payload":{"a":[1,2.5,"x"]},"tenant":"t",
            "event_id":"e","schema_version":3,"available_at":"2026-11-30T05:07:42.5+02:00",
            "policy":"slow","parent_key":"p","required":false,"awaits_children":true}"#,
    )
    .unwrap();
    let expected = NewJob {
        tenant: "t".to_owned(),
        event_id: Some("e".to_owned()),
        schema_version: Some("3".to_owned()),
        payload: json!({"a": [1, 2.5, "x"]}),
        available_at: Some(Timestamp::from_millis(1_796_008_062_500)),
        policy: "slow".to_owned(),
        parent: Some(ParentLink {
            key: "p".to_owned(),
            required: false,
        }),
        awaits_children: true,
        ..NewJob::new(Uuid::nil(), "q", "k", "i")
    };
    assert_eq!(job, expected);
}

#[test]
fn an_optional_key_may_be_null_and_a_child_is_required_unless_it_says_otherwise() {
    let job = read(&with(
        r#""tenant":null,"required":null,"available_at":null"#,
    ))
    .unwrap();
    assert_eq!(job, NewJob::new(Uuid::nil(), "q", "k", "i"));
    let child = read(&with(r#""parent_key":"p""#)).unwrap();
    assert!(child.parent.unwrap().required);
}

#[test]
fn a_mistake_names_its_key_and_what_is_allowed() {
    for (line, said) in [
        (
            r#"{"queue":"q","kind":"k"}"#.to_owned(),
            "'idempotency_key' is missing",
        ),
        (
            with(r#""quue":"x""#),
            "unknown key 'quue'; did you mean 'queue'?",
        ),
        (with(r#""queue":"x""#), "'queue' is there twice"),
        (
            with(r#""tenant":7"#),
            "'tenant' is a number; allowed: a text",
        ),
        (
            with(r#""schema_version":1.5"#),
            "'schema_version' is a number; allowed: a text or a whole number",
        ),
        (
            with(r#""available_at":"tomorrow""#),
            "'available_at' is 'tomorrow'; allowed: a moment in RFC 3339, such as \
             2026-11-30T03:07:42Z",
        ),
        (
            with(r#""required":true"#),
            "'required' says something about a parent, and there is no 'parent_key'",
        ),
        (
            r#"{"queue":"","kind":"k","idempotency_key":"i"}"#.to_owned(),
            "'queue' is empty",
        ),
        (
            r#"{"queue":null,"kind":"k","idempotency_key":"i"}"#.to_owned(),
            "'queue' is null; allowed: a text",
        ),
        (with(r#""policy":"""#), "'policy' is empty"),
    ] {
        assert_eq!(problem(&line), said, "{line}");
    }
    let far = problem(&with(r#""colour":"x""#));
    assert!(
        far.starts_with("unknown key 'colour'; known: 'queue', 'kind',"),
        "{far}"
    );
}

#[test]
fn what_is_no_job_says_where_and_why() {
    for (line, said) in [
        (
            r#"["queue"]"#,
            "not a JSON object; a job is written as \
             {\"queue\":…,\"kind\":…,\"idempotency_key\":…}",
        ),
        (
            r#"{"queue":"q""#,
            "not JSON at column 12: the line ends in the middle of a value",
        ),
        (
            r#"{"queue":"q"} {"#,
            "not JSON at column 15: something follows the job; one line holds one job",
        ),
        (
            "{'queue':'q'}",
            "not JSON at column 2: a key must be a text in double quotes",
        ),
        (
            r#"{"queue":"\ud800"}"#,
            "not JSON at column 17: an escape stands for no character",
        ),
        (
            r#"{"queue" "q"}"#,
            "not JSON at column 10: a value, a comma or a bracket is missing or out of place",
        ),
    ] {
        assert_eq!(problem(line), said, "{line}");
    }
}

#[test]
fn hostile_bytes_are_refused_by_place() {
    assert_eq!(
        job(b"{\"queue\":\"\xff\"}", Uuid::nil()),
        Err(LineProblem::NotUtf8 { byte: 11 })
    );
    assert_eq!(
        job(b"{\0}", Uuid::nil()),
        Err(LineProblem::NulByte { byte: 2 })
    );
    let escape = problem(&with("\"x\u{1b}[2J\":1"));
    assert!(!escape.contains('\u{1b}'), "{escape}");
    assert_eq!(
        problem(&with(r#""payload":{"a":"\u0000"}"#)),
        "'payload' holds a NUL character, which the ledger cannot keep"
    );
    let deep = with(&format!(
        r#""payload":{}{}"#,
        "[".repeat(100_000),
        "]".repeat(100_000)
    ));
    assert!(
        problem(&deep).ends_with("nested too deeply, at most 127 levels are read"),
        "{}",
        problem(&deep)
    );
}

#[test]
fn a_number_that_would_come_out_as_another_is_refused() {
    let line = with(r#""payload":{"id":123456789012345678901}"#);
    let said = problem(&line);
    assert!(
        said.starts_with("'payload' holds the number 1.234567890123456"),
        "{said}"
    );
    assert!(
        said.ends_with("which cannot be kept exactly; write it as text"),
        "{said}"
    );
    let largest = format!(r#""payload":{{"id":{},"x":0.1}}"#, u64::MAX);
    let kept = read(&with(&largest)).unwrap().payload;
    assert_eq!(
        kept.to_string(),
        format!(r#"{{"id":{},"x":0.1}}"#, u64::MAX)
    );
}

#[test]
fn a_fraction_is_kept_to_its_last_digit() {
    for number in [
        "31.245270191439438",
        "121.48791951161945",
        "-100.78399658203125",
    ] {
        let job = read(&with(&format!(r#""payload":{{"x":{number}}}"#))).unwrap();
        assert_eq!(job.payload.to_string(), format!(r#"{{"x":{number}}}"#));
    }
}

proptest! {
    #[test]
    fn any_bytes_are_survived(line in any::<Vec<u8>>()) {
        let _job = job(&line, Uuid::nil());
    }

    #[test]
    fn any_member_is_a_job_or_named(key in any::<String>(), value in any::<String>()) {
        let member = format!("{}:{}", Value::from(key), Value::from(value));
        let _job = read(&with(&member));
    }
}

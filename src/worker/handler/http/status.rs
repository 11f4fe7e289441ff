//! What the status of an answer means: the built-in table, which the config may overrule.

use crate::ledger::error_class::ErrorClass::{Permanent, Transient, Unknown};
use crate::ledger::meaning::{Meaning, Rule};

/// Statuses of RFC 9110, sections 15.2 to 15.6, and RFC 6585. What is not here is a failure of no
/// known class: it says as much about the worker's set-up as about the job (401, 403, 404), so it
/// is no reason to set the job aside at once.
pub const RULES: &[Rule] = &[
    Rule::run(200, 299, Meaning::Done, "success"),
    Rule::run(
        300,
        399,
        Meaning::failed(Unknown, "redirected"),
        "a redirect, which is never followed",
    ),
    Rule::one(400, Meaning::failed(Permanent, "malformed"), "bad request"),
    Rule::one(
        408,
        Meaning::failed(Transient, "timeout"),
        "request timeout",
    ),
    Rule::one(
        415,
        Meaning::failed(Permanent, "unsupported_format"),
        "unsupported media type",
    ),
    Rule::one(
        422,
        Meaning::failed(Permanent, "schema_violation"),
        "unprocessable content",
    ),
    Rule::one(
        429,
        Meaning::failed(Transient, "rate_limited"),
        "too many requests",
    ),
    Rule::run(
        502,
        503,
        Meaning::failed(Transient, "unavailable"),
        "bad gateway, service unavailable",
    ),
    Rule::one(
        504,
        Meaning::failed(Transient, "timeout"),
        "gateway timeout",
    ),
    Rule::run(
        500,
        599,
        Meaning::failed(Transient, "server_error"),
        "every other server error",
    ),
];

/// What it means when there is no answer; the config has no say in it.
pub const WITHOUT_AN_ANSWER: &[(&str, Meaning)] = &[
    (
        "the connection is refused",
        Meaning::failed(Transient, "connection_refused"),
    ),
    (
        "the connection breaks",
        Meaning::failed(Transient, "connection_lost"),
    ),
    (
        "no connection, or no answer, in time",
        Meaning::failed(Transient, "timeout"),
    ),
    (
        "the name leads nowhere, or TLS cannot be spoken",
        Meaning::failed(Transient, "unavailable"),
    ),
    (
        "the certificate is of no trusted authority, or not in force",
        Meaning::failed(Unknown, "certificate_untrusted"),
    ),
    (
        "the certificate is of another name",
        Meaning::failed(Unknown, "certificate_wrong_name"),
    ),
    (
        "the answer is not HTTP",
        Meaning::failed(Transient, "server_error"),
    ),
    (
        "the address is private, without --allow-private",
        Meaning::failed(Unknown, "address_refused"),
    ),
];

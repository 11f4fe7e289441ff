//! What the exit code of a command means: the built-in table, after sysexits.h, which the config
//! may overrule.

use crate::ledger::error_class::ErrorClass::{Permanent, Transient, Unknown};
use crate::ledger::meaning::{Meaning, Rule};

/// Exit codes of sysexits.h (4.3BSD), timeout(1), and of shells. What says that the command cannot
/// be run as it is (64, 72, 73, 77, 78, 126, 127) is true of every job alike, so it is no reason to
/// set one aside: it is retried within its budget while somebody mends the worker.
pub const RULES: &[Rule] = &[
    Rule::one(0, Meaning::Done, "success"),
    Rule::one(64, Meaning::failed(Unknown, "misconfigured"), "EX_USAGE"),
    Rule::one(65, Meaning::failed(Permanent, "malformed"), "EX_DATAERR"),
    Rule::run(
        66,
        68,
        Meaning::failed(Permanent, "not_found"),
        "EX_NOINPUT, EX_NOUSER, EX_NOHOST",
    ),
    Rule::one(
        69,
        Meaning::failed(Transient, "unavailable"),
        "EX_UNAVAILABLE",
    ),
    Rule::one(71, Meaning::failed(Transient, "unavailable"), "EX_OSERR"),
    Rule::run(
        72,
        73,
        Meaning::failed(Unknown, "misconfigured"),
        "EX_OSFILE, EX_CANTCREAT",
    ),
    Rule::run(
        74,
        75,
        Meaning::failed(Transient, "unavailable"),
        "EX_IOERR, EX_TEMPFAIL",
    ),
    Rule::one(
        76,
        Meaning::failed(Transient, "server_error"),
        "EX_PROTOCOL",
    ),
    Rule::run(
        77,
        78,
        Meaning::failed(Unknown, "misconfigured"),
        "EX_NOPERM, EX_CONFIG",
    ),
    Rule::one(
        124,
        Meaning::failed(Transient, "timeout"),
        "timeout(1) ended the command",
    ),
    Rule::run(
        126,
        127,
        Meaning::failed(Unknown, "misconfigured"),
        "the shell could not run it",
    ),
    Rule::run(
        129,
        192,
        Meaning::failed(Transient, "killed"),
        "the shell says: ended by signal N - 128",
    ),
];

/// What it means when there is no exit code; the config has no say in it.
pub const WITHOUT_A_CODE: &[(&str, Meaning)] = &[
    (
        "the command took longer than --timeout",
        Meaning::failed(Transient, "timeout"),
    ),
    (
        "the command was ended by a signal",
        Meaning::failed(Transient, "killed"),
    ),
    (
        "the command is not there or may not be run",
        Meaning::failed(Unknown, "misconfigured"),
    ),
    (
        "the system has no room for another process",
        Meaning::failed(Transient, "unavailable"),
    ),
];

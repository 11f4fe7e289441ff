//! The rules about files as text, whatever their language, and about SQL and Markdown.
//!
//! Next: `code.rs`, the rules about Rust.

use unicode_width::UnicodeWidthStr as _;

use crate::{File, Finding};

/// Columns of a line of Rust; rustfmt breaks code there, but neither strings nor comments.
const RUST_WIDTH: usize = 100;

/// Columns of a line of prose.
const PROSE_WIDTH: usize = 140;

/// Lines fit beside another window.
pub(crate) fn lines_fit(file: &File) -> Vec<Finding> {
    let width = match file.extension() {
        "rs" => RUST_WIDTH,
        "md" => PROSE_WIDTH,
        _other_kind => return Vec::new(),
    };
    let prose = file.is("md");
    let mut fenced = false;
    let mut findings = Vec::new();
    for (number, line) in file.lines() {
        fenced ^= prose && line.trim_start().starts_with("```");
        // Markdown cannot break a table's row, and a captured screen is as wide as it is; an
        // address cannot be broken anywhere.
        let free = line.contains("://") || (prose && (fenced || line.starts_with('|')));
        if line.width() > width && !free {
            let text = format!("{} columns, at most {width}", line.width());
            findings.push(file.finding(number, "line width", text));
        }
    }
    findings
}

/// No tabs, no blanks at the end of a line, one line end at the end of the file.
pub(crate) fn blanks_are_clean(file: &File) -> Vec<Finding> {
    // A snapshot is what the program drew, blanks and all.
    if file.is("snap") {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for (number, line) in file.lines() {
        if line.contains('\t') {
            findings.push(file.finding(
                number,
                "blanks",
                "a tab; use spaces, or '\\t' in a string",
            ));
        }
        if line.ends_with([' ', '\r']) {
            findings.push(file.finding(number, "blanks", "blanks at the end of the line"));
        }
    }
    let ends_well = file.text.ends_with('\n') && !file.text.ends_with("\n\n");
    if !ends_well && !file.text.is_empty() {
        let last = file.text.lines().count();
        findings.push(file.finding(last, "blanks", "end the file with one line end"));
    }
    findings
}

/// What is left to do is an issue, and a note in the code names it.
pub(crate) fn notes_name_their_issue(file: &File) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (number, line) in file.lines() {
        for word in [concat!("FIX", "ME"), concat!("XX", "X")] {
            if has_word(line, word) {
                let text = format!("'{word}': mend it before it lands");
                findings.push(file.finding(number, "notes", text));
            }
        }
        let note = concat!("TO", "DO");
        let linked = line
            .split_once(note)
            .is_some_and(|(_, tail)| tail.starts_with("(#"));
        if has_word(line, note) && !linked {
            let text = format!("write '{note}(#12)', with the number of its issue, or do it");
            findings.push(file.finding(number, "notes", text));
        }
    }
    findings
}

/// Nothing that is true of one machine only: directories of a person or a workplace, and the hosts
/// of package registries.
pub(crate) fn no_machine_is_named(file: &File) -> Vec<Finding> {
    let places = [
        concat!("/wo", "rk/"),
        concat!("/ro", "ot/"),
        concat!("/ho", "me/"),
    ];
    let hosts = [
        concat!("index.", "crates.io"),
        concat!("static.", "crates.io"),
        concat!("registry.", "npmjs.org"),
        concat!("deb.", "debian.org"),
        concat!("pypi.", "org"),
    ];
    let mut findings = Vec::new();
    for (number, line) in file.lines() {
        for name in places.iter().chain(&hosts) {
            if line.contains(name) {
                let text = format!("'{name}' is true of some machine only");
                findings.push(file.finding(number, "machine", text));
            }
        }
    }
    findings
}

/// Every dependency comes from crates.io under its public name, not from some machine's mirror.
pub(crate) fn dependencies_come_from_crates_io(file: &File) -> Vec<Finding> {
    if file.path != "Cargo.lock" {
        return Vec::new();
    }
    let expected = r#"source = "registry+https://github.com/rust-lang/crates.io-index""#;
    let foreign = |line: &str| line.starts_with("source = ") && line != expected;
    let text = "not from crates.io; remove the local registry's settings and lock again";
    let hits = file.lines().filter(|(_, line)| foreign(line));
    hits.map(|(number, _)| file.finding(number, "registry", text))
        .collect()
}

/// A statement says its purpose, index and lock; a migration says its cost on a large table.
pub(crate) fn sql_says_what_it_costs(file: &File) -> Vec<Finding> {
    if !file.is("sql") || !file.path.starts_with("assets/") {
        return Vec::new();
    }
    let mut findings = Vec::new();
    if !file.text.starts_with("--") {
        let text = "begin with a '--' header: purpose, index, lock";
        findings.push(file.finding(1, "sql header", text));
    }
    let costs = file.lines().any(|(_, line)| line.starts_with("-- Cost:"));
    if file.path.starts_with("assets/migrations/") && !costs {
        let text = "say the cost on a large table in a line that begins '-- Cost:'";
        findings.push(file.finding(1, "sql header", text));
    }
    findings
}

/// SQLite plans a statement anew, its triggers included, whenever a parameter is bound that stands
/// alone behind LIMIT (3.51: sqlite3ExprIsInteger looks at its value): 0.4 ms for each claim,
/// against 0.5 ms for all the rest of it.
pub(crate) fn sqlite_limits_are_expressions(file: &File) -> Vec<Finding> {
    if !file.is("sql") || file.path.contains("/postgres/") {
        return Vec::new();
    }
    let text = "write 'LIMIT ?1 + 0', or SQLite plans the statement anew at each call";
    let bare = |line: &str| {
        line.split_once("LIMIT ?").is_some_and(|(_, rest)| {
            !rest
                .trim_start_matches(|each: char| each.is_ascii_digit())
                .starts_with(" + 0")
        })
    };
    file.lines()
        .filter(|(_, line)| bare(line))
        .map(|(number, _)| file.finding(number, "sqlite limit", text))
        .collect()
}

/// Whether the word stands there by itself.
fn has_word(line: &str, word: &str) -> bool {
    let is_part = |next: char| next.is_alphanumeric() || next == '_';
    line.match_indices(word).any(|(at, _)| {
        let before = line.get(..at).unwrap_or_default();
        let behind = line.get(at + word.len()..).unwrap_or_default();
        !before.ends_with(is_part) && !behind.starts_with(is_part)
    })
}

mod tests {
    use super::{
        blanks_are_clean, dependencies_come_from_crates_io, lines_fit, no_machine_is_named,
        notes_name_their_issue, sql_says_what_it_costs, sqlite_limits_are_expressions,
    };
    use crate::{File, Finding};

    fn found(rule: fn(&File) -> Vec<Finding>, path: &str, text: &str) -> usize {
        rule(&File::new(path, text)).len()
    }

    #[test]
    fn a_wide_line_is_found_by_its_columns() {
        assert_eq!(found(lines_fit, "src/a.rs", &"x".repeat(101)), 1);
        assert_eq!(found(lines_fit, "src/a.rs", &"語".repeat(51)), 1);
        assert_eq!(found(lines_fit, "src/a.rs", &"é".repeat(100)), 0);
        assert_eq!(found(lines_fit, "a.md", &"x".repeat(141)), 1);
        assert_eq!(
            found(lines_fit, "a.md", &format!("| {}", "x".repeat(141))),
            0
        );
        let captured = format!("```\n{}\n```\n{}", "x".repeat(160), "x".repeat(141));
        assert_eq!(found(lines_fit, "a.md", &captured), 1);
        assert_eq!(found(lines_fit, "a.toml", &"x".repeat(200)), 0);
    }

    #[test]
    fn stray_blanks_are_found() {
        assert_eq!(
            found(blanks_are_clean, "a.toml", "a\t= 1\nb = 2 \nc\r\n"),
            3
        );
        assert_eq!(found(blanks_are_clean, "a.toml", "a"), 1);
        assert_eq!(found(blanks_are_clean, "a.toml", "a\n\n"), 1);
        assert_eq!(found(blanks_are_clean, "a.toml", "a\n\nb\n"), 0);
        assert_eq!(found(blanks_are_clean, "a.snap", "a "), 0);
    }

    #[test]
    fn notes_without_an_issue_are_found() {
        let note = concat!("TO", "DO");
        assert_eq!(
            found(notes_name_their_issue, "a.sql", concat!("-- FIX", "ME: a")),
            1
        );
        assert_eq!(
            found(notes_name_their_issue, "a.sql", concat!("-- XX", "X")),
            1
        );
        assert_eq!(
            found(notes_name_their_issue, "a.sql", &format!("-- {note}: a")),
            1
        );
        assert_eq!(
            found(
                notes_name_their_issue,
                "a.sql",
                &format!("-- {note}(#12): a")
            ),
            0
        );
        assert_eq!(
            found(
                notes_name_their_issue,
                "a.sh",
                concat!("mktemp -d a.XX", "XXXX")
            ),
            0
        );
    }

    #[test]
    fn places_of_one_machine_are_found() {
        assert_eq!(
            found(no_machine_is_named, "a.md", concat!("cd /ho", "me/someone")),
            1
        );
        assert_eq!(
            found(
                no_machine_is_named,
                "a.toml",
                concat!("index.", "crates.io")
            ),
            1
        );
        assert_eq!(
            found(no_machine_is_named, "a.md", "on crates.io, under /var/lib"),
            0
        );
    }

    #[test]
    fn a_dependency_from_a_mirror_is_found() {
        let official = "source = \"registry+https://github.com/rust-lang/crates.io-index\"\n";
        assert_eq!(
            found(dependencies_come_from_crates_io, "Cargo.lock", official),
            0
        );
        let mirror = "source = \"registry+http://127.0.0.1/index\"\n";
        assert_eq!(
            found(dependencies_come_from_crates_io, "Cargo.lock", mirror),
            1
        );
    }

    #[test]
    fn sql_without_its_header_is_found() {
        let path = "assets/migrations/sqlite/0001_a.sql";
        assert_eq!(found(sql_says_what_it_costs, path, "CREATE TABLE a ();"), 2);
        assert_eq!(
            found(
                sql_says_what_it_costs,
                path,
                "-- Makes a.\n-- Cost: none.\n"
            ),
            0
        );
        assert_eq!(
            found(
                sql_says_what_it_costs,
                "assets/sql/a.sql",
                "-- Reads a.\nSELECT 1"
            ),
            0
        );
        assert_eq!(found(sql_says_what_it_costs, "tests/a.sql", "SELECT 1"), 0);
    }

    #[test]
    fn a_bare_limit_parameter_is_found() {
        let path = "assets/sql/sqlite/a.sql";
        let found = |text| found(sqlite_limits_are_expressions, path, text);
        assert_eq!(found("ORDER BY id LIMIT ?2)"), 1);
        assert_eq!(found("LIMIT ?12"), 1);
        assert_eq!(found("LIMIT ?2 + 0)\nLIMIT 1"), 0);
    }
}

//! The style that can be checked is checked here, on every file that git knows or would add.
//!
//! Owns the rules that neither the compiler, clippy nor rustfmt holds. One test a rule; a rule is a
//! function from a file to its findings, and is itself tested on small bad files beside it. What
//! was written by others (the licences) is left alone. The walk: `text.rs`, `code.rs` over
//! `source.rs`, `directions.rs`.

use std::fmt;
use std::path::Path;
use std::process::Command;

#[path = "tidy/code.rs"]
mod code;
#[path = "tidy/directions.rs"]
mod directions;
#[path = "tidy/source.rs"]
mod source;
#[path = "tidy/text.rs"]
mod text;

/// A file of the repository, named from its top.
pub(crate) struct File {
    pub(crate) path: String,
    pub(crate) text: String,
}

impl File {
    pub(crate) fn new(path: &str, text: &str) -> Self {
        Self {
            path: path.to_owned(),
            text: text.to_owned(),
        }
    }

    pub(crate) fn extension(&self) -> &str {
        self.path
            .rsplit_once('.')
            .map_or("", |(_, extension)| extension)
    }

    pub(crate) fn is(&self, extension: &str) -> bool {
        self.extension() == extension
    }

    /// The lines with their numbers, from 1; a carriage return stays.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        (1..).zip(self.text.split('\n'))
    }

    pub(crate) fn finding(
        &self,
        line: usize,
        rule: &'static str,
        text: impl Into<String>,
    ) -> Finding {
        Finding {
            path: self.path.clone(),
            line,
            rule,
            text: text.into(),
        }
    }
}

/// One place that breaks a rule, and what to do there.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    path: String,
    line: usize,
    rule: &'static str,
    text: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}:{}: {}: {}",
            self.path, self.line, self.rule, self.text
        )
    }
}

/// Every text file that is tracked, or would be by `git add --all`.
#[expect(clippy::expect_used, reason = "without git there is nothing to check")]
fn repository() -> Vec<File> {
    let top = Path::new(env!("CARGO_MANIFEST_DIR"));
    let listed = Command::new("git")
        .args([
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ])
        .current_dir(top)
        .output()
        .expect("git is installed");
    let said = String::from_utf8_lossy(&listed.stderr);
    assert!(
        listed.status.success(),
        "git could not list the files of the project: {said}"
    );
    let paths = String::from_utf8(listed.stdout).expect("paths are UTF-8");
    let files: Vec<File> = paths
        .split('\0')
        .filter(|path| !path.is_empty() && !path.starts_with("LICENSE-"))
        // A file that is deleted and not yet committed is listed but gone; pictures are no text.
        .filter_map(|path| {
            Some(File::new(
                path,
                &std::fs::read_to_string(top.join(path)).ok()?,
            ))
        })
        .collect();
    assert!(
        files.iter().any(|file| file.path == "src/lib.rs"),
        "the files of another project"
    );
    files
}

/// Fails with every finding of the rule on the whole repository.
#[track_caller]
fn holds(rule: fn(&File) -> Vec<Finding>) {
    let findings: Vec<String> = repository()
        .iter()
        .flat_map(rule)
        .map(|finding| finding.to_string())
        .collect();
    assert!(
        findings.is_empty(),
        "{} to mend:\n{}",
        findings.len(),
        findings.join("\n")
    );
}

#[test]
fn modules_name_only_what_lies_below_them() {
    holds(directions::modules_look_down);
}

#[test]
fn drivers_are_named_in_their_own_module_only() {
    holds(directions::guarded_crates_stay_home);
}

#[test]
fn files_keep_to_the_ceiling() {
    holds(code::files_are_short);
}

#[test]
fn modules_are_named_after_what_they_hold() {
    holds(code::modules_have_names);
}

#[test]
fn source_files_open_with_what_they_own() {
    holds(code::source_files_open_with_their_docs);
}

#[test]
fn tests_are_named_as_sentences() {
    holds(code::tests_are_sentences);
}

#[test]
fn comments_hold_no_code() {
    holds(code::no_code_in_comments);
}

#[test]
fn lines_fit_their_width() {
    holds(text::lines_fit);
}

#[test]
fn files_hold_no_stray_blanks() {
    holds(text::blanks_are_clean);
}

#[test]
fn open_ends_name_their_issue() {
    holds(text::notes_name_their_issue);
}

#[test]
fn no_file_names_a_machine() {
    holds(text::no_machine_is_named);
}

#[test]
fn dependencies_are_locked_to_crates_io() {
    holds(text::dependencies_come_from_crates_io);
}

#[test]
fn sql_files_say_their_purpose_and_cost() {
    holds(text::sql_says_what_it_costs);
}

#[test]
fn sqlite_need_not_plan_a_statement_twice() {
    holds(text::sqlite_limits_are_expressions);
}

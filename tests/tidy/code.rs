//! The rules about Rust files that clippy and rustfmt do not hold.
//!
//! Next: `directions.rs`, the rule about who may know whom.

use crate::source::lines;
use crate::{File, Finding};

/// Lines of code in one file; about 400 is usual.
const CEILING: usize = 600;

/// Files that may pass the ceiling, and why. An entry that is no longer needed is refused.
const LONG_FILES: &[(&str, &str)] = &[];

/// A file is short enough to be read in one sitting.
pub(crate) fn files_are_short(file: &File) -> Vec<Finding> {
    if !file.is("rs") {
        return Vec::new();
    }
    let count = lines(&file.text)
        .iter()
        .filter(|line| !line.code.trim().is_empty())
        .count();
    let listed = LONG_FILES.iter().any(|(path, _reason)| *path == file.path);
    let text = match (count > CEILING, listed) {
        (true, false) => format!("{count} lines of code, at most {CEILING}: split it"),
        (false, true) => "no longer long: take it off the list of long files".to_owned(),
        (true, true) | (false, false) => return Vec::new(),
    };
    vec![file.finding(1, "file length", text)]
}

/// A module is named after what it holds: `foo.rs` beside `foo/`, no `mod.rs`.
pub(crate) fn modules_have_names(file: &File) -> Vec<Finding> {
    let unnamed = file.path == "mod.rs" || file.path.ends_with("/mod.rs");
    let text = "name the file after the module: foo.rs beside foo/";
    unnamed
        .then(|| file.finding(1, "no mod.rs", text))
        .into_iter()
        .collect()
}

/// Each source file opens with what it owns.
pub(crate) fn source_files_open_with_their_docs(file: &File) -> Vec<Finding> {
    if !file.is("rs") || file.text.starts_with("//! ") {
        return Vec::new();
    }
    let text = "begin with '//! ', what this file owns and what it must not know";
    vec![file.finding(1, "module docs", text)]
}

/// Tests are named as sentences.
pub(crate) fn tests_are_sentences(file: &File) -> Vec<Finding> {
    if !file.is("rs") {
        return Vec::new();
    }
    let refused = |(_, line): &(usize, crate::source::Line)| line.code.contains("fn test_");
    let text = "name a test as a sentence of behaviour, without 'test_'";
    let hits = lines(&file.text).into_iter().enumerate().filter(refused);
    hits.map(|(index, _)| file.finding(index + 1, "test name", text))
        .collect()
}

/// Code that is not used is removed, not commented out.
pub(crate) fn no_code_in_comments(file: &File) -> Vec<Finding> {
    if !file.is("rs") {
        return Vec::new();
    }
    let text = "code in a comment: remove it, or say it in words";
    let hits = lines(&file.text)
        .into_iter()
        .enumerate()
        .filter(|(_, line)| is_code(&line.comment));
    hits.map(|(index, _)| file.finding(index + 1, "dead code", text))
        .collect()
}

/// Whether a plain comment reads as a statement. Prose may end in `;`, but not behind a call or an
/// assignment; doc comments hold examples and are compiled as such.
fn is_code(comment: &str) -> bool {
    let Some(body) = comment.strip_prefix("//") else {
        return false;
    };
    if body.starts_with('/') || body.starts_with('!') {
        return false;
    }
    let body = body.trim();
    let opens = body.ends_with('{') || matches!(body, "}" | "};" | "})" | "});");
    let statement = body.strip_suffix(';').is_some_and(|body| {
        let starts = ["let ", "use ", "return ", "pub ", "mod ", "const "];
        starts.iter().any(|start| body.starts_with(start))
            || [" = ", "::"].iter().any(|sign| body.contains(sign))
            || (body.ends_with(')') && !body.contains(' '))
    });
    opens || statement
}

mod tests {
    use super::{
        files_are_short, is_code, modules_have_names, no_code_in_comments,
        source_files_open_with_their_docs, tests_are_sentences,
    };
    use crate::File;

    #[test]
    fn a_long_file_is_found_and_comments_do_not_count() {
        let long = File::new("src/a.rs", &"a();\n".repeat(601));
        assert_eq!(files_are_short(&long).len(), 1);
        let wordy = File::new("src/a.rs", &"// a\n\na();\n".repeat(600));
        assert!(files_are_short(&wordy).is_empty());
    }

    #[test]
    fn a_module_file_without_a_name_is_found() {
        assert_eq!(
            modules_have_names(&File::new("tests/support/mod.rs", "")).len(),
            1
        );
        assert!(modules_have_names(&File::new("src/cli/demod.rs", "")).is_empty());
    }

    #[test]
    fn a_file_without_docs_is_found() {
        let found = |path, text| source_files_open_with_their_docs(&File::new(path, text)).len();
        assert_eq!(found("src/a.rs", "use std::fs;\n//! Late."), 1);
        assert_eq!(found("src/a.rs", "//! Owns a.\n"), 0);
        assert_eq!(found("assets/a.sql", "SELECT 1;"), 0);
    }

    #[test]
    fn a_prefixed_test_is_found() {
        let found = tests_are_sentences(&File::new("tests/a.rs", "\nfn test_it() {}\nfn a() {}"));
        let shown: Vec<_> = found.iter().map(ToString::to_string).collect();
        let expected =
            "tests/a.rs:2: test name: name a test as a sentence of behaviour, without 'test_'";
        assert_eq!(shown, [expected]);
    }

    #[test]
    fn commented_code_is_told_from_prose() {
        for code in [
            "// let x = 1;",
            "// if a {",
            "//foo(1);",
            "// }",
            "// a.b = c;",
            "// a::b(c);",
        ] {
            assert!(is_code(code), "'{code}'");
        }
        let prose = [
            "// it waits;",
            "// is refused (see RFC 1);",
            "/// let x = 1;",
            "//! a {",
            "// a",
        ];
        for prose in prose {
            assert!(!is_code(prose), "'{prose}'");
        }
        let file = File::new("src/a.rs", "a(); // b();\n\"// let x = 1;\"");
        assert_eq!(no_code_in_comments(&file).len(), 1);
    }
}

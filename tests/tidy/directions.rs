//! Which module may name which: section 3 of the design, as a table.
//!
//! Owns finding the modules of ours, and the guarded crates, that a file under `src/` names. Next:
//! `text.rs`, the rules about files as text.

use crate::source::lines;
use crate::{File, Finding};

/// Each module and the modules it may name, besides itself. What is not listed may not be named.
const MAY_NAME: &[(&str, &[&str])] = &[
    ("ledger", &[]),
    ("board", &["ledger"]),
    ("verify", &["ledger"]),
    ("store", &["board", "ledger"]),
    ("transport", &["ledger", "store"]),
    ("operate", &["ledger", "store"]),
    ("worker", &["ledger", "store", "transport"]),
    ("intake", &["ledger", "store", "transport"]),
    ("config", &["board", "ledger"]),
    ("console", &["board", "ledger", "operate", "store"]),
    (
        "demo",
        &["board", "config", "ledger", "operate", "store", "worker"],
    ),
];

/// Modules on top of all others: they may name every one, and no other may name them.
const TOP: &[&str] = &["cli", "lib", "main"];

/// Crates that only one module may name, and that module.
const GUARDED: &[(&str, &str)] = &[
    ("sqlx", "store"),
    ("ratatui", "console"),
    ("crossterm", "console"),
];

/// Modules name only what lies below them.
pub(crate) fn modules_look_down(file: &File) -> Vec<Finding> {
    let Some(module) = module(&file.path) else {
        return Vec::new();
    };
    if TOP.contains(&module) {
        return Vec::new();
    }
    let Some((_, allowed)) = MAY_NAME.iter().find(|(name, _)| *name == module) else {
        let text = format!("'{module}' is not in the table of tests/tidy/directions.rs; add it");
        return vec![file.finding(1, "direction", text)];
    };
    let mut findings = Vec::new();
    for (line, named) in named_modules(file) {
        if named != module && !allowed.contains(&named.as_str()) {
            let text = format!("'{module}' may not know '{named}' (design, section 3)");
            findings.push(file.finding(line, "direction", text));
        }
    }
    findings
}

/// The database driver stays in the store, the terminal in the console.
pub(crate) fn guarded_crates_stay_home(file: &File) -> Vec<Finding> {
    let Some(module) = module(&file.path) else {
        return Vec::new();
    };
    let mut findings = Vec::new();
    for (index, line) in lines(&file.text).iter().enumerate() {
        for (name, home) in GUARDED {
            if module != *home && words(&line.code).any(|(_, word)| word == *name) {
                let text = format!("only 'src/{home}' may name '{name}'");
                findings.push(file.finding(index + 1, "guarded crate", text));
            }
        }
    }
    findings
}

/// The top-level module that a file belongs to.
fn module(path: &str) -> Option<&str> {
    let inside = path.strip_prefix("src/")?.strip_suffix(".rs")?;
    Some(inside.split('/').next().unwrap_or(inside))
}

/// Every top-level module of ours that the file names by a path, with its line.
fn named_modules(file: &File) -> Vec<(usize, String)> {
    let code: Vec<String> = lines(&file.text)
        .into_iter()
        .map(|line| line.code)
        .collect();
    let code = code.join("\n");
    let depth = file.path.matches('/').count();
    let mut found = Vec::new();
    for (start, word) in words(&code) {
        let root = match word {
            "crate" | "ledgertop" => 1,
            // As many steps up as the file lies deep: in a nested test module that is one step
            // short of the root, and then what follows is no top-level module's name.
            "super" => depth,
            _other_word => continue,
        };
        let path = code.get(start..).unwrap_or_default();
        let Some(tail) = behind(path, word, root) else {
            continue;
        };
        let line = code.get(..start).unwrap_or_default().matches('\n').count() + 1;
        found.extend(
            first_names(tail)
                .into_iter()
                .filter(|name| is_ours(name))
                .map(|n| (line, n)),
        );
    }
    found
}

fn is_ours(name: &str) -> bool {
    TOP.contains(&name) || MAY_NAME.iter().any(|(module, _)| *module == name)
}

/// What follows `word::` repeated `times`, or nothing when the path is another one.
fn behind<'a>(path: &'a str, word: &str, times: usize) -> Option<&'a str> {
    let mut rest = path;
    for _ in 0..times {
        rest = rest.strip_prefix(word)?.strip_prefix("::")?;
    }
    Some(rest)
}

/// The first names of a path or of each branch of a group: `{a::{b, c}, d}` gives `a` and `d`.
fn first_names(tail: &str) -> Vec<String> {
    let name = |text: &str| {
        words(text.trim_start())
            .next()
            .map(|(_, word)| word.to_owned())
    };
    let Some(group) = tail.strip_prefix('{') else {
        return name(tail).into_iter().collect();
    };
    let mut depth = 0_usize;
    let mut names = Vec::from_iter(name(group));
    for (at, next) in group.char_indices() {
        match next {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                let branch = group.get(at + 1..).unwrap_or_default().trim_start();
                if !branch.starts_with('}') {
                    names.extend(name(branch));
                }
            }
            _inside_a_name => {}
        }
    }
    names
}

/// The names and keywords of a text, each with its place.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_part = |next: char| next.is_alphanumeric() || next == '_';
    let mut from = 0;
    std::iter::from_fn(move || {
        let start = from + text.get(from..)?.find(is_part)?;
        let tail = text.get(start..)?;
        let length = tail.find(|next| !is_part(next)).unwrap_or(tail.len());
        from = start + length;
        Some((start, tail.get(..length)?))
    })
}

mod tests {
    use super::{guarded_crates_stay_home, modules_look_down};
    use crate::File;

    fn broken(path: &str, text: &str) -> Vec<String> {
        modules_look_down(&File::new(path, text))
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn a_path_up_is_found_in_each_form() {
        let expected =
            ["src/board.rs:2: direction: 'board' may not know 'store' (design, section 3)"];
        assert_eq!(
            broken("src/board.rs", "\nuse crate::store::Store;"),
            expected
        );
        assert_eq!(
            broken("src/board.rs", "\nlet x = crate::store::open();"),
            expected
        );
        assert_eq!(
            broken(
                "src/board.rs",
                "\nuse crate::{\n ledger::{a, b},\n store,\n};"
            ),
            expected
        );
        assert_eq!(broken("src/board.rs", "\nuse super::store;"), expected);
        assert_eq!(broken("src/board.rs", "\nuse ledgertop::store;"), expected);
        assert_eq!(broken("src/board/x.rs", "use super::super::cli;").len(), 1);
    }

    #[test]
    fn a_path_down_or_inside_is_free() {
        assert!(
            broken(
                "src/board.rs",
                "use crate::ledger::Job; use crate::board::x;"
            )
            .is_empty()
        );
        assert!(broken("src/board/ages.rs", "use super::store; // crate::store").is_empty());
        assert!(broken("src/cli/demo.rs", "use crate::{console, worker};").is_empty());
        assert!(broken("tests/journey.rs", "use ledgertop::console;").is_empty());
    }

    #[test]
    fn console_and_worker_never_meet() {
        assert_eq!(broken("src/console.rs", "use crate::worker;").len(), 1);
        assert_eq!(
            broken("src/worker/lease.rs", "use crate::console;").len(),
            1
        );
    }

    #[test]
    fn a_module_without_a_place_in_the_table_is_refused() {
        assert_eq!(broken("src/misc.rs", "").len(), 1);
    }

    #[test]
    fn a_driver_outside_its_module_is_found() {
        let found = |path, text| guarded_crates_stay_home(&File::new(path, text)).len();
        assert_eq!(
            found(
                "src/worker.rs",
                "use sqlx::Row;\nfn f() { ratatui::init(); }"
            ),
            2
        );
        assert_eq!(found("src/main.rs", "fn f(e: sqlx::Error) {}"), 1);
        assert_eq!(found("src/store/feed.rs", "use sqlx::Row;"), 0);
        assert_eq!(found("src/worker.rs", "// not sqlx\nlet sqlx_free = 1;"), 0);
    }
}

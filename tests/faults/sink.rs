//! Where effects go that are not the ledger's: a directory that all handlers share.
//!
//! Every call is a line of an append-only file, whether it changes anything or not. An effect is a
//! file named by its key, made only if it is not there: what a table with a unique key would be. So
//! calls are counted apart from applied effects, by the file system and by none of our code. Next:
//! the scenarios.

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::Path;

use tempfile::TempDir;

/// A sink; it goes with the value.
pub(crate) struct Sink(TempDir);

/// One call of a handler.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) key: String,
    pub(crate) fence: u32,
}

impl Sink {
    pub(crate) fn new() -> Self {
        let place = tempfile::tempdir().expect("a directory");
        for folder in ["applied", "mended", "kill_before", "kill_after"] {
            fs::create_dir(place.path().join(folder)).expect("a directory");
        }
        fs::write(place.path().join("calls"), "").expect("a file");
        Self(place)
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Puts a mark that handlers look for, e.g. `mended/KEY`.
    pub(crate) fn mark(&self, folder: &str, key: &str) {
        fs::write(self.0.path().join(folder).join(key), "").expect("a mark");
    }

    pub(crate) fn is_marked(&self, folder: &str, key: &str) -> bool {
        self.0.path().join(folder).join(key).exists()
    }

    /// A call from a handler in this process.
    pub(crate) fn call(&self, key: &str, fence: &str) {
        let line = format!("{key} {fence}\n");
        OpenOptions::new()
            .append(true)
            .open(self.0.path().join("calls"))
            .and_then(|mut calls| calls.write_all(line.as_bytes()))
            .expect("a line");
        // Whether the effect was there already is all the same to the caller.
        drop(fs::File::create_new(
            self.0.path().join("applied").join(key),
        ));
    }

    /// A command that calls, for `--exec`: it waits `seconds`, then makes the effect. A key that
    /// begins with `reject` fails for good until it is mended. Marks in `kill_before` and
    /// `kill_after` make it kill its worker at that point, once.
    pub(crate) fn command(&self, seconds: f64) -> String {
        let place = self.0.path().display();
        let script = format!(
            "cd {place}; k=$LEDGERTOP_IDEMPOTENCY_KEY; \
             die() {{ [ -e $1/$k ] && rm $1/$k 2>/dev/null && kill -9 $PPID; }}; \
             sleep {seconds}; \
             case $k in reject*) [ -e mended/$k ] || exit 65;; esac; \
             die kill_before; \
             echo $k $LEDGERTOP_FENCE >> calls; \
             (set -C; : > applied/$k) 2>/dev/null; \
             die kill_after; \
             echo output_of_$k"
        );
        format!("sh -c '{script}'")
    }

    /// Every call so far, in order.
    pub(crate) fn calls(&self) -> Vec<Call> {
        let text = fs::read_to_string(self.0.path().join("calls")).expect("the calls");
        let call = |line: &str| {
            let (key, fence) = line.split_once(' ').expect("key and fence");
            Call {
                key: key.to_owned(),
                fence: fence.parse().expect("a number"),
            }
        };
        text.lines().map(call).collect()
    }

    /// The keys whose effect was applied.
    pub(crate) fn applied(&self) -> BTreeSet<String> {
        let files = fs::read_dir(self.0.path().join("applied")).expect("the effects");
        let name = |file: std::io::Result<fs::DirEntry>| {
            let file = file.expect("an effect");
            file.file_name().to_string_lossy().into_owned()
        };
        files.map(name).collect()
    }
}

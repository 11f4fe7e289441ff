//! Running the real program in a home directory of its own, with no variables but those given.

use std::ffi::OsString;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use tempfile::TempDir;

/// How to run the program.
pub(crate) struct Program {
    home: TempDir,
    variables: Vec<(&'static str, OsString)>,
}

/// What it said and how it ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) messages: String,
}

impl Program {
    pub(crate) fn new() -> Self {
        Self {
            home: tempfile::tempdir().unwrap(),
            variables: Vec::new(),
        }
    }

    pub(crate) fn variable(mut self, name: &'static str, value: impl Into<OsString>) -> Self {
        self.variables.push((name, value.into()));
        self
    }

    /// Puts this config at its default place.
    pub(crate) fn config(self, text: &str) -> Self {
        let path = self.config_path();
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    pub(crate) fn config_path(&self) -> PathBuf {
        self.home.path().join(".config/ledgertop/config.toml")
    }

    pub(crate) fn directory(&self) -> &Path {
        self.home.path()
    }

    /// The program without arguments, in this home and with these variables.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ledgertop"));
        command
            .env_clear()
            .env("HOME", self.home.path())
            .envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        self.run_with(arguments, b"")
    }

    /// Runs it with this on its standard input.
    pub(crate) fn run_with(&self, arguments: &[&str], input: &[u8]) -> Ran {
        let mut child = self
            .command()
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = input.to_vec();
        // Beside the reading of its output, so that neither side waits for the other. A program
        // that ends early closes the pipe, which is no matter here.
        let writer = thread::spawn(move || drop(stdin.write_all(&input)));
        let ended = child.wait_with_output().unwrap();
        writer.join().unwrap();
        Ran {
            code: ended.status.code().unwrap(),
            out: String::from_utf8(ended.stdout).unwrap(),
            messages: String::from_utf8(ended.stderr).unwrap(),
        }
    }
}

//! The `ledgertop` program: hands arguments, environment and streams to the command line, and its
//! answer to the shell. What a command does is in `ledgertop::cli`.

use std::io;
use std::process::ExitCode;

use ledgertop::cli::{self, Streams};
use ledgertop::config::Environment;

fn main() -> ExitCode {
    let mut out = io::BufWriter::new(io::stdout());
    let mut messages = io::stderr();
    let mut streams = Streams {
        out: &mut out,
        messages: &mut messages,
    };
    let exit = cli::main(
        std::env::args_os(),
        &Environment::of_this_process(),
        &mut streams,
    );
    ExitCode::from(exit.code())
}

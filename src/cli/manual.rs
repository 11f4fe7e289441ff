//! `ledgertop completions` and `ledgertop man`: what the one definition of flags gives besides the
//! parser.

use std::io::{self, Write};

use clap::Args;
use clap_complete::Shell;

use super::CliError;

/// Flags of `completions`.
#[derive(Debug, Args)]
pub struct CompletionsFlags {
    /// For which shell
    shell: Shell,
}

/// Prints completions for a shell.
///
/// # Errors
/// Where the output cannot be written.
pub(super) fn completions(
    flags: &CompletionsFlags,
    mut command: clap::Command,
    out: &mut dyn Write,
) -> Result<(), CliError> {
    // The generator panics where its writer fails; memory does not.
    let mut text = Vec::new();
    clap_complete::generate(flags.shell, &mut command, "ledgertop", &mut text);
    out.write_all(&text).map_err(CliError::Output)
}

/// Prints the manual page: the program's, then each command's.
///
/// # Errors
/// Where the output cannot be written.
pub(super) fn page(mut command: clap::Command, out: &mut dyn Write) -> Result<(), CliError> {
    command.build();
    write_pages(&command, out).map_err(CliError::Output)
}

fn write_pages(command: &clap::Command, out: &mut dyn Write) -> io::Result<()> {
    clap_mangen::Man::new(command.clone()).render(out)?;
    for each in command.get_subcommands() {
        if each.get_name() != "help" {
            clap_mangen::Man::new(each.clone()).render(out)?;
        }
    }
    Ok(())
}

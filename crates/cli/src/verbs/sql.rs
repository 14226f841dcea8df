//! `tracewright sql`

use std::io::ErrorKind;
use std::path::PathBuf;
use std::process::Command;

use tracewright::decode::Severity;

use crate::args::SqlArgs;
use crate::fail::Fail;
use crate::message;

/// The program that answers queries. It is one of its own, as it has far more dependencies.
const PROGRAM: &str = "tracewright-sql";

/// Runs the program beside this one, or the one that the system finds.
pub fn run(args: &SqlArgs) -> Result<bool, Fail> {
    let program = beside().map_or_else(|| PROGRAM.into(), PathBuf::into_os_string);
    let mut command = Command::new(&program);
    if !message::prints(Severity::Warning) {
        command.arg("--quiet");
    }
    command.args(&args.words);
    let error = match started(&mut command) {
        Ok(good) => return Ok(good),
        Err(error) => error,
    };
    if error.kind() != ErrorKind::NotFound {
        return Err(Fail::text(&format!("{}: {error}", program.display())));
    }
    Err(Fail::text(
        "tracewright-sql is neither beside this command nor on PATH: it is a program of its own; \
         `cargo install --path sql` in the sources of Tracewright installs it (docs/sql.md). Without \
         it, `tracewright table` writes tables for other programs that know SQL",
    ))
}

/// The program in the folder of this one.
fn beside() -> Option<PathBuf> {
    let name = format!("{PROGRAM}{}", std::env::consts::EXE_SUFFIX);
    let path = std::env::current_exe().ok()?.with_file_name(name);
    path.is_file().then_some(path)
}

/// Continues as the program, where the system can.
#[cfg(unix)]
fn started(command: &mut Command) -> std::io::Result<bool> {
    Err(std::os::unix::process::CommandExt::exec(command))
}

/// Runs the program, which prints its errors itself.
#[cfg(not(unix))]
fn started(command: &mut Command) -> std::io::Result<bool> {
    Ok(command.status()?.success())
}

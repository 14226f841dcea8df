//! The `tracewright` command.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]
#![cfg_attr(not(test), warn(clippy::todo, clippy::unimplemented, clippy::unreachable))]

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(tracewright_cli::run(std::env::args_os().collect()))
}

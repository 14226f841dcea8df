//! The command `tracewright`, with one more protocol.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use branch_messages::BranchMessages;
use tracewright::protocols::Registry;
use tracewright::protocols::registry::AnyProtocol;

fn main() -> ExitCode {
    let protocols = Registry::default().with(AnyProtocol::external::<BranchMessages>());
    ExitCode::from(tracewright_cli::run_with(std::env::args_os().collect(), protocols))
}

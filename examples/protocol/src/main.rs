//! The command `tracewright`, with one more protocol, and one more trace link.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use branch_messages::BranchMessages;
use branch_messages::blocks::Blocks;
use tracewright::frames::ExternalLink;
use tracewright::protocols::Registry;
use tracewright::protocols::registry::AnyProtocol;

fn main() -> ExitCode {
    let protocols = Registry::default()
        .with(AnyProtocol::external::<BranchMessages>())
        .with_link(ExternalLink::new("blocks", Blocks::default()));
    ExitCode::from(tracewright_cli::run_with(std::env::args_os().collect(), protocols))
}

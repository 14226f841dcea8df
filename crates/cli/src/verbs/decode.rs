//! `tracewright decode`

use tracewright::views::{opencsd, text};

use crate::args::DecodeArgs;
use crate::fail::Fail;
use crate::listing::{What, list};

/// Runs it.
pub fn run(args: &DecodeArgs) -> Result<bool, Fail> {
    let packets = args.packets;
    let what = What {
        verb: "decode",
        opencsd: opencsd::Shown { packets, bytes: true, elements: true, ..Default::default() },
        text: text::Shown { packets, elements: true, ..Default::default() },
    };
    list(what, &args.input, Some(&args.how), &args.threads, &args.output)
}

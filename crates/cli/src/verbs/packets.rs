//! `tracewright packets`

use tracewright::views::{opencsd, text};

use crate::args::{Format, PacketsArgs, RawFrames};
use crate::fail::Fail;
use crate::listing::{What, list};

/// Runs it.
pub fn run(args: &PacketsArgs) -> Result<bool, Fail> {
    if !args.raw_frames.is_empty() && args.output.format != Format::Opencsd {
        let why = "only the reference's listing has frame lines; add --format opencsd, or use `tracewright frames`";
        return Err(Fail::option("--raw-frames", "with another format", why));
    }
    let bytes = args.bytes;
    let what = What {
        verb: "packets",
        opencsd: opencsd::Shown {
            packets: true,
            bytes,
            elements: false,
            packed: args.raw_frames.contains(&RawFrames::Packed),
            unpacked: args.raw_frames.contains(&RawFrames::Unpacked),
        },
        text: text::Shown { packets: true, bytes, fields: args.explain, ..Default::default() },
    };
    list(what, &args.input, None, &args.threads, &args.output)
}

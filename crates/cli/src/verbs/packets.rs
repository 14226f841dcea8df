//! `tracewright packets`

use tracewright::opencsd;
use tracewright::views::text;

use crate::args::{Format, PacketsArgs, RawFrames};
use crate::fail::Fail;
use crate::input::Input;
use crate::listing::{Contents, PartArgs, list};

/// Runs the verb.
pub fn run(args: &PacketsArgs) -> Result<bool, Fail> {
    if !args.raw_frames.is_empty() && args.output.format != Format::Opencsd {
        let why = "needs --format opencsd; `tracewright frames` shows frames in the other formats";
        return Err(Fail::option("--raw-frames", "without --format opencsd", why));
    }
    let bytes = args.bytes;
    let what = Contents {
        verb: "packets",
        opencsd: opencsd::Shown {
            packets: true,
            bytes,
            elements: false,
            packed: args.raw_frames.contains(&RawFrames::Packed),
            unpacked: args.raw_frames.contains(&RawFrames::Unpacked),
        },
        text: text::Shown { packets: true, bytes, fields: args.explain, ..Default::default() },
        folded: false,
    };
    let mut input = Input::open(&args.input, None)?;
    if args.output.format == Format::Opencsd {
        input.first_buffer(&args.input);
    }
    let part = PartArgs { window: &args.window, narrow: None };
    list(what, input, false, &args.threads.jobs(), &args.output, part, &args.select)
}

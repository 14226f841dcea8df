//! `tracewright decode`

use tracewright::opencsd;
use tracewright::views::text;

use crate::args::{DecodeArgs, Format};
use crate::fail::Fail;
use crate::input::Input;
use crate::listing::{Contents, list};

/// Runs the verb.
pub fn run(args: &DecodeArgs) -> Result<bool, Fail> {
    let packets = args.packets;
    let what = Contents {
        verb: "decode",
        opencsd: opencsd::Shown { packets, bytes: true, elements: true, ..Default::default() },
        text: text::Shown { packets, elements: true, ..Default::default() },
        folded: !args.single,
    };
    let mut input = Input::open(&args.input, Some(&args.how))?;
    if args.output.format == Format::Opencsd {
        input.first_buffer(&args.input);
    }
    let (jobs, window) = (args.threads.jobs(), Some(&args.window));
    list(what, input, args.how.committed, &jobs, &args.output, window, &args.select)
}

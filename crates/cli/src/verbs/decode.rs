//! `tracewright decode`

use tracewright::decode::Tally;
use tracewright::frames::Numbering;
use tracewright::views::opencsd::{Listing, Shown};

use crate::args::{DecodeArgs, Format};
use crate::fail::Fail;
use crate::input::Input;
use crate::output::Output;

/// Runs it.
pub fn run(args: &DecodeArgs) -> Result<bool, Fail> {
    let mut input = Input::open(&args.input, Some(&args.how))?;
    let mut output = Output::open(args.output.output.as_deref())?;
    let mut flawed = false;
    for (n, &buffer) in input.buffers.clone().iter().enumerate() {
        let mut tally = Tally::default();
        if args.output.format == Format::Opencsd {
            input.options.numbering = Numbering::Reference;
            let plan = input.plan(buffer);
            let shown =
                Shown { packets: args.packets, bytes: true, elements: true, ..Shown::default() };
            let mut listing = Listing::new(&mut output, &plan, shown, n > 0);
            let parts = input.capture.buffers[buffer].parts();
            input.session(&plan).run(parts, &mut (&mut listing, &mut tally));
            let done = listing.finish();
            output.check(done)?;
        }
        flawed |= tally.flawed();
    }
    Ok(!(args.output.strict && flawed))
}

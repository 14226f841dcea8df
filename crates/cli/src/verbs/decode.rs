//! `tracewright decode`

use tracewright::opencsd;
use tracewright::views::text;

use crate::args::{DecodeArgs, Format};
use crate::fail::Fail;
use crate::input::Input;
use crate::listing::{Contents, Narrow, PartArgs, list};
use crate::tasks::WhileRunning;

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
    let (jobs, committed) = (args.threads.jobs(), args.how.committed);
    let (window, output, select) = (&args.window, &args.output, &args.select);
    let Some(tasks) = WhileRunning::new(&args.running, &input, committed, args.input.path())?
    else {
        let part = PartArgs { window, narrow: None };
        return list(what, input, committed, &jobs, output, part, select);
    };
    if output.format == Format::Opencsd {
        let why = "OpenCSD's format has the whole trace; use another format";
        return Err(Fail::option("--task", "", why));
    }
    let narrow: &Narrow<'_> = &|job, options, selected| tasks.part(job, options, selected);
    let part = PartArgs { window, narrow: Some(narrow) };
    let good = list(what, input, committed, &jobs, output, part, select)?;
    tasks.check()?;
    Ok(good)
}

//! `tracewright demo`

use tracewright::capture::write;
use tracewright::decode::{CommittedListener, Jobs, input};
use tracewright::views::instructions::{Expand, Text};
use tracewright::views::text::{Listing, Shown};

use crate::args::DemoArgs;
use crate::fail::Fail;
use crate::input::Input;
use crate::listing::{self, How};
use crate::output::Output;
use crate::{demo, run};

const ABOUT: &str = "\
This is an example: a Cortex-A53 that squares 3, 2 and 1 and calls the operating system, traced by an
ETMv4, while the program writes text to an ITM. The capture is built in; it is decoded now.

What the trace says, a line each: the place in the buffer, the source, and what happened.

";

const THEN: &str = "
Every instruction that ran, of the ETM's part:

";

const GO_ON: &str = "
Go on:
  tracewright demo --write FOLDER           this capture as a folder, to play with
  tracewright info FOLDER                   what is in it, with every register explained
  tracewright decode --packets FOLDER       packets, and what they mean
With a capture of your own:
  tracewright decode SNAPSHOT               a snapshot: its folder, or its snapshot.ini
  tracewright decode trace.bin --protocol ETM4 --config TRCCONFIGR=0xc1 ... --image program.elf
  tracewright info ...                      says what is missing, where nothing comes out
";

/// Runs it.
pub fn run(args: &DemoArgs) -> Result<bool, Fail> {
    let capture = demo::capture().ok_or_else(|| Fail::ours("the example cannot be made"))?;
    if let Some(folder) = &args.write {
        write(&capture, folder)?;
        eprintln!("wrote {0}; now try: tracewright info {0}", folder.display());
        return Ok(true);
    }
    let input = Input::all(capture);
    let job = input.job(0);
    let mut output = Output::open(None)?;
    let colour = output.colour();

    output.print(ABOUT)?;
    let shown = Shown { elements: true, colour, ..Shown::default() };
    let listing = Listing::new(Vec::new(), job.sources.clone(), job.buffer.size(), shown);
    let how = How { committed: false, jobs: Jobs::new(1), alone: true };
    let bytes = &mut *input::of(job.buffer);
    listing::decode(&job, bytes, &how, listing, &mut None, |text| output.put(&text))?;

    output.print(THEN)?;
    let sources = job.sources.iter().take(1).cloned().collect();
    let expand = Expand::new(Text::new(Vec::new(), sources, colour), &job.sources[..1]);
    let expand = CommittedListener::when(how.committed, expand);
    let bytes = &mut *input::of(job.buffer);
    run::run(job.session()?, job.buffer, bytes, expand, &how, |text| output.put(&text))?;
    output.failed()?;

    output.print(GO_ON)?;
    output.close()?;
    Ok(true)
}

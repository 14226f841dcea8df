//! `tracewright demo`

use std::path::Path;
use std::sync::atomic::AtomicUsize;

use tracewright::capture::write;
use tracewright::decode::{CommittedListener, Jobs, input};
use tracewright::views::instructions::{Expand, Text};
use tracewright::views::text::{Listing, Shown};

use crate::args::{DemoArgs, SwitchArgs};
use crate::demo;
use crate::fail::Fail;
use crate::input::Input;
use crate::listing;
use crate::message;
use crate::output::Output;
use crate::run::{self, RunOptions};
use crate::verbs::report;

const ABOUT: &str = "\
Built-in example: a Cortex-A53 computes the squares of 3, 2 and 1 and calls the operating system. An ETMv4
traces it, while the program writes text to an ITM.

Columns: byte offset in the trace buffer, trace source, decoded element.

";

const INSTRUCTIONS: &str = "
Executed instructions of ETM_0. Columns: address, opcode, disassembly, symbol, context.

";

const NEXT: &str = "
Next:
  tracewright demo --write FOLDER           write this capture as a snapshot
  tracewright info FOLDER                   describe it, each register field by field
  tracewright decode --packets FOLDER       interleave its packets with the decoded elements
  tracewright functions FOLDER              what was executed: calls, instructions, time
  tracewright report FOLDER -o report.html  one page with functions, flame graph, timeline, coverage
With your own capture:
  tracewright decode SNAPSHOT               a snapshot: its folder, or its snapshot.ini
  tracewright decode trace.bin --protocol ETM4 --config TRCCONFIGR=0xc1 ... --image program.elf
  tracewright info ...                      list what is missing to decode it
";

/// Runs the verb.
pub fn run(args: &DemoArgs) -> Result<bool, Fail> {
    let capture = demo::capture().ok_or_else(|| Fail::internal("the example cannot be built"))?;
    if let Some(folder) = &args.write {
        write(&capture, folder)?;
        message::line(&format!("{0} written; next: tracewright info {0}", folder.display()));
        return Ok(true);
    }
    let input = Input::all(capture);
    let job = input.job(0);
    let mut output = Output::standard()?;
    let colour = output.colour();

    output.print(ABOUT)?;
    let shown = Shown { elements: true, colour, ..Shown::default() };
    let listing = Listing::new(Vec::new(), job.sources.clone(), job.buffer.size(), shown);
    let refused = &AtomicUsize::new(0);
    let options = RunOptions {
        committed: false,
        jobs: Jobs::new(1),
        alone: true,
        refused,
        selected: None,
        parts: None,
    };
    let bytes = &mut *input::of(job.buffer);
    listing::decode(&job, bytes, &options, listing, &mut None, |text| output.put(&text))?;

    output.print(INSTRUCTIONS)?;
    let sources = job.sources.iter().take(1).cloned().collect();
    let expand = Expand::new(Text::new(Vec::new(), sources, colour), &job.sources[..1]);
    let expand = CommittedListener::when(options.committed, expand);
    let bytes = &mut *input::of(job.buffer);
    run::run(job.session()?, job.buffer, bytes, expand, &options, |text| output.put(&text))?;
    output.failed()?;

    output.print(NEXT)?;
    write_report(&input, &args.report, &mut output)?;
    output.close()?;
    Ok(true)
}

/// Writes the report, and its name. The example does not fail where the file cannot be written.
fn write_report(input: &Input, path: &Path, output: &mut Output) -> Result<(), Fail> {
    let switches = SwitchArgs { switch_at: Vec::new() };
    let how = report::How {
        committed: false,
        jobs: Jobs::new(1),
        switches: &switches,
        limit: 1000,
        title: Path::new("built-in example"),
        selected: None,
    };
    let file = Output::open(Some(path), &input.inputs);
    let written = file.and_then(|mut file| {
        report::write(input, &how, &mut file)?;
        file.failed()?;
        file.close()
    });
    match written {
        Ok(_) => {
            let name = path.display();
            output.print(&format!(
                "\nThe report of this example is in {name}: open it in a browser.\n"
            ))
        }
        Err(error) => {
            message::line(&format!("note: no report: {error}"));
            Ok(())
        }
    }
}

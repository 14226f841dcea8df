//! The ITMs of a capture that records its sources.

use tracewright::analysis::tasks::comparators;
use tracewright::decode::More;
use tracewright::protocols::registry::AnyProtocol;
use tracewright::{Element, Listener};

use super::printer::Printer;
use crate::args::ItmArgs;
use crate::fail::Fail;
use crate::input::{Input, Job};
use crate::listing::Problems;
use crate::live;
use crate::message;
use crate::report;

/// Passes the elements of ITMs and STMs on.
pub struct Writes<'a> {
    printer: &'a mut Printer,
    /// The number in the printer of each source of the session.
    numbers: Vec<Option<usize>>,
}

impl Listener for Writes<'_> {
    fn element(&mut self, source: usize, at: u64, element: Element) {
        if let Some(&Some(n)) = self.numbers.get(source) {
            self.printer.element(n, at, None, &element);
        }
    }

    fn full(&self) -> bool {
        self.printer.is_closed()
    }
}

/// Decodes the ITMs and STMs of all buffers.
pub fn decode(args: &ItmArgs, input: &Input) -> Result<bool, Fail> {
    report::notes(input);
    input.readable(args.strict)?;
    let jobs: Vec<Job<'_>> = input.buffers.iter().map(|&buffer| input.job(buffer)).collect();
    let mut names = Vec::new();
    let numbers: Vec<Vec<Option<usize>>> = jobs
        .iter()
        .map(|job| {
            let number = |source: &tracewright::views::Source| {
                let protocol = source.config.protocol();
                if !matches!(protocol, AnyProtocol::Itm | AnyProtocol::Stm) {
                    return None;
                }
                names.push(source.name.clone());
                Some(names.len() - 1)
            };
            job.sources.iter().map(number).collect()
        })
        .collect();
    if names.is_empty()
        && let Some(id) = args.id
    {
        let why = "no ITM or STM that can be decoded has this trace ID; `tracewright info` lists \
                   the sources";
        return Err(Fail::option("--id", &format!("{id:#04x}"), why));
    }
    if names.is_empty() {
        let what = "it has no ITM or STM that can be decoded; `tracewright info` lists its sources";
        return Err(Fail::input(&input.path, what));
    }
    let comparators = comparators(input.capture());
    let mut printer =
        Printer::open(args, args.frequency, names, input.inputs.clone(), comparators)?;
    for (job, numbers) in jobs.iter().zip(numbers) {
        let mut session = job.session()?;
        let mut bytes = live::input_of(job.buffer);
        let mut listener = Writes { printer: &mut printer, numbers };
        let mut block = Vec::new();
        loop {
            block.clear();
            let more = bytes.more(super::BLOCK, true, &mut block);
            if more.map_err(|error| Fail::read(&job.buffer.name, &error))? == More::End {
                break;
            }
            session.feed(&block, &mut listener);
            if !listener.printer.write() {
                break;
            }
        }
        session.finish(&mut listener);
    }
    let is_empty = printer.is_empty();
    let losses = printer.close()?;
    super::losses(losses);
    if is_empty {
        message::line(&format!(
            "note: {}: its ITMs and STMs sent nothing; `tracewright info` lists the sources and the \
             trace IDs that have data",
            input.path.display()
        ));
    }
    // Those of the trace buffers are among the problems.
    let problems = Problems { flawed: losses > 0, ..Problems::of_capture(input, false) };
    Ok(input.is_unchanged() && !problems.fail(args.strict) && !is_empty)
}

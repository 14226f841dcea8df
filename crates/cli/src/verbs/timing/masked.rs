//! `tracewright timing --masked`

use tracewright::analysis::timing::{Clock, StackAt};
use tracewright::views::instructions::Expand;
use tracewright::views::json;
use tracewright::views::timing::{MaskedView, Sections, Shown, longest};

use super::{each, refuse};
use crate::args::{TimingArgs, TimingFormat};
use crate::fail::Fail;
use crate::input::{Input, Job};
use crate::message;
use crate::output::Output;
use crate::run::Runs;
use crate::stacks;
use crate::tasks;

/// Runs the verb.
pub fn run(
    args: &TimingArgs,
    input: &Input,
    clock: Clock,
    mut output: Output,
) -> Result<bool, Fail> {
    refuse(args, input, "--masked", "")?;
    if args.format == TimingFormat::Json {
        output.json(&json::head("timing"))?;
    }
    let running = super::running(args, input)?;
    let mut found = false;
    for &buffer in &input.buffers {
        let job = input.job(buffer);
        let mut expand = Expand::new(Sections::new(clock), job.sources);
        each(&job, &mut expand)?;
        let mut sections = expand.view;
        sections.finish();
        if let Some(tasks) = &running {
            let runs = Runs::new(1, false, None);
            let running = tasks.running(&job, &runs.options(args.threads.jobs()))?;
            sections.retain(|own| running.has_instruction(own.source, own.begin.instruction));
        }
        let stacks = stacks_of(args, &job, &sections)?;
        let shown = Shown { frequency: args.frequency, rows: args.rows, ..Shown::default() };
        let (code, sources) = (&job.code(), job.sources);
        let (sections, stacks) = (&sections, &stacks);
        let view = MaskedView { sections, stacks, code, sources, clock, shown };
        match args.format {
            TimingFormat::Json => output.json(&view.json())?,
            _ => output.print(&view.text())?,
        }
        found |= !sections.all().0.is_empty();
    }
    output.close()?;
    input.decodable()?;
    if let Some(tasks) = &running {
        tasks.check()?;
    }
    if !found {
        let which = if running.is_some() { " of the selected tasks" } else { "" };
        message::line(&format!(
            "note: no executed instruction{which} masks interrupts; those of exception handlers, \
             which the processor masks, are not looked for"
        ));
    }
    Ok(found)
}

/// The call stacks at the ends of the sections that are shown.
fn stacks_of(args: &TimingArgs, job: &Job<'_>, sections: &Sections) -> Result<StackAt, Fail> {
    let shown = longest(sections, args.rows);
    let ends = shown
        .iter()
        .flatten()
        .flat_map(|own| [own.begin, own.end].map(|edge| (own.source, edge.instruction)));
    let wanted = StackAt::new(ends);
    let runs = Runs::new(1, false, None);
    let (options, code) = (runs.options(args.threads.jobs()), job.code());
    let tasks = tasks::of(&args.switches, job, &code, &args.input.input)?;
    Ok(stacks::run(job, &options, &code, &tasks, wanted, |_| true)?.0)
}

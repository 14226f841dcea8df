//! `tracewright info`

use std::sync::atomic::Ordering;

use tracewright::capture::Kind;
use tracewright::decode::detect::Candidate;
use tracewright::views::info::Info;
use tracewright::views::json;

use crate::args::{InfoArgs, InfoFormat};
use crate::command_line;
use crate::fail::Fail;
use crate::input::Input;
use crate::options;
use crate::output::Output;

/// Runs the verb.
pub fn run(args: &InfoArgs) -> Result<bool, Fail> {
    let input = Input::inspect(&args.input, None)?;
    let mut output = Output::open(args.output.as_deref(), &input.inputs)?;
    let mut info = Info::of(input.capture(), input.trace.options());
    // What was unconfirmed is a problem.
    let assumptions = input.detected.iter().flat_map(Candidate::assumptions).collect::<Vec<_>>();
    info.notes.extend(input.notes.iter().filter(|note| !assumptions.contains(note)).cloned());
    info.overview.detected.clone_from(&input.detected);
    match args.format {
        InfoFormat::Text => {
            let next = info.overview.cause.as_ref().and_then(|(buffer, cause)| {
                let job = input.job(*buffer);
                let raw = input.capture().kind == Kind::Raw;
                command_line::next(job.plan, raw, cause)
            });
            let text = if args.all { info.text() } else { info.brief() };
            let text = format!("{}\n{text}", info.overview_text(next.as_deref()));
            output.print(&options::spelled(&text))?;
            if !args.all {
                output.print("\nregisters: `--all` lists and explains them\n")?;
            }
        }
        InfoFormat::Json => output.json(&(json::head("info") + &info.json(&options::spelled)))?,
    }
    output.close()?;
    input.contradicted.fetch_or(info.overview.cause.is_some(), Ordering::Relaxed);
    Ok(input.is_unchanged() && !input.is_contradicted())
}

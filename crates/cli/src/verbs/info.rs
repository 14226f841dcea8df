//! `tracewright info`

use tracewright::views::info::Info;
use tracewright::views::json;

use crate::args::{InfoArgs, InfoFormat};
use crate::fail::Fail;
use crate::input::Input;
use crate::output::Output;

/// Runs the verb.
pub fn run(args: &InfoArgs) -> Result<bool, Fail> {
    let input = Input::inspect(&args.input, None)?;
    let mut output = Output::open(args.output.as_deref(), &input.inputs)?;
    let mut info = Info::of(&input.capture, &input.options);
    info.notes.extend(input.notes.iter().cloned());
    match args.format {
        InfoFormat::Text => output.print(&info.text())?,
        InfoFormat::Json => output.json(&(json::head("info") + &info.json()))?,
    }
    output.close()?;
    Ok(input.is_unchanged())
}

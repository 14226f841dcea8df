//! `tracewright perf-script`

use tracewright::views::perf_script::{Fields, PerfScript, Text};

use crate::args::{FieldsArg, PerfScriptArgs};
use crate::fail::Fail;
use crate::input::Input;
use crate::message;
use crate::output::Output;
use crate::report;
use crate::samples;

/// Runs the verb.
pub fn run(args: &PerfScriptArgs) -> Result<bool, Fail> {
    let samples = samples::parse(&args.itrace)?;
    if args.fields.is_some() && samples.last == 0 {
        let what = "samples have no last branches; add l to --itrace, such as i1000il64";
        return Err(Fail::option("--fields", "brstack", what));
    }
    let input = Input::open(&args.input, None)?;
    let linux = samples::linux(&input)?;
    report::notes(&input);
    input.readable(args.outcome.strict)?;
    let mut output = Output::open(args.outcome.output.as_deref(), &input.inputs)?;
    let samples = samples::timed(samples, linux);
    let fields = Fields {
        branches: args.fields == Some(FieldsArg::Brstack),
        instructions: args.fields == Some(FieldsArg::Brstackinsn),
    };
    let script = PerfScript::new(samples, Text::new(&samples, fields, &linux.modes));
    let mut any = false;
    let problems = samples::each(&input, &args.threads, false, script, &mut |lines| {
        any |= !lines.is_empty();
        output.put(lines);
        output.failed()?;
        Ok(!output.closed())
    })?;
    input.decodable()?;
    output.close()?;
    if !any && input.has_trace() {
        message::line(&samples::none(&samples));
    }
    Ok(any && report::is_traced(&input) && !problems.fail(args.outcome.strict))
}

//! `encode --sweep`: the size of the trace with several configurations.

use std::fmt::Write as _;

use tracewright::encode::{Measured, Settings};
use tracewright::protocols::registry::AnyProtocol;

use super::trial::Trial;
use super::{open, settings};
use crate::args::EncodeArgs;
use crate::fail::Fail;
use crate::inputs::Inputs;
use crate::message;
use crate::output::Output;

/// Encodes the log with each configuration, and prints a table of sizes.
pub fn run(args: &EncodeArgs, protocol: AnyProtocol, inputs: &Inputs) -> Result<bool, Fail> {
    let mut output = Output::open(None, inputs)?;
    let mut log = open(args, protocol)?;
    let given = settings(args, protocol, log.isa, &args.registers)?;
    let mut trials = vec![Trial::new(args, &log, given)?];
    for text in &args.sweep {
        let mut registers = args.registers.clone();
        registers.extend(text.split(',').map(|part| part.trim().to_owned()));
        let settings = settings(args, protocol, log.isa, &registers);
        if let Some(note) = settings.as_ref().ok().and_then(Settings::note) {
            message::line(&format!("tracewright: note: --sweep {text}: {note}"));
        }
        let trial = settings.and_then(|settings| Trial::new(args, &log, settings));
        trials.push(trial.map_err(|why| Fail::option("--sweep", text, &why.to_string()))?);
    }
    while log.more(&mut |entry| trials.iter_mut().for_each(|trial| trial.entry(&entry)))? {
        for trial in &mut trials {
            trial.spool()?;
        }
    }
    let sizes = trials.into_iter().map(|trial| trial.finish(args));
    let sizes = sizes.collect::<Result<Vec<_>, _>>()?;
    output.print(&table(&sizes, &args.sweep))?;
    output.close()?;
    Ok(true)
}

/// A line for each configuration, the first of which is the one that the others change.
fn table(sizes: &[Measured], names: &[String]) -> String {
    let mut text =
        format!("{:>10}  {:>16}  {:>9}  configuration\n", "bytes", "bits/instruction", "change");
    let names = names.iter().map(String::as_str);
    for (size, name) in sizes.iter().zip(std::iter::once("as given").chain(names)) {
        let Measured { bytes, instructions, .. } = *size;
        let bits = match instructions {
            0 => "-".to_owned(),
            count => format!("{:.3}", bytes as f64 * 8.0 / count as f64),
        };
        let change = sizes.first().map_or_else(String::new, |first| change(first, size));
        let _ = writeln!(text, "{bytes:>10}  {bits:>16}  {change:>9}  {name}");
    }
    text
}

/// The change of the number of bytes, or that there is none.
fn change(from: &Measured, to: &Measured) -> String {
    if std::ptr::eq(from, to) {
        "-".to_owned()
    } else if from.is_same_trace(to) {
        "no effect".to_owned()
    } else if from.bytes == 0 {
        "more".to_owned()
    } else {
        let percent = 100.0 * (to.bytes as f64 / from.bytes as f64 - 1.0);
        format!("{percent:+.1} %")
    }
}

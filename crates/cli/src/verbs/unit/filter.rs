//! `tracewright unit filter`

use std::fmt::Write as _;

use tracewright::base::{Direction, Step};
use tracewright::image::Extensions;
use tracewright::units::verdict::{Requirement, Verdict};

use super::subject;
use crate::args::UnitFilterArgs;
use crate::fail::Fail;
use crate::logs::{self, Log};
use crate::output::Output;

/// Counts of verdicts.
#[derive(Default)]
struct Counts {
    must: u64,
    must_not: u64,
    may: u64,
}

impl Counts {
    fn count(&mut self, requirement: Requirement) {
        *match requirement {
            Requirement::Must => &mut self.must,
            Requirement::MustNot => &mut self.must_not,
            Requirement::May => &mut self.may,
        } += 1;
    }

    fn text(&self, what: &str) -> String {
        let Counts { must, must_not, may } = self;
        format!("{what}: {must} must be traced, {must_not} must not, {may} may\n")
    }
}

/// An instruction that waits for its data accesses.
struct Waiting {
    address: u64,
    verdict: Verdict,
    /// The lines of its data accesses and of triggers.
    lines: String,
}

/// Predicts what is traced of a log.
pub fn run(args: &UnitFilterArgs) -> Result<bool, Fail> {
    let subjects = subject::read(&args.what)?;
    let [subject] = subjects.as_slice() else {
        return Err(Fail::option("unit", &args.what.join(" "), "a log is filtered by one unit"));
    };
    let mut filter = subject.unit.filter(&subject.values).ok_or_else(|| {
        Fail::option("unit", &subject.unit.name(), "this unit does not select what is traced")
    })?;
    let mut log = Log::open(&args.log, &args.how, None)?;
    let mut assembler = log.assembler(&args.how, Extensions::NONE)?;
    let (mut instructions, mut data) = (Counts::default(), Counts::default());
    let (mut text, mut triggers) = (String::new(), 0u64);
    let mut waiting: Option<Waiting> = None;
    let mut step = |cpu: u16, step: &Step| {
        if cpu != args.cpu {
            return;
        }
        if matches!(step, Step::Retired(_)) {
            done(waiting.take(), filter.revised(), &mut instructions, &mut text);
        }
        let outcome = filter.step(step);
        match (step, outcome.verdict) {
            (Step::Retired(retired), Some(verdict)) => {
                let (address, lines) = (retired.address, String::new());
                waiting = Some(Waiting { address, verdict, lines });
            }
            (Step::Access(access), Some(verdict)) => {
                data.count(verdict.requirement);
                let what = match access.direction {
                    Direction::Read => "read",
                    Direction::Write => "write",
                    Direction::Unknown => "data",
                };
                let lines = waiting.as_mut().map_or(&mut text, |waiting| &mut waiting.lines);
                line(&format!("  {what}"), access.address(), verdict, lines);
            }
            _ => {}
        }
        if outcome.trigger {
            triggers += 1;
            let lines = waiting.as_mut().map_or(&mut text, |waiting| &mut waiting.lines);
            lines.push_str("trigger\n");
        }
    };
    let mut output = Output::standard()?;
    while log.more(&mut |entry| assembler.entry(&entry, &mut step))? {}
    assembler.finish(&mut step);
    done(waiting.take(), filter.revised(), &mut instructions, &mut text);
    if !args.summary {
        output.print(&text)?;
    }
    let mut summary = instructions.text("instructions") + &data.text("data accesses");
    let _ = writeln!(summary, "triggers: {triggers}");
    output.print(&summary)?;
    output.close()?;
    logs::notes(&assembler);
    Ok(true)
}

/// Writes the lines of an instruction whose data accesses are complete.
fn done(
    waiting: Option<Waiting>,
    revised: Option<Verdict>,
    counts: &mut Counts,
    text: &mut String,
) {
    let Some(Waiting { address, verdict, lines }) = waiting else { return };
    let verdict = revised.unwrap_or(verdict);
    counts.count(verdict.requirement);
    line("", Some(address), verdict, text);
    *text += &lines;
}

fn line(what: &str, address: Option<u64>, verdict: Verdict, text: &mut String) {
    let address = address.map_or("unknown".to_owned(), |address| format!("{address:#010x}"));
    let requirement = verdict.requirement.name();
    let what = if what.is_empty() { address } else { format!("{what} {address}") };
    let _ = writeln!(text, "{what:<24}{requirement:<10}{} ({})", verdict.reason, verdict.section);
}

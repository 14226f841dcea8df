//! `tracewright unit filter`

use std::fmt::Write as _;
use std::path::Path;

use tracewright::base::{Direction, Element, Step};
use tracewright::image::Extensions;
use tracewright::logs::code::each_part;
use tracewright::units::comparison::{Comparison, Difference};
use tracewright::units::verdict::{Filter, Requirement, Verdict};
use tracewright::views::json::{self, Object};

use super::subject;
use crate::args::{InfoFormat, UnitFilterArgs};
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

    fn json(&self, out: &mut String) {
        let Counts { must, must_not, may } = *self;
        Object::new(out).number("must", must).number("must_not", must_not).number("may", may).end();
    }
}

/// An instruction that waits for its data accesses.
struct Waiting {
    address: u64,
    size: u8,
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
    if filter.uses_code() {
        for image in &log.images {
            each_part(image, &mut |start, bytes| filter.code(start, bytes));
        }
    }
    let mut assembler = log.assembler(&args.how, Extensions::NONE)?;
    let comparison = match &args.capture {
        Some(path) => Some(Comparison::new(ranges(path, usize::from(args.cpu))?)),
        None => None,
    };
    let mut verdicts = Verdicts::new(args.format, filter, comparison);
    let mut step = |cpu: u16, step: &Step| {
        if cpu == args.cpu {
            verdicts.step(step);
        }
    };
    let mut output = Output::standard()?;
    while log.more(&mut |entry| assembler.entry(&entry, &mut step))? {}
    assembler.finish(&mut step);
    verdicts.settle();
    let difference = verdicts.comparison.take().map(Comparison::finish);
    let summary = verdicts.summary(difference.as_ref().map(Option::as_ref));
    let whole = if args.summary { summary } else { verdicts.lines + &summary };
    match args.format {
        InfoFormat::Text => output.print(&whole)?,
        InfoFormat::Json => output.json(&(json::head("unit filter") + &whole))?,
    }
    output.close()?;
    logs::notes(&assembler);
    Ok(!matches!(difference, Some(Some(_))))
}

/// The verdicts on the steps of a processor.
struct Verdicts {
    form: InfoFormat,
    filter: Box<dyn Filter>,
    /// The capture that is compared.
    comparison: Option<Comparison>,
    instructions: Counts,
    data: Counts,
    triggers: u64,
    /// The last instruction.
    waiting: Option<Waiting>,
    /// The lines before it.
    lines: String,
}

impl Verdicts {
    fn new(form: InfoFormat, filter: Box<dyn Filter>, comparison: Option<Comparison>) -> Self {
        Verdicts {
            form,
            filter,
            comparison,
            instructions: Counts::default(),
            data: Counts::default(),
            triggers: 0,
            waiting: None,
            lines: String::new(),
        }
    }

    fn step(&mut self, step: &Step) {
        if matches!(step, Step::Retired(_)) {
            self.settle();
        }
        let outcome = self.filter.step(step);
        match (step, outcome.verdict) {
            (Step::Retired(retired), Some(verdict)) => {
                let (address, size) = (retired.address, retired.instruction.size);
                self.waiting = Some(Waiting { address, size, verdict, lines: String::new() });
            }
            (Step::Access(access), Some(verdict)) => {
                self.data.count(verdict.requirement);
                let what = match access.direction {
                    Direction::Read => "read",
                    Direction::Write => "write",
                    Direction::Unknown => "data",
                };
                line(self.form, what, access.address(), verdict, self.lines());
            }
            _ => {}
        }
        self.triggered(outcome.trigger);
    }

    /// Writes the line of a trigger, if there is one.
    fn triggered(&mut self, trigger: bool) {
        if !trigger {
            return;
        }
        self.triggers += 1;
        let text = match self.form {
            InfoFormat::Text => "trigger\n",
            InfoFormat::Json => "{\"type\":\"trigger\"}\n",
        };
        self.lines().push_str(text);
    }

    /// The lines after the last instruction.
    fn lines(&mut self) -> &mut String {
        self.waiting.as_mut().map_or(&mut self.lines, |waiting| &mut waiting.lines)
    }

    /// Writes the lines of the instruction that waits, whose data accesses are complete, and
    /// compares it with the capture.
    fn settle(&mut self) {
        let revised = self.filter.revised();
        let ended = self.filter.finish();
        self.triggered(ended.trigger);
        let Some(Waiting { address, size, verdict, lines }) = self.waiting.take() else { return };
        let verdict = revised.unwrap_or(verdict);
        self.instructions.count(verdict.requirement);
        line(self.form, "", Some(address), verdict, &mut self.lines);
        self.lines += &lines;
        if let Some(comparison) = &mut self.comparison {
            comparison.instruction(address, size, verdict.requirement);
        }
    }

    /// The counts, and the first `difference` from the capture, if one was compared.
    fn summary(&self, difference: Option<Option<&Difference>>) -> String {
        let Verdicts { instructions, data, triggers, .. } = self;
        let mut summary = String::new();
        match self.form {
            InfoFormat::Text => {
                summary += &(instructions.text("instructions") + &data.text("data accesses"));
                let _ = writeln!(summary, "triggers: {triggers}");
                match difference {
                    Some(Some(difference)) => {
                        let _ = writeln!(summary, "first difference: {difference}");
                    }
                    Some(None) => {
                        summary += "the capture has what must be traced, and nothing else\n";
                    }
                    None => {}
                }
            }
            InfoFormat::Json => {
                let mut object = Object::new(&mut summary)
                    .text("type", "verdicts")
                    .value("instructions", |out| instructions.json(out))
                    .value("data", |out| data.json(out))
                    .number("triggers", *triggers);
                if let Some(difference) = difference {
                    object = object.flag("differs", difference.is_some());
                }
                let text = difference.flatten().map(ToString::to_string);
                object.maybe_text("difference", text.as_deref()).end();
                summary.push('\n');
            }
        }
        summary
    }
}

/// The traced ranges of source `index` of a capture.
fn ranges(path: &Path, index: usize) -> Result<Vec<(u64, u64)>, Fail> {
    let trace = tracewright::open(path)?;
    let fail = |error: &dyn std::fmt::Display| Fail::input(path, &error.to_string());
    let mut ranges = Vec::new();
    for item in trace.elements().map_err(|error| fail(&error))? {
        let item = item.map_err(|error| fail(&error))?;
        if let Element::Range(range) = item.element
            && item.source == index
        {
            ranges.push((range.start, range.end()));
        }
    }
    Ok(ranges)
}

/// Appends the line of an instruction, for which `what` is empty, or of a data access.
fn line(form: InfoFormat, what: &str, address: Option<u64>, verdict: Verdict, text: &mut String) {
    let Verdict { requirement, reason, section } = verdict;
    let requirement = requirement.name();
    if form == InfoFormat::Json {
        Object::new(text)
            .text("type", "verdict")
            .text("of", if what.is_empty() { "instruction" } else { what })
            .maybe_hex("address", address)
            .text("traced", requirement)
            .text("reason", reason)
            .text("section", section)
            .end();
        text.push('\n');
        return;
    }
    let address = address.map_or("unknown".to_owned(), |address| format!("{address:#010x}"));
    let what = if what.is_empty() { address } else { format!("  {what} {address}") };
    let _ = writeln!(text, "{what:<24}{requirement:<10}{reason} ({section})");
}

//! `tracewright log`

use std::collections::BTreeMap;
use std::io::Write;
use std::mem;

use tracewright::base::{Isa, Step};
use tracewright::image::Extensions;
use tracewright::logs::{Assembler, Entry, Event, Format, Mode, Outcomes, Writer, csv, writes};

use crate::args::{LogConvertArgs, LogInfoArgs, LogVerb};
use crate::fail::Fail;
use crate::inputs::Inputs;
use crate::logs::{self, Log};
use crate::message;
use crate::output::Output;

/// Bytes of a converted log that are written at a time.
const BUFFERED: usize = 1 << 20;

/// Runs the verb.
pub fn run(verb: &LogVerb) -> Result<bool, Fail> {
    match verb {
        LogVerb::Info(args) => info(args),
        LogVerb::Convert(args) => convert(args),
    }
}

/// The counts of one processor.
#[derive(Default)]
struct Cpu {
    instructions: BTreeMap<Isa, u64>,
    first: Option<u64>,
    last: u64,
    taken: u64,
    accesses: u64,
    exceptions: BTreeMap<String, u64>,
    levels: BTreeMap<u8, u64>,
    el: Option<u8>,
    software: u64,
    cycles: u64,
}

fn info(args: &LogInfoArgs) -> Result<bool, Fail> {
    let mut log = Log::open(&args.input, &args.how, None)?;
    let mut assembler = log.assembler(&args.how, Extensions::NONE)?;
    let mut cpus: BTreeMap<u16, Cpu> = BTreeMap::new();
    let mut entries = 0u64;
    let mut count = |cpu: u16, step: &Step| {
        let cpu = cpus.entry(cpu).or_default();
        match step {
            Step::Retired(retired) => {
                *cpu.instructions.entry(retired.instruction.isa).or_default() += 1;
                cpu.first.get_or_insert(retired.address);
                cpu.last = retired.address;
                let after = retired.address.wrapping_add(retired.instruction.size.into());
                let branch = retired.next != after;
                cpu.taken += u64::from(branch);
                if let Some(el) = cpu.el {
                    *cpu.levels.entry(el).or_default() += 1;
                }
            }
            Step::Access(_) => cpu.accesses += 1,
            Step::Exception(taken) => {
                *cpu.exceptions.entry(csv::cause_text(taken.cause)).or_default() += 1;
            }
            Step::Context(context) => cpu.el = context.el,
            Step::SoftwareWrite(_) | Step::DwtEvent(_) => cpu.software += 1,
            Step::Cycles(cycles) => cpu.cycles += u64::from(*cycles),
            _ => {}
        }
    };
    while log.more(&mut |entry| {
        entries += 1;
        assembler.entry(&entry, &mut count);
    })? {}
    assembler.finish(&mut count);
    let mut text = format!(
        "{}: {}, {} lines, {entries} entries\n",
        args.input.display(),
        log.format.name(),
        log.lines()
    );
    for (number, cpu) in &cpus {
        text += &cpu.text(*number);
    }
    let mut output = Output::standard()?;
    output.print(&text)?;
    output.close()?;
    logs::notes(&assembler);
    Ok(true)
}

impl Cpu {
    fn text(&self, number: u16) -> String {
        let mut text = format!("processor {number}\n");
        let mut line = |name: &str, value: String| text += &format!("  {name:<16}{value}\n");
        for (isa, count) in &self.instructions {
            line(isa.name(), format!("{count} instructions"));
        }
        if let Some(first) = self.first {
            line("addresses", format!("{first:#x} first, {:#x} last", self.last));
            line("taken branches", self.taken.to_string());
        }
        for (el, count) in &self.levels {
            line("level", format!("{el}: {count} instructions"));
        }
        for (cause, count) in &self.exceptions {
            line("exception", format!("{cause}: {count}"));
        }
        for (name, count) in [
            ("data accesses", self.accesses),
            ("software writes", self.software),
            ("cycles", self.cycles),
        ] {
            if count > 0 {
                line(name, count.to_string());
            }
        }
        text
    }
}

fn convert(args: &LogConvertArgs) -> Result<bool, Fail> {
    let mut log = Log::open(&args.input, &args.how, None)?;
    let assembler = log.assembler(&args.how, Extensions::NONE)?;
    let to = logs::format(args.to);
    let inputs = Inputs::default().file(Some(&args.input)).images(&args.how.images);
    let mut writer = Writer::new(to, log.isa != Isa::Rv32);
    let mut output = Output::open(args.output.as_deref(), &inputs)?;
    let mut converter = Converter::new(to, log.isa, assembler);
    // The processor of the first entry that is written, and whether there are others.
    let (mut first, mut others) = (None, false);
    let mut written = Ok(());
    loop {
        let mut write = |entry: Entry| {
            first.get_or_insert(entry.cpu);
            others |= first != Some(entry.cpu);
            writer.entry(&entry);
            if writer.len() >= BUFFERED && written.is_ok() {
                written = output.write_all(&writer.take());
            }
        };
        let more = log.more(&mut |entry| converter.entry(entry, &mut write))?;
        if let Some((isa, address)) = converter.other_isa {
            let what = format!(
                "the format has no {isa} instructions, and the log has one at {address:#x}; select \
                 another one, such as csv"
            );
            return Err(Fail::option("--to", to.name(), &what));
        }
        if !more {
            converter.finish(&mut write);
            writer.finish();
        }
        let done =
            mem::replace(&mut written, Ok(())).and_then(|()| output.write_all(&writer.take()));
        output.check(done)?;
        if !more || output.closed() {
            break;
        }
    }
    output.close()?;
    let note = |text: String| message::line(&format!("tracewright: note: {text}"));
    let Converter { unknown, dropped, .. } = converter;
    if unknown > 0 {
        note(format!(
            "{unknown} instructions have no opcode in the log or in an --image; they are written \
             with opcode 0"
        ));
    }
    if others && to == Format::SpikeCsv {
        note(format!(
            "the entries of several processors are written in one sequence, as {} has no column \
             for the processor",
            to.name()
        ));
    }
    if dropped > 0 {
        note(format!("{dropped} entries cannot be expressed in {} and are omitted", to.name()));
    }
    Ok(true)
}

/// Completes entries of a log for another format.
struct Converter {
    to: Format,
    /// The instruction set of instructions without one.
    isa: Isa,
    assembler: Assembler,
    /// The mode of each processor: some formats record it in entries of their own, others with each
    /// instruction.
    modes: BTreeMap<u16, Mode>,
    /// Adds whether conditional instructions passed, for Tarmac.
    outcomes: Option<Outcomes>,
    /// The first instruction of an instruction set that the format does not have, and its address.
    other_isa: Option<(Isa, u64)>,
    /// Instructions without an opcode.
    unknown: u64,
    /// Entries that the format cannot express.
    dropped: u64,
}

impl Converter {
    /// Converts to the format `to`. `assembler` has the opcodes and the initial mode.
    fn new(to: Format, isa: Isa, assembler: Assembler) -> Self {
        Converter {
            to,
            isa,
            assembler,
            modes: BTreeMap::new(),
            outcomes: (to == Format::Tarmac).then(Outcomes::default),
            other_isa: None,
            unknown: 0,
            dropped: 0,
        }
    }

    /// Converts `entry` for `write`.
    fn entry(&mut self, mut entry: Entry, write: &mut impl FnMut(Entry)) {
        let start = self.assembler.mode;
        let lookup = self.assembler.lookup();
        let mode = self.modes.entry(entry.cpu).or_insert(start);
        match &mut entry.event {
            Event::Code { address, opcode } => lookup.code(*address, *opcode),
            Event::Mode(change) => *mode = change.or(*mode),
            Event::Instruction(executed) => {
                *mode = executed.mode.or(*mode);
                executed.mode = *mode;
                let isa = executed.isa.unwrap_or(self.isa);
                if !self.to.has(isa) {
                    self.other_isa.get_or_insert((isa, executed.address));
                }
                if self.to == Format::Tarmac {
                    executed.isa = Some(isa);
                }
            }
            _ => {}
        }
        let used = self.outcomes.is_some() && matches!(entry.event, Event::Flags(_));
        if self.other_isa.is_some() || !used && !writes(self.to, &entry.event) {
            self.dropped += 1;
            return;
        }
        if let Event::Instruction(executed) = &mut entry.event
            && executed.opcode.is_none()
            && self.to.has_opcodes()
        {
            let isa = executed.isa.unwrap_or(self.isa);
            executed.opcode = lookup.opcode(executed.address, isa);
            self.unknown += u64::from(executed.opcode.is_none());
        }
        match &mut self.outcomes {
            Some(outcomes) => outcomes.entry(entry, lookup, write),
            None => write(entry),
        }
    }

    /// Writes the entries that wait.
    fn finish(&mut self, write: &mut impl FnMut(Entry)) {
        if let Some(outcomes) = &mut self.outcomes {
            outcomes.finish(write);
        }
    }
}

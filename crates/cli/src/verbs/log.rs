//! `tracewright log`

use std::collections::BTreeMap;
use std::io::Write;
use std::mem;

use tracewright::base::{Isa, Step};
use tracewright::image::Extensions;
use tracewright::logs::{Converter, Counts, Entry, Event, Format, InstructionSet, Writer};

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

fn info(args: &LogInfoArgs) -> Result<bool, Fail> {
    let mut log = Log::open_any(&args.input, &args.how)?;
    let mut assembler = log.assembler(&args.how, Extensions::NONE)?;
    let mut cpus: BTreeMap<u16, (Counts, Listed)> = BTreeMap::new();
    let mut listed: BTreeMap<u16, Listed> = BTreeMap::new();
    let mut entries = 0u64;
    let mut count = |cpu: u16, step: &Step| cpus.entry(cpu).or_default().0.step(step);
    while log.more(&mut |entry| {
        entries += 1;
        match entry.event {
            Event::Instruction(executed) => {
                listed
                    .entry(entry.cpu)
                    .or_default()
                    .add(executed.address, executed.opcode.is_some());
            }
            Event::Raised(_) => listed.entry(entry.cpu).or_default().exceptions += 1,
            _ => {}
        }
        assembler.entry(&entry, &mut count);
    })? {}
    assembler.finish(&mut count);
    for (cpu, listed) in listed {
        cpus.entry(cpu).or_default().1 = listed;
    }
    let mut text = format!(
        "{}: {}, {} lines, {entries} entries\n",
        args.input.display(),
        log.format.name(),
        log.lines()
    );
    match log.set {
        InstructionSet::Known(_) => {}
        InstructionSet::Assumed(isa) => {
            text += &format!(
                "instruction set: not stated; {isa} is assumed, and --isa selects another one\n"
            );
        }
        InstructionSet::Unknown => {
            text += "instruction set: not stated, and the addresses and opcodes do not show it; select it with \
                     --isa, or add the program with --image\n";
        }
    }
    for (number, (cpu, listed)) in &cpus {
        text += &processor(*number, cpu, listed, log.set != InstructionSet::Unknown);
    }
    let mut output = Output::standard()?;
    output.print(&text)?;
    output.close()?;
    logs::notes(&assembler);
    Ok(true)
}

/// The instructions that a log lists, with or without an opcode, and its exceptions.
#[derive(Clone, Copy, Debug, Default)]
struct Listed {
    count: u64,
    with_opcode: u64,
    exceptions: u64,
    first: Option<u64>,
    last: u64,
}

impl Listed {
    fn add(&mut self, address: u64, has_opcode: bool) {
        self.count += 1;
        self.with_opcode += u64::from(has_opcode);
        self.first.get_or_insert(address);
        self.last = address;
    }
}

/// The lines of processor `number`. `has_isa`: the instruction set is known, or assumed.
fn processor(number: u16, cpu: &Counts, listed: &Listed, has_isa: bool) -> String {
    let mut text = format!("processor {number}\n");
    let mut line = |name: &str, value: String| text += &format!("  {name:<16}{value}\n");
    let executed: u64 = cpu.instructions.values().sum();
    if has_isa {
        for (isa, count) in &cpu.instructions {
            line(isa.name(), format!("{count} instructions"));
        }
    }
    if !has_isa || executed == 0 && listed.count > 0 {
        let none = listed.with_opcode == 0 && executed == 0;
        let opcodes = if none { ", none with an opcode" } else { "" };
        line("instructions", format!("{}{opcodes}", listed.count));
    }
    if let Some(first) = listed.first {
        line("addresses", format!("{first:#x} first, {:#x} last", listed.last));
    }
    if has_isa && executed > 0 {
        line("taken branches", cpu.taken.to_string());
    }
    for (el, count) in &cpu.levels {
        line("level", format!("{el}: {count} instructions"));
    }
    for (cause, count) in &cpu.exceptions {
        let cause = if cause.is_empty() { "unknown" } else { cause };
        line("exception", format!("{cause}: {count}"));
    }
    let handled: u64 = cpu.exceptions.values().sum();
    if listed.exceptions > handled {
        let others = listed.exceptions - handled;
        line("exception", format!("without an instruction of a handler after it: {others}"));
    }
    for (name, count) in
        [("data accesses", cpu.accesses), ("software writes", cpu.software), ("cycles", cpu.cycles)]
    {
        if count > 0 {
            line(name, count.to_string());
        }
    }
    text
}

fn convert(args: &LogConvertArgs) -> Result<bool, Fail> {
    let mut log = Log::open_live(&args.input, &args.how)?;
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
        if let Some((isa, address)) = converter.other_isa() {
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
    let (unknown, dropped) = (converter.unknown(), converter.dropped());
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

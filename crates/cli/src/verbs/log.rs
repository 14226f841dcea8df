//! `tracewright log`

use std::collections::BTreeMap;
use std::io::Write;
use std::mem;

use tracewright::base::{Isa, Step};
use tracewright::image::Extensions;
use tracewright::logs::{Converter, Counts, Entry, Format, Writer};

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
    let mut log = Log::open_live(&args.input, &args.how)?;
    let mut assembler = log.assembler(&args.how, Extensions::NONE)?;
    let mut cpus: BTreeMap<u16, Counts> = BTreeMap::new();
    let mut entries = 0u64;
    let mut count = |cpu: u16, step: &Step| cpus.entry(cpu).or_default().step(step);
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
        text += &processor(*number, cpu);
    }
    let mut output = Output::standard()?;
    output.print(&text)?;
    output.close()?;
    logs::notes(&assembler);
    Ok(true)
}

/// The lines of processor `number`.
fn processor(number: u16, counts: &Counts) -> String {
    let mut text = format!("processor {number}\n");
    let mut line = |name: &str, value: String| text += &format!("  {name:<16}{value}\n");
    for (isa, count) in &counts.instructions {
        line(isa.name(), format!("{count} instructions"));
    }
    if let Some(first) = counts.first {
        line("addresses", format!("{first:#x} first, {:#x} last", counts.last));
        line("taken branches", counts.taken.to_string());
    }
    for (el, count) in &counts.levels {
        line("level", format!("{el}: {count} instructions"));
    }
    for (cause, count) in &counts.exceptions {
        line("exception", format!("{cause}: {count}"));
    }
    for (name, count) in [
        ("data accesses", counts.accesses),
        ("software writes", counts.software),
        ("cycles", counts.cycles),
    ] {
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

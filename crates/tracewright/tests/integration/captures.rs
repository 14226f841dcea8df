//! The small captures of `tests/captures`: what they decode to is compared with their execution
//! logs, and with the listings that are checked in.
//!
//! `BLESS=1` makes the captures again, from the programs below and the logs written by hand, and
//! writes the listings. See `tests/captures/README.md`.

#[allow(dead_code, reason = "the RISC-V tests use all of it")]
#[path = "../riscv/program.rs"]
mod program;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tracewright::Listener;
use tracewright::base::{Channel, Element, Inconsistency, Isa, Security, Step, StepSink};
use tracewright::capture::{Capture, Dump};
use tracewright::decode::{Memory, Options, Plan, Session};
use tracewright::frames::Framing;
use tracewright::image::Image;
use tracewright::logs::{
    Assembler, Entry, Event, Executed, Format, Lookup, Mode, Raised, Reader, Recorder, Recording,
    Writer,
};
use tracewright::protocols::registry::AnyProtocol::{
    self, Ete, Etmv1, Etmv2, Etmv3, Etmv4, Etrace, Itm, Ntrace, Ptm, Stm,
};
use tracewright::views::Source;
use tracewright::views::text::{Listing, Shown};
use tracewright_model::generate::{self, Recipe, Sets};
use tracewright_model::{Machine, Stimulus};

/// What the log of a capture is made of.
#[derive(Clone, Copy)]
enum Origin {
    /// A random program of these instruction sets.
    Arm(Sets),
    /// A random program, of RV64 or RV32.
    Riscv { rv64: bool },
    /// The log is written by hand.
    Log,
}

/// One capture.
struct Small {
    folder: &'static str,
    protocol: AnyProtocol,
    core: &'static str,
    /// Registers and parameters, as the command line takes them.
    registers: &'static [(&'static str, &'static str)],
    origin: Origin,
}

const fn small(
    folder: &'static str,
    protocol: AnyProtocol,
    core: &'static str,
    registers: &'static [(&'static str, &'static str)],
    origin: Origin,
) -> Small {
    Small { folder, protocol, core, registers, origin }
}

impl Small {
    /// Decoders of ETMv1 and ETMv2 infer an exception from its vector at address 0 (IHI 0014,
    /// 4.5.3); the vectors of random programs are elsewhere.
    const fn infers_exceptions(&self) -> bool {
        matches!(self.protocol, Etmv1 | Etmv2)
    }
}

const RV32: Origin = Origin::Riscv { rv64: false };
const RV64: Origin = Origin::Riscv { rv64: true };
const ARM: Origin = Origin::Arm(Sets::Both);

const ALL: &[Small] = &[
    small("etmv1", Etmv1, "ARM926EJ-S", &[], ARM),
    small("etmv2", Etmv2, "ARM1026EJ-S", &[], ARM),
    // Branch broadcast off, cycle-accurate, timestamps.
    small("etmv3", Etmv3, "Cortex-A7", &[("ETMCR", "0x10001000")], ARM),
    // Context and virtual machine IDs, timestamps, return stack.
    small("etmv4", Etmv4, "Cortex-A53", &[("TRCCONFIGR", "0x18c1")], Origin::Arm(Sets::A64)),
    // The same and cycle counts.
    small("ete", Ete, "ARM-AA64", &[("TRCCONFIGR", "0x18d1")], Origin::Arm(Sets::A64)),
    // Timestamps and the return stack.
    small("ptm", Ptm, "Cortex-A15", &[("ETMCR", "0x30000000")], ARM),
    small("itm", Itm, "Cortex-M4", &[], Origin::Log),
    small("stm", Stm, "Cortex-A53", &[], Origin::Log),
    small("etrace-1.0", Etrace, "", &[("version", "1.0"), ("xlen", "64")], RV64),
    small("etrace-2.0", Etrace, "", &[("version", "2.0"), ("xlen", "64")], RV64),
    small("etrace-draft", Etrace, "", &[("version", "0.026"), ("xlen", "32")], RV32),
    // Histories, timestamps, contexts and implicit returns.
    small("ntrace-htm", Ntrace, "", NTRACE_HTM, RV64),
    small("ntrace-btm", Ntrace, "", &[("xlen", "32"), ("mode", "btm")], RV32),
];

const NTRACE_HTM: &[(&str, &str)] = &[
    ("xlen", "64"),
    ("mode", "htm"),
    ("source_width", "4"),
    ("source", "5"),
    ("trTsEnable", "1"),
    ("trTeContext", "1"),
    ("implicit-return-depth", "8"),
];

/// Instructions that a random program executes.
const INSTRUCTIONS: usize = 240;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/captures")
}

#[test]
fn small_captures() {
    let bless = std::env::var_os("BLESS").is_some();
    let mut wrong = Vec::new();
    for small in ALL {
        let folder = root().join(small.folder);
        if let Err(why) = check(small, &folder, bless) {
            wrong.push(format!("{}: {why}", small.folder));
        }
    }
    assert!(wrong.is_empty(), "{} of {} captures\n{}", wrong.len(), ALL.len(), wrong.join("\n"));
    let folders = fs::read_dir(root()).unwrap().map(|entry| entry.unwrap().path());
    assert_eq!(folders.filter(|path| path.is_dir()).count(), ALL.len(), "folders without a test");
}

fn check(small: &Small, folder: &Path, bless: bool) -> Result<(), String> {
    let (path, listing) = (folder.join("log.csv"), folder.join("elements.txt"));
    if bless {
        fs::create_dir_all(folder).unwrap();
        if let Some(log) = log(small) {
            fs::write(&path, log).unwrap();
        }
    }
    let log = fs::read_to_string(&path).map_err(|error| format!("log.csv: {error}"))?;
    let made = encode(small, &log);
    let capture = folder.join("capture");
    if bless {
        let _ = fs::remove_dir_all(&capture);
        let write = match small.protocol {
            Etrace | Ntrace => tracewright::capture::folder::write,
            _ => tracewright::capture::write,
        };
        write(&made, &capture).map_err(|error| error.to_string())?;
    }
    let capture = tracewright::read_capture(&capture).map_err(|error| error.to_string())?;
    for (read, made) in capture.buffers.iter().zip(&made.buffers) {
        if read.parts().ne(made.parts()) {
            return Err(format!("the trace unit writes other bytes of the log: {}", read.name));
        }
    }
    let (text, elements) = decode(&capture);
    as_executed(&log, &elements)?;
    if bless {
        fs::write(&listing, &text).unwrap();
    }
    let want = fs::read_to_string(&listing).map_err(|error| format!("elements.txt: {error}"))?;
    let differs = want.lines().zip(text.lines()).find(|(want, got)| want != got);
    match differs {
        Some((want, got)) => Err(format!("elements.txt has\n  {want}\nand not\n  {got}")),
        None if want.lines().count() != text.lines().count() => Err("elements.txt: lines".into()),
        None => Ok(()),
    }
}

/// The execution log of a random program, and `None` for a log that is written by hand. The program
/// is the first one that executes many instructions, takes exceptions, and none of them at the
/// first instruction of another's handler.
fn log(small: &Small) -> Option<String> {
    let mut logs = (1..).map_while(|seed| Some(log_of(small, run(small, seed)?)));
    logs.find(|log| {
        let did = did(log);
        let executed = |did: &Did| matches!(did, Did::Executed(..));
        let mut addresses: Vec<_> = did.iter().copied().filter(executed).collect();
        addresses.sort();
        addresses.dedup();
        let exceptions = did.iter().filter(|did| **did == Did::Exception).count();
        let apart = did.windows(2).all(|two| two != [Did::Exception; 2]);
        addresses.len() >= 60 && (exceptions >= 2 || small.infers_exceptions()) && apart
    })
}

/// A random program, and what a processor did that ran it.
fn run(small: &Small, seed: u64) -> Option<(Arc<Image>, Vec<Step>)> {
    match small.origin {
        Origin::Arm(isa) => {
            let recipe = Recipe {
                seed,
                isa,
                functions: 4,
                waits: false,
                exceptions: false,
                ..Recipe::default()
            };
            let program = generate::program(&recipe);
            let stimulus = Stimulus {
                seed,
                interrupts: if small.infers_exceptions() { 0 } else { 60 },
                switches: 4,
                timestamps: if small.infers_exceptions() { 0 } else { 50 },
                ..Stimulus::default()
            };
            let mut steps = Machine::new(&program, stimulus).collect(INSTRUCTIONS);
            // The unit reports the last instruction because the processor halts.
            steps.push(Step::Halted);
            Some((program.image, steps))
        }
        Origin::Riscv { rv64 } => {
            let mix = program::Mix { rv64, traps: 60, ..program::Mix::default() };
            let run = program::run(seed, 120, INSTRUCTIONS, mix);
            Some((run.image, run.steps))
        }
        Origin::Log => None,
    }
}

fn log_of(small: &Small, (image, steps): (Arc<Image>, Vec<Step>)) -> String {
    let mut lookup = Lookup::new(image);
    let mut writer = Writer::new(Format::Csv, small.origin.is_rv64());
    for step in &steps {
        for event in events(step, &mut lookup) {
            writer.entry(&Entry::new(0, event));
        }
    }
    writer.finish();
    let log = String::from_utf8(writer.take()).expect("a log is text");
    log.lines().map(|line| line.trim_end_matches(',').to_owned() + "\n").collect()
}

impl Origin {
    const fn is_rv64(self) -> bool {
        matches!(self, Origin::Riscv { rv64: true })
    }
}

/// A step as a log has it.
fn events(step: &Step, lookup: &mut Lookup) -> Vec<Event> {
    match *step {
        Step::Retired(retired) => {
            let isa = retired.instruction.isa;
            vec![Event::Instruction(Executed {
                address: retired.address,
                opcode: lookup.opcode(retired.address, isa),
                isa: Some(isa),
                passed: Some(retired.taken),
                ..Executed::default()
            })]
        }
        Step::Exception(taken) => vec![Event::Raised(Raised {
            cause: Some(taken.cause),
            return_address: Some(taken.return_address),
            target: Some(taken.target),
            value: taken.value,
            ..Raised::default()
        })],
        Step::Context(context) => {
            let non_secure = match context.security {
                Some(Security::NonSecure) => Some(true),
                Some(Security::Secure) => Some(false),
                _ => None,
            };
            let mut events = vec![Event::Mode(Mode { el: context.el, non_secure })];
            events.extend(context.context_id.map(Event::ContextId));
            events.extend(context.vmid.map(Event::Vmid));
            events
        }
        step => vec![Event::Step(step)],
    }
}

/// The capture that trace units in software make of a log.
fn encode(small: &Small, log: &str) -> Capture {
    let register = |&(name, text): &(&str, &str)| {
        let number = || match text.strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(hex, 16).unwrap(),
            None => text.parse().unwrap(),
        };
        let word = small.protocol.parse_value(name, text).map(|word| word.unwrap());
        (name.to_owned(), word.unwrap_or_else(number))
    };
    let framing = match small.protocol {
        Etmv1 | Etmv2 | Etrace | Ntrace => Framing::Raw,
        _ => Framing::Coresight,
    };
    let images = match small.origin {
        Origin::Arm(_) => code(log),
        _ => Vec::new(),
    };
    let mut recorder = Recorder::new(Recording {
        protocol: small.protocol,
        registers: small.registers.iter().map(register).collect(),
        texts: Vec::new(),
        framing,
        messages: false,
        core: small.core.to_owned(),
        images,
    })
    .unwrap();
    let mut assembler = Assembler::new(Lookup::default());
    let mut step = |cpu: u16, step: &Step| recorder.step(cpu, step);
    let mut reader = Reader::new(Format::Csv, Isa::A64);
    reader.feed(log.as_bytes(), &mut |entry| assembler.entry(&entry, &mut step)).unwrap();
    reader.finish(&mut |entry| assembler.entry(&entry, &mut step)).unwrap();
    assembler.finish(&mut step);
    let mut capture = recorder.finish().unwrap();
    if let Origin::Riscv { .. } = small.origin {
        const RISCV: u16 = 243;
        capture.memory.extend(assembler.lookup().logged().dumps(RISCV));
    }
    capture
}

/// A row of a log: its cells by the names of the columns.
fn rows(log: &str) -> impl Iterator<Item = BTreeMap<&str, &str>> {
    let names: Vec<&str> = log.lines().next().unwrap_or_default().split(',').collect();
    log.lines().skip(1).map(move |line| {
        let cells = line.split(',').chain(std::iter::repeat(""));
        names.iter().copied().zip(cells).collect()
    })
}

fn hex(cell: &str) -> u64 {
    u64::from_str_radix(cell, 16).unwrap_or_else(|_| panic!("{cell:?} is not hexadecimal"))
}

/// Program memory: the instructions of a log, in dumps of addresses that follow one another.
fn code(log: &str) -> Vec<Dump> {
    let mut code: BTreeMap<u64, Vec<u8>> = BTreeMap::new();
    for row in rows(log).filter(|row| row["step"] == "instruction") {
        let opcode = hex(row["opcode"]) as u32;
        let mut bytes = opcode.to_le_bytes()[..row["opcode"].len() / 2].to_vec();
        // A wide T32 instruction is two halfwords, the first one first.
        if row["isa"] == "T32" && bytes.len() == 4 {
            bytes.rotate_left(2);
        }
        code.insert(hex(row["address"]), bytes);
    }
    let mut dumps: Vec<(u64, Vec<u8>)> = Vec::new();
    for (address, bytes) in code {
        match dumps.last_mut() {
            Some((start, dump)) if *start + dump.len() as u64 == address => dump.extend(bytes),
            _ => dumps.push((address, bytes)),
        }
    }
    let dump = |(address, bytes)| Dump::new(format!("code_{address:x}"), address, bytes);
    dumps.into_iter().map(dump).collect()
}

/// The listing of all buffers, and their elements.
fn decode(capture: &Capture) -> (String, Vec<Element>) {
    let (options, memory) = (Options::default(), Memory::new(capture));
    let (mut text, mut elements) = (Vec::new(), Elements::default());
    for (n, buffer) in capture.buffers.iter().enumerate() {
        let plan = Plan::new(capture, n, &options).expect("a source");
        let sources = Source::all(capture, &plan, &memory);
        let shown = Shown { elements: true, ..Shown::default() };
        let mut listing = Listing::new(&mut text, sources, Some(buffer.len()), shown);
        let mut session = Session::new(capture, &plan, &memory, &options).unwrap();
        session.run(buffer.parts(), &mut listing);
        listing.finish().expect("a listing in memory");
        let mut session = Session::new(capture, &plan, &memory, &options).unwrap();
        session.run(buffer.parts(), &mut elements);
    }
    (String::from_utf8(text).expect("a listing is text"), elements.0)
}

#[derive(Default)]
struct Elements(Vec<Element>);

impl Listener for Elements {
    fn element(&mut self, _: usize, _: u64, element: Element) {
        self.0.push(element);
    }
}

/// What a log and a trace both report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Did {
    /// An instruction was executed: its address and its size in bytes.
    Executed(u64, u64),
    Exception,
    /// A software write: port or channel, bits, value.
    SoftwareWrite(u64, u64, u64),
}

fn did(log: &str) -> Vec<Did> {
    let rows = rows(log);
    let did = rows.filter_map(|row| match row["step"] {
        "instruction" => Some(Did::Executed(hex(row["address"]), row["opcode"].len() as u64 / 2)),
        "exception" => Some(Did::Exception),
        "software-write" => {
            // A page of 32 ports of an ITM, or nothing; `m` and the master of an STM.
            let page = match row["target"] {
                "" => 0,
                target if target.starts_with('m') => 0,
                target => hex(target),
            };
            let channel = page << 5 | hex(row["address"]);
            Some(Did::SoftwareWrite(channel, row["size"].parse().unwrap(), hex(row["value"])))
        }
        _ => None,
    });
    did.collect()
}

/// Compares elements with the log alone: no instruction is looked up, and no block is walked.
fn as_executed(log: &str, elements: &[Element]) -> Result<(), String> {
    let halted = rows(log).last().is_some_and(|row| row["step"] == "halted");
    let log = did(log);
    let mut left = &log[..];
    let mut next = || {
        let (first, rest) = left.split_first()?;
        left = rest;
        Some(*first)
    };
    for element in elements {
        match element {
            Element::Range(range) => {
                let (mut at, end) = (range.start, range.start + u64::from(range.bytes));
                for _ in 0..range.instructions {
                    match next() {
                        Some(Did::Executed(address, size)) if address == at => at += size,
                        other => return Err(format!("{range}: at {at:#x} the log has {other:x?}")),
                    }
                }
                if at != end {
                    return Err(format!("{range} ends at {end:#x}, by the log at {at:#x}"));
                }
            }
            Element::Exception(_) => match next() {
                Some(Did::Exception) => {}
                // Entry to Debug state is an exception to a PTM, an ETMv4 and an ETE.
                None if halted => {}
                other => return Err(format!("{element:?}: the log has {other:x?}")),
            },
            Element::SoftwareWrite(write) => {
                let channel = match write.channel {
                    Channel::Port { page, port } => {
                        u64::from(page.unwrap_or(0)) << 5 | u64::from(port)
                    }
                    Channel::Master { channel, .. } => channel.map_or(0, u64::from),
                };
                let write = Did::SoftwareWrite(channel, write.bits.into(), write.value());
                match next() {
                    Some(did) if did == write => {}
                    other => return Err(format!("{write:x?}: the log has {other:x?}")),
                }
            }
            // Version 0.026 of E-Trace has packets that fit two executions.
            Element::Inconsistency(Inconsistency::Ambiguous) => {}
            Element::NoCode { .. } | Element::Undecodable { .. } | Element::Inconsistency(_) => {
                return Err(format!("{element:?}"));
            }
            _ => {}
        }
    }
    match next() {
        None if log.is_empty() => Err("an empty log".into()),
        None => Ok(()),
        Some(more) => Err(format!("the log goes on with {more:x?}")),
    }
}

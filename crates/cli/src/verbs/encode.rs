//! `tracewright encode`

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use tracewright::Capture;
use tracewright::base::{Isa, Step, StepSink};
use tracewright::capture::{Source, Spool, Text};
use tracewright::decode::parameters::resolve;
use tracewright::decode::{JUMP_TABLE, JumpTable};
use tracewright::frames::Framing;
use tracewright::image::Extensions;
use tracewright::logs::{Assembler, RecordError, Recorder, Recording};
use tracewright::protocols::encoders::AnyUnit;
use tracewright::protocols::etrace::config::PARAMETERS;
use tracewright::protocols::registry::AnyProtocol;

use crate::args::{EncodeArgs, EncodeFraming};
use crate::fail::Fail;
use crate::logs::{self, Log};

/// Runs it.
pub fn run(args: &EncodeArgs) -> Result<bool, Fail> {
    let protocol = AnyProtocol::named(&args.protocol);
    let protocol = protocol.ok_or_else(|| {
        let names = AnyProtocol::ALL.iter().flat_map(|p| p.about().names).copied();
        let known = names.collect::<Vec<_>>().join(", ");
        Fail::option("--protocol", &args.protocol, &format!("unknown; known are {known}"))
    })?;
    let mut log = Log::open(&args.log, &args.how, None)?;
    suits(protocol, log.isa, args)?;
    let (mut registers, texts) = parameters(protocol, log.isa, args)?;
    for text in &args.registers {
        if !is_text(protocol, text) {
            registers.push(register(protocol, text)?);
        }
    }
    let mut riscv = riscv(protocol, &registers, &texts);
    if riscv.zcm
        && riscv.jump_table.is_none()
        && let Some(JumpTable { address, file }) = JumpTable::of(&log.images)
    {
        eprintln!(
            "tracewright: note: jvt is taken to be {address:#x}, the symbol {JUMP_TABLE} of {file}"
        );
        riscv.jump_table = Some(address);
    }
    let mut assembler = log.assembler(&args.how, riscv)?;
    let core = args.core.clone().unwrap_or_else(|| AnyUnit::core(protocol).to_owned());
    // A trace port of its own has no frames.
    let messages = args.framing == EncodeFraming::Encapsulated;
    let framing = if protocol.has_own_port() { Framing::Raw } else { framing(args.framing) };
    let images = log.images.clone();
    let recording = Recording { protocol, registers, texts, framing, messages, core, images };
    let fail = |error: RecordError| match &error {
        RecordError::UnknownRegister { name, .. } => {
            Fail::option("--config", name, &error.to_string())
        }
        RecordError::Refused { name, .. } => Fail::option("--config", name, &error.to_string()),
        _ => Fail::option("--protocol", &args.protocol, &error.to_string()),
    };
    let mut recorder = Recorder::new(recording).map_err(fail)?;
    let cpus = args.cpus.unwrap_or(u16::MAX);
    let mut counts = Vec::new();
    let mut spools: BTreeMap<usize, Spool> = BTreeMap::new();
    let mut step = |recorder: &mut Recorder, cpu: u16, step: &Step| {
        if cpu >= cpus {
            return;
        }
        if let Step::Retired(_) = step {
            if counts.len() <= usize::from(cpu) {
                counts.resize(usize::from(cpu) + 1, 0);
            }
            let count: &mut u64 = &mut counts[usize::from(cpu)];
            if args.timestamps.is_some_and(|every| *count > 0 && count.is_multiple_of(every)) {
                recorder.step(cpu, &Step::Timestamp(*count));
            }
            *count += 1;
        }
        recorder.step(cpu, step);
    };
    loop {
        let mut out = |cpu: u16, said: &Step| step(&mut recorder, cpu, said);
        let more = log.more(&mut |entry| assembler.entry(&entry, &mut out))?;
        if !more {
            assembler.finish(&mut out);
            break;
        }
        // Memory holds no more of the trace than this, whatever comes.
        if recorder.len() >= HELD {
            spool(&mut recorder, &mut spools, args)?;
        }
    }
    // The log says no more: the processor stops there, and the trace unit says where.
    // (One of RISC-V says that when it is switched off.)
    let halts = if protocol.is_riscv() { 0 } else { assembler.cpus() };
    for cpu in 0..halts.min(usize::from(cpus)) {
        step(&mut recorder, cpu as u16, &Step::Halted);
    }
    logs::notes(&assembler);
    let waited = recorder.waited();
    let mut capture = recorder.finish().map_err(fail)?;
    for (n, spool) in spools {
        if let Some(buffer) = capture.buffers.get_mut(n) {
            spool.finish(buffer)?;
        }
    }
    let told = if protocol.is_riscv() { told(&mut assembler, &mut capture) } else { None };
    in_words(&mut capture);
    // The snapshot format describes Arm's devices only.
    if protocol.is_riscv() {
        tracewright::capture::folder::write(&capture, &args.output)?;
    } else {
        tracewright::capture::write(&capture, &args.output)?;
    }
    let bytes: u64 = capture.buffers.iter().map(|buffer| buffer.len()).sum();
    let sources = capture.sources.len();
    let count: u64 = counts.iter().sum();
    eprintln!(
        "{count} instructions of {sources} {} to {bytes} bytes of trace in {}",
        if sources == 1 { "processor" } else { "processors" },
        args.output.display()
    );
    if let Some(told) = told {
        eprintln!("tracewright: note: {told}");
    }
    if waited > 0 {
        eprintln!(
            "tracewright: note: for {waited} cycles a processor waited until its unit had room"
        );
    }
    if bytes == 0 && count > 0 {
        eprintln!(
            "tracewright: note: {} traces nothing of what the log says; see docs/encoding.md for what it does",
            args.protocol
        );
    }
    Ok(true)
}

/// Puts what was executed and is in no image into the capture, with the opcodes of the log, and says what that is.
fn told(assembler: &mut Assembler, capture: &mut Capture) -> Option<String> {
    let told = assembler.lookup().logged();
    let runs = told.runs();
    let (first, _) = runs.first()?;
    let bytes: usize = runs.iter().map(|(_, bytes)| bytes.len()).sum();
    let why = if capture.memory.is_empty() { "there is no --image" } else { "no --image has them" };
    capture.memory.extend(told.dumps(RISCV));
    Some(format!(
        "{bytes} bytes of what was executed, the first at {first:#x}, are in the capture as the log has them: {why}"
    ))
}

/// ELF, `e_machine`.
const RISCV: u16 = 243;

/// So many bytes of trace wait in memory.
const HELD: usize = 4 << 20;

/// Puts the trace so far into files.
fn spool(
    recorder: &mut Recorder,
    spools: &mut BTreeMap<usize, Spool>,
    args: &EncodeArgs,
) -> Result<(), Fail> {
    let mut done = Ok(());
    recorder.take(|n, bytes| {
        let known = match spools.entry(n) {
            Entry::Occupied(known) => Ok(known.into_mut()),
            Entry::Vacant(origin) => Spool::new(&args.output, n).map(|new| origin.insert(new)),
        };
        let appended = known.and_then(|spool| spool.append(bytes));
        if done.is_ok() {
            done = appended;
        }
    });
    Ok(done?)
}

/// Registers that a user knows by words.
fn in_words(capture: &mut Capture) {
    for source in &mut capture.sources {
        let registers = std::mem::take(&mut source.registers.0);
        for register in registers {
            let words = PARAMETERS.iter().find(|p| p.name() == register.name);
            let words = words.map_or(&[][..], |parameter| parameter.words());
            match words.iter().find(|(number, _)| u128::from(*number) == register.value) {
                Some((_, word)) => source.words.push((register.name, (*word).to_owned())),
                None => source.registers.0.push(register),
            }
        }
    }
}

/// Parameters by name.
type Numbers = Vec<(String, u64)>;

/// The parameters in a file, and what the log says of the processor; and those that are text, of the command
/// line, too.
fn parameters(
    protocol: AnyProtocol,
    isa: Isa,
    args: &EncodeArgs,
) -> Result<(Numbers, Vec<Text>), Fail> {
    let mut parameters = Vec::new();
    if protocol.is_riscv() {
        parameters.push(("xlen".to_owned(), if isa == Isa::Rv32 { 32 } else { 64 }));
    }
    let mut source = Source { device_type: args.protocol.clone(), ..Source::default() };
    source.path = "--config".into();
    if let Some(path) = &args.params {
        source.read_parameters(path)?;
        source.path.clone_from(path);
    }
    let texts = args.registers.iter().filter(|text| is_text(protocol, text));
    for (name, text) in texts.filter_map(|text| text.split_once('=')) {
        source.parameter(name.trim(), text.trim());
    }
    let mut capture = Capture { sources: vec![source], ..Capture::default() };
    resolve(&mut capture)?;
    let mut texts = Vec::new();
    for source in capture.sources {
        for register in source.registers.0 {
            let value = u64::try_from(register.value).unwrap_or(u64::MAX);
            parameters.push((register.name, value));
        }
        texts.extend(source.texts);
    }
    Ok((parameters, texts))
}

/// Whether `NAME=VALUE` gives a parameter that is text.
fn is_text(protocol: AnyProtocol, text: &str) -> bool {
    text.split_once('=').is_some_and(|(name, _)| protocol.has_text(name.trim()))
}

/// What RISC-V opcodes mean to the processors of such units.
fn riscv(protocol: AnyProtocol, registers: &[(String, u64)], texts: &[Text]) -> Extensions {
    let value = |name: &str| {
        let given = registers.iter().rev().find(|(known, _)| known.eq_ignore_ascii_case(name));
        given.map(|(_, value)| *value)
    };
    let Ok(mut config) = protocol.configure(None, &value) else { return Extensions::NONE };
    for Text { name, text, .. } in texts {
        // What is wrong was said when they were settled.
        let _ = config.set_text(name, text);
    }
    config.riscv()
}

/// `NAME=VALUE`.
fn register(protocol: AnyProtocol, text: &str) -> Result<(String, u64), Fail> {
    if let Some((name, word)) = text.split_once('=') {
        let name = name.trim();
        let is = |known: &&str| known.eq_ignore_ascii_case(name);
        let mut registers = protocol.about().registers.iter();
        let known = registers.any(|r| is(&r.name) || r.aliases.iter().any(is));
        match protocol.parse_value(name, word.trim()) {
            Some(Ok(value)) => return Ok((name.to_owned(), value)),
            Some(Err(why)) if known => return Err(Fail::option("--config", text, &why)),
            _ => {}
        }
    }
    let wrong = || Fail::option("--config", text, "expected NAME=VALUE, as TRCCONFIGR=0x18c1");
    let (name, value) = text.split_once('=').ok_or_else(wrong)?;
    let value = value.trim();
    let number = match value.strip_prefix("0x").or_else(|| value.strip_prefix("0X")) {
        Some(hex) => u64::from_str_radix(hex, 16),
        None => value.parse(),
    };
    Ok((name.trim().to_owned(), number.map_err(|_| wrong())?))
}

/// Whether units of `protocol` can watch a core that executes `isa`.
fn suits(protocol: AnyProtocol, isa: Isa, args: &EncodeArgs) -> Result<(), Fail> {
    let isas = protocol.about().isas;
    let suits = isas.is_empty() || isas.contains(&isa);
    if suits {
        return Ok(());
    }
    let what =
        format!("cannot trace {isa}; where the log is of another instruction set, say --isa");
    Err(Fail::option("--protocol", &args.protocol, &what))
}

fn framing(framing: EncodeFraming) -> Framing {
    match framing {
        EncodeFraming::Raw | EncodeFraming::Encapsulated => Framing::Raw,
        EncodeFraming::Coresight => Framing::Coresight,
        EncodeFraming::Tpiu => Framing::Tpiu,
        EncodeFraming::TpiuHsync => Framing::TpiuHalf,
        EncodeFraming::Dstream => Framing::Dstream,
    }
}

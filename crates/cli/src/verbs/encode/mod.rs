//! `tracewright encode`

mod sweep;
mod trial;

use std::path::Path;

use tracewright::base::{Context, Isa, Step};
use tracewright::capture::perf::{self, Form, Layout};
use tracewright::capture::{Capture, Form as DumpForm, check_empty};
use tracewright::decode::{JUMP_TABLE, JumpTable};
use tracewright::encode::{
    EncodeError, Encoded, LogEncoder, LoggedCode, Settings, SinkError, SinkKind, SinkSettings,
    Stored, supports, write,
};
use tracewright::frames::Framing;
use tracewright::image::Extensions;
use tracewright::logs::{Assembler, RecordError, Recording};
use tracewright::protocols::encoders::AnyUnit;
use tracewright::protocols::registry::AnyProtocol;
use tracewright::units::values;

use self::trial::Without;
use crate::args::{EncodeArgs, EncodeFraming, EncodeTo, SinkArgs, name};
use crate::fail::Fail;
use crate::inputs::{Inputs, read_text};
use crate::logs::{self, Log};
use crate::message;
use crate::output::Output;

/// TRCCONFIGR that perf programs: CID, TS and RS. (Bits 6, 11 and 12)
const PERF_TRCCONFIGR: u64 = 0x1841;

/// Runs the verb.
pub fn run(args: &EncodeArgs) -> Result<bool, Fail> {
    let protocol = protocol(args)?;
    let inputs = Inputs::default()
        .file(Some(&args.log))
        .file(args.params.as_deref())
        .file(args.program.as_deref())
        .images(&args.how.images);
    let Some(path) = args.output.as_deref() else { return sweep::run(args, protocol, &inputs) };
    let perf = match args.to {
        EncodeTo::Folder => {
            check_empty(path)?;
            None
        }
        EncodeTo::Perf | EncodeTo::PerfPipe => Some(Output::open(Some(path), &inputs)?),
    };
    let mut log = open(args, protocol)?;
    let sink = args.sink.settings();
    let sink = sink.map_err(|error| sink_error(&args.sink, &error))?;
    let chosen = chosen_framing(protocol, args.framing)?;
    let link = match &sink {
        Some(sink) => sink_framing(sink, protocol, chosen)?,
        None => framing(chosen),
    };
    let settings = settings(args, protocol, log.isa, &args.registers)?;
    for note in settings.assumed.iter().map(String::as_str).chain(settings.note()) {
        message::line(&format!("tracewright: note: {note}"));
    }
    let (riscv, note) = extensions(&settings, &log);
    if let Some(note) = note {
        message::line(&note);
    }
    let mut assembler = log.assembler(&args.how, riscv)?;
    let mut without = Without::new(args, protocol, &log, &settings)?;
    let recording = recording(args, &log, settings, chosen, link);
    let encoder = LogEncoder::new(recording, path, args.timestamps, args.cpus);
    let mut encoder = encoder.map_err(|error| record_error(args, &error))?;
    if let Some(sink) = sink {
        encoder = encoder.with_sink(sink);
    }
    encode(&mut log, &mut assembler, &mut encoder, &mut without)?;
    logs::notes(&assembler);
    let encoded = encoder.finish(&mut assembler).map_err(|error| match error {
        EncodeError::Record(error) => record_error(args, &error),
        EncodeError::File(error) => error.into(),
    })?;
    match perf {
        None => write(protocol, &encoded.capture, path)?,
        Some(output) => write_perf(&encoded.capture, args.to, output)?,
    }
    report(args, path, &encoded, assembler.summary.software);
    if let Some(note) = without.note() {
        message::line(&note);
    }
    Ok(true)
}

/// Opens the log of `args`, whose instructions a trace unit of `protocol` can trace.
fn open(args: &EncodeArgs, protocol: AnyProtocol) -> Result<Log<'_>, Fail> {
    let log = Log::open_live(&args.log, &args.how)?;
    if supports(protocol, log.isa) {
        return Ok(log);
    }
    let isa = log.isa;
    let what = format!("cannot trace {isa}; select the instruction set of the log with --isa");
    Err(Fail::option("--protocol", &args.protocol, &what))
}

/// What the trace units with `settings` record of `log`.
fn recording(
    args: &EncodeArgs,
    log: &Log<'_>,
    settings: Settings,
    chosen: EncodeFraming,
    framing: Framing,
) -> Recording {
    let protocol = settings.protocol;
    Recording {
        protocol,
        registers: settings.registers,
        texts: settings.texts,
        framing,
        messages: chosen == EncodeFraming::Encapsulated,
        core: args.core.clone().unwrap_or_else(|| AnyUnit::core(protocol).to_owned()),
        images: log.images.clone(),
    }
}

/// The protocol of `args`.
fn protocol(args: &EncodeArgs) -> Result<AnyProtocol, Fail> {
    AnyProtocol::named(&args.protocol).ok_or_else(|| {
        let names = AnyProtocol::ALL.iter().flat_map(|p| p.about().names).copied();
        let known = names.collect::<Vec<_>>().join(", ");
        let what = format!("unknown protocol; expected one of {known}");
        Fail::option("--protocol", &args.protocol, &what)
    })
}

/// The settings of the trace unit. `registers`, of the form `NAME=VALUE`, replace those of the
/// files.
fn settings(
    args: &EncodeArgs,
    protocol: AnyProtocol,
    isa: Isa,
    registers: &[String],
) -> Result<Settings, Fail> {
    let (name, params) = (&args.protocol, args.params.as_deref());
    let mut settings = Settings::new(protocol, name, isa, params, registers)?;
    if let Some(path) = &args.program {
        let text = read_text(path)?;
        let program = values::read(&text).map_err(|e| Fail::input(path, &e.to_string()))?;
        settings.registers.splice(0..0, program);
    }
    if let Some(core) = &args.core {
        settings.set_core(core);
    }
    if args.to != EncodeTo::Folder {
        settings.or_trcconfigr(PERF_TRCCONFIGR);
    }
    Ok(settings)
}

/// The extensions of the processor, with the jump table of the images of `log` where `settings`
/// have none, and a note about that.
fn extensions(settings: &Settings, log: &Log<'_>) -> (Extensions, Option<String>) {
    let mut riscv = settings.extensions();
    let mut note = None;
    if riscv.zcm
        && riscv.jump_table.is_none()
        && let Some(JumpTable { address, file }) = JumpTable::of(&log.images)
    {
        note = Some(format!(
            "tracewright: note: jvt is taken to be {address:#x}, the symbol {JUMP_TABLE} of {file}"
        ));
        riscv.jump_table = Some(address);
    }
    (riscv, note)
}

/// The error of the option that cannot be recorded.
fn record_error(args: &EncodeArgs, error: &RecordError) -> Fail {
    let (option, value) = match error {
        RecordError::UnknownRegister { name, .. } => ("--config", name.as_str()),
        RecordError::Refused { name, .. } => ("--config", *name),
        _ => ("--protocol", args.protocol.as_str()),
    };
    Fail::option(option, value, &error.to_string())
}

/// Encodes the entries of `log`, also in the trials of `without`.
fn encode(
    log: &mut Log<'_>,
    assembler: &mut Assembler,
    encoder: &mut LogEncoder,
    without: &mut Without<'_>,
) -> Result<(), Fail> {
    let threads = without.threads();
    while log.more(&mut |entry| {
        without.entry(&entry);
        assembler.entry(&entry, &mut |cpu: u16, step: &_| add(encoder, cpu, step, threads));
    })? {
        encoder.spool()?;
    }
    assembler.finish(&mut |cpu, step: &_| encoder.step(cpu, step));
    Ok(())
}

/// Encodes a step. `threads`: each processor executes a thread of its own.
fn add(encoder: &mut LogEncoder, cpu: u16, step: &Step, threads: bool) {
    match step {
        Step::Context(context) if threads => {
            let thread = Some(perf::Recording::default().thread(cpu.into()));
            // Where the unit traces the VMID, perf takes it for CONTEXTIDR_EL2.
            let context = Context { context_id: thread, vmid: thread, ..*context };
            encoder.step(cpu, &Step::Context(context));
        }
        step => encoder.step(cpu, step),
    }
}

/// Writes `capture` as a perf.data file.
fn write_perf(capture: &Capture, to: EncodeTo, mut output: Output) -> Result<(), Fail> {
    let form = if to == EncodeTo::PerfPipe { Form::Pipe } else { Form::File };
    let command = ["tracewright", "encode", "--to", "perf"].map(str::to_owned).to_vec();
    let data = perf::Recording { form, command, ..perf::Recording::default() }.of(capture);
    let data = data.map_err(|why| Fail::option("--to", "perf", &why.to_string()));
    capture.remove_spooled();
    output.put(&data?.write(Layout::default()));
    output.failed()?;
    output.close()
}

/// `, N bits an instruction`, where there are instructions.
fn bits_per_instruction(bytes: u64, instructions: u64) -> String {
    match instructions {
        0 => String::new(),
        count => format!(", {:.3} bits an instruction", bytes as f64 * 8.0 / count as f64),
    }
}

/// Prints what was encoded, and what the trace lacks. `software`: the software writes and DWT
/// events of the log.
fn report(args: &EncodeArgs, path: &Path, encoded: &Encoded, software: u64) {
    let capture = &encoded.capture;
    let bytes: u64 = capture.buffers.iter().map(|buffer| buffer.len()).sum();
    let (count, sources) = (encoded.instructions, capture.sources.len());
    let events = match (count, software) {
        (0, 1..) => format!("{software} software writes and DWT events"),
        _ => format!("{count} instructions"),
    };
    message::line(&format!(
        "{events} of {sources} {} to {bytes} bytes of trace{} in {}",
        if sources == 1 { "processor" } else { "processors" },
        bits_per_instruction(bytes, count),
        path.display()
    ));
    let note = |text: &str| message::line(&format!("tracewright: note: {text}"));
    if let Some(LoggedCode { first, bytes, beside_images }) = encoded.logged {
        let why = if beside_images { "no --image contains them" } else { "there is no --image" };
        note(&format!(
            "{bytes} bytes of executed code, the first at {first:#x}, are taken from the log: {why}"
        ));
    }
    for Stored { name, accepted, discarded } in &encoded.stored {
        let lost = match discarded {
            0 => String::new(),
            lost => format!(", and {lost} bytes came after it had stopped"),
        };
        note(&format!("{name} accepted {accepted} bytes{lost}"));
    }
    if encoded.stalled > 0 {
        let stalled = encoded.stalled;
        note(&format!(
            "processors were stalled for {stalled} cycles until their trace units had room"
        ));
    }
    if args.to != EncodeTo::Folder && capture.memory.iter().any(|dump| dump.form != DumpForm::Elf) {
        note(
            "memory that is not in an ELF image is mapped from files that must be given with \
             --binary",
        );
    }
    if bytes == 0 && count + software > 0 {
        note(&format!(
            "{} traces nothing that the log contains; docs/encoding.md lists what it traces",
            args.protocol
        ));
    }
}

/// Why no framing contains the trace of `protocol`.
fn without_frames(protocol: AnyProtocol) -> Option<&'static str> {
    match protocol {
        AnyProtocol::Mtb => Some("an MTB stores its trace without frames; select raw"),
        _ if protocol.has_own_port() => {
            Some("the trace unit has a trace port of its own, without frames; select raw")
        }
        _ => None,
    }
}

/// The framing of `args`, or the usual one of `protocol`.
fn chosen_framing(
    protocol: AnyProtocol,
    args: Option<EncodeFraming>,
) -> Result<EncodeFraming, Fail> {
    match (args, without_frames(protocol)) {
        // What reads the trace of RISC-V reads no formatter frames.
        (None, None) if protocol.is_riscv() => Ok(EncodeFraming::Raw),
        (None, None) => Ok(EncodeFraming::Coresight),
        (None, Some(_)) => Ok(EncodeFraming::Raw),
        // The recorder refuses messages of other protocols.
        (Some(framing @ (EncodeFraming::Raw | EncodeFraming::Encapsulated)), _)
        | (Some(framing), None) => Ok(framing),
        (Some(framing), Some(why)) => Err(Fail::option("--framing", &name(framing), why)),
    }
}

/// The error of the option that describes an impossible trace buffer.
fn sink_error(args: &SinkArgs, error: &SinkError) -> Fail {
    let (option, text) = match error {
        SinkError::Size(_) => ("--size", args.size.unwrap_or(0).to_string()),
        SinkError::Mode => ("--mode", "wrap".to_owned()),
        SinkError::Delay => ("--trigger-delay", args.trigger_delay.to_string()),
    };
    Fail::option(option, &text, &error.to_string())
}

/// The framing of trace in a trace buffer: a Trace Buffer Unit has no formatter.
fn sink_framing(
    sink: &SinkSettings,
    protocol: AnyProtocol,
    framing: EncodeFraming,
) -> Result<Framing, Fail> {
    let refused = |what| Err(Fail::option("--sink", &sink.kind().name().to_lowercase(), what));
    match (sink.kind(), framing) {
        (SinkKind::Trbe, _) if !matches!(protocol, AnyProtocol::Ete | AnyProtocol::Etmv4) => {
            refused("stores the trace of an ETE or ETM4; select --protocol ETE")
        }
        (_, _) if without_frames(protocol).is_some() || protocol.is_riscv() => refused(
            "stores the trace of CoreSight trace units; select etr or etb and another protocol",
        ),
        (SinkKind::Trbe, EncodeFraming::Coresight | EncodeFraming::Raw) => Ok(Framing::Raw),
        (_, EncodeFraming::Coresight) => Ok(Framing::Coresight),
        (_, EncodeFraming::Raw) => Ok(Framing::Raw),
        _ => refused("stores coresight or raw trace; select another --framing"),
    }
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

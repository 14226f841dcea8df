//! `tracewright encode`

use tracewright::capture::check_empty;
use tracewright::decode::{JUMP_TABLE, JumpTable};
use tracewright::encode::{EncodeError, LogEncoder, LoggedCode, Settings, supports, write};
use tracewright::frames::Framing;
use tracewright::logs::{RecordError, Recording};
use tracewright::protocols::encoders::AnyUnit;
use tracewright::protocols::registry::AnyProtocol;
use tracewright::units::values;

use crate::args::{EncodeArgs, EncodeFraming};
use crate::fail::Fail;
use crate::logs::{self, Log};
use crate::message;

/// Runs the verb.
pub fn run(args: &EncodeArgs) -> Result<bool, Fail> {
    let protocol = AnyProtocol::named(&args.protocol);
    let protocol = protocol.ok_or_else(|| {
        let names = AnyProtocol::ALL.iter().flat_map(|p| p.about().names).copied();
        let known = names.collect::<Vec<_>>().join(", ");
        let what = format!("unknown protocol; expected one of {known}");
        Fail::option("--protocol", &args.protocol, &what)
    })?;
    check_empty(&args.output)?;
    let mut log = Log::open(&args.log, &args.how, None)?;
    if !supports(protocol, log.isa) {
        let isa = log.isa;
        let what = format!("cannot trace {isa}; select the instruction set of the log with --isa");
        return Err(Fail::option("--protocol", &args.protocol, &what));
    }
    let (name, params) = (&args.protocol, args.params.as_deref());
    let mut settings = Settings::new(protocol, name, log.isa, params, &args.registers)?;
    if let Some(path) = &args.program {
        let text = std::fs::read_to_string(path);
        let text = text.map_err(|error| Fail::input(path, &error.to_string()))?;
        let program = values::read(&text).map_err(|e| Fail::input(path, &e.to_string()))?;
        // Values of the command line replace those of the file.
        settings.registers.splice(0..0, program);
    }
    if let Some(note) = settings.note() {
        eprintln!("tracewright: note: {note}");
    }
    let mut riscv = settings.extensions();
    if riscv.zcm
        && riscv.jump_table.is_none()
        && let Some(JumpTable { address, file }) = JumpTable::of(&log.images)
    {
        message::line(&format!(
            "tracewright: note: jvt is taken to be {address:#x}, the symbol {JUMP_TABLE} of {file}"
        ));
        riscv.jump_table = Some(address);
    }
    let mut assembler = log.assembler(&args.how, riscv)?;
    let recording = Recording {
        protocol,
        registers: settings.registers,
        texts: settings.texts,
        framing: if protocol.has_own_port() { Framing::Raw } else { framing(args.framing) },
        messages: args.framing == EncodeFraming::Encapsulated,
        core: args.core.clone().unwrap_or_else(|| AnyUnit::core(protocol).to_owned()),
        images: log.images.clone(),
    };
    let fail = |error: RecordError| match &error {
        RecordError::UnknownRegister { name, .. } => {
            Fail::option("--config", name, &error.to_string())
        }
        RecordError::Refused { name, .. } => Fail::option("--config", name, &error.to_string()),
        _ => Fail::option("--protocol", &args.protocol, &error.to_string()),
    };
    let encoder = LogEncoder::new(recording, &args.output, args.timestamps, args.cpus);
    let mut encoder = encoder.map_err(fail)?;
    while log.more(&mut |entry| {
        assembler.entry(&entry, &mut |cpu, step: &_| encoder.step(cpu, step));
    })? {
        encoder.spool()?;
    }
    assembler.finish(&mut |cpu, step: &_| encoder.step(cpu, step));
    logs::notes(&assembler);
    let encoded = encoder.finish(&mut assembler).map_err(|error| match error {
        EncodeError::Record(error) => fail(error),
        EncodeError::File(error) => error.into(),
    })?;
    let capture = &encoded.capture;
    write(protocol, capture, &args.output)?;
    let bytes: u64 = capture.buffers.iter().map(|buffer| buffer.len()).sum();
    let (count, sources) = (encoded.instructions, capture.sources.len());
    message::line(&format!(
        "{count} instructions of {sources} {} to {bytes} bytes of trace in {}",
        if sources == 1 { "processor" } else { "processors" },
        args.output.display()
    ));
    if let Some(LoggedCode { first, bytes, beside_images }) = encoded.logged {
        let why = if beside_images { "no --image contains them" } else { "there is no --image" };
        message::line(&format!(
            "tracewright: note: {bytes} bytes of executed code, the first at {first:#x}, are taken \
             from the log: {why}"
        ));
    }
    if encoded.stalled > 0 {
        let stalled = encoded.stalled;
        message::line(&format!(
            "tracewright: note: processors were stalled for {stalled} cycles until their trace units \
             had room"
        ));
    }
    if bytes == 0 && count > 0 {
        message::line(&format!(
            "tracewright: note: {} traces nothing that the log contains; docs/encoding.md lists what \
             it traces",
            args.protocol
        ));
    }
    Ok(true)
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

//! The example that is built in: a program, and the trace of it, made from nothing but the crates' own words.

mod elf;
mod program;
mod trace;

use tracewright::Capture;
use tracewright::capture::{
    Buffer, BufferRef, Core, Dump, Form, Format, Kind, Owner, Registers, Source,
};

/// The trace ids of the two sources.
const ETM: u8 = 0x10;
const ITM: u8 = 0x20;

/// The registers of the trace unit: context identifiers, timestamps and the return stack are on.
const ETM_REGISTERS: [(&str, u64); 6] = [
    ("TRCCONFIGR", 0x1841),
    ("TRCTRACEIDR", ETM as u64),
    ("TRCIDR0", 0x2800_0ea1),
    ("TRCIDR1", 0x4100_f403),
    ("TRCIDR2", 0x0000_0488),
    ("TRCIDR8", 0),
];

/// The example as a capture. `None` where it cannot be made, which a test rules out.
pub fn capture() -> Option<Capture> {
    let buffer = Buffer::new("ETB", Format::CoreSight, trace::frames()?);
    let buffers = vec![BufferRef { buffer: 0, stream: None }];
    let etm = Source {
        name: "ETM_0".into(),
        device_type: "ETM4.0".into(),
        registers: Registers::from_iter(ETM_REGISTERS),
        core: Some(0),
        buffers: buffers.clone(),
        ..Source::default()
    };
    let itm = Source {
        name: "ITM_0".into(),
        device_type: "ITM".into(),
        // ITMENA and TSENA on, and the trace id in bits [22:16].
        registers: Registers::from_iter([("ITMTCR", u64::from(ITM) << 16 | 0b11)]),
        buffers,
        ..Source::default()
    };
    let core = Core { name: "cpu_0".into(), device_type: "Cortex-A53".into(), ..Core::default() };
    let image = Dump {
        name: "demo.elf".into(),
        file: "demo.elf".into(),
        owner: Owner::Any,
        form: Form::Elf,
        bytes: Some(elf::elf(program::START, &program::code()?, program::SYMBOLS).into()),
        ..Dump::default()
    };
    Some(Capture {
        kind: Kind::Memory,
        description: Some("squares 3, 2 and 1, then asks the operating system".into()),
        buffers: vec![buffer],
        sources: vec![etm, itm],
        cores: vec![core],
        memory: vec![image],
        ..Capture::default()
    })
}

//! The built-in example: a program and its trace, made by the packet encoders of the library.

mod elf;
mod program;
mod trace;

use tracewright::Capture;
use tracewright::capture::{
    Buffer, BufferRef, Core, Dump, Form, Format, Kind, Owner, Registers, Source,
};

use self::trace::{ETM_REGISTERS, ITM};

/// The example as a capture. `None` where an instruction cannot be encoded, which a test excludes.
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
        description: Some("squares 3, 2 and 1, then calls the operating system".into()),
        buffers: vec![buffer],
        sources: vec![etm, itm],
        cores: vec![core],
        memory: vec![image],
        ..Capture::default()
    })
}

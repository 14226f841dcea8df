//! The built-in examples: a program for a Cortex-M7, and the trace of an execution of it;
//! [`heater`] is the one with data accesses.
//!
//! | file | contents |
//! |---|---|
//! | `program.c`, `program.ld` | the program |
//! | `program.elf` | the program, compiled with symbols and line numbers |
//! | `trace.bin` | what an ETMv4 and an ITM trace of its execution, in formatter frames |
//!
//! The program is executed by QEMU, and its execution is encoded by the trace units in software:
//! `tests/cli/demo.rs` makes `program.elf` and `trace.bin`, and checks them.

use tracewright::Capture;
use tracewright::capture::{
    Buffer, BufferRef, Core, Dump, Form, Format, Kind, Owner, Registers, Source,
};

pub mod heater;

/// An example.
#[derive(Clone, Copy, Debug)]
pub struct Example {
    /// The capture.
    pub capture: fn() -> Capture,
    /// The source of the program.
    pub source: &'static str,
    /// The name of the source in the line table of the program.
    pub name: &'static str,
}

/// The program that places queens.
pub const QUEENS: Example =
    Example { capture, source: include_str!("program.c"), name: "program.c" };

/// The registers of the ETM: timestamps and the return stack are on; addresses have 32 bits.
const ETM: [(&str, u64); 6] = [
    ("TRCCONFIGR", 0x1801),
    ("TRCTRACEIDR", 0x10),
    ("TRCIDR0", 0x2800_0ea1),
    ("TRCIDR1", 0x4100_f402),
    ("TRCIDR2", 0x0000_0004),
    ("TRCIDR8", 0),
];

/// The registers of the ITM: on, with local timestamps and software writes; the trace ID is in bits
/// \[22:16]. (Armv7-M ARM, C1.7.6)
const ITM: [(&str, u64); 1] = [("ITMTCR", 0x0020_000b)];

fn capture() -> Capture {
    let buffers = vec![BufferRef { buffer: 0, stream: None }];
    let etm = Source {
        name: "ETM_0".into(),
        device_type: "ETM4.0".into(),
        registers: Registers::from_iter(ETM),
        core: Some(0),
        buffers: buffers.clone(),
        ..Source::default()
    };
    let itm = Source {
        name: "ITM_0".into(),
        device_type: "ITM".into(),
        registers: Registers::from_iter(ITM),
        buffers,
        ..Source::default()
    };
    let core = Core { name: "cpu_0".into(), device_type: "Cortex-M7".into(), ..Core::default() };
    let image = Dump {
        name: "program.elf".into(),
        file: "program.elf".into(),
        owner: Owner::Any,
        form: Form::Elf,
        bytes: Some(include_bytes!("program.elf").to_vec().into()),
        ..Dump::default()
    };
    Capture {
        kind: Kind::Memory,
        description: Some("places queens on a chessboard, and divides by zero".into()),
        buffers: vec![Buffer::new("ETB", Format::CoreSight, include_bytes!("trace.bin").to_vec())],
        sources: vec![etm, itm],
        cores: vec![core],
        memory: vec![image],
        ..Capture::default()
    }
}

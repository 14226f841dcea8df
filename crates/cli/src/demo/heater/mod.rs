//! The example with data accesses: a program for a Cortex-R5 whose limit is overwritten.
//!
//! | file | contents |
//! |---|---|
//! | `heater.c`, `heater.ld` | the program |
//! | `heater.elf` | the program, compiled with symbols and line numbers |
//! | `trace.bin` | what an ETMv3 traces of its execution, with addresses and values of data |
//!
//! The program is executed by QEMU, and its execution is encoded by the trace unit in software:
//! `tests/cli/heater.rs` makes `heater.elf` and `trace.bin`, and checks them.

use tracewright::Capture;
use tracewright::capture::{
    Buffer, BufferRef, Core, Dump, Form, Format, Kind, Owner, Registers, Source,
};

use super::Example;

/// The program that controls a heater.
pub const HEATER: Example = Example { capture, source: include_str!("heater.c"), name: "heater.c" };

/// The registers of the ETM of a Cortex-R5: addresses and values of data are traced, in bits
/// \[3:2] of ETMCR. (ETM architecture, 3.5.1)
const ETM: [(&str, u64); 4] =
    [("ETMCR", 0xc), ("ETMTRACEIDR", 0x10), ("ETMIDR", 0x4104_f230), ("ETMCCER", 0x9ba)];

fn capture() -> Capture {
    let etm = Source {
        name: "ETM_0".into(),
        device_type: "ETM3.3".into(),
        registers: Registers::from_iter(ETM),
        core: Some(0),
        buffers: vec![BufferRef { buffer: 0, stream: None }],
        ..Source::default()
    };
    let image = Dump {
        name: "heater.elf".into(),
        file: "heater.elf".into(),
        owner: Owner::Any,
        form: Form::Elf,
        bytes: Some(include_bytes!("heater.elf").to_vec().into()),
        ..Dump::default()
    };
    Capture {
        kind: Kind::Memory,
        description: Some("controls a heater, and overwrites its limit".into()),
        buffers: vec![Buffer::new("ETB", Format::CoreSight, include_bytes!("trace.bin").to_vec())],
        sources: vec![etm],
        cores: vec![Core {
            name: "cpu_0".into(),
            device_type: "Cortex-R5".into(),
            ..Core::default()
        }],
        memory: vec![image],
        ..Capture::default()
    }
}

//! Captures of workloads; captures repeated to a length.

use std::path::Path;

use tracewright::Capture;
use tracewright::capture::{Buffer, BufferRef, Core, Dump, Format, OpenError, Registers, Source};
use tracewright::frames::{Framing, Joiner};

use crate::unit::{ID, REGISTERS, TIMED_REGISTERS};
use crate::walk::timed;
use crate::{Workload, trace};

/// The seed of execution.
pub const SEED: u64 = 4;

/// A capture of `workload` with about `bytes` bytes of trace, in formatter frames. `None` if the
/// workload cannot be traced.
pub fn made(workload: Workload, bytes: usize) -> Option<Capture> {
    let program = workload.program();
    // A frame of 16 bytes holds 15 bytes of a single source.
    let raw = trace(&program, SEED, bytes / 16 * 15)?.bytes;
    let mut frames = Vec::with_capacity(bytes + 64);
    let mut joiner = Joiner::new(Framing::Coresight);
    joiner.push(ID, &raw, &mut frames).ok()?;
    joiner.finish(&mut frames);
    Some(Capture {
        description: Some(format!("the workload `{}`", workload.name())),
        buffers: vec![Buffer::new("ETR", Format::CoreSight, frames)],
        sources: vec![etm(0, REGISTERS)],
        cores: vec![core(0)],
        memory: vec![Dump::new("program", program.address, program.code()?)],
        ..Capture::default()
    })
}

/// A capture of [`Workload::Large`] on two processors with timestamps, with about `bytes` bytes of
/// trace in formatter frames. `None` if the workload cannot be traced.
pub fn cores(bytes: usize) -> Option<Capture> {
    let program = Workload::Large.program();
    let each = bytes / 32 * 15;
    let traces = [timed(&program, SEED, each)?.bytes, timed(&program, SEED + 1, each)?.bytes];
    let mut frames = Vec::with_capacity(bytes + 64);
    let mut joiner = Joiner::new(Framing::Coresight);
    let [mut first, mut second] = traces.each_ref().map(|trace| trace.chunks(AT_ONCE));
    while let (Some(one), Some(other)) = (first.next(), second.next()) {
        joiner.push(ID, one, &mut frames).ok()?;
        joiner.push(ID + 1, other, &mut frames).ok()?;
    }
    joiner.finish(&mut frames);
    let with_id = |n: usize| {
        let mut registers = TIMED_REGISTERS;
        for (name, value) in &mut registers {
            if *name == "TRCTRACEIDR" {
                *value += n as u64;
            }
        }
        etm(n, registers)
    };
    Some(Capture {
        description: Some("the workload `large` on two processors with timestamps".into()),
        buffers: vec![Buffer::new("ETR", Format::CoreSight, frames)],
        sources: (0..2).map(with_id).collect(),
        cores: (0..2).map(core).collect(),
        memory: vec![Dump::new("program", program.address, program.code()?)],
        ..Capture::default()
    })
}

/// Bytes of one source in a row.
const AT_ONCE: usize = 100;

fn etm(n: usize, registers: [(&str, u64); 6]) -> Source {
    Source {
        name: format!("ETM_{n}"),
        device_type: "ETM4.2".into(),
        registers: Registers::from_iter(registers),
        core: Some(n),
        buffers: vec![BufferRef { buffer: 0, stream: None }],
        ..Source::default()
    }
}

fn core(n: usize) -> Core {
    Core { name: format!("cpu_{n}"), device_type: "Cortex-A72".into(), ..Core::default() }
}

/// The capture at `path` with its first buffer repeated up to at least `bytes` bytes, and without
/// other buffers. Frames stay complete.
///
/// # Errors
/// [`OpenError`] if there is no capture at `path`.
pub fn repeated(path: &Path, bytes: usize) -> Result<Capture, OpenError> {
    let mut capture = tracewright::read_capture(path)?;
    capture.buffers.truncate(1);
    for source in &mut capture.sources {
        source.buffers.retain(|link| link.buffer == 0);
    }
    for buffer in &mut capture.buffers {
        let once = buffer.bytes().into_owned();
        let times = bytes.div_ceil(once.len().max(1)).max(1);
        *buffer = Buffer::new(buffer.name.clone(), buffer.format.clone(), once.repeat(times));
    }
    Ok(capture)
}

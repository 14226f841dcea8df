//! Traces and programs as captures; captures made longer.

use std::path::Path;

use tracewright::Capture;
use tracewright::capture::{Buffer, BufferRef, Core, Dump, Format, OpenError, Registers, Source};
use tracewright::frames::{Framing, Joiner};

use crate::unit::{ID, REGISTERS};
use crate::{Workload, trace};

/// The seed of what programs do.
pub const SEED: u64 = 4;

/// A trace of `workload`, about `bytes` long, in formatter frames. `None` where it cannot be made.
pub fn made(workload: Workload, bytes: usize) -> Option<Capture> {
    let program = workload.program();
    // A frame of 16 bytes holds 15 of a source that is alone.
    let raw = trace(&program, SEED, bytes / 16 * 15)?.bytes;
    let mut frames = Vec::with_capacity(bytes + 64);
    let mut joiner = Joiner::new(Framing::Coresight);
    joiner.push(ID, &raw, &mut frames).ok()?;
    joiner.finish(&mut frames);
    let etm = Source {
        name: "ETM_0".into(),
        device_type: "ETM4.2".into(),
        registers: Registers::from_iter(REGISTERS),
        core: Some(0),
        buffers: vec![BufferRef { buffer: 0, stream: None }],
        ..Source::default()
    };
    let core = Core { name: "cpu_0".into(), device_type: "Cortex-A72".into(), ..Core::default() };
    Some(Capture {
        description: Some(format!("the workload `{}`", workload.name())),
        buffers: vec![Buffer::new("ETR", Format::CoreSight, frames)],
        sources: vec![etm],
        cores: vec![core],
        memory: vec![Dump::new("program", program.address, program.code()?)],
        ..Capture::default()
    })
}

/// The capture at `path`, its first buffer again and again until it is `bytes` long; the others are
/// left out. Frames stay whole.
///
/// # Errors
/// Where there is no capture.
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

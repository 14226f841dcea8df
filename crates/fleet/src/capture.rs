//! What a unit is a part of: a capture, and how it is decoded.

use std::sync::Arc;

use tracewright::Trace;
use tracewright::analysis::coverage_runs::{Digest, Digester};
use tracewright::capture::Buffer;
use tracewright::decode::Plan;
use tracewright::index::build::{fill, from};
use tracewright::index::{Index, IndexedBuffer};

use crate::error::FleetError;
use crate::program_sums::ProgramSums;

/// Bytes that are read at a time.
const READ: usize = 1 << 18;

/// A buffer of a capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extent {
    /// The number of the buffer in the capture.
    pub number: usize,
    /// Its name there.
    pub name: Arc<str>,
    /// The number of bytes.
    pub bytes: u64,
    /// The number of segments; 1 where there is no index.
    pub segments: usize,
}

/// The identity of a capture, and of how it is decoded. Paths, times and names of machines are not
/// part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaptureIdentity {
    /// The digest of the trace data.
    pub data: Digest,
    /// The digest of program memory: of its content, of which that of mapped files is their code.
    pub programs: Digest,
    /// The digest of the registers and of the options of the decoder.
    pub options: Digest,
    /// The buffers, in order of their numbers.
    pub buffers: Vec<Extent>,
}

impl CaptureIdentity {
    /// The identity of the buffers of `plans`, of `trace`. With an index, which must be one of
    /// these plans, the data are not read: it has a checksum of each segment. `known` has the
    /// programs of other captures.
    ///
    /// # Errors
    /// Where a buffer cannot be read.
    pub fn of(
        trace: &Trace,
        plans: &[Plan],
        index: Option<&Index>,
        known: &ProgramSums,
    ) -> Result<CaptureIdentity, FleetError> {
        let (mut data, mut programs, mut options) =
            (Digester::default(), Digester::default(), Digester::default());
        let mut buffers = Vec::new();
        let identities = trace.subject().identities(plans);
        for (plan, [configuration, memory]) in plans.iter().zip(identities) {
            let Some(buffer) = trace.capture().buffers.get(plan.buffer) else { continue };
            let indexed = divided(index, plan);
            data.number(plan.buffer as u64);
            data.text(&buffer.name);
            match indexed {
                Some(own) => of_segments(own, &mut data)?,
                None => of_bytes(buffer, &mut data)?,
            }
            options.number(configuration);
            programs.number(memory);
            buffers.push(Extent {
                number: plan.buffer,
                name: buffer.name.as_str().into(),
                bytes: buffer.len(),
                segments: indexed.map_or(1, IndexedBuffer::len),
            });
        }
        known.add(trace.capture(), &mut programs)?;
        let (data, programs, options) = (data.finish(), programs.finish(), options.finish());
        Ok(CaptureIdentity { data, programs, options, buffers })
    }

    /// The buffer with this number in the capture.
    pub fn buffer(&self, number: usize) -> Option<&Extent> {
        self.buffers.iter().find(|own| own.number == number)
    }
}

/// The index of the buffer of `plan`, where it has all of its segments.
pub fn divided<'a>(index: Option<&'a Index>, plan: &Plan) -> Option<&'a IndexedBuffer> {
    let own = index?.buffer(plan.buffer)?;
    (own.is_complete() && own.len() > 1).then_some(own)
}

/// The digest of a buffer by the checksums of its segments.
fn of_segments(index: &IndexedBuffer, to: &mut Digester) -> Result<(), FleetError> {
    to.text("segments");
    for segment in index.summaries() {
        to.number(segment.len);
        to.number(segment.checksum);
    }
    match index.damage() {
        None => Ok(()),
        Some(damage) => Err(FleetError::Index(damage)),
    }
}

/// The digest of the bytes of a buffer.
fn of_bytes(buffer: &Buffer, to: &mut Digester) -> Result<(), FleetError> {
    to.text("bytes");
    let size = usize::try_from(buffer.len()).unwrap_or(READ).clamp(1, READ);
    let (mut reader, mut space) = (from(buffer, 0), vec![0; size]);
    let mut len = 0;
    loop {
        let bytes = fill(&mut *reader, &mut space)?;
        to.add(bytes);
        len += bytes.len() as u64;
        if bytes.is_empty() {
            break;
        }
    }
    to.number(len);
    Ok(())
}

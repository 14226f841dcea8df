//! Writes an index.

use std::io;
use std::sync::Arc;

use tracewright_capture::Capture;
use tracewright_decode::{ForeignPlan, Memory, Options, Plan, Program, Session};

use crate::build::Build;
use crate::chain::Shape;
use crate::collect::Functions;
use crate::error::IndexError;
use crate::format::{Batch, Head};
use crate::identity;
use crate::index::{Index, IndexedBuffer};
use crate::thin::thin;

/// A capture, and how it is decoded.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The capture.
    pub capture: &'a Capture,
    /// Its program memory.
    pub memory: &'a Memory,
    /// How it is decoded.
    pub options: &'a Options,
}

/// How an index is made.
#[derive(Clone, Copy, Debug, Default)]
pub struct Making {
    /// How buffers are divided.
    pub shape: Shape,
    /// With a record of each occurrence.
    pub full: bool,
    /// The number of threads; 0 counts as 1.
    pub jobs: usize,
    /// The trace is still being written: the index ends with the last whole segment, and can be
    /// continued.
    pub growing: bool,
}

impl Subject<'_> {
    /// A session of `plan` in its initial state.
    ///
    /// # Errors
    /// [`ForeignPlan`] where the plan was made for another capture.
    pub fn session(&self, plan: &Plan) -> Result<Session, ForeignPlan> {
        Session::new(self.capture, plan, self.memory, self.options)
    }

    /// The addresses of the functions of each source of `plan`. Empty for programs whose memory
    /// depends on the context.
    pub fn functions(&self, plan: &Plan) -> Functions {
        let sources = plan.sources.iter().map(|planned| {
            match self.memory.seen_by(self.capture, plan.buffer, planned.source) {
                Program::Image(image) => {
                    let mut starts: Vec<u64> = image.symbols().iter().map(|s| s.start).collect();
                    starts.sort_unstable();
                    starts.dedup();
                    Arc::from(starts)
                }
                Program::Spaces(_) => Arc::from([]),
            }
        });
        sources.collect()
    }

    fn head(&self, plans: &[Plan], making: &Making) -> Head {
        let memory = identity::of_memory(self.capture, self.memory);
        let identity = |plan| identity::identity(self.capture, plan, self.options, memory);
        let stamps = identity::stamps(self.capture, self.memory);
        Head {
            full: making.full,
            segment: making.shape.segment,
            stamps: if making.growing { 0 } else { stamps },
            buffers: plans.iter().map(identity).collect(),
        }
    }

    /// Makes an index of the buffers of `plans`. `write` receives the bytes of its file, and the
    /// number of bytes of trace so far, and returns whether more is wanted.
    ///
    /// # Errors
    /// Where a buffer cannot be read, and the errors of `write`.
    pub fn make(
        &self,
        plans: &[Plan],
        making: &Making,
        mut write: impl FnMut(&[u8], u64) -> io::Result<bool>,
    ) -> io::Result<()> {
        if !write(&self.head(plans, making).write(), 0)? {
            return Ok(());
        }
        let mut before = 0;
        for (n, plan) in plans.iter().enumerate() {
            before += self.buffer(n, plan, making, None, |bytes, at| write(bytes, before + at))?;
        }
        Ok(())
    }

    /// Continues `index`, as [`make`](Subject::make) does: `write` receives the bytes that follow
    /// [`Index::used`].
    ///
    /// # Errors
    /// As [`make`](Subject::make).
    pub fn extend(
        &self,
        index: &Index,
        plans: &[Plan],
        making: &Making,
        mut write: impl FnMut(&[u8], u64) -> io::Result<bool>,
    ) -> io::Result<()> {
        let shape = match index.head().segment {
            segment if segment == making.shape.segment => making.shape,
            segment => Shape::with_segment(segment),
        };
        let making = Making { shape, full: index.is_full(), ..*making };
        let mut before = 0;
        for (n, plan) in plans.iter().enumerate() {
            let indexed = index.buffer(plan.buffer);
            before +=
                self.buffer(n, plan, &making, indexed, |bytes, at| write(bytes, before + at))?;
        }
        Ok(())
    }

    /// Writes the batches of one buffer that follow `indexed`, and returns its length.
    fn buffer(
        &self,
        number: usize,
        plan: &Plan,
        making: &Making,
        indexed: Option<&IndexedBuffer>,
        mut write: impl FnMut(&[u8], u64) -> io::Result<bool>,
    ) -> io::Result<u64> {
        let Some(buffer) = self.capture.buffers.get(plan.buffer) else { return Ok(0) };
        if indexed.is_some_and(IndexedBuffer::is_complete) {
            return Ok(buffer.len());
        }
        let mut session = self.session(plan).map_err(io::Error::other)?;
        let (mut first, mut begin, mut start) = (0u64, 0u64, None);
        if let Some(indexed) = indexed.filter(|indexed| !indexed.is_empty()) {
            let blank = session.state().clone();
            let reached = indexed.end(&mut session, buffer)?;
            session.resume(blank);
            (first, begin) = (indexed.len() as u64, indexed.covered());
            start = Some(reached);
        }
        let whole = buffer.len() / making.shape.segment * making.shape.segment;
        if making.growing && whole <= begin {
            return Ok(buffer.len());
        }
        let build = Build {
            buffer,
            session,
            functions: self.functions(plan),
            full: making.full,
            shape: making.shape,
            jobs: making.jobs.max(1),
            stop: making.growing.then_some(whole),
        };
        build.run(start, |mut segments, last| {
            thin(&mut segments);
            let batch = Batch::write(number, last, first, begin, &segments)
                .ok_or_else(|| io::Error::other("a batch of the index exceeds 4 GiB"))?;
            first += segments.len() as u64;
            begin += segments.iter().map(|segment| segment.len).sum::<u64>();
            write(&batch, begin)
        })?;
        Ok(buffer.len())
    }

    /// Whether `index` was made with the configuration and the program memory of `plans`, and its
    /// segments are those of the trace so far.
    pub fn is_of(&self, index: &Index, plans: &[Plan]) -> bool {
        let memory = identity::of_memory(self.capture, self.memory);
        index.buffers().len() == plans.len()
            && plans.iter().zip(index.buffers()).all(|(plan, indexed)| {
                let identity = identity::identity(self.capture, plan, self.options, memory);
                let buffer = self.capture.buffers.get(plan.buffer);
                indexed.head == identity
                    && buffer.is_some_and(|b| identity::check_trace(b, indexed, true).is_ok())
            })
    }

    /// Whether `index` is one of the buffers of `plans`, which are decoded as it was made.
    ///
    /// # Errors
    /// What differs.
    pub fn check(&self, index: &Index, plans: &[Plan]) -> Result<(), IndexError> {
        let stamps = identity::stamps(self.capture, self.memory);
        let unchanged = stamps != 0 && index.head().stamps == stamps;
        let same_memory = unchanged && identity::memory_is_stamped(self.capture);
        let memory = (!same_memory).then(|| identity::of_memory(self.capture, self.memory));
        for plan in plans {
            // The files of an index with these stamps are those of its program memory, too.
            let memory = memory.or(index.buffer(plan.buffer).map(|indexed| indexed.head.memory));
            let memory = memory.unwrap_or(0);
            let identity = identity::identity(self.capture, plan, self.options, memory);
            let indexed = index.buffer(plan.buffer).filter(|indexed| !indexed.is_empty());
            let indexed =
                indexed.ok_or_else(|| IndexError::NoSegments { buffer: identity.name.clone() })?;
            if indexed.head.configuration != identity.configuration
                || indexed.head.sources != identity.sources
            {
                return Err(IndexError::OtherConfiguration);
            }
            if indexed.head.memory != identity.memory {
                return Err(IndexError::OtherMemory);
            }
            if let Some(buffer) = self.capture.buffers.get(plan.buffer) {
                identity::check_trace(buffer, indexed, !unchanged)?;
            }
        }
        Ok(())
    }
}

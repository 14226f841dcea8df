//! Writes an index.

use std::io;
use std::path::Path;
use std::sync::Arc;

use tracewright_analysis::tasks::{TaskFile, Tasks};
use tracewright_analysis::{Code, Transfers};
use tracewright_base::Waypoints;
use tracewright_capture::{Capture, read_file};
use tracewright_decode::plan::Planned;
use tracewright_decode::{ForeignPlan, Memory, Options, Plan, Program, Session};
use tracewright_image::CacheOptions;

use crate::beside::{Compare, Unusable};
use crate::build::{Build, Receive};
use crate::chain::Shape;
use crate::checksum::Checksum;
use crate::collect::Functions;
use crate::error::IndexError;
use crate::format::{Batch, Head};
use crate::halves::Half;
use crate::identity;
use crate::index::{Index, IndexedBuffer};
use crate::segment::Segment;
use crate::thin::thin;
use crate::tiles::ViewShape;
use crate::tiles::builder::{self, Builder};
use crate::tiles::listener::SegmentPieces;

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
    /// With a [view](crate::view). An index of a trace that is still being written has none.
    pub view: bool,
    /// What of an index with a view is made.
    pub half: Half,
    /// The trace is still being written: the index ends with the last whole segment, and can be
    /// continued.
    pub growing: bool,
}

/// Writes the batches of a buffer.
struct Writing<'a> {
    /// The position of the buffer in the head.
    number: usize,
    /// The number of the next segment, and its offset.
    first: u64,
    begin: u64,
    view: Option<Builder>,
    /// Receives the bytes of a batch, and the offset at its end.
    write: &'a mut dyn FnMut(&[u8], u64) -> io::Result<bool>,
}

impl Receive for Writing<'_> {
    fn pieces(&mut self, pieces: SegmentPieces) {
        if let Some(view) = &mut self.view {
            view.segment(&pieces);
        }
    }

    fn segments(&mut self, mut segments: Vec<Segment>, last: bool) -> io::Result<bool> {
        let sections = self.view.as_mut().map(|view| view.take(last)).unwrap_or_default();
        thin(&mut segments);
        let batch = Batch::write(self.number, last, self.first, self.begin, &segments, sections)
            .ok_or_else(|| io::Error::other("a batch of the index exceeds 4 GiB"))?;
        self.first += segments.len() as u64;
        self.begin += segments.iter().map(|segment| segment.len).sum::<u64>();
        (self.write)(&batch, self.begin)
    }
}

impl Subject<'_> {
    /// A session of `plan` in its initial state.
    ///
    /// # Errors
    /// [`ForeignPlan`] where the plan was made for another capture.
    pub fn session(&self, plan: &Plan) -> Result<Session, ForeignPlan> {
        Session::new(self.capture, plan, self.memory, self.options)
    }

    /// What [`IndexedBuffer::identity`] is of an index of the buffer of each plan.
    pub fn identities(&self, plans: &[Plan]) -> Vec<[u64; 2]> {
        let memory = identity::of_memory(self.capture, self.memory);
        let of = |plan| identity::identity(self.capture, plan, self.options, memory);
        let heads = plans.iter().map(of);
        heads.map(|head| [head.configuration, head.memory]).collect()
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

    /// The functions of the sources of `plan`, for call stacks.
    pub fn code(&self, plan: &Plan) -> Code {
        let programs = plan
            .sources
            .iter()
            .map(|planned| self.memory.seen_by(self.capture, plan.buffer, planned.source));
        Code::new(self.capture, programs)
    }

    /// Finds the transfers of the sources of `plan`, between the functions of `code`.
    pub fn transfers(&self, plan: &Plan, code: &Code) -> Transfers {
        self.transfers_with(plan, code, None)
    }

    /// The same, with what names tasks.
    pub(crate) fn transfers_with(
        &self,
        plan: &Plan,
        code: &Code,
        tasks: Option<&Tasks>,
    ) -> Transfers {
        let caches = plan.sources.iter().map(|planned| {
            let options = CacheOptions { riscv: planned.config.riscv(), ..CacheOptions::default() };
            let program = self.memory.seen_by(self.capture, plan.buffer, planned.source);
            program.cache(Waypoints::default(), options)
        });
        let transfers = Transfers::new(code.clone(), caches.collect());
        match tasks {
            None => transfers,
            Some(tasks) => transfers.watching(tasks),
        }
    }

    /// The tasks of a buffer. Systems of `files` come before those that are known. `code` is [that
    /// of the plan](Self::code).
    pub fn tasks(&self, plan: &Plan, code: &Code, files: &[TaskFile]) -> Tasks {
        let program = |planned: &Planned| {
            self.memory.seen_by(self.capture, plan.buffer, planned.source).start()
        };
        let image = plan.sources.first().map(program);
        Tasks::of_capture(self.capture, image.as_ref(), code, files)
    }

    /// The same, where the system is known.
    pub(crate) fn system(&self, plan: &Plan, code: &Code, files: &[TaskFile]) -> Option<Tasks> {
        Some(self.tasks(plan, code, files)).filter(|tasks| tasks.system().is_some())
    }

    /// What [`Index::tasks`] is of an index that is made for these plans and files.
    pub fn tasks_checksum(&self, plans: &[Plan], files: &[TaskFile]) -> Option<u64> {
        let plan = plans.iter().find(|plan| !plan.sources.is_empty())?;
        let tasks = self.system(plan, &self.code(plan), files)?;
        let about = format!("{:?} {:?}", tasks.system(), tasks.watched());
        Some(Checksum::of(about.as_bytes()))
    }

    fn head(&self, plans: &[Plan], making: &Making, files: &[TaskFile]) -> Head {
        let memory = identity::of_memory(self.capture, self.memory);
        let identity = |plan| identity::identity(self.capture, plan, self.options, memory);
        let stamps = identity::stamps(self.capture, self.memory);
        let view = (making.view && !making.growing).then_some(making.shape.tile_log2);
        Head {
            full: making.full,
            view,
            tasks: view.and_then(|_| self.tasks_checksum(plans, files)),
            old: false,
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
        write: impl FnMut(&[u8], u64) -> io::Result<bool>,
    ) -> io::Result<()> {
        self.make_with(plans, making, &[], write)
    }

    /// As [`make`](Subject::make), with systems and names of tasks.
    ///
    /// # Errors
    /// As [`make`](Subject::make).
    pub fn make_with(
        &self,
        plans: &[Plan],
        making: &Making,
        files: &[TaskFile],
        mut write: impl FnMut(&[u8], u64) -> io::Result<bool>,
    ) -> io::Result<()> {
        if !write(&self.head(plans, making, files).write(), 0)? {
            return Ok(());
        }
        let mut before = 0;
        for (n, plan) in plans.iter().enumerate() {
            let write = |bytes: &[u8], at| write(bytes, before + at);
            before += self.buffer(n, plan, making, files, None, write)?;
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
        if index.head().old {
            return Err(io::Error::other("an index of an earlier version cannot be continued"));
        }
        let shape = match index.head().segment {
            segment if segment == making.shape.segment => making.shape,
            segment => Shape::with_segment(segment),
        };
        let making = Making { shape, full: index.is_full(), view: false, ..*making };
        let mut before = 0;
        for (n, plan) in plans.iter().enumerate() {
            let indexed = index.buffer(plan.buffer);
            let write = |bytes: &[u8], at| write(bytes, before + at);
            before += self.buffer(n, plan, &making, &[], indexed, write)?;
        }
        Ok(())
    }

    /// Writes the batches of one buffer that follow `indexed`, and returns its length.
    fn buffer(
        &self,
        number: usize,
        plan: &Plan,
        making: &Making,
        files: &[TaskFile],
        indexed: Option<&IndexedBuffer>,
        mut write: impl FnMut(&[u8], u64) -> io::Result<bool>,
    ) -> io::Result<u64> {
        let Some(buffer) = self.capture.buffers.get(plan.buffer) else { return Ok(0) };
        if indexed.is_some_and(IndexedBuffer::is_complete) {
            return Ok(buffer.len());
        }
        let mut session = self.session(plan).map_err(io::Error::other)?;
        let (mut first, mut begin, mut start) = (0, 0, None);
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
        let sources = plan.sources.len();
        let has_view = making.view && !making.growing && making.half != Half::Segments;
        let code = has_view.then(|| self.code(plan));
        let tasks = code.as_ref().and_then(|code| self.system(plan, code, files));
        let view = code.as_ref().map(|code| {
            let shape = ViewShape::new(making.shape.tile_log2, buffer.len());
            let program = builder::Program::of(code, tasks.as_ref());
            Builder::new(shape, sources, &program, tasks.as_ref())
        });
        let build = Build {
            buffer,
            session,
            transfers: code.map(|code| self.transfers_with(plan, &code, tasks.as_ref())),
            functions: self.functions(plan),
            full: making.full,
            shape: making.shape,
            half: making.half,
            jobs: making.jobs.max(1),
            stop: making.growing.then_some(whole),
        };
        let mut writing = Writing { number, first, begin, view, write: &mut write };
        build.run(start, &mut writing)?;
        Ok(buffer.len())
    }

    /// Whether `index` was made with the configuration and the program memory of `plans`, its
    /// segments are those of the trace so far, and it can be [continued](Self::extend): one of
    /// an earlier version cannot, and one with a view has the whole trace.
    pub fn is_of(&self, index: &Index, plans: &[Plan]) -> bool {
        let memory = identity::of_memory(self.capture, self.memory);
        let continues = !index.head().old
            && (!index.has_view() || index.buffers().iter().all(IndexedBuffer::is_complete));
        continues
            && index.buffers().len() == plans.len()
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
        self.check_with(index, plans, Compare::Data)
    }

    /// The index at `path`, if it is one of the buffers of `plans`. The end of it may be
    /// [damaged](Index::damage).
    ///
    /// # Errors
    /// [`Unusable`].
    pub fn open_index(
        &self,
        path: &Path,
        plans: &[Plan],
        compare: Compare,
    ) -> Result<Index, Unusable> {
        let bytes = read_file(path).map_err(Unusable::Read)?;
        let index = Index::read(bytes).map_err(Unusable::Index)?;
        self.check_with(&index, plans, compare).map_err(Unusable::Index)?;
        Ok(index)
    }

    fn check_with(
        &self,
        index: &Index,
        plans: &[Plan],
        compare: Compare,
    ) -> Result<(), IndexError> {
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
                identity::check_trace(buffer, indexed, !unchanged && compare == Compare::Data)?;
            }
        }
        Ok(())
    }
}

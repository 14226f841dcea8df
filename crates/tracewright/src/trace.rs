//! A capture that is ready to be decoded.

use std::path::Path;

use tracewright_capture::{Capture, OpenError};
use tracewright_decode::detect::Detection;
use tracewright_decode::detect::complete::complete;
use tracewright_decode::plan::Why;
use tracewright_decode::raw::{self, RawTrace};
use tracewright_decode::{
    Caches, Fork, Jobs, Listener, Memory, Merge, Merging, Options, Plan, Session, Skipped, Tally,
    input, parallel,
};
use tracewright_index::{Subject, Window, window};
use tracewright_views::explain::Decoded;
use tracewright_views::{Source, SymbolAt};

use crate::chunks::Chunks;
use crate::error::DecodeError;
use crate::summary::Summary;

/// A capture, the program memory of its cores, and how to decode it.
///
/// A source is a trace unit whose trace can be decoded. Sources are numbered over all buffers of
/// the capture, in the order of [`sources`](Trace::sources); listeners and
/// [`elements`](Trace::elements) use these numbers.
#[derive(Clone, Debug)]
pub struct Trace {
    capture: Capture,
    memory: Memory,
    options: Options,
    partial: bool,
    jobs: Jobs,
    window: Window,
    plans: Vec<Plan>,
    sources: Vec<Source>,
}

impl Trace {
    /// Prepares `capture`: one from [`read_capture`](crate::read_capture), or made in memory. For a
    /// capture made in memory with `words` or `texts`, call
    /// [`decode::parameters::resolve`](crate::decode::parameters::resolve) first. Memory that cannot
    /// be used is left out; `decode::Memory::new(trace.capture()).problems` has the reasons.
    pub fn new(capture: Capture) -> Trace {
        let (memory, options) = (Memory::new(&capture), Options::default());
        let (plans, sources) = (Vec::new(), Vec::new());
        let (jobs, window) = (Jobs::all(), Window::default());
        let mut trace =
            Trace { capture, memory, options, partial: false, jobs, window, plans, sources };
        trace.plan();
        trace
    }

    fn plan(&mut self) {
        let Trace { capture, memory, options, .. } = self;
        let buffers = 0..capture.buffers.len();
        self.plans = buffers.filter_map(|buffer| Plan::new(capture, buffer, options)).collect();
        let sources = self.plans.iter().flat_map(|plan| Source::all(capture, plan, memory));
        self.sources = sources.collect();
    }

    /// Decodes with `options`: other framing, only some trace IDs, opcodes checked.
    #[must_use]
    pub fn with_options(mut self, options: Options) -> Trace {
        self.options = options;
        self.plan();
        self
    }

    /// Adds program memory: a file in ELF, Intel HEX, S-records or UF2, or a raw image as
    /// `FILE@ADDRESS`. Where both it and the capture have memory, it is used.
    ///
    /// # Errors
    /// [`OpenError`] where the file cannot be read.
    pub fn with_image(mut self, image: &str) -> Result<Trace, OpenError> {
        self.capture.add_image(image)?;
        self.memory = Memory::new(&self.capture);
        self.plan();
        Ok(self)
    }

    /// Decodes the sources that can be decoded, even if others cannot. Without this,
    /// [`decode`](Trace::decode) and [`elements`](Trace::elements) return
    /// [`DecodeError::SourcesLeftOut`] if a source cannot be decoded.
    #[must_use]
    pub fn partial(mut self) -> Trace {
        self.partial = true;
        self
    }

    /// The threads of [`functions`](Trace::functions), [`call_trees`](Trace::call_trees),
    /// [`timelines`](Trace::timelines) and [`profile`](Trace::profile): one for each processor
    /// otherwise.
    #[must_use]
    pub fn with_jobs(mut self, jobs: Jobs) -> Trace {
        self.jobs = jobs;
        self
    }

    /// The part of each buffer that these use: all of it otherwise.
    #[must_use]
    pub fn with_window(mut self, window: Window) -> Trace {
        self.window = window;
        self
    }

    /// The sources that can be decoded. Each knows its name, trace ID, configuration, program
    /// memory and symbols.
    pub fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// The sources that cannot be decoded, each with the reason and what to do. Sources that the
    /// options do not choose are not among them.
    pub fn left_out(&self) -> Vec<Skipped> {
        let skipped = self.plans.iter().flat_map(|plan| &plan.skipped);
        skipped.filter(|skipped| !matches!(skipped.why, Why::NotChosen(_))).cloned().collect()
    }

    /// The symbol of `address` in the program of source `source`: `main`, or `main+0x14`.
    pub fn symbol(&self, source: usize, address: u64) -> Option<String> {
        self.sources.get(source)?.symbol_name(address)
    }

    /// The symbol of `address` in the program of source `source`: its name, and the offset in it.
    pub fn symbol_at(&self, source: usize, address: u64) -> Option<SymbolAt<'_>> {
        self.sources.get(source)?.symbol_at(address)
    }

    /// The capture: its buffers, devices, registers, memory, and notes on what was odd in its
    /// files.
    pub fn capture(&self) -> &Capture {
        &self.capture
    }

    /// Decodes all buffers, one after the other, to `listener`.
    ///
    /// # Errors
    /// [`DecodeError`] where there is nothing to decode, where a source cannot be decoded (see
    /// [`partial`](Trace::partial)), or where a buffer cannot be read.
    pub fn decode<L: Listener>(&self, listener: &mut L) -> Result<Summary, DecodeError> {
        self.check()?;
        let mut summary = Summary::new(self.left_out());
        let mut both = (listener, Tally::default());
        let mut first = 0;
        for plan in &self.plans {
            let mut session = self.session(plan)?.numbered_from(first);
            let mut input = Chunks::of(&self.capture.buffers[plan.buffer]);
            while !both.0.full() && input.next(|bytes| session.feed(bytes, &mut both))? {}
            if !both.0.full() {
                session.finish(&mut both);
            }
            first += plan.sources.len();
        }
        summary.add(&self.sources, both.1);
        Ok(summary)
    }

    /// Checks that there is a source to decode and, without [`partial`](Self::partial), that none
    /// is left out.
    ///
    /// # Errors
    /// [`DecodeError::NothingToDecode`] and [`DecodeError::SourcesLeftOut`].
    pub fn check(&self) -> Result<(), DecodeError> {
        let left_out = self.left_out();
        if !left_out.is_empty() && !self.partial {
            return Err(DecodeError::SourcesLeftOut(left_out));
        }
        if self.sources.is_empty() {
            let buffers = self.capture.buffers.iter().map(|buffer| buffer.name.clone()).collect();
            return Err(DecodeError::NothingToDecode { buffers, left_out });
        }
        Ok(())
    }

    /// Decodes the part of a buffer that the window selects on the threads of
    /// [`with_jobs`](Self::with_jobs). `write` receives the output of `listener`, and returns
    /// whether more is wanted.
    pub(crate) fn run<L: Listener + Fork + Send>(
        &self,
        plan: &Plan,
        mut session: Session,
        listener: L,
        mut write: impl FnMut(L::Output) -> bool,
    ) -> Result<(Tally, Caches), DecodeError> {
        let buffer = &self.capture.buffers[plan.buffer];
        let mut both = (listener, Merging(Tally::default()));
        let mut tally = Tally::default();
        let mut take = |(output, counts)| {
            tally.merge(counts);
            write(output)
        };
        let failed = |error| DecodeError::Read { buffer: buffer.name.clone(), error };
        if !self.window.is_all() {
            let all = &mut |_, _| ();
            window::run(session, buffer, &self.window, None, both, all, &mut take)
                .map_err(failed)?;
            return Ok((tally, Caches::default()));
        }
        let input = &mut *input::of(buffer);
        parallel::run(&mut session, input, &mut both, &self.jobs, |output, _| take(output))
            .map_err(failed)?;
        Ok((tally, session.into_caches()))
    }

    /// A session for a buffer, with the caches of another one.
    pub(crate) fn session_with(&self, plan: &Plan, caches: Caches) -> Result<Session, DecodeError> {
        Session::with_caches(&self.capture, plan, &self.memory, &self.options, caches)
            .map_err(DecodeError::Plan)
    }

    /// The sources of the plan with this number among the [`plans`](Self::plans).
    pub fn sources_of(&self, number: usize) -> &[Source] {
        let before = self.plans.iter().take(number).map(|plan| plan.sources.len()).sum();
        let rest = self.sources.get(before..).unwrap_or_default();
        let count = self.plans.get(number).map_or(0, |plan| plan.sources.len());
        rest.get(..count).unwrap_or(rest)
    }

    /// The sources of whose trace in a buffer nothing was decoded.
    pub(crate) fn unseen(&self, plan: &Plan, sources: &[Source], tally: &Tally) -> u64 {
        let Trace { capture, memory, options, .. } = self;
        Decoded { capture, plan, sources, memory, options, tally }.unseen()
    }

    /// Whether only a part of each buffer is decoded.
    pub(crate) fn is_part(&self) -> bool {
        !self.window.is_all()
    }

    /// How each buffer is decoded. Buffers without a plan have none.
    pub fn plans(&self) -> &[Plan] {
        &self.plans
    }

    /// The threads of [`with_jobs`](Self::with_jobs).
    pub fn jobs(&self) -> &Jobs {
        &self.jobs
    }

    /// What an [index](crate::index) of the capture is made of.
    pub fn subject(&self) -> Subject<'_> {
        let Trace { capture, memory, options, .. } = self;
        Subject { capture, memory, options }
    }

    /// A session that decodes a buffer, whose sources are numbered from 0.
    ///
    /// # Errors
    /// [`DecodeError::Plan`] for the plan of another capture.
    pub fn session(&self, plan: &Plan) -> Result<Session, DecodeError> {
        Session::new(&self.capture, plan, &self.memory, &self.options).map_err(DecodeError::Plan)
    }
}

/// Reads the raw trace data at `path`, such as a dump of a trace buffer, with the programs
/// `images`: files in ELF, Intel HEX, S-records or UF2, or raw images as `FILE@ADDRESS`. What `raw`
/// does not state is detected; the default states nothing. Returns what was assumed, too, one text
/// per line.
///
/// # Errors
/// [`OpenError`] where a file cannot be read, or nothing explains the bytes.
pub fn open_raw(
    path: impl AsRef<Path>,
    mut raw: RawTrace,
    images: &[&str],
) -> Result<(Trace, Vec<String>), OpenError> {
    let (path, mut notes) = (path.as_ref(), Vec::new());
    let images: Vec<String> = images.iter().map(|image| (*image).to_owned()).collect();
    let without = raw.units.is_empty();
    let detection = complete(path, &mut raw, &images, None, &mut notes)?;
    if let Some(best) = detection.iter().filter(|_| without).find_map(Detection::best) {
        notes.push(format!("detected: {}", best.summary()));
    }
    let mut capture = raw::capture(path, &raw, &mut notes)?;
    for image in &images {
        capture.add_image(image)?;
    }
    let options = Options { framing: raw.framing.of_port(), ..Options::default() };
    Ok((Trace::new(capture).with_options(options), notes))
}

/// Reads the capture at `path`: an Arm snapshot (its folder or its `snapshot.ini`), a folder
/// with a `capture.toml`, a `perf.data` file or folder, or a file with the cycles of an ETMv1 or
/// ETMv2 trace port. Raw trace data are refused: see [`open_raw`].
///
/// # Errors
/// [`OpenError`] with path, section and key, where the capture cannot be read.
pub fn open(path: impl AsRef<Path>) -> Result<Trace, OpenError> {
    Ok(Trace::new(crate::read_capture(path.as_ref())?))
}

//! A capture that is ready to be decoded.

use std::path::Path;
use std::sync::Arc;

use tracewright_capture::{Access, Bytes, Capture, Files, ImageSource, OpenError};
use tracewright_decode::detect::Candidate;
use tracewright_decode::detect::complete::complete;
use tracewright_decode::plan::Why;
use tracewright_decode::raw::{self, RawTrace};
use tracewright_decode::{
    Caches, Fork, Jobs, Listener, Memory, Options, Plan, Session, Skipped, Tally, input,
};
use tracewright_frames::Framing;
use tracewright_index::Window;
use tracewright_protocols::Registry;
use tracewright_views::explain::Decoded;
use tracewright_views::{LineTable, Source, SymbolAt};

use crate::chunks::Chunks;
use crate::error::{DecodeError, unreadable};
use crate::run::{self, Selection};
use crate::summary::Summary;

/// A capture, the program memory of its cores, and how to decode it.
///
/// A source is a trace unit whose trace can be decoded. Sources are numbered over all buffers of
/// the capture, in the order of [`sources`](Trace::sources); listeners and
/// [`elements`](Trace::elements) use these numbers.
///
/// Where nothing is decoded, [`check`](Trace::check) returns why as an error,
/// [`left_out`](Trace::left_out) has the sources that cannot be decoded, and
/// [`Decoded::diagnosis`](tracewright_views::explain::Decoded) of
/// [`decoded`](Trace::decoded) what is missing, and what to give, according to what was decoded: its
/// [`Tally`] is a listener. [`Info`](tracewright_views::info::Info) describes a capture that is not
/// decoded.
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
    /// The number of the first source of each plan.
    firsts: Vec<usize>,
}

impl Trace {
    /// Prepares `capture`: one from [`read_capture`](crate::read_capture), or made in memory. For a
    /// capture made in memory with `words` or `texts`, call
    /// [`decode::parameters::resolve`](crate::decode::parameters::resolve) first. Memory that cannot
    /// be used is left out; `decode::Memory::new(trace.capture()).problems` has the reasons.
    ///
    /// Without program memory packets are decoded, and each address that is missing is an
    /// [`Element::NoCode`](tracewright_base::Element::NoCode).
    pub fn new(capture: Capture) -> Trace {
        Trace::decoded_with(capture, Options::default())
    }

    /// As [`open`](crate::open), where devices may have protocols of other crates.
    ///
    /// # Errors
    /// As `open`.
    pub fn open(path: impl AsRef<Path>, protocols: &Registry) -> Result<Trace, OpenError> {
        Ok(Trace::new(crate::read_capture_by(path.as_ref(), Access::default(), protocols)?))
    }

    /// As [`new`](Self::new), decoded with `options`.
    pub fn decoded_with(capture: Capture, options: Options) -> Trace {
        let (plans, sources, firsts) = (Vec::new(), Vec::new(), Vec::new());
        let (jobs, window) = (Jobs::all(), Window::default());
        let (partial, memory) = (false, Memory::new(&capture));
        let mut trace =
            Trace { capture, memory, options, partial, jobs, window, plans, sources, firsts };
        trace.plan();
        trace
    }

    fn plan(&mut self) {
        let Trace { capture, memory, options, .. } = self;
        let buffers = 0..capture.buffers.len();
        self.plans = buffers.filter_map(|buffer| Plan::new(capture, buffer, options)).collect();
        let sources = self.plans.iter().flat_map(|plan| Source::all(capture, plan, memory));
        self.sources = sources.collect();
        let mut first = 0;
        let firsts = self.plans.iter().map(|plan| {
            let own = first;
            first += plan.sources.len();
            own
        });
        self.firsts = firsts.collect();
    }

    /// Decodes with `options`: other framing, only some trace IDs, opcodes checked.
    #[must_use]
    pub fn with_options(mut self, options: Options) -> Trace {
        self.set_options(options);
        self
    }

    /// As [`with_options`](Self::with_options), in place.
    pub fn set_options(&mut self, options: Options) {
        self.options = options;
        self.plan();
    }

    /// Orders the sources of the plan with this number by a key of their trace IDs, until the
    /// options change.
    pub fn sort_sources<K: Ord>(&mut self, number: usize, key: impl Fn(u16) -> K) {
        let first = self.first_source(number);
        let (Some(plan), Some(sources)) =
            (self.plans.get_mut(number), self.sources.get_mut(first..))
        else {
            return;
        };
        let mut order: Vec<_> = plan.sources.drain(..).zip(sources.iter().cloned()).collect();
        order.sort_by_key(|(planned, _)| key(planned.id));
        for ((planned, source), to) in order.into_iter().zip(sources) {
            plan.sources.push(planned);
            *to = source;
        }
    }

    /// Shows the source lines of `table` with the names of functions, until the options change.
    pub fn show_lines(&mut self, table: &Arc<LineTable>) {
        self.sources.iter_mut().for_each(|source| source.show_lines(table));
    }

    /// Adds program memory. Where both it and the capture have memory, it is used.
    ///
    /// # Errors
    /// [`OpenError`] where the file cannot be read.
    pub fn with_image(mut self, image: &ImageSource) -> Result<Trace, OpenError> {
        self.capture.add_image(image)?;
        self.memory = Memory::new(&self.capture);
        self.plan();
        Ok(self)
    }

    /// Uses `memory`, which was made for this capture: with a reader, or with other regions.
    pub fn set_memory(&mut self, memory: Memory) {
        self.memory = memory;
        self.plan();
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
    /// [`timelines`](Trace::timelines), [`profile`](Trace::profile), [`index`](Trace::index) and
    /// [`find`](Trace::find): one for each processor otherwise.
    #[must_use]
    pub fn with_jobs(mut self, jobs: Jobs) -> Trace {
        self.jobs = jobs;
        self
    }

    /// The part of each buffer that the functions named at [`with_jobs`](Self::with_jobs) use: all
    /// of it otherwise. [`decode`](Trace::decode), [`elements`](Trace::elements) and
    /// [`ranges`](Trace::ranges) decode the whole trace, on the calling thread.
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
    pub fn decode(&self, listener: &mut dyn Listener) -> Result<Summary, DecodeError> {
        self.check()?;
        let mut summary = Summary::new(self.left_out());
        let late = || self.memory.live().map_or(0, |live| live.late());
        let before = late();
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
        summary.late_memory = late() - before;
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
        session: Session,
        listener: L,
        mut write: impl FnMut(L::Output) -> bool,
    ) -> Result<(Tally, Caches), DecodeError> {
        let buffer = &self.capture.buffers[plan.buffer];
        let bytes = &mut *input::of(buffer);
        let write = |output, _, _: &Tally| write(output);
        let ran = run::run(session, buffer, bytes, &self.selection(), listener, write);
        ran.map(|ran| (ran.tally, ran.caches)).map_err(|error| unreadable(buffer, error))
    }

    /// The part of each buffer that is decoded, and the threads.
    pub(crate) fn selection(&self) -> Selection<'_> {
        let (window, jobs) = (self.window.clone(), self.jobs.clone());
        Selection { window, running: None, index: None, parts: None, jobs, stop_after: None }
    }

    /// As [`session`](Self::session), with the caches of another session of this trace.
    ///
    /// # Errors
    /// As `session`.
    pub fn session_with(&self, plan: &Plan, caches: Caches) -> Result<Session, DecodeError> {
        Session::with_caches(&self.capture, plan, &self.memory, &self.options, caches)
            .map_err(DecodeError::Plan)
    }

    /// The sources of the plan with this number among the [`plans`](Self::plans).
    pub fn sources_of(&self, number: usize) -> &[Source] {
        let rest = self.sources.get(self.first_source(number)..).unwrap_or_default();
        let count = self.plans.get(number).map_or(0, |plan| plan.sources.len());
        rest.get(..count).unwrap_or(rest)
    }

    /// The result `tally` of decoding the buffer of the plan with this number among the
    /// [`plans`](Self::plans), for its summary and diagnosis. `None` where there is no such plan.
    pub fn decoded<'a>(&'a self, number: usize, tally: &'a Tally) -> Option<Decoded<'a>> {
        let (plan, sources) = (self.plans.get(number)?, self.sources_of(number));
        let Trace { capture, memory, options, .. } = self;
        Some(Decoded { capture, plan, sources, memory, options, tally })
    }

    /// Whether only a part of each buffer is decoded.
    pub(crate) fn is_part(&self) -> bool {
        !self.window.is_all()
    }

    /// How each buffer is decoded: its framing and its sources, in the order of
    /// [`sources`](Self::sources), and what is not decoded, and why. Buffers without a plan have
    /// none.
    pub fn plans(&self) -> &[Plan] {
        &self.plans
    }

    /// The program memory of the capture.
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// How the trace is decoded.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// The threads of [`with_jobs`](Self::with_jobs).
    pub fn jobs(&self) -> &Jobs {
        &self.jobs
    }

    /// The number of the first source of the plan with this number.
    pub(crate) fn first_source(&self, number: usize) -> usize {
        self.firsts.get(number).copied().unwrap_or(self.sources.len())
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
/// `images`. What `raw` does not state is detected; the default states nothing. With `files` of
/// `raw`, the data are in memory. Returns what was assumed, too, one text per line.
///
/// # Errors
/// [`OpenError`] where a file cannot be read, or nothing explains the bytes.
pub fn open_raw(
    path: impl AsRef<Path>,
    raw: RawTrace,
    images: &[ImageSource],
) -> Result<(Trace, Vec<String>), OpenError> {
    let RawCapture { mut capture, detected, port, mut notes } =
        read_raw(path.as_ref(), raw, images, None)?;
    notes.extend(detected.map(|best| format!("detected: {}", best.summary())));
    for image in images {
        capture.add_image(image)?;
    }
    let options = Options { framing: port, ..Options::default() };
    Ok((Trace::decoded_with(capture, options), notes))
}

/// Raw trace data that were read.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RawCapture {
    /// The capture, without the programs that it was detected with.
    pub capture: Capture,
    /// What was detected, where no trace unit was given.
    pub detected: Option<Candidate>,
    /// The framing of a trace port, for the [`Options`].
    pub port: Option<Framing>,
    /// What was assumed, one text for each line.
    pub notes: Vec<String>,
}

/// Reads the raw trace data at `path`. What `raw` does not state is detected, with the programs
/// `images`; `align` is the number of bytes before the first frame, where that is known.
///
/// # Errors
/// As [`open_raw`].
pub fn read_raw(
    path: &Path,
    mut raw: RawTrace,
    images: &[ImageSource],
    align: Option<u64>,
) -> Result<RawCapture, OpenError> {
    let (without, mut notes) = (raw.units.is_empty(), Vec::new());
    let detection = complete(path, &mut raw, images, align, &mut notes)?;
    let detected = detection.filter(|_| without).and_then(|found| found.best().cloned());
    let capture = raw::capture(path, &raw, &mut notes)?;
    Ok(RawCapture { capture, detected, port: raw.framing.of_port(), notes })
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

/// As [`open`], of the path of a file or folder in `files`. No file of the disk is opened: the
/// files that a capture refers to, and those of the code that perf recorded, are found among
/// `files`, by the paths and names by which they would be found on a disk.
///
/// ```
/// use tracewright::{Files, open_files};
///
/// # let folder = "../../tests/captures/etmv4/capture";
/// let read = |name: &str| std::fs::read(format!("{folder}/{name}"));
/// let names = std::fs::read_dir(folder)?.map(|entry| entry.unwrap().file_name());
/// let files = names.map(|name| (name.clone(), read(name.to_str().unwrap()).unwrap()));
/// let trace = open_files(&Files::named(files), "snapshot.ini")?;
/// assert!(trace.elements()?.count() > 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`open`].
pub fn open_files(files: &Files, path: impl AsRef<Path>) -> Result<Trace, OpenError> {
    let access = Access::of(files.clone());
    Ok(Trace::new(crate::read_capture_with(path.as_ref(), access)?))
}

/// Reads the capture that is one file: a `perf.data` file, or the cycles of a trace port. `name` is
/// what messages call it.
///
/// # Errors
/// As [`open`].
pub fn from_bytes(name: &str, bytes: impl Into<Bytes>) -> Result<Trace, OpenError> {
    open_files(&Files::named([(name, bytes)]), name)
}

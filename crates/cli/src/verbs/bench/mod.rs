//! `tracewright bench`

use std::fmt::Write as _;
use std::sync::atomic::AtomicUsize;
use std::time::{Duration, Instant};

use tracewright::Listener;
use tracewright::decode::input::{self, Input as Bytes, Known, Parts};
use tracewright::decode::parallel::Work;
use tracewright::decode::{CommittedListener, Fork, Jobs, Merge, Merging, Tally, parallel};
use tracewright::opencsd;
use tracewright::views::json::{self, Object};
use tracewright::views::sinks::{Bitmap, Checksum, Count, Coverage, Edges, RangeChecksum};
use tracewright::views::text;

use crate::args::{BenchArgs, BenchFormat, BenchSink};
use crate::fail::Fail;
use crate::input::{Input, Job};
use crate::listing;
use crate::message;
use crate::output::Output;
use crate::report;
use crate::run::{RunOptions, Stop};

/// A buffer of at most this many bytes is read into memory, so that reading it is not timed. A
/// larger one is read again in each pass.
const MAX_IN_MEMORY: u64 = 256 << 20;

/// Runs the verb.
pub fn run(args: &BenchArgs) -> Result<bool, Fail> {
    let input = Input::open(&args.input, Some(&args.how))?;
    report::notes(&input);
    input.readable(args.outcome.strict)?;
    let mut output = Output::open(args.outcome.output.as_deref(), &input.inputs)?;
    if args.format == BenchFormat::Json {
        output.json(&json::head("bench"))?;
    }
    let mut problems = listing::Problems::of_capture(&input, false);
    for &buffer in &input.buffers {
        let job = input.job(buffer);
        let found = measure(&job, args)?;
        match args.format {
            BenchFormat::Text => output.print(&found.text())?,
            BenchFormat::Json => output.json(&found.json())?,
        }
        let decoded = job.decoded(&found.tally);
        if decoded.needs_explanation() {
            report::remarks(&decoded.remarks());
        }
        problems.add(listing::Problems::of(&found.tally));
    }
    input.decodable()?;
    output.close()?;
    Ok(problems.answer(&input, args.outcome.strict))
}

/// Counts and times of one buffer.
struct Found<'a> {
    buffer: &'a str,
    bytes: u64,
    in_memory: bool,
    sink: BenchSink,
    jobs: usize,
    tally: Tally,
    elements: Checksum,
    ranges: RangeChecksum,
    /// Result of the sink: its name and its value.
    result: (&'static str, u64),
    passes: Vec<Pass>,
    /// Distribution of the bytes among threads in the first pass.
    work: Work,
}

/// The processor time of all threads of this process, where the system reports it.
#[cfg(unix)]
fn processor_time() -> Option<Duration> {
    use rustix::time::{ClockId, clock_gettime};
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Some(Duration::new(time.tv_sec.try_into().ok()?, time.tv_nsec.try_into().ok()?))
}

#[cfg(not(unix))]
fn processor_time() -> Option<Duration> {
    None
}

/// The times of one pass: wall clock, and processor time of all threads.
#[derive(Clone, Copy)]
struct Pass {
    clock: Duration,
    processor: Option<Duration>,
}

/// Counts elements in one pass, and decodes again in each timed pass.
fn measure<'a>(job: &'a Job<'_>, args: &BenchArgs) -> Result<Found<'a>, Fail> {
    let (jobs, refused) = (Jobs::new(args.jobs.get()), &AtomicUsize::new(0));
    let options = RunOptions {
        committed: args.how.committed,
        jobs,
        alone: true,
        refused,
        selected: None,
        parts: None,
        stop: Stop::default(),
        caches: None,
    };
    let mut seen = <(Tally, (Checksum, RangeChecksum))>::default();
    let counting = (Merging(Default::default()), listing::Nothing);
    let counting = CommittedListener::when(options.committed, counting);
    let work = job.decode(&options, counting, |(output, ())| seen.merge(output))?;
    if let Some(threads) = work.refused {
        message::threads(options.jobs.count, threads);
    }
    let (tally, (elements, ranges)) = seen;
    let mut found = Found {
        buffer: &job.buffer.name,
        bytes: job.buffer.len(),
        in_memory: job.is_in_memory(),
        sink: args.sink,
        jobs: options.jobs.count,
        tally,
        elements,
        ranges,
        result: ("", 0),
        passes: Vec::new(),
        work,
    };
    for _ in 0..args.repeat.get() {
        found.pass(job, &options)?;
        if found.sink == BenchSink::Checksum && found.result.1 != found.elements.value() {
            return Err(Fail::internal("two passes over the same bytes found different elements"));
        }
    }
    Ok(found)
}

impl Found<'_> {
    /// Decodes again, and records the times.
    fn pass(&mut self, job: &Job<'_>, options: &RunOptions<'_>) -> Result<(), Fail> {
        let (sources, len) = (job.sources.to_vec(), job.buffer.size());
        self.result = match self.sink {
            BenchSink::Checksum => {
                ("checksum", self.time(|| job.sum::<Checksum>(options))?.value())
            }
            BenchSink::Count => ("elements", self.time(|| job.sum::<Count>(options))?.elements),
            BenchSink::Edges => ("edges", self.time(|| job.sum::<Edges>(options))?.len() as u64),
            BenchSink::Coverage => {
                ("bytes of code", self.time(|| job.sum::<Coverage>(options))?.bytes())
            }
            BenchSink::Bitmap => {
                ("bytes in use", self.time(|| job.sum::<Bitmap>(options))?.used() as u64)
            }
            BenchSink::Text => {
                let shown = text::Shown { elements: true, ..Default::default() };
                let view = text::Listing::new(Vec::new(), sources, len, shown);
                ("bytes of text", self.time(|| job.list(options, view))?)
            }
            BenchSink::Json => {
                let shown = json::Shown { elements: true, ..json::Shown::default() };
                let name = &job.buffer.name;
                let view = json::Listing::new(Vec::new(), job.plan, sources, name, len, shown);
                ("bytes of text", self.time(|| job.list(options, view))?)
            }
            BenchSink::Opencsd => {
                let shown = opencsd::Shown {
                    packets: true,
                    bytes: true,
                    elements: true,
                    ..Default::default()
                };
                let view = opencsd::Listing::new(Vec::new(), job.plan, shown, false);
                ("bytes of text", self.time(|| job.list(options, view))?)
            }
        };
        Ok(())
    }

    fn time<T>(&mut self, pass: impl FnOnce() -> T) -> T {
        let (clock, processor) = (Instant::now(), processor_time());
        let found = pass();
        let clock = clock.elapsed();
        let processor = processor.and_then(|start| processor_time()?.checked_sub(start));
        self.passes.push(Pass { clock, processor });
        found
    }

    /// Packets, ranges and instructions of all sources.
    fn counts(&self) -> (u64, u64, u64) {
        self.tally.sources.iter().fold((0, 0, 0), |(packets, ranges, instructions), c| {
            (packets + c.packets, ranges + c.ranges, instructions + c.instructions)
        })
    }

    /// Bits of the buffer for each instruction; `None` where there are no instructions.
    fn bits_per_instruction(&self) -> Option<f64> {
        let (_, _, instructions) = self.counts();
        (instructions > 0).then(|| self.bytes as f64 * 8.0 / instructions as f64)
    }

    /// Instructions on unknown paths, of all sources.
    fn unknown_instructions(&self) -> u64 {
        self.tally.sources.iter().map(|c| c.unknown_instructions).sum()
    }

    /// The times of all passes in seconds, in ascending order.
    fn seconds(&self, of: impl Fn(&Pass) -> Option<Duration>) -> Vec<f64> {
        let mut seconds: Vec<f64> =
            self.passes.iter().filter_map(of).map(|time| time.as_secs_f64()).collect();
        seconds.sort_by(f64::total_cmp);
        seconds
    }

    fn text(&self) -> String {
        let (packets, ranges, instructions) = self.counts();
        let clock = self.seconds(|pass| Some(pass.clock));
        let processor = self.seconds(|pass| pass.processor);
        let least = clock.first().copied().unwrap_or_default();
        let row = [
            ("bytes", self.bytes.to_string()),
            ("packets", packets.to_string()),
            ("elements", self.elements.elements().to_string()),
            ("ranges", ranges.to_string()),
            ("instructions", instructions.to_string()),
            ("seconds", format!("{least:.6}")),
            ("MB/s", per(self.bytes as f64 / 1e6, least)),
            ("ns/range", per(1e9 * least, ranges as f64)),
            (
                "bits/instruction",
                self.bits_per_instruction().map_or("-".into(), |bits| format!("{bits:.3}")),
            ),
        ];
        let (mut head, mut values) = (String::new(), String::new());
        for (n, (name, value)) in row.iter().enumerate() {
            let (gap, width) = (if n > 0 { "  " } else { "" }, name.len().max(value.len()));
            let _ = write!(head, "{gap}{name:>width$}");
            let _ = write!(values, "{gap}{value:>width$}");
        }
        let mut text = format!("{head}\n{values}\n");
        let _ = writeln!(text, "checksum {} of elements, {} of ranges", self.elements, self.ranges);
        let unknown = self.unknown_instructions();
        if unknown > 0 {
            let _ = writeln!(text, "{unknown} further instructions on unknown paths");
        }
        let (what, count) = self.result;
        if self.sink != BenchSink::Checksum {
            let _ = writeln!(text, "sink {}: {count} {what}", self.sink.name());
        }
        let (of, jobs) = (self.passes.len(), self.jobs);
        let _ = writeln!(
            text,
            "seconds: minimum of {of}, median {:.6}; processor time {}, median {}; {jobs} {}",
            median(&clock).unwrap_or_default(),
            processor.first().map_or("?".into(), |s| format!("{s:.6}")),
            median(&processor).map_or("?".into(), |s| format!("{s:.6}")),
            if jobs == 1 { "job" } else { "jobs" },
        );
        if jobs > 1 {
            let Work { chunks, joined, again, bytes, .. } = self.work;
            let share = 100.0 * again as f64 / bytes.max(1) as f64;
            let _ = writeln!(
                text,
                "parallel: {chunks} chunks, {joined} joined; {share:.1} % of the bytes decoded twice",
            );
        }
        let reading = if self.in_memory { "without" } else { "with" };
        let _ = writeln!(
            text,
            "timed: decoding to the sink, {reading} reading the files and without the first, \
             counting pass",
        );
        text
    }

    fn json(&self) -> String {
        let (packets, ranges, instructions) = self.counts();
        let clock = self.seconds(|pass| Some(pass.clock));
        let processor = self.seconds(|pass| pass.processor);
        let least = clock.first().copied().unwrap_or_default();
        let list = |seconds: &[f64]| {
            let seconds: Vec<String> = seconds.iter().map(|s| format!("{s:.6}")).collect();
            format!("[{}]", seconds.join(","))
        };
        let unknown = self.unknown_instructions();
        let mut text = String::new();
        Object::new(&mut text)
            .text("type", "bench")
            .text("buffer", self.buffer)
            .text("sink", self.sink.name())
            .number("jobs", self.jobs as u64)
            .number("chunks", self.work.chunks)
            .number("joined", self.work.joined)
            .number("decoded_twice", self.work.again)
            .number("by_worker_before", self.work.prepared)
            .number("bytes", self.bytes)
            .number("packets", packets)
            .number("elements", self.elements.elements())
            .number("ranges", ranges)
            .number("instructions", instructions)
            .maybe_number("unknown_instructions", (unknown > 0).then_some(unknown))
            .value("seconds", |out| out.push_str(&list(&clock)))
            .value("processor_seconds", |out| out.push_str(&list(&processor)))
            .value("mb_per_s", |out| out.push_str(&number(self.bytes as f64 / 1e6, least)))
            .value("ns_per_range", |out| out.push_str(&number(1e9 * least, ranges as f64)))
            .value("bits_per_instruction", |out| match self.bits_per_instruction() {
                Some(bits) => {
                    let _ = write!(out, "{bits:.3}");
                }
                None => out.push_str("null"),
            })
            .text("checksum", &self.elements.to_string())
            .text("range_checksum", &self.ranges.to_string())
            .text("answer", self.result.0)
            .digits("answer_value", self.result.1)
            .end();
        text.push('\n');
        text
    }
}

/// `a` divided by `b`, as text; `-` where `b` is 0.
fn per(a: f64, b: f64) -> String {
    if b > 0.0 { format!("{:.2}", a / b) } else { "-".into() }
}

/// `a` divided by `b`, as JSON; `null` where `b` is 0.
fn number(a: f64, b: f64) -> String {
    if b > 0.0 { format!("{:.3}", a / b) } else { "null".into() }
}

/// The median: the middle value, or the mean of the two middle values.
fn median(sorted: &[f64]) -> Option<f64> {
    let high = sorted.get(sorted.len() / 2)?;
    let low = sorted.get((sorted.len() - 1) / 2)?;
    Some((low + high) / 2.0)
}

impl Job<'_> {
    /// Decodes the buffer to a sink.
    fn sum<L: Listener + Merge + Send>(&self, options: &RunOptions<'_>) -> Result<L, Fail> {
        let mut found = L::default();
        if options.committed {
            let sink = CommittedListener::new(Merging(L::default()));
            self.decode(options, sink, |output| found.merge(output))?;
        } else {
            self.decode(options, Merging(L::default()), |output| found.merge(output))?;
        }
        Ok(found)
    }

    /// Decodes the buffer to a view, and returns the size of its output in bytes.
    fn list<V>(&self, options: &RunOptions<'_>, view: V) -> Result<u64, Fail>
    where
        V: Listener + Fork<Output = Vec<u8>> + Send,
    {
        let mut written = 0;
        let mut input = self.bytes();
        listing::decode(self, &mut *input, options, view, &mut None, |output| {
            written += output.len() as u64;
            true
        })?;
        Ok(written)
    }

    /// Whether the buffer is read once, before all passes. A pipe cannot be read again.
    fn is_in_memory(&self) -> bool {
        self.buffer.is_piped() || self.buffer.len() <= MAX_IN_MEMORY
    }

    /// The bytes of the buffer.
    fn bytes(&self) -> Box<dyn Bytes + '_> {
        if self.is_in_memory() {
            Box::new(Known::new(Parts::new(self.buffer.parts()), self.buffer.len()))
        } else {
            input::of(self.buffer)
        }
    }

    fn decode<L: Listener + Fork + Send>(
        &self,
        options: &RunOptions<'_>,
        mut listener: L,
        mut write: impl FnMut(L::Output),
    ) -> Result<Work, Fail> {
        let mut session = self.session()?;
        let mut input = self.bytes();
        let done =
            parallel::run(&mut session, &mut *input, &mut listener, &options.jobs, |output, _| {
                write(output);
                true
            });
        done.map_err(|error| Fail::read(&self.buffer.name, &error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[1.0]), Some(1.0));
        assert_eq!(median(&[1.0, 2.0]), Some(1.5));
        assert_eq!(median(&[1.0, 2.0, 9.0]), Some(2.0));
    }
}

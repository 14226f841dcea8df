//! `tracewright bench`

mod erased;

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use cpu_time::ProcessTime;
use tracewright::Listener;
use tracewright::decode::input::{Input as Bytes, Known, Parts};
use tracewright::decode::parallel::Work;
use tracewright::decode::{CommittedListener, Fork, Jobs, Merge, Merging, Tally, parallel};
use tracewright::views::json::{self, Object};
use tracewright::views::sinks::{Bitmap, Checksum, Count, Coverage, Edges, RangeChecksum};
use tracewright::views::{opencsd, text};

use self::erased::Erased;
use crate::args::{BenchArgs, BenchFormat, BenchSink};
use crate::fail::Fail;
use crate::input::{Input, Job};
use crate::listing::{self, How};
use crate::output::Output;
use crate::report;

/// Runs it.
pub fn run(args: &BenchArgs) -> Result<bool, Fail> {
    let input = Input::open(&args.input, Some(&args.how))?;
    report::notes(&input);
    input.readable()?;
    let mut output = Output::open(args.output.as_deref())?;
    if args.format == BenchFormat::Json {
        output.print(&json::head("bench"))?;
    }
    let mut flawed = false;
    for &buffer in &input.buffers {
        let job = input.job(buffer);
        let found = measure(&job, args)?;
        output.print(&match args.format {
            BenchFormat::Text => found.text(),
            BenchFormat::Json => found.json(),
        })?;
        let decoded = job.decoded(&found.tally);
        if decoded.needs_explanation() {
            report::remarks(&decoded.remarks());
        }
        flawed |= found.tally.flawed();
    }
    output.close()?;
    input.decodable()?;
    Ok(!(args.strict && flawed))
}

/// What was found, and how long that took.
struct Found<'a> {
    buffer: &'a str,
    bytes: u64,
    sink: BenchSink,
    jobs: usize,
    tally: Tally,
    elements: Checksum,
    ranges: RangeChecksum,
    /// What the sink has to say.
    answer: (&'static str, u64),
    passes: Vec<Pass>,
    /// How the bytes were shared out among threads in the first pass.
    work: Work,
}

/// How long one pass took: on the clock, and of the processor, all threads together.
#[derive(Clone, Copy)]
struct Pass {
    clock: Duration,
    processor: Option<Duration>,
}

/// Counts in one pass, and decodes anew in as many as `args` want.
fn measure<'a>(job: &'a Job<'_>, args: &BenchArgs) -> Result<Found<'a>, Fail> {
    let how = How { committed: args.how.committed, jobs: Jobs::new(args.jobs.get()), alone: true };
    let mut seen = <(Tally, (Checksum, RangeChecksum))>::default();
    let counting = CommittedListener::when(how.committed, Merging(Default::default()));
    let work = job.decode(&how, counting, |said| seen.merge(said))?;
    let (tally, (elements, ranges)) = seen;
    let mut found = Found {
        buffer: &job.buffer.name,
        bytes: job.buffer.len(),
        sink: args.sink,
        jobs: how.jobs.count,
        tally,
        elements,
        ranges,
        answer: ("", 0),
        passes: Vec::new(),
        work,
    };
    for _ in 0..args.repeat.get() {
        found.pass(job, &how)?;
        if found.sink == BenchSink::Checksum && found.answer.1 != elements.value() {
            return Err(Fail::ours("two passes over the same bytes found different elements"));
        }
    }
    Ok(found)
}

impl Found<'_> {
    /// Decodes once more, and keeps the time.
    fn pass(&mut self, job: &Job<'_>, how: &How) -> Result<(), Fail> {
        let (sources, len) = (job.sources.clone(), job.buffer.size());
        self.answer = match self.sink {
            BenchSink::Checksum => ("checksum", self.time(|| job.add_up::<Checksum>(how))?.value()),
            BenchSink::Count => ("elements", self.time(|| job.add_up::<Count>(how))?.elements),
            BenchSink::Edges => ("edges", self.time(|| job.add_up::<Edges>(how))?.len() as u64),
            BenchSink::Coverage => {
                ("bytes of code", self.time(|| job.add_up::<Coverage>(how))?.bytes())
            }
            BenchSink::Bitmap => {
                ("bytes in use", self.time(|| job.add_up::<Bitmap>(how))?.used() as u64)
            }
            BenchSink::Text => {
                let shown = text::Shown { elements: true, ..Default::default() };
                let view = text::Listing::new(Vec::new(), sources, len, shown);
                ("bytes of text", self.time(|| job.list(how, view))?)
            }
            BenchSink::Json => {
                let shown = json::Shown { elements: true, packets: false };
                let name = &job.buffer.name;
                let view = json::Listing::new(Vec::new(), &job.plan, sources, name, len, shown);
                ("bytes of text", self.time(|| job.list(how, view))?)
            }
            BenchSink::Opencsd => {
                let shown = opencsd::Shown {
                    packets: true,
                    bytes: true,
                    elements: true,
                    ..Default::default()
                };
                let view = opencsd::Listing::new(Vec::new(), &job.plan, shown, false);
                ("bytes of text", self.time(|| job.list(how, view))?)
            }
        };
        Ok(())
    }

    fn time<T>(&mut self, pass: impl FnOnce() -> T) -> T {
        let (clock, processor) = (Instant::now(), ProcessTime::try_now().ok());
        let found = pass();
        let clock = clock.elapsed();
        let processor =
            processor.and_then(|start| Some(ProcessTime::try_now().ok()?.duration_since(start)));
        self.passes.push(Pass { clock, processor });
        found
    }

    /// Packets, ranges and instructions of all sources.
    fn counts(&self) -> (u64, u64, u64) {
        self.tally.sources.iter().fold((0, 0, 0), |(packets, ranges, instructions), c| {
            (packets + c.packets, ranges + c.ranges, instructions + c.instructions)
        })
    }

    /// Seconds of all passes, the shortest first.
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
        ];
        let (mut head, mut values) = (String::new(), String::new());
        for (n, (name, value)) in row.iter().enumerate() {
            let (gap, width) = (if n > 0 { "  " } else { "" }, name.len().max(value.len()));
            let _ = write!(head, "{gap}{name:>width$}");
            let _ = write!(values, "{gap}{value:>width$}");
        }
        let mut text = format!("{head}\n{values}\n");
        let _ = writeln!(text, "checksum {} of elements, {} of ranges", self.elements, self.ranges);
        let (what, count) = self.answer;
        if self.sink != BenchSink::Checksum {
            let _ = writeln!(text, "sink {}: {count} {what}", self.sink.name());
        }
        let (of, jobs) = (self.passes.len(), self.jobs);
        let _ = writeln!(
            text,
            "seconds: the least of {of}, median {:.6}; of the processor {}, median {}; {jobs} {}",
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
                "shared out: {chunks} stretches, {joined} joined; {share:.1} % of the bytes decoded twice",
            );
        }
        text.push_str(
            "timed: decoding into the sink; not reading the files, nor the first pass, which counts\n",
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
        let mut text = String::new();
        Object::new(&mut text)
            .text("type", "bench")
            .text("buffer", self.buffer)
            .text("sink", self.sink.name())
            .number("jobs", self.jobs as u64)
            .number("chunks", self.work.chunks)
            .number("joined", self.work.joined)
            .number("decoded_twice", self.work.again)
            .number("bytes", self.bytes)
            .number("packets", packets)
            .number("elements", self.elements.elements())
            .number("ranges", ranges)
            .number("instructions", instructions)
            .value("seconds", |out| out.push_str(&list(&clock)))
            .value("processor_seconds", |out| out.push_str(&list(&processor)))
            .value("mb_per_s", |out| out.push_str(&number(self.bytes as f64 / 1e6, least)))
            .value("ns_per_range", |out| out.push_str(&number(1e9 * least, ranges as f64)))
            .text("checksum", &self.elements.to_string())
            .text("range_checksum", &self.ranges.to_string())
            .text("answer", self.answer.0)
            .digits("answer_value", self.answer.1)
            .end();
        text.push('\n');
        text
    }
}

/// `a` for each `b`, where there is any.
fn per(a: f64, b: f64) -> String {
    if b > 0.0 { format!("{:.2}", a / b) } else { "-".into() }
}

/// The same for JSON.
fn number(a: f64, b: f64) -> String {
    if b > 0.0 { format!("{:.3}", a / b) } else { "null".into() }
}

/// The one in the middle; the mean of the two there of an even number.
fn median(sorted: &[f64]) -> Option<f64> {
    let high = sorted.get(sorted.len() / 2)?;
    let low = sorted.get((sorted.len() - 1) / 2)?;
    Some((low + high) / 2.0)
}

impl Job<'_> {
    /// Decodes all of the buffer to a sink.
    fn add_up<L: Listener + Merge + Send + 'static>(&self, how: &How) -> Result<L, Fail> {
        let mut found = L::default();
        if how.committed {
            let sink = CommittedListener::new(Erased::new::<L>());
            self.decode(how, sink, |said| found.merge(erased::found(said)))?;
        } else {
            self.decode(how, Merging(L::default()), |said| found.merge(said))?;
        }
        Ok(found)
    }

    /// Decodes all of the buffer to a view, as the verb that shows it does, and counts what it writes.
    fn list<V>(&self, how: &How, view: V) -> Result<u64, Fail>
    where
        V: Listener + Fork<Output = Vec<u8>> + Send,
    {
        let mut written = 0;
        let mut input = self.bytes();
        listing::decode(self, &mut input, how, view, &mut None, |said| {
            written += said.len() as u64;
            true
        })?;
        Ok(written)
    }

    /// The bytes of the buffer, in memory.
    fn bytes(&self) -> impl Bytes {
        Known::new(Parts::new(self.buffer.parts()), self.buffer.len())
    }

    fn decode<L: Listener + Fork + Send>(
        &self,
        how: &How,
        mut listener: L,
        mut said: impl FnMut(L::Output),
    ) -> Result<Work, Fail> {
        let mut session = self.session()?;
        let input: &mut dyn Bytes = &mut self.bytes();
        let done = parallel::run(&mut session, input, &mut listener, &how.jobs, |what, _| {
            said(what);
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

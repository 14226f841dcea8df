//! `tracewright bench`

use std::fmt::Write as _;
use std::io::{self, Write};
use std::time::{Duration, Instant};

use cpu_time::ProcessTime;
use tracewright::Listener;
use tracewright::decode::{CommittedListener, Tally};
use tracewright::views::json::{self, Object};
use tracewright::views::sinks::{Bitmap, Checksum, Count, Coverage, Edges, RangeChecksum};
use tracewright::views::{opencsd, text};

use crate::args::{BenchArgs, BenchFormat, BenchSink};
use crate::fail::Fail;
use crate::input::{Input, Job};
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
        if decoded.doubtful() {
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
}

/// How long one pass took: on the clock, and of the processor, all threads together.
#[derive(Clone, Copy)]
struct Pass {
    clock: Duration,
    processor: Option<Duration>,
}

/// Counts in one pass, and decodes anew in as many as `args` want.
fn measure<'a>(job: &'a Job<'_>, args: &BenchArgs) -> Result<Found<'a>, Fail> {
    let mut seen = (Tally::default(), (Checksum::default(), RangeChecksum::default()));
    job.decode(args.how.committed, &mut seen);
    let (tally, (elements, ranges)) = seen;
    let mut found = Found {
        buffer: &job.buffer.name,
        bytes: job.buffer.len(),
        sink: args.sink,
        jobs: 1,
        tally,
        elements,
        ranges,
        answer: ("", 0),
        passes: Vec::new(),
    };
    for _ in 0..args.repeat.get() {
        found.pass(job, args.how.committed);
        if found.sink == BenchSink::Checksum && found.answer.1 != elements.value() {
            return Err(Fail::ours("two passes over the same bytes found different elements"));
        }
    }
    Ok(found)
}

impl Found<'_> {
    /// Decodes once more, and keeps the time.
    fn pass(&mut self, job: &Job<'_>, committed: bool) {
        let (sources, len) = (job.sources.clone(), job.buffer.len());
        let mut written = Written(0);
        self.answer = match self.sink {
            BenchSink::Checksum => {
                ("checksum", self.time(job, committed, Checksum::default()).value())
            }
            BenchSink::Count => ("elements", self.time(job, committed, Count::default()).elements),
            BenchSink::Edges => ("edges", self.time(job, committed, Edges::default()).len() as u64),
            BenchSink::Coverage => {
                ("bytes of code", self.time(job, committed, Coverage::default()).bytes())
            }
            BenchSink::Bitmap => {
                ("bytes in use", self.time(job, committed, Bitmap::default()).used() as u64)
            }
            BenchSink::Text => {
                let shown = text::Shown { elements: true, ..Default::default() };
                let view = text::Listing::new(&mut written, sources, len, shown);
                let _ = self.time(job, committed, view).finish();
                ("bytes of text", written.0)
            }
            BenchSink::Json => {
                let shown = json::Shown { elements: true, packets: false };
                let name = &job.buffer.name;
                let view = json::Listing::new(&mut written, &job.plan, sources, name, len, shown);
                let _ = self.time(job, committed, view).finish(&Tally::default(), None);
                ("bytes of text", written.0)
            }
            BenchSink::Opencsd => {
                let shown = opencsd::Shown {
                    packets: true,
                    bytes: true,
                    elements: true,
                    ..Default::default()
                };
                let view = opencsd::Listing::new(&mut written, &job.plan, shown, false);
                let _ = self.time(job, committed, view).finish();
                ("bytes of text", written.0)
            }
        };
    }

    fn time<L: Listener>(&mut self, job: &Job<'_>, committed: bool, mut sink: L) -> L {
        let (clock, processor) = (Instant::now(), ProcessTime::try_now().ok());
        job.decode(committed, &mut sink);
        let clock = clock.elapsed();
        let processor =
            processor.and_then(|start| Some(ProcessTime::try_now().ok()?.duration_since(start)));
        self.passes.push(Pass { clock, processor });
        sink
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

/// Counts what is written, and drops it.
struct Written(u64);

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Job<'_> {
    /// Decodes all of the buffer.
    fn decode<L: Listener>(&self, committed: bool, listener: &mut L) {
        let mut session = self.session();
        let parts = self.buffer.parts();
        if committed {
            session.run(parts, &mut CommittedListener::new(listener));
        } else {
            session.run(parts, listener);
        }
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

//! Times what is made of a trace beside the checksum sink, alternating in one process, in processor
//! time: the counts of a profile, edges, executed code, and the functions.
#![forbid(unsafe_code)]

use std::cell::RefCell;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use tracewright::analysis::stacks::{Part, StackCounts};
use tracewright::analysis::{
    Code, Filter, Paths, Profile, Profiler, RawProfile, Stacks, Transfers,
};
use tracewright::base::{self, Element, Waypoints};
use tracewright::capture::Capture;
use tracewright::decode::{
    Caches, Fork, Jobs, Listener, Memory, Merge, Merging, Options, Plan, Program, Session, Tally,
    input, memory, parallel,
};
use tracewright::export::{Dialect, Format};
use tracewright::image::CacheOptions;
use tracewright::isa::rv::Extensions;
use tracewright::views::sinks::{Checksum, Coverage, Edges};

const USAGE: &str = "\
usage: profiles CAPTURE [PASSES [JOBS [ONLY]]]

Decodes all buffers of CAPTURE on JOBS threads (default 1), alternating between the checksum sink and the consumers of
elements, PASSES (default 3) times. Prints the processor time of each pass, that of the calling thread, which joins what
the others find, and the time on the clock. With ONLY, only the consumer of that name: none, checksum, profile, edges,
coverage, functions, counted (the functions, and counts of packets and elements as in the command).";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |n: usize, default| words.get(n).map_or(Some(default), |word| word.parse().ok());
    let (Some(path), Some(passes), Some(jobs)) = (words.first(), number(1, 3), number(2, 1)) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    match times(Path::new(path), passes, &Jobs::new(jobs), words.get(3).map(String::as_str)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

/// A point in time.
struct Point {
    clock: Instant,
    /// Processor time of this thread and of all threads, in seconds.
    own: f64,
    all: f64,
}

impl Point {
    fn here() -> Point {
        let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
        let nanoseconds = text.split(' ').next().and_then(|word| word.parse::<f64>().ok());
        // Fields 14 and 15 are the ticks of all threads, also of those that ended; field 2 is the
        // name in parentheses.
        let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
        let fields = text.rsplit(')').next().unwrap_or_default().split_whitespace();
        let ticks: f64 = fields.skip(11).take(2).filter_map(|word| word.parse::<f64>().ok()).sum();
        Point {
            clock: Instant::now(),
            own: nanoseconds.unwrap_or(0.0) / 1e9,
            all: ticks / TICKS_PER_SECOND,
        }
    }

    /// The times since then.
    fn since(&self) -> String {
        let end = Point::here();
        let (own, all) = (end.own - self.own, end.all - self.all);
        let clock = end.clock.duration_since(self.clock).as_secs_f64();
        format!("{all:6.2} s, calling thread {own:6.3} s, clock {clock:7.3} s")
    }
}

/// USER_HZ of Linux.
const TICKS_PER_SECOND: f64 = 100.0;

fn times(path: &Path, passes: usize, jobs: &Jobs, only: Option<&str>) -> Result<(), String> {
    let start = Point::here();
    let capture = tracewright::read_capture(path).map_err(|error| error.to_string())?;
    println!("open       {}", start.since());
    let memory = Memory::new(&capture);
    let on = Trial { capture: &capture, memory: &memory, jobs };
    let wanted = |name: &str| only.is_none_or(|only| only == name);
    for _ in 0..passes {
        if wanted("none") {
            let start = Point::here();
            on.sum::<Nothing>()?;
            println!("none       {}", start.since());
        }
        if wanted("checksum") {
            let start = Point::here();
            let sum = on.sum::<Checksum>()?;
            println!("checksum   {}, {} elements, {sum}", start.since(), sum.elements());
        }
        if wanted("profile") {
            let start = Point::here();
            let profile = on.profile()?;
            let text = Format::Folded.write(&profile, Dialect::default())?;
            println!(
                "profile    {}, {} bytes, {} instructions",
                start.since(),
                text.len(),
                profile.instructions
            );
        }
        if wanted("edges") {
            let start = Point::here();
            let edges = on.sum::<Edges>()?;
            println!("edges      {}, {} edges", start.since(), edges.len());
        }
        if wanted("coverage") {
            let start = Point::here();
            let covered = on.sum::<Coverage>()?;
            println!("coverage   {}, {} bytes", start.since(), covered.bytes());
        }
        for (name, counted) in [("functions", false), ("counted", true)] {
            if !wanted(name) {
                continue;
            }
            let start = Point::here();
            let (paths, counts) = on.functions(counted)?;
            println!(
                "{name:10} {}, {} paths, {} calls, {} returns, {} instructions",
                start.since(),
                paths.paths().len(),
                counts.calls,
                counts.returns,
                counts.instructions
            );
        }
    }
    Ok(())
}

/// Receives everything, and does nothing with it.
#[derive(Default)]
struct Nothing;

impl Listener for Nothing {
    fn element(&mut self, _: usize, _: u64, _: Element) {}

    fn batch(&mut self, _: &base::Batch<'_>) {}
}

impl Merge for Nothing {
    fn merge(&mut self, _: Self) {}
}

/// Counts of packets and elements, which the commands print, too.
type Packets = Merging<Tally>;

/// A capture, and how it is decoded.
struct Trial<'a> {
    capture: &'a Capture,
    memory: &'a Memory,
    jobs: &'a Jobs,
}

impl Trial<'_> {
    /// The sum of all buffers.
    fn sum<L: Listener + Merge + Send>(&self) -> Result<L, String> {
        let mut sum = L::default();
        let add = |more, _| {
            sum.merge(more);
            true
        };
        self.pass(add, |_, _| Merging(L::default()))?;
        Ok(sum)
    }

    fn profile(&self) -> Result<Profile, String> {
        let mut raw = RawProfile::default();
        let mut programs: Vec<Program> = Vec::new();
        let add = |(more, _), _| {
            raw.merge(more);
            true
        };
        self.pass(add, |own, before: Option<(Profiler, Packets)>| {
            let own = own.iter().map(|(program, _)| program.clone());
            if own.len() > programs.len() {
                programs = own.clone().collect();
            }
            let profiler = match before {
                Some((before, _)) => before.for_trace(own),
                None => Profiler::new(own),
            };
            (profiler, Packets::default())
        })?;
        let mut profile = Profile::default();
        profile.add(raw, &programs, &memory::modules(self.capture), &Filter::default());
        Ok(profile)
    }

    /// The call paths of all buffers, each with stacks of its own. `counted`: packets and elements
    /// are counted, too, as the command does.
    fn functions(&self, counted: bool) -> Result<(Paths, StackCounts), String> {
        let code = Code::of_capture(self.capture);
        let stacks = RefCell::new(None::<Stacks<Paths>>);
        let add = |part: Part| {
            if let Some(stacks) = stacks.borrow_mut().as_mut() {
                stacks.part(&part);
            }
            true
        };
        let mut counts = StackCounts::default();
        let mut finish = |stacks: Option<Stacks<Paths>>| {
            let mut stacks = stacks?;
            stacks.finish();
            counts.add(&stacks.counts);
            Some(stacks.visitor)
        };
        let mut transfers = |own: &[(Program, Extensions)]| {
            let caches = own.iter().map(|(program, riscv)| {
                let options = CacheOptions { riscv: *riscv, ..CacheOptions::default() };
                program.cache(Waypoints::default(), options)
            });
            let code = code.with_programs(own.iter().map(|(program, _)| program.clone()));
            let next =
                Stacks::new(own.len(), Paths::new()).with_unwind_targets(code.unwind_targets());
            finish(stacks.borrow_mut().replace(next));
            Transfers::new(code, caches.collect()).with_frames()
        };
        match counted {
            false => self.pass(|part, _| add(part), |own, _| transfers(own))?,
            true => {
                let add = |(part, _), _| add(part);
                self.pass(add, |own, _| (transfers(own), Packets::default()))?;
            }
        }
        let paths = finish(stacks.into_inner()).unwrap_or_default();
        Ok((paths, counts))
    }

    /// Decodes all buffers. `listener` makes the listener of a buffer from the programs of its
    /// sources and the listener of the buffer before.
    fn pass<L: Listener + Fork + Send>(
        &self,
        mut add: impl FnMut(L::Output, u64) -> bool,
        mut listener: impl FnMut(&[(Program, Extensions)], Option<L>) -> L,
    ) -> Result<(), String> {
        let Trial { capture, memory, jobs } = *self;
        let options = Options::default();
        let (mut caches, mut before) = (Caches::default(), None);
        for (n, buffer) in capture.buffers.iter().enumerate() {
            let plan = Plan::new(capture, n, &options).ok_or("the capture has no buffer")?;
            let programs: Vec<_> = plan
                .sources
                .iter()
                .map(|planned| {
                    let program = memory.seen_by(capture, plan.buffer, planned.source);
                    (program, planned.config.riscv())
                })
                .collect();
            let mut session = Session::with_caches(capture, &plan, memory, &options, caches)
                .map_err(|error| error.to_string())?;
            let mut input = input::of(buffer);
            let mut own = listener(&programs, before.take());
            let done = parallel::run(&mut session, input.as_mut(), &mut own, jobs, &mut add);
            done.map_err(|error| error.to_string())?;
            (before, caches) = (Some(own), session.into_caches());
        }
        Ok(())
    }
}

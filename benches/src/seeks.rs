//! Times random access: `seeks CAPTURE INDEX [COUNT [IMAGE]]`.
//!
//! `seeks CAPTURE INDEX make JOBS [SEGMENT]` only makes INDEX on JOBS threads, with segments of
//! SEGMENT bytes, and prints the processor time, the peak of memory and the sizes; with 0 JOBS,
//! only the checksum sink runs, on one thread.
//!
//! Where there is no file INDEX, it is made of the first buffer of the capture, on one thread and
//! on two, and both are compared with the checksum sink.
//!
//! Then the buffer is decoded once, for the answers to COUNT (1000) queries for random offsets,
//! times and instructions, and each query is answered with the index and compared. The time of a
//! query includes opening the capture and the index.
//!
//! With IMAGE, an ELF file that is added to the program memory, the first, the last and the number
//! of the entries of some functions are searched for, too, and compared with the time of decoding
//! the buffer without a listener.
#![forbid(unsafe_code)]

use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use tracewright::Element;
use tracewright::capture::{Capture, Growing, ImageSource, read_file};
use tracewright::decode::{
    Jobs, Listener, Memory, Merging, Options, Plan, Program, input, parallel,
};
use tracewright::index::query::{Condition, Which};
use tracewright::index::{Answer, Finder, Index, Making, Query, Shape, Subject};
use tracewright::views::sinks::Checksum;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [capture, index, options @ ..] = args.as_slice() else {
        eprintln!("usage: seeks CAPTURE INDEX [COUNT [IMAGE]]");
        return ExitCode::from(2);
    };
    let count = args.get(2).and_then(|count| count.parse().ok()).unwrap_or(1000);
    let opening = Opening { path: Path::new(capture), image: args.get(3).map(String::as_str) };
    let done = match options {
        [word, jobs, segment @ ..] if word == "make" => {
            let opening = Opening { image: None, ..opening };
            make_once(&opening, Path::new(index), jobs, segment.first().map(String::as_str))
        }
        _ => run(&opening, Path::new(index), count),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(why) => {
            eprintln!("seeks: {why}");
            ExitCode::from(2)
        }
    }
}

/// The capture that is opened.
struct Opening<'a> {
    path: &'a Path,
    /// An image that is added.
    image: Option<&'a str>,
}

impl Opening<'_> {
    fn open(&self) -> Result<Capture, Box<dyn std::error::Error>> {
        let mut opened = tracewright::read_capture(self.path)?;
        if let Some(image) = self.image {
            opened.add_image(&ImageSource::parse(image)?)?;
        }
        Ok(opened)
    }
}

/// A function, and the numbers of the elements that enter it: the first, the last, and how many.
struct Entered {
    name: String,
    start: u64,
    first: Option<u64>,
    last: Option<u64>,
    count: u64,
}

/// A query, and its answer: the offset and the number of the element.
struct Target {
    at: u64,
    answer: Option<(u64, u64)>,
}

/// Finds the answers in a decode of the whole buffer. Each list is in ascending order.
struct Answers {
    /// By offset, by time, by instruction, with the number of answers so far.
    lists: [(Vec<Target>, usize); 3],
    /// In order of their addresses.
    functions: Vec<Entered>,
    number: u64,
    instructions: u64,
    times: Vec<Option<u64>>,
}

impl Answers {
    fn pass(&mut self, list: usize, value: u64, at: u64) {
        let number = self.number;
        let Some((targets, done)) = self.lists.get_mut(list) else { return };
        while let Some(target) = targets.get_mut(*done).filter(|target| target.at <= value) {
            target.answer = Some((at, number));
            *done += 1;
        }
    }
}

impl Listener for Answers {
    fn element(&mut self, source: usize, at: u64, element: Element) {
        if self.times.len() <= source {
            self.times.resize(source + 1, None);
        }
        if let (Some(time), Some(last)) = (element.ticks(), self.times.get_mut(source)) {
            *last = Some(time);
        }
        self.pass(0, at, at);
        if let Some(time) = self.times.get(source).copied().flatten() {
            self.pass(1, time, at);
        }
        if let Element::Range(range) = element {
            let end = range.start.wrapping_add(range.bytes.into());
            let from = self.functions.partition_point(|function| function.start < range.start);
            let after = self.functions.iter_mut().skip(from);
            for function in after.take_while(|function| function.start < end) {
                function.first.get_or_insert(self.number);
                function.last = Some(self.number);
                function.count += 1;
            }
        }
        // An element without instructions is at the number of the next one.
        let own = match element {
            Element::Range(range) => u64::from(range.instructions),
            _ => 0,
        };
        self.pass(2, self.instructions + own.saturating_sub(1), at);
        self.instructions += own;
        self.number += 1;
    }
}

/// Processor time of the process so far in seconds: user and system, in steps of 10 ms. 0 where the
/// system does not report it. (proc_pid_stat(5), fields 14 and 15)
fn processor() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    let ticks = fields.split_whitespace().skip(11).take(2).filter_map(|n| n.parse::<f64>().ok());
    ticks.sum::<f64>() / 100.0
}

/// Processor time of this thread so far in nanoseconds. (/proc/thread-self/schedstat)
fn thread() -> u64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    stat.split_whitespace().next().and_then(|n| n.parse().ok()).unwrap_or(0)
}

/// The peak of memory so far in MB of 10^6 bytes: VmHWM, in KiB. (proc_pid_status(5))
fn peak() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
    kib.unwrap_or(0.0) * 1024.0 / 1e6
}

/// Makes the index once.
fn make_once(
    opening: &Opening<'_>,
    index: &Path,
    jobs: &str,
    segment: Option<&str>,
) -> Result<bool, Box<dyn std::error::Error>> {
    let opened = opening.open()?;
    let (memory, options) = (Memory::new(&opened), Options::default());
    let plan = Plan::new(&opened, 0, &options).ok_or("no buffer")?;
    let subject = Subject { capture: &opened, memory: &memory, options: &options };
    let shape = match segment {
        Some(bytes) => Shape::with_segment(bytes.parse()?),
        None => Shape::default(),
    };
    let making = Making { jobs: jobs.parse()?, shape, ..Making::default() };
    let (start, used) = (Instant::now(), processor());
    if making.jobs == 0 {
        let mut sum = Checksum::default();
        let took = decode(&subject, &plan, &mut sum)?;
        let used = processor() - used;
        println!("checksum: {:.2} s, processor time {used:.2} s", took.as_secs_f64());
        return Ok(true);
    }
    let mut file = Growing::create(index)?;
    subject
        .make(std::slice::from_ref(&plan), &making, |bytes, _| file.append(bytes).map(|()| true))?;
    println!(
        "jobs {jobs}: {:.2} s, processor time {:.2} s, peak of memory {:.1} MB",
        start.elapsed().as_secs_f64(),
        processor() - used,
        peak()
    );
    let len = opened.buffers.first().map_or(0, |buffer| buffer.len());
    sizes(&Index::read(read_file(index)?)?, len);
    Ok(true)
}

/// Prints the sizes of an index of `len` bytes of trace.
fn sizes(made: &Index, len: u64) {
    let share = |bytes: u64| bytes as f64 * 100.0 / len as f64;
    println!("{} bytes, {:.3} % of the trace", made.used(), share(made.used()));
    for (name, bytes) in made.sizes() {
        println!("  {name} {:.3} %", share(bytes));
    }
}

/// Makes the index, and prints the times.
fn make(
    subject: &Subject<'_>,
    plan: &Plan,
    index: &Path,
) -> Result<(), Box<dyn std::error::Error>> {
    let buffer = subject.capture.buffers.get(plan.buffer).ok_or("no buffer")?;
    let rate = |time: Duration| buffer.len() as f64 / 1e6 / time.as_secs_f64();
    for count in [1, 2] {
        let (start, used) = (Instant::now(), processor());
        let mut session = subject.session(plan)?;
        let (mut sink, mut input) = (Merging(Checksum::default()), input::of(buffer));
        let jobs = Jobs::new(count);
        parallel::run(&mut session, &mut *input, &mut sink, &jobs, |_: Checksum, _| true)?;
        let (checksum, checksum_used) = (start.elapsed(), processor() - used);
        let (start, used) = (Instant::now(), processor());
        let making = Making { jobs: count, ..Making::default() };
        let mut file = Growing::create(index)?;
        subject.make(std::slice::from_ref(plan), &making, |bytes, _| {
            file.append(bytes).map(|()| true)
        })?;
        let (made, made_used) = (start.elapsed(), processor() - used);
        println!(
            "jobs {count}: checksum {:.2} s, {:.1} MB/s; index {:.2} s, {:.1} MB/s; ratio {:.2}; \
             processor time {checksum_used:.2} s, {made_used:.2} s, ratio {:.2}",
            checksum.as_secs_f64(),
            rate(checksum),
            made.as_secs_f64(),
            rate(made),
            checksum.as_secs_f64() / made.as_secs_f64(),
            checksum_used / made_used
        );
    }
    sizes(&Index::read(read_file(index)?)?, buffer.len());
    Ok(())
}

/// Functions of the first source, at most [`FUNCTIONS`].
fn functions(subject: &Subject<'_>, plan: &Plan) -> Vec<Entered> {
    let Some(planned) = plan.sources.first() else { return Vec::new() };
    let program = subject.memory.seen_by(subject.capture, plan.buffer, planned.source);
    let Program::Image(image) = program else { return Vec::new() };
    let all = image.symbols();
    let step = all.len() / FUNCTIONS + 1;
    let some = all.iter().step_by(step).map(|symbol| Entered {
        name: symbol.name.to_owned(),
        start: symbol.start,
        first: None,
        last: None,
        count: 0,
    });
    let mut some: Vec<Entered> = some.collect();
    some.sort_by_key(|function| function.start);
    some
}

/// The most functions that are searched for.
const FUNCTIONS: usize = 100;

/// Searches for functions, and prints the times. `decoding`: that of the whole buffer.
fn search(
    opening: &Opening<'_>,
    index: &Path,
    functions: &[Entered],
    decoding: Duration,
) -> Result<bool, Box<dyn std::error::Error>> {
    let mut right = true;
    for which in [Which::First, Which::Last, Which::Count] {
        let (mut spent, mut used) = (Vec::new(), Vec::new());
        for function in functions {
            let (start, before) = (Instant::now(), thread());
            let opened = opening.open()?;
            let (memory, options) = (Memory::new(&opened), Options::default());
            let plan = Plan::new(&opened, 0, &options).ok_or("no buffer")?;
            let subject = Subject { capture: &opened, memory: &memory, options: &options };
            let index = Index::read(read_file(index)?)?;
            subject.check(&index, std::slice::from_ref(&plan))?;
            let mut finder = Finder::new(subject, &plan, Some(&index)).ok_or("no finder")?;
            let conditions = vec![Condition::Function(function.name.clone())];
            let answer = finder.find(&Query { which, conditions, bound: None })?;
            spent.push(start.elapsed());
            used.push(thread() - before);
            let same = match answer {
                Answer::Count(count) => count == function.count,
                Answer::Elements(found) => {
                    let found = found.first().map(|found| found.number);
                    found == if which == Which::First { function.first } else { function.last }
                }
            };
            if !same {
                println!("{which:?} {}: another answer", function.name);
                right = false;
            }
        }
        spent.sort();
        used.sort();
        let (Some(median), Some(worst)) = (spent.get(spent.len() / 2), spent.last()) else {
            continue;
        };
        println!(
            "{} by function, {which:?}: median {:.1} ms, worst {:.1} ms; processor time median \
             {:.1} ms; decoding takes {:.0} times the median, {:.0} times the worst",
            spent.len(),
            median.as_secs_f64() * 1e3,
            worst.as_secs_f64() * 1e3,
            used.get(used.len() / 2).map_or(0.0, |time| *time as f64 / 1e6),
            decoding.as_secs_f64() / median.as_secs_f64(),
            decoding.as_secs_f64() / worst.as_secs_f64()
        );
    }
    Ok(right)
}

/// Ignores all elements.
struct Nothing;

impl Listener for Nothing {
    fn element(&mut self, _: usize, _: u64, _: Element) {}

    fn batch(&mut self, _: &tracewright::base::Batch<'_>) {}
}

/// Decodes the buffer of `plan`, and returns the time.
fn decode<L: Listener>(
    subject: &Subject<'_>,
    plan: &Plan,
    listener: &mut L,
) -> Result<Duration, Box<dyn std::error::Error>> {
    let start = Instant::now();
    let mut session = subject.session(plan)?;
    let buffer = subject.capture.buffers.get(plan.buffer).ok_or("no buffer")?;
    let mut reader = buffer.reader();
    let mut bytes = vec![0; 1 << 16];
    loop {
        match std::io::Read::read(&mut *reader, &mut bytes)? {
            0 => break,
            len => session.feed(bytes.get(..len).unwrap_or_default(), listener),
        }
    }
    session.finish(listener);
    Ok(start.elapsed())
}

fn run(
    opening: &Opening<'_>,
    index: &Path,
    count: u64,
) -> Result<bool, Box<dyn std::error::Error>> {
    let opened = opening.open()?;
    let (memory, options) = (Memory::new(&opened), Options::default());
    let plan = Plan::new(&opened, 0, &options).ok_or("no buffer")?;
    let subject = Subject { capture: &opened, memory: &memory, options: &options };
    if !index.exists() {
        make(&subject, &plan, index)?;
    }
    // The greatest time and number of instructions, from the index.
    let summary = Index::read(read_file(index)?)?;
    let buffer = summary.buffer(0).ok_or("no index of the buffer")?;
    let position = buffer.position(buffer.len());
    let times = buffer.times().unwrap_or((u64::MAX, 0));
    let ranges = [
        (0, buffer.covered()),
        if times.0 <= times.1 { (times.0, times.1 + 1) } else { (0, 0) },
        (0, position.instructions),
    ];
    let mut seed = 1u64;
    let lists = ranges.map(|(from, to)| {
        let mut list = Vec::new();
        for _ in 0..if to > from { count } else { 0 } {
            seed = seed.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            list.push(Target { at: from + (seed >> 16) % (to - from), answer: None });
        }
        list.sort_by_key(|target| target.at);
        (list, 0)
    });
    let functions = functions(&subject, &plan);
    let mut answers = Answers { lists, functions, number: 0, instructions: 0, times: Vec::new() };
    let took = decode(&subject, &plan, &mut answers)?;
    println!("decoded {} bytes once in {:.1} s", buffer.covered(), took.as_secs_f64());
    let mut right = true;
    for (name, (targets, _)) in ["offset", "time", "instruction"].into_iter().zip(&answers.lists) {
        let (mut spent, mut used) = (Vec::<Duration>::new(), Vec::<u64>::new());
        for target in targets {
            let condition = match name {
                "offset" => Condition::Offset(target.at..u64::MAX),
                "time" => Condition::Time(target.at..u64::MAX),
                _ => Condition::Instruction(target.at..target.at + 1),
            };
            let (start, before) = (Instant::now(), thread());
            let opened = opening.open()?;
            let memory = Memory::new(&opened);
            let plan = Plan::new(&opened, 0, &options).ok_or("no buffer")?;
            let subject = Subject { capture: &opened, memory: &memory, options: &options };
            let index = Index::read(read_file(index)?)?;
            subject.check(&index, std::slice::from_ref(&plan))?;
            let mut finder = Finder::new(subject, &plan, Some(&index)).ok_or("no finder")?;
            let found = finder.seek(&[condition])?.map(|found| (found.at, found.number));
            spent.push(start.elapsed());
            used.push(thread() - before);
            if found != target.answer {
                println!("{name} {}: found {found:?}, expected {:?}", target.at, target.answer);
                right = false;
            }
        }
        spent.sort();
        used.sort();
        let used_at = |n: usize| used.get(n).map_or(0.0, |time| *time as f64 / 1e6);
        let at = |n: usize| spent.get(n).map_or(0.0, |time| time.as_secs_f64() * 1e3);
        println!(
            "{} by {name}: median {:.1} ms, 99 % {:.1} ms, worst {:.1} ms; processor time median \
             {:.1} ms, worst {:.1} ms",
            spent.len(),
            at(spent.len() / 2),
            at(spent.len() * 99 / 100),
            at(spent.len().saturating_sub(1)),
            used_at(used.len() / 2),
            used_at(used.len().saturating_sub(1))
        );
    }
    println!("peak of memory {:.1} MB", peak());
    if !answers.functions.is_empty() {
        let decoding = decode(&subject, &plan, &mut Nothing)?;
        right &= search(opening, index, &answers.functions, decoding)?;
    }
    Ok(right)
}

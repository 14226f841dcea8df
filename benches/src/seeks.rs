//! Times random access: `seeks CAPTURE INDEX [COUNT]`.
//!
//! Where there is no file INDEX, it is made of the first buffer of the capture, on one thread and
//! on two, and both are compared with the checksum sink.
//!
//! Then the buffer is decoded once, for the answers to COUNT (1000) queries for random offsets,
//! times and instructions, and each query is answered with the index and compared. The time of a
//! query includes opening the capture and the index.
#![forbid(unsafe_code)]

use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use tracewright::Element;
use tracewright::capture::{Growing, read_file};
use tracewright::decode::{Jobs, Listener, Memory, Merging, Options, Plan, input, parallel};
use tracewright::index::query::Condition;
use tracewright::index::{Finder, Index, Making, Subject, time};
use tracewright::views::sinks::Checksum;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let ([capture, index] | [capture, index, _]) = args.as_slice() else {
        eprintln!("usage: seeks CAPTURE INDEX [COUNT]");
        return ExitCode::from(2);
    };
    let count = args.get(2).and_then(|count| count.parse().ok()).unwrap_or(1000);
    match run(Path::new(capture), Path::new(index), count) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(why) => {
            eprintln!("seeks: {why}");
            ExitCode::from(2)
        }
    }
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
    const PACKETS: bool = false;

    fn element(&mut self, source: usize, at: u64, element: Element) {
        if self.times.len() <= source {
            self.times.resize(source + 1, None);
        }
        if let (Some(time), Some(last)) = (time(&element), self.times.get_mut(source)) {
            *last = Some(time);
        }
        self.pass(0, at, at);
        if let Some(time) = self.times.get(source).copied().flatten() {
            self.pass(1, time, at);
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

/// Makes the index, and prints the times.
fn make(
    subject: &Subject<'_>,
    plan: &Plan,
    index: &Path,
) -> Result<(), Box<dyn std::error::Error>> {
    let buffer = subject.capture.buffers.get(plan.buffer).ok_or("no buffer")?;
    let rate = |time: Duration| buffer.len() as f64 / 1e6 / time.as_secs_f64();
    for count in [1, 2] {
        let start = Instant::now();
        let mut session = subject.session(plan)?;
        let (mut sink, mut input) = (Merging(Checksum::default()), input::of(buffer));
        let jobs = Jobs::new(count);
        parallel::run(&mut session, &mut *input, &mut sink, &jobs, |_: Checksum, _| true)?;
        let checksum = start.elapsed();
        let start = Instant::now();
        let making = Making { jobs: count, ..Making::default() };
        let mut file = Growing::create(index)?;
        subject.make(std::slice::from_ref(plan), &making, |bytes, _| {
            file.append(bytes).map(|()| true)
        })?;
        let made = start.elapsed();
        println!(
            "jobs {count}: checksum {:.1} s, {:.1} MB/s; index {:.1} s, {:.1} MB/s; ratio {:.2}",
            checksum.as_secs_f64(),
            rate(checksum),
            made.as_secs_f64(),
            rate(made),
            checksum.as_secs_f64() / made.as_secs_f64()
        );
    }
    let made = Index::read(read_file(index)?)?;
    let share = |bytes: u64| bytes as f64 * 100.0 / buffer.len() as f64;
    println!("{} bytes, {:.3} % of the trace", made.used(), share(made.used()));
    for (name, bytes) in made.sizes() {
        println!("  {name} {:.3} %", share(bytes));
    }
    Ok(())
}

fn run(capture: &Path, index: &Path, count: u64) -> Result<bool, Box<dyn std::error::Error>> {
    let opened = tracewright::read_capture(capture)?;
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
    let times = buffer.summaries().flat_map(|s| &s.streams).filter_map(|stream| stream.times);
    let times = times.fold((u64::MAX, 0), |(min, max), t| (min.min(t.min), max.max(t.max)));
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
    let mut answers = Answers { lists, number: 0, instructions: 0, times: Vec::new() };
    let start = Instant::now();
    let mut session = subject.session(&plan)?;
    let mut reader = opened.buffers.first().ok_or("no buffer")?.reader();
    let mut bytes = vec![0; 1 << 16];
    loop {
        match std::io::Read::read(&mut *reader, &mut bytes)? {
            0 => break,
            len => session.feed(bytes.get(..len).unwrap_or_default(), &mut answers),
        }
    }
    session.finish(&mut answers);
    println!("decoded {} bytes once in {:.1} s", buffer.covered(), start.elapsed().as_secs_f64());
    let mut right = true;
    for (name, (targets, _)) in ["offset", "time", "instruction"].into_iter().zip(&answers.lists) {
        let mut spent: Vec<Duration> = Vec::new();
        for target in targets {
            let condition = match name {
                "offset" => Condition::Offset(target.at..u64::MAX),
                "time" => Condition::Time(target.at..u64::MAX),
                _ => Condition::Instruction(target.at..target.at + 1),
            };
            let start = Instant::now();
            let opened = tracewright::read_capture(capture)?;
            let memory = Memory::new(&opened);
            let plan = Plan::new(&opened, 0, &options).ok_or("no buffer")?;
            let subject = Subject { capture: &opened, memory: &memory, options: &options };
            let index = Index::read(read_file(index)?)?;
            subject.check(&index, std::slice::from_ref(&plan))?;
            let mut finder = Finder::new(subject, &plan, Some(&index)).ok_or("no finder")?;
            let found = finder.seek(&[condition])?.map(|found| (found.at, found.number));
            spent.push(start.elapsed());
            if found != target.answer {
                println!("{name} {}: found {found:?}, expected {:?}", target.at, target.answer);
                right = false;
            }
        }
        spent.sort();
        let at = |n: usize| spent.get(n).map_or(0.0, |time| time.as_secs_f64() * 1e3);
        println!(
            "{} by {name}: median {:.1} ms, 99 % {:.1} ms, worst {:.1} ms",
            spent.len(),
            at(spent.len() / 2),
            at(spent.len() * 99 / 100),
            at(spent.len().saturating_sub(1))
        );
    }
    Ok(right)
}

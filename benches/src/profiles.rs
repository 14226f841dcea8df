//! Times the counts of an execution profile beside the checksum sink, alternating in one process on
//! one thread, in processor time.
#![forbid(unsafe_code)]

use std::path::Path;
use std::process::ExitCode;

use tracewright::analysis::{Filter, Profile, Profiler, RawProfile};
use tracewright::capture::Capture;
use tracewright::decode::input::{Known, Parts};
use tracewright::decode::{
    Caches, Fork, Jobs, Listener, Memory, Merge, Merging, Options, Plan, Program, Session, Tally,
    memory, parallel,
};
use tracewright::export::{Dialect, Format};
use tracewright::views::sinks::Checksum;

const USAGE: &str = "\
usage: profiles CAPTURE [PASSES]

Decodes all buffers of CAPTURE on one thread, alternating between the checksum sink and the counts of a profile, PASSES
(default 3) times. Prints the processor time of each pass, and of a profile with its text.";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let passes = words.get(1).map_or(Some(3), |word| word.parse().ok());
    let (Some(path), Some(passes)) = (words.first(), passes) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    match times(Path::new(path), passes) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

/// Processor time of this thread so far, in seconds.
fn processor_time() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = text.split(' ').next().and_then(|word| word.parse::<f64>().ok());
    nanoseconds.unwrap_or(0.0) / 1e9
}

fn times(path: &Path, passes: usize) -> Result<(), String> {
    let start = processor_time();
    let capture = tracewright::read_capture(path).map_err(|error| error.to_string())?;
    println!("open                {:.3} s", processor_time() - start);
    let memory = Memory::new(&capture);
    for _ in 0..passes {
        let start = processor_time();
        let (mut sum, mut tally) = (Checksum::default(), Tally::default());
        let add = |(more, counts)| {
            sum.merge(more);
            tally.merge(counts);
        };
        pass(&capture, &memory, add, |_, _| Merging(Checksum::default()))?;
        let ranges: u64 = tally.sources.iter().map(|counts| counts.ranges).sum();
        println!("checksum            {:.3} s, {ranges} ranges, {sum}", processor_time() - start);

        let start = processor_time();
        let (mut raw, mut tally) = (RawProfile::default(), Tally::default());
        let mut programs: Vec<Program> = Vec::new();
        let add = |(more, counts)| {
            raw.merge(more);
            tally.merge(counts);
        };
        pass(&capture, &memory, add, |own, before: Option<Profiler>| {
            if own.len() > programs.len() {
                programs = own.to_vec();
            }
            match before {
                Some(before) => before.for_trace(own.iter().cloned()),
                None => Profiler::new(own.iter().cloned()),
            }
        })?;
        println!("counts of a profile {:.3} s", processor_time() - start);
        let mut profile = Profile::default();
        profile.add(raw, &programs, &memory::modules(&capture), &Filter::default());
        let text = Format::Folded.write(&profile, Dialect::default())?;
        println!(
            "to the text         {:.3} s, {} bytes, {} instructions",
            processor_time() - start,
            text.len(),
            profile.instructions
        );
    }
    Ok(())
}

/// Decodes all buffers. `listener` makes the listener of a buffer from the programs of its sources
/// and the listener of the buffer before.
fn pass<L: Listener + Fork + Send>(
    capture: &Capture,
    memory: &Memory,
    mut add: impl FnMut((L::Output, Tally)),
    mut listener: impl FnMut(&[Program], Option<L>) -> L,
) -> Result<(), String> {
    let (options, jobs) = (Options::default(), Jobs::new(1));
    let (mut caches, mut before) = (Caches::default(), None);
    for (n, buffer) in capture.buffers.iter().enumerate() {
        let plan = Plan::new(capture, n, &options).ok_or("the capture has no buffer")?;
        let programs: Vec<Program> = plan
            .sources
            .iter()
            .map(|planned| memory.seen_by(capture, plan.buffer, planned.source))
            .collect();
        let mut session = Session::with_caches(capture, &plan, memory, &options, caches)
            .map_err(|error| error.to_string())?;
        let mut input = Known::new(Parts::new(buffer.parts()), buffer.len());
        let mut both = (listener(&programs, before.take()), Merging(Tally::default()));
        let done = parallel::run(&mut session, &mut input, &mut both, &jobs, |output, _| {
            add(output);
            true
        });
        done.map_err(|error| error.to_string())?;
        (before, caches) = (Some(both.0), session.into_caches());
    }
    Ok(())
}

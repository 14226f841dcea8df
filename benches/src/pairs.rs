//! Times a capture on one thread and on several by turns, in one process, so that each pair is of the same moment.
#![forbid(unsafe_code)]

use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use tracewright::capture::Capture;
use tracewright::decode::input::{Known, Parts};
use tracewright::decode::{Jobs, Memory, Merge, Merging, Options, Plan, Session, parallel};
use tracewright::views::sinks::Checksum;

const USAGE: &str = "\
usage: pairs CAPTURE [JOBS [PAIRS]]

Decodes the first buffer of CAPTURE to the checksum sink on one thread and on JOBS (2), by turns, PAIRS (15) times, and
prints how many times as fast the second is, on the clock: of each pair, and of the shortest of all.";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |n: usize, or: usize| words.get(n).map_or(Some(or), |word| word.parse().ok());
    let (Some(path), Some(jobs), Some(pairs @ 1..)) = (words.first(), number(1, 2), number(2, 15))
    else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    match times(Path::new(path), [1, jobs], pairs) {
        Ok(times) => {
            println!("{}", report(jobs, times));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

/// How long each pass took, for both numbers of threads.
fn times(path: &Path, jobs: [usize; 2], pairs: usize) -> Result<Vec<[Duration; 2]>, String> {
    let capture = tracewright::read_capture(path).map_err(|error| error.to_string())?;
    // Its sum is what all must come to, and after it all files are in memory.
    let (want, _) = pass(&capture, 1)?;
    let mut times = Vec::new();
    for _ in 0..pairs {
        let mut pair = [Duration::ZERO; 2];
        for (time, jobs) in pair.iter_mut().zip(jobs) {
            let (sum, took) = pass(&capture, jobs)?;
            if sum != want {
                return Err(format!("{jobs} threads come to {sum:?}, one to {want:?}"));
            }
            *time = took;
        }
        times.push(pair);
    }
    Ok(times)
}

fn pass(capture: &Capture, jobs: usize) -> Result<(Checksum, Duration), String> {
    let options = Options::default();
    let plan = Plan::new(capture, 0, &options).ok_or("the capture has no buffer")?;
    let memory = Memory::new(capture);
    let buffer = &capture.buffers[0];
    let start = Instant::now();
    let mut session =
        Session::new(capture, &plan, &memory, &options).map_err(|error| error.to_string())?;
    let mut input = Known::new(Parts::new(buffer.parts()), buffer.len());
    let (mut sink, mut sum) = (Merging(Checksum::default()), Checksum::default());
    let how = Jobs::new(jobs);
    let done = parallel::run(&mut session, &mut input, &mut sink, &how, |said, _| {
        sum.merge(said);
        true
    });
    done.map_err(|error| error.to_string())?;
    Ok((sum, start.elapsed()))
}

fn report(jobs: usize, times: Vec<[Duration; 2]>) -> String {
    let ratio = |one: Duration, other: Duration| one.as_secs_f64() / other.as_secs_f64();
    let mut ratios: Vec<f64> = times.iter().map(|&[one, other]| ratio(one, other)).collect();
    ratios.sort_by(f64::total_cmp);
    let at = |part: f64| ratios[((ratios.len() - 1) as f64 * part).round() as usize];
    let least = |n: usize| times.iter().map(|pair| pair[n]).min().unwrap_or_default();
    let (one, other) = (least(0), least(1));
    format!(
        "{jobs} threads beside one, {} pairs: median {:.2}, quartiles {:.2} and {:.2}, all {:.2} to {:.2}; \
         least {:.4} s and {:.4} s, {:.2}",
        ratios.len(),
        at(0.5),
        at(0.25),
        at(0.75),
        at(0.0),
        at(1.0),
        one.as_secs_f64(),
        other.as_secs_f64(),
        ratio(one, other),
    )
}

//! `cargo xtask bench-riscv`: RISC-V traces decoded beside riscv-etrace, the same bytes in the same
//! run, alternately; and packets read, and steps encoded.
#![forbid(unsafe_code)]

mod command;
mod inputs;
mod ours;
mod peer;
#[path = "../processor_time.rs"]
mod processor_time;

use std::fmt::Write as _;
use std::process::ExitCode;
use std::time::Instant;

use command::Files;
use inputs::Input;

/// What was timed, in words.
const METHOD: &str = "\
Method: one process, one thread, everything in memory before the clock starts; seconds are those that the thread had a processor; both decoders begin with the bytes of the trace and
the ELF file, and end with a count of instructions and an exclusive or of what was consumed. They take turns; the best of all rounds counts, and
the ratio's spread is that of the rounds. `blocks` is Tracewright's own form: ranges into a sink. `ELF path` is riscv-etrace 0.10 as its documentation
has it: an `Elf` and the boot ROM in a boxed `Multi`, an item for each instruction; `flat table` is the same with all instructions decoded before, in a
table by address. `command` is `tracewright instructions --jobs 1` of the same files, the whole process, with `--format none` and `pc`, its output
discarded; its ratio is to the flat table. `listed` is the flat table with the addresses written as `--format pc` writes them, discarded, and the ratio
that of the two listings. All counts and all lines are the same, or the run fails. `steps` encodes what
was decoded: up to 4 million steps, in memory. Built with the workspace's release profile.\n";

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

/// What the command line asks for.
struct Options {
    only: Vec<String>,
    rounds: usize,
    record: Option<String>,
}

fn options() -> Result<Options, String> {
    let mut options = Options { only: Vec::new(), rounds: 5, record: None };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or(format!("{word}: a value is missing"));
        match word.as_str() {
            "--only" => options.only.push(value()?),
            "--rounds" => {
                let text = value()?;
                options.rounds = text.parse().map_err(|_| format!("--rounds {text}: no number"))?;
            }
            "--record" => options.record = Some(value()?),
            _ => return Err(format!("{word}: unknown; there are --only, --rounds, --record")),
        }
    }
    options.rounds = options.rounds.max(1);
    Ok(options)
}

fn run() -> Result<(), String> {
    let options = options()?;
    let inputs = inputs::all(&options.only)?;
    let mut text = format!("{METHOD}\n");
    let _ = writeln!(
        text,
        "| trace | bytes | instructions | blocks, M insn/s | ELF path, M insn/s | ratio | flat table, M insn/s | \
         command none, M insn/s | ratio | command pc, M insn/s | ratio | flat table listed, M insn/s | ratio | \
         packets alone, MB/s | steps, M/s |\n\
         |---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|"
    );
    print!("{text}");
    for input in &inputs {
        let row = row(input, options.rounds)?;
        println!("{row}");
        text.push_str(&row);
        text.push('\n');
    }
    if let Some(path) = &options.record {
        std::fs::write(path, text).map_err(|error| format!("{path}: {error}"))?;
    }
    Ok(())
}

/// Seconds of the processor that `f` takes, and what it gives. Where the system does not measure
/// them, seconds of the clock on the wall.
///
/// It is done over until that takes a while: the system counts in ticks.
fn timed<T>(mut f: impl FnMut() -> T) -> (f64, T) {
    let (start, ran) = (Instant::now(), on_processor());
    let mut times = 0.0;
    loop {
        let answer = f();
        times += 1.0;
        let wall = start.elapsed().as_secs_f64();
        let seconds = match (ran, on_processor()) {
            (Some(before), Some(after)) => (after - before) as f64 / 1e9,
            _ => wall,
        };
        if seconds > LEAST {
            return (seconds / times, answer);
        }
    }
}

/// The least time of a measurement, in seconds.
const LEAST: f64 = 0.2;

/// Nanoseconds that this thread has had a processor. (Linux)
fn on_processor() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok()
}

fn row(input: &Input, rounds: usize) -> Result<String, String> {
    let (mut ours, mut peers, mut flats) = (Vec::new(), Vec::new(), Vec::new());
    let (mut ratios, mut commands) = (Vec::new(), [const { Vec::new() }; 2]);
    let mut command_ratios = [const { Vec::new() }; 2];
    let (mut listed, mut listed_ratios) = (Vec::new(), Vec::new());
    let files = Files::of(input)?;
    let mut count = 0;
    for _ in 0..rounds {
        let (a, mine) = timed(|| ours::blocks(input));
        let (b, its) = timed(|| peer::decode(input));
        let its = its?;
        if mine != its {
            return Err(format!("{}: {mine} instructions, riscv-etrace counts {its}", input.name));
        }
        count = mine;
        ours.push(a);
        peers.push(b);
        ratios.push(b / a);
        let (flat, its) = timed(|| peer::decode_flat(input));
        if its? != mine {
            return Err(format!("{}: the flat table misses instructions", input.name));
        }
        flats.push(flat);
        let (list, its) = timed(|| peer::list_flat(input, &mut std::io::sink()));
        its?;
        listed.push(list);
        for (n, format) in ["none", "pc"].into_iter().enumerate() {
            if let Some(files) = &files {
                let seconds = files.seconds(format)?;
                commands[n].push(seconds);
                command_ratios[n].push(flat / seconds);
                if format == "pc" {
                    listed_ratios.push(list / seconds);
                }
            }
        }
    }
    if let Some(files) = &files {
        let mut its = Vec::new();
        peer::list_flat(input, &mut its)?;
        if files.addresses()? != its {
            return Err(format!("{}: the command lists other addresses", input.name));
        }
    }
    let best = |times: &[f64]| times.iter().copied().fold(f64::INFINITY, f64::min);
    let parse = best(&(0..rounds).map(|_| timed(|| ours::packets(input)).0).collect::<Vec<_>>());
    let steps = ours::steps(input);
    let mut encode = Vec::new();
    for _ in 0..rounds {
        let (seconds, bytes) = timed(|| ours::encode(&steps, input));
        if !input.bytes.starts_with(&bytes[..bytes.len().min(input.bytes.len() / 64)]) {
            return Err(format!("{}: what was encoded is not what was decoded", input.name));
        }
        encode.push(seconds);
    }
    let size = input.bytes.len() as f64;
    let millions = count as f64 / 1e6;
    Ok(format!(
        "| {} | {} | {count} | {:.0} | {:.1} | {} | {:.1} | {:.0} | {} | {:.0} | {} | {:.1} | {} | {:.0} | {:.0} |",
        input.name,
        input.bytes.len(),
        millions / best(&ours),
        millions / best(&peers),
        spread(&mut ratios),
        millions / best(&flats),
        millions / best(&commands[0]),
        spread(&mut command_ratios[0]),
        millions / best(&commands[1]),
        spread(&mut command_ratios[1]),
        millions / best(&listed),
        spread(&mut listed_ratios),
        size / 1e6 / parse,
        steps.len() as f64 / 1e6 / best(&encode),
    ))
}

/// The median, the least and the greatest.
fn spread(ratios: &mut [f64]) -> String {
    ratios.sort_by(f64::total_cmp);
    match (ratios.first(), ratios.get(ratios.len() / 2), ratios.last()) {
        (Some(least), Some(median), Some(most)) => format!("{median:.1} ({least:.1} to {most:.1})"),
        _ => "-".into(),
    }
}

//! Real captures against OpenCSD's listings, line by line.
//!
//! `shared/conformance/arm` has the captures, the listings of OpenCSD 1.8.0 without their headings,
//! and `runs.tsv` with the options of each listing. Every line counts. `differences.txt` has the
//! lines that may differ; docs/differences-from-opencsd.md has the reason for each.
//!
//! The test prints a line for each run. `cargo test -p tracewright --test conformance -- NAME`
//! makes the runs whose names contain NAME.
#![forbid(unsafe_code)]

mod allowed;
mod compare;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use tracewright::decode::{Memory, Options, Plan, Session};
use tracewright::frames::{Framing, Numbering};
use tracewright::image::OpcodeCheck;
use tracewright::opencsd::{ListedBuffer, Listing, Shown};
use tracewright_testing::{reader, shared};

use allowed::Allowed;
use compare::Compare;

/// A row of `runs.tsv`.
struct Run {
    snapshot: String,
    kind: String,
    flags: String,
}

impl Run {
    fn name(&self) -> String {
        format!("{}.{}", self.snapshot, self.kind)
    }

    fn has(&self, flag: &str) -> bool {
        self.flags.split(' ').any(|word| word == flag)
    }
}

fn main() -> ExitCode {
    let Some(folder) = shared("conformance/arm") else { return ExitCode::SUCCESS };
    // Options of the usual test harness mean nothing here.
    let filter = std::env::args().skip(1).find(|word| !word.starts_with('-'));
    let runs = runs(&folder).expect("runs.tsv");
    let allowed = allowed::read();
    let (mut wrong, mut lines, mut differing) = (0, 0, 0);
    for run in &runs {
        let name = run.name();
        if filter.as_ref().is_some_and(|filter| !name.contains(filter.as_str())) {
            continue;
        }
        let start = Instant::now();
        let allowed = allowed.iter().filter(|a| a.run == name).cloned().collect();
        match check(&folder, run, allowed) {
            Ok((same, differ)) => {
                lines += same + differ;
                differing += differ;
                let seconds = start.elapsed().as_secs_f32();
                println!("{name}: {same} lines the same, {differ} differ as known, {seconds:.2} s");
            }
            Err(why) => {
                wrong += 1;
                println!("{name}: {why}");
            }
        }
    }
    for stale in allowed.iter().filter(|a| !runs.iter().any(|run| run.name() == a.run)) {
        wrong += 1;
        println!("differences.txt: no run is called {}", stale.run);
    }
    println!("{} runs, {wrong} wrong; {lines} lines, {differing} differ as known", runs.len());
    if wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn runs(folder: &Path) -> Option<Vec<Run>> {
    let text = fs::read_to_string(folder.join("runs.tsv")).ok()?;
    let rows = text.lines().skip(1).map(|line| {
        let mut cells = line.split('\t').map(str::to_owned);
        Some(Run { snapshot: cells.next()?, kind: cells.next()?, flags: cells.next()? })
    });
    rows.collect()
}

/// Decodes a snapshot with the options of a run. Returns the number of equal lines and of known
/// differences.
fn check(folder: &Path, run: &Run, allowed: Vec<Allowed>) -> Result<(usize, usize), String> {
    let elements = run.has("-decode");
    let frames = run.has("-o_raw_packed");
    let golden = folder.join(format!("expected/{}.ppl.xz", run.name()));
    let golden = reader(&golden).map_err(|error| format!("{}: {error}", golden.display()))?;
    let mut compare = Compare::new(golden_lines(golden), allowed);

    let path = folder.join("snapshots").join(&run.snapshot);
    let capture = tracewright::read_capture(&path).map_err(|error| error.to_string())?;
    let options = Options {
        numbering: Numbering::Opencsd,
        framing: run.has("-dstream_format").then_some(Framing::Dstream),
        check_opcodes: match run.has("-aa64_opcode_chk") {
            true => OpcodeCheck::Undefined,
            false => OpcodeCheck::Off,
        },
        split_source_ranges: run.has("-src_addr_n"),
        ..Options::default()
    };
    let shown = Shown {
        packets: true,
        bytes: elements || run.has("-pkt_mon"),
        elements,
        packed: frames,
        unpacked: run.has("-o_raw_unpacked"),
    };
    let memory = Memory::new(&capture);
    let buffers = if run.has("-multi_session") { capture.buffers.len() } else { 1 };
    for (n, buffer) in capture.buffers.iter().enumerate().take(buffers) {
        let Some(plan) = Plan::new(&capture, n, &options) else { continue };
        let listed = ListedBuffer {
            plan: &plan,
            number: n + 1,
            count: buffers,
            name: &buffer.name,
            packets: true,
        };
        // The first buffer's belongs to the heading.
        if n > 0 {
            compare.write_all(listed.head().as_bytes()).unwrap();
        }
        let mut listing = Listing::new(&mut compare, &plan, shown, n > 0);
        Session::new(&capture, &plan, &memory, &options).unwrap().run(buffer.parts(), &mut listing);
        listing.finish().map_err(|error| error.to_string())?;
        compare.write_all(listed.end(buffer.len()).as_bytes()).unwrap();
    }
    compare.finish()
}

/// The lines of a listing.
fn golden_lines(listing: Box<dyn std::io::Read>) -> Box<dyn Iterator<Item = Vec<u8>>> {
    let lines = BufReader::with_capacity(1 << 16, listing).split(b'\n');
    Box::new(lines.map(|line| {
        let mut line = line.expect("a listing");
        compare::trim(&mut line);
        line
    }))
}

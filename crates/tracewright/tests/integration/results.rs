//! What `Trace` gives as a whole: ranges, functions, call trees, timelines, profiles, and the text
//! of an ITM. Compared with each other, with elements, and with files of other tools.

use std::fs;
use std::io::Read;
use std::path::PathBuf;

use tracewright::Element;
use tracewright::base::Channel;
use tracewright::decode::Jobs;
use tracewright::decode::swo::Wanted;
use tracewright::export::paths::PathFormat;
use tracewright::export::{Dialect, Format};
use tracewright::frames::Framing;
use tracewright::index::Window;
use tracewright::itm::PortReader;
use tracewright_testing::shared;

/// The small captures with instructions.
fn captures() -> Vec<PathBuf> {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/captures"));
    let names = ["ete", "etmv3", "etmv4", "etrace-1.0", "etrace-2.0", "etrace-draft", "ptm"];
    let mut all: Vec<_> = names.iter().map(|name| folder.join(name).join("capture")).collect();
    let real = ["perf_etm.data", "perf_kernel.data", "perf_with_unformatted_trace.data"];
    all.extend(real.iter().filter_map(|n| shared(&format!("captures/simpleperf-etm/{n}"))));
    all
}

/// The instructions of the ranges are those of the functions, of the call paths, and of the
/// timelines' thousandfold, however many threads decode.
#[test]
fn results_have_the_instructions_of_the_ranges() {
    for path in captures() {
        let trace = tracewright::open(&path).expect("a capture").partial();
        let ranges = trace.ranges().expect("ranges").map(|range| range.expect("a range"));
        let sum: u64 = ranges.map(|range| u64::from(range.instructions)).sum();
        assert!(sum > 0, "{path:?}");
        for jobs in [1, 3] {
            let trace = tracewright::open(&path).expect("a capture").partial();
            let trace = trace.with_jobs(Jobs::new(jobs));
            let functions = trace.functions().expect("functions");
            let own = functions.rows.iter().map(|row| row.totals.instructions);
            assert_eq!(own.sum::<u64>(), sum, "{path:?}");
            let counted = functions.summary.sources.iter().map(|(_, counts)| counts.instructions);
            assert_eq!(counted.sum::<u64>(), sum, "{path:?}");
            let trees = trace.call_trees().expect("call trees");
            let files = trees.write(PathFormat::Folded).into_iter();
            let folded = files.map(|file| String::from_utf8(file).expect("text"));
            let lines: String = folded.collect();
            let counts = lines.lines().filter_map(|line| Some(line.rsplit_once(' ')?.1));
            let counts = counts.map(|count| count.parse::<u64>().expect("a number"));
            assert_eq!(counts.sum::<u64>(), sum, "{path:?}");
            assert_eq!(trees.counts, functions.counts, "{path:?}");
            let timelines = trace.timelines(1 << 20).expect("timelines");
            assert_eq!(timelines.counts, functions.counts, "{path:?}");
            let frames = timelines.buffers.iter().flat_map(|own| own.frames.by_thread());
            assert_eq!(frames.flatten().count() as u64, timelines.counts.begun, "{path:?}");
        }
    }
}

/// A part of a trace has the instructions of the part.
#[test]
fn a_window_selects_a_part() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/captures/etmv4/capture");
    let open = || tracewright::open(path).expect("a capture").partial();
    let sum = |trace: &tracewright::Trace| -> u64 {
        let rows = trace.functions().expect("functions").rows;
        rows.iter().map(|row| row.totals.instructions).sum()
    };
    let all = sum(&open());
    let window = Window { element: Some(0..10), ..Window::default() };
    let part = sum(&open().with_window(window));
    assert!(0 < part && part < all, "{part} of {all}");
}

/// Byte for byte what simpleperf writes.
#[test]
fn a_profile_is_that_of_simpleperf() {
    let Some(path) = shared("captures/simpleperf-etm/perf_etm.data") else { return };
    let profile = tracewright::open(path).expect("a capture").profile().expect("a profile");
    let golden = shared("captures/simpleperf-etm/perf_inject.data").expect("a profile");
    let written = Format::Autofdo.write(&profile, Dialect::Simpleperf).expect("a profile");
    assert_eq!(written, fs::read(golden).expect("text"));
}

/// The bytes that a port has are those of the elements, wherever the trace is cut.
#[test]
fn ports_of_an_itm_are_read_as_they_arrive() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/captures/itm/capture");
    let trace = tracewright::open(folder).expect("a capture").partial();
    let bytes = fs::read(format!("{folder}/ETB_0.bin")).expect("trace");
    for port in 0..32 {
        let mut want = Vec::new();
        for item in trace.elements().expect("elements") {
            let Element::SoftwareWrite(write) = item.expect("an element").element else { continue };
            let Channel::Port { page: None | Some(0), port: own } = write.channel else { continue };
            if own == port {
                let value = write.value().to_le_bytes();
                want.extend_from_slice(&value[..usize::from(write.bits / 8)]);
            }
        }
        let known = Wanted { framing: Some(Framing::Coresight), id: Some(0x10) };
        let ways = [(1, known), (7, known), (4096, known), (usize::MAX, Wanted::default())];
        for (cut, wanted) in ways {
            let pieces = Pieces { rest: &bytes, cut };
            let mut found = Vec::new();
            let mut reader = PortReader::with(pieces, port.into(), wanted);
            reader.read_to_end(&mut found).expect("bytes");
            assert_eq!(found, want, "port {port}, {cut} bytes at a time");
        }
    }
}

/// Bytes that arrive a few at a time.
struct Pieces<'a> {
    rest: &'a [u8],
    cut: usize,
}

impl Read for Pieces<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let len = self.cut.min(into.len());
        self.rest.read(&mut into[..len])
    }
}

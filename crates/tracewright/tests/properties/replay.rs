//! The inputs of earlier runs of the fuzzer (`fuzz/inputs`), taken again by what each fuzz target
//! calls.

use std::fs;
use std::path::{Path, PathBuf};

use tracewright_model::{differential, etmv3_differential};

use crate::case::Case;
use crate::cases::{damaged, taken_mostly_once as take};
use crate::{captures, cycles, etmv4, etrace, index, levels, packets, perf, properties, units};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}

/// The inputs of a file, one in a line of hexadecimal digits.
fn inputs(path: &Path) -> Vec<Vec<u8>> {
    let text = fs::read_to_string(path).unwrap();
    let byte = |pair: &[u8]| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap();
    text.lines().map(|line| line.as_bytes().chunks(2).map(byte).collect()).collect()
}

/// What the target `name` does with an input.
fn run(name: &str, data: &[u8], cases: &[Case]) {
    let seed = data.first_chunk().map_or(0, |seed| u64::from_le_bytes(*seed));
    match name {
        "analyzer" => {
            let legal = seed & 1 == 0;
            let of = if legal { differential::Trial::legal } else { differential::Trial::damaged };
            differential::check(&of(seed)).map(drop).unwrap();
        }
        "etmv3_analyzer" => {
            use etmv3_differential::Trial;
            let of = if seed & 1 == 0 { Trial::legal } else { Trial::damaged };
            etmv3_differential::check(&of(seed)).map(drop).unwrap();
        }
        "captures" => captures::captures(data),
        "cases" => damaged(cases, data, take),
        "chunks" => properties::chunks(data),
        "cycles" => {
            let len = data
                .get(8..10)
                .map_or(0, |len| usize::from(len[0]) << 4 | usize::from(len[1] & 15));
            cycles::round_trip(seed, len);
            cycles::parts(seed, len.max(16));
            cycles::overflow(seed, len);
        }
        "etmv4" => etmv4::etmv4(data, take),
        "etrace" => etrace::etrace(data, take),
        "harts" => etrace::harts(data),
        "index" => index::index(data),
        "joined" => properties::joined(data),
        "levels" => levels::levels(data),
        "link" => properties::link(data),
        "logs" => properties::log(data),
        "memory" => properties::memory(data),
        "packets" => packets::packets(data),
        "perf" => perf::file(data),
        "round_trip" => properties::round_trip(data, take),
        "session" => properties::session(data),
        "source" => properties::source(data, take),
        "units" => units::units(data),
        _ => panic!("no target {name}"),
    }
}

/// Targets of crates above this one: their tests take the inputs.
const ABOVE: [&str; 1] = ["gdb"];

/// Each target has inputs, and nothing that they found comes back.
#[test]
fn inputs_of_the_fuzzer() {
    let manifest = fs::read_to_string(folder().join("Cargo.toml")).unwrap();
    let path = |line: &str| {
        line.strip_prefix("path = \"fuzz_targets/")?.strip_suffix(".rs\"").map(str::to_owned)
    };
    let targets: Vec<String> = manifest.lines().filter_map(path).collect();
    assert!(targets.len() >= 22);
    let cases =
        Case::all().into_iter().map(|(name, case)| case.unwrap_or_else(|e| panic!("{name}: {e}")));
    let cases: Vec<Case> = cases.collect();
    let mut size = 0;
    for target in &targets {
        let path = folder().join(format!("inputs/{target}.hex"));
        let inputs = inputs(&path);
        size += fs::metadata(&path).unwrap().len();
        assert!(!inputs.is_empty(), "{target}");
        for input in inputs.iter().filter(|_| !ABOVE.contains(&target.as_str())) {
            run(target, input, &cases);
        }
    }
    assert!(size <= 2 << 20, "{size} bytes");
}

//! Each limit of `docs/limits.md` has a test: a row here, or one that is named here.
//!
//! The inputs exceed their limits; the command has 1 GiB of address space and 10 seconds of a
//! processor.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{Folder, Output, args};
use crate::hostile_mappings::{long_paths, many_expressions, many_paths, packed_mapping};
use crate::hostile_programs::{many_sections, overlapping_functions, shared_segments};

/// How a row of the page is tested.
enum Test {
    /// The input that `make` writes to a folder is given to the command after these words. The
    /// output contains the text.
    Input { make: fn(&Folder) -> PathBuf, words: &'static str, code: i32, text: &'static str },
    /// By a test, or a row of a table of tests, in a file of `crates`.
    Named(&'static str, &'static str),
}

use Test::{Input, Named};

const PERF: &str = "capture/tests/integration/perf_hostile.rs";
const HOSTILE: &str = "capture/tests/integration/hostile.rs";
const EXPECTED: &str = "cli/tests/expected/expected.tsv";
const COVERAGE: &str = "cli/tests/cli/coverage.rs";
const SPACES: &str = "image/src/address_spaces/tests.rs";
const MEMORY: &str = "cli/tests/cli/memory.rs";
const STACKS: &str = "analysis/src/stacks/tests.rs";

const MAPPED: &str = "coverage --decisions FOLDER/mapping.o";
const ETM3: &str = "decode --protocol ETM3 --config ETMCR=0 --config ETMIDR=0x4114f250 --pins";

/// The first column of each row of the tables of limits, and its tests.
#[rustfmt::skip]
const ROWS: &[(&str, &[Test])] = &[
    ("an ini file, a `capture.toml`, a file of parameters", &[
        Named(HOSTILE, "fn large_descriptions_are_refused"), Named(HOSTILE, "fn a_large_toml_is_refused")]),
    ("all of them in one capture; a file that is read repeatedly counts each time", &[
        Named(HOSTILE, "fn the_size_of_all_descriptions_is_limited")]),
    ("tables of a `capture.toml`: headers, dots between keys, inline tables", &[
        Named(HOSTILE, "fn a_toml_of_many_tables_is_refused")]),
    ("devices of a capture", &[
        Input { make: devices, words: "info", code: 0, text: "more than 4096 devices, and the remaining ones were skipped" }]),
    ("files of trace data in all buffers", &[
        Input { make: files, words: "info", code: 0, text: "more than 65536 files of trace data, and the remaining ones were skipped" }]),
    ("bytes of files of trace data that a capture names again", &[
        Input { make: repeated, words: "info", code: 0, text: "named repeatedly have more bytes than all files" },
        Named(HOSTILE, "fn files_that_are_named_repeatedly_are_bounded")]),
    ("links from sources to buffers", &[
        Input { make: links, words: "info", code: 0, text: "more than 1048576 links of sources to buffers" }]),
    ("files of program memory", &[
        Input { make: dumps, words: "info", code: 0, text: "more than 16384 dumps, and the remaining ones were skipped" }]),
    ("bytes of program memory", &[
        Input { make: memory, words: "decode /dev/null --protocol ETE --framing raw --config TRCCONFIGR=1 --image", code: 2,
            text: "the files of program memory exceed 4294967296 bytes" }]),
    ("notes of one kind", &[
        Input { make: notes, words: "info", code: 0, text: "50 more problems of this kind; the first is: cannot read missing100.ini" }]),
    ("malformed lines of an ini file with a note", &[Named(HOSTILE, "fn bad_lines_are_counted")]),
    ("pages in the scatter-gather list of an ETR", &[
        Named("capture/src/sink/tmc.rs", "fn pages_beyond_the_most")]),
    ("comparison of dumps that overlap", &[Named(HOSTILE, "fn dumps_that_overlap_are_compared_to_a_limit")]),
    ("a line of an execution log", &[Named("cli/tests/cli/hostile.rs", "fn a_log_line_has_a_limit")]),
    ("cycles in one step of an execution log that is encoded for ETMv1, ETMv2 or ETMv3", &[
        Named("cli/tests/cli/hostile.rs", "fn the_cycles_of_an_instruction_have_a_limit")]),
    ("the same beyond 1,024 in a step, in all steps", &[
        Named("logs/src/recorder.rs", "fn cycles_of_all_steps_are_bounded")]),
    ("a text file of port cycles", &[
        Input { make: repeats, words: "decode --protocol ETM1 --config ETMCR=0xc", code: 2, text: "expand to more than 16777216 cycles; correct N" }]),
    ("the lines of a text file of port cycles before its cycles", &[
        Input { make: head, words: "decode --protocol ETM1 --config ETMCR=0xc", code: 2, text: "there is no line `cycles`" }]),
    ("a recording of levels (`--pins`): the file, what the port sends", &[
        Input { make: levels, words: ETM3, code: 2, text: "it has 1073741825 bytes, more than the limit of 1073741824" }]),
    ("a recording of SWO: the file; changes of the level", &[
        Input { make: swo, words: "itm", code: 2, text: "more than the limit of 1073741824" }]),
    ("unpacked samples of a `.sr` file, of levels or SWO", &[
        Named("capture/tests/integration/levels.rs", "fn unpacked_samples_are_bounded")]),
    ("a word of a Value Change Dump, the names of the scopes around a variable", &[
        Input { make: word, words: ETM3, code: 2, text: "a word has more than 4096 bytes" },
        Input { make: scopes, words: ETM3, code: 2, text: "names of scopes have more than 4096 bytes" }]),
    ("`metadata` of a `.sr` file; directory; members; bytes of a sample", &[
        Named("capture/tests/integration/levels.rs", "more than 1048576 bytes"),
        Named("capture/tests/integration/levels.rs", "more than 65536 members"),
        Named("capture/tests/integration/levels.rs", "no `unitsize` from 1 to 64")]),
    ("a file in the form of OpenOCD's `etm dump`", &[
        Input { make: openocd, words: "info", code: 2, text: "no framing and protocol explains its first 262144 bytes as trace" }]),
    ("`perf.data`: records that are not trace", &[Named(PERF, "fn the_memory_of_records_is_bounded")]),
    ("`perf.data`: feature sections; events", &[
        Named(PERF, "fn the_size_of_feature_sections_is_bounded"), Named(PERF, "fn the_number_of_events_is_bounded")]),
    ("`perf.data`: identifiers of all events", &[
        Named(PERF, "fn identifiers_that_events_share_are_bounded"), Named(EXPECTED, "perf/attr-ids-shared.data")]),
    ("`perf.data`: bytes that all compressed records unpack to", &[Named(PERF, "fn what_compressed_records_unpack_to_is_bounded")]),
    ("`perf.data`: bytes that all compressed trace unpacks to", &[Named(EXPECTED, "perf/simpleperf-zstd-trace.data")]),
    ("`perf.data`: AUX records with trace; their parts in AUXTRACE records", &[Named(EXPECTED, "perf/aux-parts.data")]),
    ("`perf.data`: how often AUX records announce the same bytes", &[
        Named(PERF, "fn bytes_are_announced_once"), Named(EXPECTED, "perf/aux-overlap.data")]),
    ("`perf.data`: pairs of a trace unit and an AUX record with its trace", &[
        Named(PERF, "fn the_links_between_trace_units_and_records_are_bounded")]),
    ("`perf.data`: changes of address spaces and regions in them, those copied by forks included", &[
        Named(PERF, "fn a_fork_copies_what_the_child_has_only")]),
    ("`perf.data` with events of several PMUs: buffers of one CPU or thread", &[
        Named("capture/tests/integration/perf_events.rs", "fn buffers_of_events_are_bounded")]),
    ("a compressed section of debug information: the size that it states", &[
        Named("image/src/debug_sections.rs", "the stated size of a compressed section is too large")]),
    ("a compressed module of the kernel: its size; memory for the dictionary of xz", &[
        Named("capture/src/perf/packed.rs", "fn files_that_unpack_to_too_much_are_refused")]),
    ("a trace buffer compressed by gzip: its contents", &[
        Named("capture/src/memory_file/gzip.rs", "fn contents_are_bounded_by_the_size_of_the_file")]),
    ("a trace buffer: as text; in records; bytes that are swapped", &[
        Input { make: long_text, words: "info", code: 2, text: "at most 67108864 are read" },
        Input { make: long_records, words: "info", code: 2, text: "with more than 268435456 bytes" },
        Input { make: swapped, words: "info --swap 4", code: 2, text: "at most 268435456 of its 268435457 bytes can be swapped" }]),
    ("jitdump: pieces of code", &[
        Named("capture/src/perf/jitdump.rs", "fn pieces_of_code_are_limited")]),
    ("`perf.data`: mapped files; functions of BPF programs", &[Named(PERF, "fn the_number_of_mapped_files_is_bounded")]),
    ("`perf.data`: steps of searches in program files, for all mappings; memory of files that are mapped from several paths", &[
        Named(PERF, "fn the_steps_of_searches_are_bounded")]),
    ("a branch list: program files; sequences; samples and their branches; bytes that its messages unpack to", &[
        Named("capture/src/perf/listed_samples.rs", "count = MAX_LISTED_BRANCHES;"),
        Named("capture/src/perf/branch_list.rs", "it has more than 16384 program files"),
        Named("capture/src/perf/branch_list.rs", "it has more than 4194304 sequences"), Named(EXPECTED, "perf/branch-list-zstd.data")]),
    ("a program in Intel HEX, S-records or UF2: the file; pieces", &[
        Input { make: hex, words: "decode /dev/null --protocol ETE --framing raw --config TRCCONFIGR=1 --image", code: 2,
            text: "a memory image in Intel HEX records with more than 268435456 bytes" }]),
    ("regions of all images of address spaces that are made, or changes where there are more", &[
        Named(SPACES, "fn images_of_too_many_regions_have_no_memory"), Named(SPACES, "fn images_after_too_many_changes_have_no_memory")]),
    ("images of address spaces that are in memory", &[Named(SPACES, "fn images_are_made_again")]),
    ("a source file, a line of it that is shown", &[Named(COVERAGE, "fn large_source_files_and_lines_are_not_shown")]),
    ("code in which branches that were not executed are searched; that of overlapping functions counts once", &[
        Named(EXPECTED, "report-hang"),
        // 74,098 branches, in a file of 148,195 bytes.
        Input { make: shared_segments, words: "coverage", code: 0, text: " 1/148196 " },
        // 65,536 branches.
        Input { make: overlapping_functions, words: "coverage", code: 0, text: " 1/131072 " },
        Input { make: shared_segments, words: "coverage --by object", code: 0, text: " 1/148196 " },
        Input { make: overlapping_functions, words: "coverage --by object", code: 0, text: "  all\n" },
        Input { make: overlapping_functions, words: "report", code: 0, text: "<script id=\"report\"" }]),
    ("code in lines of decisions, of all segments together", &[
        Input { make: shared_segments, words: "coverage --by decision --decisions FOLDER/decisions.json", code: 0, text: "more code in lines of decisions" }]),
    ("conditional branches in the lines of a decision, in a function", &[
        Input { make: overlapping_functions, words: "coverage --by decision --decisions FOLDER/decisions.json", code: 0, text: "conditional branches: too many" }]),
    ("instructions that are followed from the branches of decisions, in all functions", &[
        Input { make: overlapping_functions, words: "coverage --by decision --decisions FOLDER/decisions.json", code: 0, text: "more branches than are followed" }]),
    ("pairs of a branch and a region of a coverage mapping that are compared, in a function", &[
        Named("symbols/src/coverage_mapping/function.rs", "fn large_functions_are_not_compared")]),
    ("files, expressions or regions of a function in a coverage mapping", &[
        Input { make: many_expressions, words: MAPPED, code: 2, text: "its coverage mapping is larger than what is read" }]),
    ("paths of source files in a coverage mapping: of all units; of all decisions", &[
        Input { make: many_paths, words: MAPPED, code: 2, text: "its coverage mapping is larger than what is read" },
        Input { make: long_paths, words: MAPPED, code: 2, text: "its coverage mapping is larger than what is read" }]),
    ("a compressed section with a coverage mapping: the size that it states", &[
        Input { make: packed_mapping, words: MAPPED, code: 2, text: "its coverage mapping is larger than what is read" }]),
    ("sections of a program file, and functions in them", &[
        Input { make: many_sections, words: "functions", code: 0, text: "1  100.0  f\n" }]),
    ("tables of calls with unwind targets", &[
        Named("symbols/src/unwind.rs", "fn shared_tables_are_bounded")]),
    ("a file of trace data, an execution log", &[Named(MEMORY, "fn large_buffers_are_not_read_as_a_whole")]),
    ("frames that are open at once", &[Named(STACKS, "fn calls_beyond_the_deepest_frame"), Named(EXPECTED, "calls/panic-1392.bin")]),
    ("callers of a call path: folded stacks, pprof, callgrind, the flame graph, `functions`, `report`", &[
        Named(EXPECTED, "paths of calls have at most 512 callers")]),
    ("call paths", &[Named("analysis/src/paths.rs", "fn paths_are_bounded")]),
    ("frames of a timeline", &[Named("cli/tests/cli/index.rs", "timeline --format chrome --limit 5000")]),
    (
        "durations of `timing` that are stored one by one",
        &[Named("analysis/src/timing/tests.rs", "fn what_waits_is_bounded")],
    ),
    (
        "begins and ends in `timing` between two points at which the clock of a source is known",
        &[Named("analysis/src/timing/tests.rs", "fn what_waits_is_bounded")],
    ),
    ("indentation of `calls` as text", &[Named(EXPECTED, "[1000] rec {")]),
    ("frames of a coroutine that is suspended", &[Named(STACKS, "fn suspended_coroutines_are_bounded")]),
];

fn put(folder: &Folder, name: &str, text: &str) -> PathBuf {
    let path = folder.path(name);
    fs::write(&path, text).unwrap();
    path
}

/// A file of `len` bytes that begins with `head` and takes no disk.
fn sparse(folder: &Folder, name: &str, head: &str, len: u64) -> PathBuf {
    let path = put(folder, name, head);
    fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(len).unwrap();
    path
}

fn each(count: usize, mut item: impl FnMut(&mut String, usize)) -> String {
    let mut out = String::new();
    (0..count).for_each(|n| item(&mut out, n));
    out
}

/// A snapshot of `devices` device files, with this description of each and this trace metadata.
fn snapshot(folder: &Folder, devices: usize, device: &str, trace: &str) -> PathBuf {
    let list = each(devices, |out, n| writeln!(out, "d{n}=d.ini").unwrap());
    put(
        folder,
        "snapshot.ini",
        &format!("[snapshot]\nversion=1.0\n[device_list]\n{list}[trace]\nmetadata=t.ini\n"),
    );
    put(folder, "d.ini", device);
    put(folder, "b", &"\0".repeat(16));
    put(folder, "t.ini", trace);
    folder.path("")
}

const CORE: &str = "[device]\nname=E\nclass=core\ntype=Cortex-A53\n";
const BUFFER: &str = "[trace_buffers]\nbuffers=b\n[b]\nname=B\nfile=b\nformat=coresight\n";

fn devices(folder: &Folder) -> PathBuf {
    snapshot(folder, 4097, CORE, BUFFER)
}

fn files(folder: &Folder) -> PathBuf {
    let names = vec!["b"; 65_537].join(",");
    snapshot(folder, 1, CORE, &BUFFER.replace("file=b", &format!("file={names}")))
}

/// A buffer that names a file of 64 KiB 4,000 times.
fn repeated(folder: &Folder) -> PathBuf {
    let names = vec!["b"; 4000].join(",");
    let device = "[device]\nname=E\nclass=trace_source\ntype=ITM\n";
    let buffer = BUFFER.replace("file=b", &format!("file={names}"));
    let buffer = buffer.replace("coresight", "source_data") + "[source_buffers]\nE=B\n";
    let path = snapshot(folder, 1, device, &buffer);
    put(folder, "b", &"\u{1}a".repeat(1 << 15));
    path
}

fn links(folder: &Folder) -> PathBuf {
    let (sources, buffers) = (4000, 300);
    let names = each(buffers, |out, n| write!(out, "b{n},").unwrap());
    let sections = each(buffers, |out, n| {
        writeln!(out, "[b{n}]\nname=B{n}\nfile=b\nformat=coresight").unwrap();
    });
    let path = snapshot(folder, 0, "", &format!("[trace_buffers]\nbuffers={names}\n{sections}"));
    let list = each(sources, |out, n| writeln!(out, "d{n}=d{n}.ini").unwrap());
    for n in 0..sources {
        put(
            folder,
            &format!("d{n}.ini"),
            &format!("[device]\nname=E{n}\nclass=trace_source\ntype=ETM4.0\n"),
        );
    }
    let head = "[snapshot]\nversion=1.0\n[device_list]\n";
    put(folder, "snapshot.ini", &format!("{head}{list}[trace]\nmetadata=t.ini\n"));
    path
}

fn dumps(folder: &Folder) -> PathBuf {
    let dumps = each(16_385, |out, n| {
        writeln!(out, "[dump{n}]\nfile=b\naddress={:#x}\nlength=4", 16 * n).unwrap();
    });
    snapshot(folder, 1, &format!("{CORE}{dumps}"), BUFFER)
}

fn notes(folder: &Folder) -> PathBuf {
    let list = each(150, |out, n| writeln!(out, "d{n}=missing{n}.ini").unwrap());
    put(folder, "snapshot.ini", &format!("[snapshot]\nversion=1.0\n[device_list]\n{list}"));
    folder.path("")
}

fn memory(folder: &Folder) -> PathBuf {
    let path = sparse(folder, "big.bin", "", (4 << 30) + 1);
    PathBuf::from(format!("{}@0x1000", path.display()))
}

fn long_text(folder: &Folder) -> PathBuf {
    let line = "00000000: 0100 0000 0000 0080 0168 0169 0000 0080\n";
    put(folder, "dump.txt", &line.repeat((64 << 20) / line.len() + 1))
}

fn long_records(folder: &Folder) -> PathBuf {
    sparse(folder, "dump.hex", ":0400000001020304F2\n", (256 << 20) + 1)
}

fn swapped(folder: &Folder) -> PathBuf {
    sparse(folder, "dump.bin", "", (256 << 20) + 1)
}

const PORT: &str =
    "etmp 1\narch 1.3\nwidth 8\nport normal\nhalf-rate 0\nhivecs 1\netmcr 0x0000000c\nsamples 6\n";

fn repeats(folder: &Folder) -> PathBuf {
    put(folder, "cycles.txt", &format!("{PORT}cycles\nIE:00 x16777217\n"))
}

fn head(folder: &Folder) -> PathBuf {
    put(folder, "cycles.txt", &format!("{PORT}# {}\ncycles\nIE:00\n", "x".repeat(70_000)))
}

fn levels(folder: &Folder) -> PathBuf {
    sparse(folder, "port.vcd", "$timescale 1ns $end\n", (1 << 30) + 1)
}

fn swo(folder: &Folder) -> PathBuf {
    // The head of an archive.
    sparse(folder, "swo.sr", "PK\x03\x04", (1 << 30) + 1)
}

fn word(folder: &Folder) -> PathBuf {
    put(
        folder,
        "port.vcd",
        &format!("$timescale 1ns $end $scope module {} $end\n", "a".repeat(5000)),
    )
}

fn scopes(folder: &Folder) -> PathBuf {
    let scope = format!("$scope module {} $end\n", "a".repeat(1000));
    let rest = "$var wire 1 ! TRACECLK $end\n$enddefinitions $end\n#0 1!\n";
    put(folder, "port.vcd", &format!("$timescale 1ns $end\n{}{rest}", scope.repeat(6)))
}

fn openocd(folder: &Folder) -> PathBuf {
    sparse(folder, "etm.bin", "no trace\n", (1 << 30) + 1)
}

fn hex(folder: &Folder) -> PathBuf {
    sparse(folder, "program.hex", ":020000040800F2\n", (256 << 20) + 1)
}

/// Runs the command with 1 GiB of address space and 10 seconds of a processor. `FOLDER` is that of
/// the input.
fn bounded(words: &str, input: &Path) -> Output {
    let words = &words.replace("FOLDER", &input.to_string_lossy());
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -v 1048576 && ulimit -t 10 && exec \"$@\"", "sh"]);
    command.arg(env!("CARGO_BIN_EXE_tracewright")).args(args(words, &[input]));
    command.stdin(std::process::Stdio::null()).output().unwrap().into()
}

#[test]
#[cfg(unix)]
fn inputs_beyond_their_limits() {
    for (row, tests) in ROWS {
        for (n, test) in tests.iter().enumerate() {
            let Input { make, words, code, text } = test else { continue };
            let name: String = row.chars().filter(char::is_ascii_lowercase).take(24).collect();
            let folder = Folder::new(&format!("beyond-{name}-{n}"));
            let output = bounded(words, &make(&folder));
            let found = output.out.contains(text) || output.err.contains(text);
            let (out, err) = (&output.out, &output.err);
            assert!(found && output.code == Some(*code), "{row}: {:?}\n{err}\n{out}", output.code);
        }
    }
}

/// The page has no limit without a test, and the tests exist.
#[test]
fn each_limit_has_a_test() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let page = fs::read_to_string(crates.join("../docs/limits.md")).unwrap();
    let tables = [("| input | limit | beyond it |", 30), ("| what | bound | beyond it |", 2)];
    for (heading, at_least) in tables {
        let rows = page.split(heading).nth(1).unwrap().lines().skip(2);
        let rows: Vec<_> = rows.take_while(|line| line.starts_with("| ")).collect();
        assert!(rows.len() >= at_least, "{heading}");
        for line in rows {
            let row = line.trim_start_matches("| ").split(" | ").next().unwrap();
            let tested = ROWS.iter().any(|(known, tests)| *known == row && !tests.is_empty());
            assert!(tested, "no test of: {row}");
        }
    }
    for (row, tests) in ROWS {
        assert!(page.contains(&format!("| {row} |")), "not in docs/limits.md: {row}");
        for test in *tests {
            let Named(file, text) = test else { continue };
            let source = fs::read_to_string(crates.join(file)).unwrap();
            assert!(source.contains(text), "{row}: {file} has no `{text}`");
        }
    }
}

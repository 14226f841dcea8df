//! Coverage, timelines and the end after a number of errors, in C.

use std::path::PathBuf;

use tracewright::export::coverage::{CoverageFormat, CoverageView};
use tracewright::export::timeline::{TimelineFormat, TimelineView};
use tracewright::Trace;

use crate::client::{capture, compile, folder, output, run, run_checked};

/// The built-in example of the command, whose program has line numbers, as a snapshot.
fn example() -> PathBuf {
    let own = folder().join(format!("example-{}", std::process::id()));
    std::fs::create_dir_all(&own).unwrap();
    let from = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../cli/src/demo");
    for name in ["program.elf", "trace.bin"] {
        std::fs::copy(from.join(name), own.join(name)).unwrap();
    }
    for (name, text) in [
        (
            "snapshot.ini",
            "[snapshot]\nversion=1.0\n[device_list]\na=cpu.ini\nb=etm.ini\n[trace]\nmetadata=trace.ini\n",
        ),
        (
            "trace.ini",
            "[trace_buffers]\nbuffers=b\n[b]\nname=ETB\nfile=trace.bin\nformat=coresight\n\
             [core_trace_sources]\ncpu=ETM\n[source_buffers]\nETM=ETB\n",
        ),
        (
            "cpu.ini",
            "[device]\nname=cpu\nclass=core\ntype=Cortex-M7\n[elf_all1]\nfile=program.elf\naddress=0\n",
        ),
        (
            "etm.ini",
            "[device]\nname=ETM\nclass=trace_source\ntype=ETM4.0\n[regs]\nTRCCONFIGR=0x1801\n\
             TRCTRACEIDR=0x10\nTRCIDR0=0x28000ea1\nTRCIDR1=0x4100f402\nTRCIDR2=4\nTRCIDR8=0\n",
        ),
    ] {
        std::fs::write(own.join(name), text).unwrap();
    }
    own
}

fn coverage(trace: &Trace, format: CoverageFormat) -> String {
    let sources = trace.coverage().unwrap();
    let view = CoverageView { sources: &sources, programs: &[] };
    String::from_utf8(format.write(&view)).unwrap()
}

fn timeline(trace: &Trace, format: TimelineFormat) -> Vec<u8> {
    let all = trace.timelines(1_000_000).unwrap();
    let own = &all.buffers[0];
    let view = TimelineView {
        timeline: &own.frames,
        code: &all.code,
        threads: &own.threads,
        sources: &own.sources,
        counters: &[],
        warning: "",
        frequency: None,
    };
    let mut out = Vec::new();
    format.write(&view, &mut |bytes| {
        out.extend(bytes);
        true
    });
    out
}

#[test]
fn coverage_and_timelines_are_those_of_the_library() {
    let Some(program) = compile("tests/integration/results.c", &[]) else { return };
    let own = example();
    let path = own.to_str().unwrap();
    let trace = tracewright::open(&own).unwrap();
    for (number, format) in [
        ("1", CoverageFormat::Lcov),
        ("2", CoverageFormat::Cobertura),
        ("3", CoverageFormat::Gcov),
        ("4", CoverageFormat::LlvmCov),
    ] {
        let want = coverage(&trace, format);
        assert!(want.contains("program.c"), "{want}");
        let args = [path, "coverage", number];
        assert_eq!(output(&run(&program, &args)), want);
        if let Some(checked) = run_checked(&program, &args) {
            assert_eq!(output(&checked), want);
        }
    }
    for (number, format) in [
        ("1", TimelineFormat::Chrome),
        ("2", TimelineFormat::Firefox),
        ("3", TimelineFormat::Perfetto),
        ("4", TimelineFormat::Speedscope),
        ("5", TimelineFormat::Vcd),
    ] {
        let want = timeline(&trace, format);
        let args = [path, "timeline", number];
        let done = run(&program, &args);
        output(&done);
        assert!(done.stdout == want, "{number}");
        if let Some(checked) = run_checked(&program, &args) {
            assert!(checked.stdout == want, "{number}");
        }
    }
    for words in ["coverage", "timeline"] {
        let wrong = output(&run(&program, &[path, words, "77"]));
        assert!(wrong.contains("format 77"), "{wrong}");
    }
    let without = output(&run(&program, &[capture("etmv4").to_str().unwrap(), "coverage", "1"]));
    assert!(without.contains("line numbers"), "{without}");
    std::fs::remove_dir_all(own).unwrap();
}

#[test]
fn pushed_data_end_after_a_number_of_errors() {
    let Some(program) = compile("tests/integration/results.c", &["-DPUSH"]) else { return };
    let path = capture("etmv4");
    let mut bytes = std::fs::read(path.join("ETB_0.bin")).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..middle + 40].fill(0x55);
    // Each time an error.
    let bytes = bytes.repeat(3);
    let length = bytes.len();
    let file = folder().join(format!("damaged-{}.bin", std::process::id()));
    std::fs::write(&file, bytes).unwrap();
    let run = |most: &str| {
        let args = [path.to_str().unwrap(), "push", file.to_str().unwrap(), most];
        let done = output(&run(&program, &args));
        if let Some(checked) = run_checked(&program, &args) {
            assert_eq!(output(&checked), done);
        }
        let numbers = done.split(|c: char| !c.is_ascii_digit()).filter(|text| !text.is_empty());
        let numbers: Vec<usize> = numbers.map(|text| text.parse().unwrap()).collect();
        (numbers[0], numbers[1], numbers[3])
    };
    let (status, errors, end) = run("0");
    assert!(status == 0 && errors > 1 && end == length, "{status} {errors} {end}");
    let (status, first, at) = run("1");
    assert!(status == 2 && (1..errors).contains(&first), "{status} {first}");
    assert!(at > middle && at < length, "{at}");
    std::fs::remove_file(file).unwrap();
}

/// A capture with a trigger of the trace link at its end.
#[test]
fn events_of_the_link_are_received_and_found() {
    let Some(program) = compile("tests/integration/results.c", &["-DLINKS"]) else { return };
    let own = folder().join(format!("links-{}", std::process::id()));
    std::fs::create_dir_all(&own).unwrap();
    for entry in std::fs::read_dir(capture("etmv4")).unwrap() {
        let from = entry.unwrap().path();
        std::fs::copy(&from, own.join(from.file_name().unwrap())).unwrap();
    }
    let file = own.join("ETB_0.bin");
    let mut bytes = std::fs::read(&file).unwrap();
    let at = bytes.len() + 1;
    // A frame: ID 0x7d, the byte 5, and ID 0.
    bytes.extend([0x7d << 1 | 1, 5, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    std::fs::write(&file, bytes).unwrap();
    let args = [own.to_str().unwrap(), "links", file.to_str().unwrap()];
    let done = output(&run(&program, &args));
    assert!(done.contains(&format!("{at} trigger 5\n")), "{done}");
    assert!(done.ends_with(&format!("1 found, offset {at} trigger 1\n")), "{done}");
    if let Some(checked) = run_checked(&program, &args) {
        assert_eq!(output(&checked), done);
    }
    std::fs::remove_dir_all(own).unwrap();
}

/// With too little memory for a copy, the call fails and the program goes on.
#[test]
fn lack_of_memory_is_an_error() {
    let Some(program) = compile("tests/integration/results.c", &["-DMEMORY"]) else { return };
    // A sanitizer reserves the whole address space.
    if tracewright_testing::c_options().iter().any(|option| option.contains("sanitize")) {
        return;
    }
    let limited = folder().join(format!("limited-{}.sh", std::process::id()));
    std::fs::write(&limited, "#!/bin/sh\nulimit -v 1000000\nexec \"$@\"\n").unwrap();
    let length = (700 << 20).to_string();
    let args = [limited.to_str().unwrap(), program.to_str().unwrap(), "memory", &length];
    let done = output(&run(std::path::Path::new("/bin/sh"), &args));
    assert_eq!(done, "-16 -16 too little memory\n");
    let enough = output(&run(&program, &["memory", "1000"]));
    assert_eq!(enough, "0 0 no error\n");
    std::fs::remove_file(limited).unwrap();
}

//! The memory of a listing does not depend on what the trace claims.

use std::fs;
use std::io::Read;
use std::process::Stdio;
use std::thread::sleep;
use std::time::Duration;

use tracewright_testing::{is_long, sample, short_or_long};

use crate::common::{Folder, args, command, tracewright};

/// Output that is read before the memory is measured, in a short and in a long run.
const READ: [u64; 2] = [2 << 20, 8 << 20];
/// The most memory, in KiB: a program without optimisations, and for each thread 16 MiB of output
/// that waits.
const MOST: u64 = 100_000;

/// Runs the command until it has written some output, and returns the output and the peak of its
/// memory in KiB. Then the output is closed: the command ends soon.
fn some(all: &[std::ffi::OsString]) -> (Vec<u8>, Option<u64>) {
    let mut child = command(all).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut out = Vec::new();
    let mut stdout = child.stdout.take().unwrap();
    let [short, long] = READ;
    Read::by_ref(&mut stdout).take(short_or_long(short, long)).read_to_end(&mut out).unwrap();
    // The threads go on until their output waits.
    sleep(Duration::from_millis(100));
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let peak = peak.and_then(|text| text.trim().trim_end_matches(" kB").parse().ok());
    drop(stdout);
    let output = child.wait_with_output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{all:?}: {err}");
    (out, peak)
}

fn check(words: &str, formats: &[&str], paths: &[&std::path::Path]) {
    for format in sample(2, formats) {
        let mut want = Vec::new();
        for jobs in sample(2, 1..=3) {
            let words = format!("{words} --format {format} --jobs {jobs}");
            let (out, peak) = some(&args(&words, paths));
            assert!(!out.is_empty(), "{words}");
            if jobs == 1 {
                want = out;
            } else {
                assert!(out == want, "{words}: another output");
            }
            assert!(peak.is_none_or(|peak| peak < MOST), "{words}: {peak:?} KiB");
        }
    }
}

/// E-Trace: each packet of 5 bytes reports more than 10^8 correctly predicted branches.
#[test]
fn counts_of_branches_are_expanded_as_they_are_written() {
    let folder = Folder::new("memory-branches");
    let (trace, image) = (folder.path("trace.bin"), folder.path("image.bin"));
    // Synchronisation at 0x80000000, and branch counts.
    let start = [0x02, 0x7e, 0x40, 0x0a, 0xce, 0x01, 0, 0, 0, 0, 0, 0, 0x80, 0, 1, 6];
    let count = [0x04, 0x02, 0xff, 0xff, 0x0f];
    // addi x7, x1, 1; bne x1, x2, .-4; j .-8
    let program = [0x0010_8093u32, 0xfe20_9ee3, 0xff9f_f06f];
    fs::write(&image, program.map(u32::to_le_bytes).concat()).unwrap();
    // Short enough for the calling thread alone, and long enough for several.
    for repeat in [10, 40_000] {
        fs::write(&trace, [&start[..], &count.repeat(repeat)].concat()).unwrap();
        let words = format!(
            "--protocol etrace --config xlen=64 --config branch_prediction=1 --image {}@0x80000000",
            image.display()
        );
        check(&format!("decode {words}"), &["text", "json", "opencsd"], &[&trace]);
        check(&format!("instructions {words}"), &["text", "json", "pc"], &[&trace]);
    }
}

/// E-Trace: the lines of a counted loop are bounded by the length of its packet and by
/// `--max-expansion`. One line states how many turns are not listed, and the totals have them.
#[test]
fn a_counted_loop_is_listed_up_to_the_limit() {
    let folder = Folder::new("memory-loop");
    let (trace, image) = (folder.path("trace.bin"), folder.path("image.bin"));
    // As above, with one branch count.
    let start = [0x02, 0x7e, 0x40, 0x0a, 0xce, 0x01, 0, 0, 0, 0, 0, 0, 0x80, 0, 1, 6];
    let count = [0x04, 0x02, 0xff, 0xff, 0x0f];
    // addi x7, x1, 1; bne x1, x2, .-4; and the same in two blocks, of which the first is j .+4. The
    // numbers of ranges in a turn, and of all instructions.
    for (program, ranges, instructions) in [
        ([0x0010_8093u32, 0xfe20_9ee3, 0xff9f_f06f, 0], 1, "33554526"),
        ([0x0040_006f, 0x0010_8093, 0xfe20_9ce3, 0xff5f_f06f], 2, "50331789"),
    ] {
        fs::write(&image, program.map(u32::to_le_bytes).concat()).unwrap();
        fs::write(&trace, [&start[..], &count].concat()).unwrap();
        let source = format!(
            "--protocol etrace --config xlen=64 --config branch_prediction=1 --image {}@0x80000000",
            image.display()
        );
        let totals = tracewright(&args(&format!("decode {source} --format none"), &[&trace]));
        assert!(totals.out.contains(instructions), "{}", totals.out);
        let [whole, window] = ["", " --offset 0..1000"].map(|window| {
            let words = format!("decode {source} --max-expansion 3000 --format json{window}");
            tracewright(&args(&words, &[&trace])).out.lines().count()
        });
        assert!(window > 3 && whole.abs_diff(window) < 5, "{whole} lines, in a window {window}");
        for (verb, formats) in
            [("decode", ["text", "json", "opencsd"]), ("instructions", ["text", "json", "pc"])]
        {
            for (format, limit) in
                formats.iter().flat_map(|format| [(format, 3000), (format, 9000)])
            {
                let words = format!("{verb} {source} --max-expansion {limit} --format {format}");
                let output = tracewright(&args(&words, &[&trace]));
                assert_eq!(output.code, Some(0), "{words}: {}", output.err);
                let out = output.out;
                let count = out.lines().filter(|line| line.contains("loop-turns")).count();
                assert_eq!(count, 1, "{words}");
                // A range of a turn costs 64 and its instructions; the other packets have less than
                // 100 lines.
                let most = 5 * limit / 65 + 100;
                let most = if verb == "decode" { most } else { most * 2 };
                let lines = out.lines().count();
                assert!(lines > most / 3 && lines < most, "{words}: {lines} lines of {most}");
                assert!(*format != "json" || out.contains(instructions), "{words}: {out}");
                assert!(ranges == 1 || !out.contains(", 1 range each"), "{words}");
            }
        }
    }
}

/// E-Trace: four thousand million turns of a loop that a packet of 6 bytes counts take no time in
/// what counts, and `compare` states that it does not compare them all.
#[test]
fn a_counted_loop_costs_nothing_where_it_is_counted() {
    let folder = Folder::new("memory-counts");
    let (trace, image) = (folder.path("trace.bin"), folder.path("image.bin"));
    let start = [0x02, 0x7e, 0x40, 0x0a, 0xce, 0x01, 0, 0, 0, 0, 0, 0, 0x80, 0, 1, 6];
    let count = [0x05, 0x02, 0xff, 0xff, 0xff, 0x0f];
    let program = [0x0040_006fu32, 0x0010_8093, 0xfe20_9ce3, 0xff5f_f06f];
    fs::write(&image, program.map(u32::to_le_bytes).concat()).unwrap();
    fs::write(&trace, [&start[..], &count].concat()).unwrap();
    let source = format!(
        "--protocol etrace --config xlen=64 --config branch_prediction=1 \
         --config longest_count=0xffffffff --image {}@0x80000000",
        image.display()
    );
    let run = |words: &str| tracewright(&args(&format!("{words} {source}"), &[&trace]));
    for words in ["decode --format none --stats", "bench", "bench --sink edges"] {
        let output = run(words);
        assert_eq!(output.code, Some(0), "{words}: {}", output.err);
        assert!(output.out.contains("8589934686"), "{words}: {}", output.out);
    }
    for words in ["bench --sink bitmap", "bench --sink coverage", "profile --format folded"] {
        assert_eq!(run(words).code, Some(0), "{words}");
    }
    // All instructions of the log are equal, and it has fewer of them than are compared, or more.
    let log = folder.path("log.csv");
    let mut text = "address,isa,opcode\n".to_owned();
    for _ in 0..2000 {
        text += "80000000,RV64,0040006f\n80000004,RV64,00108093\n80000008,RV64,fe209ce3\n";
    }
    fs::write(&log, text).unwrap();
    for (limit, code, want) in [
        (3000, 2, "cannot be compared; raise --max-expansion"),
        (100_000, 1, "differs after 6000 that are the same"),
    ] {
        let words = format!("compare {source} --max-expansion {limit}");
        let output = tracewright(&args(&words, &[&trace, &log]));
        assert_eq!(output.code, Some(code), "{limit}: {}{}", output.out, output.err);
        let text = output.out + &output.err;
        assert!(text.contains(want), "{limit}: {text}");
    }
    let words = format!("compare {source} --max-expansion 3000");
    let output = tracewright(&args(&words, &[&trace, &trace]));
    assert_eq!(output.code, Some(0), "{}{}", output.out, output.err);
}

/// A64: a loop of 2^18 instructions, of which the last is the only branch.
fn long_blocks(image: &std::path::Path) {
    // nop, and b to the first instruction.
    let last = 0x1400_0000u32 | (0u32.wrapping_sub((1 << 18) - 1) & 0x03ff_ffff);
    let mut program = 0xd503_201fu32.to_le_bytes().repeat((1 << 18) - 1);
    program.extend(last.to_le_bytes());
    fs::write(image, program).unwrap();
}

/// ETMv4: each byte has 24 atoms, each of a loop of 2^18 instructions.
#[test]
fn long_ranges_are_expanded_as_they_are_written() {
    let folder = Folder::new("memory-ranges");
    let (trace, image) = (folder.path("trace.bin"), folder.path("image.bin"));
    long_blocks(&image);
    // A-sync, trace info, trace on, a 64-bit address in IS0 with the context EL1N.
    let start = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 1, 0, 4, 0x85];
    let address = [0, 0, 0, 0x80, 0, 0, 0, 0, 0x31];
    for repeat in [8, 40_000] {
        fs::write(&trace, [&start[..], &address, &[0xd4].repeat(repeat)].concat()).unwrap();
        let words = format!(
            "instructions --protocol ETM4 --framing raw --config TRCCONFIGR=0xc1 \
             --config TRCIDR0=0x28000ea1 --config TRCIDR2=0x1088 --image {}@0x80000000",
            image.display()
        );
        check(&words, &["text", "json", "pc"], &[&trace]);
    }
}

/// Cycles of a trace port as text: a word stands for 2^24 cycles of 4 bytes.
#[test]
fn repeated_cycles_are_expanded_as_they_are_decoded() {
    let folder = Folder::new("memory-cycles");
    let text = folder.path("trace.txt");
    fs::write(&text, "etmp 1\narch 1.3\nwidth 16\ncycles\nBE*:0080 IE:0008 x16777210").unwrap();
    check("packets", &["text", "json"], &[&text]);
}

/// The peak of the memory of a command that succeeds, in KiB.
#[cfg(target_os = "linux")]
fn peak(all: &[std::ffi::OsString]) -> (String, u64) {
    let mut child = command(all).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut peak = 0;
    loop {
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let text = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let now = text.and_then(|text| text.trim().trim_end_matches(" kB").parse().ok());
        peak = peak.max(now.unwrap_or(0));
        if child.try_wait().unwrap().is_some() {
            break;
        }
        sleep(Duration::from_millis(5));
    }
    let output = child.wait_with_output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{all:?}: {err}");
    (String::from_utf8_lossy(&output.stdout).into_owned(), peak)
}

/// `compare` and `bench` read large buffers in blocks.
#[test]
#[cfg(target_os = "linux")]
fn large_buffers_are_not_read_as_a_whole() {
    let folder = Folder::with_demo("memory-large");
    let trace = folder.demo().join("ETB.bin");
    let one = fs::read(&trace).unwrap();
    // Padding, and the trace again at the end.
    let pad = |mib: u64| {
        let mut file = fs::OpenOptions::new().append(true).open(&trace).unwrap();
        file.set_len(one.len() as u64 + (mib << 20)).unwrap();
        std::io::Write::write_all(&mut file, &one).unwrap();
    };
    // More than memory is allowed.
    pad(120);
    let small = Folder::with_demo("memory-small");
    fs::write(small.demo().join("ETB.bin"), one.repeat(2)).unwrap();
    let (text, kib) = peak(&args("compare", &[&folder.demo(), &small.demo()]));
    assert!(text.starts_with("the same: "), "{text}");
    assert!(kib < MOST, "{kib} KiB");
    // More than `bench` reads at once.
    pad(260);
    let (text, kib) = peak(&args("bench --repeat 1 --sink count", &[&folder.demo()]));
    assert!(text.contains("with reading the files"), "{text}");
    assert!(kib < MOST, "{kib} KiB");
    let (text, _) = peak(&args("bench --repeat 1 --sink count", &[&small.demo()]));
    assert!(text.contains("without reading the files"), "{text}");
}

/// `compare` queues ranges, not their instructions, of what is read at a time: three million here.
#[test]
#[cfg(target_os = "linux")]
fn compare_holds_ranges() {
    let folder = Folder::new("memory-compare");
    let (trace, image) = (folder.path("trace.bin"), folder.path("image.bin"));
    long_blocks(&image);
    let start = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 1, 0, 4, 0x85];
    let address = [0, 0, 0, 0x80, 0, 0, 0, 0, 0x31];
    // E, 12 times.
    fs::write(&trace, [&start[..], &address, &[0xf7; 12]].concat()).unwrap();
    let words = format!(
        "compare --protocol ETM4 --framing raw --config TRCCONFIGR=0xc1 \
         --config TRCIDR0=0x28000ea1 --config TRCIDR2=0x1088 --max-expansion 16777216 --image {}@0x80000000",
        image.display()
    );
    let (text, kib) = peak(&args(&words, &[&trace, &trace]));
    assert_eq!(text, "the same: 3145728 instructions and events of 1 source\n");
    assert!(kib < MOST, "{kib} KiB");
}

/// MTB: a packet of 8 bytes has 9,000 ranges of one instruction. Where bytes have too many, they
/// are decoded again, fewer at a time; a byte that has too many alone is refused.
#[test]
fn compare_queues_few_elements_at_a_time() {
    let folder = Folder::new("memory-elements");
    let (trace, other) = (folder.path("trace.bin"), folder.path("other.bin"));
    let image = folder.path("image.bin");
    let run = |branches: u32, options: &str, second: &std::path::Path| {
        // T32: beq to the next instruction, and bx lr at the end.
        let mut program = [0xff, 0xd0].repeat(branches as usize - 1);
        program.extend([0x70, 0x47]);
        fs::write(&image, program).unwrap();
        let words = format!("compare --protocol MTB --image {}@0x1000 {options}", image.display());
        tracewright(&args(&words, &[&trace, second]))
    };
    // From the last branch to another one.
    let packet = |branches: u32, to: u32| {
        let last = 0x1000 + 2 * (branches - 1);
        [last.to_le_bytes(), to.to_le_bytes()].concat()
    };
    fs::write(&trace, packet(9_000, 0x1000).repeat(12)).unwrap();
    let same = run(9_000, "", &trace);
    let want = format!("the same: {} instructions and events of 1 source\n", 9_000 * 11 + 1);
    assert_eq!((same.out, same.code), (want, Some(0)), "{}", same.err);
    // The last packet but one leads to the second branch.
    let [many, last] = [packet(9_000, 0x1000), packet(9_000, 0x1002)];
    fs::write(&other, [many.repeat(10), last, many].concat()).unwrap();
    let differs = run(9_000, "", &other);
    let at = format!("differs after {} that are the same", 9_000 * 10 + 1);
    assert!(differs.code == Some(1) && differs.out.contains(&at), "{}{}", differs.out, differs.err);

    // This takes long.
    if !is_long() {
        return;
    }
    fs::write(&trace, packet(1_100_000, 0x1000).repeat(2)).unwrap();
    let refused = run(1_100_000, "--max-expansion 100000000", &trace);
    assert_eq!(refused.code, Some(2), "{}", refused.out);
    assert!(refused.err.contains("lower --max-expansion"), "{}", refused.err);
}

/// Changes of flow, and executions of blocks in their order, are written as the trace is decoded.
#[test]
#[cfg(target_os = "linux")]
fn executions_in_their_order_are_not_held() {
    const REPEAT: usize = 1000;
    let folder = Folder::new("memory-order");
    crate::coverage::example(&folder, "demo");
    let (demo, out, map) = (folder.path("demo"), folder.path("out"), folder.path("map"));
    fs::write(&map, crate::gnatcov::map_of_demo(&folder)).unwrap();
    let trace = demo.join("ETB.bin");
    let one = fs::read(&trace).unwrap();
    let flow = args("branches --format branchflow --quiet -o", &[&out, &demo]);
    let history = "coverage --format gnatcov --quiet --decision-map";
    let history = args(history, &[&map, std::path::Path::new("-o"), &out, &demo]);
    for command in [flow, history] {
        fs::write(&trace, &one).unwrap();
        peak(&command);
        let short = fs::read(&out).unwrap().len();
        fs::write(&trace, one.repeat(REPEAT)).unwrap();
        let (_, kib) = peak(&command);
        let bytes = fs::read(&out).unwrap().len();
        // The lines before the first change, and blocks without a branch, are there once.
        assert!(bytes > short * REPEAT / 2, "{command:?}: {bytes} bytes, {short} of one");
        assert!(kib < MOST, "{command:?}: {kib} KiB");
    }
}

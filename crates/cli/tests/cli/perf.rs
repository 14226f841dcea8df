//! `perf.data` on the command line: a program that QEMU executes, from its log to the profiles of
//! compilers, and the samples of Debian's perf.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::common::{Folder, args, tracewright};
use tracewright::capture::Bytes;
use tracewright::capture::perf::{Body, Form, Layout, PerfData, Record};
use tracewright_testing::{shared, tool, tool_since};

/// Runs a tool, and returns its output and exit code.
#[track_caller]
pub fn run(program: &str, words: &str, paths: &[&Path]) -> (String, Option<i32>) {
    let output = Command::new(program).args(args(words, paths)).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (String::from_utf8_lossy(&text).into_owned(), output.status.code())
}

#[track_caller]
pub fn ok(program: &str, words: &str, paths: &[&Path]) -> String {
    let (text, code) = run(program, words, paths);
    assert_eq!(code, Some(0), "{program} {words}: {text}");
    text
}

/// Encodes the log of a program that QEMU executed. `None` where a tool is missing.
#[track_caller]
pub fn executed(folder: &Folder) -> Option<Vec<(u64, String)>> {
    // One segment from the start of the file: AutoFDO 0.19 expects it.
    let words = "-O1 -gdwarf-4 -Wl,--emit-relocs -Wl,-z,noseparate-code -Wl,--no-rosegment \
                 -Wl,-z,max-page-size=4096 -Wl,--image-base=0x400000";
    executed_of(folder, "perf_program.c", words)
}

/// As [`executed`], of the program `source` that clang compiles with `options`.
#[track_caller]
pub fn executed_of(folder: &Folder, source: &str, options: &str) -> Option<Vec<(u64, String)>> {
    let clang = tool(&[("clang-22", "clang-22"), ("clang-19", "clang-19")])?;
    tool(&[("ld.lld-22", "lld-22"), ("ld.lld-19", "lld-19")])?;
    let qemu = tool_since(&[("qemu-aarch64", "qemu-user")], (7, 2))?;
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli").join(source);
    let words = format!(
        "--target=aarch64-linux-gnu -g -fdebug-info-for-profiling -ffreestanding -nostdlib -static \
         -fuse-ld=lld -Wl,--build-id=sha1 {options} -o"
    );
    ok(clang, &words, &[&folder.path("program"), &source]);
    for single in ["-singlestep", "-one-insn-per-tb"] {
        let words = format!("{single} -d exec,nochain -D");
        let (_, code) = run(qemu, &words, &[&folder.path("log"), &folder.path("program")]);
        if code == Some(98) {
            break;
        }
    }
    let log = fs::read_to_string(folder.path("log")).unwrap();
    let steps = log.lines().filter_map(|line| {
        let mut words = line.strip_prefix("Trace ")?.split('/');
        let pc = u64::from_str_radix(words.nth(1)?, 16).ok()?;
        Some((pc, line.rsplit(' ').next()?.to_owned()))
    });
    Some(steps.collect())
}

#[track_caller]
pub fn encode(folder: &Folder, words: &str, output: &Path) {
    let words = format!("encode --log {} {words} --image", folder.path("log").display());
    let output = tracewright(&args(&words, &[&folder.path("program"), Path::new("-o"), output]));
    assert_eq!(output.code, Some(0), "{}", output.err);
}

/// The profile of llvm-profgen's unsymbolized form, from the addresses in the log alone.
fn expected(steps: &[(u64, String)], base: u64) -> String {
    let (mut ranges, mut branches) = (BTreeMap::new(), BTreeMap::new());
    let mut start = steps[0].0;
    for (n, (pc, _)) in steps.iter().enumerate() {
        let next = steps.get(n + 1).map(|(next, _)| *next);
        if next != Some(pc + 4) {
            *ranges.entry((start - base, pc - base)).or_insert(0u64) += 1;
            if let Some(next) = next {
                *branches.entry((pc - base, next - base)).or_insert(0u64) += 1;
                start = next;
            }
        }
    }
    let mut text = format!("{}\n", ranges.len());
    for ((start, last), count) in ranges {
        writeln!(text, "{start:x}-{last:x}:{count}").unwrap();
    }
    writeln!(text, "{}", branches.len()).unwrap();
    for ((from, to), count) in branches {
        writeln!(text, "{from:x}->{to:x}:{count}").unwrap();
    }
    text
}

/// Every instruction and every count is that of the log: ETMv4 in frames, ETE without, in a file
/// and as from a pipe.
#[test]
fn a_program_is_profiled_as_it_was_executed() {
    let folder = Folder::new("perf-program");
    let Some(steps) = executed(&folder) else { return };
    let data = folder.path("perf.data");
    for words in [
        "--protocol ETM4 --to perf",
        "--protocol ETE --framing raw --to perf-pipe",
        "--protocol ETM4 --framing raw --to perf-pipe --config TRCCONFIGR=0x49",
        "--protocol ETE --to perf --config TRCCONFIGR=0x80c1",
    ] {
        encode(&folder, words, &data);
        let output = tracewright(&args("instructions --format pc", &[&data]));
        assert_eq!((output.code, output.err.as_str()), (Some(0), ""), "{words}");
        let lines = output
            .out
            .lines()
            .map(|pc| u64::from_str_radix(pc.trim_start_matches("0x"), 16).unwrap());
        assert!(lines.eq(steps.iter().map(|(pc, _)| *pc)), "{words}");
        let output = tracewright(&args("profile --format llvm-unsymbolized", &[&data]));
        assert_eq!(output.code, Some(0), "{}", output.err);
        assert_eq!(output.out, expected(&steps, 0x40_0000), "{words}");
        let output = tracewright(&args("decode", &[&data]));
        assert!(output.out.contains("thread 1000 (traced)"), "{}", &output.out[..400]);
        assert!(output.out.contains("<collatz>"), "{}", &output.out[..400]);
    }
}

/// A file of the pipe form on standard input is read as from a file. Other bytes are refused.
#[test]
fn standard_input_is_read_as_a_file() {
    let Some(path) = shared("captures/simpleperf-etm/perf_etm.data") else { return };
    let mut data = PerfData::read(&Bytes::from(fs::read(&path).unwrap())).unwrap();
    data.form = Form::Pipe;
    let attr = Record::new(Body::Attr(Box::new(data.attrs[0].clone())));
    data.records.insert(0, attr);
    let folder = Folder::new("perf-pipe");
    let pipe = folder.path("pipe.data");
    fs::write(&pipe, data.write(Layout::default())).unwrap();
    let binary = path.with_file_name("etm_test_loop");
    for words in ["decode", "profile --format autofdo --dialect simpleperf"] {
        let words = format!("{words} --binary {}", binary.display());
        let want = tracewright(&args(&words, &[&pipe]));
        let mut command = crate::common::command(&args(&words, &[Path::new("-")]));
        command.stdin(fs::File::open(&pipe).unwrap());
        let found: crate::common::Output = command.output().unwrap().into();
        assert_eq!((found.code, &found.out), (Some(0), &want.out), "{}", found.err);
        assert!(found.out.lines().count() > 15, "{}", found.out);
    }
    let mut command = crate::common::command(&args("decode -", &[]));
    command.stdin(fs::File::open(&binary).unwrap());
    let found: crate::common::Output = command.output().unwrap().into();
    assert_eq!(found.code, Some(2));
    assert!(found.err.contains("a program (ELF), not a capture"), "{}", found.err);
    assert_eq!(found.err.matches("-: ").count(), 1, "{}", found.err);
}

/// The compilers' tools read the profiles, and find what the log has.
#[test]
fn tools_of_compilers_read_the_profiles() {
    let folder = Folder::new("perf-tools");
    let Some(steps) = executed(&folder) else { return };
    let [data, profile, out, program] =
        ["perf.data", "profile", "out", "program"].map(|name| folder.path(name));
    encode(&folder, "--protocol ETM4 --to perf", &data);
    let entries = |name: &str| {
        let calls = steps.windows(2).filter(|pair| pair[0].1 != name && pair[1].1 == name);
        let first = steps.iter().filter(|(_, its)| its == name).map(|(pc, _)| *pc).min();
        calls.filter(|pair| Some(pair[1].0) == first).count()
    };
    let write = |format: &str| {
        let words = format!("profile --format {format} -o");
        let output = tracewright(&args(&words, &[&profile, &data]));
        assert_eq!((output.code, output.err.as_str()), (Some(0), ""));
    };
    // The entries of functions: `name:total:entries`.
    let heads = |text: &str| {
        let lines = text.lines().filter(|line| !line.starts_with(' '));
        let fields = lines.filter_map(|line| {
            let mut fields = line.split(':');
            Some((fields.next()?.to_owned(), fields.nth(1)?.parse::<usize>().ok()?))
        });
        fields.collect::<BTreeMap<_, _>>()
    };
    let names = ["collatz", "twice", "thrice", "sum"];
    if let Some(profgen) = tool(&[("llvm-profgen-22", "llvm-22"), ("llvm-profgen-19", "llvm-19")]) {
        write("llvm-unsymbolized");
        let words = format!(
            "--format text --unsymbolized-profile {} --binary {} --output",
            profile.display(),
            program.display()
        );
        ok(profgen, &words, &[&out]);
        let found = heads(&fs::read_to_string(&out).unwrap());
        names.iter().for_each(|name| assert_eq!(found[*name], entries(name), "{name}"));
    }
    if let Some(autofdo) = tool(&[("create_llvm_prof", "autofdo")]) {
        write("autofdo");
        let words = format!(
            "--profiler=text --format=text --binary={} --profile={} --out={}",
            program.display(),
            profile.display(),
            out.display()
        );
        ok(autofdo, &words, &[]);
        let found = heads(&fs::read_to_string(&out).unwrap());
        names.iter().for_each(|name| assert_eq!(found[*name], entries(name), "{name}"));
    }
    if let Some(bolt) = tool(&[("llvm-bolt-22", "bolt-22"), ("llvm-bolt-19", "bolt-19")]) {
        write(if bolt.ends_with("19") { "bolt --dialect ranges" } else { "bolt" });
        let text = ok(bolt, "-aggregate-only -pa -p", &[&profile, Path::new("-o"), &out, &program]);
        assert!(text.contains("disassembled function contents: 0 (0.0%)"), "{text}");
        let fdata = fs::read_to_string(&out).unwrap();
        let line = format!(" collatz/1 0 0 {}", entries("collatz"));
        assert!(fdata.lines().any(|found| found.ends_with(&line)), "{fdata}");
        // A program with the blocks in another order.
        let words = "-reorder-blocks=ext-tsp -data";
        let rebuilt = folder.path("rebuilt");
        let text = ok(bolt, words, &[&out, &program, Path::new("-o"), &rebuilt]);
        assert!(text.contains("modified layout of"), "{text}");
        let (_, code) = run("qemu-aarch64", "", &[&rebuilt]);
        assert_eq!(code, Some(98));
    }
}

/// The lines of Debian's perf, byte for byte.
#[test]
fn samples_are_those_of_perf() {
    let Some(perf) = tool_since(&[("perf", "linux-perf")], (6, 1)) else { return };
    let folder = Folder::new("perf-script");
    let compare = |own: &Path, its: &Path, words: &str| {
        for (itrace, fields) in [
            ("b", ""),
            ("i1000i", ""),
            ("i1us", ""),
            ("i100i", ""),
            ("i7i", ""),
            ("i1000il64", ""),
            ("l64i1us", "brstack"),
            ("i100il4", "brstack"),
            ("i10il16", "brstack"),
        ] {
            let its_fields = if fields.is_empty() { "" } else { "-F +brstack" };
            let words = format!("script {words} --itrace={itrace} {its_fields} -i");
            let output = Command::new(perf).args(args(&words, &[its])).output().unwrap();
            let want = String::from_utf8_lossy(&output.stdout).into_owned();
            let fields = if fields.is_empty() { "" } else { "-F brstack" };
            let words = format!("perf-script --itrace {itrace} {fields}");
            let output = tracewright(&args(&words, &[own]));
            // A trace that is shorter than the period has no samples.
            assert_eq!(output.code, Some(i32::from(want.is_empty())), "{}", output.err);
            assert!(output.out == want, "{itrace}\n{}\n{want}", output.out);
            if itrace == "b" {
                assert!(want.lines().count() >= 208, "{want}");
            }
        }
    };
    for name in ["perf_etm.data", "perf_with_unformatted_trace.data"] {
        let Some(path) = shared(&format!("captures/simpleperf-etm/{name}")) else { return };
        // perf reads a file of simpleperf without its sections, and with the count of its index.
        let mut data = PerfData::read(&Bytes::from(fs::read(&path).unwrap())).unwrap();
        data.features.retain(|number, _| *number < 128);
        let repaired = folder.path(name);
        fs::write(&repaired, data.write(Layout::default())).unwrap();
        let (root, own) = (folder.path("root"), folder.path("own"));
        fs::create_dir_all(root.join("data/local/tmp")).unwrap();
        fs::create_dir_all(&own).unwrap();
        // perf 6.1 does not read MiniDebugInfo.
        let mut program = fs::read(path.with_file_name("etm_test_loop")).unwrap();
        let section = b".gnu_debugdata";
        let at = program.windows(section.len()).position(|bytes| bytes == section).unwrap();
        program[at..at + section.len()].copy_from_slice(b".not_debugdata");
        fs::write(root.join("data/local/tmp/etm_test_loop"), &program).unwrap();
        fs::write(own.join("etm_test_loop"), &program).unwrap();
        fs::copy(&path, own.join(name)).unwrap();
        compare(&own.join(name), &repaired, &format!("--symfs {}", root.display()));
    }
    if executed(&folder).is_none() {
        return;
    }
    let data = folder.path("perf.data");
    encode(&folder, "--protocol ETM4 --to perf", &data);
    compare(&data, &data, "");
}

#[test]
fn output_does_not_depend_on_the_number_of_threads() {
    for name in ["perf_kernel.data", "perf_etm.data"] {
        let Some(path) = shared(&format!("captures/simpleperf-etm/{name}")) else { return };
        for words in
            ["decode", "decode --format json", "instructions", "packets", "profile --format json"]
        {
            let one = tracewright(&args(&format!("{words} --jobs 1"), &[&path]));
            let four = tracewright(&args(&format!("{words} --jobs 4"), &[&path]));
            assert_eq!(one.code, Some(0), "{words}: {}", one.err);
            assert!((&one.out, &one.err) == (&four.out, &four.err), "{words} {name}");
        }
    }
}

#[test]
fn what_a_file_lacks_is_reported() {
    let Some(path) = shared("captures/simpleperf-etm/perf_with_missing_aux_data.data") else {
        return;
    };
    for words in ["decode", "instructions", "packets", "profile --format autofdo", "perf-script"] {
        let output = tracewright(&args(words, &[&path]));
        assert_eq!((output.code, output.out.as_str()), (Some(1), ""), "{words}");
        let want = "6 AUX records announce 1535344 bytes of trace that are not in the file";
        assert!(output.err.contains(want), "{words}: {}", output.err);
    }
    let output = tracewright(&args("info", &[&path]));
    assert_eq!(output.code, Some(0), "{}", output.err);
    for want in [
        "files not found: 18",
        "build ID 2066e9496e3e7cad57781a8a5f3f7906",
        "give them with --symfs FOLDER or --binary FILE",
        "ETM4.2",
    ] {
        assert!(output.out.contains(want), "{want}: {}", output.out);
    }
}

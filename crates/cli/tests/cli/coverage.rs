//! Coverage of the built-in example: copies of lines, what is unknown, captures of different
//! programs, and the source files that are read.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::slice::SliceIndex;

use serde_json::Value;
use tracewright_testing::embedded;

use crate::common::{Folder, Output, args, command, tracewright};

/// The built-in example in the folder `name`.
pub fn example(folder: &Folder, name: &str) -> PathBuf {
    let path = folder.path(name);
    assert_eq!(tracewright(&args("demo --write", &[&path])).code, Some(0));
    path
}

/// Runs the command in the folder.
pub fn run(folder: &Folder, words: &str) -> Output {
    run_in(folder, "", words)
}

/// The same in a folder of it.
fn run_in(folder: &Folder, place: &str, words: &str) -> Output {
    command(&args(words, &[])).current_dir(folder.path(place)).output().unwrap().into()
}

/// The example with these bytes of its trace, in a full ETB.
pub fn full(folder: &Folder, name: &str, part: impl SliceIndex<[u8], Output = [u8]>) {
    let path = example(folder, name);
    let bytes = fs::read(path.join("ETB.bin")).unwrap();
    let bytes = &bytes[part];
    fs::write(path.join("ETB.bin"), bytes).unwrap();
    let words = bytes.len() / 4;
    let registers = format!("RDP={words:#x}\nRWP=0x0\nSTS=0xd\nCTL=0x1\nFFCR=0x1");
    let device = format!("[device]\nname=ETB\nclass=trace_sink\ntype=ETB\n\n[regs]\n{registers}\n");
    fs::write(path.join("ETB.ini"), device).unwrap();
    let list = fs::read_to_string(path.join("snapshot.ini")).unwrap();
    let list = list.replace("device2=ITM_0.ini", "device2=ITM_0.ini\ndevice3=ETB.ini");
    fs::write(path.join("snapshot.ini"), list).unwrap();
}

/// The objects of JSON of this type.
pub fn objects(output: &Output, kind: &str) -> Vec<Value> {
    let all = output.out.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    all.filter(|line| line["type"] == kind).collect()
}

/// The compiler has copied the condition of a loop, and the line before it, to the end of the loop:
/// 230 and 134 executions, as the outcomes of the branches beside it.
#[test]
fn copies_of_a_line_add_up() {
    let folder = Folder::new("coverage-copies");
    example(&folder, "demo");
    let lines = objects(&run(&folder, "coverage demo --format json"), "line");
    let executions = |line: u64| {
        let line = lines.iter().find(|own| own["line"] == line).expect("a line");
        let branches = line["branches"].as_array().expect("branches").iter();
        let outcomes =
            branches.map(|b| [&b["taken"], &b["not_taken"]].map(|n| n.as_u64().unwrap()));
        (line["executions"].as_u64().unwrap(), outcomes.collect::<Vec<_>>())
    };
    // for (int n = 1; n <= row; n++) {
    //   int other = column[row - n];
    //   if (other == at || other == at - n || other == at + n)
    assert_eq!(executions(37), (238 + 184, vec![[8, 230], [50, 134]]));
    assert_eq!(executions(38).0, 230 + 134);
    let (count, outcomes) = executions(39);
    assert_eq!(count, 230 + 134);
    assert_eq!(outcomes, [[48, 182], [74, 108], [49, 85], [76, 9]]);
    // The loops of other lines: a call of a function returns into the middle of the line.
    assert_eq!([36, 46, 53].map(|line| executions(line).0), [238, 60, 238]);
}

/// A source file may be named by a path that ends with its name in the debug information.
#[test]
fn sources_are_named_by_longer_paths() {
    let folder = Folder::new("coverage-longer-path");
    example(&folder, "whole");
    let want = run(&folder, "coverage whole --annotate program.c");
    let got = run(&folder, "coverage whole --annotate elsewhere/program.c");
    assert_eq!((got.code, got.out == want.out), (Some(0), true), "{}", got.err);
    let other = run(&folder, "coverage whole --annotate elsewhere/other_program.c");
    assert!(other.err.contains("there are program.c"), "{}", other.err);
    let timeline = run(&folder, "timeline whole");
    assert!(timeline.out.starts_with("{\"displayTimeUnit\""), "{}", timeline.err);
}

/// A buffer that was full, and one whose trace has no begin: what was not executed is unknown,
/// in each format, and a failure with `--strict`.
#[test]
fn full_and_overwritten_buffers_are_unknown() {
    let folder = Folder::new("coverage-unknown");
    example(&folder, "whole");
    full(&folder, "full", ..);
    full(&folder, "overwritten", 1600..1664);
    for (name, code, text, unknown) in [
        ("whole", 0, "      ####", 0),
        ("full", 1, "   unknown", 1),
        ("overwritten", 1, "   unknown", 63),
    ] {
        let annotated = run(&folder, &format!("coverage {name} --annotate program.c"));
        let lines = annotated.out.lines().filter(|line| line.starts_with(text)).count();
        assert_eq!(lines as u64, unknown.max(1), "{name}: {}", annotated.out);
        assert_eq!(annotated.out.contains("####"), name == "whole", "{}", annotated.out);
        assert_eq!(run(&folder, &format!("coverage {name}")).code, Some(0));
        let strict = run(&folder, &format!("coverage {name} --strict"));
        assert_eq!(strict.code, Some(code), "{name}: {}", strict.err);
        assert_eq!(strict.err.contains("note: losses of trace: "), code == 1, "{}", strict.err);
        let json = run(&folder, &format!("coverage {name} --format json"));
        let all = &objects(&json, "coverage")[0];
        assert_eq!(
            (all["lines"].as_u64(), all["unknown_lines"].as_u64()),
            (Some(63), Some(unknown))
        );
        let none = objects(&json, "line").iter().filter(|l| l["executions"].is_null()).count();
        assert_eq!(none as u64, unknown);
        for (format, zero) in
            [("lcov", ",0\n"), ("cobertura", "hits=\"0\""), ("gcov", "\"count\":0,\"function_name")]
        {
            let file = run(&folder, &format!("coverage {name} --format {format}"));
            assert_eq!(file.out.contains(zero), name == "whole", "{format}: {}", file.out);
        }
        let object = run(&folder, &format!("coverage {name} --by object --format json")).out;
        let zeros = ["\"entered\":0", "\"count\":0"].map(|zero| object.contains(zero));
        assert_eq!(zeros, [false, name == "whole"], "{object}");
        let file = run(&folder, &format!("coverage {name} --format llvm-cov"));
        assert_eq!(file.out.contains(",1,0,true,true,false]"), name == "whole", "{}", file.out);
    }
    // The other verbs with the option.
    let verbs = "decode,packets,instructions,functions,calls,history,frames";
    for verb in verbs.split(',') {
        for (name, code) in [("whole", 0), ("full", 1)] {
            let output = run(&folder, &format!("{verb} {name} --strict"));
            assert_eq!(output.code, Some(code), "{verb} {name}: {}", output.err);
        }
    }
    // What is unknown in one of them is no difference.
    let same = run(&folder, "diff --coverage whole full");
    assert_eq!((same.code, same.out.as_str()), (Some(0), "no difference\n"));
    assert!(same.err.contains("note: lines that are left out: 1; trace was lost"), "{}", same.err);
    let same = run(&folder, "diff --coverage whole overwritten");
    assert_eq!(same.code, Some(0));
    assert!(same.err.contains("note: lines that are left out: 63; "), "{}", same.err);
    assert!(!run(&folder, "diff --coverage whole whole").err.contains("left out"));
}

/// The program of the example at `path` with another byte, `change`, at the end of its code, or
/// without its table of sections.
fn changed(path: &Path, change: bool) {
    let file = path.join("program.bin");
    let mut bytes = fs::read(&file).unwrap();
    if change {
        let text = b"solutions: ";
        let at = bytes.windows(text.len()).position(|part| part == text).unwrap();
        bytes[at] ^= 1;
    } else {
        // e_shoff, e_shnum and e_shstrndx.
        bytes[32..36].fill(0);
        bytes[48..52].fill(0);
    }
    fs::write(file, bytes).unwrap();
}

#[test]
fn captures_of_different_programs_are_refused() {
    let folder = Folder::new("coverage-programs");
    for name in ["a", "same", "other"] {
        example(&folder, name);
    }
    changed(&folder.path("same"), false);
    changed(&folder.path("other"), true);
    for verb in [
        "coverage a --add",
        "coverage a --add a --add",
        "profile a --format json --add",
        "diff a",
        "diff --coverage a",
    ] {
        let same = run(&folder, &format!("{verb} same"));
        // Without symbols, there are differences.
        assert!(same.code != Some(2), "{verb}: {}", same.err);
        let refused = run(&folder, &format!("{verb} other"));
        assert_eq!((refused.code, refused.out.as_str()), (Some(2), ""), "{verb}");
        let why = "different programs: program.bin of a (Arm, no build ID, 734 bytes of code), and \
                   program.bin of other (Arm, no build ID, 734 bytes of code): their code differs \
                   from 0x";
        assert!(refused.err.contains(why), "{verb}: {}", refused.err);
        assert!(refused.err.contains("; --force ignores that"), "{verb}: {}", refused.err);
        let forced = run(&folder, &format!("{verb} other --force"));
        assert!(forced.code == Some(0) && forced.err.contains("note: different programs: "));
    }
}

/// The capture at `path` with raw memory instead of its ELF file: the code is at 0x40.
fn raw(path: &Path) {
    let part = |file: &str, address: &str| {
        let length = fs::metadata(path.join(file)).unwrap().len();
        format!("\n[dump_{address}]\nfile={file}\naddress={address}\nlength={length:#x}\n")
    };
    let core = "[device]\nname=cpu_0\nclass=core\ntype=Cortex-M7\n".to_owned();
    let core = core + &part("program_2.bin", "0x0") + &part("program_3.bin", "0x40");
    fs::write(path.join("cpu_0.ini"), core).unwrap();
}

/// The memory of the capture at `path` with another byte at `address`, in its raw dump and its ELF
/// file.
fn altered(path: &Path, address: usize) {
    for (file, offset) in [("program_3.bin", address - 0x40), ("program.bin", address + 0xd4)] {
        let file = path.join(file);
        let mut bytes = fs::read(&file).unwrap();
        bytes[offset] ^= 1;
        fs::write(file, bytes).unwrap();
    }
}

/// The operand of an executed `movs r0, #7`.
const EXECUTED: usize = 0x6a;
/// The text that the program writes.
const DATA: usize = 0x312;

/// Raw memory, and memory in the place of an image that the user adds, is that of the program, too.
#[test]
fn memory_of_different_programs_is_refused() {
    let folder = Folder::new("coverage-memory");
    for name in ["a", "same", "other", "raw", "raw-data", "raw-other"] {
        let path = example(&folder, name);
        if name.ends_with("other") {
            altered(&path, EXECUTED);
        }
        if name.ends_with("data") {
            altered(&path, DATA);
        }
        if name.starts_with("raw") {
            raw(&path);
        }
    }
    fs::copy(folder.path("a/program.bin"), folder.path("a.elf")).unwrap();
    let (image, of_raw) = (" --image a.elf", "program_3.bin of raw-other (");
    for (words, other) in [
        // The image is in the place of another program.
        ("coverage a --add other --image a.elf", "program.bin of other ("),
        ("profile a --add other --format json --image a.elf", "program.bin of other ("),
        ("diff a other --image a.elf", "program.bin of other ("),
        ("diff a other --coverage --image a.elf", "program.bin of other ("),
        ("diff other other --image a.elf", "a.elf added to other ("),
        ("coverage raw --add raw-other --image a.elf", of_raw),
        ("coverage a --add raw-other --image a.elf", of_raw),
        ("profile raw --add raw-other --format json --image a.elf", of_raw),
        ("diff --coverage raw raw-other --image a.elf", of_raw),
        // Without an image.
        ("profile raw --add raw-other --format json", of_raw),
        ("diff raw raw-other", of_raw),
        ("diff raw other", "program.bin of other ("),
        ("diff other raw", "program.bin of other ("),
    ] {
        let refused = run(&folder, words);
        assert_eq!((refused.code, refused.out.as_str()), (Some(2), ""), "{words}");
        assert!(refused.err.contains("different programs: "), "{words}: {}", refused.err);
        assert!(refused.err.contains(other), "{words}: {}", refused.err);
        let address = format!("): their code differs from {EXECUTED:#x} on; --force");
        assert!(refused.err.contains(&address), "{words}: {}", refused.err);
        let forced = run(&folder, &format!("{words} --force"));
        assert!(forced.code != Some(2), "{words}: {}", forced.err);
        assert!(forced.err.contains("note: different programs: "), "{words}: {}", forced.err);
    }
    // Data may differ: what was not executed is not known to be code.
    for words in [
        "coverage a --add same",
        "coverage a --add raw",
        "coverage raw --add raw-data",
        "profile raw --format json --add raw-data",
        "diff raw raw-data",
        "diff --coverage raw raw-data",
        "diff a raw-data",
    ] {
        let same = run(&folder, &(words.to_owned() + image));
        assert_eq!(same.code, Some(0), "{words}: {}", same.err);
        assert!(!same.err.contains("different programs"), "{words}: {}", same.err);
    }
    assert_eq!(run(&folder, "diff raw raw-data").out, "no difference\n");
}

/// A program names source files outside of the folder of its capture, directly and by a link.
#[cfg(unix)]
#[test]
fn source_files_elsewhere_are_in_no_output() {
    const CANARY: &str = "CANARY";
    let folder = Folder::new("coverage-canary");
    for name in ["outside", "cwd"] {
        fs::create_dir(folder.path(name)).unwrap();
    }
    let text: String = (1..200).map(|n| format!("{CANARY} {n}\n")).collect();
    for name in ["cana.c", "outside/cana.c", "outside/a.c"] {
        fs::write(folder.path(name), &text).unwrap();
    }
    for (name, path) in [("parent", "../cana.c"), ("link", "link/cn.c"), ("file", "program.c")] {
        let capture = example(&folder, name);
        let program = capture.join("program.bin");
        let mut bytes = fs::read(&program).unwrap();
        while let Some(at) = bytes.windows(10).position(|part| part == b"program.c\0")
            && path != "program.c"
        {
            bytes[at..at + 9].copy_from_slice(path.as_bytes());
        }
        fs::write(program, bytes).unwrap();
        fs::remove_file(capture.join("program.c")).unwrap();
        std::os::unix::fs::symlink("../outside", capture.join("link")).unwrap();
        fs::write(folder.path("outside/cn.c"), &text).unwrap();
        if path == "program.c" {
            std::os::unix::fs::symlink("../outside/a.c", capture.join("program.c")).unwrap();
        }
        let file = path.rsplit('/').next().unwrap();
        let annotate = format!("coverage --annotate {file}");
        for verb in [
            "report",
            "coverage",
            "coverage --by function",
            "coverage --format json",
            "coverage --format lcov",
            "coverage --format cobertura",
            "coverage --format gcov",
            "coverage --format llvm-cov",
            "coverage --format drcov -o drcov",
            "functions",
            "functions --format folded",
            "calls",
            "history",
            "info",
            "decode --lines",
            "instructions --lines",
            "timeline --format chrome",
            "profile --format json",
            &annotate,
        ] {
            let output = run_in(&folder, "cwd", &format!("{verb} ../{name}"));
            let failed = verb == annotate && output.code == Some(2);
            assert!(output.code == Some(0) || failed, "{verb}: {}", output.err);
            let all = [output.out.as_str(), &output.err].concat();
            assert!(!all.contains(CANARY), "{verb} {name}");
            let page = verb == "report";
            let texts = if page { embedded(&output.out) } else { BTreeMap::new() };
            for (answer, text) in texts {
                assert!(!String::from_utf8_lossy(&text).contains(CANARY), "{answer} {name}");
            }
        }
        let output = run_in(&folder, "cwd", &format!("report ../{name}"));
        let note = format!("note: the source file {path} is not shown: it is not in ../{name}\n");
        assert!(output.err.contains(&note), "{}", output.err);
        // In a folder that the user names, the ends of the path are searched, too.
        let shown = run(&folder, &format!("report {name} --source-root outside"));
        let own = fs::canonicalize(folder.path("outside")).unwrap().join(file);
        match path {
            "program.c" => assert!(!shown.out.contains(CANARY)),
            _ => {
                assert!(shown.out.contains(&format!("Lines of {}", own.display())));
                assert!(
                    shown.out.contains(CANARY) && shown.err.contains("the output has lines of")
                );
                let shown = run(&folder, &format!("{annotate} {name} --source-root outside"));
                assert!(shown.code == Some(0) && shown.out.contains(CANARY), "{}", shown.err);
            }
        }
    }
}

/// The folder of a program that the user names is known for its own lines.
/// A line of more than 4,096 characters is cut, and a file of more than 16 MiB is not read.
#[test]
fn large_source_files_and_lines_are_not_shown() {
    let folder = Folder::new("coverage-large-sources");
    let source = example(&folder, "large").join("program.c");
    let text = fs::read_to_string(&source).unwrap();
    let long: String =
        text.lines().map(|line| format!("{line}//{}END\n", "x".repeat(5000))).collect();
    fs::write(&source, long).unwrap();
    let words = "coverage large --annotate program.c";
    let output = run(&folder, words);
    let longest = output.out.lines().map(|line| line.chars().count()).max();
    assert!(longest.is_some_and(|longest| (4096..4300).contains(&longest)), "{longest:?}");
    assert!(!output.out.contains("END"));
    fs::OpenOptions::new().write(true).open(&source).unwrap().set_len((16 << 20) + 1).unwrap();
    let output = run(&folder, words);
    assert!(!output.out.contains("xxx"), "{}", output.err);
    assert!(output.err.contains("at most 16777216 are read"), "{}", output.err);
}

#[test]
fn source_files_beside_a_program() {
    let folder = Folder::new("coverage-beside");
    let capture = example(&folder, "demo");
    fs::create_dir(folder.path("build")).unwrap();
    for (from, to) in [("program.c", "program.c"), ("program.bin", "program.elf")] {
        fs::copy(capture.join(from), folder.path("build").join(to)).unwrap();
    }
    fs::remove_file(capture.join("program.c")).unwrap();
    let shown = |words: &str| run(&folder, words).out.contains("// Places queens from this row on");
    assert!(!shown("report demo") && !shown("coverage demo --annotate program.c"));
    assert!(shown("coverage demo --annotate program.c --image build/program.elf"));
}

/// A source file whose lines the output has is not the output, by whatever path or link.
#[cfg(unix)]
#[test]
fn source_files_are_not_outputs() {
    let folder = Folder::new("coverage-outputs");
    let capture = example(&folder, "demo");
    fs::create_dir(folder.path("build")).unwrap();
    for (from, to) in [("program.c", "build/program.c"), ("program.bin", "build/program.elf")] {
        fs::copy(capture.join(from), folder.path(to)).unwrap();
    }
    fs::copy(capture.join("program.c"), folder.path("program.c")).unwrap();
    fs::remove_file(capture.join("program.c")).unwrap();
    std::os::unix::fs::symlink("build/program.c", folder.path("link")).unwrap();
    fs::hard_link(folder.path("build/program.c"), folder.path("hard")).unwrap();
    let text = fs::read_to_string(folder.path("program.c")).unwrap();
    let elf = "--image build/program.elf";
    for (words, output) in [
        ("coverage demo --annotate program.c", "program.c"),
        (&format!("coverage demo --annotate program.c {elf}"), "build/program.c"),
        ("coverage demo --annotate program.c --source-root build", "link"),
        (&format!("report demo {elf}"), "build/program.c"),
        (&format!("report demo {elf}"), "hard"),
        ("report demo --source-root build", "build/../build/program.c"),
        ("report demo --source-root .", "program.c"),
    ] {
        let file = folder.path(output);
        let refused = |run: Output, what: &str| {
            assert_eq!(run.code, Some(2), "{words} {what} {output}: {}", run.err);
            let want = run.err.contains("this file is read as") && run.err.contains(what);
            assert!(want && run.out.is_empty(), "{words}: {}", run.err);
            assert_eq!(fs::read_to_string(&file).unwrap(), text, "{words} {what} {output}");
        };
        refused(run(&folder, &format!("{words} -o {output}")), "--output");
        let mut redirected = command(&args(words, &[]));
        let appended = fs::OpenOptions::new().append(true).open(&file).unwrap();
        let done = redirected.current_dir(folder.path("")).stdout(appended).output().unwrap();
        refused(done.into(), "standard output");
    }
    // Another file is written, and so is the name of a source file that is not read.
    fs::create_dir(folder.path("other")).unwrap();
    fs::write(folder.path("other/program.c"), &text).unwrap();
    for output in ["page", "other/program.c", "-"] {
        let done = run(&folder, &format!("report demo {elf} -o {output}"));
        assert_eq!(done.code, Some(0), "{output}: {}", done.err);
    }
    // A shell has emptied the file to which it redirects the output.
    let emptied = fs::File::create(folder.path("program.c")).unwrap();
    let mut redirected = command(&args("report demo --source-root .", &[]));
    let done = redirected.current_dir(folder.path("")).stdout(emptied).output().unwrap();
    assert_eq!(Output::from(done).code, Some(2));
}

/// The library has the files and the lines of the command.
#[test]
fn the_library_has_the_same_coverage() {
    let folder = Folder::new("coverage-of-the-library");
    let demo = folder.path("demo");
    let made = tracewright(&args("demo --write", &[&demo]));
    assert_eq!(made.code, Some(0), "{}", made.err);
    let output = tracewright(&args("coverage", &[&demo]));
    let sources = tracewright::open(&demo).unwrap().coverage().unwrap();
    assert!(!sources.is_empty());
    assert_eq!(tracewright::views::coverage::files_text(&sources), output.out);
}

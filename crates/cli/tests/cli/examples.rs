//! The examples of the help pages: every verb has some, and each of them runs; and the first
//! commands of the README.

use std::fs;
use std::path::Path;

use tracewright::capture::perf::{BranchList, ListedBinary, Sequence};
use tracewright_testing::{shared, tool};

use crate::common::{Folder, command, tracewright};

/// Words of examples that wait for data from elsewhere: other tests have a server, a file that
/// grows, and a gdb that connects.
const LIVE: [&str; 3] = ["tcp://localhost:3344", "/dev/ttyACM0", "--port"];

/// The verbs, those of `unit` and `log` with their own verbs.
fn verbs() -> Vec<Vec<String>> {
    let listed = |path: &[&str]| {
        let output = tracewright(&[path, &["--help"]].concat());
        let (_, commands) = output.out.split_once("Commands:\n").unwrap();
        let verbs = commands.lines().take_while(|line| !line.is_empty());
        let names = verbs.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
        names.map(|line| line.split_whitespace().next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let mut verbs = Vec::new();
    for verb in listed(&[]) {
        match verb.as_str() {
            // It has the examples of the other verbs.
            "help" => {}
            // Without its feature it has only a message.
            "table" if !cfg!(feature = "columns") => {}
            "unit" | "log" => {
                let inner = listed(&[&verb]).into_iter().filter(|inner| inner != "help");
                verbs.extend(inner.map(|inner| vec![verb.clone(), inner]));
            }
            _ => verbs.push(vec![verb]),
        }
    }
    verbs
}

/// The commands of a help page, without their explanations.
fn examples(help: &str) -> Vec<String> {
    let Some((_, examples)) = help.split_once("Examples:\n") else { return Vec::new() };
    let lines = examples.lines().map(str::trim_start);
    let commands = lines.take_while(|line| line.starts_with("tracewright "));
    commands.map(|line| line.split("  ").next().unwrap().to_owned()).collect()
}

/// The files that the examples name.
fn files(folder: &Folder) {
    let tree = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let run = |words: &str| {
        let words: Vec<_> = words.split_whitespace().collect();
        let output = command(&words).current_dir(folder.path("")).output().unwrap();
        assert!(output.status.success(), "{words:?} {output:?}");
    };
    run("demo --write CAPTURE");
    run("demo --write OTHER");
    let copy = |from: &Path, to: &str| {
        fs::copy(from, folder.path(to)).unwrap();
    };
    let etb = folder.path("CAPTURE/ETB.bin");
    copy(&etb, "etb.bin");
    copy(&etb, "port.bin");
    copy(&tree.join("tests/captures/etmv3/capture/ETB_0.bin"), "trace.bin");
    copy(&tree.join("tests/captures/etrace-draft/capture/log.elf"), "firmware.elf");
    fs::copy(folder.path("firmware.elf"), folder.path("a.elf")).unwrap();
    copy(&tree.join("tests/captures/etmv4/log.csv"), "log.csv");
    copy(&tree.join("tests/captures/itm/capture/ETB_0.bin"), "swo.bin");
    fs::write(folder.path("recording.txt"), "write TRCPRGCTLR 0\n").unwrap();
    let decision = r#"{"file": "demo.c", "decisions": [{"start": [1, 1], "end": [1, 2],
        "conditions": [{"start": [1, 1], "end": [1, 2]}]}]}"#;
    fs::write(folder.path("unit.json"), decision).unwrap();
    let exemption =
        "[[exempt]]\nfile = \"unit.c\"\nreason = \"r\"\nby = \"b\"\ndate = 2026-11-30\n";
    fs::write(folder.path("exempt.toml"), exemption).unwrap();
    run("encode --log log.csv --protocol ETM4 --to perf -o perf.data");
    let sequence = Sequence { address: 0x1000, bits: vec![1], len: 1, count: 1 };
    let binary = ListedBinary { sequences: vec![sequence], ..ListedBinary::default() };
    let list = BranchList { binaries: vec![binary], ..BranchList::default() }.write();
    fs::write(folder.path("a.list"), &list).unwrap();
    fs::write(folder.path("b.list"), &list).unwrap();
    fs::write(folder.path("LIST"), "a.list\nb.list\n").unwrap();
}

/// The commands in a table of the README, of the files that a reader has.
#[test]
fn the_first_commands_of_the_readme_run() {
    let tree = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let readme = fs::read_to_string(tree.join("README.md")).unwrap();
    let (_, part) = readme.split_once("## First commands\n").unwrap();
    let (part, _) = part.split_once("\n## ").unwrap();
    let cells = part.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").nth(1));
    let commands: Vec<_> =
        cells.filter_map(|cell| cell.strip_prefix("`tracewright ")?.strip_suffix('`')).collect();
    assert_eq!(commands.len(), 5, "{commands:?}");

    let folder = Folder::new("first-commands");
    let capture = folder.path("capture-of-the-example");
    assert_eq!(tracewright(&["demo", "--write", capture.to_str().unwrap()]).code, Some(0));
    for (from, to) in [
        (capture.join("ETB.bin"), "dump.bin"),
        (tree.join("crates/cli/src/demo/program.elf"), "firmware.elf"),
        (tree.join("tests/captures/itm/capture/ETB_0.bin"), "swo.bin"),
        (tree.join("tests/captures/etmv4/log.csv"), "log.csv"),
    ] {
        fs::copy(from, folder.path(to)).unwrap();
    }
    for (from, to) in [
        ("captures/simpleperf-etm/perf_etm.data", "perf.data"),
        ("captures/simpleperf-etm/etm_test_loop", "etm_test_loop"),
        ("captures/riscv/etrace-ref/itype3_basic/dhrystone.te_inst_raw", "hart.te_inst_raw"),
        ("captures/riscv/etrace-ref/elf/dhrystone.riscv", "program.elf"),
    ] {
        if let Some(from) = shared(from) {
            fs::copy(from, folder.path(to)).unwrap();
        }
    }
    let contents = ["Hello, world", "ID 0x10 ETM4", " instructions in 1 file", "Proc_1", ""];
    for (command_line, content) in commands.iter().zip(contents) {
        let words: Vec<_> = command_line.split_whitespace().collect();
        let present = |word: &&str| !word.contains('.') || folder.path(word).exists();
        if !words.iter().all(present) {
            continue;
        }
        let output = command(&words).current_dir(folder.path("")).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(0), "{command_line}: {output:?}");
        assert!(text.contains(content), "{command_line}: {text}");
    }
    assert!(folder.path("capture/snapshot.ini").exists());
}

#[test]
fn every_example_runs() {
    let folder = Folder::new("examples");
    files(&folder);
    let recording = shared("captures/sigrok-stm32f105/trace_example.sr");
    if let Some(recording) = &recording {
        fs::copy(recording, folder.path("capture.sr")).unwrap();
    }
    let gdb = tool(&[("gdb-multiarch", "gdb-multiarch"), ("gdb", "gdb-multiarch")]);
    let mut count = 0;
    for verb in verbs() {
        let words: Vec<_> = verb.iter().map(String::as_str).chain(["--help"]).collect();
        let examples = examples(&tracewright(&words).out);
        assert!(!examples.is_empty(), "{verb:?} has no example");
        for example in examples {
            let words: Vec<_> = example.split_whitespace().skip(1).collect();
            assert_eq!(words[0], verb[0], "{example}");
            let lacks = words.contains(&"capture.sr") && recording.is_none();
            let lacks = lacks || words[0] == "gdb" && gdb.is_none();
            // The program of this verb is one of its own, with tests of its own.
            let lacks = lacks || words[0] == "sql";
            if lacks || words.iter().any(|word| LIVE.contains(word)) {
                continue;
            }
            let output = command(&words).current_dir(folder.path("")).output().unwrap();
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            // 1: a difference, an error of `lint`, or the wrong protocol of `trace.bin`.
            assert!(matches!(output.status.code(), Some(0 | 1)), "{example}: {text}");
            count += 1;
        }
    }
    assert!(count >= 40, "{count}");
}

//! The examples of the help pages: every verb has some, and each of them runs.

use std::fs;
use std::path::Path;

use tracewright::capture::perf::{BranchList, ListedBinary, Sequence};
use tracewright_testing::shared;

use crate::common::{Folder, command, tracewright};

/// Examples that wait for data from elsewhere: other tests have a server, and a file that grows.
const LIVE: [&str; 2] = ["tcp://localhost:3344", "/dev/ttyACM0"];

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
            "unit" | "log" => {
                let inner = listed(&[&verb]).into_iter();
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
    run("encode --log log.csv --protocol ETM4 --to perf -o perf.data");
    let sequence = Sequence { address: 0x1000, bits: vec![1], len: 1, count: 1 };
    let binary = ListedBinary { sequences: vec![sequence], ..ListedBinary::default() };
    let list = BranchList { binaries: vec![binary], ..BranchList::default() }.write();
    fs::write(folder.path("a.list"), &list).unwrap();
    fs::write(folder.path("b.list"), &list).unwrap();
    fs::write(folder.path("LIST"), "a.list\nb.list\n").unwrap();
}

#[test]
fn every_example_runs() {
    let folder = Folder::new("examples");
    files(&folder);
    let recording = shared("captures/sigrok-stm32f105/trace_example.sr");
    if let Some(recording) = &recording {
        fs::copy(recording, folder.path("capture.sr")).unwrap();
    }
    let mut count = 0;
    for verb in verbs() {
        let words: Vec<_> = verb.iter().map(String::as_str).chain(["--help"]).collect();
        let examples = examples(&tracewright(&words).out);
        assert!(!examples.is_empty(), "{verb:?} has no example");
        for example in examples {
            let words: Vec<_> = example.split_whitespace().skip(1).collect();
            assert_eq!(words[0], verb[0], "{example}");
            let lacks = words.contains(&"capture.sr") && recording.is_none();
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

//! What is shown of parts beside their counts.

use std::fs;

use tracewright::analysis::coverage_runs::Digest;
use tracewright_testing::Random;

use super::{Folder, demo, error, good, indexed, merged, parts, run};

/// Changes the lines of a part, and writes its digest again.
fn changed(part: &str, to: &str, change: &dyn Fn(&str) -> String) {
    let text = fs::read_to_string(part).expect("a part");
    let (before, _) = text.trim_end().rsplit_once('\n').expect("lines");
    let lines: Vec<String> = before.lines().map(change).collect();
    let count = lines.len();
    let before = lines.join("\n") + "\n";
    let sha256 = Digest::of(before.as_bytes());
    let end = format!("{{\"type\":\"end\",\"lines\":{count},\"sha256\":\"{sha256}\"}}\n");
    fs::write(to, before + &end).expect("room");
}

#[test]
fn sums_saturate() {
    let folder = Folder::new("saturate");
    let input = demo(&folder, "d1");
    let files = parts(&folder, &["profile"], &input, "256", 2);
    let largest = folder.path("largest.part");
    let count = |line: &str| match line.rsplit_once(',') {
        Some((key, _)) if line.starts_with('[') && !key.contains(" first ") => {
            format!("{key},{}]", u64::MAX)
        }
        _ => line.to_owned(),
    };
    changed(&files[0], &largest, &count);
    let sum = folder.path("sum.part");
    good(&["merge", &largest, &files[1], "-o", &sum]);
    for shown in [
        &["profile"][..],
        &["profile", "--format", "pprof"],
        &["profile", "--format", "json"],
        &["profile", "--format", "autofdo"],
        &["coverage"],
        &["coverage", "--format", "json"],
    ] {
        let done = run(&[shown, &[&input, "--parts", &sum]].concat());
        let text = error(&done);
        assert!(done.status.code().is_some_and(|code| code < 2), "{shown:?}: {text}");
        assert!(!text.contains("panic"), "{shown:?}: {text}");
        assert!(shown[0] == "coverage" || text.contains("written as that number"), "{text}");
    }
}

/// What is wrong with a trace, and why, is the same of parts.
#[test]
fn the_diagnosis_of_parts_is_that_of_the_whole() {
    let mut random = Random::new(4);
    let folder = Folder::new("diagnosis");
    let mut firsts = 0;
    for (n, name) in ["etmv4", "etmv4", "ptm", "etmv3", "ete", "etrace-2.0"].into_iter().enumerate()
    {
        let inner = Folder::new(&format!("diagnosis-{n}"));
        let input = indexed(&inner, name, "512");
        for file in fs::read_dir(&input).expect("a folder").map(|own| own.expect("a file").path()) {
            let own = file.file_name().expect("a name").to_string_lossy().into_owned();
            if n == 0 && own.starts_with("cpu_0") && own.ends_with(".bin") {
                // Program memory is missing.
                let len = fs::metadata(&file).expect("a file").len() as usize;
                let bytes = fs::read(&file).expect("memory");
                fs::write(&file, &bytes[..len / 3]).expect("room");
            }
            if n > 0 && (own.starts_with("ETB") || own.starts_with("trace.bin")) {
                let mut bytes = fs::read(&file).expect("trace");
                for _ in 0..6 {
                    let at = random.index(bytes.len());
                    bytes[at] ^= 1 << random.below(8);
                }
                fs::write(&file, bytes).expect("room");
            }
        }
        good(&["index", &input, "--segment", "512"]);
        let files = parts(&inner, &["profile"], &input, "1500", 4);
        let sum = folder.path(&format!("{n}.part"));
        merged(&inner, files, &mut random, &sum);
        for verb in ["profile", "coverage"] {
            let (whole, parts) = (run(&[verb, &input]), run(&[verb, &input, "--parts", &sum]));
            let messages = error(&whole);
            assert_eq!(error(&parts), messages, "{name} {verb}");
            assert_eq!((parts.stdout, parts.status), (whole.stdout, whole.status), "{name} {verb}");
            firsts += messages.matches("first at").count();
        }
    }
    assert!(firsts > 2, "{firsts} places of what was first");
}

#[test]
fn a_run_of_parts_is_the_run_of_the_trace() {
    let folder = Folder::new("run");
    let input = demo(&folder, "d1");
    let [one, two] = ["1/2", "2/2"].map(|share| {
        let part = folder.path(&format!("{}.part", &share[..1]));
        good(&["coverage", &input, "--units", share, "--unit-size", "256", "-o", &part]);
        part
    });
    let save = |name: &str, arguments: &[&str]| {
        let file = folder.path(name);
        good(&[&["coverage", &input, "--save", &file][..], arguments].concat());
        fs::read(file).expect("a run")
    };
    let whole = save("whole", &[]);
    for (n, arguments) in
        [&["--parts", &one, "--parts", &two][..], &["--parts", &two, &format!("--parts={one}")]]
            .into_iter()
            .enumerate()
    {
        assert!(save(&format!("parts-{n}"), arguments) == whole, "{arguments:?}");
    }
    assert!(save("no-index", &["--no-index"]) == whole);
    // Both are one run.
    let (a, b) = (folder.path("whole"), folder.path("parts-0"));
    let of = ["coverage", "--format", "json", "--load", &a];
    assert!(good(&of) == good(&[&of[..], &["--load", &b]].concat()));
}

#[test]
fn quiet_commands_print_no_notes() {
    let folder = Folder::new("quiet");
    let input = demo(&folder, "d1");
    let part = folder.path("a.part");
    let share = ["profile", &input, "--unit-size", "1000000000", "--units", "1/9", "-o", &part];
    let text = |arguments: &[&str]| {
        let done = run(arguments);
        assert!(done.status.success(), "{}", error(&done));
        error(&done)
    };
    assert!(text(&share).contains("has none"));
    assert!(text(&share).contains("same content"));
    assert_eq!(text(&[&share[..], &["-q"]].concat()), "");
    let all = folder.path("all.part");
    let of = ["profile", &input, "--units", "1/1", "-o", &all, "-q"];
    assert_eq!(text(&of), "");
    for command in [&["merge", &all][..], &["merge", "--partial", &part]] {
        assert!(text(command).contains("note: "), "{command:?}");
        assert_eq!(text(&[command, &["-q"]].concat()), "", "{command:?}");
    }
}

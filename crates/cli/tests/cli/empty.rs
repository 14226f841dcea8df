//! Captures without trace, and captures of which a part is missing: a result that is empty states
//! the reason and fails, and what is missing is a problem for `--strict`.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{Folder, args, tracewright};
use tracewright::capture::Bytes;
use tracewright::capture::perf::{Body, Layout, PerfData};
use tracewright_testing::shared;

/// The file of simpleperf without the first `dropped` bytes of its trace, as `name`.
pub fn recorded(folder: &Folder, name: &str, dropped: u64) -> Option<PathBuf> {
    let path = shared("captures/simpleperf-etm/perf_etm.data")?;
    let mut data = PerfData::read(&Bytes::from(fs::read(path).unwrap())).unwrap();
    for record in &mut data.records {
        if let Body::AuxTrace(trace) = &mut record.body {
            trace.offset += dropped;
            trace.size -= dropped;
        }
    }
    data.trace[0] = data.trace[0].part(dropped, TRACE - dropped);
    if dropped == TRACE {
        data.records.retain(|record| !matches!(record.body, Body::AuxTrace(_)));
        data.trace.clear();
    }
    let own = folder.path(name);
    fs::write(&own, data.write(Layout::default())).unwrap();
    Some(own)
}

/// The bytes of its trace.
pub const TRACE: u64 = 384;

/// The demo with no byte in its buffer.
fn without_bytes(test: &str) -> Folder {
    let folder = Folder::with_demo(test);
    fs::write(folder.demo().join("ETB.bin"), b"").unwrap();
    folder
}

const VERBS: [&str; 14] = [
    "decode",
    "decode --format none",
    "packets",
    "instructions",
    "frames",
    "functions",
    "functions --format folded",
    "calls",
    "branches",
    "timeline --format chrome",
    "report",
    "history --before end",
    "bench",
    "profile",
];

/// Each verb fails with the reason where there is no trace.
#[test]
fn a_capture_without_trace_has_an_explained_result() {
    let folder = without_bytes("empty-snapshot");
    let mut captures = vec![folder.demo()];
    captures.extend(recorded(&folder, "none.data", TRACE));
    captures.extend(shared("captures/simpleperf-etm/perf_with_missing_aux_data.data"));
    for capture in &captures {
        for verb in VERBS {
            let output = tracewright(&args(verb, &[capture]));
            let about = format!("{verb} {}: {}", capture.display(), output.err);
            // A snapshot whose registers state that nothing was captured is an error.
            assert!(matches!(output.code, Some(1 | 2)), "{about}");
            let reasons = ["there is no trace", "nothing can be decoded"];
            assert!(reasons.iter().any(|reason| output.err.contains(reason)), "{about}");
            if verb == "report" && output.err.contains("there is no trace") {
                assert!(output.out.contains("there is no trace"), "{about}");
            }
        }
        let path = capture.display().to_string();
        let found =
            tracewright(&args("find", &[Path::new(&path), Path::new("count"), Path::new("any")]));
        assert_ne!(found.code, Some(0), "{}", found.err);
    }
}

/// An index of no trace has no share of it.
#[test]
fn an_index_of_no_trace_is_none() {
    let folder = Folder::new("empty-index");
    let Some(capture) = recorded(&folder, "none.data", TRACE) else { return };
    let output = tracewright(&args("index", &[&capture]));
    assert_eq!(output.code, Some(1), "{}", output.err);
    assert!(
        output.err.contains("there is no trace") && !output.err.contains('%'),
        "{}",
        output.err
    );
}

/// Two captures without trace are not equal.
#[test]
fn nothing_is_compared_without_trace() {
    let folder = Folder::new("empty-diff");
    let Some(none) = recorded(&folder, "none.data", TRACE) else { return };
    let all = recorded(&folder, "all.data", 0).unwrap();
    for pair in [[&none, &none], [&none, &all], [&all, &none]] {
        let output = tracewright(&args("diff", &pair.map(PathBuf::as_path)));
        assert_eq!(output.code, Some(1), "{}", output.err);
        assert!(!output.out.contains("no difference"), "{}", output.out);
        assert!(output.err.contains("none.data: there is no trace"), "{}", output.err);
    }
    let output = tracewright(&args("compare", &[&none, &none]));
    assert_eq!(output.code, Some(2), "{}", output.err);
    assert!(output.err.contains("neither has trace"), "{}", output.err);
}

/// A trace of which a part is not in the file is decoded, and is a failure with `--strict`.
#[test]
fn strict_fails_where_trace_is_missing_in_the_file() {
    let folder = Folder::new("empty-strict");
    let Some(part) = recorded(&folder, "part.data", 160) else { return };
    let all = recorded(&folder, "all.data", 0).unwrap();
    for verb in VERBS.into_iter().chain(["perf-script", "coverage", "profile --quiet"]) {
        let whole = tracewright(&args(&format!("{verb} --strict"), &[&all]));
        let output = tracewright(&args(&format!("{verb} --strict"), &[&part]));
        if whole.code == Some(0) {
            assert_eq!(output.code, Some(1), "{verb}: {}", output.err);
        } else {
            // The file has no program, or not all of its code.
            assert_ne!(output.code, Some(0), "{verb}: {}", output.err);
        }
        let output = tracewright(&args(verb, &[&part]));
        let want = "AUX records announce 160 bytes of trace that are not in the file";
        assert!(output.err.contains(want), "{verb}: {}", output.err);
        // The page has it as well.
        assert_eq!(output.out.contains(want), verb == "report", "{verb}");
    }
}

/// `--quiet` does not withhold that a capture of a sum is not read completely, or that bytes in it
/// are undecodable.
#[test]
fn damage_is_printed_with_quiet() {
    let folder = Folder::new("empty-quiet");
    let Some(all) = recorded(&folder, "all.data", 0) else { return };
    let binary = shared("captures/simpleperf-etm/etm_test_loop").unwrap();
    let profile = |captures: &[&Path]| {
        let words = format!("profile --quiet --format json --binary {}", binary.display());
        tracewright(&args(&words, captures))
    };
    let whole = profile(&[&all, &all]);
    assert_eq!((whole.code, whole.err.as_str()), (Some(0), ""));
    let bytes = fs::read(&all).unwrap();
    let cut = folder.path("cut.data");
    fs::write(&cut, &bytes[..bytes.len() - 5000]).unwrap();
    let output = profile(&[&all, &cut]);
    assert_eq!(output.code, Some(0), "{}", output.err);
    let want = "cut.data: it is not read completely; ";
    assert!(output.err.contains(want), "{}", output.err);
    // The path is in the line once.
    assert!(output.err.lines().all(|line| line.matches("cut.data").count() < 2), "{}", output.err);

    let mut data = PerfData::read(&Bytes::from(bytes)).unwrap();
    let mut trace = data.trace[0].to_vec();
    trace[280..300].fill(0xc4);
    data.trace[0] = Bytes::from(trace);
    let damaged = folder.path("damaged.data");
    fs::write(&damaged, data.write(Layout::default())).unwrap();
    let output = profile(&[&all, &damaged]);
    let want = "note: 1 of 2 captures have damaged trace: ";
    assert!(output.err.contains(want), "{}", output.err);
    assert_eq!(output.err.lines().count(), 1, "{}", output.err);
}

/// Samples with a period that the trace does not reach.
#[test]
fn a_period_without_samples_is_explained() {
    let Some(path) = shared("captures/simpleperf-etm/perf_etm.data") else { return };
    for (itrace, samples) in [("i", false), ("i2000", false), ("i100", true), ("b", true)] {
        let output = tracewright(&args(&format!("perf-script --itrace {itrace}"), &[&path]));
        let explained = output.err.contains("there are no samples: a sample is of");
        assert_eq!(
            (output.code, output.out.is_empty(), explained),
            (Some(i32::from(!samples)), !samples, !samples),
            "{itrace}: {}",
            output.err
        );
    }
}

/// A file or folder of an option that does not exist is an error.
#[test]
fn files_of_options_exist() {
    let Some(path) = shared("captures/simpleperf-etm/perf_etm.data") else { return };
    let file = path.with_file_name("etm_test_loop").display().to_string();
    for verb in ["decode", "info", "profile", "profile --format perf-data"] {
        for (option, value, why) in [
            ("--symfs", "/absent", "no such folder"),
            ("--guest-symfs", "/absent", "no such folder"),
            ("--symfs", file.as_str(), "it is not a folder"),
            ("--binary", "/absent", "no such file"),
            ("--guest-kernel", "/absent", "no such file"),
        ] {
            let output = tracewright(&args(&format!("{verb} {option} {value}"), &[&path]));
            assert_eq!((output.code, output.out.as_str()), (Some(2), ""), "{verb}: {}", output.err);
            let want = format!("tracewright: error: {option} {value}: {why}\n");
            assert!(output.err.ends_with(&want), "{verb}: {}", output.err);
        }
    }
    let output = tracewright(&args("merge --symfs /absent", &[&path]));
    assert!(output.err.contains("--symfs /absent: no such folder"), "{}", output.err);
}

/// Lists of captures, and files that are none, name the cause.
#[test]
fn lists_and_files_of_another_kind_name_the_cause() {
    let folder = Folder::with_demo("empty-lists");
    let list = |name: &str, text: &[u8]| {
        let path = folder.path(name);
        fs::write(&path, text).unwrap();
        format!("@{}", path.display())
    };
    let demo = folder.demo().display().to_string();
    let good = list("good", format!("{demo}\n\n{demo}\n").as_bytes());
    let (blank, binary) = (list("blank", b"\n \n"), list("binary", b"\xff\xfe\0"));
    let output = tracewright(&["profile", "--format", "json", &good]);
    assert_eq!((output.code, output.err.lines().count()), (Some(0), 2), "{}", output.err);
    for verb in [&["profile"][..], &["profile", "--add"], &["merge"]] {
        for (list, want) in [
            (&blank, "blank: as a list of paths, it has no path"),
            (&binary, "binary: as a list of paths, it is not text; give a capture without the @"),
            (&"@/absent".to_owned(), "/absent: as a list of paths, no such file"),
        ] {
            let output = tracewright(&[verb, &[list]].concat());
            assert_eq!(output.code, Some(2), "{verb:?} {list}: {}", output.err);
            assert!(output.err.contains(want), "{verb:?} {list}: {}", output.err);
        }
    }
    let elf = list("elf", b"\x7fELF\x02\x01\x01\0");
    let text = list("text", b"some words\n");
    let mut inputs = vec![
        (elf[1..].to_owned(), "a program (ELF), neither"),
        (text[1..].to_owned(), "it is neither a branch list nor a perf.data file"),
        (demo, "it is neither a branch list nor a perf.data file"),
        ("/absent".to_owned(), "no such file"),
    ];
    if let Some(path) = shared("captures/simpleperf-etm/perf_etm.data") {
        let want = "`tracewright profile --format branch-list` makes the list of a trace";
        inputs.push((path.display().to_string(), want));
    }
    for (path, want) in inputs {
        let output = tracewright(&["merge", &path]);
        assert_eq!(output.code, Some(2), "{path}: {}", output.err);
        assert!(output.err.contains(want), "{path}: {}", output.err);
        for words in [
            &["profile", "--keep-going", "/absent/a"][..],
            &["merge", &path, &path, "--keep-going"],
        ] {
            let output = tracewright(words);
            let repeated = output.err.lines().any(|line| {
                line.matches("/absent/a").count() > 1 || line.matches(path.as_str()).count() > 1
            });
            assert!(!repeated, "{}", output.err);
        }
    }
}

/// A branch list is input of two verbs.
#[test]
fn the_verbs_that_read_branch_lists_are_named() {
    let Some(path) = shared("captures/simpleperf-etm/perf_etm.data") else { return };
    let folder = Folder::new("empty-named");
    let list = folder.path("branches.list");
    let words = format!("profile --format branch-list -o {}", list.display());
    assert_eq!(tracewright(&args(&words, &[&path])).code, Some(0));
    let output = tracewright(&args("decode", &[&list]));
    assert_eq!(output.code, Some(2), "{}", output.err);
    for verb in ["`tracewright profile`", "`tracewright merge`"] {
        assert!(output.err.contains(verb), "{}", output.err);
    }
}

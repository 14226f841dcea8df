//! perf with this library in place of OpenCSD's.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tracewright::capture::Bytes;
use tracewright::capture::perf::{Layout, PerfData};
use tracewright_testing::{shared, tool};

use crate::client::{folder, installed, library, output};

/// A run of perf that loads the installed library, or the one in `folder`.
fn perf(folder: Option<&Path>, home: &Path, args: &[&str]) -> Output {
    let mut command = Command::new("perf");
    command.args(args).env("HOME", home).env_remove("LD_LIBRARY_PATH");
    if let Some(folder) = folder {
        command.env("LD_LIBRARY_PATH", folder);
    }
    command.output().unwrap()
}

/// The captures, and a folder that has the traced program at the path that they record.
fn captures() -> Option<(PathBuf, PathBuf)> {
    tool(&[("perf", "linux-perf")])?;
    installed()?;
    let captures = shared("captures/simpleperf-etm")?;
    let root = folder().join("root");
    let programs = root.join("data/local/tmp");
    std::fs::create_dir_all(&programs).unwrap();
    std::fs::copy(captures.join("etm_test_loop"), programs.join("etm_test_loop")).unwrap();
    // perf inject looks for programs by their build ID only, which has 20 bytes in the file.
    let cached = root.join(".debug/.build-id/0c/9a20bf9c009d0e4e8bbf9fad0300ae00000000");
    std::fs::create_dir_all(&cached).unwrap();
    std::fs::copy(captures.join("etm_test_loop"), cached.join("elf")).unwrap();
    Some((captures, root))
}

/// What 1.8.0 prints and 1.3.3 does not.
fn of_version_1_3(text: &str) -> String {
    text.replace("; Decoder Sync point TINFO", "")
}

#[test]
fn perf_report_lists_the_same_packets() {
    let Some((captures, root)) = captures() else { return };
    for (name, least) in [
        ("perf_etm.data", 27),
        ("perf_with_unformatted_trace.data", 0),
        ("perf_with_missing_aux_data.data", 0),
    ] {
        let file = captures.join(name);
        let args = ["report", "-D", "-i", file.to_str().unwrap()];
        let theirs = perf(None, &root, &args);
        let own = perf(Some(library()), &root, &args);
        assert_eq!(own.status, theirs.status, "{name}");
        let (theirs, own) = (output(theirs), of_version_1_3(&output(own)));
        assert!(own.matches("\tIdx:").count() >= least, "{name}");
        assert_eq!(own, theirs, "{name}");
    }
}

/// A file of simpleperf, without the sections that perf cannot read, and with the count of its
/// index.
fn repaired(captures: &Path, name: &str) -> PathBuf {
    let bytes = std::fs::read(captures.join(name)).unwrap();
    let mut data = PerfData::read(&Bytes::from(bytes)).unwrap();
    data.features.retain(|number, _| *number < 128);
    let repaired = folder().join(name);
    std::fs::write(&repaired, data.write(Layout::default())).unwrap();
    repaired
}

#[test]
fn perf_script_makes_the_same_samples() {
    let Some((captures, root)) = captures() else { return };
    let root_name = root.to_str().unwrap();
    for (file, least) in [
        (captures.join("perf_etm.data"), 208),
        (repaired(&captures, "perf_etm.data"), 208),
        (repaired(&captures, "perf_with_unformatted_trace.data"), 208),
    ] {
        for samples in ["i1ib", "b", "i1000il64", "i100i"] {
            let options = format!("--itrace={samples}");
            let mut args = vec!["script", "--symfs", root_name, &options];
            args.extend(["-i", file.to_str().unwrap(), "-F", "ip,sym,event,tid,flags,brstack"]);
            let theirs = output(perf(None, &root, &args));
            let own = output(perf(Some(library()), &root, &args));
            assert_eq!(own, theirs, "{samples} {}", file.display());
            if samples == "b" {
                assert!(own.lines().count() >= least, "{}", file.display());
            }
        }
    }
}

/// perf 6.1 writes a few bytes that it has not set behind the samples: two runs with the same
/// library differ in them, too.
#[test]
fn perf_inject_writes_the_same_file() {
    let Some((captures, root)) = captures() else { return };
    let file = repaired(&captures, "perf_etm.data");
    let inject = |library, name| {
        let out = folder().join(name);
        let options = ["inject", "--itrace=i10il64", "-i", file.to_str().unwrap(), "-o"];
        let done = perf(library, &root, &[&options[..], &[out.to_str().unwrap()]].concat());
        (done.status, std::fs::read(&out).unwrap_or_default())
    };
    let theirs = inject(None, "theirs.data");
    let own = inject(Some(library()), "own.data");
    assert_eq!(own.0, theirs.0);
    let samples = |bytes: &[u8]| bytes.len().saturating_sub(64);
    assert!(theirs.1.len() > 100_000 && own.1.len() == theirs.1.len(), "{}", own.1.len());
    assert!(own.1[..samples(&own.1)] == theirs.1[..samples(&theirs.1)]);
}

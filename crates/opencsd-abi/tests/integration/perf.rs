//! perf with this library in place of OpenCSD's.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

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

#[test]
fn perf_script_makes_the_same_samples() {
    let Some((captures, root)) = captures() else { return };
    let file = captures.join("perf_etm.data");
    let (file, root_name) = (file.to_str().unwrap(), root.to_str().unwrap());
    for (samples, count) in [("i1ib", 1152), ("b", 208), ("i1000il64", 2), ("i100i", 0)] {
        let samples_of = format!("--itrace={samples}");
        let fields = ["-F", "ip,sym,event,tid,flags,brstack"];
        let mut args = vec!["script", "--symfs", root_name, &samples_of, "-i", file];
        args.extend(fields);
        let theirs = output(perf(None, &root, &args));
        let own = output(perf(Some(library()), &root, &args));
        assert_eq!(own, theirs, "{samples}");
        if count > 0 {
            assert_eq!(own.lines().count(), count, "{samples}");
        }
    }
}

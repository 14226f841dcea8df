//! perf with this library in place of OpenCSD's: the installed perf and library, and the programs
//! and the library of other releases, where they are given. `TRACEWRIGHT_PERF` names the programs,
//! separated by colons.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tracewright::capture::Bytes;
use tracewright::capture::perf::{Layout, PerfData};
use tracewright_testing::{shared, short_or_long, skip, tool_since};

use crate::client::{folder, installed, library, other_library, text_of};

/// What is compared.
struct Setup {
    /// The programs.
    perfs: Vec<PathBuf>,
    /// The folders of OpenCSD's libraries; `None` for the installed one, 1.3.3.
    libraries: Vec<Option<PathBuf>>,
    captures: PathBuf,
    /// A folder that has the traced program at the path that the captures record.
    root: PathBuf,
}

impl Setup {
    /// The installed perf and the installed library.
    fn of_installed() -> Option<Setup> {
        let perf = tool_since(&[("perf", "linux-perf")], (6, 1))?;
        installed()?;
        Setup::new(vec![PathBuf::from(perf)], vec![None])
    }

    /// Programs of other releases, with the installed library.
    fn of_other_perfs() -> Option<Setup> {
        let Some(perfs) = std::env::var_os("TRACEWRIGHT_PERF") else {
            skip("TRACEWRIGHT_PERF does not name a perf of another release");
            return None;
        };
        installed()?;
        Setup::new(std::env::split_paths(&perfs).collect(), vec![None])
    }

    /// The installed perf and the programs of other releases, with the library of another release.
    fn of_other_library() -> Option<Setup> {
        let perf = tool_since(&[("perf", "linux-perf")], (6, 1))?;
        let perfs = std::env::var_os("TRACEWRIGHT_PERF").unwrap_or_default();
        let others = std::env::split_paths(&perfs).filter(|path| path.is_file());
        let perfs = std::iter::once(PathBuf::from(perf)).chain(others).collect();
        Setup::new(perfs, vec![Some(other_library()?)])
    }

    /// `None`, and the test is recorded as skipped, without the captures.
    fn new(perfs: Vec<PathBuf>, libraries: Vec<Option<PathBuf>>) -> Option<Setup> {
        let captures = shared("captures/simpleperf-etm")?;
        let root = folder().join("root");
        let programs = root.join("data/local/tmp");
        std::fs::create_dir_all(&programs).unwrap();
        let program = std::fs::read(captures.join("etm_test_loop")).unwrap();
        place(&programs.join("etm_test_loop"), &program);
        // perf inject looks for programs by their build ID only, which has 20 bytes in the file.
        let cached = root.join(".debug/.build-id/0c/9a20bf9c009d0e4e8bbf9fad0300ae00000000");
        std::fs::create_dir_all(&cached).unwrap();
        place(&cached.join("elf"), &program);
        Some(Setup { perfs, libraries, captures, root })
    }

    /// The captures as simpleperf wrote them, and without the sections that perf cannot read and
    /// with the count of their index.
    fn files(&self) -> Vec<PathBuf> {
        let names = [
            "perf_etm.data",
            "perf_kernel.data",
            "perf_with_missing_aux_data.data",
            "perf_with_unformatted_trace.data",
        ];
        let original = names.map(|name| self.captures.join(name));
        original.into_iter().chain(names.map(|name| repaired(&self.captures, name))).collect()
    }

    /// A run of `perf` that loads the installed library, or the one in `folder`.
    fn run(&self, perf: &Path, folder: Option<&Path>, args: &[&str]) -> Output {
        let mut command = Command::new(perf);
        command.args(args).env("HOME", &self.root).env_remove("LD_LIBRARY_PATH");
        if let Some(folder) = folder {
            command.env("LD_LIBRARY_PATH", folder);
        }
        command.output().unwrap()
    }

    /// Runs each perf with each library of OpenCSD, and checks that its status and its standard
    /// output with this library are the same. Calls `each` with whether perf is the installed one,
    /// and with the output.
    fn compare(&self, args: &[&str], mut each: impl FnMut(bool, &Output)) {
        for perf in &self.perfs {
            let own = self.run(perf, Some(library()), args);
            for folder in &self.libraries {
                let theirs = self.run(perf, folder.as_deref(), args);
                let what = format!("{} {args:?} {folder:?}", perf.display());
                assert_eq!(own.status, theirs.status, "{what} {}", text_of(&own.stderr));
                let text = text_of(&own.stdout);
                // What 1.8.0 prints and 1.3.3 does not.
                let text = match folder {
                    Some(_) => text,
                    None => text.replace("; Decoder Sync point TINFO", ""),
                };
                assert!(text == text_of(&theirs.stdout), "{what}");
            }
            each(perf == Path::new("perf"), &own);
        }
    }
}

/// Writes a file that a perf of another test may be reading: the file is never a part of it.
fn place(path: &Path, bytes: &[u8]) {
    if std::fs::read(path).is_ok_and(|old| old == bytes) {
        return;
    }
    let test = std::thread::current().name().unwrap_or_default().replace("::", "-");
    let written = path.with_extension(format!("{test}-{}", std::process::id()));
    std::fs::write(&written, bytes).unwrap();
    std::fs::rename(&written, path).unwrap();
}

/// A file of simpleperf, without the sections that perf cannot read, and with the count of its
/// index.
fn repaired(captures: &Path, name: &str) -> PathBuf {
    let bytes = std::fs::read(captures.join(name)).unwrap();
    let mut data = PerfData::read(&Bytes::from(bytes)).unwrap();
    data.features.retain(|number, _| *number < 128);
    let repaired = folder().join(name);
    place(&repaired, &data.write(Layout::default()));
    repaired
}

/// `perf report -D`. perf 6.12 ends with a fault in files of simpleperf that are not repaired,
/// whatever the library.
fn report(setup: &Setup) {
    for file in setup.files() {
        let least = match file.file_name().unwrap().to_str() {
            Some("perf_etm.data") => 27,
            Some("perf_kernel.data") => 23_000,
            _ => 0,
        };
        let is_repaired = !file.starts_with(&setup.captures);
        setup.compare(&["report", "-D", "-i", file.to_str().unwrap()], |is_installed, own| {
            if is_repaired || is_installed {
                assert!(own.status.success(), "{} {}", file.display(), text_of(&own.stderr));
                let count = text_of(&own.stdout).matches("\tIdx:").count();
                assert!(count >= least, "{} {count}", file.display());
            }
        });
    }
}

/// `perf script`. perf 6.12 refuses the samples of the trace without frames, whatever the library.
fn script(setup: &Setup) {
    let root = setup.root.to_str().unwrap();
    for file in setup.files() {
        let name = file.file_name().unwrap().to_str().unwrap();
        let is_repaired = !file.starts_with(&setup.captures);
        for samples in ["i1ib", "b", "i1000il64", "i100i"] {
            let options = format!("--itrace={samples}");
            let mut args = vec!["script", "--symfs", root, &options];
            args.extend(["-i", file.to_str().unwrap(), "-F", "ip,sym,event,tid,flags,brstack"]);
            setup.compare(&args, |is_installed, own| {
                let lines = text_of(&own.stdout).lines().count();
                let has_samples = match name {
                    "perf_etm.data" => is_repaired || is_installed,
                    "perf_with_unformatted_trace.data" => is_repaired && is_installed,
                    _ => false,
                };
                if has_samples && samples == "b" {
                    assert!(own.status.success() && lines >= 208, "{} {lines}", file.display());
                }
            });
        }
    }
}

/// `perf inject`, which ends with a fault in some files of simpleperf that are not repaired,
/// whatever the library. It writes a few bytes that it has not set behind the samples: two runs
/// with the same library differ in them, too.
fn inject(setup: &Setup) {
    // Tests run at the same time.
    let test = std::thread::current().name().unwrap_or_default().replace("::", "-");
    let out = folder().join(format!("{test}.data"));
    for file in setup.files() {
        let has_samples = file == folder().join("perf_etm.data");
        // In a short run each file is written once, and only that with samples in each way.
        let ways = short_or_long(if has_samples { 3 } else { 1 }, 3);
        let all = [("i10il64", 100_000), ("b", 30_000), ("i100ib", 30_000)];
        for (samples, least) in all.into_iter().take(ways) {
            let options = format!("--itrace={samples}");
            let args = ["inject", &options, "-i", file.to_str().unwrap(), "-o"];
            let inject = |perf: &Path, library: Option<&Path>| {
                let _ = std::fs::remove_file(&out);
                let done =
                    setup.run(perf, library, &[&args[..], &[out.to_str().unwrap()]].concat());
                (done.status, std::fs::read(&out).unwrap_or_default())
            };
            for perf in &setup.perfs {
                let own = inject(perf, Some(library()));
                for folder in &setup.libraries {
                    let what = format!("{} {args:?} {folder:?}", perf.display());
                    let theirs = inject(perf, folder.as_deref());
                    assert_eq!(own.0, theirs.0, "{what}");
                    assert_eq!(own.1.len(), theirs.1.len(), "{what}");
                    assert!(!has_samples || own.1.len() > least, "{what} {}", own.1.len());
                    let written = own.1.len().saturating_sub(64);
                    assert!(own.1[..written] == theirs.1[..written], "{what}");
                }
            }
        }
    }
    let _ = std::fs::remove_file(&out);
}

#[test]
fn perf_report_lists_the_same_packets() {
    Setup::of_installed().iter().for_each(report);
}

#[test]
fn perf_script_makes_the_same_samples() {
    Setup::of_installed().iter().for_each(script);
}

#[test]
fn perf_inject_writes_the_same_file() {
    Setup::of_installed().iter().for_each(inject);
}

#[test]
fn perf_of_another_release_works_the_same() {
    if let Some(setup) = Setup::of_other_perfs() {
        report(&setup);
        script(&setup);
        inject(&setup);
    }
}

#[test]
fn perf_works_as_with_the_library_of_the_other_release() {
    if let Some(setup) = Setup::of_other_library() {
        report(&setup);
        script(&setup);
        inject(&setup);
    }
}

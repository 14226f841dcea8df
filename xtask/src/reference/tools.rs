//! The programs: built, found, run.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::inputs::{self, Input, MB};
use super::library::Library;
use super::options::{Options, What};

/// What there is to run.
#[derive(Clone, Debug)]
pub(super) struct Tools {
    pub(super) tracewright: PathBuf,
    /// The library with OpenCSD's C interface, of this project, where it is to be timed.
    pub(super) interface: Option<PathBuf>,
    inputs: PathBuf,
    /// OpenCSD's driver, where its library is installed; else why not.
    pub(super) driver: Result<PathBuf, String>,
    /// OpenCSD's library, and its lister.
    pub(super) library: Library,
    /// Captures of the conformance tests.
    shared: PathBuf,
    /// Where inputs are written.
    folder: PathBuf,
    commit: String,
}

/// What a program used while it ran: the most that was seen, in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Used {
    /// Memory that is its own: no mapped files.
    pub(super) own: u64,
    /// All of it.
    pub(super) all: u64,
}

const NO_LIBRARY: &str = "OpenCSD's library is not installed, so Tracewright is timed alone; \
                          on Debian: apt-get install libopencsd-dev (and libopencsd-bin for --listings); \
                          or give the source tree of a version with --opencsd FOLDER";

impl Tools {
    /// Builds what is ours, and the driver where it can be built.
    pub(super) fn build(root: &Path, options: &Options) -> Result<Self, String> {
        let library = match &options.opencsd {
            Some(folder) => Library::at(Path::new(folder))?,
            None => Library::default(),
        };
        let target = match std::env::var_os("CARGO_TARGET_DIR") {
            Some(folder) => root.join(folder),
            None => root.join("target"),
        };
        let interface = options.what == What::Interface;
        let mut packages = vec![["tracewright-cli", "tracewright-benches"].as_slice()];
        if interface {
            packages.push(&["tracewright-opencsd-abi"]);
        }
        for (packages, kind) in packages.into_iter().zip(["--bins", "--lib"]) {
            let mut build = Command::new("cargo");
            build.args(["build", "--quiet", "--release", kind]).current_dir(root);
            build.args(packages.iter().flat_map(|package| ["--package", package]));
            if !build.status().is_ok_and(|status| status.success()) {
                return Err("cargo build --release failed".into());
            }
        }
        let folder = target.join("bench-reference");
        fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        let driver = driver(root, &folder, &library);
        if let Err(why) = &driver {
            if options.opencsd.is_some() || interface {
                return Err(why.clone());
            }
            eprintln!("note: {NO_LIBRARY}\nnote: {why}");
        }
        let commit =
            output(Command::new("git").args(["rev-parse", "--short", "HEAD"]).current_dir(root));
        let shared = std::env::var_os("TRACEWRIGHT_SHARED").map(PathBuf::from);
        Ok(Tools {
            tracewright: target.join("release/tracewright"),
            interface: interface.then(|| target.join("release/libopencsd_c_api.so")),
            inputs: target.join("release/inputs"),
            driver,
            library,
            shared: shared.unwrap_or_else(|| root.join("../shared")),
            folder,
            commit: commit.unwrap_or_else(|_| "?".into()),
        })
    }

    /// The inputs that are wanted.
    pub(super) fn list(&self, options: &Options) -> Result<Vec<Input>, String> {
        let (mut list, missing) = inputs::all(&self.shared);
        for name in missing {
            eprintln!("skipped: {name}: no capture of that name in {}", self.shared.display());
        }
        list.retain(|input| options.wants(input.name));
        if list.is_empty() { Err("no such input".into()) } else { Ok(list) }
    }

    /// Writes `input`, `bytes` long, and returns its path.
    pub(super) fn write(&self, input: &Input, bytes: usize) -> Result<PathBuf, String> {
        let mut command = Command::new(&self.inputs);
        command.arg(&self.folder).arg(input.name).arg(bytes.to_string()).args(&input.capture);
        output(&mut command)?;
        Ok(self.folder.join(input.name))
    }

    /// Removes an input that was written.
    pub(super) fn remove(&self, folder: &Path) {
        let _ = fs::remove_dir_all(folder);
    }

    /// What was measured on, in words.
    pub(super) fn machine(&self) -> String {
        let cpus = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let models =
            || cpus.lines().filter_map(|line| line.strip_prefix("model name")?.split_once(": "));
        let model = models().next().map_or("unknown processor", |(_, name)| name);
        let rustc = output(Command::new("rustc").arg("--version")).unwrap_or_default();
        let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
        let load = load.split(' ').next().unwrap_or("?");
        format!(
            "Machine: {model}, {} processors, load {load}. Tracewright {} of commit {}, {}, release profile.",
            models().count(),
            env!("CARGO_PKG_VERSION"),
            self.commit.trim(),
            rustc.trim(),
        )
    }

    /// Tracewright's times: one process, which decodes `repeat` times.
    pub(super) fn bench(&self, capture: &Path, repeat: usize) -> Result<Row, String> {
        let mut command = Command::new(&self.tracewright);
        command.arg("bench").args(["--format", "json", "--jobs", "1", "--repeat"]);
        command.arg(repeat.to_string()).arg(capture);
        Row::of(&output(&mut command)?)
    }
}

/// Builds the driver.
fn driver(root: &Path, folder: &Path, library: &Library) -> Result<PathBuf, String> {
    let (source, driver) = (root.join("benches/reference/driver.c"), folder.join("driver"));
    let mut command = Command::new("cc");
    command.args(["-O2", "-o"]).arg(&driver).arg(&source).args(library.arguments());
    command.args(["-lopencsd_c_api", "-lopencsd"]).stderr(Stdio::piped());
    let output = command.output().map_err(|error| format!("no C compiler `cc`: {error}"))?;
    let words = String::from_utf8_lossy(&output.stderr);
    let first = words.lines().find(|line| line.contains("error")).unwrap_or("cc failed");
    if output.status.success() { Ok(driver) } else { Err(first.to_owned()) }
}

/// Runs a program and answers with what it printed.
pub(super) fn output(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("{name}: {error}"))?;
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{name} failed: {}", words.lines().last().unwrap_or_default()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs a program to its end, throws away what it prints, and watches its memory.
pub(super) fn watched(command: &mut Command) -> Result<Used, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let started = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let mut child = started.map_err(|error| format!("{name}: {error}"))?;
    let status = format!("/proc/{}/status", child.id());
    let mut used = Used::default();
    loop {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let kilobytes = |key: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(key));
            line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0)
        };
        used.own = used.own.max(1024 * kilobytes("RssAnon:"));
        used.all = used.all.max(1024 * kilobytes("VmHWM:"));
        match child.try_wait() {
            Ok(None) => std::thread::sleep(Duration::from_millis(2)),
            Ok(Some(status)) if status.success() => return Ok(used),
            Ok(Some(status)) => return Err(format!("{name}: {status}")),
            Err(error) => return Err(format!("{name}: {error}")),
        }
    }
}

/// What a decoder counted, and how long it took.
#[derive(Clone, Debug, Default)]
pub(super) struct Row {
    pub(super) bytes: u64,
    pub(super) ranges: u64,
    pub(super) instructions: u64,
    pub(super) range_checksum: String,
    /// Errors after which the driver stopped.
    pub(super) errors: u64,
    /// The version of OpenCSD that ran, of the driver.
    pub(super) version: String,
    /// Processor seconds of each pass.
    pub(super) seconds: Vec<f64>,
}

impl Row {
    /// From the JSON of `tracewright bench`: the line of the first buffer.
    fn of(json: &str) -> Result<Self, String> {
        let line = json.lines().find(|line| line.contains("\"type\":\"bench\""));
        let line = line.ok_or("tracewright bench printed no row")?;
        let field = |key: &str| {
            let (_, rest) = line.split_once(&format!("\"{key}\":"))?;
            let end = rest.find(if rest.starts_with('[') { ']' } else { ',' })?;
            Some(rest[..end].trim_matches(['[', '"']))
        };
        let number = |key: &str| field(key).and_then(|text| text.parse().ok()).unwrap_or(0);
        let seconds = field("processor_seconds").unwrap_or_default();
        Ok(Row {
            bytes: number("bytes"),
            ranges: number("ranges"),
            instructions: number("instructions"),
            range_checksum: field("range_checksum").unwrap_or_default().to_owned(),
            errors: 0,
            version: String::new(),
            seconds: seconds.split(',').filter_map(|text| text.parse().ok()).collect(),
        })
    }

    /// From the words of the driver.
    pub(super) fn of_driver(words: &str) -> Self {
        let words: Vec<&str> = words.split_whitespace().collect();
        let all = |key: &'static str| {
            words.windows(2).filter(move |pair| pair[0] == key).map(|pair| pair[1])
        };
        let number = |key| all(key).next().and_then(|text| text.parse().ok()).unwrap_or(0);
        Row {
            bytes: number("bytes"),
            ranges: number("ranges"),
            instructions: number("instructions"),
            range_checksum: all("range_checksum").next().unwrap_or_default().to_owned(),
            errors: number("errors"),
            version: all("version").next().unwrap_or_default().to_owned(),
            seconds: all("processor").filter_map(|text| text.parse().ok()).collect(),
        }
    }

    /// The shortest pass.
    pub(super) fn least(&self) -> f64 {
        self.seconds.iter().copied().fold(f64::INFINITY, f64::min)
    }
}

/// A size in bytes, of the part of `input` that `options` want.
pub(super) fn size(input: &Input, options: &Options) -> usize {
    (input.mb * MB * options.percent / 100).max(MB / 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows() {
        let json = concat!(
            "{\"schema\":\"tracewright\",\"version\":1,\"verb\":\"bench\"}\n",
            "{\"type\":\"bench\",\"bytes\":64,\"elements\":7,\"ranges\":5,\"instructions\":9,",
            "\"seconds\":[0.5],\"processor_seconds\":[0.25,0.125],\"range_checksum\":\"00ff\",",
            "\"answer\":\"\"}\n"
        );
        let row = Row::of(json).unwrap();
        let driver = "version 1.3.3 bytes 64 elements 7 ranges 5 instructions 9 range_checksum 00ff \
                      clock 1.0 processor 0.25 clock 2.0 processor 0.125";
        for row in [row, Row::of_driver(driver)] {
            assert_eq!((row.bytes, row.ranges, row.instructions), (64, 5, 9));
            assert_eq!((row.range_checksum.as_str(), row.least()), ("00ff", 0.125));
            assert_eq!(row.seconds.len(), 2);
        }
        assert_eq!(Row::of_driver(driver).version, "1.3.3");
        assert!(Row::of("").is_err());
    }
}

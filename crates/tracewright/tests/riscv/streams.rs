//! The streams, each with the parameters of its unit.

use std::fs;
use std::path::{Path, PathBuf};

use tracewright::protocols::etrace::Params;
use tracewright::protocols::etrace::config::Profile;
pub use tracewright_testing::unpacked as read;

/// One stream of packets.
pub struct Stream {
    /// Folder and file.
    pub path: PathBuf,
    /// The program.
    pub program: String,
    pub params: Params,
    pub bytes: Vec<u8>,
}

/// The folder of the captures. Where it is missing, the test is recorded as skipped.
#[track_caller]
pub fn shared() -> Option<PathBuf> {
    tracewright_testing::shared("captures/riscv")
}

/// The files of a folder with this ending, in order, and their names without it.
fn files(folder: &Path, end: &str) -> Vec<(PathBuf, String)> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = entries
        .filter_map(|path| {
            let name = path.file_name()?.to_str()?.strip_suffix(end)?.to_owned();
            Some((path, name))
        })
        .collect();
    files.sort();
    files
}

/// Programs for RV32.
fn narrow(program: &str) -> bool {
    program.contains("rv32") || program == "xrle" || program.starts_with("embench")
}

/// The parameters of a suite's `.scf` file, and the run-time options of `params.txt`.
fn suite(folder: &Path, program: &str) -> Params {
    let width = if narrow(program) { 32 } else { 64 };
    let scf = fs::read_to_string(folder.join(format!("hardware_{width}.scf"))).unwrap();
    let run = fs::read_to_string(folder.join("params.txt")).unwrap();
    let text = format!("profile = \"reference-flow\"\nxlen = {width}\n{scf}\n{run}");
    Params::from_text(&text).unwrap()
}

/// The suites of `etrace-ref`.
pub const SUITES: [&str; 5] =
    ["itype3_basic", "itype3_debug", "itype4_basic", "itype4_debug", "itype4_fake_scf"];

/// The streams of the suites.
pub fn reference(root: &Path) -> Vec<Stream> {
    let suites = SUITES.iter().map(|suite| root.join("etrace-ref").join(suite));
    suites.flat_map(|folder| all(&folder, ".te_inst_raw", suite)).collect()
}

/// In a long run all `streams`, otherwise those of at most `bytes` bytes.
pub fn up_to(bytes: usize, mut streams: Vec<Stream>) -> Vec<Stream> {
    streams.retain(|stream| tracewright_testing::is_long() || stream.bytes.len() <= bytes);
    streams
}

/// The long streams of the reference flow.
pub fn large(root: &Path) -> Vec<Stream> {
    all(&root.join("etrace-ref-large"), ".te_inst_raw.xz", suite)
}

/// The streams with optional modes: names have the program and the letters of the modes.
pub fn optional(root: &Path) -> Vec<Stream> {
    all(&root.join("etrace-tecodec-optmodes"), ".te_inst_raw", |_, name| {
        let program = name.split('.').next().unwrap();
        Params::of(Profile::Siemens, !narrow(program))
    })
}

/// The streams of 0.026.
pub fn draft(root: &Path) -> Vec<Stream> {
    all(&root.join("draft0026-pulp-trdb"), ".pulp", |_, name| {
        let (program, mode) = name.split_once('.').unwrap();
        let mut params = Params::of(Profile::PulpTrdb, !narrow(program));
        params.options.full_address = mode == "full";
        params
    })
}

/// The streams of PULP's units, from their simulation.
pub fn pulp(root: &Path) -> Vec<Stream> {
    all(&root.join("pulp"), ".encap", |_, _| Params::of(Profile::PulpRvTracer, true))
}

/// The streams with data trace.
pub fn data(root: &Path) -> Vec<Stream> {
    let folders = fs::read_dir(root.join("etrace-data-ref")).unwrap();
    let mut folders: Vec<_> = folders.map(|entry| entry.unwrap().path()).collect();
    folders.retain(|path| path.is_dir());
    folders.sort();
    let params = |_: &Path, _: &str| Params::of(Profile::ReferenceFlow, true);
    folders.iter().flat_map(|folder| all(folder, ".te_data_raw", params)).collect()
}

fn all(folder: &Path, end: &str, params: impl Fn(&Path, &str) -> Params) -> Vec<Stream> {
    let stream = |(path, name): (PathBuf, String)| {
        let (params, bytes) = (params(folder, &name), read(&path));
        Stream { path, program: name, params, bytes }
    };
    files(folder, end).into_iter().map(stream).collect()
}

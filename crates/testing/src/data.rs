//! Files that tests read, and tools that they run.

use std::env;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use crate::skipped::skip;

/// A file or folder of the shared test data. Where it is missing, the test is recorded as skipped,
/// or fails if `TRACEWRIGHT_REQUIRE_SHARED=1`.
#[track_caller]
pub fn shared(path: &str) -> Option<PathBuf> {
    let found = shared_or_none(path);
    if found.is_none() {
        let why = format!("shared/{path} is missing");
        assert!(!required(), "TRACEWRIGHT_REQUIRE_SHARED: {why}");
        skip(&why);
    }
    found
}

/// A file or folder of the shared test data, for a test that checks the rest without it.
pub fn shared_or_none(path: &str) -> Option<PathBuf> {
    roots().into_iter().map(|root| root.join(path)).find(|path| path.exists())
}

fn required() -> bool {
    env::var_os("TRACEWRIGHT_REQUIRE_SHARED").is_some_and(|value| value == "1")
}

/// The folders that may be the shared one.
fn roots() -> Vec<PathBuf> {
    if let Some(root) = env::var_os("TRACEWRIGHT_SHARED") {
        return vec![root.into()];
    }
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    // A worktree may be one level deeper than the main checkout.
    ["../shared", "../../shared"].map(|beside| repository.join(beside)).into()
}

/// Whether one of these programs is installed: the first that is. Where none is, the test is
/// recorded as skipped, with the Debian package that has the program.
#[track_caller]
pub fn tool<'a>(programs: &[(&'a str, &str)]) -> Option<&'a str> {
    let path = env::var_os("PATH").unwrap_or_default();
    let installed = |name: &str| env::split_paths(&path).any(|folder| folder.join(name).is_file());
    let found = programs.iter().find(|(name, _)| installed(name));
    if found.is_none() {
        let names: Vec<_> = programs.iter().map(|(name, _)| *name).collect();
        let mut packages: Vec<_> = programs.iter().map(|(_, package)| *package).collect();
        packages.dedup();
        let (names, packages) = (names.join(", "), packages.join(", "));
        skip(&format!("not installed: {names} (Debian: {packages})"));
    }
    found.map(|(name, _)| *name)
}

/// Reads a file, unpacked where its name ends in `.xz` or `.gz`.
pub fn reader(path: &Path) -> io::Result<Box<dyn Read>> {
    let file = BufReader::new(File::open(path)?);
    Ok(match path.extension().and_then(|end| end.to_str()) {
        Some("xz") => Box::new(lzma_rust2::XzReader::new(file, true)),
        Some("gz") => Box::new(flate2::read::MultiGzDecoder::new(file)),
        _ => Box::new(file),
    })
}

/// The bytes that [`reader`] reads.
pub fn unpacked(path: &Path) -> Vec<u8> {
    let mut plain = Vec::new();
    let read = reader(path).and_then(|mut reader| reader.read_to_end(&mut plain));
    read.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    plain
}

/// The text of a file, unpacked as by [`unpacked`].
pub fn text(path: &Path) -> String {
    String::from_utf8_lossy(&unpacked(path)).into_owned()
}

/// The file `name` of another build of the libraries for C than the one beside the tests: in the
/// folder that `TRACEWRIGHT_C_LIBRARIES` names.
pub fn c_library(name: &str) -> Option<PathBuf> {
    env::var_os("TRACEWRIGHT_C_LIBRARIES").map(|folder| Path::new(&folder).join(name))
}

/// More options for the compiler of clients in C and C++: the words of `TRACEWRIGHT_C_OPTIONS`.
pub fn c_options() -> Vec<String> {
    let options = env::var("TRACEWRIGHT_C_OPTIONS").unwrap_or_default();
    options.split_whitespace().map(str::to_owned).collect()
}

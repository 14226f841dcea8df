//! Compiles and runs the clients in C.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, OnceLock};

use tracewright_testing::{skip, tool};

/// Where Debian installs OpenCSD's headers.
const HEADERS: &str = "/usr/include/opencsd/c_api/opencsd_c_api.h";

/// The name under which programs load the library.
const LIBRARY: &str = "libopencsd_c_api.so.1";

/// A folder for what the tests make.
pub fn folder() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("opencsd-abi");
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// This library: Cargo builds it beside the tests.
fn built() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    tests.with_file_name("libopencsd_c_api.so")
}

/// A folder in which the library has the name under which programs load it.
pub fn library() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = folder().join("lib");
        std::fs::create_dir_all(&folder).unwrap();
        let link = folder.join(LIBRARY);
        // A link of an earlier run may be to another build.
        let _ = std::fs::remove_file(&link);
        std::os::unix::fs::symlink(built(), link).unwrap();
        folder
    })
}

/// OpenCSD's library, if it is installed.
pub fn installed() -> Option<PathBuf> {
    let folders = ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64"];
    let found = folders.iter().map(|folder| Path::new(folder).join(LIBRARY)).find(|p| p.exists());
    if found.is_none() {
        skip("not installed: libopencsd_c_api.so.1 (Debian: libopencsd1)");
    }
    found
}

/// Compiles `source` in C. `None`, and the test is recorded as skipped, without a compiler or
/// OpenCSD's headers.
pub fn compile(source: &str) -> Option<PathBuf> {
    compile_with(source, "")
}

/// As [`compile`], with one more option of the compiler; none where it is empty.
pub fn compile_with(source: &str, option: &str) -> Option<PathBuf> {
    let compiler = tool(&[("cc", "gcc"), ("gcc", "gcc"), ("clang", "clang")])?;
    if !Path::new(HEADERS).exists() {
        skip("not installed: opencsd_c_api.h (Debian: libopencsd-dev)");
        return None;
    }
    // Tests run at the same time: one of them compiles.
    static COMPILED: Mutex<Vec<String>> = Mutex::new(Vec::new());
    let mut compiled = COMPILED.lock().unwrap();
    let name = format!("{}{}", source.strip_suffix(".c").unwrap(), option.replace('=', "-"));
    let program = folder().join(&name);
    if compiled.contains(&name) {
        return Some(program);
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/integration").join(source);
    let done = Command::new(compiler)
        .args(["-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-pthread", "-o"])
        .args([&program, &path, &built()])
        .args((!option.is_empty()).then_some(option))
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    compiled.push(name);
    Some(program)
}

/// Runs `program` with the library in `folder`, or with the installed one.
pub fn run(program: &Path, folder: Option<&Path>, args: &[&str]) -> Output {
    let mut command = Command::new(program);
    command.args(args).env_remove("LD_LIBRARY_PATH");
    if let Some(folder) = folder {
        command.env("LD_LIBRARY_PATH", folder);
    }
    command.output().unwrap()
}

/// The standard output of a run that succeeds.
#[track_caller]
pub fn output(done: Output) -> String {
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(done.status.success(), "{:?}: {text} {}", done.status, text_of(&done.stderr));
    text
}

/// Bytes as text.
pub fn text_of(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

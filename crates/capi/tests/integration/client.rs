//! Compiles and runs clients.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tracewright_testing::{c_library, c_options, short_or_long, tool, tool_since};

/// A folder for what the tests make.
pub fn folder() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("capi");
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// This library: Cargo builds it beside the tests. `TRACEWRIGHT_C_LIBRARIES` names the folder of
/// another build.
pub fn library(name: &str) -> PathBuf {
    c_library(name).unwrap_or_else(|| std::env::current_exe().unwrap().with_file_name(name))
}

/// A small capture of this repository.
pub fn capture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/captures").join(name).join("capture")
}

/// The folder in which the library has the name under which programs load it.
fn loaded() -> PathBuf {
    let folder = folder().join(format!("lib-{}", std::process::id()));
    if std::fs::create_dir_all(&folder).is_ok() {
        let link = folder.join("libtracewright.so.0");
        // Another test may have made it.
        let _ = std::os::unix::fs::symlink(library("libtracewright_capi.so"), link);
    }
    folder
}

/// Compiles the program at `source`, a path in this crate, in C or C++. `None`, and the test is
/// recorded as skipped, without a compiler.
pub fn compile(source: &str, options: &[&str]) -> Option<PathBuf> {
    let cpp = source.ends_with(".cpp");
    let compiler = match cpp {
        true => tool(&[("c++", "g++"), ("g++", "g++"), ("clang++", "clang")])?,
        false => tool(&[("cc", "gcc"), ("gcc", "gcc"), ("clang", "clang")])?,
    };
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let name = source.rsplit('/').next().unwrap().replace('.', "_");
    let kind = options.concat().replace('=', "-");
    let program = folder().join(format!("{name}{kind}-{}", std::process::id()));
    let done = Command::new(compiler)
        .arg(if cpp { "-std=c++17" } else { "-std=gnu99" })
        .args(["-O1", "-g", "-Wall", "-Wextra", "-Werror", "-pedantic", "-pthread"])
        .args(options)
        .args(c_options())
        .arg("-I")
        .arg(here.join("include"))
        .arg("-o")
        .args([&program, &here.join(source), &library("libtracewright_capi.so")])
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", text(&done.stderr));
    Some(program)
}

/// Runs `program`.
pub fn run(program: &Path, args: &[&str]) -> Output {
    Command::new(program).args(args).env("LD_LIBRARY_PATH", loaded()).output().unwrap()
}

/// Runs `program` under valgrind, in a long run. `None` in a short run, and without valgrind, where
/// the test is recorded as skipped.
pub fn run_checked(program: &Path, args: &[&str]) -> Option<Output> {
    // valgrind does not run programs with a sanitizer.
    if !short_or_long(false, true) || c_options().iter().any(|option| option.contains("sanitize")) {
        return None;
    }
    let valgrind = tool_since(&[("valgrind", "valgrind")], (3, 19))?;
    let kinds = "definite,indirect";
    let mut command = Command::new(valgrind);
    command
        .args(["-q", "--error-exitcode=9", "--leak-check=full"])
        .args([format!("--show-leak-kinds={kinds}"), format!("--errors-for-leak-kinds={kinds}")]);
    let done = command.arg(program).args(args).env("LD_LIBRARY_PATH", loaded()).output();
    Some(done.unwrap())
}

/// The standard output of a run that succeeds, and in which the library did not panic.
#[track_caller]
pub fn output(done: &Output) -> String {
    assert!(
        done.status.success(),
        "{:?}: {} {}",
        done.status,
        text(&done.stdout),
        text(&done.stderr)
    );
    assert!(!text(&done.stderr).contains("panicked"), "{}", text(&done.stderr));
    text(&done.stdout)
}

/// Bytes as text.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

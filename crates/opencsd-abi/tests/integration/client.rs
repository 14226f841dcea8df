//! Compiles and runs the clients in C.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, OnceLock};

use tracewright_testing::{c_library, c_options, skip, tool, without_tool};

/// Where Debian installs OpenCSD's headers.
const HEADERS: &str = "/usr/include/opencsd/c_api/opencsd_c_api.h";

/// The name under which programs load the library.
const LIBRARY: &str = "libopencsd_c_api.so.1";

/// A folder for what the tests make.
pub fn folder() -> PathBuf {
    // Clients with a sanitizer are other programs.
    let name = format!("opencsd-abi{}", c_options().concat().replace('=', "-"));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// This library: Cargo builds it beside the tests. `TRACEWRIGHT_C_LIBRARIES` names the folder of
/// another build.
fn built() -> PathBuf {
    let beside = || std::env::current_exe().unwrap().with_file_name("libopencsd_c_api.so");
    c_library("libopencsd_c_api.so").unwrap_or_else(beside)
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
        without_tool("not installed: libopencsd_c_api.so.1 (Debian: libopencsd1)");
    }
    found
}

/// OpenCSD's sources of another release, the folder of which `TRACEWRIGHT_OPENCSD` names.
pub fn other_release() -> Option<PathBuf> {
    let folder = std::env::var_os("TRACEWRIGHT_OPENCSD").map(PathBuf::from);
    if folder.is_none() {
        skip("TRACEWRIGHT_OPENCSD does not name the sources of OpenCSD");
    }
    folder
}

/// The folder with OpenCSD's library of that release, if it was built there.
pub fn other_library() -> Option<PathBuf> {
    other_release()?;
    let folder = other_library_or_none();
    if folder.is_none() {
        skip("the sources of OpenCSD are not built (make -C decoder/build/linux libs)");
    }
    folder
}

/// The same, for a test that checks the rest without it.
pub fn other_library_or_none() -> Option<PathBuf> {
    let sources = PathBuf::from(std::env::var_os("TRACEWRIGHT_OPENCSD")?);
    Some(sources.join("decoder/lib/builddir")).filter(|folder| folder.join(LIBRARY).exists())
}

/// Compiles `source` in C. `None`, and the test is recorded as skipped, without a compiler or
/// OpenCSD's headers.
pub fn compile(source: &str) -> Option<PathBuf> {
    compile_with(source, "")
}

/// As [`compile`], for a client that does not need OpenCSD's headers.
pub fn compile_without_headers(source: &str) -> Option<PathBuf> {
    compile_as(source.strip_suffix(".c")?, source, "")
}

/// As [`compile`], with one more option of the compiler; none where it is empty.
pub fn compile_with(source: &str, option: &str) -> Option<PathBuf> {
    if !Path::new(HEADERS).exists() {
        without_tool("not installed: opencsd_c_api.h (Debian: libopencsd-dev)");
        return None;
    }
    compile_as(
        &format!("{}{}", source.strip_suffix(".c")?, option.replace('=', "-")),
        source,
        option,
    )
}

/// As [`compile`], with the headers of [`other_release`].
pub fn compile_with_other_headers(source: &str) -> Option<PathBuf> {
    let headers = other_release()?.join("decoder/include");
    let name = format!("{}-other-headers", source.strip_suffix(".c")?);
    compile_as(&name, source, &format!("-I{}", headers.display()))
}

/// Compiles `source` to the program `name`.
fn compile_as(name: &str, source: &str, option: &str) -> Option<PathBuf> {
    let compiler = tool(&[("cc", "gcc"), ("gcc", "gcc"), ("clang", "clang")])?;
    // Tests run at the same time: one of them compiles.
    static COMPILED: Mutex<Vec<String>> = Mutex::new(Vec::new());
    let mut compiled = COMPILED.lock().unwrap();
    let program = folder().join(name);
    if compiled.iter().any(|other| other == name) {
        return Some(program);
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/integration").join(source);
    let done = Command::new(compiler)
        .args(["-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-pthread", "-o"])
        .args([&program, &path, &built()])
        .args((!option.is_empty()).then_some(option))
        .args(c_options())
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    compiled.push(name.to_owned());
    Some(program)
}

/// Runs `program` with the library in `folder`, or with the installed one.
pub fn run(program: &Path, folder: Option<&Path>, args: &[&str]) -> Output {
    let mut command = Command::new(program);
    command.args(args).env_remove("LD_LIBRARY_PATH");
    if let Some(folder) = folder {
        command.env("LD_LIBRARY_PATH", folder);
    }
    if folder != Some(library()) {
        // OpenCSD's library does not free what it allocates for functions of a client.
        command.env("ASAN_OPTIONS", "detect_leaks=0");
    }
    command.output().unwrap()
}

/// The standard output of a run that succeeds, and in which the library did not panic.
#[track_caller]
pub fn output(done: Output) -> String {
    let (text, errors) = (text_of(&done.stdout), text_of(&done.stderr));
    assert!(done.status.success(), "{:?}: {text} {errors}", done.status);
    assert!(!errors.contains("panicked"), "{errors}");
    text
}

/// Bytes as text.
pub fn text_of(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

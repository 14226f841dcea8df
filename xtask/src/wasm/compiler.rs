//! A compiler that makes code for WebAssembly.

use std::path::{Path, PathBuf};
use std::process::Command;

pub(super) const TARGET: &str = "wasm32-unknown-unknown";

/// The variable that names a compiler beside the sources of its standard library.
const VARIABLE: &str = "TRACEWRIGHT_WASM_RUSTC";

/// The compiler of the distribution, which has these sources if they are installed.
const DISTRIBUTION: &str = "/usr/bin/rustc";

/// How to get one.
pub(super) const HELP: &str =
    "rustup target add wasm32-unknown-unknown, or apt-get install rustc-web rust-web-src";

/// A compiler.
#[derive(Debug)]
pub(super) enum Compiler {
    /// That of the toolchain, which has the target.
    Installed,
    /// One with the sources of its standard library, which is compiled, too.
    Sources {
        rustc: PathBuf,
        /// The folders with its shared libraries.
        libraries: Vec<PathBuf>,
        linker: PathBuf,
    },
}

impl Compiler {
    /// The compiler of the toolchain if it has the target, or else one with sources. The error is
    /// why there is none.
    pub(super) fn find() -> Result<Compiler, String> {
        let libraries = printed("rustc", &[], &["--print", "target-libdir", "--target", TARGET]);
        if libraries.is_some_and(|folder| Path::new(&folder).is_dir()) {
            return Ok(Compiler::Installed);
        }
        let given = std::env::var_os(VARIABLE).map(PathBuf::from);
        let rustc = given.unwrap_or_else(|| DISTRIBUTION.into());
        if !rustc.is_file() {
            return Err(format!("rustc has no {TARGET}, and there is no {}", rustc.display()));
        }
        let libraries = libraries_of(&rustc);
        let sysroot = printed(&rustc, &libraries, &["--print", "sysroot"]);
        let sources = sysroot.map(|root| Path::new(&root).join("lib/rustlib/src/rust/library"));
        if !sources.is_some_and(|sources| sources.join("Cargo.lock").is_file()) {
            let rustc = rustc.display();
            return Err(format!("{rustc} has no sources of its standard library"));
        }
        let linker = linker().ok_or("there is no rust-lld and no wasm-ld")?;
        Ok(Compiler::Sources { rustc, libraries, linker })
    }

    /// The arguments and the environment for Cargo.
    pub(super) fn prepare(&self, cargo: &mut Command) {
        cargo.args(["--target", TARGET]);
        let Compiler::Sources { rustc, libraries, linker } = self else { return };
        cargo.arg("-Zbuild-std=std,panic_abort");
        // Cargo of a stable toolchain refuses -Z otherwise.
        cargo.env("RUSTC_BOOTSTRAP", "1").env("RUSTC", rustc);
        cargo.env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", linker);
        if let Some(path) = joined(libraries) {
            cargo.env("LD_LIBRARY_PATH", path);
        }
    }
}

/// The folders with shared libraries beside a compiler that is not installed.
fn libraries_of(rustc: &Path) -> Vec<PathBuf> {
    if rustc.starts_with("/usr/bin") {
        return Vec::new();
    }
    let lib = rustc.parent().and_then(Path::parent).map(|root| root.join("lib"));
    let inside = lib.iter().flat_map(std::fs::read_dir).flatten().flatten();
    let inside = inside
        .map(|entry| entry.path())
        .filter(|path| path.to_string_lossy().ends_with("-linux-gnu"));
    lib.iter().cloned().chain(inside).collect()
}

fn joined(libraries: &[PathBuf]) -> Option<std::ffi::OsString> {
    std::env::join_paths(libraries).ok().filter(|_| !libraries.is_empty())
}

/// The linker of the toolchain, or that of the system.
fn linker() -> Option<PathBuf> {
    let sysroot = printed("rustc", &[], &["--print", "sysroot"])?;
    let folders = std::fs::read_dir(Path::new(&sysroot).join("lib/rustlib")).ok()?;
    let own = folders.flatten().map(|entry| entry.path().join("bin/rust-lld"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let others = std::env::split_paths(&path).map(|folder| folder.join("wasm-ld"));
    own.chain(others.collect::<Vec<_>>()).find(|linker| linker.is_file())
}

/// What a compiler prints, without the end of the line.
fn printed(
    rustc: impl AsRef<std::ffi::OsStr>,
    libraries: &[PathBuf],
    args: &[&str],
) -> Option<String> {
    let mut command = Command::new(rustc);
    if let Some(path) = joined(libraries) {
        command.env("LD_LIBRARY_PATH", path);
    }
    let output = command.args(args).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim_end().to_owned())
}

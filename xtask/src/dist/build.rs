//! Builds the command and the libraries.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::output;

/// What was built.
#[derive(Debug)]
pub(super) struct Built {
    /// The target folder of Cargo.
    pub(super) target: PathBuf,
    /// The folder with the files of the profile.
    pub(super) folder: PathBuf,
    /// The target triple.
    pub(super) triple: String,
    /// What programs that take the static library link besides: `-lc -lm`.
    pub(super) system_libraries: String,
}

impl Built {
    /// The command.
    pub(super) fn command(&self) -> PathBuf {
        self.folder.join("tracewright")
    }

    /// The library with Tracewright's C interface.
    pub(super) fn shared(&self) -> PathBuf {
        self.folder.join("libtracewright_capi.so")
    }

    /// The same as a static library.
    pub(super) fn archive(&self) -> PathBuf {
        self.folder.join("libtracewright_capi.a")
    }

    /// The library with OpenCSD's C interface.
    pub(super) fn opencsd(&self) -> PathBuf {
        self.folder.join("libopencsd_c_api.so")
    }
}

/// Builds with the release profile, or the development profile.
pub(super) fn build(root: &Path, dev: bool) -> Result<Built, String> {
    // Tables take as long to compile as the rest of the command.
    let profile: &[&str] =
        if dev { &[] } else { &["--release", "--features", "tracewright-cli/columns"] };
    let packages = ["tracewright-cli", "tracewright-capi", "tracewright-opencsd-abi"];
    let status = Command::new("cargo")
        .args(["build", "--locked"])
        .args(profile)
        .args(packages.iter().flat_map(|name| ["--package", name]))
        .current_dir(root)
        .status()
        .map_err(|error| format!("cargo: {error}"))?;
    if !status.success() {
        return Err("the build failed".into());
    }
    let target = target(root)?;
    let folder = target.join(if dev { "debug" } else { "release" });
    let version = output(Command::new("rustc").arg("-vV"))?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    let triple = host.ok_or("rustc -vV has no host")?.to_owned();
    Ok(Built { target, folder, triple, system_libraries: system_libraries()? })
}

/// The target folder, as Cargo reports it.
fn target(root: &Path) -> Result<PathBuf, String> {
    let mut command = Command::new("cargo");
    command.args(["metadata", "--no-deps", "--format-version", "1"]).current_dir(root);
    let text = output(&mut command)?;
    let found = text.split("\"target_directory\":\"").nth(1);
    let found = found.and_then(|rest| rest.split('"').next());
    Ok(PathBuf::from(found.ok_or("cargo metadata has no target folder")?))
}

/// The libraries of the system that the standard library of Rust needs, as rustc reports them for
/// an empty static library.
fn system_libraries() -> Result<String, String> {
    let folder = std::env::temp_dir().join(format!("tracewright-libraries-{}", std::process::id()));
    super::fresh(&folder)?;
    let source = folder.join("empty.rs");
    std::fs::write(&source, "").map_err(|error| super::failed(&source, &error))?;
    let mut command = Command::new("rustc");
    command
        .args(["--crate-type", "staticlib", "--print", "native-static-libs", "--out-dir"])
        .args([&folder, &source]);
    let done = command.output().map_err(|error| format!("rustc: {error}"));
    // The folder is removed whatever happened.
    let removed = std::fs::remove_dir_all(&folder);
    let text = String::from_utf8_lossy(&done?.stderr).into_owned();
    removed.map_err(|error| super::failed(&folder, &error))?;
    let found = text.lines().find_map(|line| line.split("native-static-libs: ").nth(1));
    let found = found.ok_or("rustc does not report native-static-libs")?;
    // The compiler adds its own library: that of `-static` has another name.
    let libraries = found.split_whitespace().filter(|library| *library != "-lgcc_s");
    Ok(libraries.collect::<Vec<_>>().join(" "))
}

//! The packages that other tools make or read: for pip, npm and Visual Studio Code.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::archive::{self, Level};
use super::{Made, VERSION, build, failed, fresh, output, versions};
use crate::{vsix, wasm};

/// The package for Python, where maturin is installed.
pub(super) fn wheel(
    root: &Path,
    work: &Path,
    out: &Path,
    time: u64,
    dev: bool,
) -> Result<Made, String> {
    if output(Command::new("maturin").arg("--version")).is_err() {
        return Ok(Made::skipped("maturin is not installed", "pip install maturin"));
    }
    let folder = work.join("wheel");
    fresh(&folder)?;
    let mut command = Command::new("maturin");
    command.args(["build", "--quiet", "--out"]).arg(&folder).current_dir(root.join("python"));
    command.env("SOURCE_DATE_EPOCH", time.to_string());
    let target = build::prepare(&mut command, root, dev)?;
    command.env("CARGO_TARGET_DIR", target).args((!dev).then_some("--release"));
    output(&mut command)?;
    let list = std::fs::read_dir(&folder).map_err(|error| failed(&folder, &error))?;
    let made = list.flatten().next().map(|entry| entry.path());
    let made = made.ok_or_else(|| format!("maturin has made no file in {}", folder.display()))?;
    let name = made.file_name().unwrap_or_default().to_string_lossy().into_owned();
    versions::same(&name, name.split('-').nth(1).unwrap_or_default())?;
    copied(&made, &out.join(name))
}

/// The package for npm, where there is a compiler for WebAssembly.
pub(super) fn npm(
    root: &Path,
    work: &Path,
    out: &Path,
    time: u64,
    dev: bool,
) -> Result<Made, String> {
    let folder = work.join("npm");
    match wasm::package(root, &folder, dev) {
        Ok(()) => {}
        Err(wasm::Missing::Compiler { why, help }) => return Ok(Made::skipped(&why, help)),
        Err(wasm::Missing::Failed(error)) => return Err(error),
    }
    let path = out.join(format!("tracewright-{VERSION}.tgz"));
    // The folder that npm expects.
    archive::pack(&path, &folder, "package", time, Level::new(dev))?;
    Ok(Made::Files(vec![path]))
}

/// The extension of editors.
pub(super) fn extension(out: &Path) -> Result<Made, String> {
    let path = vsix::make(out).map_err(|error| failed(out, &error))?;
    Ok(Made::Files(vec![path]))
}

fn copied(from: &Path, to: &Path) -> Result<Made, String> {
    std::fs::copy(from, to).map_err(|error| failed(from, &error))?;
    Ok(Made::Files(vec![PathBuf::from(to)]))
}

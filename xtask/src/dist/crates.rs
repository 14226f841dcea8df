//! The packages for Cargo's registry, as `cargo publish` makes them: the same files make the same
//! bytes.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{failed, fresh, output};

/// Makes the packages in `out`. Without `dev`, a tree with changes that are not committed is
/// refused.
pub(super) fn crates(
    root: &Path,
    work: &Path,
    out: &Path,
    dev: bool,
) -> Result<Vec<PathBuf>, String> {
    let target = work.join("crates");
    fresh(&target)?;
    let mut command = Command::new("cargo");
    command.args(["publish", "--workspace", "--dry-run", "--no-verify", "--locked", "--quiet"]);
    command.args(dev.then_some("--allow-dirty"));
    command.arg("--target-dir").arg(&target).current_dir(root);
    output(&mut command)?;
    // Some are there twice: in a registry that stands for Cargo's, too.
    let mut found = BTreeMap::new();
    search(&target, &mut found)?;
    if found.is_empty() {
        return Err(format!("cargo publish has made no package in {}", target.display()));
    }
    let mut made = Vec::new();
    for (name, path) in found {
        let to = out.join(name);
        fs::copy(&path, &to).map_err(|error| failed(&path, &error))?;
        made.push(to);
    }
    Ok(made)
}

/// Finds packages below a folder, by name.
fn search(folder: &Path, found: &mut BTreeMap<String, PathBuf>) -> Result<(), String> {
    for entry in fs::read_dir(folder).map_err(|error| failed(folder, &error))? {
        let path = entry.map_err(|error| failed(folder, &error))?.path();
        if path.is_dir() {
            search(&path, found)?;
        } else if path.extension().is_some_and(|extension| extension == "crate") {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            found.insert(name, path);
        }
    }
    Ok(())
}

//! The archive. The same files make the same bytes: they are sorted, belong to nobody and have the
//! time of the last commit.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{VERSION, output};

/// Packs the folder `name` in `out`, and returns the path of the archive.
pub(super) fn pack(root: &Path, out: &Path, name: &str) -> Result<PathBuf, String> {
    let archive = out.join(format!("{name}.tar.gz"));
    let mut command = Command::new("tar");
    command
        .args(["--create", "--sort=name", "--owner=0", "--group=0", "--numeric-owner"])
        .arg(format!("--mtime=@{}", time(root)))
        // Without the time and the name that gzip writes by default.
        .args(["--use-compress-program", "gzip -n", "--file"])
        .arg(&archive)
        .arg("--directory")
        .args([out, Path::new(name)]);
    output(&mut command)?;
    Ok(archive)
}

/// Seconds since 1970 of the last commit; `SOURCE_DATE_EPOCH` replaces it.
pub(super) fn time(root: &Path) -> u64 {
    let given = std::env::var("SOURCE_DATE_EPOCH").ok();
    let commit = || {
        let mut command = Command::new("git");
        output(command.args(["log", "-1", "--format=%ct"]).current_dir(root)).ok()
    };
    given.or_else(commit).and_then(|text| text.trim().parse().ok()).unwrap_or(0)
}

/// The version with the letters that a package name may have.
pub(super) fn version() -> String {
    VERSION.replace('-', "~")
}

//! The program that answers queries in SQL: an archive and a Debian package of its own, as it is
//! larger than all else and has a workspace of its own.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::archive::{self, Level};
use super::{Made, VERSION, build, debian, fresh};
use crate::files::copy;

/// Its name, and that of its packages.
pub(super) const NAME: &str = "tracewright-sql";

/// Its pages.
const DOCUMENTS: [&str; 4] = ["docs/sql.md", "docs/tables.md", "LICENSE-APACHE", "LICENSE-MIT"];

/// How packages are made.
pub(super) struct Making<'a> {
    pub(super) root: &'a Path,
    /// A folder for what is not published.
    pub(super) work: PathBuf,
    pub(super) out: &'a Path,
    pub(super) time: u64,
    pub(super) level: Level,
}

/// Builds the program. Returns its path.
pub(super) fn build(root: &Path, dev: bool) -> Result<PathBuf, String> {
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--locked"]).current_dir(root.join("sql"));
    // The profile is another one than that of the workspace.
    let target = build::prepare(&mut cargo, root, dev)?.join("sql");
    cargo.env("CARGO_TARGET_DIR", &target).args((!dev).then_some("--release"));
    let status = cargo.status().map_err(|error| format!("cargo: {error}"))?;
    match status.success() {
        true => Ok(target.join(if dev { "debug" } else { "release" }).join(NAME)),
        false => Err(format!("the build of {NAME} failed")),
    }
}

/// Makes the archive, and the package where Debian has one for `triple`.
pub(super) fn packages(program: &Path, triple: &str, making: &Making<'_>) -> Result<Made, String> {
    let Making { root, work, out, time, level } = making;
    let folder = work.join("archive");
    fresh(&folder)?;
    copy(program, &folder.join("bin").join(NAME))?;
    for page in DOCUMENTS {
        let name = page.rsplit('/').next().unwrap_or(page);
        copy(&root.join(page), &folder.join("share/doc").join(NAME).join(name))?;
    }
    let name = format!("{NAME}-{VERSION}-{triple}");
    let mut made = Vec::new();
    for extension in ["tar.gz", "tar.xz"] {
        let path = out.join(format!("{name}.{extension}"));
        archive::pack(&path, &folder, &name, *time, *level)?;
        made.push(path);
    }
    made.extend(debian::of_sql(triple, &folder, making)?);
    Ok(Made::Files(made))
}

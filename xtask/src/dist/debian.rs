//! The Debian package of the library with OpenCSD's C interface. It can be installed beside
//! `libopencsd1`: the library is in a folder of its own, and only programs that are started with
//! `with-tracewright` load it.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::archive::{time, version};
use super::build::Built;
use super::stage::{copy, write};
use super::{failed, fresh, output};

/// The name of the package.
const NAME: &str = "tracewright-opencsd";

/// Makes the package in `out`, and returns its path. `None` where `dpkg-deb` is not installed.
pub(super) fn package(root: &Path, built: &Built, out: &Path) -> Result<Option<PathBuf>, String> {
    let Ok(architecture) = output(Command::new("dpkg").arg("--print-architecture")) else {
        return Ok(None);
    };
    let architecture = architecture.trim();
    let multiarch = multiarch(&built.triple);
    let tree = out.join(format!("{NAME}-tree"));
    fresh(&tree)?;
    let library = format!("usr/lib/{multiarch}/tracewright");
    copy(&built.opencsd(), &tree.join(&library).join("libopencsd_c_api.so.1"))?;
    let script = tree.join("usr/bin/with-tracewright");
    write(&script, &wrapper(&library))?;
    executable(&script)?;
    let documents = tree.join("usr/share/doc").join(NAME);
    copy(&root.join("docs/c-library.md"), &documents.join("c-library.md"))?;
    copy(
        &root.join("docs/differences-from-opencsd.md"),
        &documents.join("differences-from-opencsd.md"),
    )?;
    write(&documents.join("copyright"), &copyright(root)?)?;
    let needs = least_glibc(&built.opencsd())?;
    write(&tree.join("DEBIAN/control"), &control(architecture, &needs))?;
    let package = out.join(format!("{NAME}_{}_{architecture}.deb", version()));
    let mut command = Command::new("dpkg-deb");
    command
        .args(["--root-owner-group", "--build"])
        .args([&tree, &package])
        // Of the files of the package.
        .env("SOURCE_DATE_EPOCH", time(root).to_string());
    output(&mut command)?;
    std::fs::remove_dir_all(&tree).map_err(|error| failed(&tree, &error))?;
    Ok(Some(package))
}

/// Debian's name of the architecture in the paths of libraries: the triple without the vendor.
fn multiarch(triple: &str) -> String {
    let parts: Vec<&str> = triple.split('-').collect();
    match parts[..] {
        [processor, _, system, library] => format!("{processor}-{system}-{library}"),
        _ => triple.to_owned(),
    }
}

/// Runs a command with the library.
fn wrapper(library: &str) -> String {
    format!(
        "#!/bin/sh\n\
         # Runs a command that decodes with Tracewright in place of OpenCSD: with-tracewright perf script\n\
         LD_LIBRARY_PATH=/{library}${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}\n\
         export LD_LIBRARY_PATH\n\
         exec \"$@\"\n"
    )
}

fn control(architecture: &str, needs: &str) -> String {
    format!(
        "Package: {NAME}\n\
         Version: {}\n\
         Architecture: {architecture}\n\
         Maintainer: Tracewright developers <{}>\n\
         Section: libs\n\
         Priority: optional\n\
         Depends: libc6 (>= {needs}), libgcc-s1\n\
         Enhances: libopencsd1, linux-perf\n\
         Homepage: {}\n\
         Description: OpenCSD's C interface, decoding with Tracewright\n \
         The library libopencsd_c_api.so.1 of Tracewright takes the place of OpenCSD's under perf\n \
         and other programs, without building them again. It is in a folder of its own: programs\n \
         use it where they are started with with-tracewright.\n",
        version(),
        "noreply@tracewright.example",
        env!("CARGO_PKG_REPOSITORY"),
    )
}

fn copyright(root: &Path) -> Result<String, String> {
    let mut text =
        String::from("Tracewright is licensed under MIT or Apache-2.0, at your choice.\n");
    for name in ["LICENSE-MIT", "LICENSE-APACHE"] {
        let path = root.join(name);
        let licence = std::fs::read_to_string(&path).map_err(|error| failed(&path, &error))?;
        text += &format!("\n{name}\n\n{licence}");
    }
    Ok(text)
}

/// The newest version of the C library that a file needs a symbol of.
fn least_glibc(file: &Path) -> Result<String, String> {
    let symbols = output(Command::new("readelf").args(["--version-info", "--wide"]).arg(file))?;
    newest(&symbols).ok_or_else(|| format!("{}: no versions of the C library", file.display()))
}

/// The highest of `GLIBC_2.x` in `symbols`.
fn newest(symbols: &str) -> Option<String> {
    let versions = symbols.split("GLIBC_2.").skip(1).filter_map(|rest| {
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        rest.get(..end)?.parse::<u32>().ok()
    });
    Some(format!("2.{}", versions.max()?))
}

/// Lets everybody run a file.
fn executable(path: &Path) -> Result<(), String> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(path, mode).map_err(|error| failed(path, &error))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_libraries() {
        assert_eq!(multiarch("x86_64-unknown-linux-gnu"), "x86_64-linux-gnu");
        assert_eq!(multiarch("aarch64-unknown-linux-gnu"), "aarch64-linux-gnu");
    }

    #[test]
    fn versions_are_compared_as_numbers() {
        let text = "Name: GLIBC_2.9  Flags\n Name: GLIBC_2.34\n GLIBC_2.2.5\n GLIBC_PRIVATE";
        assert_eq!(newest(text).as_deref(), Some("2.34"));
        assert_eq!(newest("none"), None);
    }
}

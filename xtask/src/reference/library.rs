//! The library of OpenCSD that the driver is linked with.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The name of the C library's file that the linker looks for.
const FILE: &str = "libopencsd_c_api.so";

/// The name of the lister.
const LISTER: &str = "trc_pkt_lister";

/// Where headers and libraries are. Both are `None` for the installed ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Library {
    headers: Option<PathBuf>,
    libraries: Option<PathBuf>,
    /// The lister, where it is built.
    lister: Option<PathBuf>,
}

impl Library {
    /// The library in `folder`: a source tree of OpenCSD, in which the libraries are built where
    /// they are absent, or a folder with `include` and `lib`.
    ///
    /// # Errors
    /// A sentence if there are no headers, or if the build fails.
    pub(super) fn at(folder: &Path) -> Result<Library, String> {
        let folder = folder
            .canonicalize()
            .map_err(|error| format!("--opencsd {}: {error}", folder.display()))?;
        let root = [folder.join("decoder"), folder.clone()]
            .into_iter()
            .find(|root| root.join("include/opencsd").is_dir())
            .ok_or_else(|| {
                format!(
                    "--opencsd {}: no headers in `decoder/include/opencsd` or `include/opencsd`; \
                     expected a source tree of OpenCSD or a folder into which it was installed",
                    folder.display()
                )
            })?;
        let lib = root.join("lib");
        let found = match below(&lib, 3, FILE) {
            None if root.join("build/linux/makefile").is_file() => {
                build(&root.join("build/linux"))?;
                below(&lib, 3, FILE)
            }
            found => found,
        };
        let libraries = found.ok_or_else(|| format!("no {FILE} in {}", lib.display()))?;
        let programs = [(root.join("tests/bin"), 3), (root.join("bin"), 1)];
        let lister = programs.iter().find_map(|(folder, depth)| below(folder, *depth, LISTER));
        let lister = lister.map(|folder| folder.join(LISTER));
        Ok(Library { headers: Some(root.join("include")), libraries: Some(libraries), lister })
    }

    /// The lister; `None` where a source tree has none. It is built by `make` in `build/linux`.
    pub(super) fn lister(&self) -> Option<Command> {
        let Some(libraries) = &self.libraries else { return Some(Command::new(LISTER)) };
        let mut command = Command::new(self.lister.as_ref()?);
        command.env("LD_LIBRARY_PATH", libraries);
        Some(command)
    }

    /// The arguments for a C compiler, before the names of the libraries.
    pub(super) fn arguments(&self) -> Vec<String> {
        let headers = self.headers.iter().map(|folder| format!("-I{}", folder.display()));
        // An RPATH, unlike a RUNPATH, also counts for the libraries that these libraries need.
        let libraries = self.libraries.iter().flat_map(|folder| {
            let path = folder.display();
            [format!("-L{path}"), format!("-Wl,--disable-new-dtags,-rpath,{path}")]
        });
        headers.chain(libraries).collect()
    }
}

/// The folder with the file `name`, at most `depth` folders below `folder`.
fn below(folder: &Path, depth: usize, name: &str) -> Option<PathBuf> {
    if folder.join(name).is_file() {
        return Some(folder.to_owned());
    }
    let mut folders: Vec<PathBuf> =
        std::fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path()).collect();
    folders.sort();
    let depth = depth.checked_sub(1)?;
    folders.iter().find_map(|folder| self::below(folder, depth, name))
}

fn build(folder: &Path) -> Result<(), String> {
    eprintln!("building OpenCSD in {} ...", folder.display());
    let mut make = Command::new("make");
    make.args(["-j2", "libs"]).current_dir(folder).stdout(Stdio::null()).stderr(Stdio::piped());
    let output = make.output().map_err(|error| format!("no `make`: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let words = String::from_utf8_lossy(&output.stderr);
    let first = words.lines().find(|line| line.contains("rror")).unwrap_or("make failed");
    Err(format!("{}: {first}", folder.display()))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn folders() {
        let folder = std::env::temp_dir().join(format!("opencsd-{}", std::process::id()));
        let made = |paths: &[&str]| {
            let _ = fs::remove_dir_all(&folder);
            for path in paths {
                let path = folder.join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(&path, "all libs:\n\tfalse\n").unwrap();
            }
            let library = Library::at(&folder);
            library.map(|library| library.arguments().join(" "))
        };
        let header = "include/opencsd/ocsd_if_types.h";
        let words = made(&[header, "lib/x86_64-linux-gnu/libopencsd_c_api.so"]).unwrap();
        assert!(words.contains("/include -L") && words.ends_with("/x86_64-linux-gnu"), "{words}");
        let lister = "tests/bin/builddir/trc_pkt_lister";
        let _ = made(&[header, "lib/libopencsd_c_api.so", lister]).unwrap();
        let command = Library::at(&folder).unwrap().lister().unwrap();
        assert!(Path::new(command.get_program()).ends_with(lister));
        let header = &format!("decoder/{header}");
        let words = made(&[header, "decoder/lib/linux64/rel/libopencsd_c_api.so"]).unwrap();
        assert!(words.contains("/decoder/include -L") && words.ends_with("/rel"), "{words}");
        let error = made(&[header, "decoder/build/linux/makefile"]).unwrap_err();
        assert!(error.contains("build/linux"), "{error}");
        let error = made(&[header]).unwrap_err();
        assert!(error.contains("no libopencsd_c_api.so"), "{error}");
        let error = made(&["README"]).unwrap_err();
        assert!(error.contains("no headers"), "{error}");
        let _ = fs::remove_dir_all(&folder);
        assert_eq!(Library::default().arguments(), Vec::<String>::new());
        assert_eq!(Library::default().lister().unwrap().get_program(), LISTER);
    }
}

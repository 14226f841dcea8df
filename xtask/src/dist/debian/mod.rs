//! The Debian packages, divided as Debian divides libraries: one for the command, one for programs
//! that are linked with the library (several versions of it can be installed together), one to
//! compile such programs, and one with OpenCSD's C interface. The last can be installed beside
//! `libopencsd1`: its library is in a folder of its own, and only programs that are started with
//! `with-tracewright` load it. All are made without dpkg.

use std::fs;
use std::path::{Path, PathBuf};

mod file;
mod needs;

use super::archive::{self, Level};
use super::build::Built;
use super::sql::{self, Making};
use super::stage;
use super::{Made, VERSION, date, failed, fresh};
use crate::files::{copy_all, write};

/// Who answers for the packages, as Debian wants it.
const MAINTAINER: &str = "Tracewright developers <tracewright@users.noreply.github.com>";

/// A file or folder of what is installed below `/usr`, and its path there. `@LIB@` is the folder of
/// libraries, `@DOC@` that of the documents of the package.
type Source = (&'static str, &'static str);

/// A package.
struct Package {
    name: &'static str,
    section: &'static str,
    /// Further fields, line by line. `@VERSION@` is replaced.
    fields: &'static str,
    description: &'static str,
    files: &'static [Source],
    /// Files whose libraries the package depends on.
    linked: &'static [&'static str],
    /// The library is for other packages: a soname and its version.
    library: Option<(&'static str, &'static str)>,
}

const PACKAGES: [Package; 4] = [
    Package {
        name: "tracewright",
        section: "devel",
        fields: "",
        description: "decoder of processor trace: Arm CoreSight and RISC-V\n \
            Decodes ETM, ETE, PTM, ITM, STM, E-Trace and N-Trace to what the processor\n \
            did: instructions, functions, calls, coverage, profiles and timelines. Reads\n \
            dumps of trace buffers, the output of serial wires, and perf.data.",
        files: &[
            ("bin/tracewright", "bin/tracewright"),
            ("share/bash-completion", "share/bash-completion"),
            ("share/fish", "share/fish"),
            ("share/zsh/site-functions", "share/zsh/vendor-completions"),
            ("share/man", "share/man"),
            ("share/doc/tracewright/README.md", "@DOC@/README.md"),
            ("share/doc/tracewright/docs", "@DOC@/docs"),
        ],
        linked: &["bin/tracewright"],
        library: None,
    },
    Package {
        name: "libtracewright0",
        section: "libs",
        fields: "Multi-Arch: same\n",
        description: "decoder of processor trace, shared library\n \
            The library libtracewright, which decodes trace of Arm CoreSight and RISC-V\n \
            for programs in C and C++.",
        files: &[("@LIB@/libtracewright.so.0", "@LIB@/libtracewright.so.0")],
        linked: &["@LIB@/libtracewright.so.0"],
        library: Some(("libtracewright", "0")),
    },
    Package {
        name: "libtracewright-dev",
        section: "libdevel",
        fields: "Multi-Arch: same\nDepends: libtracewright0 (= @VERSION@)\n",
        description: "decoder of processor trace, files for development\n \
            The header, the static library, and what pkg-config and CMake find\n \
            libtracewright with; examples in C and C++.",
        files: &[
            ("include", "include"),
            ("@LIB@/libtracewright.so", "@LIB@/libtracewright.so"),
            ("@LIB@/libtracewright.a", "@LIB@/libtracewright.a"),
            ("@LIB@/pkgconfig", "@LIB@/pkgconfig"),
            ("@LIB@/cmake", "@LIB@/cmake"),
            ("share/doc/tracewright/docs/c-api.md", "@DOC@/c-api.md"),
            ("share/doc/tracewright/examples", "@DOC@/examples"),
        ],
        linked: &[],
        library: None,
    },
    Package {
        name: "tracewright-opencsd",
        section: "libs",
        fields: "Enhances: libopencsd1, linux-perf\n",
        description: "decoder of processor trace, with OpenCSD's C interface\n \
            The library libopencsd_c_api.so.1 of Tracewright takes the place of OpenCSD's\n \
            under perf and other programs, without building them again. It is in a folder\n \
            of its own: programs use it where they are started with with-tracewright.",
        files: &[
            ("@LIB@/tracewright", "@LIB@/tracewright"),
            ("share/doc/tracewright/docs/c-library.md", "@DOC@/c-library.md"),
            (
                "share/doc/tracewright/docs/differences-from-opencsd.md",
                "@DOC@/differences-from-opencsd.md",
            ),
        ],
        linked: &["@LIB@/tracewright/libopencsd_c_api.so.1"],
        library: None,
    },
];

/// The package with the program that answers queries in SQL.
const SQL: Package = Package {
    name: sql::NAME,
    section: "devel",
    fields: "Recommends: tracewright\n",
    description: "decoder of processor trace, queries in SQL\n \
        Answers queries whose tables are what a processor did: executed ranges, calls,\n \
        exceptions, what was lost. The trace is decoded while it is read. The command\n \
        `tracewright sql` of the package tracewright starts it.",
    files: &[
        ("bin/tracewright-sql", "bin/tracewright-sql"),
        ("share/doc/tracewright-sql/sql.md", "@DOC@/sql.md"),
        ("share/doc/tracewright-sql/tables.md", "@DOC@/tables.md"),
    ],
    linked: &["bin/tracewright-sql"],
    library: None,
};

/// What all packages are made of.
struct Tree<'a> {
    root: &'a Path,
    /// The folder that all is installed in, for `/usr`.
    usr: PathBuf,
    /// The folder of libraries below `/usr`.
    lib: String,
    architecture: &'static str,
    time: u64,
    level: Level,
}

/// Makes the packages in `out`. `staged` has the files of an archive.
pub(super) fn packages(
    root: &Path,
    built: &Built,
    staged: &Path,
    work: &Path,
    out: &Path,
    (time, level): (u64, Level),
) -> Result<Made, String> {
    let Some(architecture) = architecture(&built.triple) else {
        let why = format!("Debian has no packages for {}", built.triple);
        return Ok(Made::skipped(&why, "a system with GNU libc"));
    };
    let work = work.join("debian");
    let usr = work.join("all/usr");
    fresh(&usr)?;
    let lib = format!("lib/{}", multiarch(&built.triple));
    stage::libraries(root, built, &usr, &lib)?;
    let tree = Tree { root, usr, lib, architecture, time, level };
    tree.shared_files(staged)?;
    let mut made = Vec::new();
    for package in &PACKAGES {
        made.push(tree.package(package, &work.join(package.name), out)?);
    }
    Ok(Made::Files(made))
}

/// Makes the package with the program that answers queries in SQL, of the files of its archive.
/// `None` for systems for which Debian has no packages.
pub(super) fn of_sql(
    triple: &str,
    staged: &Path,
    making: &Making<'_>,
) -> Result<Option<PathBuf>, String> {
    let Making { root, ref work, out, time, level } = *making;
    let Some(architecture) = architecture(triple) else { return Ok(None) };
    let (work, lib) = (work.join("debian"), String::new());
    fresh(&work)?;
    let tree = Tree { root, usr: staged.to_owned(), lib, architecture, time, level };
    tree.package(&SQL, &work.join(SQL.name), out).map(Some)
}

impl Tree<'_> {
    /// What does not depend on the processor, and the command.
    fn shared_files(&self, staged: &Path) -> Result<(), String> {
        for folder in ["bin", "share"] {
            copy_all(&staged.join(folder), &self.usr.join(folder))?;
        }
        let manual = self.usr.join("share/man/man1");
        let list = fs::read_dir(&manual).map_err(|error| failed(&manual, &error))?;
        for page in list.flatten().map(|entry| entry.path()) {
            compress(&page)?;
        }
        Ok(())
    }

    /// Makes a package of the files in the folder `tree`.
    fn package(&self, package: &Package, tree: &Path, out: &Path) -> Result<PathBuf, String> {
        let documents = format!("share/doc/{}", package.name);
        let filled = |path: &str| path.replace("@LIB@", &self.lib).replace("@DOC@", &documents);
        let usr = tree.join("usr");
        for (from, to) in package.files {
            copy_all(&self.usr.join(filled(from)), &usr.join(filled(to)))?;
        }
        if package.name == "tracewright-opencsd" {
            self.wrapper(&usr)?;
        }
        let documents = usr.join(&documents);
        write(&documents.join("copyright"), &copyright(self.root)?)?;
        let changes = documents.join("changelog");
        write(&changes, &self.changes(package.name))?;
        compress(&changes)?;
        let mut needs = Vec::new();
        for file in package.linked {
            let file = usr.join(filled(file));
            needs.extend(needs::of(&file)?);
            // The mode of a library is that of any file.
            if !file.starts_with(usr.join("bin")) {
                mode(&file, 0o644)?;
            }
        }
        needs.sort();
        needs.dedup();
        let size = size(&usr)?;
        let mut control = vec![("control", self.control(package, &needs, size))];
        if let Some((name, number)) = package.library {
            let version = version();
            let line = format!("{name} {number} {} (>= {version})\n", package.name);
            control.push(("shlibs", line));
            control.push(("triggers", "activate-noawait ldconfig\n".to_owned()));
        }
        let information = tree.with_extension("control");
        for (name, text) in &control {
            write(&information.join(name), text)?;
        }
        let path = out.join(format!("{}_{}_{}.deb", package.name, version(), self.architecture));
        let pack = |folder: &Path| archive::packed(folder, ".", self.time, self.level);
        let bytes = pack(&information).and_then(|control| {
            let data = pack(tree)?;
            Ok(file::deb(&control, &data, self.time))
        });
        bytes.and_then(|bytes| fs::write(&path, bytes)).map_err(|error| failed(&path, &error))?;
        Ok(path)
    }

    fn control(&self, package: &Package, needs: &[String], size: u64) -> String {
        let mut text = format!(
            "Package: {}\nVersion: {}\nArchitecture: {}\nMaintainer: {MAINTAINER}\n\
             Installed-Size: {size}\n",
            package.name,
            version(),
            self.architecture,
        );
        if !needs.is_empty() {
            text += &format!("Depends: {}\n", needs.join(", "));
        }
        text += &package.fields.replace("@VERSION@", &version());
        let (section, page) = (package.section, env!("CARGO_PKG_REPOSITORY"));
        text += &format!("Section: {section}\nPriority: optional\nHomepage: {page}\n");
        text + &format!("Description: {}\n", package.description)
    }

    /// Runs a command with the library, and its manual page.
    fn wrapper(&self, usr: &Path) -> Result<(), String> {
        let script = usr.join("bin/with-tracewright");
        let text = include_str!("with-tracewright.sh").replace("@LIB@", &self.lib);
        write(&script, &text)?;
        mode(&script, 0o755)?;
        let page = usr.join("share/man/man1/with-tracewright.1");
        write(&page, include_str!("with-tracewright.1"))?;
        compress(&page)
    }

    /// The changes in the form of Debian. (Debian Policy, section 4.4)
    fn changes(&self, package: &str) -> String {
        let (version, page) = (version(), env!("CARGO_PKG_REPOSITORY"));
        format!(
            "{package} ({version}) unstable; urgency=medium\n\n  \
             * Version {VERSION}; what changed is in CHANGELOG.md of\n    {page}.\n\n \
             -- {MAINTAINER}  {}\n",
            date::mail(self.time)
        )
    }
}

/// The version, in which a part with a hyphen is before the version without it.
fn version() -> String {
    VERSION.replace('-', "~")
}

/// Debian's name of the processor. `None` for other systems.
fn architecture(triple: &str) -> Option<&'static str> {
    let (processor, system) = triple.split_once('-')?;
    match (processor, system) {
        ("x86_64", "unknown-linux-gnu") => Some("amd64"),
        ("aarch64", "unknown-linux-gnu") => Some("arm64"),
        ("armv7", "unknown-linux-gnueabihf") => Some("armhf"),
        ("i686", "unknown-linux-gnu") => Some("i386"),
        ("riscv64gc", "unknown-linux-gnu") => Some("riscv64"),
        _ => None,
    }
}

/// Debian's name of the architecture in the paths of libraries.
fn multiarch(triple: &str) -> String {
    let mut parts = triple.split('-');
    let processor = match parts.next() {
        Some("armv7") => "arm",
        Some("i686") => "i386",
        Some("riscv64gc") => "riscv64",
        other => other.unwrap_or_default(),
    };
    // Without the vendor.
    let system: Vec<&str> = parts.skip(1).collect();
    format!("{processor}-{}", system.join("-"))
}

/// The licences. (Debian Policy, section 12.5; the form is DEP 5)
fn copyright(root: &Path) -> Result<String, String> {
    let path = root.join("LICENSE-MIT");
    let text = fs::read_to_string(&path).map_err(|error| failed(&path, &error))?;
    let owner = text.lines().find(|line| line.starts_with("Copyright"));
    let owner = owner.and_then(|line| line.strip_prefix("Copyright (c) "));
    let owner = owner.ok_or_else(|| format!("{}: no line `Copyright (c)`", path.display()))?;
    let terms = text.lines().skip_while(|line| !line.starts_with("Permission"));
    let indented = |line: &str| if line.is_empty() { " .".to_owned() } else { format!(" {line}") };
    let terms: Vec<String> = terms.map(indented).collect();
    Ok(include_str!("copyright")
        .replace("@PAGE@", env!("CARGO_PKG_REPOSITORY"))
        .replace("@OWNER@", owner)
        .replace("@MIT@", &terms.join("\n")))
}

/// Replaces a file by one that is compressed.
fn compress(path: &Path) -> Result<(), String> {
    let mut name = path.as_os_str().to_owned();
    name.push(".gz");
    let bytes = fs::read(path).and_then(|bytes| archive::gzipped(&bytes));
    let done = bytes.and_then(|bytes| fs::write(name, bytes)).and_then(|()| fs::remove_file(path));
    done.map_err(|error| failed(path, &error))
}

/// The size in KiB: each file takes whole ones, anything else one. (deb-substvars(5))
fn size(folder: &Path) -> Result<u64, String> {
    let mut total = 1;
    for entry in fs::read_dir(folder).map_err(|error| failed(folder, &error))? {
        let entry = entry.map_err(|error| failed(folder, &error))?;
        let path = entry.path();
        let found = path.symlink_metadata().map_err(|error| failed(&path, &error))?;
        total += match found.file_type() {
            kind if kind.is_dir() => size(&path)?,
            kind if kind.is_file() => found.len().div_ceil(1024),
            _ => 1,
        };
    }
    Ok(total)
}

/// States what may be done with a file.
fn mode(path: &Path, mode: u32) -> Result<(), String> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::Permissions::from_mode(mode);
        fs::set_permissions(path, mode).map_err(|error| failed(path, &error))?;
    }
    #[cfg(not(unix))]
    let _ = (path, mode);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_processors() {
        for (triple, name, folder) in [
            ("x86_64-unknown-linux-gnu", Some("amd64"), "x86_64-linux-gnu"),
            ("aarch64-unknown-linux-gnu", Some("arm64"), "aarch64-linux-gnu"),
            ("armv7-unknown-linux-gnueabihf", Some("armhf"), "arm-linux-gnueabihf"),
            ("riscv64gc-unknown-linux-gnu", Some("riscv64"), "riscv64-linux-gnu"),
        ] {
            assert_eq!((architecture(triple), &*multiarch(triple)), (name, folder), "{triple}");
        }
        assert_eq!(architecture("aarch64-apple-darwin"), None);
        assert_eq!(architecture("x86_64-unknown-linux-musl"), None);
    }
}

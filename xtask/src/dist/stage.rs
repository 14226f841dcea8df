//! The folder with all files, as they are installed.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::build::Built;
use super::{VERSION, failed, output, template};
use crate::files::{copy, link, write};

/// Shells, the option of `tracewright completions`, and the file of the completions.
const SHELLS: [(&str, &str); 3] = [
    ("bash", "share/bash-completion/completions/tracewright"),
    ("zsh", "share/zsh/site-functions/_tracewright"),
    ("fish", "share/fish/vendor_completions.d/tracewright.fish"),
];

/// Documents and examples, and their folder; the pages of `docs` beside them.
const DOCUMENTS: [(&str, &str); 8] = [
    ("README.md", "share/doc/tracewright"),
    ("LICENSE-APACHE", "share/doc/tracewright"),
    ("LICENSE-MIT", "share/doc/tracewright"),
    ("crates/capi/examples/protocol.c", "share/doc/tracewright/examples"),
    ("crates/capi/examples/push.c", "share/doc/tracewright/examples"),
    ("crates/capi/examples/ranges.c", "share/doc/tracewright/examples"),
    ("crates/capi/examples/functions.cpp", "share/doc/tracewright/examples"),
    ("crates/capi/examples/CMakeLists.txt", "share/doc/tracewright/examples"),
];

/// Copies and makes all files in the folder `to`. Other files there stay.
pub(super) fn stage(root: &Path, built: &Built, to: &Path) -> Result<(), String> {
    copy(&built.command(), &to.join("bin/tracewright"))?;
    libraries(root, built, to, "lib")?;
    documents(root, to)?;
    made_by_the_command(&built.command(), to)
}

/// Libraries, header, and what build tools find them with. `lib` is the folder of libraries.
pub(super) fn libraries(root: &Path, built: &Built, to: &Path, lib: &str) -> Result<(), String> {
    let capi = root.join("crates/capi");
    let folder = to.join(lib);
    copy(&built.shared(), &folder.join("libtracewright.so.0"))?;
    link("libtracewright.so.0", &folder.join("libtracewright.so"))?;
    copy(&built.archive, &folder.join("libtracewright.a"))?;
    // A folder of its own: programs load it only where they are asked to.
    copy(&built.opencsd(), &folder.join("tracewright/libopencsd_c_api.so.1"))?;
    copy(&capi.join("include/tracewright.h"), &to.join("include/tracewright.h"))?;
    // From the folder of the pkg-config file, and of those of CMake, to the prefix: relative, so
    // that the archive can be unpacked anywhere.
    let up = vec![".."; lib.split('/').count() + 1].join("/");
    let mut numbers = VERSION.split('.');
    let (major, minor) = (numbers.next().unwrap_or("0"), numbers.next().unwrap_or("0"));
    let list = built.system_libraries.replace(' ', ";");
    let values = [
        ("PREFIX", &*format!("${{pcfiledir}}/{up}")),
        ("LIBDIR", lib),
        ("UP", &format!("{up}/..")),
        ("URL", env!("CARGO_PKG_REPOSITORY")),
        ("VERSION", VERSION),
        ("MAJOR", major),
        ("MINOR", minor),
        ("LIBS_PRIVATE", &built.system_libraries),
        ("LIBS_LIST", &list),
    ];
    for (from, into) in [
        ("tracewright.pc.in", "pkgconfig/tracewright.pc"),
        ("tracewright-config.cmake.in", "cmake/tracewright/tracewright-config.cmake"),
        (
            "tracewright-config-version.cmake.in",
            "cmake/tracewright/tracewright-config-version.cmake",
        ),
    ] {
        let text = template::filled(&capi.join("packaging").join(from), &values)?;
        write(&folder.join(into), &text)?;
    }
    Ok(())
}

/// Pages and examples.
pub(super) fn documents(root: &Path, to: &Path) -> Result<(), String> {
    for (from, folder) in DOCUMENTS {
        let name = from.rsplit('/').next().unwrap_or(from);
        copy(&root.join(from), &to.join(folder).join(name))?;
    }
    pages(&root.join("docs"), &to.join("share/doc/tracewright/docs"))
}

/// Copies a folder of pages, with those below it.
fn pages(from: &Path, to: &Path) -> Result<(), String> {
    let all = fs::read_dir(from).map_err(|error| failed(from, &error))?;
    for own in all {
        let path = own.map_err(|error| failed(from, &error))?.path();
        let to = to.join(path.file_name().unwrap_or_default());
        match path.is_dir() {
            true => pages(&path, &to)?,
            false => copy(&path, &to)?,
        }
    }
    Ok(())
}

/// Completions and manual pages.
fn made_by_the_command(command: &Path, to: &Path) -> Result<(), String> {
    for (shell, file) in SHELLS {
        let text = output(Command::new(command).args(["completions", shell]))?;
        write(&to.join(file), &text)?;
    }
    let pages = to.join("share/man/man1");
    fs::create_dir_all(&pages).map_err(|error| failed(&pages, &error))?;
    output(Command::new(command).arg("man").arg(&pages)).map(|_| ())
}

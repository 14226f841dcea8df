//! The archive and the package, made of files that stand for what a build makes.

use std::path::{Path, PathBuf};
use std::process::Command;

use tracewright_testing::tool;

use super::build::Built;
use super::{archive, debian, fresh, output, stage};

/// An empty folder for a test.
fn folder(name: &str) -> PathBuf {
    let folder =
        std::env::temp_dir().join(format!("tracewright-dist-{name}-{}", std::process::id()));
    fresh(&folder).unwrap();
    folder
}

/// A library in C with one function, in place of each library of a build.
fn built(folder: &Path) -> Option<Built> {
    let compiler = tool(&[("cc", "gcc"), ("gcc", "gcc"), ("clang", "clang")])?;
    let built = Built {
        target: folder.to_owned(),
        folder: folder.to_owned(),
        triple: "x86_64-unknown-linux-gnu".into(),
        system_libraries: "-lpthread -lm".into(),
    };
    let source = folder.join("library.c");
    let text = "#include <stdint.h>\n#include <stdlib.h>\n\
                uint32_t tw_version(void) { return getenv(\"NONE\") ? 0 : 7; }\n";
    std::fs::write(&source, text).unwrap();
    for (library, name) in
        [(built.shared(), "libtracewright.so.0"), (built.opencsd(), "libopencsd_c_api.so.1")]
    {
        let mut command = Command::new(compiler);
        command.args(["-shared", "-fPIC", &format!("-Wl,-soname,{name}"), "-o"]);
        output(command.args([&library, &source])).unwrap();
    }
    std::fs::write(built.archive(), "!<arch>\n").unwrap();
    Some(built)
}

fn root() -> &'static Path {
    crate::root()
}

/// A program is compiled with what pkg-config finds, and runs with the library.
#[test]
fn programs_find_the_libraries() {
    let here = folder("pkg-config");
    let Some(built) = built(&here) else { return };
    let to = here.join("prefix");
    stage::libraries(root(), &built, &to).unwrap();
    let config = std::fs::read_to_string(to.join("lib/cmake/tracewright/tracewright-config.cmake"));
    assert!(config.unwrap().contains("-lpthread;-lm"));
    let Some(tool) = tool(&[("pkg-config", "pkg-config")]) else { return };
    let mut command = Command::new(tool);
    command.env("PKG_CONFIG_PATH", to.join("lib/pkgconfig"));
    let flags = output(command.args(["--cflags", "--libs", "tracewright"])).unwrap();
    let program = here.join("program");
    let source = here.join("program.c");
    std::fs::write(
        &source,
        "#include <tracewright.h>\nint main(void) { return tw_version() != 7; }\n",
    )
    .unwrap();
    let mut command = Command::new("cc");
    command.arg("-o").args([&program, &source]).args(flags.split_whitespace());
    output(&mut command).unwrap();
    output(Command::new(&program).env("LD_LIBRARY_PATH", to.join("lib"))).unwrap();
    std::fs::remove_dir_all(here).unwrap();
}

/// The same files make the same archive.
#[test]
fn archives_can_be_made_again() {
    let here = folder("archive");
    let Some(built) = built(&here) else { return };
    let mut archives = Vec::new();
    for n in 0..2 {
        let out = here.join(n.to_string());
        stage::libraries(root(), &built, &out.join("name")).unwrap();
        archives.push(std::fs::read(archive::pack(root(), &out, "name").unwrap()).unwrap());
    }
    assert_eq!(archives[0], archives[1]);
    let list = output(Command::new("tar").arg("-tzf").arg(here.join("0/name.tar.gz"))).unwrap();
    for file in ["lib/libtracewright.so.0", "lib/libtracewright.so", "include/tracewright.h"] {
        assert!(list.lines().any(|line| line == format!("name/{file}")), "{list}");
    }
    std::fs::remove_dir_all(here).unwrap();
}

/// The package has the library in a folder of its own, and a command that programs are run with.
#[test]
fn the_package_is_beside_that_of_the_distribution() {
    let Some(dpkg) = tool(&[("dpkg-deb", "dpkg")]) else { return };
    let here = folder("debian");
    let Some(built) = built(&here) else { return };
    let package = debian::package(root(), &built, &here).unwrap().unwrap();
    let read = |option: &str| output(Command::new(dpkg).arg(option).arg(&package)).unwrap();
    let information = read("-I");
    assert!(information.contains("Package: tracewright-opencsd"), "{information}");
    assert!(information.contains("Depends: libc6 (>= 2."), "{information}");
    assert!(!information.contains("Conflicts") && !information.contains("Provides"));
    let files = read("-c");
    let library = "./usr/lib/x86_64-linux-gnu/tracewright/libopencsd_c_api.so.1";
    assert!(
        files.lines().any(|line| line.contains("root/root") && line.ends_with(library)),
        "{files}"
    );
    // No file of the distribution's library, libopencsd1.
    assert!(!files.contains("linux-gnu/libopencsd"), "{files}");
    let unpacked = here.join("unpacked");
    output(Command::new(dpkg).arg("-x").args([&package, &unpacked])).unwrap();
    let script = unpacked.join("usr/bin/with-tracewright");
    let mut command = Command::new(script);
    command.args(["sh", "-c", "echo $LD_LIBRARY_PATH"]).env("LD_LIBRARY_PATH", "/other");
    let path = output(&mut command).unwrap();
    assert_eq!(path, "/usr/lib/x86_64-linux-gnu/tracewright:/other\n");
    std::fs::remove_dir_all(here).unwrap();
}

#[test]
fn wrong_options_are_refused() {
    for words in [&["--out"][..], &["--none"], &["--prefix"]] {
        assert!(super::Options::parse(words).is_err(), "{words:?}");
    }
    assert!(super::dist(root(), &["--prefix", "/tmp"]).is_err());
}

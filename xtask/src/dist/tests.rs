//! Archives and Debian packages, made of files that stand for what a build makes.

use std::path::{Path, PathBuf};
use std::process::Command;

use tracewright_testing::tool;

use super::build::Built;
use super::{Made, archive, debian, fresh, output, sql, stage};
use crate::files::{copy, write};

/// Seconds since 1970.
const TIME: u64 = 1_796_062_036;

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
        folder: folder.to_owned(),
        archive: folder.join("libtracewright_capi.a"),
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
    std::fs::write(&built.archive, "!<arch>\n").unwrap();
    let main = folder.join("main.c");
    std::fs::write(&main, "#include <stdlib.h>\nint main(void) { return abs(0); }\n").unwrap();
    output(Command::new(compiler).arg("-o").args([&built.command(), &main])).unwrap();
    Some(built)
}

/// What is installed, without what the command prints.
fn staged(built: &Built, to: &Path) {
    copy(&built.command(), &to.join("bin/tracewright")).unwrap();
    stage::libraries(root(), built, to, "lib").unwrap();
    stage::documents(root(), to).unwrap();
    for file in [
        "share/man/man1/tracewright.1",
        "share/bash-completion/completions/tracewright",
        "share/zsh/site-functions/_tracewright",
        "share/fish/vendor_completions.d/tracewright.fish",
    ] {
        write(&to.join(file), file).unwrap();
    }
}

fn root() -> &'static Path {
    crate::root()
}

/// A program is compiled with what pkg-config finds, and runs with the library.
#[test]
fn programs_find_the_libraries() {
    let here = folder("pkg-config");
    let Some(built) = built(&here) else { return };
    for lib in ["lib", "lib/x86_64-linux-gnu"] {
        let to = here.join("prefix");
        fresh(&to).unwrap();
        stage::libraries(root(), &built, &to, lib).unwrap();
        let folder = to.join(lib);
        let config = folder.join("cmake/tracewright/tracewright-config.cmake");
        let config = std::fs::read_to_string(config).unwrap();
        assert!(config.contains("-lpthread;-lm") && config.contains(lib), "{config}");
        let Some(tool) = tool(&[("pkg-config", "pkg-config")]) else { return };
        let mut command = Command::new(tool);
        command.env("PKG_CONFIG_PATH", folder.join("pkgconfig"));
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
        output(Command::new(&program).env("LD_LIBRARY_PATH", &folder)).unwrap();
    }
    std::fs::remove_dir_all(here).unwrap();
}

/// The same files make the same archive, which `tar` reads.
#[test]
fn archives_can_be_made_again() {
    let here = folder("archive");
    let Some(built) = built(&here) else { return };
    for extension in ["tar.gz", "tar.xz"] {
        let mut archives = Vec::new();
        for n in 0..2 {
            let out = here.join(format!("{n}-{extension}"));
            staged(&built, &out.join("files"));
            let path = out.join(format!("name.{extension}"));
            let level = archive::Level::new(true);
            archive::pack(&path, &out.join("files"), "name", TIME, level).unwrap();
            archives.push(std::fs::read(&path).unwrap());
        }
        assert_eq!(archives[0], archives[1]);
        let path = here.join(format!("1-{extension}/name.{extension}"));
        let list = output(Command::new("tar").args(["-tvf"]).arg(path).env("TZ", "UTC")).unwrap();
        for (mode, file) in [
            ("-rwxr-xr-x root/root", "name/bin/tracewright"),
            ("-rw-r--r-- root/root", "name/include/tracewright.h"),
            ("lrwxrwxrwx root/root", "name/lib/libtracewright.so -> libtracewright.so.0"),
            ("drwxr-xr-x root/root", "name/lib/"),
        ] {
            let is = |line: &str| {
                line.starts_with(mode) && line.ends_with(&format!("2026-11-30 18:07 {file}"))
            };
            assert!(list.lines().any(is), "{file}\n{list}");
        }
    }
    std::fs::remove_dir_all(here).unwrap();
}

/// The packages are the same each time, and dpkg reads them. Each file is in one of them.
#[test]
fn debian_packages_can_be_made_again() {
    let here = folder("debian");
    let Some(built) = built(&here) else { return };
    let make = |name: &str| -> Vec<PathBuf> {
        let (files, out) = (here.join(name).join("files"), here.join(name).join("out"));
        staged(&built, &files);
        fresh(&out).unwrap();
        let how = (TIME, archive::Level::new(true));
        match debian::packages(root(), &built, &files, &here.join(name), &out, how).unwrap() {
            Made::Files(files) => files,
            Made::Skipped { why, .. } => panic!("{why}"),
        }
    };
    let (made, again) = (make("a"), make("b"));
    assert_eq!(made.len(), 4);
    for (one, other) in made.iter().zip(&again) {
        assert_eq!(std::fs::read(one).unwrap(), std::fs::read(other).unwrap());
    }
    let Some(dpkg) = tool(&[("dpkg-deb", "dpkg")]) else { return };
    let read =
        |option: &str, n: usize| output(Command::new(dpkg).arg(option).arg(&made[n])).unwrap();
    for (n, lines) in [
        (0, &["Package: tracewright", "Depends: libc6 (>= 2."][..]),
        (1, &["Package: libtracewright0", "Multi-Arch: same", "Depends: libc6 (>= 2."]),
        (2, &["Package: libtracewright-dev", "Depends: libtracewright0 (= 0."]),
        (3, &["Package: tracewright-opencsd", "Depends: libc6 (>= 2."]),
    ] {
        let information = read("-I", n);
        let has = |line: &&str| information.lines().any(|other| other.trim().starts_with(line));
        assert!(lines.iter().all(has), "{information}");
        assert!(!information.contains("Conflicts") && !information.contains("Provides"));
    }
    let files: Vec<String> = (0..4).map(|n| read("-c", n)).collect();
    let lib = "./usr/lib/x86_64-linux-gnu";
    for (n, file) in [
        (0, "./usr/bin/tracewright".to_owned()),
        (0, "./usr/share/man/man1/tracewright.1.gz".to_owned()),
        (0, "./usr/share/zsh/vendor-completions/_tracewright".to_owned()),
        (1, format!("{lib}/libtracewright.so.0")),
        (2, format!("{lib}/libtracewright.a")),
        (2, "./usr/include/tracewright.h".to_owned()),
        (3, format!("{lib}/tracewright/libopencsd_c_api.so.1")),
    ] {
        let has = |list: &&String| {
            list.lines().any(|line| line.contains("root/root") && line.ends_with(&file))
        };
        assert!(has(&&files[n]), "{file}\n{}", files[n]);
        assert_eq!(files.iter().filter(has).count(), 1, "{file}");
    }
    // No file of the distribution's library, libopencsd1.
    assert!(!files[3].contains("linux-gnu/libopencsd"), "{}", files[3]);
    let unpacked = here.join("unpacked");
    output(Command::new(dpkg).arg("-x").args([&made[3], &unpacked])).unwrap();
    let script = unpacked.join("usr/bin/with-tracewright");
    let mut command = Command::new(script);
    command.args(["sh", "-c", "echo $LD_LIBRARY_PATH"]).env("LD_LIBRARY_PATH", "/other");
    let path = output(&mut command).unwrap();
    assert_eq!(path, "/usr/lib/x86_64-linux-gnu/tracewright:/other\n");
    std::fs::remove_dir_all(here).unwrap();
}

/// The program for queries has an archive and a package, the same each time.
#[test]
fn the_program_for_sql_is_packed_apart() {
    let here = folder("sql");
    let Some(built) = built(&here) else { return };
    let make = |name: &str, triple: &str| -> Vec<PathBuf> {
        let (work, out) = (here.join(name).join("work"), here.join(name).join("out"));
        fresh(&out).unwrap();
        let level = archive::Level::new(true);
        let making = sql::Making { root: root(), work, out: &out, time: TIME, level };
        match sql::packages(&built.command(), triple, &making).unwrap() {
            Made::Files(files) => files,
            Made::Skipped { why, .. } => panic!("{why}"),
        }
    };
    let (made, again) = (make("a", &built.triple), make("b", &built.triple));
    assert_eq!(made.len(), 3);
    for (one, other) in made.iter().zip(&again) {
        assert_eq!(std::fs::read(one).unwrap(), std::fs::read(other).unwrap());
    }
    let list = output(Command::new("tar").arg("-tvf").arg(&made[1])).unwrap();
    for file in ["bin/tracewright-sql", "share/doc/tracewright-sql/sql.md"] {
        let end = format!("tracewright-sql-{}-{}/{file}", super::VERSION, built.triple);
        assert!(list.lines().any(|line| line.ends_with(&end)), "{file}\n{list}");
    }
    // Debian has no packages for other systems.
    assert_eq!(make("c", "x86_64-apple-darwin").len(), 2);
    let Some(dpkg) = tool(&[("dpkg-deb", "dpkg")]) else { return };
    let read = |option: &str| output(Command::new(dpkg).arg(option).arg(&made[2])).unwrap();
    let information = read("-I");
    for line in ["Package: tracewright-sql", "Depends: libc6 (>= 2.", "Recommends: tracewright"] {
        assert!(information.lines().any(|own| own.trim().starts_with(line)), "{information}");
    }
    let files = read("-c");
    for file in ["./usr/bin/tracewright-sql", "./usr/share/doc/tracewright-sql/copyright"] {
        assert!(files.lines().any(|line| line.ends_with(file)), "{files}");
    }
    std::fs::remove_dir_all(here).unwrap();
}

#[test]
fn wrong_options_are_refused() {
    for words in [&["--out"][..], &["--none"], &["--prefix"], &["--only"], &["--only", "rpm"]] {
        assert!(super::Options::parse(words).is_err(), "{words:?}");
    }
    assert!(super::dist(root(), &["--prefix", "/tmp"]).is_err());
}

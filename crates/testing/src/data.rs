//! Files that tests read, and tools that they run.

use std::env;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::skipped::{REQUIRE_SHARED, REQUIRE_TOOLS, skip_unless};

/// A file or folder of the shared test data. Where it is missing, the test is recorded as skipped,
/// or fails if `TRACEWRIGHT_REQUIRE_SHARED=1`.
#[track_caller]
pub fn shared(path: &str) -> Option<PathBuf> {
    let found = shared_or_none(path);
    if found.is_none() {
        skip_unless(REQUIRE_SHARED, &format!("shared/{path} is missing"));
    }
    found
}

/// A file or folder of the shared test data, for a test that checks the rest without it.
pub fn shared_or_none(path: &str) -> Option<PathBuf> {
    roots().into_iter().map(|root| root.join(path)).find(|path| path.exists())
}

/// The folders that may be the shared one.
fn roots() -> Vec<PathBuf> {
    if let Some(root) = env::var_os("TRACEWRIGHT_SHARED") {
        return vec![root.into()];
    }
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    // A worktree may be one level deeper than the main checkout.
    ["../shared", "../../shared"].map(|beside| repository.join(beside)).into()
}

/// Whether one of these programs is installed: the first that is. Where none is, the test is
/// recorded as skipped, with the Debian package that has the program, or fails if
/// `TRACEWRIGHT_REQUIRE_TOOLS=1`.
#[track_caller]
pub fn tool<'a>(programs: &[(&'a str, &str)]) -> Option<&'a str> {
    let found = programs.iter().find(|(name, _)| is_installed(name));
    if found.is_none() {
        let names: Vec<_> = programs.iter().map(|(name, _)| *name).collect();
        let mut packages: Vec<_> = programs.iter().map(|(_, package)| *package).collect();
        packages.dedup();
        let (names, packages) = (names.join(", "), packages.join(", "));
        without_tool(&format!("not installed: {names} (Debian: {packages})"));
    }
    found.map(|(name, _)| *name)
}

/// Records that the running test checks nothing as a tool or a library is not installed, or not in
/// the version that the test needs; it fails if `TRACEWRIGHT_REQUIRE_TOOLS=1`.
#[track_caller]
pub fn without_tool(why: &str) {
    skip_unless(REQUIRE_TOOLS, why);
}

/// As [`tool`], for a test that needs version `least` (major, minor) of the program or a later one.
/// Where all that are installed are older, the test is recorded as skipped, with both versions.
#[track_caller]
pub fn tool_since<'a>(programs: &[(&'a str, &str)], least: (u32, u32)) -> Option<&'a str> {
    let mut found = programs.iter().filter(|(name, _)| is_installed(name)).peekable();
    let Some(&&(first, package)) = found.peek() else { return tool(programs) };
    let usable = found.find(|(name, _)| version_of(name).is_some_and(|is| is >= least));
    if usable.is_none() {
        let is = version_of(first)
            .map_or("unknown".to_owned(), |(major, minor)| format!("{major}.{minor}"));
        let (major, minor) = least;
        without_tool(&format!("{first} {is} is older than {major}.{minor} (Debian: {package})"));
    }
    usable.map(|(name, _)| *name)
}

/// Whether a folder of `PATH` has the program.
fn is_installed(name: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|folder| folder.join(name).is_file())
}

/// The major and the minor version that a program prints for `--version`.
fn version_of(name: &str) -> Option<(u32, u32)> {
    let output = Command::new(name).arg("--version").stdin(Stdio::null()).output().ok()?;
    let text = [output.stdout, output.stderr].concat();
    version(&String::from_utf8_lossy(&text))
}

/// The first two numbers with a full stop between them.
fn version(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.split(|c: char| !c.is_ascii_digit() && c != '.');
    numbers.find_map(|word| {
        let (major, rest) = word.split_once('.')?;
        Some((major.parse().ok()?, rest.split('.').next()?.parse().ok()?))
    })
}

/// Reads a file, unpacked where its name ends in `.xz` or `.gz`.
pub fn reader(path: &Path) -> io::Result<Box<dyn Read>> {
    let file = BufReader::new(File::open(path)?);
    Ok(match path.extension().and_then(|end| end.to_str()) {
        Some("xz") => Box::new(lzma_rust2::XzReader::new(file, true)),
        Some("gz") => Box::new(flate2::read::MultiGzDecoder::new(file)),
        _ => Box::new(file),
    })
}

/// The bytes that [`reader`] reads.
pub fn unpacked(path: &Path) -> Vec<u8> {
    let mut plain = Vec::new();
    let read = reader(path).and_then(|mut reader| reader.read_to_end(&mut plain));
    read.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    plain
}

/// The text of a file, unpacked as by [`unpacked`].
pub fn text(path: &Path) -> String {
    String::from_utf8_lossy(&unpacked(path)).into_owned()
}

/// The file `name` of another build of the libraries for C than the one beside the tests: in the
/// folder that `TRACEWRIGHT_C_LIBRARIES` names.
pub fn c_library(name: &str) -> Option<PathBuf> {
    env::var_os("TRACEWRIGHT_C_LIBRARIES").map(|folder| Path::new(&folder).join(name))
}

/// More options for the compiler of clients in C and C++: the words of `TRACEWRIGHT_C_OPTIONS`.
pub fn c_options() -> Vec<String> {
    let options = env::var("TRACEWRIGHT_C_OPTIONS").unwrap_or_default();
    options.split_whitespace().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the next test executes with and without the variable.
    #[test]
    #[ignore = "its tool does not exist"]
    fn a_tool_that_does_not_exist() {
        assert_eq!(tool(&[("no-such-program", "coreutils")]), None);
        assert_eq!(tool_since(&[("no-such-program", "coreutils")], (1, 0)), None);
    }

    #[test]
    fn a_missing_tool_is_a_failure_where_tools_are_required() {
        let run = |value: Option<&str>| {
            let mut command = Command::new(env::current_exe().unwrap());
            command.args(["--exact", "data::tests::a_tool_that_does_not_exist", "--ignored"]);
            command.env_remove(REQUIRE_TOOLS).envs(value.map(|value| (REQUIRE_TOOLS, value)));
            // Its record is not that of this run.
            command.env("TRACEWRIGHT_SKIPPED", env::temp_dir().join("tracewright-no-tool"));
            let output = command.output().unwrap();
            (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned())
        };
        assert!(run(None).0 && run(Some("0")).0);
        let (passed, text) = run(Some("1"));
        assert!(!passed, "{text}");
        let why = "TRACEWRIGHT_REQUIRE_TOOLS: not installed: no-such-program (Debian: coreutils)";
        assert!(text.contains(why), "{text}");
    }

    /// The packages of the tools that tests name are those that `.ci/tools` installs.
    #[test]
    fn the_packages_of_tools_are_listed() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let list = std::fs::read_to_string(root.join(".ci/tools")).unwrap();
        let (_, list) = list.split_once("packages=(\n").unwrap();
        let (list, _) = list.split_once("\n)").unwrap();
        let listed: Vec<&str> = list.split_whitespace().collect();
        // Parts of every Debian system, and the compiler.
        let known = ["binutils", "bsdutils", "coreutils", "gcc"];
        let mut count = 0;
        for file in rust_files(&root.join("crates")) {
            let text = std::fs::read_to_string(file).unwrap();
            for (_, package) in tools_of(&text) {
                let found = listed.contains(&package) || known.contains(&package);
                assert!(found, "{package} is not in .ci/tools");
                count += 1;
            }
        }
        assert!(count > 40, "{count}");
    }

    /// The programs and packages in calls of `tool` and `tool_since`.
    fn tools_of(text: &str) -> impl Iterator<Item = (&str, &str)> {
        let calls = text.split("tool(").skip(1).chain(text.split("tool_since(").skip(1));
        let lists = calls.filter_map(|call| call.strip_prefix("&[")?.split(']').next());
        lists.flat_map(|list| {
            let words: Vec<&str> = list.split('"').skip(1).step_by(2).collect();
            words.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect::<Vec<_>>()
        })
    }

    fn rust_files(folder: &Path) -> Vec<PathBuf> {
        let mut files = Vec::new();
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                files.extend(rust_files(&path));
            } else if path.extension().is_some_and(|end| end == "rs") && !path.ends_with("data.rs")
            {
                files.push(path);
            }
        }
        files
    }

    #[test]
    fn versions_of_programs() {
        for (text, want) in [
            ("Debian LLVM version 14.0.6\n  Optimized build.", Some((14, 0))),
            ("gcc (Debian 12.2.0-14+deb12u1) 12.2.0", Some((12, 2))),
            ("valgrind-3.19.0", Some((3, 19))),
            ("perf version 6.1.170", Some((6, 1))),
            ("libprotoc 3.21.12", Some((3, 21))),
            ("QEMU emulator version 7.2.17 (Debian 1:7.2+dfsg-7)", Some((7, 2))),
            ("no number", None),
        ] {
            assert_eq!(version(text), want, "{text}");
        }
    }
}

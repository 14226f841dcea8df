//! Running the command on snapshots that it writes.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{self, Command, Stdio};
use std::{env, fs};

/// The exit code and the output of a run.
pub struct Output {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Output {
    /// The messages on standard error, without the summary of decoding.
    pub fn notes(&self) -> String {
        let note = |line: &&str| {
            ["note:", "help:", "tracewright"].iter().any(|start| line.starts_with(start))
        };
        self.err.lines().filter(note).collect()
    }
}

impl From<process::Output> for Output {
    fn from(output: process::Output) -> Output {
        Output {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

/// The command with `args`, without a terminal.
pub fn command<A: AsRef<OsStr>>(args: &[A]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tracewright"));
    command.args(args).stdin(Stdio::null());
    command
}

/// Runs the command with `args`.
pub fn tracewright<A: AsRef<OsStr>>(args: &[A]) -> Output {
    command(args).output().unwrap().into()
}

/// A temporary folder of a test, deleted on drop.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new(test: &str) -> Folder {
        let path = env::temp_dir().join(format!("tracewright-cli-{}-{test}", process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    /// A folder with a small capture in `demo`, that of `tests/cli/squares`: a program squares 3, 2
    /// and 1 in a function, with an ETMv4, writes text to an ITM, and calls the operating system.
    pub fn with_demo(test: &str) -> Folder {
        let folder = Folder::new(test);
        fs::create_dir(folder.demo()).unwrap();
        let capture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/squares");
        for file in fs::read_dir(capture).unwrap() {
            let path = file.unwrap().path();
            // The permissions are not copied.
            let bytes = fs::read(&path).unwrap();
            fs::write(folder.demo().join(path.file_name().unwrap()), bytes).unwrap();
        }
        folder
    }

    pub fn demo(&self) -> PathBuf {
        self.0.join("demo")
    }

    /// Adds the bytes of the demo's buffer as a second one, whose name begins with `SECOND_`.
    pub fn add_second_buffer(&self) {
        let trace = self.demo().join("trace.ini");
        let text = fs::read_to_string(&trace).unwrap();
        let name = text.lines().find_map(|line| line.strip_prefix("buffers=")).unwrap().to_owned();
        let section = format!("[{name}]");
        let (before, rest) = text.split_once(&section).unwrap();
        let (own, after) = rest.split_once("\n[").unwrap();
        let second = own.replacen("name=", "name=SECOND_", 1);
        let text = format!("{before}{section}{own}\n[second]{second}\n[{after}");
        let text = text.replace(&format!("buffers={name}"), &format!("buffers={name},second"));
        let text = text.replace("_0=ETB\n", "_0=ETB,SECOND_ETB\n");
        fs::write(&trace, text).unwrap();
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Words and paths as arguments.
pub fn args(words: &str, paths: &[&Path]) -> Vec<std::ffi::OsString> {
    let words = words.split_whitespace().map(Into::into);
    words.chain(paths.iter().map(|path| path.as_os_str().to_owned())).collect()
}

/// What `report` has decoded, in its page.
pub fn report_of(page: &str) -> serde_json::Value {
    let begin = "<script id=\"report\" type=\"application/json\">";
    let (_, rest) = page.split_once(begin).expect("a report");
    let (json, _) = rest.split_once("</script>").expect("the end of the report");
    serde_json::from_str(json).expect("JSON")
}

//! Executions of lines by gcov: GCC's instrumentation of the source for the same processor.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use tracewright_testing::{tool, tool_since};

use super::{Program, good, words};

/// The executions of each line that has code, by GCC. Those of a template are the sum of its
/// functions.
pub(super) fn lines(program: &Program, folder: &Path) -> Option<BTreeMap<u64, u64>> {
    let gcc = tool_since(&[("aarch64-linux-gnu-g++", "g++-aarch64-linux-gnu")], (12, 2))?;
    let gcov = tool(&[("aarch64-linux-gnu-gcov", "gcc-aarch64-linux-gnu")])?;
    let qemu = tool_since(&[("qemu-aarch64", "qemu-user")], (7, 2))?;
    let language = if program.is_cpp() { "c++" } else { "c" };
    let options =
        format!("-w -O0 --coverage -Ihosted -x {language} source/{} -c -o counted.o", program.file);
    good(Command::new(gcc).args(words(&options)).current_dir(folder));
    let link = "-x c hosted/main.c -x none -static --coverage counted.o -o counted -lstdc++";
    good(Command::new(gcc).args(words(link)).current_dir(folder));
    good(Command::new(qemu).arg("counted").current_dir(folder));
    let output = Command::new(gcov)
        .args(words("--json-format --stdout counted.o"))
        .current_dir(folder)
        .output()
        .expect("gcov runs");
    let all: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let files = all["files"].as_array().expect("files");
    let own =
        |file: &&Value| file["file"].as_str().is_some_and(|path| path.ends_with(program.file));
    let file = files.iter().find(own).expect("the program");
    let mut lines = BTreeMap::new();
    for line in file["lines"].as_array().expect("lines") {
        let number = line["line_number"].as_u64().expect("a line");
        *lines.entry(number).or_insert(0) += line["count"].as_u64().expect("a count");
    }
    Some(lines)
}

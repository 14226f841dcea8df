//! The programs by each compiler, as they are, and their traces.

use std::path::{Path, PathBuf};
use std::process::Command;

use tracewright_testing::{tool, tool_since};

use super::{A64, Build, Program, encoded, good, logged, start_file, words};

const GNU: &str = "aarch64-linux-gnu-g++";

/// A program, and the snapshot of its trace.
pub(super) fn trace(program: &Program, build: Build, folder: &Path) -> Option<(PathBuf, PathBuf)> {
    let elf = compile(program, build, folder)?;
    // A program with a library begins with that of the library.
    let log = logged(&A64, &elf, program.has_library().then_some("program"))?;
    let snapshot = encoded(folder, "ETM4", &elf, &log);
    Some((elf, snapshot))
}

fn compile(program: &Program, build: Build, folder: &Path) -> Option<PathBuf> {
    let gcc = tool_since(&[(GNU, "g++-aarch64-linux-gnu")], (12, 2))?;
    let compiler = match build.clang {
        true => tool(&[("clang-22", "clang-22")])?,
        false => gcc,
    };
    let name = build.name();
    let (target, header) = (
        // The start code is not among variables.
        if build.clang { A64.compile } else { "-ftoplevel-reorder" },
        if program.has_library() { "hosted" } else { "bare" },
    );
    let own = match program.has_library() {
        true => "",
        false => "-ffreestanding -fno-exceptions -fno-rtti -fno-asynchronous-unwind-tables",
    };
    let mut objects = Vec::new();
    let start = if program.has_library() { "hosted/main.c" } else { "bare/start.c" };
    for source in [start, &format!("source/{}", program.file)] {
        let object = format!("{name}-{}.o", objects.len());
        let language = if source.ends_with(".cpp") { "c++" } else { "c" };
        let options = format!(
            "{target} {} -w -g -fno-pic {own} -I{header} -x {language} {source} -c -o {object}",
            build.level
        );
        good(Command::new(compiler).args(words(&options)).current_dir(folder));
        objects.push(object);
    }
    let elf = folder.join(format!("{name}.elf"));
    let mut command = Command::new(gcc);
    command.args(words("-static -no-pie -nostartfiles -Wl,--eh-frame-hdr -o")).arg(&elf);
    if program.has_library() {
        // Without `crtbeginT.o`, which sorts all frame descriptions at the first exception.
        command.args(["crt1.o", "crti.o", "crtbegin.o"].map(|part| start_file(gcc, part)));
        command.args(objects);
        command.args(["crtend.o", "crtn.o"].map(|part| start_file(gcc, part)));
    } else {
        command.arg("-nostdlib").args(objects);
    }
    good(command.current_dir(folder));
    Some(elf)
}

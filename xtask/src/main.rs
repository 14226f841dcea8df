//! Chores of this repository: `cargo xtask tidy`, `cargo xtask dist`,
//! `cargo xtask bench-reference`, `cargo xtask nightly`,
//! `cargo xtask book`, `cargo xtask vsix`, `cargo xtask wasm`,
//! `cargo xtask real-programs`, `cargo xtask report-picture`,
//! `cargo xtask view-picture`.
#![forbid(unsafe_code)]

use std::path::Path;
use std::process::{Command, ExitCode};

mod book;
mod dependencies;
mod dist;
mod files;
mod nightly;
mod picture;
mod processor_time;
mod programs;
mod reference;
mod tidy;
mod vsix;
mod wasm;

const USAGE: &str = "\
usage: cargo xtask tidy           check the invariants of ARCHITECTURE.md
       cargo xtask tidy --list    list the checks
       cargo xtask dependencies   check licences and duplicate versions of all dependencies
       cargo xtask dist [OPTION...]
                                  all files of a release in one folder: archives, Debian packages,
                                  the program for SQL, crates, wheel, npm package, extension, bills of materials,
                                  checksums, notes, and what is uploaded where
         --dev                    of the development profile, which is built sooner
         --only KIND              only archives, debian, sql, crates, wheel, npm, vsix or sbom
                                  (repeatable)
         --out FOLDER             where; default `dist` in the target folder
       cargo xtask install --prefix FOLDER [OPTION...]
                                  the same files in a folder, such as /usr/local
         --dev                    as above
         --destdir FOLDER         a folder that stands for the root of the system
       cargo xtask book [--out FOLDER]
                                  the pages of docs as a book, by mdBook; exit code 3 where it is not
                                  installed
       cargo xtask vsix [--out FOLDER]
                                  the extension for Visual Studio Code that starts `tracewright dap`
       cargo xtask wasm [OPTION...]
                                  the module for WebAssembly, its npm package, and the viewer as a
                                  static page; exit code 3 where no compiler has the target
         --dev                    without optimisation across crates, which is built sooner
         --test                   compare its answers with those of the command, and test the
                                  page in Chromium
         --out FOLDER             where; default `wasm` in the target folder
       cargo xtask nightly [OPTION...]
                                  long forms of all tests, and a dated record
         --times N                try each property at least N times; default 30
         --minutes N              minutes of fuzzing; default 20
         --only PART              only tools, run, packages, releases, sanitizer or fuzz
                                  (repeatable)
         --record FILE            the record; default `nightly/DATE.md` in the target folder
       cargo xtask report-picture make the picture of the report in the README
       cargo xtask view-picture   make the picture of the viewer in the README
       cargo xtask real-programs [NAME...]
                                  compile programs, run them under QEMU, encode, decode and compare
       cargo xtask bench-reference [OPTION...]
                                  time decoding beside OpenCSD on the same inputs
         --opencsd FOLDER         the OpenCSD of this source tree, which is built where it is not,
                                  or of this folder with `include` and `lib`; default the installed one
         --only NAME              only this input (repeatable)
         --rounds N               rounds, in which the programs alternate; default 3
         --scale PERCENT          inputs of this part of their size; default 100
         --sizes                  instead: cost and memory against size, 1 to 256 MB
         --listings               instead: the listings, beside OpenCSD's trc_pkt_lister
         --interface              instead: this project's library with OpenCSD's C interface, beside OpenCSD's
         --output FOLDER          with --listings: write them here; default the folder for temporary files
         --record FILE            write the answer there, too
       cargo xtask bench-riscv [OPTION...]
                                  time RISC-V decoding beside riscv-etrace, and encoding, on the reference flow's traces
         --only NAME, --rounds N, --record FILE as above";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["tidy"] => match tidy::Tree::read(root()) {
            Ok(tree) => tidy::report(&tree),
            Err(error) => {
                eprintln!("{error}");
                ExitCode::from(2)
            }
        },
        ["dependencies"] => dependencies::run(root()),
        ["book", ref options @ ..] => book::run(root(), options),
        ["dist", ref options @ ..] => dist::run(root(), options),
        ["install", ref options @ ..] => dist::install(root(), options),
        ["vsix", ref options @ ..] => vsix::run(root(), options),
        ["wasm", ref options @ ..] => wasm::run(root(), options),
        ["nightly", ref options @ ..] => nightly::run(root(), options),
        ["report-picture"] => picture::report(root()),
        ["view-picture"] => picture::view(root()),
        ["real-programs", ref words @ ..] => programs::run(root(), words),
        ["bench-reference", ref options @ ..] => reference::run(root(), options),
        ["bench-riscv", ref options @ ..] => riscv(options),
        ["tidy", "--list"] => {
            for check in tidy::CHECKS {
                println!("{:<14} {}", check.name, check.about);
            }
            ExitCode::SUCCESS
        }
        _ => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

/// Runs the program that has the peer in it; other chores need not wait for it to be built.
fn riscv(options: &[&str]) -> ExitCode {
    // The command is timed, too.
    let built = Command::new("cargo")
        .args(["build", "--quiet", "--release", "--package", "tracewright-cli"])
        .current_dir(root())
        .status();
    if !built.is_ok_and(|status| status.success()) {
        return ExitCode::FAILURE;
    }
    let status = Command::new("cargo")
        .args(["run", "--quiet", "--release", "--package", "xtask", "--features", "riscv"])
        .args(["--bin", "bench-riscv", "--"])
        .args(options)
        .current_dir(root())
        .status();
    match status {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("cargo: {error}");
            ExitCode::from(2)
        }
    }
}

/// The workspace's root: the folder above this crate's.
fn root() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here)
}

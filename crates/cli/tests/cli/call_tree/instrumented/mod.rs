//! Lines, conditions and MC/DC of programs that ran as they are, from their traces, compared with
//! what GCC's and clang's instrumentation of the same source counts.
//!
//! | file | contents |
//! |---|---|
//! | `programs/` | the programs in C and C++ |
//! | `hosted/` | what they use where they have a C library |
//! | `built.rs` | a program by a compiler, and the snapshot of its trace |
//! | `gcov.rs` | executions of lines by gcov, of a program for the same processor |
//! | `llvm.rs` | conditions, evaluations and MC/DC by llvm-cov, of a program for this machine |
//! | `lines.rs` | whether the lines are the same |
//! | `conditions.rs` | whether the conditions are the same |
//! | `reasons.rs` | why some of both are not |
//!
//! Debian has clang's runtime for coverage for this machine only. The programs do not depend on it:
//! gcov counts the same in both.

mod built;
mod conditions;
mod gcov;
mod lines;
mod llvm;
mod reasons;

use std::fs;
use std::path::Path;

use tracewright_testing::is_long;

use super::{A64, HEADER, START, encoded, good, logged, start_file, words};
use crate::common::{Folder, args, tracewright};

/// A program whose coverage is compared.
struct Program {
    name: &'static str,
    /// The name of its file.
    file: &'static str,
    text: &'static str,
    /// The fewest decisions that are measured as a whole without optimisation: by GCC, by clang.
    least: [usize; 2],
}

macro_rules! programs {
    ($($name:literal $end:literal $gcc:literal $clang:literal),*) => {
        [$(Program {
            name: $name,
            file: concat!($name, $end),
            text: include_str!(concat!("programs/", $name, $end)),
            least: [$gcc, $clang],
        }),*]
    };
}

const PROGRAMS: [Program; 15] = programs!(
    "chains" ".c" 17 15, "loops" ".c" 14 14, "unrolled" ".c" 14 14, "inlined" ".c" 9 9,
    "switches" ".c" 10 8, "selected" ".c" 20 21, "recursed" ".c" 12 9, "interrupted" ".c" 7 6,
    "macros" ".c" 7 8, "parser" ".c" 21 20, "classes" ".cpp" 16 10, "exceptions" ".cpp" 8 5,
    "text" ".c" 21 19, "sorted" ".c" 22 20, "balanced" ".cpp" 14 18
);

impl Program {
    /// Exceptions of C++ need its library, which is not traced but where it unwinds.
    fn has_library(&self) -> bool {
        self.name == "exceptions"
    }

    fn is_cpp(&self) -> bool {
        self.file.ends_with(".cpp")
    }

    /// Writes the sources to a folder.
    fn write(&self, folder: &Path) {
        for own in ["source", "bare", "hosted"] {
            fs::create_dir_all(folder.join(own)).expect("a folder");
        }
        for (path, text) in [
            ("bare/start.h", HEADER),
            ("bare/start.c", START),
            ("hosted/start.h", include_str!("hosted/start.h")),
            ("hosted/main.c", include_str!("hosted/main.c")),
            (&format!("source/{}", self.file), self.text),
        ] {
            fs::write(folder.join(path), text).expect("a source");
        }
    }
}

/// A compiler and a level of optimisation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Build {
    clang: bool,
    level: &'static str,
}

const BUILDS: [Build; 6] = {
    const fn build(clang: bool, level: &'static str) -> Build {
        Build { clang, level }
    }
    [
        build(false, "-O0"),
        build(true, "-O0"),
        build(false, "-Og"),
        build(true, "-Og"),
        build(false, "-O2"),
        build(true, "-O2"),
    ]
};

impl Build {
    fn name(self) -> String {
        format!("{}{}", if self.clang { "clang" } else { "gcc" }, self.level)
    }
}

/// By default the programs without optimisation, and each by one other compiler and level.
fn check(program: &Program, number: usize) {
    let folder = Folder::new(&format!("instrumented-{}", program.name));
    let path = folder.path("");
    program.write(&path);
    let Some(counted) = gcov::lines(program, &path) else { return };
    let Some(instrumented) = llvm::decisions(program, &path) else { return };
    let other = 2 + number % 4;
    for (n, build) in BUILDS.into_iter().enumerate() {
        if n > 1 && n != other && !is_long() {
            continue;
        }
        let Some((elf, snapshot)) = built::trace(program, build, &path) else { return };
        lines::compare(program, build, (&elf, &snapshot), &counted);
        conditions::compare(program, build, &snapshot, &instrumented);
        fs::remove_dir_all(&snapshot).expect("a folder");
    }
}

macro_rules! tests {
    ($($name:ident $number:literal),*) => {
        $(#[test]
        fn $name() {
            check(&PROGRAMS[$number], $number);
        })*
    };
}

tests!(
    chains 0, loops 1, unrolled 2, inlined 3, switches 4, selected 5, recursed 6, interrupted 7,
    macros 8, parser 9, classes 10, exceptions 11,
    text 12, sorted 13, balanced 14
);

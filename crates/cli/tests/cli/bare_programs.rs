//! Source lines of programs whose symbol tables lack functions.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::common::Folder;
use crate::coverage::{example, objects, run};

/// The program of an example, an ELF file of 32 bits.
struct Program {
    path: PathBuf,
    bytes: Vec<u8>,
}

impl Program {
    fn read(example: &Path) -> Program {
        let path = example.join("program.bin");
        Program { bytes: fs::read(&path).unwrap(), path }
    }

    fn number(&self, at: usize) -> usize {
        u32::from_le_bytes(self.bytes[at..at + 4].try_into().unwrap()) as usize
    }

    /// The offset of the header of the symbol table, whose kind is `SHT_SYMTAB`.
    fn header(&self) -> usize {
        // From e_shoff on.
        let mut headers = (self.number(0x20)..self.bytes.len()).step_by(40);
        headers.find(|at| self.number(at + 4) == 2).expect("symbols")
    }

    /// The offsets of the symbols.
    fn symbols(&self) -> impl Iterator<Item = usize> + use<> {
        let header = self.header();
        let start = self.number(header + 16);
        let all: Range<usize> = start..start + self.number(header + 20);
        all.step_by(16)
    }

    fn write(&self) {
        fs::write(&self.path, &self.bytes).unwrap();
    }
}

/// The lines of the source file and their executions, where there are at least `least`.
fn lines(folder: &Folder, name: &str, least: u64) -> Vec<(u64, u64)> {
    let output = run(folder, &format!("coverage {name} --format json"));
    let lines = objects(&output, "line");
    let lines = lines.iter().map(|line| {
        let [line, executions] = [&line["line"], &line["executions"]].map(|n| n.as_u64().unwrap());
        (line, executions)
    });
    lines.filter(|(_, executions)| *executions >= least).collect()
}

/// Without symbols, the executed lines and their executions are those of the whole program, and a
/// note states that functions are missing.
#[test]
fn programs_without_symbols() {
    let folder = Folder::new("bare-without-symbols");
    example(&folder, "whole");
    let mut program = Program::read(&example(&folder, "bare"));
    // The symbol table becomes a section of other bytes, `SHT_PROGBITS`.
    let header = program.header();
    program.bytes[header + 4] = 1;
    program.write();

    let want = lines(&folder, "whole", 0);
    assert_eq!(want.len(), 63);
    assert_eq!(lines(&folder, "bare", 0), want);
    let output = run(&folder, "coverage bare");
    let text = "62/63   98.4           29/32   90.6           0/0      -  program.c\n";
    assert!(output.code == Some(0) && output.out.contains(text), "{}", output.out);
    let note = "note: program.bin has no symbols of functions: its lines are listed, its functions \
                are not; link it without stripping its symbol table\n";
    assert!(output.err.contains(note), "{}", output.err);
    assert!(!run(&folder, "coverage whole").err.contains("symbols of functions"));
}

/// `--lines` shows lines where no name of a function is known.
#[test]
fn lines_without_names() {
    let folder = Folder::new("bare-lines");
    example(&folder, "whole");
    let mut program = Program::read(&example(&folder, "bare"));
    let header = program.header();
    program.bytes[header + 4] = 1;
    program.write();
    for (verb, least) in [("instructions", 10_000), ("decode", 1000)] {
        let listed = |name: &str, words: &str| -> Vec<String> {
            let output = run(&folder, &format!("{verb} {name} --lines {words}"));
            let line = |line: &str| {
                let (_, rest) = line.split_once("program.c:")?;
                Some(rest.split(|c: char| !c.is_ascii_digit()).next()?.to_owned())
            };
            output.out.lines().filter_map(line).collect()
        };
        for words in ["", "--format json"] {
            let want = listed("whole", words);
            assert!(want.len() >= least, "{verb} {words}: {}", want.len());
            assert!(listed("bare", words) == want, "{verb} {words}");
        }
    }
    let output = run(&folder, "instructions bare --lines");
    assert!(output.out.contains("; <program.c:115> "), "{:.999}", output.out);
}

/// Functions that were executed and have no symbols: their lines have the executions of the whole
/// program.
#[test]
fn programs_without_symbols_of_two_functions() {
    let folder = Folder::new("bare-two-functions");
    example(&folder, "whole");
    let mut program = Program::read(&example(&folder, "partial"));
    for at in program.symbols() {
        // `solve` and `place`, in T32 code; the symbols become those of data, `STT_OBJECT`.
        if [0x93, 0x203].contains(&program.number(at + 4)) {
            program.bytes[at + 12] = 1;
        }
    }
    program.write();
    assert_eq!(lines(&folder, "partial", 1), lines(&folder, "whole", 1));
    let output = run(&folder, "coverage partial");
    assert!(output.out.contains(" 11/11 "), "{}", output.out);
    assert!(!output.err.contains("symbols of functions"), "{}", output.err);
}

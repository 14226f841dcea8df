//! Program images that are not those of the trace.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{Folder, args, tracewright};

fn example(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/demo").join(file)
}

/// The offset of `e_machine`. (System V gABI, "ELF Header")
const MACHINE: usize = 18;

/// A program of another processor is named, and its bytes are no code, for each verb.
#[test]
fn programs_of_other_processors_are_not_used() {
    let folder = Folder::new("images-machine");
    let elf = fs::read(example("program.elf")).unwrap();
    let (image, trace) = (folder.path("program.elf"), example("trace.bin"));
    let own =
        tracewright(&args("decode", &[&trace, Path::new("--image"), &example("program.elf")]));
    assert!(own.out.contains("range ") && !own.err.contains("another processor"), "{}", own.err);
    for (machine, name) in
        [(62u16, "x86-64"), (3, "x86"), (243, "RISC-V"), (8, "MIPS"), (9999, "machine 9999")]
    {
        let mut other = elf.clone();
        other[MACHINE..MACHINE + 2].copy_from_slice(&machine.to_le_bytes());
        fs::write(&image, other).unwrap();
        let want = format!("it is a program of another processor, {name}, and is not used: ");
        for verb in ["info", "decode", "instructions", "functions", "calls", "coverage", "branches"]
        {
            let output = tracewright(&args(verb, &[&trace, Path::new("--image"), &image]));
            assert!((output.err.clone() + &output.out).contains(&want), "{verb}: {}", output.err);
            assert!(!output.out.contains("contradicts the program"), "{verb}: {}", output.out);
            assert!(verb != "decode" || !output.out.contains("range "), "{}", output.out);
        }
    }
}

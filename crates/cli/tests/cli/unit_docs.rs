//! The commands of docs/trace-units.md and docs/ete-programming.md print what the pages show.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::common::Folder;
use crate::etm_units;

/// A loop of a Cortex-M4 from 0x100 on: address and opcode.
const M4: [(u32, u16); 7] = [
    (0x100, 0x2000),
    (0x102, 0x3001),
    (0x104, 0x2803),
    (0x106, 0xd1fc),
    (0x108, 0xbf00),
    (0x10a, 0xbf00),
    (0x10c, 0xe7fe),
];

/// A program at 0x1000 that calls a function at 0x2000 three times; the second call skips 0x2008.
const ETE: [(u32, u32); 9] = [
    (0x1000, 0x5280_0060),
    (0x1004, 0x9400_03ff),
    (0x1008, 0x7100_0400),
    (0x100c, 0x54ff_ffc1),
    (0x1010, 0xd503_201f),
    (0x2000, 0x7100_081f),
    (0x2004, 0x5400_0040),
    (0x2008, 0xd503_201f),
    (0x200c, 0xd65f_03c0),
];

/// The bytes of a program from `start` on.
fn bytes(start: u32, words: impl Iterator<Item = (u32, Vec<u8>)>) -> Vec<u8> {
    let mut all = Vec::new();
    for (address, word) in words {
        let at = (address - start) as usize;
        all.resize(all.len().max(at + word.len()), 0);
        all[at..at + word.len()].copy_from_slice(&word);
    }
    all
}

/// The programs and the logs that the pages name.
fn write_files(folder: &Path) {
    let write = |name: &str, content: Vec<u8>| fs::write(folder.join(name), content).unwrap();
    let words = M4.iter().map(|(address, opcode)| (*address, opcode.to_le_bytes().to_vec()));
    write("m4.bin", bytes(0x100, words));
    let mut log = "address,isa\n100,T32\n".to_owned();
    log += &"102,T32\n104,T32\n106,T32\n".repeat(3);
    write("m4.csv", (log + "108,T32\n10a,T32\n10c,T32\n").into_bytes());

    write(
        "rv32.csv",
        b"address,isa,opcode\n1000,RV32,00000013\n1004,RV32,00000013\n1008,RV32,00000013\n"
            .to_vec(),
    );

    let mut steps = vec![0x1000];
    for n in 0..3 {
        steps.extend([0x1004, 0x2000, 0x2004]);
        steps.extend((n != 1).then_some(0x2008));
        steps.extend([0x200c, 0x1008, 0x100c]);
    }
    steps.push(0x1010);
    let mut log = "address,isa,opcode,el,security\n".to_owned();
    for address in steps {
        let (_, opcode) = ETE.iter().find(|(at, _)| *at == address).unwrap();
        log += &format!("{address:x},A64,{opcode:08x},0,non-secure\n");
    }
    write("program.csv", log.into_bytes());
}

/// The lines of the code blocks of a page that have commands.
fn blocks(page: &str) -> Vec<Vec<&str>> {
    let mut blocks = Vec::new();
    for (n, part) in page.split("\n```").enumerate() {
        let lines: Vec<&str> = part.lines().skip(1).collect();
        if n % 2 == 1 && lines.first().is_some_and(|line| line.starts_with("$ tracewright")) {
            blocks.push(lines);
        }
    }
    blocks
}

/// The text with one space between words.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Runs the commands of a block in `folder`, and compares their output. `...` and `[...]` stand for
/// any lines; where lines are broken does not matter.
fn check(lines: &[&str], folder: &Path) -> usize {
    let mut lines = lines.iter().peekable();
    let mut count = 0;
    while let Some(line) = lines.next() {
        let mut command = line.strip_prefix("$ ").unwrap().to_owned();
        while command.ends_with('\\') {
            command.pop();
            command += lines.next().unwrap();
        }
        let (mut want, mut open) = (vec![String::new()], false);
        while let Some(line) = lines.next_if(|line| !line.starts_with("$ ")) {
            open = matches!(line.trim(), "..." | "[...]");
            match open {
                true => want.push(String::new()),
                false => *want.last_mut().unwrap() += &format!("{line}\n"),
            }
        }
        let binary = env!("CARGO_BIN_EXE_tracewright");
        let script = format!("tracewright() {{ \"{binary}\" \"$@\"; }}; {command}");
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("({script}) 2>&1")]).current_dir(folder).stdin(Stdio::null());
        let output = shell.output().unwrap();
        let got = words(&String::from_utf8(output.stdout).unwrap());
        let mut rest = got.as_str();
        for (n, part) in want.iter().map(|part| words(part)).enumerate() {
            let at = if n == 0 { rest.starts_with(&part).then_some(0) } else { rest.find(&part) };
            let at = at.unwrap_or_else(|| panic!("{command}\nprints {rest}\nand not {part}"));
            rest = &rest[at + part.len()..];
        }
        assert!(open || rest.trim().is_empty(), "{command}\nprints also {rest}");
        count += 1;
    }
    count
}

#[test]
fn commands_of_the_pages() {
    let folder = Folder::new("unit-docs");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    write_files(&folder.path(""));
    symlink(root.join("crates"), folder.path("crates")).unwrap();
    let mut count = 0;
    for (page, start) in [("docs/trace-units.md", 0x8000), ("docs/ete-programming.md", 0x1000)] {
        // Both pages have a program with this name.
        let program = match start {
            0x8000 => etm_units::program(),
            _ => bytes(0x1000, ETE.iter().map(|(at, word)| (*at, word.to_le_bytes().to_vec()))),
        };
        fs::write(folder.path("program.bin"), program).unwrap();
        fs::write(folder.path("a8.csv"), etm_units::log()).unwrap();
        let text = fs::read_to_string(root.join(page)).unwrap();
        for block in blocks(&text) {
            count += check(&block, &folder.path(""));
        }
    }
    assert!(count >= 15, "{count}");
}

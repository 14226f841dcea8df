//! Unwind tables, compared with what readelf prints of them.

use std::path::{Path, PathBuf};
use std::process::Command;

use tracewright_image::Bytes;
use tracewright_symbols::{FrameTables, SavedIn};
use tracewright_testing::{shared_or_none, tool};

/// A row of readelf: from an address on, the frame and the registers that are in memory.
#[derive(Debug)]
struct Row {
    address: u64,
    end: u64,
    frame: Option<(u16, i64)>,
    return_register: u16,
    saved: Vec<(u16, i64)>,
}

/// The registers of x86-64 in the order of their numbers. (System V ABI, AMD64 supplement, figure
/// 3.36)
const X86: [&str; 8] = ["rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp"];

/// A name, or the number after the letters: `r13`, `x29`.
fn register(name: &str) -> Option<u16> {
    match (name, X86.iter().position(|known| *known == name)) {
        ("sp", _) => Some(31),
        (_, Some(number)) => Some(number as u16),
        _ => name.trim_start_matches(|c: char| c.is_ascii_alphabetic()).parse().ok(),
    }
}

fn rows(text: &str) -> Vec<Row> {
    let mut all: Vec<Row> = Vec::new();
    let (mut columns, mut end) = (Vec::new(), 0);
    let mut returns: Vec<(String, u16)> = Vec::new();
    let mut return_register = 0;
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let Some(ra) = words.last().and_then(|word| word.strip_prefix("ra=")) {
            returns.push((words[0].to_owned(), ra.parse().expect("a register")));
            columns.clear();
        } else if let Some(range) = words.last().and_then(|word| word.strip_prefix("pc=")) {
            let (_, to) = range.split_once("..").expect("addresses");
            end = u64::from_str_radix(to, 16).expect("an address");
            let cie = words.iter().find_map(|word| word.strip_prefix("cie=")).expect("a CIE");
            let own = |(offset, _): &&(String, u16)| {
                offset.trim_start_matches('0') == cie.trim_start_matches('0')
            };
            return_register = returns.iter().rfind(own).expect("its CIE").1;
            columns.clear();
        } else if words.first() == Some(&"LOC") && end > 0 {
            columns = words[2..].iter().map(|word| (*word).to_owned()).collect();
        } else if words.len() == columns.len() + 2 && end > 0 {
            let Ok(address) = u64::from_str_radix(words[0], 16) else { continue };
            if let Some(last) = all.last_mut().filter(|last| last.end == end) {
                last.end = address;
            }
            let sign = words[1].rfind(['+', '-']).filter(|_| words[1] != "exp");
            let frame = sign.and_then(|at| {
                let (base, offset) = words[1].split_at(at);
                Some((register(base)?, offset.parse().ok()?))
            });
            let saved = columns.iter().zip(&words[2..]).filter_map(|(name, rule)| {
                let offset = rule.strip_prefix('c')?.parse().ok()?;
                let number = if name == "ra" { return_register } else { register(name)? };
                Some((number, offset))
            });
            all.push(Row { address, end, frame, return_register, saved: saved.collect() });
        }
        if line.is_empty() {
            columns.clear();
            end = 0;
        }
    }
    all
}

/// Each row holds from its address to the next one.
#[test]
fn rules_are_those_of_readelf() {
    let Some(readelf) = tool(&[("readelf", "binutils")]) else { return };
    let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cli/src/demo/program.elf");
    let mut files: Vec<(PathBuf, usize)> = vec![(demo, 20)];
    if let Some(path) = shared_or_none("captures/simpleperf-etm/etm_test_loop") {
        files.push((path, 5));
    }
    if cfg!(target_os = "linux") {
        files.push((std::env::current_exe().expect("a path"), 5000));
    }
    for (path, least) in files {
        let output = Command::new(readelf)
            .arg("--debug-dump=frames-interp")
            .arg(&path)
            .output()
            .expect("readelf runs");
        let rows = rows(&String::from_utf8_lossy(&output.stdout));
        let bytes = Bytes::from(std::fs::read(&path).expect("a program"));
        let tables = FrameTables::of_files([(&bytes, 0x1000)]);
        assert!(!tables.is_empty());
        for row in rows.iter().filter(|row| row.address < row.end) {
            for address in [row.address, row.end - 1] {
                let rules = tables.at(address + 0x1000).expect("rules");
                assert_eq!(rules.frame, row.frame, "{row:x?}");
                assert_eq!(rules.return_register, row.return_register, "{row:x?}");
                let memory = |saved: &(u16, SavedIn)| match saved.1 {
                    SavedIn::Memory(offset) => Some((saved.0, offset)),
                    SavedIn::Same | SavedIn::Lost => None,
                };
                let mut want = row.saved.clone();
                want.sort_unstable();
                let got: Vec<_> = rules.saved.iter().filter_map(memory).collect();
                assert_eq!(got, want, "{row:x?}");
            }
        }
        assert!(rows.len() >= least, "{}: {} rows", path.display(), rows.len());
        assert_eq!(tables.at(0), None);
    }
}

/// A file of any content has no tables, and does not panic.
#[test]
fn other_files_have_none() {
    for bytes in [&b""[..], b"\x7fELF", &[0; 64]] {
        let bytes = Bytes::from(bytes.to_vec());
        let tables = FrameTables::of_files([(&bytes, 0)]);
        assert!(tables.is_empty());
        assert_eq!(tables.at(0), None);
    }
}

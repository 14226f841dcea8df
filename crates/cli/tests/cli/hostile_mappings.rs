//! Object files whose coverage mapping has as much of one kind as it can.
//! (LLVM, "LLVM Code Coverage Mapping Format"; System V gABI, "Object Files")

use std::fs;
use std::path::PathBuf;

use crate::common::Folder;
use crate::coverage::example;

/// A number in groups of seven bits.
fn leb(mut number: u64) -> Vec<u8> {
    let mut out = Vec::new();
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
    out
}

fn numbers(size: usize, numbers: &[u64]) -> Vec<u8> {
    numbers.iter().flat_map(|n| n.to_le_bytes().into_iter().take(size)).collect()
}

/// The names of files of a unit, not compressed: of the folder, and further ones without a
/// character.
fn names(folder: usize, others: usize) -> Vec<u8> {
    let head = [leb(others as u64 + 1), leb(0), leb(0)].concat();
    [head, leb(folder as u64), vec![b'a'; folder], vec![0; others]].concat()
}

/// The contents of `__llvm_covmap`, version 7.
fn covmap(names: &[u8]) -> Vec<u8> {
    let mut all = [numbers(4, &[0, names.len() as u64, 0, 6]), names.to_vec()].concat();
    all.resize(all.len().next_multiple_of(8), 0);
    all
}

/// A record of `__llvm_covfun`, of a unit whose names have this digest.
fn covfun(digest: u64, body: &[u8]) -> Vec<u8> {
    let head = [numbers(8, &[1]), numbers(4, &[body.len() as u64]), numbers(8, &[2, digest])];
    [head.concat(), body.to_vec()].concat()
}

/// The example, with an object file in its folder that has these sections. `flags` are those of the
/// first.
fn object(folder: &Folder, flags: u64, [map, functions]: [&[u8]; 2]) -> PathBuf {
    let capture = example(folder, "demo");
    let texts = b"\0__llvm_covmap\0__llvm_covfun\0.shstrtab\0";
    let contents = [map, functions, texts];
    let mut file = vec![0; 64];
    let mut headers = vec![0; 64];
    for (n, (name, own)) in [1, 15, 29].into_iter().zip(contents).enumerate() {
        let kind = if n == 2 { 3 } else { 1 };
        headers.extend(numbers(4, &[name, kind]));
        let flags = if n == 0 { flags } else { 0 };
        headers.extend(numbers(8, &[flags, 0, file.len() as u64, own.len() as u64]));
        headers.extend([numbers(4, &[0, 0]), numbers(8, &[8, 0])].concat());
        file.extend(own);
    }
    file.resize(file.len().next_multiple_of(8), 0);
    // ET_REL of AArch64, version 1, no entry, the section headers.
    let head = [
        b"\x7fELF\x02\x01\x01".to_vec(),
        vec![0; 9],
        numbers(2, &[1, 183]),
        numbers(4, &[1]),
        numbers(8, &[0, 0, file.len() as u64]),
        numbers(4, &[0]),
        numbers(2, &[64, 0, 0, 64, 4, 3]),
    ];
    file[..64].copy_from_slice(&head.concat());
    file.extend(headers);
    fs::write(capture.join("mapping.o"), file).unwrap();
    capture
}

/// The digest of names with a folder of 3 characters, and of 1,000,000.
const DIGESTS: [u64; 2] = [0xef80_0417_869d_4638, 0xb704_4d49_32dc_31b1];

/// A function of one file, and 2^20 + 1 expressions.
pub fn many_expressions(folder: &Folder) -> PathBuf {
    let count = (1 << 20) + 1;
    let body = [vec![1, 0], leb(count), vec![0; 2 * count as usize], vec![0]].concat();
    object(folder, 0, [&covmap(&names(3, 0)), &covfun(DIGESTS[0], &body)])
}

/// 1,000 files without a name, in a folder whose path has 100,000 characters.
pub fn many_paths(folder: &Folder) -> PathBuf {
    object(folder, 0, [&covmap(&names(100_000, 1000)), &[]])
}

/// 300 branches in a file whose path has 1,000,000 characters.
pub fn long_paths(folder: &Folder) -> PathBuf {
    // A branch with two counters, in the next line.
    let branch = [4 << 3, 1, 5, 1, 1, 0, 2];
    let body = [vec![1, 0, 0], leb(300), branch.repeat(300)].concat();
    object(folder, 0, [&covmap(&names(1_000_000, 0)), &covfun(DIGESTS[1], &body)])
}

/// A section that states to unpack to 1 TiB.
pub fn packed_mapping(folder: &Folder) -> PathBuf {
    let packed = [numbers(4, &[1, 0]), numbers(8, &[1 << 40, 8]), vec![0x78, 0x9c, 3, 0]].concat();
    object(folder, 1 << 11, [&packed, &[]])
}

/// Objects that are cut, and those of which bytes are altered, are read or refused with the reason.
#[test]
fn cut_and_altered_mappings_are_refused() {
    let folder = Folder::new("hostile-mappings");
    // One branch of the line 4 of `aaa`, from column 7 to 12.
    let branch = [4 << 3, 1, 5, 4, 7, 0, 12];
    let body = [vec![1, 0, 0, 1], branch.to_vec()].concat();
    let demo = object(&folder, 0, [&covmap(&names(3, 0)), &covfun(DIGESTS[0], &body)]);
    let path = demo.join("mapping.o");
    let run = || {
        let words = "coverage demo --decisions demo/mapping.o --by decision --quiet";
        crate::coverage::run(&folder, words)
    };
    let good = run();
    assert_eq!(good.code, Some(0), "{}", good.err);
    assert!(good.out.contains("  aaa:4:7\n"), "{}", good.out);
    let whole = fs::read(&path).unwrap();
    let mut refused = 0;
    for n in (0..whole.len()).step_by(5) {
        let mut altered = whole.clone();
        altered[n] = 0xff;
        for bytes in [&whole[..n], &altered] {
            fs::write(&path, bytes).unwrap();
            let found = run();
            match found.code {
                Some(2) => assert!(found.err.contains("mapping.o: "), "{n}: {}", found.err),
                code => assert_eq!(code, Some(0), "{n}: {}", found.err),
            }
            refused += usize::from(found.code == Some(2));
        }
    }
    assert!(refused > whole.len() / 5, "{refused} of {}", whole.len());
}

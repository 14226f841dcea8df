//! The basic blocks of functions as the compiler numbers them: the section `.llvm_bb_addr_map`.
//! (LLVM, "Extensions", "SHT_LLVM_BB_ADDR_MAP Section")
//!
//! | bytes | contents |
//! |---|---|
//! | 1 | version |
//! | 1 | features: bits \[2:0] profile data, \[3] several ranges |
//! | ULEB128 | number of ranges, where there are several |
//! | 4 or 8 | address of the range |
//! | ULEB128 | number of blocks |
//! | 3 or 4 ULEB128 for each block | number (from version 2 on), offset from the end of the block before (version 0: from the start), size, metadata |

use tracewright_base::take_uleb128;

use crate::bytes::Bytes;
use crate::elf::Sections;

/// `sh_type` of the section.
const BLOCK_MAP: u32 = 0x6fff_4c0a;
/// The last version that is read.
const LAST_VERSION: u8 = 2;
/// Features: the number of entries, the frequency of each block, the probabilities of its
/// successors, and several ranges.
const ENTRIES: u8 = 1;
const FREQUENCIES: u8 = 2;
const PROBABILITIES: u8 = 4;
const RANGES: u8 = 8;

/// The blocks of a function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FunctionBlocks {
    /// The address of the function.
    pub address: u64,
    /// Its blocks in the order of the map.
    pub blocks: Vec<MappedBlock>,
}

/// A basic block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MappedBlock {
    /// The number that the compiler gave it.
    pub id: u64,
    /// The first address.
    pub start: u64,
    /// The size in bytes.
    pub size: u64,
    /// Metadata: bit 0 return, bit 1 tail call, bit 2 exception handler, bit 3 continues with the
    /// next block, bit 4 indirect branch.
    pub metadata: u64,
}

/// The blocks of all functions of an ELF file, in the order of the map.
///
/// # Errors
/// What the file lacks, or why the map cannot be read.
pub fn read(file: &Bytes) -> Result<Vec<FunctionBlocks>, String> {
    let sections = Sections::read(file).ok_or("it is not an ELF file")?;
    let mut functions = Vec::new();
    let mut any = false;
    for section in sections.of_kind(BLOCK_MAP) {
        any = true;
        let address = if sections.bits64 { 8 } else { 4 };
        let mut reader = Reader { rest: section.data, big: sections.big, address };
        while !reader.rest.is_empty() {
            functions.push(reader.function()?);
        }
    }
    if !any {
        return Err(
            "it has no map of basic blocks; compile with -fbasic-block-address-map (clang \
                    before 20: -fbasic-block-sections=labels)"
                .into(),
        );
    }
    Ok(functions)
}

struct Reader<'a> {
    rest: &'a [u8],
    big: bool,
    /// The size of an address in bytes.
    address: usize,
}

impl Reader<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    fn uleb(&mut self) -> Option<u64> {
        take_uleb128(&mut self.rest)
    }

    fn address(&mut self) -> Option<u64> {
        let (bytes, rest) = self.rest.split_at_checked(self.address)?;
        self.rest = rest;
        let add = |value: u64, byte: &u8| value << 8 | u64::from(*byte);
        Some(match self.big {
            true => bytes.iter().fold(0, add),
            false => bytes.iter().rev().fold(0, add),
        })
    }

    fn function(&mut self) -> Result<FunctionBlocks, String> {
        let short = "its map of basic blocks ends within a function";
        let version = self.byte().ok_or(short)?;
        if version > LAST_VERSION {
            return Err(format!(
                "its map of basic blocks has version {version}, and {LAST_VERSION} is the last \
                 known"
            ));
        }
        let features = self.byte().ok_or(short)?;
        if features & !(ENTRIES | FREQUENCIES | PROBABILITIES | RANGES) != 0 {
            return Err(format!("its map of basic blocks has unknown features: {features:#x}"));
        }
        Ok(self.blocks(version, features).ok_or(short)?)
    }

    fn blocks(&mut self, version: u8, features: u8) -> Option<FunctionBlocks> {
        let ranges = if features & RANGES != 0 { self.uleb()? } else { 1 };
        let mut function = FunctionBlocks::default();
        for n in 0..ranges {
            let base = self.address()?;
            if n == 0 {
                function.address = base;
            }
            let mut end = 0;
            for index in 0..self.uleb()? {
                let id = if version >= 2 { self.uleb()? } else { index };
                let offset = self.uleb()?;
                let offset = if version >= 1 { offset.wrapping_add(end) } else { offset };
                let size = self.uleb()?;
                let metadata = self.uleb()?;
                end = offset.wrapping_add(size);
                let start = base.wrapping_add(offset);
                function.blocks.push(MappedBlock { id, start, size, metadata });
            }
        }
        if features & ENTRIES != 0 {
            self.uleb()?;
        }
        if features & (FREQUENCIES | PROBABILITIES) != 0 {
            for _ in 0..function.blocks.len() {
                if features & FREQUENCIES != 0 {
                    self.uleb()?;
                }
                if features & PROBABILITIES != 0 {
                    for _ in 0..self.uleb()? {
                        self.uleb()?;
                        self.uleb()?;
                    }
                }
            }
        }
        Some(function)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(id: u64, start: u64, size: u64, metadata: u64) -> MappedBlock {
        MappedBlock { id, start, size, metadata }
    }

    /// Rows by the table of the document: versions 0, 1 and 2, profile data, and several ranges.
    #[test]
    fn functions_are_read() {
        let address = [0x00, 0x10, 0, 0, 0, 0, 0, 0];
        let other = [0x00, 0x20, 0, 0, 0, 0, 0, 0];
        let map = |parts: &[&[u8]]| parts.concat();
        for (bytes, blocks) in [
            (
                map(&[&[0, 0], &address, &[2, 0, 8, 8, 8, 4, 1]]),
                vec![block(0, 0x1000, 8, 8), block(1, 0x1008, 4, 1)],
            ),
            (
                map(&[&[1, 0], &address, &[2, 0, 8, 8, 0, 4, 1]]),
                vec![block(0, 0x1000, 8, 8), block(1, 0x1008, 4, 1)],
            ),
            (
                map(&[&[2, 0], &address, &[2, 0, 0, 8, 8, 5, 4, 0x84, 1, 1]]),
                vec![block(0, 0x1000, 8, 8), block(5, 0x100c, 0x84, 1)],
            ),
            (
                map(&[
                    &[2, RANGES | ENTRIES | FREQUENCIES | PROBABILITIES, 2],
                    &address,
                    &[1, 0, 0, 8, 0],
                    &other,
                    &[1, 1, 0, 4, 1],
                    // 100 entries; frequency 7 and one successor; frequency 6 and none.
                    &[100, 7, 1, 1, 0x40, 6, 0],
                ]),
                vec![block(0, 0x1000, 8, 0), block(1, 0x2000, 4, 1)],
            ),
        ] {
            let mut reader = Reader { rest: &bytes, big: false, address: 8 };
            let function = reader.function().unwrap();
            assert_eq!(function, FunctionBlocks { address: 0x1000, blocks }, "{bytes:x?}");
            assert!(reader.rest.is_empty(), "{bytes:x?}");
            for len in 0..bytes.len() {
                let mut reader = Reader { rest: &bytes[..len], big: false, address: 8 };
                assert!(reader.function().is_err(), "{len} bytes of {bytes:x?}");
            }
        }
        let mut reader = Reader { rest: &[3, 0, 0, 0], big: false, address: 8 };
        assert!(reader.function().unwrap_err().contains("version 3"));
    }
}

//! The basic blocks of functions as the compiler numbers them: the section `.llvm_bb_addr_map`.
//! (LLVM, "Extensions", "SHT_LLVM_BB_ADDR_MAP Section")
//!
//! | bytes | contents |
//! |---|---|
//! | 1 | version |
//! | 1; from version 5 on 2 | features: bits \[2:0] profile data, \[3] several ranges, \[4] no blocks, \[5] calls, \[6] hashes, \[7] frequencies after linking |
//! | ULEB128 | number of ranges, where there are several |
//! | 4 or 8 | address of the range |
//! | ULEB128 | number of blocks |
//! | 3 or 4 ULEB128 for each block | number (from version 2 on), offset from the end of the block before (version 0: from the start), size, metadata |
//!
//! With calls, their number and the end of each, from that of the call before, are before the size,
//! which is that of the rest of the block. With hashes, 8 bytes follow the metadata.
//! (LLVM 22, lib/Object/ELF.cpp, `decodeBBAddrMapImpl`)

use tracewright_base::{Invalid, take_uleb128};

use crate::bytes::Bytes;
use crate::elf::Sections;

/// `sh_type` of the section.
const BLOCK_MAP: u32 = 0x6fff_4c0a;
/// The last version that is read.
const LAST_VERSION: u8 = 5;
/// The first version with two bytes of features.
const WIDE_FEATURES: u8 = 5;
/// Features: the number of entries, the frequency of each block, the probabilities of its
/// successors, several ranges, no blocks, the ends of calls, a hash of each block, and frequencies
/// after linking.
const ENTRIES: u16 = 1;
const FREQUENCIES: u16 = 1 << 1;
const PROBABILITIES: u16 = 1 << 2;
const RANGES: u16 = 1 << 3;
const NO_BLOCKS: u16 = 1 << 4;
const CALLS: u16 = 1 << 5;
const HASHES: u16 = 1 << 6;
const LINKED: u16 = 1 << 7;

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
pub fn read(file: &Bytes) -> Result<Vec<FunctionBlocks>, Invalid> {
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

    /// A number of `size` bytes.
    fn number(&mut self, size: usize) -> Option<u64> {
        let (bytes, rest) = self.rest.split_at_checked(size)?;
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
        let size = if version >= WIDE_FEATURES { 2 } else { 1 };
        let features = self.number(size).ok_or(short)? as u16;
        let known = ENTRIES | FREQUENCIES | PROBABILITIES | RANGES;
        if features & !(known | NO_BLOCKS | CALLS | HASHES | LINKED) != 0 {
            return Err(format!("its map of basic blocks has unknown features: {features:#x}"));
        }
        if features & NO_BLOCKS != 0 {
            return Err("its map of basic blocks has no blocks, only the functions".into());
        }
        Ok(self.blocks(version, features).ok_or(short)?)
    }

    fn blocks(&mut self, version: u8, features: u16) -> Option<FunctionBlocks> {
        let ranges = if features & RANGES != 0 { self.uleb()? } else { 1 };
        let mut function = FunctionBlocks::default();
        for n in 0..ranges {
            let base = self.number(self.address)?;
            if n == 0 {
                function.address = base;
            }
            let mut end = 0;
            for index in 0..self.uleb()? {
                let mut block = self.block(version, features, index)?;
                if version >= 1 {
                    block.start = block.start.wrapping_add(end);
                }
                end = block.start.wrapping_add(block.size);
                block.start = block.start.wrapping_add(base);
                function.blocks.push(block);
            }
        }
        self.skip_profile(features, function.blocks.len())?;
        Some(function)
    }

    /// A block, whose `start` is its offset.
    fn block(&mut self, version: u8, features: u16, index: u64) -> Option<MappedBlock> {
        let id = if version >= 2 { self.uleb()? } else { index };
        let start = self.uleb()?;
        let mut size = 0u64;
        if features & CALLS != 0 {
            for _ in 0..self.uleb()? {
                size = size.wrapping_add(self.uleb()?);
            }
        }
        size = size.wrapping_add(self.uleb()?);
        let metadata = self.uleb()?;
        if features & HASHES != 0 {
            self.number(8)?;
        }
        Some(MappedBlock { id, start, size, metadata })
    }

    /// Skips the profile of a function of `count` blocks.
    fn skip_profile(&mut self, features: u16, count: usize) -> Option<()> {
        let skip = |reader: &mut Self, feature: u16| match features & feature {
            0 => Some(()),
            _ => reader.uleb().map(|_| ()),
        };
        skip(self, ENTRIES)?;
        if features & (FREQUENCIES | PROBABILITIES) == 0 {
            return Some(());
        }
        for _ in 0..count {
            skip(self, FREQUENCIES)?;
            skip(self, LINKED)?;
            if features & PROBABILITIES != 0 {
                for _ in 0..self.uleb()? {
                    self.uleb()?;
                    self.uleb()?;
                    skip(self, LINKED)?;
                }
            }
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(id: u64, start: u64, size: u64, metadata: u64) -> MappedBlock {
        MappedBlock { id, start, size, metadata }
    }

    /// Rows by the table of the document, and by LLVM's reader of versions 3 to 5: profile data,
    /// several ranges, calls, hashes, frequencies after linking.
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
                    &[2, (RANGES | ENTRIES | FREQUENCIES | PROBABILITIES) as u8, 2],
                    &address,
                    &[1, 0, 0, 8, 0],
                    &other,
                    &[1, 1, 0, 4, 1],
                    // 100 entries; frequency 7 and one successor; frequency 6 and none.
                    &[100, 7, 1, 1, 0x40, 6, 0],
                ]),
                vec![block(0, 0x1000, 8, 0), block(1, 0x2000, 4, 1)],
            ),
            (
                // The first function that clang 22 makes of a loop: two calls in the second block.
                map(&[
                    &[5, CALLS as u8, 0],
                    &address,
                    &[2, 0, 0, 0, 0x18, 8, 3, 4, 2, 8, 12, 4, 1],
                ]),
                vec![block(0, 0x1000, 0x18, 8), block(3, 0x101c, 24, 1)],
            ),
            (
                map(&[
                    &[4, HASHES as u8],
                    &address,
                    &[2, 0, 0, 8, 8],
                    &[0xff; 8],
                    &[1, 4, 8, 1],
                    &[0xff; 8],
                ]),
                vec![block(0, 0x1000, 8, 8), block(1, 0x100c, 8, 1)],
            ),
            (
                map(&[
                    &[5, (FREQUENCIES | PROBABILITIES | LINKED) as u8, 0],
                    &address,
                    // Frequency 7, after linking 9; one successor.
                    &[1, 0, 0, 8, 8, 7, 9, 1, 1, 0x40, 5],
                ]),
                vec![block(0, 0x1000, 8, 8)],
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
        for (bytes, what) in
            [([6, 0, 0], "version 6"), ([5, 0, 1], "features: 0x100"), ([3, 16, 0], "no blocks")]
        {
            let mut reader = Reader { rest: &bytes, big: false, address: 8 };
            assert!(reader.function().unwrap_err().contains(what));
        }
    }
}

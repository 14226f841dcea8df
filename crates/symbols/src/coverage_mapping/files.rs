//! The names of source files. (LLVM, "LLVM Code Coverage Mapping Format", "Coverage Mapping
//! Header")

use std::collections::HashMap;
use std::io::Read;

use flate2::read::ZlibDecoder;

use super::MappingError;
use super::reader::Reader;

/// The most bytes of names of files for each byte that is compressed.
const RATIO: usize = 256;

/// The most bytes of the paths of all files: each has that of the folder of compilation.
const MOST_PATHS: usize = 1 << 26;
/// What a path takes in memory beside its bytes.
const PATH: usize = size_of::<String>();

/// The names of files of all units, by their hashes.
#[derive(Default)]
pub(super) struct Files {
    pub(super) all: HashMap<u64, Vec<String>>,
    /// The bytes of their paths.
    size: usize,
}

impl Files {
    /// Adds those of a section `__llvm_covmap`.
    pub(super) fn add(&mut self, mut from: Reader<'_>) -> Result<(), MappingError> {
        while !from.bytes.is_empty() {
            let len = (|| {
                from.u32()?;
                let len = from.u32()?;
                from.u32()?;
                Some(len)
            })();
            let len = len.ok_or(MappingError::Damaged)?;
            let version = from.u32().ok_or(MappingError::Damaged)?;
            // The number is that of the version minus 1. Functions of earlier ones are elsewhere.
            if !(3..=6).contains(&version) {
                return Err(MappingError::Version(version.saturating_add(1)));
            }
            let names = from.take(len as usize).ok_or(MappingError::Damaged)?;
            let hash = md5::compute(names).0;
            let hash = hash.first_chunk().map_or(0, |first| u64::from_le_bytes(*first));
            let read = file_names(names, version, &mut self.size);
            let read = read.ok_or(match self.size > MOST_PATHS {
                true => MappingError::TooLarge,
                false => MappingError::Damaged,
            })?;
            self.all.insert(hash, read);
            let padding = len.wrapping_neg() % 8;
            from.take((padding as usize).min(from.bytes.len()));
        }
        Ok(())
    }

    pub(super) fn of(&self, hash: u64) -> Option<&[String]> {
        self.all.get(&hash).map(Vec::as_slice)
    }
}

/// The names of the files of a unit, whose size is added to `size`. `None`, too, where this is then
/// more than [`MOST_PATHS`].
fn file_names(bytes: &[u8], version: u32, size: &mut usize) -> Option<Vec<String>> {
    let mut from = Reader { bytes, little: true };
    let count = from.number()?;
    let (whole, packed) = (from.number()?, from.number()?);
    let mut unpacked = Vec::new();
    let names = if packed == 0 {
        from.bytes
    } else {
        let packed = from.take(usize::try_from(packed).ok()?)?;
        let most = packed.len().checked_mul(RATIO)?;
        let whole = usize::try_from(whole).ok().filter(|whole| *whole <= most)?;
        ZlibDecoder::new(packed).take(whole as u64).read_to_end(&mut unpacked).ok()?;
        &unpacked[..]
    };
    let mut from = Reader { bytes: names, little: true };
    let mut all = Vec::<String>::new();
    for n in 0..count {
        let len = usize::try_from(from.number()?).ok()?;
        let name = String::from_utf8_lossy(from.take(len)?).into_owned();
        // From version 6 on, the first is the folder of compilation.
        let relative = version >= 5 && n > 0 && !name.starts_with('/') && !is_windows(&name);
        let folder = all.first().filter(|_| relative);
        *size = size.saturating_add(name.len() + folder.map_or(0, String::len) + PATH);
        if *size > MOST_PATHS {
            return None;
        }
        all.push(match folder {
            Some(folder) if !folder.is_empty() => format!("{folder}/{name}"),
            _ => name,
        });
    }
    Some(all)
}

/// Whether a path begins with a drive.
fn is_windows(path: &str) -> bool {
    path.get(1..2) == Some(":")
}

//! drcov, version 2, with module table version 2: the blocks that were executed, which Lighthouse
//! and other tools show. (DynamoRIO, "drcov: Code Coverage Tool")

use super::CoverageView;
use crate::text::line;

/// A module number is 16 bits; so is a size.
const MOST: usize = u16::MAX as usize;

/// The file.
pub(super) fn write(view: &CoverageView<'_>) -> Vec<u8> {
    let programs = view.programs.get(..MOST.min(view.programs.len())).unwrap_or_default();
    let mut out = format!(
        "DRCOV VERSION: 2\nDRCOV FLAVOR: tracewright\nModule Table: version 2, count {}\n\
         Columns: id, base, end, entry, checksum, timestamp, path\n",
        programs.len()
    );
    let mut blocks = Vec::new();
    for (number, (file, coverage)) in programs.iter().enumerate() {
        let loaded = file.segments.iter().filter(|segment| segment.memory_size > 0);
        let first = loaded.clone().map(|s| s.address).min().unwrap_or(0);
        let end = loaded.map(|s| s.address.saturating_add(s.memory_size)).max().unwrap_or(0);
        let (base, end) = (first.wrapping_add(file.bias), end.wrapping_add(file.bias));
        out.push_str(&format!(
            "{number:3}, {base:#018x}, {end:#018x}, 0x0000000000000000, 0x00000000, 0x00000000, {}\n",
            line(&file.path)
        ));
        for (address, (bytes, _)) in &coverage.ranges {
            let (mut from, mut left) = (address.wrapping_sub(first), *bytes);
            while left > 0 {
                let size = left.min(MOST as u32);
                blocks.push((from as u32, size as u16, number as u16));
                from += u64::from(size);
                left -= size;
            }
        }
    }
    out.push_str(&format!("BB Table: {} bbs\n", blocks.len()));
    let mut out = out.into_bytes();
    for (start, size, module) in blocks {
        out.extend(start.to_le_bytes());
        out.extend(size.to_le_bytes());
        out.extend(module.to_le_bytes());
    }
    out
}

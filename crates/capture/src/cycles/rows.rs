//! Records of cycles that are made from rows of a file, each of which has the same number of
//! cycles, as they are needed.

use std::fmt;
use std::io::{self, ErrorKind, Read};
use std::sync::OnceLock;

use tracewright_image::OnDemand;

use crate::Bytes;

/// Bytes of rows that are read at a time.
const BLOCK: usize = 1 << 16;

/// The records of a file of rows.
pub(super) struct Rows {
    /// The rows; an incomplete one at the end is left out.
    pub(super) rows: Bytes,
    /// The number of bytes of a row.
    pub(super) row: usize,
    /// The number of bytes of the records of a row.
    pub(super) records: usize,
    /// Appends the records of a row.
    pub(super) convert: Convert,
    pub(super) all: OnceLock<Vec<u8>>,
}

/// A function that appends the records of a row.
pub(super) type Convert = Box<dyn Fn(&[u8], &mut Vec<u8>) + Send + Sync>;

impl fmt::Debug for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rows").field("rows", &self.rows).field("row", &self.row).finish()
    }
}

impl OnDemand for Rows {
    fn size(&self) -> u64 {
        (self.rows.size() / self.row as u64).saturating_mul(self.records as u64)
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        let left = self.size().saturating_sub(offset);
        let room = usize::try_from(left).unwrap_or(usize::MAX).min(into.len());
        if room == 0 {
            return Ok(0);
        }
        let (first, skipped) = (offset / self.records as u64, offset % self.records as u64);
        let skipped = skipped as usize;
        let count = (skipped + room).div_ceil(self.records).min((BLOCK / self.row).max(1));
        let mut rows = vec![0; count * self.row];
        let from = first.saturating_mul(self.row as u64);
        self.rows.part(from, rows.len() as u64).reader().read_exact(&mut rows)?;
        let mut records = Vec::with_capacity(count * self.records);
        rows.chunks_exact(self.row).for_each(|row| (self.convert)(row, &mut records));
        let records = records.get(skipped..).ok_or(ErrorKind::InvalidData)?;
        let len = records.len().min(room);
        if let (Some(into), Some(records)) = (into.get_mut(..len), records.get(..len)) {
            into.copy_from_slice(records);
        }
        Ok(len)
    }

    fn all(&self) -> &[u8] {
        self.all.get_or_init(|| {
            let mut bytes = vec![];
            let size = usize::try_from(self.size()).unwrap_or(usize::MAX);
            if bytes.try_reserve_exact(size).is_ok() {
                bytes.resize(size, 0);
            }
            let mut read = 0;
            while let Some(rest) = bytes.get_mut(read..).filter(|rest| !rest.is_empty())
                && let Ok(more @ 1..) = self.read_at(read as u64, rest)
            {
                read += more;
            }
            bytes.truncate(read);
            bytes
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn any_part_is_that_of_the_whole() {
        // Two records of three bytes for each row of two bytes.
        let rows: Vec<u8> = (0..100_001u32).map(|n| (n % 251) as u8).collect();
        let convert: Convert = Box::new(|row, out| {
            for &byte in row {
                out.extend([byte, byte ^ 1, byte ^ 2]);
            }
        });
        let want: Vec<u8> = rows[..100_000].iter().flat_map(|b| [*b, b ^ 1, b ^ 2]).collect();
        let rows = Bytes::from(rows);
        let rows = Rows { rows, row: 2, records: 6, convert, all: OnceLock::new() };
        for at in [0, 1, 5, 6, 7, 299_994, 299_999, 300_000, 300_001] {
            for len in [0, 1, 6, 13, 100_000] {
                let mut into = vec![0; len];
                let read = rows.read_at(at as u64, &mut into).unwrap();
                let rest = want.get(at..).unwrap_or_default();
                assert_eq!(read > 0, len > 0 && !rest.is_empty());
                assert_eq!(into[..read], rest[..read], "{len} at {at}");
            }
        }
        assert!(*Bytes::on_demand(Arc::new(rows)) == *want);
    }
}

//! The mappings of files that were not found: which file an address without memory is of.

/// The mappings of files that were not found.
#[derive(Clone, Debug, Default)]
pub(crate) struct MissingFiles {
    mappings: Vec<Missing>,
}

/// A mapping of a file that was not found.
#[derive(Clone, Copy, Debug)]
struct Missing {
    /// The process; `None` for the memory that is common to all.
    process: Option<u32>,
    first: u64,
    last: u64,
    /// The index of the file.
    module: u32,
}

/// The most mappings.
const MAX: usize = 1 << 16;

impl MissingFiles {
    /// Adds a mapping of `len` bytes.
    pub(crate) fn add(&mut self, process: Option<u32>, first: u64, len: u64, module: u32) {
        if self.mappings.len() < MAX && len > 0 {
            let last = first.saturating_add(len - 1);
            self.mappings.push(Missing { process, first, last, module });
        }
    }

    /// The file that was mapped at `address` in `process`, the latest one. A process may have the
    /// mappings of its parent: where it has none of its own there, it is the file of another
    /// process, if that is the same in all of them.
    pub(crate) fn at(&self, process: Option<u32>, address: u64) -> Option<u32> {
        let here = self.mappings.iter().rev().filter(|m| m.first <= address && address <= m.last);
        let own = here.clone().find(|m| m.process.is_none() || m.process == process);
        if let Some(own) = own {
            return Some(own.module);
        }
        let mut others = here.map(|mapping| mapping.module);
        let first = others.next()?;
        others.all(|module| module == first).then_some(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_of_the_latest_mapping() {
        let mut files = MissingFiles::default();
        files.add(Some(1), 0x1000, 0x1000, 0);
        files.add(Some(1), 0x1800, 0x100, 1);
        files.add(Some(2), 0x1000, 0x100, 2);
        files.add(None, u64::MAX - 1, 9, 3);
        files.add(Some(1), 0x9000, 0, 4);
        for (process, address, want) in [
            (Some(1), 0x1000, Some(0)),
            (Some(1), 0x1800, Some(1)),
            (Some(1), 0x2000, None),
            (Some(2), 0x1000, Some(2)),
            // A child: the same in all processes, or not known.
            (Some(3), 0x1200, Some(0)),
            (Some(3), 0x1000, None),
            (None, u64::MAX, Some(3)),
            (Some(1), 0x9000, None),
        ] {
            assert_eq!(files.at(process, address), want, "{process:?} {address:#x}");
        }
    }
}

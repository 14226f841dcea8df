//! The scatter-gather list of an ETR: tables of pages in system memory. (Arm DDI 0461, 2.5)

/// The size of a page of trace and of a table, in bytes.
pub const PAGE: u64 = 4096;

/// An entry of a table: 32 bits, with bits \[39:12] of an address in bits \[31:4] and the kind in
/// bits \[1:0].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// A page of trace, and the list goes on with the next entry.
    Page(u64),
    /// The last page of trace: the buffer wraps behind it.
    Last(u64),
    /// The address of the table with the next entry.
    Link(u64),
}

impl Entry {
    /// Parses an entry. `None` for an invalid one.
    pub const fn parse(word: u32) -> Option<Entry> {
        let address = (word as u64 & 0xffff_fff0) << 8;
        Some(match word & 0b11 {
            0b01 => Entry::Last(address),
            0b10 => Entry::Page(address),
            0b11 => Entry::Link(address),
            _ => return None,
        })
    }

    /// The entry in memory.
    pub const fn emit(self) -> u32 {
        let (address, kind) = match self {
            Entry::Last(address) => (address, 0b01),
            Entry::Page(address) => (address, 0b10),
            Entry::Link(address) => (address, 0b11),
        };
        (address >> 8) as u32 & 0xffff_fff0 | kind
    }
}

/// The pages of the list whose first table is at `table`, in order. `read` returns the 32 bits at
/// an address. `None` where an entry is missing or invalid, or where there are more than `most`
/// pages.
pub fn entries(
    table: u64,
    most: usize,
    mut read: impl FnMut(u64) -> Option<u32>,
) -> Option<Vec<u64>> {
    let (mut pages, mut at, mut links) = (Vec::new(), table, 0);
    loop {
        match Entry::parse(read(at)?)? {
            Entry::Last(page) => {
                pages.push(page);
                return Some(pages);
            }
            Entry::Page(page) => {
                pages.push(page);
                at = at.checked_add(4)?;
            }
            Entry::Link(next) => {
                links += 1;
                at = next;
            }
        }
        if pages.len() > most || links > most {
            return None;
        }
    }
}

/// The tables of a list of `pages`: one table for each address in `tables`, with a link in its last
/// entry to the next one. `None` where there are no pages or too few tables.
pub fn table(pages: &[u64], tables: &[u64]) -> Option<Vec<(u64, Vec<u32>)>> {
    let (last, rest) = pages.split_last()?;
    let mut entries: std::collections::VecDeque<_> =
        rest.iter().map(|page| Entry::Page(*page)).chain([Entry::Last(*last)]).collect();
    let room = (PAGE / 4) as usize;
    let mut out = Vec::new();
    for (n, address) in tables.iter().enumerate() {
        let fits = entries.len() <= room;
        let count = if fits { entries.len() } else { room - 1 };
        let mut words: Vec<u32> = entries.drain(..count).map(Entry::emit).collect();
        if !fits {
            words.push(Entry::Link(*tables.get(n + 1)?).emit());
        }
        out.push((*address, words));
        if entries.is_empty() {
            return Some(out);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// DDI 0461, 2.5: each kind of entry, both ways; bits \[39:12] of the address.
    #[test]
    fn kinds() {
        for (word, entry) in [
            (0x0008_0002, Entry::Page(0x0800_0000)),
            (0xffff_fff1, Entry::Last(0xff_ffff_f000)),
            (0x1234_5673, Entry::Link(0x12_3456_7000)),
        ] {
            assert_eq!(Entry::parse(word), Some(entry));
            assert_eq!(entry.emit(), word);
        }
        assert_eq!(Entry::parse(0x0008_0000), None);
    }

    /// Lists with and without links come back.
    #[test]
    fn lists() {
        for count in [1, 2, 1024, 1025, 2048, 5000] {
            let pages: Vec<u64> = (0..count).map(|n| (0x8_0000 + n * 7 % 9973) << 12).collect();
            let addresses: Vec<u64> = (0..8).map(|n| (0x100 + n) << 12).collect();
            let tables = table(&pages, &addresses).unwrap();
            let read = |at: u64| {
                let (_, words) = tables.iter().find(|(start, _)| at & !0xfff == *start)?;
                words.get((at & 0xfff) as usize / 4).copied()
            };
            assert_eq!(entries(addresses[0], 10_000, read), Some(pages));
        }
        // A list without an end.
        assert_eq!(entries(0, 100, |_| Some(Entry::Link(0).emit())), None);
        assert_eq!(entries(0, 100, |_| Some(Entry::Page(0).emit())), None);
        assert_eq!(table(&[0; 1025], &[0]), None);
    }
}

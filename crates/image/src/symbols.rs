//! Symbols of code.

use std::cmp::Reverse;
use std::fmt;

use tracewright_base::is_unshown;

use crate::flat::{Flat, Interval};

/// A name and its code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Symbol<'a> {
    /// The name as in the file, not demangled.
    pub name: &'a str,
    /// Address of the first byte, without an instruction set bit.
    pub start: u64,
    /// Size in bytes.
    pub size: u64,
}

/// Symbols by address. Where symbols overlap, the one with the highest start has the address.
#[derive(Clone, Default)]
pub struct Symbols {
    names: String,
    entries: Vec<Entry>,
    flat: Flat,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Entry {
    start: u64,
    size: u64,
    /// The range of the name in `names`.
    name: (usize, usize),
}

impl Symbols {
    /// A table of `symbols`. If several have the same range, the last one has it. A symbol
    /// without a size is in the table, but it has no addresses. One whose name has characters that
    /// a terminal interprets or does not show is left out.
    pub fn new<'a>(symbols: impl IntoIterator<Item = Symbol<'a>>) -> Symbols {
        let mut table = Symbols::default();
        for symbol in symbols.into_iter().filter(|symbol| !symbol.name.contains(is_unshown)) {
            let from = table.names.len();
            table.names.push_str(symbol.name);
            let name = (from, table.names.len());
            table.entries.push(Entry { start: symbol.start, size: symbol.size, name });
        }
        table.entries.sort_by_key(|entry| (entry.start, Reverse(entry.size)));
        let ranges = table.entries.iter().zip(0..).filter_map(|(entry, item)| {
            let last = entry.start.saturating_add(entry.size.checked_sub(1)?);
            Some(Interval { start: entry.start, last, item })
        });
        table.flat = Flat::new(ranges.collect());
        table
    }

    /// The symbols of both tables.
    #[must_use]
    pub fn and(&self, more: &Symbols) -> Symbols {
        Symbols::new(self.iter().chain(more.iter()))
    }

    /// The symbol whose code is at `address`.
    pub fn at(&self, address: u64) -> Option<Symbol<'_>> {
        let entry = self.entries.get(self.flat.find(address)?.item as usize)?;
        Some(self.symbol(entry))
    }

    /// All symbols in order of their addresses.
    pub fn iter(&self) -> impl Iterator<Item = Symbol<'_>> {
        self.entries.iter().map(|entry| self.symbol(entry))
    }

    /// The number of symbols.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether the table is empty.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    fn symbol(&self, entry: &Entry) -> Symbol<'_> {
        let name = self.names.get(entry.name.0..entry.name.1).unwrap_or_default();
        Symbol { name, start: entry.start, size: entry.size }
    }
}

impl fmt::Debug for Symbols {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn symbol(name: &str, start: u64, size: u64) -> Symbol<'_> {
        Symbol { name, start, size }
    }

    #[test]
    fn the_innermost_symbol_has_the_address() {
        let table = Symbols::new([
            symbol("outer", 0x100, 0x40),
            symbol("alias", 0x180, 0x10),
            symbol("function", 0x180, 0x10),
            symbol("inner", 0x110, 0x10),
            symbol("label", 0x120, 0),
            symbol("last", u64::MAX - 3, 8),
            symbol("odd\u{1b}[31m", 0x200, 4),
        ]);
        for (address, name) in [
            (0xff, None),
            (0x100, Some("outer")),
            (0x10f, Some("outer")),
            (0x110, Some("inner")),
            (0x11f, Some("inner")),
            (0x120, Some("outer")),
            (0x13f, Some("outer")),
            (0x140, None),
            (0x180, Some("function")),
            (0x200, None),
            (u64::MAX, Some("last")),
            (0, None),
        ] {
            assert_eq!(table.at(address).map(|s| s.name), name, "0x{address:x}");
        }
        assert_eq!(table.len(), 6);
    }

    #[test]
    fn tables_join() {
        let a = Symbols::new([symbol("a", 0x10, 4)]);
        let b = Symbols::new([symbol("b", 0x0, 4)]);
        let both = a.and(&b);
        assert!(both.iter().eq([symbol("b", 0x0, 4), symbol("a", 0x10, 4)]));
        assert_eq!(both.at(0x13), Some(symbol("a", 0x10, 4)));
    }
}

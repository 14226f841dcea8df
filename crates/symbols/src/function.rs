//! The functions of a program, by address.

use std::collections::HashMap;

use tracewright_image::Symbols;

use crate::name::{demangled, is_veneer, whole};

/// A function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Function {
    /// The name as people write it: demangled.
    pub name: String,
    /// The name in the symbol table.
    pub symbol: String,
    /// The address of its first instruction.
    pub start: u64,
    /// The address after its code, without the parts that are elsewhere.
    pub end: u64,
    /// Code that only continues in another function: a stub of the procedure linkage table, or a
    /// veneer of the linker.
    pub stub: bool,
}

/// Code that may become a function: a symbol, or a stub without a symbol.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Candidate {
    /// The name in the symbol table.
    pub symbol: String,
    /// The address of its first instruction, without an instruction set bit.
    pub start: u64,
    /// Its size in bytes. Where it is 0, the code extends to the next symbol, or to `limit`.
    pub size: u64,
    /// The end of its section.
    pub limit: u64,
    /// Which of several names of an address is used: the greatest.
    pub rank: u8,
    /// It is a stub.
    pub stub: bool,
}

/// The result of a look-up: the function that has an address, if any, and the addresses around it
/// with the same result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// The first address.
    pub start: u64,
    /// The last address.
    pub last: u64,
    /// The number of the function.
    pub function: Option<u32>,
}

/// The functions of a program.
#[derive(Clone, Debug, Default)]
pub struct Functions {
    functions: Vec<Function>,
    /// Code by address: first address, last address, number of the function. They do not overlap.
    ranges: Vec<(u64, u64, u32)>,
}

impl Functions {
    /// The functions of `candidates`. Where their code overlaps, the one with the highest start has
    /// the address.
    pub fn new(mut candidates: Vec<Candidate>) -> Functions {
        candidates.sort_by(|a, b| {
            let rank = |c: &Candidate| (c.size == 0, u8::MAX - c.rank);
            a.start.cmp(&b.start).then_with(|| rank(a).cmp(&rank(b))).then_with(|| {
                (a.symbol.len(), &a.symbol, a.size).cmp(&(b.symbol.len(), &b.symbol, b.size))
            })
        });
        candidates.dedup_by_key(|candidate| candidate.start);
        let sized = sized(candidates);
        let mut all = Functions::default();
        let mut by_name: HashMap<&str, u32> = HashMap::new();
        for candidate in &sized {
            by_name.entry(&candidate.symbol).or_insert(u32::MAX);
        }
        // The functions that are whole, and then the parts, which have their numbers.
        let mut numbers = vec![u32::MAX; sized.len()];
        let part = |candidate: &Candidate| {
            whole(&candidate.symbol).filter(|name| by_name.contains_key(name)).map(str::to_owned)
        };
        let parts: Vec<Option<String>> = sized.iter().map(part).collect();
        for ((candidate, number), _) in
            sized.iter().zip(&mut numbers).zip(&parts).filter(|(_, part)| part.is_none())
        {
            *number = all.functions.len() as u32;
            if let Some(known) = by_name.get_mut(candidate.symbol.as_str()) {
                *known = (*known).min(*number);
            }
            all.functions.push(Function {
                name: demangled(&candidate.symbol),
                symbol: candidate.symbol.clone(),
                start: candidate.start,
                end: candidate.start.saturating_add(candidate.size),
                stub: candidate.stub || is_veneer(&candidate.symbol),
            });
        }
        for (number, part) in numbers.iter_mut().zip(&parts) {
            if let Some(name) = part {
                *number = by_name.get(name.as_str()).copied().unwrap_or(u32::MAX);
            }
        }
        all.ranges = flat(&sized, &numbers);
        all
    }

    /// The functions of symbols that are in memory already, without their files.
    pub fn of_symbols(symbols: &Symbols) -> Functions {
        let candidate = |symbol: tracewright_image::Symbol<'_>| Candidate {
            symbol: symbol.name.to_owned(),
            start: symbol.start,
            size: symbol.size,
            limit: symbol.start,
            ..Candidate::default()
        };
        Functions::new(symbols.iter().map(candidate).collect())
    }

    /// The function with code at `address`.
    pub fn at(&self, address: u64) -> Found {
        let next = self.ranges.partition_point(|range| range.0 <= address);
        let before = next.checked_sub(1).and_then(|n| self.ranges.get(n));
        match before {
            Some(&(start, last, function)) if address <= last => {
                Found { start, last, function: Some(function) }
            }
            _ => Found {
                start: before.map_or(0, |range| range.1.saturating_add(1)),
                last: self.ranges.get(next).map_or(u64::MAX, |range| range.0.saturating_sub(1)),
                function: None,
            },
        }
    }

    /// Adds the addresses of `other`, which have no function so far, without its functions: they
    /// have the number `u32::MAX`.
    pub(crate) fn cover(&mut self, other: &Functions) {
        self.ranges.extend(other.ranges.iter().map(|(start, last, _)| (*start, *last, u32::MAX)));
        self.ranges.sort_unstable();
        let mut end = None;
        // Where ranges overlap, the first one has the addresses.
        self.ranges.retain_mut(|range| {
            if let Some(end) = end {
                range.0 = range.0.max(end);
            }
            let is_left = range.0 <= range.1 && end != Some(u64::MAX);
            if is_left {
                end = Some(range.1.saturating_add(1));
            }
            is_left
        });
    }

    /// The function with this number.
    pub fn get(&self, number: u32) -> Option<&Function> {
        self.functions.get(number as usize)
    }

    /// All functions, in order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = &Function> {
        self.functions.iter()
    }

    /// The number of functions.
    pub fn len(&self) -> usize {
        self.functions.len()
    }

    /// Whether there are no functions.
    pub fn is_empty(&self) -> bool {
        self.functions.is_empty()
    }
}

/// `candidates`, in order of their addresses, with a size each. One without a size inside the code
/// of another is a label of it, and is not a function.
fn sized(candidates: Vec<Candidate>) -> Vec<Candidate> {
    let mut all: Vec<Candidate> = Vec::with_capacity(candidates.len());
    let mut covered = 0u64;
    let starts: Vec<u64> = candidates.iter().map(|candidate| candidate.start).collect();
    for (n, mut candidate) in candidates.into_iter().enumerate() {
        if candidate.size == 0 {
            let next = starts.get(n + 1).copied().unwrap_or(u64::MAX);
            candidate.size = next.min(candidate.limit).saturating_sub(candidate.start);
            if candidate.start < covered || candidate.size == 0 {
                continue;
            }
        } else {
            covered = covered.max(candidate.start.saturating_add(candidate.size));
        }
        all.push(candidate);
    }
    all
}

/// The code of `candidates` without overlaps.
fn flat(candidates: &[Candidate], numbers: &[u32]) -> Vec<(u64, u64, u32)> {
    let mut ranges: Vec<(u64, u64, u32)> = Vec::with_capacity(candidates.len());
    // Candidates whose code continues after the current address: their ends and numbers.
    let mut open: Vec<(u64, u32)> = Vec::new();
    let mut at = 0;
    let mut close = |open: &mut Vec<(u64, u32)>, at: &mut u64, to: u64| {
        while let Some(&(last, number)) = open.last() {
            if *at <= last && *at < to {
                let end = last.min(to - 1);
                ranges.push((*at, end, number));
                *at = end.saturating_add(1);
            }
            if last >= to {
                break;
            }
            open.pop();
        }
        *at = to;
    };
    for (candidate, &number) in candidates.iter().zip(numbers) {
        close(&mut open, &mut at, candidate.start);
        if let Some(last) = candidate.size.checked_sub(1) {
            open.push((candidate.start.saturating_add(last), number));
        }
    }
    close(&mut open, &mut at, u64::MAX);
    ranges.retain(|range| range.2 != u32::MAX);
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(symbol: &str, start: u64, size: u64) -> Candidate {
        Candidate { symbol: symbol.into(), start, size, limit: 0x1000, ..Candidate::default() }
    }

    fn name(functions: &Functions, address: u64) -> Option<&str> {
        functions.at(address).function.and_then(|n| functions.get(n)).map(|f| f.name.as_str())
    }

    #[test]
    fn functions_by_address() {
        let weak = Candidate { rank: 1, ..code("weak", 0x100, 0x40) };
        let global = Candidate { rank: 2, ..code("global_name", 0x100, 0x40) };
        let functions = Functions::new(vec![
            weak,
            global,
            code("label", 0x120, 0),
            code("inner", 0x110, 8),
            code("start", 0x200, 0),
            code("next", 0x240, 0),
            code("sort", 0x300, 0x20),
            code("sort.cold", 0x800, 0x10),
            code("sort.part.0", 0x810, 0x10),
            code("absent.cold", 0x820, 0x10),
            code("sort.part.0.cold", 0x830, 0x10),
            code("sort.__part.2", 0x840, 0x10),
            code("sort.constprop.0", 0x850, 0x10),
            code("sort.constprop.0.cold.3", 0x860, 0x10),
            code("sort.__part", 0x870, 0x10),
            code("__memcpy_veneer", 0x900, 0x10),
        ]);
        for (address, want) in [
            (0xff, None),
            (0x100, Some("global_name")),
            (0x110, Some("inner")),
            (0x117, Some("inner")),
            (0x118, Some("global_name")),
            (0x120, Some("global_name")),
            (0x13f, Some("global_name")),
            (0x140, None),
            (0x23f, Some("start")),
            (0x2ff, Some("next")),
            (0x300, Some("sort")),
            (0x808, Some("sort")),
            (0x810, Some("sort.part.0")),
            (0x820, Some("absent.cold")),
            (0x830, Some("sort.part.0")),
            (0x840, Some("sort")),
            (0x850, Some("sort.constprop.0")),
            (0x860, Some("sort.constprop.0")),
            (0x870, Some("sort.__part")),
        ] {
            assert_eq!(name(&functions, address), want, "{address:#x}");
        }
        assert_eq!(functions.at(0x141), Found { start: 0x140, last: 0x1ff, function: None });
        assert!(functions.iter().find(|f| f.symbol == "__memcpy_veneer").unwrap().stub);
        assert!(functions.at(0x808).function == functions.at(0x300).function);
        assert_eq!(functions.at(u64::MAX).function, None);
    }

    #[test]
    fn code_to_the_end_of_addresses() {
        let functions = Functions::new(vec![code("last", u64::MAX - 3, 16)]);
        assert_eq!(name(&functions, u64::MAX - 1), Some("last"));
    }
}

//! Samples of the program counter by function.

use std::collections::{BTreeMap, HashMap};

use tracewright_base::Dwt;
use tracewright_symbols::Functions;

/// The samples of the program counter.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    addresses: HashMap<u32, u64>,
    /// Samples while the processor slept.
    pub asleep: u64,
    /// Samples that the security configuration prohibits.
    pub prohibited: u64,
}

/// The samples of one function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SampleRow {
    /// The name of the function; without a symbol, the address.
    pub name: String,
    /// Its first address, or the sampled address without a symbol.
    pub address: u64,
    /// The samples.
    pub samples: u64,
}

impl Samples {
    /// Counts `event`, if it is a sample.
    pub fn event(&mut self, event: Dwt) {
        match event {
            Dwt::PcSample(pc) => *self.addresses.entry(pc).or_default() += 1,
            Dwt::Sleep => self.asleep += 1,
            Dwt::Prohibited => self.prohibited += 1,
            _ => {}
        }
    }

    /// The sampled addresses, and the samples of each.
    pub fn addresses(&self) -> impl Iterator<Item = (u32, u64)> {
        self.addresses.iter().map(|(&pc, &samples)| (pc, samples))
    }

    /// Adds the samples of another source or part.
    pub fn add(&mut self, other: &Samples) {
        for (pc, samples) in other.addresses() {
            *self.addresses.entry(pc).or_default() += samples;
        }
        self.asleep += other.asleep;
        self.prohibited += other.prohibited;
    }

    /// All samples.
    pub fn total(&self) -> u64 {
        self.addresses.values().sum::<u64>() + self.asleep + self.prohibited
    }

    /// The samples of each function, most first. Addresses without a function have a row each.
    pub fn by_function(&self, functions: &Functions) -> Vec<SampleRow> {
        let mut rows: BTreeMap<(u64, Option<u32>), u64> = BTreeMap::new();
        for (&pc, &samples) in &self.addresses {
            let function = functions.at(pc.into()).function;
            let start = function.and_then(|n| functions.get(n)).map_or(pc.into(), |f| f.start);
            *rows.entry((start, function)).or_default() += samples;
        }
        let mut rows: Vec<_> = rows
            .into_iter()
            .map(|((address, function), samples)| SampleRow {
                name: match function.and_then(|n| functions.get(n)) {
                    Some(function) => function.name.clone(),
                    None => format!("0x{address:08x}"),
                },
                address,
                samples,
            })
            .collect();
        rows.sort_by(|a, b| b.samples.cmp(&a.samples).then(a.address.cmp(&b.address)));
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tracewright_symbols::Candidate;

    #[test]
    fn samples_are_counted_by_function() {
        let candidate = |symbol: &str, start| Candidate {
            symbol: symbol.to_owned(),
            start,
            size: 0x10,
            limit: start + 0x10,
            ..Candidate::default()
        };
        let functions =
            Functions::new(vec![candidate("main", 0x100), candidate("_Z3addii", 0x200)]);
        let mut samples = Samples::default();
        for event in [
            Dwt::PcSample(0x104),
            Dwt::PcSample(0x200),
            Dwt::PcSample(0x20e),
            Dwt::PcSample(0x300),
            Dwt::Sleep,
            Dwt::Counters(1),
        ] {
            samples.event(event);
        }
        let rows: Vec<_> = samples
            .by_function(&functions)
            .into_iter()
            .map(|row| (row.name, row.address, row.samples))
            .collect();
        let row = |name: &str, address, samples| (name.to_owned(), address, samples);
        assert_eq!(
            rows,
            [row("add(int, int)", 0x200, 2), row("main", 0x100, 1), row("0x00000300", 0x300, 1)]
        );
        assert_eq!((samples.total(), samples.asleep), (5, 1));
    }
}

//! Where something happened first in a buffer: as keys of a part.
//!
//! A key has the first segment of its unit. So the sum of parts has a key for each unit, and the
//! first one of the whole trace is that of the lowest segment, in whatever order parts are added.

use std::collections::BTreeMap;

use tracewright::base::{Fault, Inconsistency, Space};
use tracewright::decode::{Counts, Tally};

/// The first word of the keys.
pub(crate) const FIRST: &str = "first";

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    Undecodable,
    NoCode,
    Inconsistency,
    ExpansionLimit,
}

const NAMES: [(What, &str); 4] = [
    (What::Undecodable, "undecodable"),
    (What::NoCode, "no-code"),
    (What::Inconsistency, "inconsistency"),
    (What::ExpansionLimit, "expansion-limit"),
];

/// Passes the keys of `tally` to `each`: those of a unit that begins with segment `begin`.
pub(crate) fn put(tally: &Tally, begin: usize, mut each: impl FnMut(String)) {
    for (n, counts) in tally.sources.iter().enumerate() {
        let own = [
            counts.first_undecodable.map(|(at, fault)| {
                let [kind, field] = fault.words();
                vec![at, kind, field]
            }),
            counts.first_no_code.map(|at| vec![at, counts.first_no_code_space.index() as u64]),
            counts.first_inconsistency.map(|(at, inconsistency)| {
                let [kind, address, space] = inconsistency.words();
                vec![at, kind, address, space]
            }),
            counts.first_expansion_limit.map(|at| vec![at]),
        ];
        for ((_, name), words) in NAMES.iter().zip(own) {
            let Some(words) = words else { continue };
            let words: Vec<String> = words.iter().map(|word| format!("{word:x}")).collect();
            each(format!("{FIRST} {begin} {n} {name} {}", words.join(" ")));
        }
    }
}

/// The first places of a buffer, as they are read.
#[derive(Debug, Default)]
pub(crate) struct Firsts(BTreeMap<(usize, What), (usize, Vec<u64>)>);

impl Firsts {
    /// Adds a key, without its first word. `None` where it is none.
    pub(crate) fn add<'a>(&mut self, mut words: impl Iterator<Item = &'a str>) -> Option<()> {
        let begin: usize = words.next()?.parse().ok()?;
        let n: usize = words.next()?.parse().ok()?;
        let name = words.next()?;
        let (what, _) = NAMES.iter().find(|(_, own)| *own == name)?;
        let words: Vec<u64> =
            words.map(|word| u64::from_str_radix(word, 16).ok()).collect::<Option<_>>()?;
        // A key that cannot be read is refused, also where another one is first.
        set(*what, &words, &mut Counts::default())?;
        let own = (begin, words);
        let first = self.0.entry((n, *what)).or_insert_with(|| own.clone());
        if own.0 < first.0 {
            *first = own;
        }
        Some(())
    }

    /// Sets the places of `sources`. `None` where there is no such source.
    pub(crate) fn set(self, sources: &mut [Counts]) -> Option<()> {
        self.0
            .into_iter()
            .try_for_each(|((n, what), (_, words))| set(what, &words, sources.get_mut(n)?))
    }
}

fn set(what: What, words: &[u64], counts: &mut Counts) -> Option<()> {
    match (what, words) {
        (What::Undecodable, &[at, kind, field]) => {
            counts.first_undecodable = Some((at, Fault::of_words([kind, field])?));
        }
        (What::NoCode, &[at, space]) => {
            counts.first_no_code = Some(at);
            counts.first_no_code_space = Space::of_index(usize::try_from(space).ok()?)?;
        }
        (What::Inconsistency, &[at, kind, address, space]) => {
            let own = Inconsistency::of_words([kind, address, space])?;
            counts.first_inconsistency = Some((at, own));
        }
        (What::ExpansionLimit, &[at]) => counts.first_expansion_limit = Some(at),
        _ => return None,
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(tally: &Tally, begin: usize) -> Vec<String> {
        let mut all = Vec::new();
        put(tally, begin, |key| all.push(key));
        all
    }

    #[test]
    fn the_first_place_is_that_of_the_lowest_segment() {
        let tally = |at: u64| Tally {
            sources: vec![
                Counts::default(),
                Counts {
                    first_undecodable: Some((at, Fault::Reserved(0x47))),
                    first_no_code: Some(u64::MAX - at),
                    first_no_code_space: Space::new(Some(2), None),
                    first_inconsistency: Some((at + 1, Inconsistency::AddressNotReached)),
                    first_expansion_limit: Some(at + 2),
                    ..Counts::default()
                },
            ],
            ..Tally::default()
        };
        let all = [keys(&tally(900), 10), keys(&tally(100), 2), keys(&tally(9000), 100)].concat();
        assert_eq!(all.len(), 12);
        for all in [all.clone(), all.iter().rev().cloned().collect()] {
            let mut firsts = Firsts::default();
            for key in &all {
                let mut words = key.split(' ');
                assert_eq!(words.next(), Some(FIRST));
                assert_eq!(firsts.add(words), Some(()), "{key}");
            }
            let mut read = tally(0);
            read.sources.iter_mut().for_each(|own| *own = Counts::default());
            assert_eq!(firsts.set(&mut read.sources), Some(()));
            assert_eq!(read.sources, tally(100).sources);
        }
        for wrong in [
            "",
            "1 0",
            "1 0 other 2",
            "1 0 no-code 2",
            "1 0 undecodable 0 63 0",
            "x 0 expansion-limit 1",
        ] {
            assert_eq!(Firsts::default().add(wrong.split(' ')), None, "{wrong}");
        }
        let mut firsts = Firsts::default();
        assert_eq!(firsts.add("1 7 expansion-limit 1".split(' ')), Some(()));
        assert_eq!(firsts.set(&mut [Counts::default()]), None);
    }
}

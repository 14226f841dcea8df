//! A search for the bytes that make a decoder work most: instructions, output bytes and time for
//! each byte of trace, by protocol. It climbs from the cases of `tests/cases`, with programs that
//! nobody would write: all no-operations, loops of one instruction, straight code between branches.
//!
//! `TRACEWRIGHT_TIMES` is the number of climbs for each protocol. With `--nocapture` the test
//! prints the table of `docs/limits.md`.
#![forbid(unsafe_code)]

#[path = "../cases/case.rs"]
mod case;
mod climb;
mod hostile;
mod measure;
mod programs;

use tracewright::base::MAX_EXPANSION;
use tracewright::image::MAX_BLOCK_INSTRUCTIONS;
use tracewright::protocols::registry::AnyProtocol;
use tracewright_testing::{Random, times};

use case::Case;
use climb::{Best, Goal, climb};

/// How often the search climbs for each protocol where `TRACEWRIGHT_TIMES` is not set.
const CLIMBS: u64 = 1;

/// The maximum number of atoms in a byte, of any protocol.
const MAX_ATOMS: f64 = 24.0;

/// The limit of instructions holds for the worst trace that the search finds.
#[test]
fn instructions_for_each_byte() {
    let cases: Vec<Case> = Case::all().into_iter().filter_map(|(_, case)| case.ok()).collect();
    let mut searches: Vec<Search> = (1..)
        .zip(AnyProtocol::ALL)
        .map(|(n, &protocol)| {
            let fits = |case: &&Case| {
                case.protocol == Some(protocol) && case.bytes.len() <= climb::MAX_LEN
            };
            let seeds = cases.iter().filter(fits).collect();
            Search { protocol, seeds, random: Random::new(n), best: Default::default() }
        })
        .collect();
    let climbs = times(CLIMBS);
    for time in 0..climbs {
        for search in &mut searches {
            search.climb(Goal::ALL[time as usize % Goal::ALL.len()]);
        }
        if time + 1 == climbs || (time + 1).is_multiple_of(Goal::ALL.len() as u64) {
            print(&searches, time + 1);
        }
    }
}

/// The search for one protocol.
struct Search<'a> {
    protocol: AnyProtocol,
    seeds: Vec<&'a Case>,
    random: Random,
    /// One for each of [`Goal::ALL`].
    best: [Best; 5],
}

impl Search<'_> {
    fn climb(&mut self, goal: Goal) {
        climb(&self.seeds, goal, &mut self.random, &mut self.best);
        // A block is always followed, so one byte may have as many blocks as atoms.
        let limit = f64::from(MAX_EXPANSION).max(MAX_ATOMS * f64::from(MAX_BLOCK_INSTRUCTIONS));
        let worst = &self.best[Goal::Instructions as usize];
        assert!(worst.ratio <= limit, "{:?}: {:02x?}", self.protocol, worst);
        // Other elements than ranges are a few for each byte.
        let worst = &self.best[Goal::Elements as usize];
        assert!(worst.ratio <= self.ranges() + 8.0, "{:?}: {:02x?}", self.protocol, worst);
    }
}

impl Search<'_> {
    /// The most ranges of a byte, as in the table of `docs/limits.md`.
    fn ranges(&self) -> f64 {
        let limit = f64::from(MAX_EXPANSION);
        match self.protocol {
            AnyProtocol::Etmv4 | AnyProtocol::Ete => limit / 17.0,
            AnyProtocol::Mtb => limit / 520.0,
            AnyProtocol::Etrace => 2.0 * limit / 65.0,
            _ => 16.0,
        }
    }
}

/// Prints the table, and the bytes of the worst traces.
fn print(searches: &[Search<'_>], climbs: u64) {
    println!("after {climbs} climbs for each protocol:");
    for search in searches {
        for (goal, best) in Goal::ALL.iter().zip(&search.best) {
            println!("{:?} {goal:?} {:x?}: {:02x?}", search.protocol, best.program, best.bytes);
        }
    }
    println!("| protocol | instructions | elements | text | JSON | nanoseconds |");
    for search in searches {
        let row = search.best.each_ref().map(|best| format!("{:.0}", best.ratio)).join(" | ");
        println!("| {} | {row} |", search.protocol.about().names[0]);
    }
}

//! There and back: steps through a trace unit and a decoder, and whether what comes out is what ran.

mod filter;
mod matching;

use std::sync::Arc;

use tracewright_base::{Context, CoreType, Counted, Element, OffsetMap, Piece, Step, Transaction};
use tracewright_image::{Cache, CacheOptions, Image};
use tracewright_protocols::encoders::AnyUnit;
use tracewright_protocols::registry::{AnyConfig, AnyProtocol};

use self::filter::Included;
use crate::expand::{Expand, Ran};

/// One way through a trace unit.
#[derive(Clone, Debug)]
pub struct Way {
    /// The protocol.
    pub protocol: AnyProtocol,
    /// What the unit watches.
    pub core: Option<CoreType>,
    /// Registers and settings by name, where they are not as in a usual unit.
    pub registers: Vec<(&'static str, u64)>,
}

/// What was carried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoundTrip {
    /// Bytes of trace.
    pub bytes: usize,
    /// Instructions that came back.
    pub instructions: usize,
    /// Those that could not: after the last waypoint of a run, or lost on purpose.
    pub hidden: usize,
    /// Exceptions that came back.
    pub exceptions: usize,
    /// Stretches that begin with a Trace On.
    pub chunks: usize,
}

impl Way {
    /// The value of a register or a setting.
    pub fn register(&self, name: &str) -> Option<u64> {
        let usual = AnyUnit::usual(self.protocol).iter();
        let mut all = self.registers.iter().rev().chain(usual);
        all.find(|(known, _)| *known == name).map(|&(_, value)| value)
    }

    /// The trace of `steps`, and the configuration that decodes it.
    ///
    /// # Errors
    /// Where the protocol has no trace unit, or a register is missing.
    pub fn encode(&self, steps: &[Step]) -> Result<(AnyConfig, Vec<u8>), String> {
        let unit = AnyUnit::new(self.protocol, self.core, &|name| self.register(name));
        let mut unit = unit.map_err(|e| e.to_string())?.ok_or("no trace unit")?;
        let mut bytes = Vec::new();
        unit.steps(steps, &mut bytes);
        unit.finish(&mut bytes);
        Ok((unit.config(), bytes))
    }

    /// Carries `steps`, which `image` has the code of, there and back.
    ///
    /// # Errors
    /// The first difference, in words.
    pub fn round_trip(&self, image: &Arc<Image>, steps: &[Step]) -> Result<RoundTrip, String> {
        let (config, bytes) = self.encode(steps)?;
        let ran = decode(&config, image, &bytes);
        self.compare(&config, &without_cancelled(steps), &ran)
            .map(|carried| RoundTrip { bytes: bytes.len(), ..carried })
    }

    fn compare(
        &self,
        config: &AnyConfig,
        steps: &[Step],
        ran: &[(u64, Ran)],
    ) -> Result<RoundTrip, String> {
        let included = Included::new(self, config, steps);
        let mut carried = matching::chunks(config, &included, steps, ran)?;
        carried.hidden = included.retired() - carried.instructions;
        // A Q element counts instructions after the last waypoint, too.
        let some = self.register("q-elements").unwrap_or(0) > 0;
        let good = if some { usize::le } else { usize::eq };
        if !included.lossy && !good(&carried.hidden, &included.hidden) {
            let (hidden, want) = (carried.hidden, included.hidden);
            return Err(format!("{hidden} instructions are hidden, and {want} must be"));
        }
        self.compare_rest(config, &included, steps, ran)?;
        Ok(carried)
    }

    /// Time, cycles, events, transactions.
    fn compare_rest(
        &self,
        config: &AnyConfig,
        included: &Included,
        steps: &[Step],
        ran: &[(u64, Ran)],
    ) -> Result<(), String> {
        let elements = || {
            ran.iter().filter_map(|(at, ran)| match ran {
                Ran::Element(element) => Some((*at, *element)),
                _ => None,
            })
        };
        let lossy = included.full;
        let on = || steps.iter().zip(&included.on).filter(|(_, on)| **on).map(|(step, _)| *step);
        let configuration = self.register("TRCCONFIGR").unwrap_or(0);

        let mut got: Vec<u64> = elements().filter_map(|(_, e)| time(e)).collect();
        let mut want: Vec<u64> = on()
            .filter(|_| configuration >> 11 & 1 != 0)
            .filter_map(|step| if let Step::Timestamp(value) = step { Some(value) } else { None })
            .collect();
        // The time is said again after a synchronisation.
        got.dedup();
        want.dedup();
        same("timestamps", &got, &want, lossy)?;

        let mask = self.register("TRCEVENTCTL1R").unwrap_or(0xf) as u8;
        let got: Vec<u8> = elements()
            .filter_map(|(_, e)| if let Element::Events(events) = e { Some(events) } else { None })
            .collect();
        let want: Vec<u8> = on()
            .filter_map(|step| if let Step::Events(e) = step { Some(e & mask) } else { None })
            .filter(|&events| events != 0)
            .collect();
        same("events", &got, &want, lossy)?;

        let got: Vec<u64> = elements()
            .filter_map(|(_, e)| match e {
                Element::Instrumentation { value, .. } => Some(value),
                _ => None,
            })
            .collect();
        let instrumented = matches!(config, AnyConfig::Ete(c) if c.version() >= 0x53);
        if !got.is_empty() || instrumented && configuration >> 18 & 1 != 0 {
            let want: Vec<u64> = on()
                .filter_map(|step| match step {
                    Step::Instrumentation { value, .. } => Some(value),
                    _ => None,
                })
                .collect();
            same("instrumentation", &got, &want, lossy)?;
        }

        if !included.lossy && self.protocol == AnyProtocol::Ete {
            let got: Vec<Transaction> = elements()
                .filter_map(|(_, e)| match e {
                    Element::Transaction(step) if step != Transaction::Inside => Some(step),
                    _ => None,
                })
                .collect();
            let want: Vec<Transaction> = on()
                .filter_map(|step| match step {
                    Step::Transaction(step) => Some(step),
                    _ => None,
                })
                .collect();
            // Of those that were never committed the end says nothing.
            same("transactions", &got, &want, true)?;
        }
        self.compare_cycles(steps, elements())
    }

    /// Every count of cycles is the sum of what passed, up to some step.
    fn compare_cycles(
        &self,
        steps: &[Step],
        elements: impl Iterator<Item = (u64, Element)>,
    ) -> Result<(), String> {
        let mut sums = vec![0u64];
        for step in steps {
            if let Step::Cycles(cycles) = step {
                sums.push(sums.last().unwrap_or(&0) + u64::from(*cycles));
            }
        }
        let (mut sum, mut certain) = (0, true);
        for (at, element) in elements {
            match element {
                Element::Cycles(Some(cycles)) => sum += u64::from(cycles),
                // From here on the sum is not known.
                Element::Cycles(None) => certain = false,
                _ => continue,
            }
            if certain && sums.binary_search(&sum).is_err() {
                return Err(format!("{at}: {sum} cycles in all, which no step says"));
            }
        }
        let counting = self.register("TRCCONFIGR").unwrap_or(0) >> 4 & 1 != 0;
        let total = *sums.last().unwrap_or(&0);
        if counting && certain && total > 10_000 && sum == 0 {
            return Err(format!("no cycles of {total}"));
        }
        Ok(())
    }
}

/// What a decoder says of `bytes`, expanded.
pub fn decode(config: &AnyConfig, image: &Arc<Image>, bytes: &[u8]) -> Vec<(u64, Ran)> {
    // Every other time with blocks that are made ahead, as where code is large.
    let explored = if bytes.len().is_multiple_of(2) { 0 } else { usize::MAX };
    let options = CacheOptions { explored, ..CacheOptions::default() };
    let cache = || Cache::new(image.clone(), config.waypoints(), options);
    let mut ran = Vec::new();
    let mut sink = Expand::new(cache(), |at, what| ran.push((at, what)));
    let (mut code, mut stream) = (cache(), config.stream());
    let pieces = [Piece { start: 0, at: 0, fragment: true }];
    let offsets = OffsetMap::new(&pieces);
    let taken = stream.feed(bytes, &offsets, &mut code, &mut sink);
    let rest = bytes.get(taken..).unwrap_or_default();
    stream.finish(rest, &offsets, &mut code, &mut sink);
    ran
}

/// The same without instructions that ran again after all.
fn without_cancelled(steps: &[Step]) -> Vec<Step> {
    let mut kept: Vec<Step> = Vec::with_capacity(steps.len());
    for step in steps {
        if matches!(step, Step::Exception(e) if e.cancels) {
            let last = kept.iter().rposition(|step| matches!(step, Step::Retired(_)));
            kept.drain(last.unwrap_or(kept.len())..last.map_or(kept.len(), |n| n + 1));
        }
        kept.push(*step);
    }
    kept
}

fn time(element: Element) -> Option<u64> {
    if let Element::Timestamp { value, .. } = element { Some(value) } else { None }
}

/// Whether two lists are the same; `part`: whether the first is a part of the second.
fn same<T: PartialEq + std::fmt::Debug>(
    what: &str,
    got: &[T],
    want: &[T],
    part: bool,
) -> Result<(), String> {
    let good = if part {
        let mut all = want.iter();
        got.iter().all(|g| all.any(|w| w == g))
    } else {
        got == want
    };
    if good {
        return Ok(());
    }
    let at = got.iter().zip(want).take_while(|(g, w)| g == w).count();
    let next = |list: &[T]| list.get(at).map(|item| format!("{item:?}"));
    let (n, m) = (got.len(), want.len());
    Err(format!(
        "{what}: {n} of {m}, and number {at} is {:?}, not {:?}",
        next(got).unwrap_or_default(),
        next(want).unwrap_or_default()
    ))
}

/// What of a context a trace shows: identifiers that it does not carry are zero.
fn shown(context: &Context, vmid: bool, id: bool) -> (u8, Option<u8>, bool, u32, u32) {
    (
        context.el.unwrap_or(0),
        context.security.map(|security| security as u8),
        context.bits64,
        context.vmid.filter(|_| vmid).unwrap_or(0),
        context.context_id.filter(|_| id).unwrap_or(0),
    )
}

/// A count, as a number.
fn counted(count: Counted) -> Option<usize> {
    count.get().map(|count| count as usize)
}

#[cfg(test)]
mod tests;

//! Round trips: steps are encoded by a trace unit and decoded, and the result is compared.

mod filter;
mod matching;

use std::sync::Arc;

use tracewright_base::{Context, CoreType, Counted, Element, OffsetMap, Piece, Step, Transaction};
use tracewright_image::{Cache, CacheOptions, Image};
use tracewright_protocols::encoders::AnyUnit;
use tracewright_protocols::registry::{AnyConfig, AnyProtocol};

use self::filter::Included;
use crate::expand::{Expand, Ran};

/// A configuration of a trace unit.
#[derive(Clone, Debug)]
pub struct Way {
    /// The protocol.
    pub protocol: AnyProtocol,
    /// The observed core.
    pub core: Option<CoreType>,
    /// Registers and settings by name, in place of those of a usual unit.
    pub registers: Vec<(&'static str, u64)>,
}

/// Totals of a round trip.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoundTrip {
    /// Bytes of trace.
    pub bytes: usize,
    /// Decoded instructions.
    pub instructions: usize,
    /// Instructions without trace: after the last waypoint of a run, or lost by an overflow.
    pub hidden: usize,
    /// Decoded exceptions.
    pub exceptions: usize,
    /// Chunks that begin with a Trace On element.
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
    /// A message if the protocol has no trace unit, or a register is missing.
    pub fn encode(&self, steps: &[Step]) -> Result<(AnyConfig, Vec<u8>), String> {
        let unit = AnyUnit::new(self.protocol, self.core, &|name| self.register(name));
        let mut unit = unit.map_err(|e| e.to_string())?.ok_or("no trace unit")?;
        let mut bytes = Vec::new();
        unit.steps(steps, &mut bytes);
        unit.finish(&mut bytes);
        Ok((unit.config(), bytes))
    }

    /// Encodes and decodes `steps` of the program in `image`, and compares the result.
    ///
    /// # Errors
    /// A description of the first difference.
    pub fn round_trip(&self, image: &Arc<Image>, steps: &[Step]) -> Result<RoundTrip, String> {
        let (config, bytes) = self.encode(steps)?;
        let ran = decode(&config, image, &bytes);
        self.compare(&config, &without_cancelled(steps), &ran)
            .map(|totals| RoundTrip { bytes: bytes.len(), ..totals })
    }

    fn compare(
        &self,
        config: &AnyConfig,
        steps: &[Step],
        ran: &[(u64, Ran)],
    ) -> Result<RoundTrip, String> {
        let included = Included::new(self, config, steps);
        let mut totals = matching::chunks(config, &included, steps, ran)?;
        totals.hidden = included.retired() - totals.instructions;
        // A Q element includes instructions after the last waypoint.
        let some = self.register("q-elements").unwrap_or(0) > 0;
        let good = if some { usize::le } else { usize::eq };
        if !included.lossy && !good(&totals.hidden, &included.hidden) {
            let (hidden, want) = (totals.hidden, included.hidden);
            return Err(format!("{hidden} instructions are hidden, and {want} must be"));
        }
        self.compare_rest(config, &included, steps, ran)?;
        Ok(totals)
    }

    /// Compares timestamps, cycles, events and transactions.
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
        // The timestamp is repeated after a synchronization.
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
            // The end of the trace does not resolve uncommitted transactions.
            same("transactions", &got, &want, true)?;
        }
        self.compare_cycles(steps, elements())
    }

    /// Each sum of cycle counts is the sum of the cycles of the steps up to some step.
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
                // The sum is unknown from here on.
                Element::Cycles(None) => certain = false,
                _ => continue,
            }
            if certain && sums.binary_search(&sum).is_err() {
                return Err(format!("{at}: a sum of {sum} cycles, which matches no step"));
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

/// Decodes and expands `bytes`.
pub fn decode(config: &AnyConfig, image: &Arc<Image>, bytes: &[u8]) -> Vec<(u64, Ran)> {
    // Half of the traces use a cache with prefetched blocks, as for large code.
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

/// The steps without cancelled instructions.
fn without_cancelled(steps: &[Step]) -> Vec<Step> {
    let mut retained: Vec<Step> = Vec::with_capacity(steps.len());
    for step in steps {
        if matches!(step, Step::Exception(e) if e.cancels) {
            let last = retained.iter().rposition(|step| matches!(step, Step::Retired(_)));
            retained.drain(last.unwrap_or(retained.len())..last.map_or(retained.len(), |n| n + 1));
        }
        retained.push(*step);
    }
    retained
}

fn time(element: Element) -> Option<u64> {
    if let Element::Timestamp { value, .. } = element { Some(value) } else { None }
}

/// Compares two lists. `part`: the first list may be a subsequence of the second.
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

/// The part of a context that the trace contains. Untraced identifiers are zero.
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

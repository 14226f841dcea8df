//! RISC-V trace in `perf.data`: N-Trace in formatter frames, as the patches of SpacemiT for perf
//! record it. (tools/perf/util/rvtrace.h and util/rvtrace.c of github.com/lz-bro/linux, commits
//! 6047a9cb0cde and ca872a3c086d, 2026; Linux has no such driver)

use std::collections::BTreeMap;

use tracewright_base::Invalid;
use tracewright_frames::{Event, Split};

use super::Ids;
use super::pieces::Piece;
use super::riscv_unit::{MARK, NAMES, numbers};
use super::units::{Unit, Units};

/// The type of its AUXTRACE_INFO.
pub const RISCV_TRACE: u32 = 8;

/// `trTeFormat` of N-Trace.
const NTRACE: u64 = 1;

/// The most bits of SRC.
const MAX_SOURCE_BITS: u64 = 12;

/// Reads the words of AUXTRACE_INFO: the PMU and the number of CPUs; of each CPU its number, the
/// number of parameters, and these.
///
/// # Errors
/// What is wrong with them, or cannot be decoded.
pub(super) fn units(words: &[u64]) -> Result<Units, Invalid> {
    let Some((&pmu_and_count, mut rest)) = words.split_first() else {
        return Err("AUXTRACE_INFO of RISC-V trace has no words".into());
    };
    let count = pmu_and_count & u64::from(u32::MAX);
    if rest.is_empty() {
        return Err(
            "it contains RISC-V trace without the parameters of its encoders, and only that \
                    with parameters can be decoded"
                .into(),
        );
    }
    let pmu = (pmu_and_count >> 32) as u32;
    let mut units = Units { version: 0, pmu, snapshot: false, cpus: BTreeMap::new() };
    for n in 0..count {
        let short = || format!("AUXTRACE_INFO ends within the trace unit {n} of {count}");
        let &[cpu, len, ref after @ ..] = rest else { return Err(short().into()) };
        let len = usize::try_from(len).ok().filter(|len| *len >= NAMES.len());
        let (params, after) = len.and_then(|len| after.split_at_checked(len)).ok_or_else(short)?;
        let cpu = u32::try_from(cpu).map_err(|_| format!("CPU {cpu} has no 32-bit number"))?;
        // Parameters after the known ones are those of a later perf.
        let params = params.get(..NAMES.len()).unwrap_or(params).to_vec();
        let unit = Unit { mark: MARK, params };
        if unit.get("format") != Some(NTRACE) {
            return Err(format!(
                "the trace of cpu{cpu} is E-Trace or of a vendor, and only the parameters of \
                 N-Trace are known"
            )
            .into());
        }
        if let Some(bits) = unit.get("source_bits").filter(|bits| *bits > MAX_SOURCE_BITS) {
            let why =
                format!("SRC of cpu{cpu} has {bits} bits, and {MAX_SOURCE_BITS} are the most");
            return Err(why.into());
        }
        units.cpus.insert(cpu, unit);
        rest = after;
    }
    Ok(units)
}

/// The source numbers of the messages of each trace ID.
struct Numbers {
    /// The width of SRC.
    bits: u32,
    ids: BTreeMap<u8, Messages>,
}

/// The messages of one trace ID.
#[derive(Default)]
struct Messages {
    /// Data bits from the beginning of the message on, and their number; `None` before the first
    /// message.
    begun: Option<(u64, u32)>,
    /// The number of messages by source number.
    counts: BTreeMap<u64, u64>,
}

/// Width of TCODE, which precedes SRC.
const TCODE_BITS: u32 = 6;

impl Split for Numbers {
    fn piece(&mut self, id: u16, _: u64, _: bool, bytes: &[u8]) {
        let messages = self.ids.entry(id as u8).or_default();
        for &byte in bytes {
            let ends = byte & 0b11 == 0b11;
            let Some((data, len)) = &mut messages.begun else {
                messages.begun = ends.then_some((0, 0));
                continue;
            };
            let is_idle = *len == 0 && (ends || byte == 0);
            if is_idle {
                continue;
            }
            let end = TCODE_BITS + self.bits;
            if *len < end {
                *data |= u64::from(byte >> 2) << *len;
                if *len + 6 >= end {
                    let number = *data >> TCODE_BITS & !(u64::MAX << self.bits);
                    *messages.counts.entry(number).or_default() += 1;
                }
            }
            *len = len.saturating_add(6);
            if ends {
                (*data, *len) = (0, 0);
            }
        }
    }

    fn event(&mut self, _: u64, _: Event) {}
}

/// The trace ID of each CPU, which AUXTRACE_INFO does not have: the one of the messages with the
/// source number of its encoder; without SRC the only ID in the trace of the CPU.
pub(super) fn ids(pieces: &[Piece], units: &Units) -> Ids {
    let mut ids = Ids::new();
    let bits = units.cpus.values().map(|unit| numbers(&unit.params).0).max().unwrap_or(0);
    let mut numbers_of = Numbers { bits, ids: BTreeMap::new() };
    let mut block = Vec::new();
    for piece in pieces {
        numbers_of.ids.values_mut().for_each(|messages| messages.begun = None);
        if bits > 0 {
            piece.split(&mut numbers_of, &mut block);
            continue;
        }
        let found = piece.ids(&mut block);
        if let (Some(cpu), Some(id), 1) = (piece.cpu(), found.first(), found.len()) {
            ids.insert(cpu, (*id as u8, None));
        }
    }
    for (id, messages) in &numbers_of.ids {
        let most = messages.counts.iter().max_by_key(|(_, count)| **count);
        let of = |unit: &Unit| Some(numbers(&unit.params).1) == most.map(|(number, _)| *number);
        if let Some((cpu, _)) = units.cpus.iter().find(|(_, unit)| of(unit)) {
            ids.insert(*cpu, (*id, None));
        }
    }
    ids
}

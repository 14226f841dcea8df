//! Words of the RAM of an Embedded Trace Buffer that is 24 bits wide.
//!
//! A word holds three samples of a 4-bit port, two of an 8-bit port or one of a 16-bit port, the
//! first in the low bits. A sample is PIPESTAT\[2:0], then TRACEPKT, then TRACESYNC; an ETMv2 has
//! PIPESTAT\[3] in the place of TRACESYNC, whose wire it shares. (IHI 0014, Table 8-2)

use super::{Cycle, Width};

/// Samples in a word, and bits of each.
const fn layout(width: Width) -> (u32, u32) {
    match width {
        Width::W4 => (3, 8),
        Width::W8 => (2, 12),
        Width::W16 => (1, 20),
    }
}

/// The samples of `words`, in the order of the words.
pub fn read(words: impl IntoIterator<Item = u32>, width: Width) -> impl Iterator<Item = Cycle> {
    let (samples, bits) = layout(width);
    words
        .into_iter()
        .flat_map(move |word| (0..samples).map(move |n| sample(word >> (n * bits), width)))
}

/// The words of `cycles`. What does not fill the last word is Trace Disabled.
pub fn write(cycles: impl IntoIterator<Item = Cycle>, width: Width) -> impl Iterator<Item = u32> {
    let (samples, bits) = layout(width);
    let mut cycles = cycles.into_iter();
    core::iter::from_fn(move || {
        let mut word = bits_of(cycles.next()?, width);
        for n in 1..samples {
            let cycle = cycles.next().unwrap_or(Cycle::NOTHING);
            word |= bits_of(cycle, width) << (n * bits);
        }
        Some(word)
    })
}

/// The words of the RAM in the order in which they were written: from `write_pointer` round where
/// the RAM has been filled (STATUS.Full), else from word 0 to it.
pub fn in_order(ram: &[u32], write_pointer: usize, full: bool) -> impl Iterator<Item = u32> + '_ {
    let (newest, oldest) = ram.split_at(write_pointer.min(ram.len()));
    let oldest = if full { oldest } else { &[] };
    oldest.iter().chain(newest).copied()
}

fn sample(bits: u32, width: Width) -> Cycle {
    let sync = bits >> (3 + width.pins()) & 1 != 0;
    Cycle { status: (bits & 0b111) as u8, sync, packet: (bits >> 3) as u16 & width.mask() }
}

fn bits_of(cycle: Cycle, width: Width) -> u32 {
    u32::from(cycle.status & 0b111)
        | u32::from(cycle.packet & width.mask()) << 3
        | u32::from(cycle.sync) << (3 + width.pins())
}

//! What a message may cost, and what it takes from the reserve.

use tracewright_base::Code;

use super::Decoder;

/// What a message may cost.
#[derive(Clone, Copy)]
pub(super) struct Granted {
    /// The number of instructions.
    pub(super) all: u64,
    /// What of it does not come from the reserve.
    pub(super) free: u64,
    /// What an instruction counts, as a power of two: a block may have one only, and where the
    /// message has the number of half-words, a jump counts as any other.
    weight: u32,
}

/// What an instruction counts where the message has the number of half-words, as a power of two.
const COUNTED: u32 = 4;

/// What is free where it has not, as a multiple.
const UNCOUNTED: u64 = 1 << 4;

/// What a range of a listed turn counts in addition to its instructions.
pub(super) const RANGE: u64 = 1 << 6;

/// What an instruction of a turn that is followed counts, after the first turn.
pub(super) const FOLLOWED: u64 = 1 << 7;

/// What the block of a branch that goes as predicted counts in addition, where each instruction
/// counts `1 << COUNTED`.
pub(super) const PREDICTED: u64 = (RANGE >> COUNTED) - 1;

/// The TCODE of ResourceFull. Its path is followed up to the last outcome; those of all other
/// messages have a number of half-words.
pub(super) const RESOURCE_FULL: u8 = 27;

/// The instructions of a byte of a message that do not come from the reserve.
#[derive(Clone, Copy)]
pub(super) struct PerByte {
    counted: u64,
    uncounted: u64,
}

impl PerByte {
    pub(super) fn of<C: Code>(code: &C) -> PerByte {
        let (free, most) = (code.work_reserve().free(), u64::from(code.max_expansion()));
        PerByte { counted: most.min(free >> COUNTED), uncounted: most.min(free * UNCOUNTED) }
    }

    /// Those of a message of `len` bytes.
    #[inline]
    pub(super) fn free(self, len: usize, tcode: u8) -> u64 {
        len as u64 * if tcode == RESOURCE_FULL { self.uncounted } else { self.counted }
    }
}

impl Granted {
    /// Of a message of `len` bytes at offset `at`.
    pub(super) fn of<C: Code>(at: u64, len: usize, tcode: u8, code: &C) -> Granted {
        let (reserve, len) = (code.work_reserve(), len.max(1));
        let free = PerByte::of(code).free(len, tcode);
        let most = len as u64 * u64::from(code.max_expansion());
        let weight = if tcode == RESOURCE_FULL { 0 } else { COUNTED };
        Granted { all: (free + (reserve.left(at) >> weight)).min(most), free, weight }
    }
}

impl Decoder {
    /// The message at offset `at` ends: what it has cost is taken.
    pub(super) fn settle_cost<C: Code>(&mut self, at: u64, granted: Granted, code: &mut C) {
        let walked = (granted.all - self.allowance).saturating_sub(self.turns);
        let cost = (walked.saturating_sub(granted.free) << granted.weight) + self.listed;
        (self.allowance, self.turns, self.listed) = (0, 0, 0);
        if cost > 0 {
            let mut reserve = code.work_reserve();
            reserve.spend(at, cost);
            code.set_work_reserve(reserve);
        }
    }
}

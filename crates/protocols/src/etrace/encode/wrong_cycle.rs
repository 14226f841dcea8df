//! Cycles of the ingress port that the port does not have. (0.026, "Instruction Interface")

use core::fmt;

use super::{Block, Cycle, Itype};
use crate::etrace::config::Params;
use crate::ingress_port::has_size;

/// Why a cycle is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WrongCycle {
    /// A block follows one that is empty, or is beyond `taken_branches`.
    Group,
    /// A block follows an exception or interrupt: only the newest block can have one.
    Trap,
    /// The port has no code for the end of a block: jumps in 3 bits of 0.026.
    Itype(Itype),
    /// A block has more half words than `iretire_width` can count.
    Retired,
    /// A block has more branches not taken than `ntkn_width` can count.
    NotTaken,
    /// The last of several instructions has a size that `ilastsize_width` does not have.
    LastSize,
}

impl fmt::Display for WrongCycle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            WrongCycle::Group => "a block is after an empty one, or beyond taken_branches",
            WrongCycle::Trap => "a block is after the exception or interrupt of the cycle",
            WrongCycle::Itype(_) => "itype_width has no code for the end of a block",
            WrongCycle::Retired => "iretire_width cannot count the half words of a block",
            WrongCycle::NotTaken => "ntkn_width cannot count the branches of a block",
            WrongCycle::LastSize => "ilastsize_width has no code for the last instruction",
        })
    }
}

impl core::error::Error for WrongCycle {}

impl Cycle {
    /// Checks that the port of a unit with the parameters `params` has such a cycle.
    ///
    /// # Errors
    /// [`WrongCycle`] for the first signal that it does not have.
    pub fn check(&self, params: &Params) -> Result<(), WrongCycle> {
        let port = &params.port;
        let (mut ended, mut trapped) = (false, false);
        for (n, block) in self.blocks.iter().enumerate() {
            if block.is_empty() {
                ended = true;
                continue;
            }
            if trapped {
                return Err(WrongCycle::Trap);
            }
            if ended || n >= port.taken_branches.max(1).into() {
                return Err(WrongCycle::Group);
            }
            trapped = block.itype.is_trap();
            block.check(params)?;
        }
        Ok(())
    }
}

impl Block {
    fn check(&self, params: &Params) -> Result<(), WrongCycle> {
        let port = &params.port;
        if self.itype.code(params.version, port.itype_width, self.sijump).is_none() {
            return Err(WrongCycle::Itype(self.itype));
        }
        if u32::from(self.iretire) >= 1 << port.iretire_width.min(16) {
            return Err(WrongCycle::Retired);
        }
        if params.is_draft() && self.ntkn > most_not_taken(params) {
            return Err(WrongCycle::NotTaken);
        }
        let several = self.iretire > self.ilastsize.into();
        if several && !has_size(self.ilastsize, port.ilastsize_width) {
            return Err(WrongCycle::LastSize);
        }
        Ok(())
    }
}

/// The most branches not taken in a block. (`ntkn_width`)
pub(super) const fn most_not_taken(params: &Params) -> u8 {
    match params.port.ntkn_width {
        width @ 0..=7 => (1 << width) - 1,
        _ => u8::MAX,
    }
}

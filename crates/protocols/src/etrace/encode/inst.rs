//! An instruction as the algorithm sees it.

use super::ingress::Itype;

/// What there is to know of an instruction, as bits.
pub(super) mod is {
    /// A trap comes after it, or it is nothing but a trap.
    pub const TRAP: u32 = 1;
    /// The trap is an interrupt.
    pub const INTERRUPT: u32 = 1 << 1;
    /// Nothing was retired.
    pub const ONLY: u32 = 1 << 2;
    /// A conditional branch.
    pub const BRANCH: u32 = 1 << 3;
    /// It was taken.
    pub const TAKEN: u32 = 1 << 4;
    /// The program does not say what comes next.
    pub const UPDISCON: u32 = 1 << 5;
    /// A call.
    pub const CALL: u32 = 1 << 6;
    /// A return.
    pub const RETURN: u32 = 1 << 7;
    /// A co-routine swap.
    pub const SWAP: u32 = 1 << 8;
    /// Its target is in the instruction before it.
    pub const SEQUENTIAL: u32 = 1 << 9;
    /// Its address is asked for.
    pub const NOTIFY: u32 = 1 << 10;
    /// It does not pass the filters, or there is none: tracing is off.
    pub const UNQUALIFIED: u32 = 1 << 11;
    /// Privilege or a precise context is another than before it.
    pub const CHANGED: u32 = 1 << 12;
    /// The context changed, and the last instruction before it is to be reported, too.
    pub const DISCONTINUITY: u32 = 1 << 13;
    /// The context changed, and may be reported when convenient.
    pub const IMPRECISE: u32 = 1 << 14;
    /// Its `itype` is not 0.
    pub const SPECIAL: u32 = 1 << 15;
    /// Packets were lost before it.
    pub const AFTER_LOSS: u32 = 1 << 16;
    /// Tracing ends for good.
    pub const DISABLED: u32 = 1 << 17;
    /// A precise context is another than before it.
    pub const CONTEXT: u32 = 1 << 18;

    /// What an instruction is because of the one before it.
    pub const CHANGES: u32 = CHANGED | DISCONTINUITY | IMPRECISE | AFTER_LOSS | CONTEXT;
}

/// An instruction, or a trap without one, in the three stages of the encoder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Inst {
    /// Its address; without an instruction: of what trapped.
    pub address: u64,
    /// The address after it.
    pub after: u64,
    /// Half words that were retired with it: of its block, if it ends one.
    pub halfwords: u16,
    /// See [`is`].
    pub flags: u32,
    /// Branches not taken in the block before it. (0.026)
    pub not_taken: u8,
    pub privilege: u8,
    pub context: u32,
    pub time: u64,
    pub cause: u64,
    pub tval: u64,
}

impl Inst {
    #[inline]
    pub const fn is(&self, flags: u32) -> bool {
        self.flags & flags != 0
    }

    /// What an `itype` says.
    #[inline]
    pub const fn flags(itype: Itype, sijump: bool) -> u32 {
        let flags = match itype {
            Itype::None => return 0,
            Itype::Exception => is::TRAP,
            Itype::Interrupt => is::TRAP | is::INTERRUPT,
            Itype::TrapReturn | Itype::UninferableJump | Itype::OtherUninferable => is::UPDISCON,
            Itype::NotTaken => is::BRANCH,
            Itype::Taken => is::BRANCH | is::TAKEN,
            Itype::UninferableCall => is::UPDISCON | is::CALL,
            Itype::InferableCall => is::CALL,
            Itype::InferableJump | Itype::OtherInferable => 0,
            Itype::Swap => is::UPDISCON | is::SWAP,
            Itype::Return => is::UPDISCON | is::RETURN,
            Itype::InferableReturn => is::RETURN,
        };
        flags | is::SPECIAL | if sijump { is::SEQUENTIAL } else { 0 }
    }
}

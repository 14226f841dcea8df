//! An instruction as the algorithm takes it.

use super::Itype;

/// The properties of an instruction, as bits.
pub(super) mod is {
    /// A trap follows the instruction, or there is a trap without an instruction ([`ONLY`]).
    pub const TRAP: u32 = 1;
    /// The trap is an interrupt.
    pub const INTERRUPT: u32 = 1 << 1;
    /// No instruction was retired.
    pub const ONLY: u32 = 1 << 2;
    /// A conditional branch.
    pub const BRANCH: u32 = 1 << 3;
    /// It was taken.
    pub const TAKEN: u32 = 1 << 4;
    /// An uninferable discontinuity: the program does not give its target.
    pub const UPDISCON: u32 = 1 << 5;
    /// A call.
    pub const CALL: u32 = 1 << 6;
    /// A return.
    pub const RETURN: u32 = 1 << 7;
    /// A co-routine swap.
    pub const SWAP: u32 = 1 << 8;
    /// The instruction before it gives its target (`sijump`).
    pub const SEQUENTIAL: u32 = 1 << 9;
    /// A trigger or a comparator asks for a report of its address.
    pub const NOTIFY: u32 = 1 << 10;
    /// The filters reject it, or tracing is off.
    pub const UNQUALIFIED: u32 = 1 << 11;
    /// The privilege or a precise context differs from the instruction before.
    pub const CHANGED: u32 = 1 << 12;
    /// The context changed with a discontinuity: the last instruction before it is reported too.
    pub const DISCONTINUITY: u32 = 1 << 13;
    /// The context changed imprecisely: the report may be delayed.
    pub const IMPRECISE: u32 = 1 << 14;
    /// Its `itype` is not 0.
    pub const SPECIAL: u32 = 1 << 15;
    /// Packets were lost before it.
    pub const AFTER_LOSS: u32 = 1 << 16;
    /// Tracing ends for good.
    pub const DISABLED: u32 = 1 << 17;
    /// A precise context differs from the instruction before.
    pub const CONTEXT: u32 = 1 << 18;

    /// The properties of instructions without traps, events and changes of what is traced.
    pub const USUAL: u32 = BRANCH | TAKEN | UPDISCON | CALL | RETURN | SWAP | SEQUENTIAL | SPECIAL;

    /// The properties that depend on the instruction before.
    pub const CHANGES: u32 = CHANGED | DISCONTINUITY | IMPRECISE | AFTER_LOSS | CONTEXT;
}

/// An instruction, or a trap without one, in the three stages of the encoder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Inst {
    /// The address of the instruction, or of the one that trapped.
    pub address: u64,
    /// The address after the instruction.
    pub after: u64,
    /// The half words that were retired with it, or in its block if it ends one.
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

    /// The same as an assignment, but field by field: `inst` was just made, and the processor
    /// waits if fields are loaded with another width than they were stored with.
    #[inline(always)]
    pub const fn set(&mut self, inst: &Inst) {
        self.address = inst.address;
        self.after = inst.after;
        self.halfwords = inst.halfwords;
        self.flags = inst.flags;
        self.not_taken = inst.not_taken;
        self.privilege = inst.privilege;
        self.context = inst.context;
        self.time = inst.time;
        self.cause = inst.cause;
        self.tval = inst.tval;
    }

    /// The flags of an `itype`.
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

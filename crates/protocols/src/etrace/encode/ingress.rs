//! The ingress port: the signals from the processor to the trace unit, cycle by cycle. (0.026,
//! chapter 3; 2.0, "Hart to encoder interface")

use tracewright_base::{Kind, Retired, Role};

use crate::etrace::config::{Params, Version};

/// How many blocks a cycle has at most. (`taken_branches`, 1 to 8)
pub const BLOCKS: usize = 8;

/// How a block of instructions ends: `itype`, in one numbering for all versions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Itype {
    /// None of the others.
    #[default]
    None,
    /// An exception followed the last retired instruction.
    Exception,
    /// An interrupt followed the last retired instruction.
    Interrupt,
    /// Return from an exception or interrupt.
    TrapReturn,
    /// A branch that was not taken. (1.0; `ntkn` counts these in 0.026)
    NotTaken,
    /// A branch that was taken.
    Taken,
    /// A call whose target the program does not give.
    UninferableCall,
    /// A call whose target is in the program.
    InferableCall,
    /// A jump that leaves no return address, or a tail call; or, with 3 bits, any uninferable jump.
    UninferableJump,
    /// The same with its target in the program.
    InferableJump,
    /// A co-routine swap.
    Swap,
    /// A return.
    Return,
    /// A return whose target the program gives. (0.026)
    InferableReturn,
    /// A jump that links through a register that is no link register.
    OtherUninferable,
    /// The same with its target in the program.
    OtherInferable,
}

impl Itype {
    /// All of them.
    pub const ALL: [Itype; 15] = [
        Itype::None,
        Itype::Exception,
        Itype::Interrupt,
        Itype::TrapReturn,
        Itype::NotTaken,
        Itype::Taken,
        Itype::UninferableCall,
        Itype::InferableCall,
        Itype::UninferableJump,
        Itype::InferableJump,
        Itype::Swap,
        Itype::Return,
        Itype::InferableReturn,
        Itype::OtherUninferable,
        Itype::OtherInferable,
    ];

    /// What an instruction ends a block with, and whether its target is sequentially inferable
    /// (`sijump`).
    pub const fn of(retired: &Retired) -> (Itype, bool) {
        let instruction = &retired.instruction;
        let sequential = instruction.target.is_some();
        match (instruction.kind, instruction.role) {
            (Kind::Branch, _) if instruction.conditional => {
                (if retired.taken { Itype::Taken } else { Itype::NotTaken }, false)
            }
            (Kind::Branch, Role::Call) => (Itype::InferableCall, false),
            (Kind::Branch, Role::Link) => (Itype::OtherInferable, false),
            (Kind::Branch, _) => (Itype::InferableJump, false),
            (Kind::Indirect, Role::ExceptionReturn) => (Itype::TrapReturn, false),
            (Kind::Indirect, Role::Call) => (Itype::UninferableCall, sequential),
            (Kind::Indirect, Role::Return | Role::ImpliedReturn) => (Itype::Return, sequential),
            (Kind::Indirect, Role::Swap) => (Itype::Swap, sequential),
            (Kind::Indirect, Role::Link) => (Itype::OtherUninferable, sequential),
            (Kind::Indirect, _) => (Itype::UninferableJump, sequential),
            _ => (Itype::None, false),
        }
    }

    /// The code on a port of `width` bits, 3 or 4; `sijump` makes jumps of 0.026 predictable.
    /// `None` if the port has no such code: 3 bits of 0.026 have no jumps.
    pub const fn code(self, version: Version, width: u8, sijump: bool) -> Option<u8> {
        let code = match (version, self) {
            (_, Itype::None) => 0,
            (_, Itype::Exception) => 1,
            (_, Itype::Interrupt) => 2,
            (_, Itype::TrapReturn) => 3,
            // 0.026, tables 3.1 and 3.2: tail calls are calls.
            (Version::Draft, Itype::NotTaken) => 0,
            (Version::Draft, Itype::Taken) => 6,
            (Version::Draft, Itype::UninferableCall | Itype::UninferableJump | Itype::Swap) => {
                if sijump {
                    9
                } else {
                    8
                }
            }
            (Version::Draft, Itype::InferableCall) => 9,
            (Version::Draft, Itype::Return) => {
                if sijump {
                    11
                } else {
                    10
                }
            }
            (Version::Draft, Itype::InferableReturn) => 11,
            (Version::Draft, Itype::OtherUninferable) => 12,
            (Version::Draft, Itype::InferableJump | Itype::OtherInferable) => 13,
            (_, Itype::NotTaken) => 4,
            (_, Itype::Taken) => 5,
            (_, Itype::InferableCall | Itype::InferableJump | Itype::OtherInferable)
                if width == 3 =>
            {
                0
            }
            (_, Itype::InferableReturn) if width == 3 => 0,
            _ if width == 3 => 6,
            (_, Itype::UninferableCall) => 8,
            (_, Itype::InferableCall) => 9,
            (_, Itype::UninferableJump) => 10,
            (_, Itype::InferableJump) => 11,
            (_, Itype::Swap) => 12,
            (_, Itype::Return | Itype::InferableReturn) => 13,
            (_, Itype::OtherUninferable) => 14,
            (_, Itype::OtherInferable) => 15,
        };
        if width < 4 && code >= 8 { None } else { Some(code) }
    }

    /// The type of a code on a port of `width` bits; `None` if the code is reserved.
    pub const fn of_code(version: Version, width: u8, code: u8) -> Option<Itype> {
        Some(match (version, code) {
            (_, 0) => Itype::None,
            (_, 1) => Itype::Exception,
            (_, 2) => Itype::Interrupt,
            (_, 3) => Itype::TrapReturn,
            (Version::Draft, 6) => Itype::Taken,
            (Version::Draft, 8) => Itype::UninferableCall,
            (Version::Draft, 9) => Itype::InferableCall,
            (Version::Draft, 10) => Itype::Return,
            (Version::Draft, 11) => Itype::InferableReturn,
            (Version::Draft, 12) => Itype::OtherUninferable,
            (Version::Draft, 13) => Itype::OtherInferable,
            (Version::Draft, _) => return None,
            (_, 4) => Itype::NotTaken,
            (_, 5) => Itype::Taken,
            (_, 6) if width == 3 => Itype::UninferableJump,
            (_, 8) => Itype::UninferableCall,
            (_, 9) => Itype::InferableCall,
            (_, 10) => Itype::UninferableJump,
            (_, 11) => Itype::InferableJump,
            (_, 12) => Itype::Swap,
            (_, 13) => Itype::Return,
            (_, 14) => Itype::OtherUninferable,
            (_, 15) => Itype::OtherInferable,
            _ => return None,
        })
    }

    /// The type of a code on the port of this unit; `None` if the code is reserved.
    pub const fn read(code: u8, params: &Params) -> Option<Itype> {
        // 0.026, Table 3.4.
        if params.is_draft() && params.choices.itype4_call && code == 4 {
            return Some(Itype::UninferableCall);
        }
        Itype::of_code(params.version, params.port.itype_width, code)
    }

    /// An exception or an interrupt.
    pub const fn is_trap(self) -> bool {
        matches!(self, Itype::Exception | Itype::Interrupt)
    }

    /// Whether it is a branch, with an outcome in the branch map.
    pub const fn is_branch(self) -> bool {
        matches!(self, Itype::NotTaken | Itype::Taken)
    }
}

/// What to do about a new context: `ctype`, `context_type`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ContextType {
    /// Nothing. (1.0: 0)
    Unreported,
    /// Report it when convenient. (1.0: 1; 0.026: 2)
    Imprecise,
    /// Report it with the first instruction that has it. (1.0: 2; 0.026: 1)
    #[default]
    Precise,
    /// The same, and the last instruction before it, as for an exception. (1.0: 3; 0.026: 0)
    Discontinuity,
    /// Report the address of the instruction, not the context. (0.026: 3)
    Notification,
}

impl ContextType {
    /// The code on the port; `None` if `version` has no such code.
    pub const fn code(self, version: Version) -> Option<u8> {
        match (version, self) {
            (Version::Draft, ContextType::Discontinuity) => Some(0),
            (Version::Draft, ContextType::Precise) => Some(1),
            (Version::Draft, ContextType::Imprecise) => Some(2),
            (Version::Draft, ContextType::Notification) => Some(3),
            (Version::Draft, ContextType::Unreported) => None,
            (_, ContextType::Unreported) => Some(0),
            (_, ContextType::Imprecise) => Some(1),
            (_, ContextType::Precise) => Some(2),
            (_, ContextType::Discontinuity) => Some(3),
            (_, ContextType::Notification) => None,
        }
    }

    /// The type of a code on the port.
    pub const fn of_code(version: Version, code: u8) -> Option<ContextType> {
        match (version, code) {
            (Version::Draft, 0) => Some(ContextType::Discontinuity),
            (Version::Draft, 1) => Some(ContextType::Precise),
            (Version::Draft, 2) => Some(ContextType::Imprecise),
            (Version::Draft, 3) => Some(ContextType::Notification),
            (Version::Draft, _) => None,
            (_, 0) => Some(ContextType::Unreported),
            (_, 1) => Some(ContextType::Imprecise),
            (_, 2) => Some(ContextType::Precise),
            (_, 3) => Some(ContextType::Discontinuity),
            _ => None,
        }
    }
}

/// Instructions at consecutive addresses that were retired together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// `iaddr`: address of the first instruction; where none was retired, of the one that trapped.
    pub iaddr: u64,
    /// `iretire`: half words retired.
    pub iretire: u16,
    /// `ilastsize`: half words of the last instruction.
    pub ilastsize: u8,
    /// `itype`: how it ends.
    pub itype: Itype,
    /// `ntkn`: branches not taken in it. (0.026)
    pub ntkn: u8,
    /// `sijump`: the last instruction's target is in the instruction before it.
    pub sijump: bool,
    /// `trigger[2]`, or action 4: report the last instruction.
    pub notify: bool,
}

impl Block {
    /// No instruction and no trap: all else is undefined.
    pub const fn is_empty(&self) -> bool {
        self.iretire == 0 && matches!(self.itype, Itype::None)
    }

    /// Address of the last instruction.
    pub const fn last(&self) -> u64 {
        self.end().wrapping_sub(if self.iretire == 0 { 0 } else { self.ilastsize as u64 * 2 })
    }

    /// Address after the last instruction.
    pub const fn end(&self) -> u64 {
        self.iaddr.wrapping_add(self.iretire as u64 * 2)
    }
}

/// The port in one cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cycle {
    /// The blocks, the oldest first; those past the last are empty.
    pub blocks: [Block; BLOCKS],
    /// `cause` of a trap, which only the newest block has.
    pub cause: u64,
    /// `tval` of a trap.
    pub tval: u64,
    /// `priv`.
    pub privilege: u8,
    /// `context`.
    pub context: u32,
    /// `ctype`: the report of a `context` that differs from the one before.
    pub ctype: ContextType,
    /// `time`.
    pub time: u64,
    /// Sideband.
    pub side: Sideband,
}

/// Sideband signals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sideband {
    /// `user`, `impdef`: up to 256 bits, the lowest first.
    pub user: [u64; 4],
    /// `halted`.
    pub halted: bool,
    /// `reset`.
    pub reset: bool,
    /// `trigger[0]`, or action 2: trace on, from the oldest instruction of the cycle.
    pub trace_on: bool,
    /// `trigger[1]`, or action 3: trace off, after the newest instruction of the cycle.
    pub trace_off: bool,
}

//! The context of execution: exception level, security state, context identifiers.

use core::fmt;

/// An exception level, 0 to 3. An AArch32 mode is given by the level at which it executes. For
/// RISC-V, the privilege level in the encoding of the trace: 0 U, 1 S, 3 M, 4 D, 5 VU, 6 VS.
pub type El = u8;

/// Security state. (Arm ARM, "Security states"; Realm and Root with FEAT_RME)
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Security {
    /// Secure.
    Secure,
    /// Non-secure.
    NonSecure,
    /// Root (FEAT_RME).
    Root,
    /// Realm (FEAT_RME).
    Realm,
}

impl fmt::Display for Security {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Security::Secure => "secure",
            Security::NonSecure => "non-secure",
            Security::Root => "root",
            Security::Realm => "realm",
        })
    }
}

/// The part of the context that selects program memory: exception level and security state. An
/// unknown field matches any value.
// One byte, because every look-up of code includes it.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Space(
    /// Bits \[2:0] exception level plus 1; \[5:3] security state plus 1; 0 is unknown.
    u8,
);

impl Space {
    /// All fields unknown: any memory.
    pub const ANY: Space = Space(0);

    /// Upper bound of [`index`](Space::index), exclusive.
    pub const COUNT: usize = 64;

    /// The memory of `el` in a security state. A level above 3 counts as 3.
    #[inline]
    pub const fn new(el: Option<El>, security: Option<Security>) -> Self {
        let el = match el {
            None => 0,
            Some(el @ 0..=3) => el + 1,
            Some(_) => 4,
        };
        let security = match security {
            None => 0,
            Some(Security::Secure) => 1,
            Some(Security::NonSecure) => 2,
            Some(Security::Root) => 3,
            Some(Security::Realm) => 4,
        };
        Space(security << 3 | el)
    }

    /// Exception level of the access. EL0 uses the memory of EL1.
    #[inline]
    pub const fn el(self) -> Option<El> {
        (self.0 & 0b111).checked_sub(1)
    }

    /// Security state of the access.
    #[inline]
    pub const fn security(self) -> Option<Security> {
        match self.0 >> 3 {
            1 => Some(Security::Secure),
            2 => Some(Security::NonSecure),
            3 => Some(Security::Root),
            4 => Some(Security::Realm),
            _ => None,
        }
    }

    /// A unique number, for tables.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize & (Self::COUNT - 1)
    }

    /// The memory with this [`index`](Space::index).
    pub const fn of_index(index: usize) -> Option<Space> {
        let known = index < Space::COUNT && index & 0b111 <= 4 && index >> 3 <= 4;
        if known { Some(Space(index as u8)) } else { None }
    }
}

impl fmt::Debug for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Space").field("el", &self.el()).field("security", &self.security()).finish()
    }
}

impl fmt::Display for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.el(), self.security()) {
            (None, None) => f.write_str("any"),
            (Some(el), None) => write!(f, "EL{el}"),
            (None, Some(security)) => write!(f, "{security}"),
            (Some(el), Some(security)) => write!(f, "EL{el} {security}"),
        }
    }
}

/// The context of the processor. A field that the trace has not reported is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Context {
    /// CONTEXTIDR, or the register that the trace unit is configured to trace in its place.
    pub context_id: Option<u32>,
    /// Virtual machine identifier, or CONTEXTIDR_EL2 if the unit is configured to trace it.
    pub vmid: Option<u32>,
    /// Exception level.
    pub el: Option<El>,
    /// Security state.
    pub security: Option<Security>,
    /// Execution state: AArch64 (`true`) or AArch32.
    pub bits64: bool,
    /// The instruction set in use when the context was reported.
    pub isa: crate::isa::Isa,
}

impl Context {
    /// The RISC-V privilege level in letters: 0 U, 1 S, 3 M, 4 D, 5 VU, 6 VS. `None` for Arm.
    pub const fn level(&self) -> Option<&'static str> {
        match (self.isa, self.el) {
            (crate::isa::Isa::Rv32 | crate::isa::Isa::Rv64, Some(level)) => Some(match level {
                0 => "U",
                1 => "S",
                3 => "M",
                4 => "D",
                5 => "VU",
                6 => "VS",
                _ => "reserved",
            }),
            _ => None,
        }
    }

    /// The instruction set. `None` where the trace has not reported it: only then is `isa` A64 in a
    /// context of 32 bits.
    pub const fn known_isa(&self) -> Option<crate::isa::Isa> {
        match self.isa {
            crate::isa::Isa::A64 if !self.bits64 => None,
            isa => Some(isa),
        }
    }

    /// The memory from which this context fetches instructions.
    pub const fn space(&self) -> Space {
        Space::new(self.el, self.security)
    }
}

//! Who was executing: exception level, security state, context identifiers.

use core::fmt;

/// An exception level, 0 to 3. AArch32 modes are given as the level that they run at.
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

/// The part of the context that selects program memory. `None` is "not known", which matches any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Space {
    /// Exception level of the access. EL0 sees EL1's memory.
    pub el: Option<El>,
    /// Security state of the access.
    pub security: Option<Security>,
}

impl fmt::Display for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.el, self.security) {
            (None, None) => f.write_str("any"),
            (Some(el), None) => write!(f, "EL{el}"),
            (None, Some(security)) => write!(f, "{security}"),
            (Some(el), Some(security)) => write!(f, "EL{el} {security}"),
        }
    }
}

/// What the processor was executing as. Fields that the trace has not said are `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Context {
    /// CONTEXTIDR, or what the trace unit was told to trace in its place.
    pub context_id: Option<u32>,
    /// Virtual machine identifier, or CONTEXTIDR_EL2 where the unit traces that.
    pub vmid: Option<u32>,
    /// Exception level.
    pub el: Option<El>,
    /// Security state.
    pub security: Option<Security>,
    /// AArch64 (`true`) or AArch32 execution state.
    pub bits64: bool,
    /// The instruction set in use when the context was reported.
    pub isa: crate::Isa,
}

impl Context {
    /// The memory that this context reads instructions from.
    pub const fn space(&self) -> Space {
        Space { el: self.el, security: self.security }
    }
}

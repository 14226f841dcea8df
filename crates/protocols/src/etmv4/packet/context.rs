//! The context: exception level, security state, identifiers.

use core::fmt;

use tracewright_base::{El, Security};

use crate::etmv4::Config;

/// The contents of a Context packet or of a Target Address with Context packet. Omitted identifiers
/// do not change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ContextInfo {
    /// EL \[1:0], NSE \[3], SF \[4], NS \[5], V \[6], C \[7].
    info: u8,
    vmid: u32,
    context_id: u32,
}

impl ContextInfo {
    const NSE: u8 = 1 << 3;
    const SF: u8 = 1 << 4;
    const NS: u8 = 1 << 5;
    const V: u8 = 1 << 6;
    const C: u8 = 1 << 7;

    /// A context without identifiers.
    pub const fn new(el: El, security: Security, bits64: bool) -> Self {
        let security = match security {
            Security::Secure => 0,
            Security::NonSecure => Self::NS,
            Security::Root => Self::NSE,
            Security::Realm => Self::NSE | Self::NS,
        };
        let info = el & 0b11 | security | if bits64 { Self::SF } else { 0 };
        ContextInfo { info, vmid: 0, context_id: 0 }
    }

    /// This context with a virtual machine identifier.
    #[must_use]
    pub const fn with_vmid(self, vmid: u32) -> Self {
        ContextInfo { info: self.info | Self::V, vmid, ..self }
    }

    /// This context with a context identifier.
    #[must_use]
    pub const fn with_context_id(self, context_id: u32) -> Self {
        ContextInfo { info: self.info | Self::C, context_id, ..self }
    }

    /// Exception level.
    #[inline]
    pub const fn el(&self) -> El {
        self.info & 0b11
    }

    /// Security state. (`NSE` and `NS`; bit 3 is NSE with FEAT_RME, else zero)
    #[inline]
    pub const fn security(&self) -> Security {
        match (self.info & Self::NSE != 0, self.info & Self::NS != 0) {
            (false, false) => Security::Secure,
            (false, true) => Security::NonSecure,
            (true, false) => Security::Root,
            (true, true) => Security::Realm,
        }
    }

    /// AArch64 state.
    #[inline]
    pub const fn bits64(&self) -> bool {
        self.info & Self::SF != 0
    }

    /// Virtual machine identifier, if the packet has it.
    #[inline]
    pub const fn vmid(&self) -> Option<u32> {
        if self.info & Self::V != 0 { Some(self.vmid) } else { None }
    }

    /// Context identifier, if the packet has it.
    #[inline]
    pub const fn context_id(&self) -> Option<u32> {
        if self.info & Self::C != 0 { Some(self.context_id) } else { None }
    }

    /// Reads the information byte and the identifiers, and returns the number of bytes. `None`:
    /// more are needed. An identifier that the unit does not have has no bytes.
    pub(super) fn parse(bytes: &[u8], config: &Config) -> Option<(Self, usize)> {
        // Bit 2 should be zero; it is ignored.
        let mut info = *bytes.first()? & !0b100;
        let mut len = 1;
        let (mut vmid, mut context_id) = (0, 0);
        if info & Self::V != 0 {
            match config.vmid_bytes() {
                0 => info &= !Self::V,
                size => {
                    vmid = little_endian(bytes.get(len..len + usize::from(size))?);
                    len += usize::from(size);
                }
            }
        }
        if info & Self::C != 0 {
            match config.context_id_bytes() {
                0 => info &= !Self::C,
                size => {
                    context_id = little_endian(bytes.get(len..len + usize::from(size))?);
                    len += usize::from(size);
                }
            }
        }
        Some((ContextInfo { info, vmid, context_id }, len))
    }

    /// Writes the information byte and the identifiers.
    pub(super) fn emit(self, config: &Config, out: &mut impl Extend<u8>) {
        let vmid = if self.info & Self::V != 0 { config.vmid_bytes() } else { 0 };
        let context_id = if self.info & Self::C != 0 { config.context_id_bytes() } else { 0 };
        let mut info = self.info & !(Self::V | Self::C);
        info |= if vmid > 0 { Self::V } else { 0 };
        info |= if context_id > 0 { Self::C } else { 0 };
        out.extend([info]);
        out.extend(self.vmid.to_le_bytes().into_iter().take(vmid.into()));
        out.extend(self.context_id.to_le_bytes().into_iter().take(context_id.into()));
    }
}

/// Up to 4 bytes, the low one first.
fn little_endian(bytes: &[u8]) -> u32 {
    bytes.iter().rev().fold(0, |value, &byte| value << 8 | u32::from(byte))
}

impl fmt::Display for ContextInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = if self.bits64() { "AArch64" } else { "AArch32" };
        write!(f, "context EL{} {} {state}", self.el(), self.security())?;
        if let Some(id) = self.context_id() {
            write!(f, ", context id 0x{id:x}")?;
        }
        if let Some(vmid) = self.vmid() {
            write!(f, ", vmid 0x{vmid:x}")?;
        }
        Ok(())
    }
}

//! Trace Info: the state that a decoder needs to start.

use core::fmt;

use tracewright_base::Fault;

use super::read::{Bytes, Stop};
use crate::bits::emit_groups;
use crate::etmv4::Config;

/// A Trace Info packet. An absent section is zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct TraceInfo {
    /// The present sections, as in PLCTL: INFO \[0], KEY \[1], SPEC \[2], CYCT \[3], WNDW \[4].
    sections: u8,
    /// Their values, in the same order.
    values: [u32; 5],
}

impl TraceInfo {
    const INFO: u8 = 0;
    const KEY: u8 = 1;
    const SPEC: u8 = 2;
    const CYCT: u8 = 3;
    const WNDW: u8 = 4;
    /// The sections of an ETE: INFO, SPEC and CYCT.
    const ETE: u8 = 0b1101;

    #[must_use]
    const fn with(mut self, section: u8, value: u32) -> Self {
        self.sections |= 1 << section;
        self.values[section as usize] = value;
        self
    }

    const fn section(&self, section: u8) -> Option<u32> {
        if self.sections >> section & 1 != 0 { Some(self.values[section as usize]) } else { None }
    }

    /// This packet with the INFO section.
    #[must_use]
    pub const fn with_info(self, info: u32) -> Self {
        self.with(Self::INFO, info)
    }

    /// This packet with the KEY section.
    #[must_use]
    pub const fn with_key(self, key: u32) -> Self {
        self.with(Self::KEY, key)
    }

    /// This packet with the SPEC section.
    #[must_use]
    pub const fn with_speculation(self, depth: u32) -> Self {
        self.with(Self::SPEC, depth)
    }

    /// This packet with the CYCT section.
    #[must_use]
    pub const fn with_threshold(self, threshold: u32) -> Self {
        self.with(Self::CYCT, threshold)
    }

    /// This packet with the WNDW section.
    #[must_use]
    pub const fn with_window(self, window: u32) -> Self {
        self.with(Self::WNDW, window)
    }

    /// INFO: cc_enabled \[0], cond_enabled \[3:1], load and store P0 \[5:4], in_trans_state \[6].
    pub const fn info(&self) -> Option<u32> {
        self.section(Self::INFO)
    }

    /// KEY: the right-hand key of the next P0 element, for data trace (ETMv4).
    pub const fn key(&self) -> Option<u32> {
        self.section(Self::KEY)
    }

    /// SPEC: the number of earlier P0 elements that are not resolved.
    pub const fn speculation(&self) -> Option<u32> {
        self.section(Self::SPEC)
    }

    /// CYCT: the number that is added to each traced cycle count.
    pub const fn threshold(&self) -> Option<u32> {
        self.section(Self::CYCT)
    }

    /// WNDW: the commit window (ETMv4).
    pub const fn window(&self) -> Option<u32> {
        self.section(Self::WNDW)
    }

    /// Cycle counts are traced. (INFO bit \[0])
    #[inline]
    pub const fn cycle_counting(&self) -> bool {
        self.values[0] & 1 != 0
    }

    /// The trace begins inside a transaction. (INFO bit \[6], ETE)
    #[inline]
    pub const fn in_transaction(&self) -> bool {
        self.values[0] >> 6 & 1 != 0
    }

    /// Reads the bytes after the header. Bits of PLCTL that select no section are ignored, as are
    /// the bytes that continue PLCTL. An ETE has the sections INFO, SPEC and CYCT, and continues
    /// neither PLCTL nor INFO. SPEC and CYCT have up to 96 bits; above 32 bits they are `u32::MAX`.
    pub(super) fn parse(bytes: &mut Bytes<'_>, config: &Config) -> Result<Self, Stop> {
        let control = bytes.byte()?;
        if config.is_ete() {
            let mut info = TraceInfo::default();
            if control >> Self::INFO & 1 != 0 {
                info = info.with_info(bytes.byte()?.into());
            }
            for section in [Self::SPEC, Self::CYCT] {
                if control >> section & 1 != 0 {
                    info = info.with(section, bytes.uleb_96()?);
                }
            }
            return Ok(info);
        }
        let mut last = control;
        let mut extensions = 0;
        while last & 0x80 != 0 {
            last = bytes.byte()?;
            extensions += 1;
            if extensions > 4 {
                return Err(bytes.bad(Fault::Overlong));
            }
        }
        let mut info = TraceInfo::default();
        for section in Self::INFO..=Self::WNDW {
            if control >> section & 1 != 0 {
                let value = match section {
                    Self::SPEC | Self::CYCT => bytes.uleb_96()?,
                    _ => bytes.uleb(32)?,
                };
                info = info.with(section, value);
            }
        }
        Ok(info)
    }

    /// Writes the bytes after the header.
    pub(super) fn emit(&self, config: &Config, out: &mut impl Extend<u8>) {
        let sections = if config.is_ete() { self.sections & Self::ETE } else { self.sections };
        out.extend([sections]);
        for section in Self::INFO..=Self::WNDW {
            let Some(value) = self.section(section) else { continue };
            if sections >> section & 1 == 0 {
                continue;
            }
            if config.is_ete() && section == Self::INFO {
                out.extend([value as u8]);
            } else {
                emit_groups(value.into(), 32 - value.leading_zeros() as u8, 32, out);
            }
        }
    }
}

impl fmt::Display for TraceInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("trace info")?;
        f.write_str(if self.cycle_counting() { ", cycles counted" } else { ", no cycle counts" })?;
        if let Some(threshold) = self.threshold() {
            write!(f, " above {threshold}")?;
        }
        if let Some(depth) = self.speculation() {
            write!(f, ", {depth} unresolved before")?;
        }
        if self.in_transaction() {
            f.write_str(", in a transaction")?;
        }
        if let Some(key) = self.key() {
            write!(f, ", key {key}")?;
        }
        if let Some(window) = self.window() {
            write!(f, ", commit window {window}")?;
        }
        Ok(())
    }
}

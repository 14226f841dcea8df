//! Trace IDs.

use core::fmt;

/// Padding. (IHI 0029, "Special trace source IDs")
pub const NULL: u8 = 0x00;
/// Flush response. (IHI 0029, "Special trace source IDs")
pub const FLUSH: u8 = 0x7b;
/// Trigger: each byte of this ID is one trigger.
pub const TRIGGER: u8 = 0x7d;

/// The meaning of the bytes of a trace ID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Meaning {
    /// Bytes of a trace source: IDs 0x01 to 0x6f.
    Source,
    /// Padding.
    Null,
    /// Flush responses.
    Flush,
    /// Triggers.
    Trigger,
    /// Reserved: 0x70 to 0x7a, 0x7c, 0x7e and 0x7f. (0x7f is for synchronisation packets.)
    Reserved,
}

impl Meaning {
    /// The meaning of the bytes of `id`.
    #[inline]
    pub const fn of(id: u8) -> Self {
        match id {
            NULL => Meaning::Null,
            0x01..=0x6f => Meaning::Source,
            FLUSH => Meaning::Flush,
            TRIGGER => Meaning::Trigger,
            _ => Meaning::Reserved,
        }
    }
}

/// Whether `id` is that of a trace source.
#[inline]
pub(crate) const fn is_source(id: u8) -> bool {
    matches!(id, 0x01..=0x6f)
}

/// A trace ID that a frame cannot contain: 0x7f would be read as synchronisation, and IDs have
/// seven bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReservedId(pub u8);

impl fmt::Display for ReservedId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a frame cannot contain trace ID 0x{:02x}", self.0)
    }
}

impl core::error::Error for ReservedId {}

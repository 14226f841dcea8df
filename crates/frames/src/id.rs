//! Trace ids.

use core::fmt;

/// Padding. (IHI 0029, "Special trace source IDs")
pub const NULL: u8 = 0x00;
/// The bytes that follow were asked for by a flush.
pub const FLUSH: u8 = 0x7b;
/// A trigger: each byte under this id is one.
pub const TRIGGER: u8 = 0x7d;

/// What the bytes under an id are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Meaning {
    /// A trace source's: ids 0x01 to 0x6f.
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
    /// What the bytes under `id` are.
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

/// Whether the bytes under `id` are a source's.
#[inline]
pub(crate) const fn is_source(id: u8) -> bool {
    matches!(id, 0x01..=0x6f)
}

/// An id that no frame can carry: 0x7f would be read as synchronisation, and ids have seven bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReservedId(pub u8);

impl fmt::Display for ReservedId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no frame can carry trace id 0x{:02x}", self.0)
    }
}

impl core::error::Error for ReservedId {}

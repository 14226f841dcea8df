//! Content of protocols beyond that of the other elements.

use core::hash::{Hash, Hasher};

/// What a protocol reports that no other element states: a kind, and bytes. The bytes are in the
/// batch of the element: [`Batch::content`](crate::Batch::content).
///
/// Two values are equal if their kinds and lengths are: where the bytes are depends on how the
/// trace was cut into batches.
#[derive(Clone, Copy, Debug)]
pub struct Custom {
    /// The name of the kind, in lower case with hyphens.
    pub kind: &'static str,
    /// The number of bytes.
    pub len: u32,
    /// Where they begin among the bytes of the batch.
    pub(crate) offset: u32,
}

impl Custom {
    /// Content whose bytes are in no batch.
    pub const fn new(kind: &'static str, len: u32) -> Custom {
        Custom { kind, len, offset: u32::MAX }
    }
}

impl PartialEq for Custom {
    fn eq(&self, other: &Self) -> bool {
        (self.kind, self.len) == (other.kind, other.len)
    }
}

impl Eq for Custom {}

impl Hash for Custom {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.kind, self.len).hash(state);
    }
}

//! Shared bytes.

use std::fmt;
use std::ops::{Deref, Range};
use std::sync::Arc;

/// The owner of shared bytes: a vector or a memory-mapped file.
pub type Owner = Arc<dyn AsRef<[u8]> + Send + Sync>;

/// A part of shared bytes. A clone copies no bytes.
#[derive(Clone)]
pub struct Bytes {
    owner: Owner,
    start: usize,
    len: usize,
}

impl Bytes {
    /// All bytes of `owner`.
    pub fn new(owner: Owner) -> Self {
        let len = (*owner).as_ref().len();
        Bytes { owner, start: 0, len }
    }

    /// The bytes from `offset` on, at most `len` of them. The part ends at the end of the bytes.
    #[must_use]
    pub fn part(&self, offset: u64, len: u64) -> Bytes {
        let Range { start, end } = clip(self.len, offset, len);
        Bytes { owner: Arc::clone(&self.owner), start: self.start + start, len: end - start }
    }
}

/// The part of `0..size` that `len` bytes from `offset` cover.
fn clip(size: usize, offset: u64, len: u64) -> Range<usize> {
    let start = usize::try_from(offset).map_or(size, |offset| offset.min(size));
    let len = usize::try_from(len).map_or(size, |len| len.min(size));
    start..(start + len.min(size - start))
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // The owner may have become shorter.
        (*self.owner).as_ref().get(self.start..self.start + self.len).unwrap_or_default()
    }
}

impl AsRef<[u8]> for Bytes {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl Default for Bytes {
    fn default() -> Self {
        Bytes::from(Vec::new())
    }
}

/// Equal if the contents are. Parts with the same address and length are equal without a
/// comparison.
impl PartialEq for Bytes {
    fn eq(&self, other: &Self) -> bool {
        let (mine, its): (&[u8], &[u8]) = (self, other);
        std::ptr::eq(mine, its) || mine == its
    }
}

impl Eq for Bytes {}

impl From<&'static [u8]> for Bytes {
    fn from(bytes: &'static [u8]) -> Self {
        Bytes::new(Arc::new(bytes))
    }
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Self {
        Bytes::new(Arc::new(bytes))
    }
}

impl From<Arc<[u8]>> for Bytes {
    fn from(bytes: Arc<[u8]>) -> Self {
        Bytes::new(Arc::new(bytes))
    }
}

impl From<Owner> for Bytes {
    fn from(owner: Owner) -> Self {
        Bytes::new(owner)
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_stay_within_their_whole() {
        let whole = Bytes::from(vec![0, 1, 2, 3, 4, 5, 6, 7]);
        let inner = whole.part(2, 4);
        for (bytes, offset, len, want) in [
            (&whole, 0, u64::MAX, &[0, 1, 2, 3, 4, 5, 6, 7][..]),
            (&whole, 6, 4, &[6, 7]),
            (&whole, 8, 1, &[]),
            (&whole, u64::MAX, u64::MAX, &[]),
            (&inner, 0, u64::MAX, &[2, 3, 4, 5]),
            (&inner, 1, 2, &[3, 4]),
            (&inner, 3, 4, &[5]),
        ] {
            assert_eq!(&*bytes.part(offset, len), want, "{len} from {offset} of {bytes:?}");
        }
    }
}

//! Bytes of a file or of memory, shared.

use std::{fmt, ops};

use std::sync::Arc;

/// Bytes that are shared, not copied: a mapped file, a part of one, or a vector.
#[derive(Clone)]
pub struct Bytes {
    whole: Arc<dyn AsRef<[u8]> + Send + Sync>,
    start: usize,
    end: usize,
}

impl Bytes {
    /// Shares `whole`.
    pub fn new(whole: impl AsRef<[u8]> + Send + Sync + 'static) -> Self {
        let end = whole.as_ref().len();
        Bytes { whole: Arc::new(whole), start: 0, end }
    }

    /// The part of them that `range` names, cut to what there is.
    #[must_use]
    pub fn slice(&self, range: ops::Range<u64>) -> Self {
        let place = |at: u64| {
            usize::try_from(at).map_or(self.end, |at| self.start.saturating_add(at)).min(self.end)
        };
        let (start, end) = (place(range.start), place(range.end));
        Bytes { whole: Arc::clone(&self.whole), start, end: end.max(start) }
    }

    /// Whether both are the same bytes of the same file, without a look at them.
    pub fn same(&self, other: &Bytes) -> bool {
        let alike = |a: &[u8], b: &[u8]| a.len() == b.len() && std::ptr::eq(a.as_ptr(), b.as_ptr());
        alike(self, other)
    }
}

impl ops::Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        (*self.whole).as_ref().get(self.start..self.end).unwrap_or_default()
    }
}

impl AsRef<[u8]> for Bytes {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl Default for Bytes {
    fn default() -> Self {
        Bytes::new([])
    }
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Self {
        Bytes::new(bytes)
    }
}

impl From<&'static [u8]> for Bytes {
    fn from(bytes: &'static [u8]) -> Self {
        Bytes::new(bytes)
    }
}

impl PartialEq for Bytes {
    fn eq(&self, other: &Self) -> bool {
        self.same(other) || **self == **other
    }
}

impl Eq for Bytes {}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_are_cut_to_what_there_is() {
        let whole = Bytes::from((0..10).collect::<Vec<u8>>());
        for (range, want) in [
            (0..10, &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9][..]),
            (2..4, &[2, 3]),
            (8..12, &[8, 9]),
            (12..14, &[]),
            (u64::MAX - 1..u64::MAX, &[]),
        ] {
            assert_eq!(&*whole.slice(range.clone()), want, "{range:?}");
        }
        let part = whole.slice(2..8);
        assert_eq!(&*part.slice(1..3), [3, 4]);
        assert_eq!(&*part.slice(4..100), [6, 7], "a part of a part stays within the part");
        assert!(part.same(&whole.slice(2..8)));
        assert!(!part.same(&whole));
    }
}

//! A few bytes that wait for more, with their offsets.

/// Up to `N` bytes with their offsets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pending<const N: usize> {
    bytes: [u8; N],
    offsets: [u64; N],
    len: usize,
}

impl<const N: usize> Default for Pending<N> {
    fn default() -> Self {
        Pending { bytes: [0; N], offsets: [0; N], len: 0 }
    }
}

/// Bytes that were taken are not compared.
impl<const N: usize> PartialEq for Pending<N> {
    fn eq(&self, other: &Self) -> bool {
        self.bytes() == other.bytes() && self.offsets() == other.offsets()
    }
}

impl<const N: usize> Eq for Pending<N> {}

impl<const N: usize> Pending<N> {
    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }

    pub(crate) fn offsets(&self) -> &[u64] {
        self.offsets.get(..self.len).unwrap_or_default()
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds a byte. There must be fewer than `N`.
    pub(crate) fn push(&mut self, offset: u64, byte: u8) {
        debug_assert!(self.len < N);
        if let (Some(b), Some(p)) = (self.bytes.get_mut(self.len), self.offsets.get_mut(self.len)) {
            (*b, *p) = (byte, offset);
            self.len += 1;
        }
    }

    /// Takes the first byte and its offset.
    pub(crate) fn pop(&mut self) -> Option<(u64, u8)> {
        let first = (*self.offsets().first()?, *self.bytes().first()?);
        self.bytes.copy_within(1..self.len, 0);
        self.offsets.copy_within(1..self.len, 0);
        self.len -= 1;
        Some(first)
    }

    /// Takes everything, if there are `N` bytes.
    pub(crate) fn whole(&mut self) -> Option<([u8; N], [u64; N])> {
        (self.len == N).then(|| {
            self.len = 0;
            (self.bytes, self.offsets)
        })
    }
}

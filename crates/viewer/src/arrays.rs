//! Arrays in one answer: little-endian, each at a multiple of 8 bytes.

/// The length of the head.
const HEAD: usize = 64;

/// A head and arrays.
#[derive(Debug)]
pub(crate) struct Arrays(Vec<u8>);

impl Arrays {
    /// The head: a number that identifies the kind, counts, and numbers.
    pub(crate) fn new(magic: &[u8; 4], counts: [u32; 6], numbers: [f64; 4]) -> Arrays {
        let mut out = Vec::with_capacity(HEAD);
        // As a number that the page compares, in its own order of the letters.
        out.extend_from_slice(magic);
        out.extend(1u32.to_le_bytes());
        counts.iter().for_each(|count| out.extend(count.to_le_bytes()));
        numbers.iter().for_each(|number| out.extend(number.to_le_bytes()));
        Arrays(out)
    }

    fn align(mut self) -> Arrays {
        self.0.resize(self.0.len().next_multiple_of(8), 0);
        self
    }

    pub(crate) fn f64(mut self, values: impl Iterator<Item = f64>) -> Arrays {
        values.for_each(|value| self.0.extend(value.to_le_bytes()));
        self.align()
    }

    pub(crate) fn f32(mut self, values: impl Iterator<Item = f32>) -> Arrays {
        values.for_each(|value| self.0.extend(value.to_le_bytes()));
        self.align()
    }

    pub(crate) fn u32(mut self, values: impl Iterator<Item = u32>) -> Arrays {
        values.for_each(|value| self.0.extend(value.to_le_bytes()));
        self.align()
    }

    pub(crate) fn i32(mut self, values: impl Iterator<Item = i32>) -> Arrays {
        values.for_each(|value| self.0.extend(value.to_le_bytes()));
        self.align()
    }

    pub(crate) fn u8(mut self, values: impl Iterator<Item = u8>) -> Arrays {
        self.0.extend(values);
        self.align()
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

/// A count that saturates.
pub(crate) fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

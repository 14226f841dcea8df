//! Reads numbers and counters.

/// A counter: the number of executions, or an expression of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Counter {
    Zero,
    Own(u64),
    Subtract(u64),
    Add(u64),
}

impl Counter {
    pub(super) fn of(word: u64) -> Counter {
        match word & 3 {
            0 => Counter::Zero,
            1 => Counter::Own(word >> 2),
            2 => Counter::Subtract(word >> 2),
            _ => Counter::Add(word >> 2),
        }
    }
}

/// Reads bytes from the front.
pub(super) struct Reader<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) little: bool,
}

impl<'a> Reader<'a> {
    pub(super) fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.bytes.split_at_checked(len)?;
        self.bytes = rest;
        Some(taken)
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        let bytes = *self.take(4)?.first_chunk()?;
        Some(if self.little { u32::from_le_bytes(bytes) } else { u32::from_be_bytes(bytes) })
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        let bytes = *self.take(8)?.first_chunk()?;
        Some(if self.little { u64::from_le_bytes(bytes) } else { u64::from_be_bytes(bytes) })
    }

    /// A number in groups of seven bits, the least significant one first.
    pub(super) fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let [byte] = *self.take(1)?.first_chunk()?;
            number |= u64::from(byte & 0x7f).checked_shl(shift)?;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    pub(super) fn counters(&mut self) -> Option<[Counter; 2]> {
        Some([Counter::of(self.number()?), Counter::of(self.number()?)])
    }
}

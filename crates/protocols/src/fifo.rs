//! What trace units that have a port and no bytes share on the way out. ETMv1 and ETMv2 share it.

use alloc::collections::VecDeque;

/// A byte in the FIFO.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Byte {
    pub(crate) value: u8,
    /// It begins an address. (ETMv1)
    pub(crate) sync: bool,
}

/// Bytes on the way to a port. A 4-bit port takes halves of them, the low one first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fifo {
    bytes: VecDeque<Byte>,
    /// The low half of the first byte is gone.
    half: bool,
}

impl Fifo {
    /// Bytes that are in it, the one that is half gone too.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub(crate) fn push(&mut self, value: u8, sync: bool) {
        self.bytes.push_back(Byte { value, sync });
    }

    /// The byte number `n`.
    pub(crate) fn get(&self, n: usize) -> Option<Byte> {
        self.bytes.get(n).copied()
    }

    /// The first byte, half of which may be gone.
    pub(crate) fn pop(&mut self) -> Option<Byte> {
        self.half = false;
        self.bytes.pop_front()
    }

    /// The low half of the first byte is gone.
    pub(crate) const fn is_half(&self) -> bool {
        self.half
    }

    /// The next half byte, and whether an address begins with it.
    pub(crate) fn pop_half(&mut self) -> Option<(u8, bool)> {
        let first = self.get(0)?;
        self.half = !self.half;
        if !self.half {
            self.bytes.pop_front();
            return Some((first.value >> 4, false));
        }
        Some((first.value & 0xf, first.sync))
    }

    /// Addresses that have not begun to leave. (IHI 0014, 5.6.1)
    pub(crate) fn addresses(&self) -> usize {
        self.bytes.iter().skip(usize::from(self.half)).filter(|byte| byte.sync).count()
    }
}

/// Numbers that look like noise. (xorshift)
#[derive(Clone, Copy, Debug)]
pub(crate) struct Noise(u64);

impl Noise {
    pub(crate) const fn new(seed: u64) -> Self {
        Noise(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) const fn next(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 32) as u32
    }

    /// True so often of 256 times.
    pub(crate) const fn often(&mut self, of_256: u8) -> bool {
        of_256 > 0 && (self.next() & 0xff) < of_256 as u32
    }
}

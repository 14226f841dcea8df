//! The FIFO of the ETMv1 and ETMv2 encoders, and their source of random choices.

use alloc::collections::VecDeque;

/// A byte in the FIFO.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Byte {
    pub(crate) value: u8,
    /// The first byte of an address. (ETMv1)
    pub(crate) sync: bool,
}

/// Bytes that wait for the port. A 4-bit port takes nibbles, the low nibble first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fifo {
    bytes: VecDeque<Byte>,
    /// The low half of the first byte has left.
    half: bool,
}

impl Fifo {
    /// Number of bytes, including one whose low half has left.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub(crate) fn push(&mut self, value: u8, sync: bool) {
        self.bytes.push_back(Byte { value, sync });
    }

    /// Byte `n`; 0 is the first.
    pub(crate) fn get(&self, n: usize) -> Option<Byte> {
        self.bytes.get(n).copied()
    }

    /// Takes the first byte, even where its low half has left.
    pub(crate) fn pop(&mut self) -> Option<Byte> {
        self.half = false;
        self.bytes.pop_front()
    }

    /// Whether the low half of the first byte has left.
    pub(crate) const fn is_half(&self) -> bool {
        self.half
    }

    /// Takes the next nibble; `true` where an address begins with it.
    pub(crate) fn pop_half(&mut self) -> Option<(u8, bool)> {
        let first = self.get(0)?;
        self.half = !self.half;
        if !self.half {
            self.bytes.pop_front();
            return Some((first.value >> 4, false));
        }
        Some((first.value & 0xf, first.sync))
    }

    /// Number of addresses that have not begun to leave. (IHI 0014, 5.6.1)
    pub(crate) fn addresses(&self) -> usize {
        self.bytes.iter().skip(usize::from(self.half)).filter(|byte| byte.sync).count()
    }
}

/// A pseudo-random generator (xorshift).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Noise(u64);

impl Noise {
    pub(crate) const fn new(seed: u64) -> Self {
        Noise(tracewright_base::mix(seed) | 1)
    }

    pub(crate) const fn next(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 32) as u32
    }

    /// True with a probability of `of_256` / 256.
    pub(crate) const fn often(&mut self, of_256: u8) -> bool {
        of_256 > 0 && (self.next() & 0xff) < of_256 as u32
    }
}

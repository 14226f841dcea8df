//! Edges in the bitmap of a fuzzer.

use tracewright_base::{CountedEdge, Element, Range, Role};
use tracewright_decode::{CountEdges, Listener, Merge};

use super::chain::Chains;
use crate::fold::mix;

/// The bitmap of AFL and fuzzers derived from it: each edge adds one to the byte at `id(to) ^
/// (id(from) >> 1)`, where the ID of an address is a fixed pseudo-random number. Bytes wrap at 256,
/// as in AFL. [`Edges`](super::Edges) defines edges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bitmap {
    chains: Chains,
    bytes: Vec<u8>,
}

impl Bitmap {
    /// The size that AFL uses.
    pub const SIZE: usize = 1 << 16;

    /// A bitmap of `size` bytes, rounded up to a power of two.
    pub fn new(size: usize) -> Self {
        Bitmap { chains: Chains::default(), bytes: vec![0; size.next_power_of_two()] }
    }

    /// The bitmap.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The number of bytes that are not 0.
    pub fn used(&self) -> usize {
        self.bytes.iter().filter(|&&byte| byte > 0).count()
    }

    /// Clears the bitmap, for the next run of the program under test.
    pub fn clear(&mut self) {
        self.chains = Chains::default();
        self.bytes.fill(0);
    }

    #[inline]
    fn add(&mut self, from: u64, to: u64, count: u64) {
        let index = (id(to) ^ id(from) >> 1) as usize & (self.bytes.len() - 1);
        if let Some(byte) = self.bytes.get_mut(index) {
            *byte = byte.wrapping_add(count as u8);
        }
    }
}

/// The ID of an address.
#[inline]
const fn id(address: u64) -> u64 {
    mix(address, 0)
}

impl Default for Bitmap {
    fn default() -> Self {
        Bitmap::new(Self::SIZE)
    }
}

impl Listener for Bitmap {
    const PACKETS: bool = false;
    const BY_SOURCE: bool = true;

    #[inline]
    fn element(&mut self, source: usize, _: u64, element: Element) {
        let edge = self.chains.of(source).and_then(|chain| chain.element(&element));
        if let Some((from, to)) = edge {
            self.add(from, to, 1);
        }
    }

    fn repeat(&mut self, source: usize, at: u64, range: Range, times: u32) {
        self.repeat_path(source, at, &[range], times.into());
    }

    fn repeat_path(&mut self, source: usize, _: u64, ranges: &[Range], times: u64) {
        // After the first turn, each turn has the same edges.
        for times in [times.min(1), times.saturating_sub(1)] {
            for range in ranges.iter().filter(|_| times > 0) {
                let edge = self.chains.of(source);
                let edge = edge.and_then(|chain| chain.element(&Element::Range(*range)));
                if let Some((from, to)) = edge {
                    self.add(from, to, times);
                }
            }
        }
    }
}

impl CountEdges for Bitmap {
    fn edge(&mut self, edge: &CountedEdge) {
        // No edge leads from an exception return.
        if edge.range.last.role != Role::ExceptionReturn {
            self.add(edge.range.last_address(), edge.to, edge.count);
        }
    }

    fn last(&mut self, source: usize, range: &Range) {
        if let Some(chain) = self.chains.of(source) {
            chain.element(&Element::Range(*range));
        }
    }
}

/// Both bitmaps must have the same size. A larger `later` is folded to the size of this one.
impl Merge for Bitmap {
    fn merge(&mut self, later: Self) {
        let mut between = Vec::new();
        self.chains.join(later.chains, |from, to| between.push((from, to)));
        between.into_iter().for_each(|(from, to)| self.add(from, to, 1));
        for part in later.bytes.chunks(self.bytes.len()) {
            for (own, its) in self.bytes.iter_mut().zip(part) {
                *own = own.wrapping_add(*its);
            }
        }
    }
}

//! Edges in the bitmap of a fuzzer.

use tracewright_base::{Batch, Element};
use tracewright_decode::{Listener, Merge, Wants};

use super::chain::Chains;
use super::edge_steps::{self, EdgeCounts, EdgeSteps};
use crate::fold::mix;

/// The bitmap of AFL and fuzzers derived from it: each edge adds one to the byte at `id(to) ^
/// (id(from) >> 1)`, where the ID of an address is a fixed pseudo-random number. Bytes wrap at 256,
/// as in AFL. [`Edges`](super::Edges) defines edges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bitmap {
    chains: Chains,
    steps: EdgeSteps,
    bytes: Bytes,
}

/// The bytes of a bitmap; their number is a power of two.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Bytes(Vec<u8>);

impl EdgeCounts for Bytes {
    #[inline]
    fn add(&mut self, from: u64, to: u64, times: u64) -> u32 {
        let place = (id(to) ^ id(from) >> 1) as usize & (self.0.len() - 1);
        if let Some(byte) = self.0.get_mut(place) {
            *byte = byte.wrapping_add(times as u8);
        }
        place as u32
    }

    /// A follower has the place of the edge instead of a count.
    #[inline(always)]
    fn begin(&mut self, _: usize, _: usize, place: u32) -> u32 {
        place
    }

    #[inline(always)]
    fn again(&mut self, place: &mut u32) -> bool {
        if let Some(byte) = self.0.get_mut(*place as usize) {
            *byte = byte.wrapping_add(1);
        }
        false
    }
}

impl Bitmap {
    /// The size that AFL uses.
    pub const SIZE: usize = 1 << 16;

    /// A bitmap of `size` bytes, rounded up to a power of two.
    pub fn new(size: usize) -> Self {
        let bytes = Bytes(vec![0; size.next_power_of_two()]);
        Bitmap { chains: Chains::default(), steps: EdgeSteps::default(), bytes }
    }

    /// The bitmap.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes.0
    }

    /// The number of bytes that are not 0.
    pub fn used(&self) -> usize {
        self.bytes.0.iter().filter(|&&byte| byte > 0).count()
    }

    /// Clears the bitmap, for the next run of the program under test.
    pub fn clear(&mut self) {
        self.chains = Chains::default();
        self.bytes.0.fill(0);
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
    fn element(&mut self, source: usize, _: u64, element: Element) {
        let edge = self.chains.of(source).and_then(|chain| chain.element(&element));
        if let Some((from, to)) = edge {
            self.bytes.add(from, to, 1);
        }
    }

    fn batch(&mut self, batch: &Batch<'_>) {
        let Bitmap { chains, steps, bytes } = self;
        edge_steps::count(batch, chains, steps, bytes);
    }

    fn wants(&self) -> Wants {
        Wants::ANY_ORDER
    }
}

/// Both bitmaps must have the same size. A larger `later` is folded to the size of this one.
impl Merge for Bitmap {
    fn merge(&mut self, later: Self) {
        let mut between = Vec::new();
        self.chains.join(later.chains, |from, to| between.push((from, to)));
        for (from, to) in between {
            self.bytes.add(from, to, 1);
        }
        for part in later.bytes.0.chunks(self.bytes.0.len()) {
            for (own, its) in self.bytes.0.iter_mut().zip(part) {
                *own = own.wrapping_add(*its);
            }
        }
    }
}

//! What the comparisons of decoders with trace analyzers share: random damage, the decoder that is
//! fed a stream, and the smallest stream that shows a difference.

use std::sync::Arc;

use tracewright_base::{OffsetMap, Piece};
use tracewright_image::{Cache, CacheOptions, Image, Region};
use tracewright_protocols::Observer;
use tracewright_protocols::registry::AnyConfig;

use crate::Random;

/// A stream that a decoder and an analyzer read.
pub trait Differential: Clone {
    /// The packets before the first one that may be left out.
    const NEEDED: usize;

    /// The packets, in order.
    fn packets(&mut self) -> &mut Vec<Vec<u8>>;

    /// Compares what both find. Returns the number of outputs.
    ///
    /// # Errors
    /// The first difference.
    fn outputs(&self) -> Result<usize, String>;

    /// The stream as text, with both results.
    fn report(&self) -> String;

    /// Leaves out packets for as long as there is a difference.
    #[must_use]
    fn minimised(&self) -> Self {
        let mut least = self.clone();
        loop {
            let before = least.packets().len();
            let mut at = Self::NEEDED;
            while at < least.packets().len() {
                let mut fewer = least.clone();
                fewer.packets().remove(at);
                if fewer.outputs().is_err() {
                    least = fewer;
                } else {
                    at += 1;
                }
            }
            if least.packets().len() == before {
                return least;
            }
        }
    }
}

/// Compares what decoder and analyzer find. Returns the number of outputs.
///
/// # Errors
/// The difference, and the smallest stream that still shows one.
pub fn check(trial: &impl Differential) -> Result<usize, String> {
    trial.outputs().map_err(|whole| {
        let least = trial.minimised();
        let error = least.outputs().err().unwrap_or_default();
        format!("{whole}\nminimised: {error}\n{}", least.report())
    })
}

/// Changes one place of a stream after the first packet. Of 8 changes, `insertions` insert a byte.
pub(crate) fn damage(packets: &mut Vec<Vec<u8>>, random: &mut Random, insertions: usize) {
    let at = random.between(1, packets.len());
    let Some(packet) = packets.get_mut(at) else {
        return packets.push(vec![random.next() as u8]);
    };
    match random.index(8).checked_sub(insertions) {
        None => packets.insert(at, vec![random.next() as u8]),
        Some(0) => packet.clear(),
        Some(1) => {
            let again = packet.clone();
            let at = random.between(1, packets.len());
            packets.insert(at, again);
        }
        Some(2) => {
            let other = random.between(1, packets.len() - 1);
            packets.swap(at, other);
        }
        Some(_) => {
            let byte = random.index(packet.len().max(1));
            if let Some(byte) = packet.get_mut(byte) {
                *byte ^= 1 << random.below(8);
            }
        }
    }
}

/// Ends the stream at any byte.
pub(crate) fn cut(packets: &mut Vec<Vec<u8>>, random: &mut Random) {
    let mut left = random.index(packets.iter().map(Vec::len).sum::<usize>() + 1);
    packets.retain_mut(|packet| {
        packet.truncate(left);
        left -= packet.len();
        !packet.is_empty()
    });
}

/// Decodes `bytes` with the program `blocks`. `each`: the decoder takes each packet on its own,
/// without the fast path.
pub(crate) fn decode<'a>(
    config: &AnyConfig,
    blocks: impl IntoIterator<Item = &'a (u64, Vec<u8>)>,
    bytes: &[u8],
    each: bool,
    observer: &mut impl Observer,
) {
    let regions = blocks.into_iter();
    let regions = regions.map(|(start, bytes)| Region::new("code", *start, bytes.clone()));
    let image = Arc::new(Image::new(regions));
    let mut cache = Cache::new(image, config.waypoints(), CacheOptions::default());
    let mut stream = config.stream();
    let mut taken = 0;
    let ends = if each { (1..=bytes.len()).collect() } else { vec![bytes.len()] };
    for end in ends {
        let pieces = [Piece { start: 0, at: taken as u64, fragment: true }];
        let block = bytes.get(taken..end).unwrap_or_default();
        taken += stream.feed(block, &OffsetMap::new(&pieces), &mut cache, observer);
    }
    let pieces = [Piece { start: 0, at: taken as u64, fragment: true }];
    let rest = bytes.get(taken..).unwrap_or_default();
    stream.finish(rest, &OffsetMap::new(&pieces), &mut cache, observer);
}

/// Bytes in hexadecimal, with a text between two.
pub(crate) fn hex(bytes: &[u8], between: &str) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect::<Vec<_>>().join(between)
}

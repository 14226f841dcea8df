//! Decodes a stream.

use std::sync::Arc;

use tracewright::base::{
    BlockCache, Code, Element, Fault, Isa, OffsetMap, Pc, Piece, Range, Sink, Space,
};
use tracewright::image::{Cache, CacheOptions, Image};
use tracewright::protocols::ntrace::{Config, Ntrace};
use tracewright::protocols::{Observer, Protocol, Stream};

/// A cache of a program.
pub fn cache(image: &Arc<Image>, config: &Config) -> Cache {
    Cache::new(Arc::clone(image), Ntrace::waypoints(config), CacheOptions::default())
}

/// Passes every element of a stream to `observer`.
pub fn decode<K: BlockCache, O: Observer>(
    bytes: &[u8],
    config: &Config,
    code: &mut K,
    observer: &mut O,
) {
    let mut stream = Stream::<Ntrace>::new(*config);
    let piece = |at| [Piece { start: 0, at, fragment: true }];
    let taken = stream.feed(bytes, &OffsetMap::new(&piece(0)), code, observer);
    let rest = piece(taken as u64);
    stream.finish(&bytes[taken..], &OffsetMap::new(&rest), code, observer);
}

/// The executed addresses of a stream, and all elements that are no ranges, each with its offset
/// and the number of instructions before it.
pub struct Run {
    code: Cache,
    isa: Isa,
    pub addresses: Vec<u64>,
    pub others: Vec<(usize, u64, Element)>,
    /// Packets are received one by one, so that there is no fast path.
    each: bool,
}

impl Run {
    /// Decodes `bytes`.
    pub fn of(bytes: &[u8], config: &Config, image: &Arc<Image>, each: bool) -> Run {
        let (code, isa) = (cache(image, config), config.isa());
        let mut run = Run { code, isa, addresses: Vec::new(), others: Vec::new(), each };
        decode(bytes, config, &mut cache(image, config), &mut run);
        run
    }

    /// Elements that an undamaged trace does not have, as text. The buffer may end in a message.
    pub fn odd(&self) -> Vec<String> {
        let is_odd = |element: &Element| match element {
            Element::Undecodable { fault, .. } => *fault != Fault::Truncated,
            Element::NoCode { .. } | Element::Inconsistency(_) => true,
            _ => false,
        };
        let odd = self.others.iter().filter(|(.., element)| is_odd(element));
        odd.map(|(count, at, element)| format!("{count} {at} {element}")).collect()
    }
}

impl Observer for Run {
    fn wants_each_packet(&self) -> bool {
        self.each
    }
}

impl Sink for Run {
    fn element(&mut self, at: u64, element: Element) {
        let Element::Range(Range { start, instructions, .. }) = element else {
            self.others.push((self.addresses.len(), at, element));
            return;
        };
        let mut address = start;
        for _ in 0..instructions {
            self.addresses.push(address);
            let pc = Pc { address, isa: self.isa, space: Space::ANY };
            address += u64::from(self.code.instruction(pc).unwrap().size);
        }
    }
}

//! Decodes a stream and lists the executed instructions.

use std::sync::Arc;

use tracewright::base::{
    BlockCache, Code, Element, Inconsistency, Isa, OffsetMap, Pc, Piece, Range, Sink, Space,
};
use tracewright::image::{Cache, CacheOptions, Image, Region};
use tracewright::protocols::etrace::{Etrace, Params};
use tracewright::protocols::{Observer, Protocol, Stream};

use crate::streams;

/// The address of the boot code of Spike.
pub const BOOT: u64 = 0x1000;

/// The boot code of Spike, which is not part of the ELF files.
pub fn boot(rv64: bool) -> Vec<u8> {
    let load = if rv64 { 0x0182_b283 } else { 0x0182_a283 };
    let words: [u32; 5] = [0x0000_0297, 0x0202_8593, 0xf140_2573, load, 0x0002_8067];
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// A program with the boot code of Spike.
pub fn program(bytes: Vec<u8>, rv64: bool) -> Arc<Image> {
    let image = Image::from_elf(&bytes.into(), "program", 0).unwrap();
    Arc::new(image.with([Region::new("boot", BOOT, boot(rv64))]))
}

/// A cache of a program.
pub fn cache(image: &Arc<Image>, params: &Params) -> Cache {
    Cache::new(Arc::clone(image), Etrace::waypoints(params), CacheOptions::default())
}

/// Every element of a stream.
pub fn elements<K: BlockCache, O: Observer>(
    bytes: &[u8],
    params: &Params,
    code: &mut K,
    observer: &mut O,
) {
    let mut stream = Stream::<Etrace>::new(*params);
    let piece = |at| [Piece { start: 0, at, fragment: true }];
    let taken = stream.feed(bytes, &OffsetMap::new(&piece(0)), code, observer);
    let rest = piece(taken as u64);
    stream.finish(&bytes[taken..], &OffsetMap::new(&rest), code, observer);
}

/// Passes each executed address to `each`, and the text of elements that an undamaged trace does
/// not have to `odd`.
pub struct Addresses<'a, F> {
    pub code: Cache,
    pub isa: Isa,
    pub each: F,
    pub odd: &'a mut Vec<String>,
}

impl<F: FnMut(u64)> Observer for Addresses<'_, F> {}

impl<F: FnMut(u64)> Sink for Addresses<'_, F> {
    fn element(&mut self, at: u64, element: Element) {
        match element {
            Element::Range(Range { start, instructions, .. }) => {
                let mut address = start;
                for _ in 0..instructions {
                    (self.each)(address);
                    let pc = Pc { address, isa: self.isa, space: Space::ANY };
                    let size = self.code.instruction(pc).unwrap().size;
                    address += u64::from(size);
                }
            }
            // 0.026 has the same packet for two cases, whatever the parameters. (Table 3.3)
            Element::Inconsistency(Inconsistency::ContextOrException) => {}
            Element::NoCode { .. } | Element::Inconsistency(_) | Element::Undecodable { .. } => {
                self.odd.push(format!("{at} {element}"));
            }
            _ => {}
        }
    }
}

/// The executed addresses of a stream, and its unexpected elements.
pub fn addresses(
    stream: &streams::Stream,
    image: &Arc<Image>,
    each: impl FnMut(u64),
) -> Vec<String> {
    let mut odd = Vec::new();
    let params = &stream.params;
    let mut sink = Addresses { code: cache(image, params), isa: params.isa(), each, odd: &mut odd };
    elements(&stream.bytes, params, &mut cache(image, params), &mut sink);
    odd
}

//! Proof that the facade crate without its default features needs no `std`.
//!
//! The crate defines the panic handler. If any dependency links `std`, which has a panic handler, the
//! compiler refuses to build the crate (E0152), on a host target as on a bare-metal one.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

use alloc::vec::Vec;
use core::panic::PanicInfo;

use tracewright::base::{Element, NoMemory};
use tracewright::frames::{Framing, Link, Sources, Splitter};
use tracewright::protocols::registry::AnyProtocol;

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    loop {}
}

/// Decodes formatter frames: the number of elements of trace ID `id`, which has the packets of
/// `protocol` and registers without values.
pub fn elements(frames: &[u8], id: u16, protocol: AnyProtocol) -> Option<usize> {
    let mut splitter = Splitter::new(Link::new(Framing::Coresight));
    let mut sources = Sources::default();
    splitter.split(0, frames, &mut sources);
    splitter.finish(&mut sources);
    let source = sources.get(id)?;
    let config = protocol.configure(None, &|_| Some(0)).ok()?;
    let mut stream = config.stream();
    let mut elements: Vec<(u64, Element)> = Vec::new();
    let taken = stream.feed(source.bytes(), &source.offsets(), &mut NoMemory, &mut elements);
    let rest = source.bytes().get(taken..)?;
    stream.finish(rest, &source.offsets(), &mut NoMemory, &mut elements);
    Some(elements.len())
}

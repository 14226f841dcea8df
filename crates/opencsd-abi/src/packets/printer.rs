//! Prints packets as messages.

use std::ops::Range;

use tracewright_base::{Element, Fault, OffsetMap};
use tracewright_decode::{Event, Listener, SourceBytes};
use tracewright_opencsd::Listing;
use tracewright_protocols::registry::{AnyConfig, AnyPacket};

use crate::log;
use crate::outlet::Outlet;

/// Prints the packets of one source, a message for each line.
#[derive(Debug)]
pub struct PacketPrinter {
    id: u8,
    monitor: bool,
    listing: Listing<Vec<u8>>,
}

impl PacketPrinter {
    /// A printer with trace ID `id` in its lines. A monitor prints the bytes of each packet.
    pub fn new(id: u8, config: &AnyConfig, monitor: bool) -> Self {
        let listing = Listing::of_packets(id, config, monitor);
        PacketPrinter { id, monitor, listing }
    }

    /// Whether it is the monitor of packets, not their sink.
    pub fn monitors(&self) -> bool {
        self.monitor
    }

    /// The source returns to its initial state.
    pub fn reset(&mut self, config: &AnyConfig) {
        *self = PacketPrinter::new(self.id, config, self.monitor);
    }

    /// Prints that an operation was received.
    pub fn operation(&self, name: &str, outlet: &Outlet) {
        let line = format!("ID:{:x}\t{name} operation on trace decode path\n", self.id);
        log::message(outlet.printer.as_ref(), &line);
    }

    /// Prints a packet.
    pub fn packet(
        &mut self,
        offsets: &OffsetMap<'_>,
        span: Range<usize>,
        bytes: &[u8],
        packet: AnyPacket<'_>,
        outlet: &Outlet,
    ) {
        let bytes = SourceBytes { bytes, span, offsets };
        self.listing.event(&Event::Packet { source: 0, bytes, packet });
        self.print(outlet);
    }

    /// Prints undecodable bytes.
    pub fn undecodable(
        &mut self,
        offsets: &OffsetMap<'_>,
        span: Range<usize>,
        bytes: &[u8],
        fault: Fault,
        outlet: &Outlet,
    ) {
        let bytes = SourceBytes { bytes, span, offsets };
        self.listing.event(&Event::Undecodable { source: 0, bytes, fault });
        self.print(outlet);
    }

    /// Prints what is complete where `bytes` may begin a synchronisation.
    pub fn awaiting_sync(&mut self, bytes: &[u8], outlet: &Outlet) {
        self.listing.event(&Event::AwaitingSync { source: 0, bytes });
        self.print(outlet);
    }

    /// Prints the end of the trace.
    pub fn end(&mut self, outlet: &Outlet) {
        self.listing.element(0, 0, Element::End);
        self.print(outlet);
    }

    fn print(&mut self, outlet: &Outlet) {
        let lines = self.listing.take_lines();
        for line in lines.split_inclusive('\n') {
            log::message(outlet.printer.as_ref(), line);
        }
    }
}

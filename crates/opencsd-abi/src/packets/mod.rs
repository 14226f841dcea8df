//! Who receives the packets of a source.

pub mod callbacks;
mod printer;

use std::ffi::c_void;
use std::ops::Range;

use callbacks::PacketCallbacks;
use printer::PacketPrinter;
use tracewright_base::{Fault, OffsetMap};
use tracewright_opencsd::SourceReport;
use tracewright_opencsd::client::codes::{Error, create, operation};
use tracewright_opencsd::client::packets::Structures;
use tracewright_opencsd::unsynced::Unsynced;
use tracewright_protocols::registry::{AnyConfig, AnyPacket};

use crate::outlet::Outlet;

/// Who receives the packets of a source.
#[derive(Debug)]
pub struct PacketOutputs {
    config: AnyConfig,
    printer: Option<PacketPrinter>,
    /// The functions of the client.
    pub callbacks: PacketCallbacks,
    structures: Option<Structures>,
    unsynced: Unsynced,
    /// The sink receives one packet for all bytes before a synchronisation; it has received it.
    one_unsynced: bool,
    has_unsynced: bool,
    /// Bad packets are not passed to the sink, or to the monitor.
    no_bad: (bool, bool),
}

impl PacketOutputs {
    /// Nobody receives packets of a source with this configuration.
    pub fn new(config: &AnyConfig, flags: u32) -> Self {
        let report = SourceReport::new(config);
        PacketOutputs {
            config: config.clone(),
            printer: None,
            callbacks: PacketCallbacks::default(),
            structures: Structures::new(config),
            unsynced: Unsynced::new(report.group()),
            one_unsynced: report.has_one_unsynced_packet() || matches!(config, AnyConfig::Itm(_)),
            has_unsynced: false,
            no_bad: (flags & create::NO_FORWARD_BAD != 0, flags & create::NO_MONITOR_BAD != 0),
        }
    }

    /// Prints packets with trace ID `id`, as the sink or the monitor of packets.
    ///
    /// # Errors
    /// Something else is there.
    pub fn print(&mut self, id: u8, monitor: bool) -> Result<(), Error> {
        let taken = if monitor { self.callbacks.has_monitor() } else { self.callbacks.has_sink() };
        if self.printer.is_some() || taken {
            return Err(Error::ATTACH_TOO_MANY);
        }
        self.printer = Some(PacketPrinter::new(id, &self.config, monitor));
        Ok(())
    }

    /// Whether a function of the client can receive packets: there is a structure for them.
    pub fn has_structures(&self) -> bool {
        self.structures.is_some()
    }

    /// Whether a printer is the monitor, or the sink.
    pub fn prints(&self, monitor: bool) -> bool {
        self.printer.as_ref().is_some_and(|printer| printer.monitors() == monitor)
    }

    /// Whether somebody receives packets.
    pub fn wants_packets(&self) -> bool {
        self.printer.is_some() || self.callbacks.flags() != 0
    }

    /// The source returns to its initial state.
    pub fn reset(&mut self) {
        if let Some(printer) = &mut self.printer {
            printer.reset(&self.config);
        }
        if self.callbacks.flags() != 0 {
            self.structures = Structures::new(&self.config);
            self.unsynced = Unsynced::new(SourceReport::new(&self.config).group());
            self.has_unsynced = false;
        }
    }

    /// Reports an operation without data at offset `at` to the receivers.
    pub fn report(&mut self, operation: u32, at: u64, outlet: &Outlet) {
        if let Some(printer) = &mut self.printer {
            match operation {
                operation::RESET => printer.operation("RESET", outlet),
                operation::FLUSH if !printer.monitors() => printer.operation("FLUSH", outlet),
                operation::END => printer.end(outlet),
                _ => {}
            }
        }
        // SAFETY: without data there is no packet.
        unsafe {
            outlet.respond(self.callbacks.sink(operation, at as u32, std::ptr::null()));
            if operation != operation::FLUSH {
                let at = at as u32;
                self.callbacks.monitor(operation, at, std::ptr::null(), 0, std::ptr::null());
            }
        }
    }

    /// The error that OpenCSD's packet processor logs for undecodable bytes.
    pub fn error(&self, fault: Fault) -> Option<Error> {
        let etmv4 = matches!(self.config, AnyConfig::Etmv4(_) | AnyConfig::Ete(_));
        match fault {
            Fault::Unsynchronised | Fault::Truncated => None,
            Fault::Sequence if etmv4 => None,
            Fault::Reserved(_) | Fault::ReservedForConfig(_) => Some(Error::INVALID_PCKT_HDR),
            _ => Some(Error::BAD_PACKET_SEQ),
        }
    }

    /// Takes a packet.
    pub fn packet(
        &mut self,
        offsets: &OffsetMap<'_>,
        span: Range<usize>,
        bytes: &[u8],
        packet: AnyPacket<'_>,
        outlet: &Outlet,
    ) {
        if let Some(printer) = &mut self.printer {
            printer.packet(offsets, span.clone(), bytes, packet, outlet);
        }
        if self.callbacks.flags() == 0 {
            return;
        }
        self.end_unsynced(outlet);
        let Some(structures) = &mut self.structures else { return };
        let at = structures.offset(packet, offsets, span.start);
        let own = structures.octets(Some(packet), offsets, span, bytes);
        let structure = structures.packet(packet);
        send(&self.callbacks, (false, false), at, structure, &own, outlet);
    }

    /// Takes undecodable bytes.
    pub fn undecodable(
        &mut self,
        offsets: &OffsetMap<'_>,
        span: Range<usize>,
        bytes: &[u8],
        fault: Fault,
        outlet: &Outlet,
    ) {
        if let Some(printer) = &mut self.printer {
            printer.undecodable(offsets, span.clone(), bytes, fault, outlet);
        }
        if self.callbacks.flags() == 0 {
            return;
        }
        if fault != Fault::Unsynchronised {
            self.end_unsynced(outlet);
            let Some(structures) = &mut self.structures else { return };
            let mut at = offsets.at(span.start);
            if structures.has_half_bytes() {
                at = at.wrapping_add(offsets.is_high_half(span.start).into());
            }
            let own = structures.octets(None, offsets, span.clone(), bytes);
            let structure = structures.bad(bytes.get(span).unwrap_or_default(), fault);
            return send(&self.callbacks, self.no_bad, at, structure, &own, outlet);
        }
        let half_bytes = self.structures.as_ref().is_some_and(Structures::has_half_bytes);
        for fragment in offsets.fragments(span) {
            if let Some(structures) = &mut self.structures {
                structures.unsynced(offsets, fragment.clone(), bytes);
            }
            self.unsynced(outlet, |unsynced, line| {
                for k in fragment {
                    let Some(&byte) = bytes.get(k) else { break };
                    let byte = match half_bytes {
                        // A byte is at the offset of its low half.
                        true if offsets.is_high_half(k) => continue,
                        true => bytes.get(k + 1).map_or(0, |high| high << 4) | byte,
                        false => byte,
                    };
                    unsynced.push(offsets.at(k), byte, &mut *line);
                }
                unsynced.fragment_ends(line);
            });
        }
    }

    /// Takes bytes that may begin a synchronisation.
    pub fn awaiting_sync(&mut self, bytes: &[u8], outlet: &Outlet) {
        if let Some(printer) = &mut self.printer {
            printer.awaiting_sync(bytes, outlet);
        }
        if self.callbacks.flags() != 0 {
            self.unsynced(outlet, |unsynced, line| unsynced.held(bytes, line));
        }
    }

    fn end_unsynced(&mut self, outlet: &Outlet) {
        self.unsynced(outlet, |unsynced, line| unsynced.end(line));
    }

    /// Passes on groups of bytes before a synchronisation.
    fn unsynced(
        &mut self,
        outlet: &Outlet,
        group: impl FnOnce(&mut Unsynced, &mut dyn FnMut(u64, &[u8])),
    ) {
        let PacketOutputs { callbacks, structures, unsynced, one_unsynced, .. } = self;
        let (has_unsynced, no_bad) = (&mut self.has_unsynced, self.no_bad);
        let Some(structures) = structures else { return };
        group(unsynced, &mut |at, bytes| {
            let structure = structures.bad(bytes, Fault::Unsynchronised);
            let without = (no_bad.0 || *one_unsynced && *has_unsynced, no_bad.1);
            *has_unsynced = true;
            send(callbacks, without, at, structure, bytes, outlet);
        });
    }
}

/// Passes a packet to the functions of the client, but for those in `without`: sink, monitor.
fn send(
    callbacks: &PacketCallbacks,
    without: (bool, bool),
    at: u64,
    structure: *const c_void,
    bytes: &[u8],
    outlet: &Outlet,
) {
    let (len, data) = (bytes.len() as u32, bytes.as_ptr());
    // SAFETY: `structure` is a packet of the protocol, which lives until the next one is made.
    unsafe {
        if !without.1 {
            callbacks.monitor(operation::DATA, at as u32, structure, len, data);
        }
        if !without.0 {
            outlet.respond(callbacks.sink(operation::DATA, at as u32, structure));
        }
    }
}

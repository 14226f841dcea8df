//! The FIFO between the unit and the transport, and the loss of packets that do not fit.
//!
//! With `stall` the processor waits, and no packet is lost. Without it packets are lost until there
//! is room again. From 1.0 on a support packet reports the loss afterwards (`qual_status` *trace
//! lost*; `dloss` for data trace). 0.026 has no such code: there the unit reserves room for a
//! support packet, and reports the end of tracing before the loss.

use super::length::length;
use crate::etrace::config::{Framing, Params};
use crate::etrace::packet::{Packet, Payload, Qualification, Support};
use crate::trace_fifo::{FifoSettings, FillLevel};

/// The FIFO, and what it has lost.
#[derive(Clone, Debug)]
pub(super) struct Outlet {
    fifo: FillLevel,
    /// Instruction trace packets are lost.
    lost: bool,
    /// The instruction at which trace resumes is chosen.
    resuming: bool,
    /// That instruction is being encoded. (0.026)
    reached: bool,
    /// Data trace packets are lost.
    data_lost: bool,
    /// The next packet reports an address as the target of a jump.
    pub(super) target: bool,
    /// The last accepted packet reported the target of a jump.
    last_target: bool,
    /// The index of the next packet. (ESP32)
    number: u16,
}

/// Bytes of the longest packet: header, payload, timestamp and source number.
const MAX_PACKET_LEN: u32 = 1 + 31 + 8 + 2;
/// Bytes that are reserved for the support packet of 0.026.
const SUPPORT: u32 = 6;
/// The least size of a FIFO: the packets with which trace resumes must fit when it is half empty.
const LEAST: u32 = 2 * (MAX_PACKET_LEN + 2 * SUPPORT);

impl Outlet {
    /// An empty FIFO. `no_support`: the unit has no support packets.
    pub(super) fn new(settings: FifoSettings, no_support: bool) -> Self {
        // A unit without support packets cannot report a loss.
        let stall = settings.stall || no_support;
        Outlet {
            fifo: FillLevel::new(FifoSettings { stall, ..settings }, LEAST),
            lost: false,
            resuming: false,
            reached: false,
            data_lost: false,
            target: false,
            last_target: false,
            number: 0,
        }
    }

    /// Advances the time by `cycles`.
    pub(super) fn advance(&mut self, cycles: u64) {
        self.fifo.advance(cycles);
    }

    /// The number of cycles for which the processor has to wait, so that all packets of a cycle
    /// fit.
    pub(super) fn stalls(&self, params: &Params) -> u64 {
        // A block has at most two packets, and so has a data access.
        self.fifo.stalls((2 * u32::from(params.port.taken_branches) + 2) * MAX_PACKET_LEN)
    }

    /// The processor waits for `cycles`.
    pub(super) fn wait(&mut self, cycles: u64) {
        self.fifo.wait(cycles);
    }

    /// The number of cycles for which the processor waited.
    pub(super) const fn waited(&self) -> u64 {
        self.fifo.waited()
    }

    /// Whether trace resumes with the next instruction, after lost packets.
    pub(super) fn resumes(&mut self) -> bool {
        let resumes = self.lost && !self.resuming && self.fifo.has_room();
        self.resuming |= resumes;
        resumes
    }

    /// Whether instruction trace packets are being lost.
    pub(super) const fn is_lost(&self) -> bool {
        self.lost
    }

    /// Trace resumes with the next packet of format 3. (0.026)
    pub(super) fn resume(&mut self) {
        self.reached = true;
    }

    /// Whether data trace packets are being lost.
    pub(super) const fn is_data_lost(&self) -> bool {
        self.data_lost
    }

    /// Whether data trace can resume without a support packet of instruction trace.
    pub(super) const fn data_resumes(&self) -> bool {
        self.data_lost && !self.lost && self.fifo.has_room()
    }

    /// Data trace resumes without a report of the loss.
    pub(super) fn data_anew(&mut self) {
        self.data_lost = false;
    }

    /// All bytes leave.
    pub(super) fn empty(&mut self) {
        self.fifo.empty();
    }

    /// Passes a packet of the unit on. `None` if it is lost; in 0.026 the support packet in its
    /// place.
    pub(super) fn take(&mut self, mut packet: Packet, params: &Params) -> Option<Packet> {
        if params.link.framing == Framing::Esp32 {
            // Lost packets count too.
            packet.envelope.source = self.number;
            self.number = self.number.wrapping_add(1);
        }
        if self.fifo.is_unlimited() {
            return Some(packet);
        }
        if self.lost && !matches!(packet.payload, Payload::Data(_)) {
            let resumes = match packet.payload {
                Payload::Support(support) => support.qualification == Qualification::TraceLost,
                Payload::Start(_) | Payload::Trap(_) => self.reached,
                _ => false,
            };
            if !resumes {
                return None;
            }
            (self.lost, self.resuming, self.reached) = (false, false, false);
        }
        if let Payload::Support(support) = &mut packet.payload {
            support.data_lost |= core::mem::take(&mut self.data_lost);
        }
        let len = length(&packet.payload, params);
        let spare = if params.is_draft() { SUPPORT } else { 0 };
        if self.fifo.fits(len + spare) {
            let data = matches!(packet.payload, Payload::Data(_));
            if data && self.data_lost {
                return None;
            }
            if !data {
                self.last_target = core::mem::take(&mut self.target);
            }
            self.fifo.push(len);
            return Some(packet);
        }
        if let Payload::Data(_) = packet.payload {
            self.data_lost = true;
            return None;
        }
        if let Payload::Support(support) = packet.payload {
            // The next support packet reports the lost data.
            self.data_lost |= support.data_lost;
        }
        self.lost = true;
        if !params.is_draft() {
            return None;
        }
        let qualification = match self.last_target {
            true => Qualification::EndedUnreported,
            false => Qualification::EndedReported,
        };
        let support = Support { enabled: true, qualification, ..Support::of(params) };
        self.fifo.push(length(&Payload::Support(support), params));
        Some(Packet::sent(Payload::Support(support), params))
    }
}

/// The path of data trace packets through the FIFO.
pub(super) struct Gate<'a, E> {
    pub(super) outlet: &'a mut Outlet,
    pub(super) params: &'a Params,
    pub(super) out: &'a mut E,
}

impl<E: Extend<Packet>> Extend<Packet> for Gate<'_, E> {
    fn extend<T: IntoIterator<Item = Packet>>(&mut self, packets: T) {
        for packet in packets {
            self.out.extend(self.outlet.take(packet, self.params));
        }
    }
}

//! The way out of the unit: a FIFO that holds so many bytes, and what becomes of packets that it has no room for.
//!
//! Either the processor waits (`stall`), and nothing is lost; or packets are lost until there is room again. From 1.0 on
//! a support packet says so then (`qual_status` *trace lost*, `dloss` for data trace). 0.026 has no code for that: there
//! the unit says that tracing ended while it still can, and keeps room for the packet.

use super::length::length;
use crate::etrace::config::{Framing, Params};
use crate::etrace::packet::{Packet, Payload, Qualification, Support};

/// The FIFO before the transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FifoSettings {
    /// Bytes that it holds; 0 for no limit.
    pub bytes: u32,
    /// Cycles in which it gives off one byte, at least 1.
    pub drain: u32,
    /// The processor waits where there is no room (`stall`). Else packets are lost.
    pub stall: bool,
}

impl Default for FifoSettings {
    /// No limit.
    fn default() -> Self {
        FifoSettings { bytes: 0, drain: 4, stall: false }
    }
}

/// The FIFO's state. What it took is given on at once: only how full it is matters here.
#[derive(Clone, Debug)]
pub(super) struct Outlet {
    settings: FifoSettings,
    /// Bytes in it.
    level: u32,
    /// Cycles since it last gave one off.
    since: u32,
    /// Instruction trace packets are lost.
    lost: bool,
    /// The instruction is chosen that trace goes on with.
    resuming: bool,
    /// It is dealt with. (0.026)
    reached: bool,
    /// Data trace packets are lost.
    data_lost: bool,
    /// The packet to come reports an address because it was jumped to.
    pub(super) target: bool,
    /// So did the last one that went out.
    last_target: bool,
    /// Cycles that the processor waited.
    waited: u64,
    /// The running number of the next packet. (ESP32)
    number: u16,
}

/// So many bytes has the longest packet with all that may stand before its payload.
const LONGEST: u32 = 1 + 31 + 8 + 2;
/// Room that is kept for the support packet of 0.026.
const SUPPORT: u32 = 6;
/// A FIFO holds as many as this at least: what trace goes on with must have room when it is half empty.
const LEAST: u32 = 2 * (LONGEST + 2 * SUPPORT);

impl Outlet {
    /// An empty FIFO. `no_support`: the unit has no support packets.
    pub(super) fn new(settings: FifoSettings, no_support: bool) -> Self {
        let bytes = if settings.bytes > 0 { settings.bytes.max(LEAST) } else { 0 };
        // A unit without support packets cannot tell of a loss.
        let stall = settings.stall || no_support;
        Outlet {
            settings: FifoSettings { bytes, drain: settings.drain.max(1), stall },
            level: 0,
            since: 0,
            lost: false,
            resuming: false,
            reached: false,
            data_lost: false,
            target: false,
            last_target: false,
            waited: 0,
            number: 0,
        }
    }

    /// Cycles pass.
    pub(super) fn pass(&mut self, cycles: u64) {
        if self.settings.bytes == 0 {
            return;
        }
        let cycles = cycles + u64::from(self.since);
        let bytes = cycles / u64::from(self.settings.drain);
        self.level = u64::from(self.level).saturating_sub(bytes) as u32;
        self.since = (cycles % u64::from(self.settings.drain)) as u32;
    }

    /// For how many cycles the processor has to wait: there may be no room for all that one cycle brings.
    pub(super) fn stalls(&self, params: &Params) -> u64 {
        let FifoSettings { bytes, drain, stall } = self.settings;
        if !stall || bytes == 0 {
            return 0;
        }
        // Each block is for two packets at most, and so is a data access.
        let most = (2 * u32::from(params.port.taken_branches) + 2) * LONGEST;
        let over = self.level.saturating_sub(bytes.saturating_sub(most));
        (u64::from(over) * u64::from(drain)).saturating_sub(self.since.into())
    }

    /// The processor waits.
    pub(super) fn wait(&mut self, cycles: u64) {
        self.waited += cycles;
    }

    /// Cycles that the processor waited.
    pub(super) const fn waited(&self) -> u64 {
        self.waited
    }

    /// There is room for what trace goes on with.
    const fn has_room(&self) -> bool {
        self.level <= self.settings.bytes / 2
    }

    /// Whether trace goes on with the next instruction, after packets that were lost.
    pub(super) fn resumes(&mut self) -> bool {
        let resumes = self.lost && !self.resuming && self.has_room();
        self.resuming |= resumes;
        resumes
    }

    /// Instruction trace packets are lost.
    pub(super) const fn is_lost(&self) -> bool {
        self.lost
    }

    /// The next packet of format 3 goes on. (0.026)
    pub(super) fn go_on(&mut self) {
        self.reached = true;
    }

    /// Data trace packets are lost.
    pub(super) const fn is_data_lost(&self) -> bool {
        self.data_lost
    }

    /// Whether data trace can go on, and instruction trace does not have to say so.
    pub(super) const fn data_resumes(&self) -> bool {
        self.data_lost && !self.lost && self.has_room()
    }

    /// Nothing tells of data that were lost.
    pub(super) fn data_anew(&mut self) {
        self.data_lost = false;
    }

    /// All that is in it is given off.
    pub(super) fn empty(&mut self) {
        self.level = 0;
    }

    /// A packet that the unit makes: what goes out in its place.
    pub(super) fn take(&mut self, mut packet: Packet, params: &Params) -> Option<Packet> {
        let FifoSettings { bytes, stall, .. } = self.settings;
        if params.link.framing == Framing::Esp32 {
            // Those that are lost count, too.
            packet.envelope.source = self.number;
            self.number = self.number.wrapping_add(1);
        }
        if bytes == 0 {
            return Some(packet);
        }
        if self.lost && !matches!(packet.payload, Payload::Data(_)) {
            let goes_on = match packet.payload {
                Payload::Support(support) => support.qualification == Qualification::TraceLost,
                Payload::Start(_) | Payload::Trap(_) => self.reached,
                _ => false,
            };
            if !goes_on {
                return None;
            }
            (self.lost, self.resuming, self.reached) = (false, false, false);
        }
        if let Payload::Support(support) = &mut packet.payload {
            support.data_lost |= core::mem::take(&mut self.data_lost);
        }
        let len = length(&packet.payload, params);
        let spare = if params.is_draft() { SUPPORT } else { 0 };
        if stall || self.level + len + spare <= bytes {
            let data = matches!(packet.payload, Payload::Data(_));
            if data && self.data_lost {
                return None;
            }
            if !data {
                self.last_target = core::mem::take(&mut self.target);
            }
            self.level += len;
            return Some(packet);
        }
        if let Payload::Data(_) = packet.payload {
            self.data_lost = true;
            return None;
        }
        if let Payload::Support(support) = packet.payload {
            // Of data that were lost the next one has to say.
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
        self.level += length(&Payload::Support(support), params);
        Some(Packet::sent(Payload::Support(support), params))
    }
}

/// Data trace packets on their way through the FIFO.
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

//! Sends packets: synchronisation, addresses, timestamps.

use tracewright_base::{Retired, Wire};

use super::{Encoder, needs};
use crate::etmv4::Config;
use crate::etmv4::packet::{Address, Atoms, Packet, TraceInfo};

/// Counts bytes.
struct Size(u64);

impl Extend<u8> for Size {
    fn extend<T: IntoIterator<Item = u8>>(&mut self, bytes: T) {
        self.0 += bytes.into_iter().count() as u64;
    }
}

impl Encoder {
    /// Sends a packet after the unsent atoms.
    pub(super) fn put(&mut self, packet: Packet, config: &Config, out: &mut impl Extend<Packet>) {
        self.flush(config, out);
        self.send(packet, config, out);
    }

    /// Sends the unsent atoms.
    pub(super) fn flush(&mut self, config: &Config, out: &mut impl Extend<Packet>) {
        while self.deferred > 0 {
            self.deferred -= 1;
            self.push(false, config, out);
        }
        if let Some(atoms) = self.waiting.take() {
            self.send_atoms(atoms, config, out);
        }
    }

    /// Traces one atom.
    #[inline]
    pub(super) fn atom(&mut self, taken: bool, config: &Config, out: &mut impl Extend<Packet>) {
        if self.settings.sources > 0 {
            if !taken && config.is_ete() {
                self.deferred += 1;
                return;
            }
            while self.deferred > 0 {
                self.deferred -= 1;
                self.push(false, config, out);
            }
        }
        self.push(taken, config, out);
    }

    #[inline]
    fn push(&mut self, taken: bool, config: &Config, out: &mut impl Extend<Packet>) {
        if let Some(atoms) = self.waiting.push(taken) {
            self.send_atoms(atoms, config, out);
        }
        self.added(1);
    }

    #[inline]
    fn send_atoms(&mut self, atoms: Atoms, config: &Config, out: &mut impl Extend<Packet>) {
        if self.settings.fifo > 0 {
            return self.send(Packet::Atoms(atoms), config, out);
        }
        self.bytes += 1;
        out.extend([Packet::Atoms(atoms)]);
    }

    /// Sends a packet, if the FIFO has space.
    pub(super) fn send(&mut self, packet: Packet, config: &Config, out: &mut impl Extend<Packet>) {
        if self.lost {
            return;
        }
        let mut size = Size(0);
        packet.emit(config, &mut size);
        if self.settings.fifo > 0 && packet != Packet::Overflow {
            let level = self.level + size.0 as u32;
            // The packets that restart the trace always have space.
            if level > self.settings.fifo && self.traced.is_some() {
                self.lost = true;
                return;
            }
            self.level = level;
        }
        self.compressor.record(&packet);
        self.bytes += size.0;
        out.extend([packet]);
    }

    /// Sends Alignment Sync, Trace Info and a timestamp.
    pub(super) fn synchronise(&mut self, config: &Config, out: &mut impl Extend<Packet>) {
        self.needs &= !needs::SYNC;
        self.put(Packet::AlignSync, config, out);
        let mut info = TraceInfo::default();
        let bits = u32::from(config.cycle_counting()) | u32::from(self.in_transaction) << 6;
        if bits != 0 {
            info = info.with_info(bits);
        }
        if self.counter.depth() > 0 {
            info = info.with_speculation(self.counter.depth());
        }
        if config.cycle_counting() {
            info = info.with_threshold(self.settings.threshold);
        }
        self.put(Packet::TraceInfo(info), config, out);
        self.bytes = 0;
        self.returns.clear();
        self.needs |= needs::START_POINT;
        self.late = self.settings.late_address;
        if let Some(time) = self.time
            && config.timestamps()
            && config.timestamp_bits() > 0
        {
            self.timestamp(time, config, out);
        }
    }

    /// Sends a timestamp, after a marker if the unit has markers.
    pub(super) fn timestamp(&mut self, value: u64, config: &Config, out: &mut impl Extend<Packet>) {
        let value = if config.timestamp_bits() == 48 { value & 0xffff_ffff_ffff } else { value };
        self.flush(config, out);
        if config.has_timestamp_marker() && config.knows_timestamp_marker() {
            self.put(Packet::TimestampMarker, config, out);
        }
        let cycles = config.cycle_counting().then(|| self.counter.since_last());
        let timestamp = self.compressor.timestamp(value, cycles);
        self.put(timestamp, config, out);
    }

    /// Sends address and context in the shortest form.
    pub(super) fn address(
        &mut self,
        address: bool,
        context: bool,
        config: &Config,
        out: &mut impl Extend<Packet>,
    ) {
        let target = self.compressor.address(self.next, self.next_isa, config);
        let info = self.compressor.context(&self.context, config);
        if context {
            self.traced = Some(self.context);
        }
        match (address, context, target) {
            (true, true, Address::Long32 { .. } | Address::Long64 { .. }) => {
                self.put(Packet::AddressContext(target, info), config, out);
            }
            _ => {
                if address {
                    self.put(Packet::Address(target), config, out);
                }
                if context {
                    self.put(Packet::Context(Some(info)), config, out);
                }
            }
        }
    }

    /// Sends the branch `r` as a source address: it was taken, and all P0 instructions before it
    /// were not.
    pub(super) fn source(&mut self, r: &Retired, config: &Config, out: &mut impl Extend<Packet>) {
        self.deferred = 0;
        let address = self.compressor.address(r.address, r.instruction.isa, config);
        self.put(Packet::SourceAddress(address), config, out);
        self.added(1);
    }
}

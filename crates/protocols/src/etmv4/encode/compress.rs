//! The unit's state for the compression of packets: the counterpart of a decoder's [`History`].

use tracewright_base::{Context, Isa, Security};

use crate::etmv4::packet::{Address, ContextInfo, Packet, Q, SubIsa};
use crate::etmv4::{Config, History};

/// The instruction set selector of `isa`.
#[inline]
pub(super) const fn selector(isa: Isa) -> SubIsa {
    match isa {
        Isa::T32 | Isa::ThumbEe => SubIsa::Is1,
        _ => SubIsa::Is0,
    }
}

/// A context without its identifiers. The default for unknown parts is EL0, Non-secure.
pub(super) fn plain(context: &Context) -> ContextInfo {
    let security = context.security.unwrap_or(Security::NonSecure);
    ContextInfo::new(context.el.unwrap_or(0), security, context.bits64)
}

/// The last addresses and the rest of the compression state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Compressor {
    history: History,
    /// The last three addresses, the last first.
    addresses: [(u64, SubIsa); 3],
    /// Identifiers have been sent since the last Trace Info.
    identified: bool,
}

impl Compressor {
    /// Records a packet that is sent.
    #[inline]
    pub(super) fn record(&mut self, packet: &Packet) {
        match packet {
            Packet::Atoms(_) => return,
            Packet::TraceInfo(_) => {
                self.addresses = Default::default();
                self.identified = false;
            }
            Packet::Context(Some(_)) | Packet::AddressContext(..) => self.identified = true,
            _ => {}
        }
        self.history.packet(packet);
        if has_address(packet) {
            let last = self.history.last();
            self.addresses = [(last.address, last.is()), self.addresses[0], self.addresses[1]];
        }
    }

    /// The shortest form of an address.
    pub(super) fn address(&self, address: u64, isa: Isa, config: &Config) -> Address {
        let is = selector(isa);
        let address = address & isa.address_mask();
        let (last, _) = self.addresses[0];
        if let Some(n) = self.addresses.iter().position(|&entry| entry == (address, is)) {
            return Address::Match(n as u8);
        }
        let (byte, two) = (7 + is.shift(), 15 + is.shift());
        let same_above = |bits: u8| (address ^ last) >> bits == 0;
        let low = |bits: u8| (address & ((1 << bits) - 1)) as u32;
        if same_above(byte) {
            Address::Short { is, bits: low(byte), count: byte }
        } else if same_above(two) {
            Address::Short { is, bits: low(two), count: two }
        } else if same_above(32) || !config.addresses_64() {
            Address::Long32 { is, bits: address as u32 }
        } else {
            Address::Long64 { is, bits: address }
        }
    }

    /// A context with the identifiers that the unit traces and that differ from the decoder's.
    pub(super) fn context(&self, context: &Context, config: &Config) -> ContextInfo {
        let retained = self.history.context();
        let mut info = plain(context);
        if config.vmid() && config.vmid_bytes() > 0 {
            let vmid = context.vmid.unwrap_or(0);
            if !self.identified || retained.vmid != Some(vmid) {
                info = info.with_vmid(vmid);
            }
        }
        if config.context_id() && config.context_id_bytes() > 0 {
            let id = context.context_id.unwrap_or(0);
            if !self.identified || retained.context_id != Some(id) {
                info = info.with_context_id(id);
            }
        }
        info
    }

    /// A timestamp with the bits that changed: 7 to 56 in steps of 7, or all.
    pub(super) fn timestamp(&self, value: u64, cycles: Option<u32>) -> Packet {
        let changed = 64 - (value ^ self.history.timestamp_so_far()).leading_zeros() as u8;
        let count = match changed.div_ceil(7).max(1) * 7 {
            count @ ..=56 => count,
            _ => 64,
        };
        let bits = if count == 64 { value } else { value & ((1 << count) - 1) };
        Packet::Timestamp { bits, count, cycles }
    }
}

/// Whether this packet adds an address to the address history.
fn has_address(packet: &Packet) -> bool {
    match packet {
        Packet::Address(_)
        | Packet::AddressContext(..)
        | Packet::SourceAddress(_)
        | Packet::Q(Q::To(..)) => true,
        Packet::Exception(exception) => exception.unknown_address,
        _ => false,
    }
}

//! The state that completes compressed packets: the last addresses, the timestamp, the context.

use tracewright_base::{Context, El, Isa, Security};

use super::Config;
use super::packet::{Address, ContextInfo, Packet, Q, SubIsa, TraceInfo};
use crate::bits::replace_low;

/// An address in the history.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Entry {
    /// The address. Bits from `known` up are zero.
    pub address: u64,
    /// The number of known low bits, bits \[7:0]; IS1, bit 8. A value of two whole words is passed
    /// in registers.
    form: u64,
}

impl Entry {
    /// The low `known` bits of an address with the sub-ISA `is`.
    #[inline]
    const fn new(address: u64, known: u8, is: SubIsa) -> Entry {
        Entry { address, form: known as u64 | (is as u64) << 8 }
    }

    /// The number of known low bits: 64 after a Trace Info packet.
    #[inline]
    pub const fn known(self) -> u8 {
        self.form as u8
    }

    /// Instruction set.
    #[inline]
    pub const fn is(self) -> SubIsa {
        if self.form >> 8 == 0 { SubIsa::Is0 } else { SubIsa::Is1 }
    }
}

/// The state against which packets are compressed. All of it is unknown by default; a Trace Info
/// packet sets it. (ETE K10.5.2.1 "Retained state", K10.5.2.4 "Trace Info packet")
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct History {
    /// The last three addresses, the last first.
    addresses: [Entry; 3],
    timestamp: u64,
    /// Low bits of the timestamp that are known.
    timestamp_known: u8,
    /// Cycles that are added to each cycle count.
    threshold: u32,
    context: Retained,
    /// A Trace Info packet was taken.
    started: bool,
}

/// The last context.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Retained {
    el: Option<El>,
    security: Option<Security>,
    bits64: bool,
    vmid: Option<u32>,
    context_id: Option<u32>,
}

impl History {
    /// Updates the state with `packet`. Afterwards [`address`](Self::address) is the address of the
    /// packet, if it has one, and [`context`](Self::context) its context.
    #[inline]
    pub fn packet(&mut self, packet: &Packet) {
        match *packet {
            Packet::TraceInfo(info) => self.trace_info(&info),
            Packet::Address(address)
            | Packet::SourceAddress(address)
            | Packet::Q(Q::To(address, _)) => {
                self.complete(address);
            }
            Packet::AddressContext(address, context) => {
                self.complete(address);
                self.set_context(&context);
            }
            Packet::Context(Some(context)) => self.set_context(&context),
            Packet::Exception(exception) if exception.unknown_address => self.unknown_address(),
            Packet::Timestamp { bits, count, .. } => {
                self.set_timestamp(bits, count);
            }
            _ => {}
        }
    }

    /// Resets addresses, timestamp and context to zero, which is EL0, Secure and AArch32. ETMv4 and
    /// ETE do the same.
    pub fn trace_info(&mut self, info: &TraceInfo) {
        *self = History {
            addresses: [Entry::new(0, 64, SubIsa::Is0); 3],
            timestamp: 0,
            timestamp_known: 64,
            threshold: if info.cycle_counting() { info.threshold().unwrap_or(0) } else { 0 },
            context: Retained {
                el: Some(0),
                security: Some(Security::Secure),
                bits64: false,
                vmid: Some(0),
                context_id: Some(0),
            },
            started: true,
        };
    }

    /// The complete address of the Address packet at the start of `bytes`, and the packet's length.
    /// The length is 0 if `bytes` do not begin with a whole Address packet.
    // Most packets are of these forms. Reading them has no branch that is hard to predict.
    #[inline(always)]
    pub(super) fn peek(&self, header: u8, bytes: &[u8]) -> (Entry, usize) {
        let [last, ..] = self.addresses;
        match (header, bytes) {
            (0x95 | 0x96, &[_, low, high, ..]) => {
                let is = if header == 0x95 { SubIsa::Is0 } else { SubIsa::Is1 };
                let two = low >> 7;
                let field = u64::from(low & 0x7f) | u64::from(high & two.wrapping_neg()) << 7;
                let count = 7 + 8 * two + is.shift();
                let address = last.address & u64::MAX << count | field << is.shift();
                (Entry::new(address, last.known().max(count), is), 2 + usize::from(two))
            }
            (0x9a | 0x9b, &[_, a, b, c, d, ..]) => {
                let is = if header == 0x9a { SubIsa::Is0 } else { SubIsa::Is1 };
                (self.completed(Address::of_32(is, [a, b, c, d])), 5)
            }
            (0x90..=0x92, _) => {
                (*self.addresses.get(usize::from(header & 0b11)).unwrap_or(&last), 1)
            }
            _ => self.peek_any(header, bytes),
        }
    }

    #[cold]
    fn peek_any(&self, header: u8, bytes: &[u8]) -> (Entry, usize) {
        match bytes.get(1..).and_then(|bytes| Address::parse(header, bytes)) {
            Some(Some((address, len))) => (self.completed(address), 1 + len),
            _ => (Entry::default(), 0),
        }
    }

    /// Completes an address and makes it the last one.
    #[inline]
    pub fn complete(&mut self, address: Address) -> Entry {
        let entry = self.completed(address);
        self.push(entry);
        entry
    }

    #[inline]
    fn completed(&self, address: Address) -> Entry {
        let [last, ..] = self.addresses;
        match address {
            Address::Match(n) => *self.addresses.get(usize::from(n)).unwrap_or(&last),
            Address::Short { is, bits, count } => {
                let address = replace_low(last.address, bits.into(), count);
                Entry::new(address, last.known().max(count), is)
            }
            Address::Long32 { is, bits } => {
                let address = replace_low(last.address, bits.into(), 32);
                Entry::new(address, last.known().max(32), is)
            }
            Address::Long64 { is, bits } => Entry::new(bits, 64, is),
        }
    }

    /// The return address of an exception is unknown: adds a zero to the history.
    pub fn unknown_address(&mut self) {
        self.push(Entry::new(0, 64, SubIsa::Is0));
    }

    /// Makes `entry` the last address.
    #[inline]
    pub(super) fn push(&mut self, entry: Entry) {
        self.addresses.copy_within(..2, 1);
        self.addresses[0] = entry;
    }

    /// The last address. `None` if it is not completely known.
    #[inline]
    pub fn address(&self) -> Option<(u64, SubIsa)> {
        let [last, ..] = self.addresses;
        if last.known() == 64 { Some((last.address, last.is())) } else { None }
    }

    /// The last address with the number of known bits.
    pub const fn last(&self) -> Entry {
        self.addresses[0]
    }

    /// Updates the context.
    #[inline]
    pub fn set_context(&mut self, info: &ContextInfo) {
        self.context = Retained {
            el: Some(info.el()),
            security: Some(info.security()),
            bits64: info.bits64(),
            vmid: info.vmid().or(self.context.vmid),
            context_id: info.context_id().or(self.context.context_id),
        };
    }

    /// The context, with the instruction set of the last address.
    pub fn context(&self) -> Context {
        let Retained { el, security, bits64, vmid, context_id } = self.context;
        Context { context_id, vmid, el, security, bits64, isa: self.isa() }
    }

    /// The instruction set of the last address in the last context.
    #[inline]
    pub const fn isa(&self) -> Isa {
        self.addresses[0].is().isa(self.context.bits64)
    }

    /// AArch64 state.
    #[inline]
    pub const fn bits64(&self) -> bool {
        self.context.bits64
    }

    /// Completes a timestamp.
    pub fn set_timestamp(&mut self, bits: u64, count: u8) -> u64 {
        self.timestamp = replace_low(self.timestamp, bits, count);
        self.timestamp_known = self.timestamp_known.max(count);
        self.timestamp
    }

    /// The last timestamp. `None` if it is not completely known.
    pub const fn timestamp(&self) -> Option<u64> {
        if self.timestamp_known == 64 { Some(self.timestamp) } else { None }
    }

    /// The last timestamp. Unknown bits are zero.
    pub const fn timestamp_so_far(&self) -> u64 {
        self.timestamp
    }

    /// Cycles that are added to each cycle count. (CYCT of Trace Info)
    #[inline]
    pub const fn threshold(&self) -> u32 {
        self.threshold
    }

    /// The number of P0 elements that a cycle count packet commits, and its cycles, which are
    /// `None` if the unit lost the count. `None` for any other packet.
    pub fn cycles(&self, config: &Config, packet: &Packet) -> Option<(u32, Option<u32>)> {
        let (commit, cycles) = match *packet {
            Packet::CycleCount1 { commit, cycles } => (commit.unwrap_or(0), cycles),
            Packet::CycleCount2 { from_max: true, commit, cycles } => {
                let all = config.max_speculation().saturating_add(commit.into());
                (all.saturating_sub(15), Some(cycles.into()))
            }
            Packet::CycleCount2 { from_max: false, commit, cycles } => {
                (u32::from(commit) + 1, Some(cycles.into()))
            }
            Packet::CycleCount3 { commit, cycles } => (u32::from(commit) + 1, Some(cycles.into())),
            _ => return None,
        };
        let commit = if config.commit_mode_1() { 0 } else { commit };
        Some((commit, cycles.map(|cycles| cycles.saturating_add(self.threshold))))
    }

    /// A Trace Info packet was taken.
    pub const fn started(&self) -> bool {
        self.started
    }
}

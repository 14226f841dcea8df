//! Data accesses to data packets. (IHI 0014, 7.4)

use tracewright_base::Access;

use super::base::Base;
use crate::etmv3::Config;
use crate::etmv3::packet::{Packet, Value};

/// The state that the next data packet depends on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Data {
    /// The address that follows the last transfer of the instruction.
    expected: Option<u32>,
    /// Transfers of the instruction so far.
    seen: u8,
    /// The remaining accesses of the instruction are suppressed.
    suppressed: bool,
    /// The packet before the push or pop of an exception was emitted.
    announced: bool,
    /// Late values by tag. A 64-bit access has two.
    late: [[Option<u32>; 2]; 3],
    /// Instructions since the last placeholder.
    age: u8,
    /// The last tag, 1 to 3; 0: none.
    tag: u8,
}

/// Instructions after which late values come.
const LATE: u8 = 2;

impl Data {
    /// An instruction was traced: the next accesses belong to it.
    pub(super) fn instruction(&mut self) {
        (self.expected, self.seen, self.suppressed, self.announced) = (None, 0, false, false);
        self.age = self.age.saturating_add(1);
    }

    /// Whether late values come now.
    pub(super) const fn due(&self) -> bool {
        self.age >= LATE
    }

    /// Drops all state.
    pub(super) fn lose(&mut self) {
        *self = Data::default();
    }

    /// Emits the late values, in the order of their tags.
    pub(super) fn late(&mut self, config: &Config, mut put: impl FnMut(Packet)) {
        for tag in 1..=3 {
            self.late_of(tag, config, &mut put);
        }
    }

    fn late_of(&mut self, tag: u8, config: &Config, put: &mut impl FnMut(Packet)) {
        let Some(slots) = self.late.get_mut(usize::from(tag).wrapping_sub(1)) else { return };
        for bits in slots.iter_mut().filter_map(Option::take) {
            let value = config.control.values().then(|| value(bits));
            put(Packet::Late { tag, value });
        }
    }

    /// Emits an access of the last instruction or of an exception. `announcement` is the packet
    /// before the first access of an exception.
    pub(super) fn access(
        &mut self,
        access: &Access,
        announcement: Option<Packet>,
        first_again: bool,
        base: &mut Base,
        config: &Config,
        put: &mut impl FnMut(Packet),
    ) {
        let coprocessor = access.has(Access::COPROCESSOR);
        // MonitorCPRT, bit [1], and bits [3:2] for memory.
        let wanted = config.control.0 & if coprocessor { 0b0010 } else { 0b1100 };
        // A suppressed access has no address.
        let nowhere = access.address().is_none() && !coprocessor;
        if wanted == 0 || self.suppressed || nowhere && !access.has(Access::SUPPRESSED) {
            return;
        }
        if access.has(Access::EXCEPTION) && !core::mem::replace(&mut self.announced, true) {
            announcement.into_iter().for_each(&mut *put);
            (self.expected, self.seen) = (None, 0);
        }
        if access.has(Access::SUPPRESSED) {
            self.suppressed = true;
            if config.id.minor() <= 2 {
                base.forget_data();
            }
            // Data-only mode has no such packet. (7.5)
            if !config.control.data_only() {
                put(Packet::Suppressed);
            }
            return;
        }
        let words = if access.size == 8 { 2 } else { 1 };
        let mut tag = None;
        for k in 0..words {
            let bits = (access.value().unwrap_or(0) >> (32 * k)) as u32;
            let address = access.address().map(|address| (address as u32).wrapping_add(4 * k));
            let first = self.first(address, coprocessor, first_again, config);
            let big_endian = access.has(Access::BIG_ENDIAN) && config.id.minor() >= 1;
            let sent = address.filter(|_| first && config.control.addresses() && !coprocessor);
            let sent = sent.map(|address| base.data(address, big_endian));
            self.expected = address.map(|address| address.wrapping_add(4));
            self.seen = self.seen.saturating_add(1);
            if access.has(Access::LATE) {
                let tag = *tag.get_or_insert_with(|| {
                    self.tag = self.tag % 3 + 1;
                    self.tag
                });
                if k == 0 {
                    self.late_of(tag, config, put);
                    self.age = 0;
                }
                if let Some(slot) = self.late.get_mut(usize::from(tag).wrapping_sub(1)) {
                    slot[k as usize & 1] = Some(bits);
                }
                put(Packet::Placeholder { tag, first: first && k == 0, address: sent });
            } else if access.has(Access::VALUE_NOT_TRACED) || access.value().is_none() {
                put(Packet::ValueNotTraced { first, address: sent });
            } else {
                let value = config.control.values().then(|| value(bits));
                put(Packet::Data { first, address: sent, value });
            }
        }
        let failed = access.has(Access::STORE_FAILED) && config.id.minor() >= 1;
        if failed && config.control.values() {
            put(Packet::StoreFailed);
        }
    }

    /// Whether the next packet has A = 1: it is the first of its instruction, or its address does
    /// not follow the previous one.
    fn first(&self, address: Option<u32>, coprocessor: bool, again: bool, config: &Config) -> bool {
        if coprocessor {
            return false;
        }
        self.seen == 0
            || again && self.seen == 1
            || config.id.minor() >= 1 && self.expected != address
    }
}

/// A value without its leading zero bytes. (Table 7-19)
const fn value(bits: u32) -> Value {
    let code = match bits {
        0 => 0,
        0x1..=0xff => 1,
        0x100..=0xffff => 2,
        _ => 3,
    };
    Value { bits, code }
}

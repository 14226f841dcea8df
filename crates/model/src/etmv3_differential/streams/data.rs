//! Data packets. (7.4)

use tracewright_base::Isa;
use tracewright_isa::{Transfer, With};

use super::packets::Packets;
use crate::Random;

/// The instruction whose data come next, and the placeholders that wait for their values.
#[derive(Clone, Debug, Default)]
pub(super) struct Data {
    owner: Option<Transfer>,
    /// A stack push or pop.
    stack: bool,
    /// Transfers of the owner so far.
    items: u8,
    /// Tags of placeholders, in order. A 64-bit value has its tag twice.
    pending: Vec<u8>,
    /// The full address is known to the decompressor.
    synced: bool,
    address: u32,
    big_endian: bool,
}

impl Data {
    /// A data instruction was traced, or what is traced is not known.
    pub(super) fn owner(&mut self, owner: Option<(Isa, Transfer)>, stack: bool) {
        self.owner = owner.map(|(_, class)| class);
        (self.stack, self.items) = (stack, 0);
    }

    /// Tracing starts. `gap`: the next address comes whole.
    pub(super) fn restart(&mut self, gap: bool) {
        self.owner(None, false);
        self.synced &= !gap;
    }

    /// Some of the transfers of the owner.
    pub(super) fn traffic(&mut self, random: &mut Random, packets: &mut Packets) {
        let count = match (self.owner, self.stack) {
            (Some(class), _) => class.count.unwrap_or(2),
            (None, true) => 8,
            (None, false) => 2,
        };
        let left = usize::from(count.saturating_sub(self.items));
        let all = random.chance(128);
        for _ in 0..if all { left } else { random.index(left + 1) } {
            if self.items < count {
                self.item(random, packets);
            }
        }
    }

    fn item(&mut self, random: &mut Random, packets: &mut Packets) {
        let coprocessor = self.owner.is_some_and(|class| class.with == With::Coprocessor);
        let unit = packets.unit;
        let a = !coprocessor && (self.items == 0 || random.one_in(8));
        self.items += 1;
        let mut address = Vec::new();
        let kind = random.index(16);
        if kind == 15 && !unit.data_only() {
            packets.raw(&[0x62]);
            // D-sync is required after a restart from data suppression. (7.4.6)
            self.synced &= unit.minor() > 2;
            self.owner = None;
            self.items = u8::MAX;
            return;
        }
        if a && unit.addresses() {
            address = self.address(random, unit.minor());
        }
        let bit = u8::from(a);
        match kind {
            0..=2 if unit.values() && self.pending.len() < 4 => {
                let tag = random.between(1, 3) as u8;
                if self.pending.contains(&tag) {
                    self.pending.retain(|other| *other != tag);
                }
                let header = 0x50 | bit << 5 | tag << 2;
                packets.raw(&[vec![header], address].concat());
                self.pending.push(tag);
                if random.one_in(3) && self.items < 2 {
                    packets.raw(&[0x50 | tag << 2]);
                    self.pending.push(tag);
                    self.items += 1;
                }
            }
            3 => packets.raw(&[vec![0x6a | bit << 4], address].concat()),
            _ => {
                let exclusive = self.owner.is_some_and(|class| class.with == With::Exclusive);
                let failed = exclusive && unit.values() && unit.minor() >= 1 && random.one_in(3);
                let (size, value) = value(random, unit.values(), failed);
                packets.raw(&[vec![0x02 | bit << 5 | size << 2], address, value].concat());
                if failed {
                    packets.raw(&[0x50]);
                }
            }
        }
    }

    fn address(&mut self, random: &mut Random, minor: u32) -> Vec<u8> {
        let before = self.address;
        self.address = match random.index(4) {
            0 => random.next() as u32,
            1 => before & !0xfff | random.below(0x1000) as u32,
            _ => before.wrapping_add(random.below(0x100) as u32),
        };
        let big_endian = minor >= 1 && random.one_in(4);
        let changed = 32 - (self.address ^ before).leading_zeros();
        let full = !self.synced || changed > 28 || big_endian != self.big_endian;
        let least = if full { 5 } else { changed.div_ceil(7).max(1) as usize };
        let len = if random.one_in(6) { random.between(least, 5) } else { least };
        if len == 5 {
            (self.synced, self.big_endian) = (true, big_endian);
        }
        (0..len)
            .map(|n| match n {
                4 => (self.address >> 28) as u8 | u8::from(big_endian) << 4,
                _ => (self.address >> (7 * n)) as u8 & 0x7f | u8::from(n + 1 < len) << 7,
            })
            .collect()
    }

    /// The value of a placeholder, or one that no placeholder waits for.
    pub(super) fn late(&mut self, random: &mut Random, packets: &mut Packets) {
        if !packets.unit.values() {
            return;
        }
        let tag = match self.pending.is_empty() {
            true if random.one_in(3) => random.between(1, 3) as u8,
            true => return,
            false => random.pick(&self.pending),
        };
        let count = self.pending.iter().filter(|other| **other == tag).count();
        self.pending.retain(|other| *other != tag);
        for _ in 0..count.max(1) {
            let (size, value) = value(random, true, false);
            packets.raw(&[vec![tag << 5 | size << 2], value].concat());
        }
    }
}

/// The size code and the bytes of a value. (Table 7-19)
fn value(random: &mut Random, traced: bool, zero: bool) -> (u8, Vec<u8>) {
    let size = if zero { 0 } else { random.index(4) as u8 };
    let len = if size == 3 { 4 } else { size.into() };
    (size, random.bytes(if traced { len } else { 0 }))
}

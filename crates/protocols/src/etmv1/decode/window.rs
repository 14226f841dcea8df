//! What came out of the FIFO and has not found its instruction yet.

use alloc::collections::VecDeque;

use tracewright_base::Parse;
use tracewright_frames::cycles::{Cycle, Width};

use crate::etmv1::Config;
use crate::etmv1::packet::{Address, LONGEST_ADDRESS};

/// Units of data that may wait. Far more than any FIFO holds, so that more of them is nonsense.
const UNITS: usize = 2048;
/// Addresses that may wait. The offset counts to 14.
const ADDRESSES: usize = 64;
/// Cycles until the offset of a branch status in the cycle of an address is known.
const SETTLED: u8 = 3;

/// Bytes (of a 4-bit port, half bytes) of data, and addresses, in the order of the FIFO.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Window {
    units: VecDeque<Unit>,
    addresses: VecDeque<Sent>,
    /// The last address is not whole yet.
    open: bool,
    /// The low half of its next byte.
    half: Option<u8>,
}

/// What one port cycle, or a half of a 16-bit one, brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Unit {
    /// Place of the cycle.
    at: u64,
    value: u8,
    /// It did come from the FIFO. Others may be nothing but noise on the pins.
    sure: bool,
}

/// An address on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sent {
    /// Place of its first cycle.
    at: u64,
    bytes: [u8; LONGEST_ADDRESS],
    len: u8,
    /// Cycles since, to [`SETTLED`].
    age: u8,
}

/// Data of one instruction cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Short {
    /// More of it may come.
    Wait,
    /// An address comes first.
    Cut,
}

impl Window {
    /// A cycle passed.
    pub(super) fn tick(&mut self) {
        for sent in self.addresses.iter_mut().rev().take_while(|sent| sent.age < SETTLED) {
            sent.age += 1;
        }
    }

    /// Takes TRACEPKT of the cycle at `at`. `wait`: its status says that there is something on it.
    /// `false` where more came than can be.
    pub(super) fn take(&mut self, at: u64, cycle: Cycle, wait: bool, config: &Config) -> bool {
        let (low, high) = (cycle.packet as u8, (cycle.packet >> 8) as u8);
        match config.width() {
            Width::W4 => {
                // TRACESYNC may stay high for the second half of a byte.
                if cycle.sync && self.half.is_none() {
                    self.begin(at);
                }
                if !self.open {
                    self.units.push_back(Unit { at, value: low, sure: wait });
                } else if let Some(half) = self.half.take() {
                    self.push(half | low << 4, config);
                } else {
                    self.half = Some(low);
                }
            }
            Width::W8 => {
                if cycle.sync {
                    self.begin(at);
                }
                self.byte(at, low, wait, config);
            }
            Width::W16 => {
                if cycle.sync {
                    self.begin(at);
                }
                self.byte(at, low, wait, config);
                // A single byte is padded in more than one case.
                self.byte(at, high, false, config);
            }
        }
        self.units.len() < UNITS && self.addresses.len() < ADDRESSES
    }

    fn byte(&mut self, at: u64, value: u8, sure: bool, config: &Config) {
        if self.open {
            self.push(value, config);
        } else {
            self.units.push_back(Unit { at, value, sure });
        }
    }

    fn begin(&mut self, at: u64) {
        self.addresses.push_back(Sent { at, bytes: [0; LONGEST_ADDRESS], len: 0, age: 0 });
        (self.open, self.half) = (true, None);
    }

    fn push(&mut self, byte: u8, config: &Config) {
        let Some(sent) = self.addresses.back_mut() else { return };
        if let Some(place) = sent.bytes.get_mut(usize::from(sent.len)) {
            *place = byte;
            sent.len += 1;
        }
        self.open = sent.address(config).is_none();
    }

    /// Addresses that have begun.
    pub(super) fn begun(&self) -> usize {
        self.addresses.len()
    }

    /// What came so far belongs to nobody.
    pub(super) fn clear(&mut self) {
        self.units.clear();
        self.addresses.clear();
        (self.open, self.half) = (false, None);
    }

    /// Data that nobody can claim any more, as no status does and their beginning is not known.
    pub(super) fn drop_data(&mut self) {
        self.units.clear();
    }

    /// Whether the first address is whole, or cut short by the next one, and no status that comes
    /// could claim it instead.
    pub(super) fn ready(&self) -> bool {
        let whole = !self.open || self.addresses.len() > 1;
        whole && self.addresses.front().is_some_and(|sent| sent.age >= SETTLED)
    }

    /// Takes the first address, and drops the data before it: `true` where some of them did come from
    /// the FIFO. The address is `None` where it was cut short.
    pub(super) fn address(&mut self, config: &Config) -> Option<(Option<Address>, bool)> {
        let sent = self.addresses.pop_front()?;
        if self.addresses.is_empty() {
            (self.open, self.half) = (false, None);
        }
        let left = self.drop_while(|at| at < sent.at);
        Some((sent.address(config), left))
    }

    /// Drops data up to the cycle at `end`: `true` where some of them did come from the FIFO.
    pub(super) fn drop_to(&mut self, end: u64) -> bool {
        self.drop_while(|at| at <= end)
    }

    fn drop_while(&mut self, gone: impl Fn(u64) -> bool) -> bool {
        let mut left = false;
        while let Some(unit) = self.units.front().filter(|unit| gone(unit.at)) {
            left |= unit.sure;
            self.units.pop_front();
        }
        left
    }

    /// Reads at the front, before the first address. What is read is gone if all of it could be.
    pub(super) fn read(
        &mut self,
        read: impl FnOnce(&mut Reader<'_>) -> Option<()>,
        config: &Config,
    ) -> Result<(), Short> {
        let limit = self.addresses.front().map(|sent| sent.at);
        let mut reader =
            Reader { units: &self.units, next: 0, limit, halves: config.width() == Width::W4 };
        let done = read(&mut reader);
        let next = reader.next;
        match done {
            Some(()) => {
                self.units.drain(..next);
                Ok(())
            }
            None if limit.is_some() => {
                while self.units.front().is_some_and(|unit| Some(unit.at) < limit) {
                    self.units.pop_front();
                }
                Err(Short::Cut)
            }
            None => Err(Short::Wait),
        }
    }
}

impl Sent {
    fn address(&self, config: &Config) -> Option<Address> {
        match Address::parse(self.bytes.get(..usize::from(self.len))?, config) {
            Parse::Packet(address, _) => Some(address),
            Parse::Partial | Parse::Bad(..) => None,
        }
    }
}

/// Reads data bytes.
pub(super) struct Reader<'a> {
    units: &'a VecDeque<Unit>,
    next: usize,
    /// Place of the first address.
    limit: Option<u64>,
    /// Units are half bytes.
    halves: bool,
}

impl Reader<'_> {
    pub(super) fn byte(&mut self) -> Option<u8> {
        let low = self.unit()?;
        Some(if self.halves { low | self.unit()? << 4 } else { low })
    }

    fn unit(&mut self) -> Option<u8> {
        let unit = self.units.get(self.next)?;
        if self.limit.is_some_and(|limit| unit.at >= limit) {
            return None;
        }
        self.next += 1;
        Some(unit.value)
    }
}

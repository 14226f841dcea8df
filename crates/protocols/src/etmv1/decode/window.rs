//! FIFO output that no instruction has claimed yet.

use alloc::collections::VecDeque;

use tracewright_base::Parse;
use tracewright_frames::cycles::{Cycle, Width};

use crate::etmv1::Config;
use crate::etmv1::packet::{Address, MAX_ADDRESS_LEN};

/// Limit of the waiting data units. No FIFO holds as many, so more of them prove an inconsistency.
const UNITS: usize = 2048;
/// Limit of the waiting addresses. The address packet offset counts to 14. (5.6.1)
const ADDRESSES: usize = 64;
/// Cycles from an address to the end of the offset of a branch status in the same cycle.
const SETTLED: u8 = 3;

/// Data units and addresses, in FIFO order. A unit is a byte, or half a byte of a 4-bit port.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Window {
    units: VecDeque<Unit>,
    addresses: VecDeque<Sent>,
    /// The last address is not complete.
    open: bool,
    /// The low half of its next byte.
    half: Option<u8>,
}

/// The data of one port cycle, or of one byte of a 16-bit port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Unit {
    /// Offset of the cycle.
    at: u64,
    value: u8,
    /// The status proves that it is FIFO output. Other units may be noise on the pins.
    from_fifo: bool,
}

/// An address, complete or being sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sent {
    /// Offset of its first cycle.
    at: u64,
    bytes: [u8; MAX_ADDRESS_LEN],
    len: u8,
    /// Cycles since then, at most [`SETTLED`].
    age: u8,
}

/// Why the data of an instruction cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Short {
    /// Bytes are missing and may still come.
    Wait,
    /// An address begins before the last byte.
    Cut,
}

impl Window {
    /// Counts a cycle.
    pub(super) fn tick(&mut self) {
        for sent in self.addresses.iter_mut().rev().take_while(|sent| sent.age < SETTLED) {
            sent.age += 1;
        }
    }

    /// Takes TRACEPKT of the cycle at `at`. `wait`: its status proves FIFO output. Returns `false`
    /// where a limit is exceeded.
    pub(super) fn take(&mut self, at: u64, cycle: Cycle, wait: bool, config: &Config) -> bool {
        let (low, high) = (cycle.packet as u8, (cycle.packet >> 8) as u8);
        match config.width() {
            Width::W4 => {
                // TRACESYNC may stay high for the second half of a byte.
                if cycle.sync && self.half.is_none() {
                    self.begin(at);
                }
                if !self.open {
                    self.units.push_back(Unit { at, value: low, from_fifo: wait });
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
                // The upper byte may be padding.
                self.byte(at, high, false, config);
            }
        }
        self.units.len() < UNITS && self.addresses.len() < ADDRESSES
    }

    fn byte(&mut self, at: u64, value: u8, from_fifo: bool, config: &Config) {
        if self.open {
            self.push(value, config);
        } else {
            self.units.push_back(Unit { at, value, from_fifo });
        }
    }

    fn begin(&mut self, at: u64) {
        self.addresses.push_back(Sent { at, bytes: [0; MAX_ADDRESS_LEN], len: 0, age: 0 });
        (self.open, self.half) = (true, None);
    }

    fn push(&mut self, byte: u8, config: &Config) {
        let Some(sent) = self.addresses.back_mut() else { return };
        if let Some(slot) = sent.bytes.get_mut(usize::from(sent.len)) {
            *slot = byte;
            sent.len += 1;
        }
        self.open = sent.address(config).is_none();
    }

    /// Number of waiting addresses, including one that is being sent.
    pub(super) fn begun(&self) -> usize {
        self.addresses.len()
    }

    /// Drops everything.
    pub(super) fn clear(&mut self) {
        self.units.clear();
        self.addresses.clear();
        (self.open, self.half) = (false, None);
    }

    /// Drops the data: no status waits for them, and it is not known where an instruction's data
    /// begin.
    pub(super) fn drop_data(&mut self) {
        self.units.clear();
    }

    /// Whether the first address is complete or cut short by the next one, and no later status can
    /// claim it.
    pub(super) fn ready(&self) -> bool {
        let whole = !self.open || self.addresses.len() > 1;
        whole && self.addresses.front().is_some_and(|sent| sent.age >= SETTLED)
    }

    /// Takes the first address and drops the data before it. The address is `None` where it was cut
    /// short; `true` states that some of the dropped data were FIFO output.
    pub(super) fn address(&mut self, config: &Config) -> Option<(Option<Address>, bool)> {
        let sent = self.addresses.pop_front()?;
        if self.addresses.is_empty() {
            (self.open, self.half) = (false, None);
        }
        let left = self.drop_while(|at| at < sent.at);
        Some((sent.address(config), left))
    }

    /// Drops data up to the cycle at `end`. Returns `true` where some of them were FIFO output.
    pub(super) fn drop_to(&mut self, end: u64) -> bool {
        self.drop_while(|at| at <= end)
    }

    fn drop_while(&mut self, gone: impl Fn(u64) -> bool) -> bool {
        let mut left = false;
        while let Some(unit) = self.units.front().filter(|unit| gone(unit.at)) {
            left |= unit.from_fifo;
            self.units.pop_front();
        }
        left
    }

    /// Reads data before the first address, and removes them where all could be read.
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

/// Reads data bytes up to the first address.
pub(super) struct Reader<'a> {
    units: &'a VecDeque<Unit>,
    next: usize,
    /// Offset of the first address.
    limit: Option<u64>,
    /// A unit is half a byte.
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

//! Files of OpenOCD's `etm dump`: big-endian words without a magic number.
//!
//! | words | what |
//! |---|---|
//! | 1 | capture status: 1 running, 2 triggered, 4 completed, 8 overflowed |
//! | 1 | ETMCR as OpenOCD stores it |
//! | 1 | number of cycles |
//! | 3 a cycle | PIPESTAT; TRACEPKT; flags: bit \[0] TRACESYNC, bit \[1] trigger |
//!
//! In a cycle with a trigger, PIPESTAT is the status that the trigger replaced, and TRACEPKT has
//! the levels of the signals.

use core::fmt;

use super::{Cycle, TRIGGER};

/// Bytes before the first cycle.
pub const HEAD: usize = 12;
/// Bytes of a cycle.
pub const ROW: usize = 12;
const SYNC: u32 = 1;
const TRIGGERED: u32 = 2;

/// The words before the first cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The capture status.
    pub status: u32,
    /// ETMCR.
    pub control: u32,
    /// The number of cycles.
    pub count: u32,
}

impl Head {
    /// Reads the words. `None` where there are too few bytes.
    pub fn read(bytes: &[u8]) -> Option<Head> {
        let word = |n: usize| be(bytes, n * 4);
        Some(Head { status: word(0)?, control: word(1)?, count: word(2)? })
    }
}

/// The cycle of a row of [`ROW`] bytes, with the levels of the signals. `None` where a word is
/// invalid.
pub fn cycle(row: &[u8]) -> Option<Cycle> {
    let word = |n: usize| be(row, n * 4);
    let (status, packet, flags) = (word(0)?, word(1)?, word(2)?);
    if status > 0b111 || packet > 0xffff || flags > (SYNC | TRIGGERED) {
        return None;
    }
    let status = if flags & TRIGGERED != 0 { TRIGGER } else { status as u8 };
    Some(Cycle { status, sync: flags & SYNC != 0, packet: packet as u16 })
}

/// A file in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dump<'a> {
    /// The capture status.
    pub status: u32,
    /// ETMCR.
    pub control: u32,
    rows: &'a [u8],
}

/// Why bytes are not a dump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotDump {
    /// The bytes are shorter than the head.
    Short,
    /// The head states this number of cycles, and the length of the file differs.
    Count(u32),
    /// This cycle has an invalid word.
    Row(usize),
}

impl fmt::Display for NotDump {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotDump::Short => f.write_str("it ends before its first cycle"),
            NotDump::Count(count) => {
                write!(f, "its head states {count} cycles, but it does not contain that number")
            }
            NotDump::Row(n) => write!(f, "cycle {n} has an invalid status, flags or TRACEPKT"),
        }
    }
}

impl<'a> Dump<'a> {
    /// Reads a whole file.
    ///
    /// # Errors
    /// [`NotDump`] where the bytes are not a dump.
    pub fn read(bytes: &'a [u8]) -> Result<Dump<'a>, NotDump> {
        let Head { status, control, count } = Head::read(bytes).ok_or(NotDump::Short)?;
        let rows = bytes.get(HEAD..).ok_or(NotDump::Short)?;
        if rows.len() as u64 != u64::from(count) * ROW as u64 {
            return Err(NotDump::Count(count));
        }
        match rows.chunks_exact(ROW).position(|row| cycle(row).is_none()) {
            Some(row) => Err(NotDump::Row(row)),
            None => Ok(Dump { status, control, rows }),
        }
    }

    /// The cycles, with the levels of the signals.
    pub fn cycles(&self) -> impl Iterator<Item = Cycle> + 'a {
        self.rows.chunks_exact(ROW).filter_map(cycle)
    }
}

fn be(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|word| u32::from_be_bytes(*word))
}

/// Writes a whole file.
pub fn write(status: u32, control: u32, cycles: &[Cycle], out: &mut impl Extend<u8>) {
    for word in [status, control, cycles.len() as u32] {
        out.extend(word.to_be_bytes());
    }
    for cycle in cycles {
        let trigger = cycle.status == TRIGGER;
        let status = if trigger { cycle.packet as u8 & 0b111 } else { cycle.status };
        let flags = u32::from(cycle.sync) * SYNC + u32::from(trigger) * TRIGGERED;
        for word in [status.into(), cycle.packet.into(), flags] {
            out.extend(u32::to_be_bytes(word));
        }
    }
}

//! What OpenOCD's `etm dump` writes: big-endian words without a magic number.
//!
//! | words | what |
//! |---|---|
//! | 1 | capture status: 1 running, 2 triggered, 4 completed, 8 overflowed |
//! | 1 | ETMCR as OpenOCD keeps it |
//! | 1 | number of cycles |
//! | 3 a cycle | PIPESTAT; TRACEPKT; flags: bit \[0] TRACESYNC, bit \[1] trigger |
//!
//! In a cycle with a trigger, PIPESTAT is the status that the trigger replaced, and TRACEPKT is
//! what the pins showed.

use core::fmt;

use super::{Cycle, TRIGGER};

/// Bytes before the first cycle.
const HEAD: usize = 12;
/// Bytes of a cycle.
const ROW: usize = 12;
const SYNC: u32 = 1;
const TRIGGERED: u32 = 2;

/// A file in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dump<'a> {
    /// The capture status.
    pub status: u32,
    /// ETMCR.
    pub control: u32,
    rows: &'a [u8],
}

/// Why bytes are no dump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotDump {
    /// Shorter than its head.
    Short,
    /// It says that it has so many cycles, and has not.
    Count(u32),
    /// A word is not what a dump can hold, in this cycle.
    Row(usize),
}

impl fmt::Display for NotDump {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotDump::Short => f.write_str("it ends before its first cycle"),
            NotDump::Count(count) => write!(f, "it says that it has {count} cycles, and has not"),
            NotDump::Row(n) => write!(f, "cycle {n} has a status, flags or pins that no port has"),
        }
    }
}

impl<'a> Dump<'a> {
    /// Reads a whole file.
    ///
    /// # Errors
    /// [`NotDump`] where the bytes are none.
    pub fn read(bytes: &'a [u8]) -> Result<Dump<'a>, NotDump> {
        let word = |n: usize| be(bytes, n * 4).ok_or(NotDump::Short);
        let (status, control, count) = (word(0)?, word(1)?, word(2)?);
        let rows = bytes.get(HEAD..).ok_or(NotDump::Short)?;
        if rows.len() as u64 != u64::from(count) * ROW as u64 {
            return Err(NotDump::Count(count));
        }
        let odd = |row: &[u8]| {
            let word = |n: usize| be(row, n * 4).unwrap_or(u32::MAX);
            word(0) > 0b111 || word(1) > 0xffff || word(2) > (SYNC | TRIGGERED)
        };
        match rows.chunks_exact(ROW).position(odd) {
            Some(row) => Err(NotDump::Row(row)),
            None => Ok(Dump { status, control, rows }),
        }
    }

    /// Its cycles, as the pins showed them.
    pub fn cycles(&self) -> impl Iterator<Item = Cycle> + 'a {
        self.rows.chunks_exact(ROW).map(|row| {
            let word = |n: usize| be(row, n * 4).unwrap_or(0);
            let flags = word(2);
            let status = if flags & TRIGGERED != 0 { TRIGGER } else { word(0) as u8 & 0b111 };
            Cycle { status, sync: flags & SYNC != 0, packet: word(1) as u16 }
        })
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

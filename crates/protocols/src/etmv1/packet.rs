//! One cycle of the trace port. (IHI 0014, 5.1 and 5.2)

mod address;

use core::fmt;

use tracewright_base::{Fault, Parse, Wire};
use tracewright_frames::cycles::Cycle;

pub use address::{Address, Last, MAX_ADDRESS_LEN, Reason};

use super::Config;
use crate::kind::packet_kinds;

/// One cycle, by its pipeline status. (Table 5-1)
///
/// In the two cycles after a branch status the port shows two bits of an address packet offset
/// instead of a status. They read as the first four statuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packet {
    /// `000` IE: an instruction executed.
    Executed(Pins),
    /// `001` ID: an instruction executed, and its data are traced.
    ExecutedData(Pins),
    /// `010` IN: an instruction failed its condition.
    NotExecuted(Pins),
    /// `011` WT: no instruction; TRACEPKT is FIFO output.
    Wait(Pins),
    /// `100` BE: a branch whose address is traced.
    Branch(Pins),
    /// `101` BD: the same with data.
    BranchData(Pins),
    /// `110` TR: the trigger. TRACEPKT\[2:0] is the status that it replaces.
    Trigger(Pins),
    /// `111` TD: no instruction and no FIFO output.
    Disabled(Pins),
}

packet_kinds!(
    Packet:
    Executed, ExecutedData, NotExecuted, Wait, Branch, BranchData, Trigger, Disabled,
);

/// The pins other than PIPESTAT.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Pins {
    /// TRACESYNC: an address begins.
    pub sync: bool,
    /// TRACEPKT.
    pub packet: u16,
}

impl Packet {
    /// The packet of `cycle`.
    pub const fn of(cycle: Cycle) -> Packet {
        let pins = Pins { sync: cycle.sync, packet: cycle.packet };
        match cycle.status & 0b111 {
            0b000 => Packet::Executed(pins),
            0b001 => Packet::ExecutedData(pins),
            0b010 => Packet::NotExecuted(pins),
            0b011 => Packet::Wait(pins),
            0b100 => Packet::Branch(pins),
            0b101 => Packet::BranchData(pins),
            0b110 => Packet::Trigger(pins),
            _ => Packet::Disabled(pins),
        }
    }

    /// The cycle of this packet.
    pub const fn cycle(self) -> Cycle {
        let (status, pins) = match self {
            Packet::Executed(pins) => (0b000, pins),
            Packet::ExecutedData(pins) => (0b001, pins),
            Packet::NotExecuted(pins) => (0b010, pins),
            Packet::Wait(pins) => (0b011, pins),
            Packet::Branch(pins) => (0b100, pins),
            Packet::BranchData(pins) => (0b101, pins),
            Packet::Trigger(pins) => (0b110, pins),
            Packet::Disabled(pins) => (0b111, pins),
        };
        Cycle { status, sync: pins.sync, packet: pins.packet }
    }
}

impl From<Cycle> for Packet {
    fn from(cycle: Cycle) -> Self {
        Packet::of(cycle)
    }
}

impl Wire<Config> for Packet {
    fn parse(bytes: &[u8], config: &Config) -> Parse<Self> {
        let len = config.width().record();
        let Some(record) = bytes.get(..len) else { return Parse::Partial };
        match Cycle::of_record(record, config.width()) {
            Some(cycle) => Parse::Packet(Packet::of(cycle), len),
            None => Parse::Bad(len, Fault::NoSuchPins),
        }
    }

    fn emit(&self, config: &Config, out: &mut impl Extend<u8>) {
        out.extend(self.cycle().record(config.width()));
    }
}

impl fmt::Display for Packet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Cycle { status, sync, packet } = self.cycle();
        let name = tracewright_frames::cycles::text::V1.get(usize::from(status));
        write!(f, "{}{} {packet:02x}", name.unwrap_or(&"??"), if sync { "*" } else { " " })
    }
}

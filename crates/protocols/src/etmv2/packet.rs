//! One cycle of the trace port, and the packets of the FIFO. (IHI 0014, 6.1 to 6.5)

mod branch;
mod item;
mod tfo;

use core::fmt;

use tracewright_base::{Fault, Parse, Wire};
use tracewright_frames::cycles::Cycle;

pub use branch::{Branch, State};
pub use item::{DataAddress, Item, Value};
pub use tfo::{Offset, Reason, Tfo};

use super::Config;
use crate::kind::packet_kinds;

/// One cycle, by its pipeline status. (Table 6-1)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packet {
    /// Instructions completed, or the processor waited.
    Cycle {
        /// The decoded status.
        status: Status,
        /// TRACEPKT.
        pins: u16,
    },
    /// `0110` TR: the trigger. TRACEPKT\[3:0] is the status that it replaces.
    Trigger {
        /// TRACEPKT.
        pins: u16,
    },
    /// `0111` TD: no FIFO output; TRACEPKT may be a trace FIFO offset.
    Disabled {
        /// TRACEPKT.
        pins: u16,
    },
}

packet_kinds!(Packet: Cycle, Trigger, Disabled);

/// The events of a cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Status {
    /// A branch phantom: a correctly predicted direct branch that ran in this cycle, before the
    /// instruction. The value states whether it was taken. (6.1.2)
    pub phantom: Option<bool>,
    /// Whether the instruction of this cycle passed its condition. `None`: no instruction
    /// completed.
    pub passed: Option<bool>,
    /// A group of packets went into the FIFO.
    pub data: bool,
}

impl Status {
    /// The status of PIPESTAT\[3:0]; `None` for TR and TD.
    pub const fn of_pipestat(pipestat: u8) -> Option<Status> {
        let data = pipestat & 0b0001 != 0;
        let passed = Some(pipestat & 0b0010 == 0);
        Some(match pipestat & 0xf {
            0b0110 | 0b0111 => return None,
            0b0100 | 0b0101 => Status { phantom: None, passed: None, data },
            0b0000..=0b0011 => Status { phantom: None, passed, data },
            bits => Status { phantom: Some(bits & 0b0100 == 0), passed, data },
        })
    }

    /// PIPESTAT\[3:0]. A phantom needs an instruction in its cycle; without one the result is a
    /// wait.
    pub const fn pipestat(self) -> u8 {
        let phantom = match self.phantom {
            None => 0b0000,
            Some(true) => 0b1000,
            Some(false) => 0b1100,
        };
        let passed = match self.passed {
            Some(true) => phantom,
            Some(false) => phantom | 0b0010,
            None => 0b0100,
        };
        passed | self.data as u8
    }
}

impl Packet {
    /// The packet of `cycle`.
    pub const fn of(cycle: Cycle) -> Packet {
        let pins = cycle.packet;
        match (Status::of_pipestat(cycle.pipestat()), cycle.pipestat()) {
            (Some(status), _) => Packet::Cycle { status, pins },
            (None, 0b0110) => Packet::Trigger { pins },
            (None, _) => Packet::Disabled { pins },
        }
    }

    /// The cycle of this packet.
    pub const fn cycle(self) -> Cycle {
        match self {
            Packet::Cycle { status, pins } => Cycle::of_pipestat(status.pipestat(), pins),
            Packet::Trigger { pins } => Cycle::of_pipestat(0b0110, pins),
            Packet::Disabled { pins } => Cycle::of_pipestat(0b0111, pins),
        }
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
        let cycle = self.cycle();
        let name = tracewright_frames::cycles::text::V2.get(usize::from(cycle.pipestat()));
        write!(f, "{} {:02x}", name.unwrap_or(&"??"), cycle.packet)
    }
}

//! Cycle captures: the levels of an ETMv1 or ETMv2 trace port, one sample a core cycle.
//!
//! These trace units send no bytes. In each core cycle their port shows a pipeline status and some
//! bits of the FIFO, and it is the two together that say something. So the canonical bytes of such
//! a source are *records*: one of [`Width::record`] bytes a cycle, whatever the capture was kept
//! in.
//!
//! | file | holds |
//! |---|---|
//! | `mod.rs` | [`Cycle`] and its record |
//! | `port.rs` | pins and clock edges: normal, multiplexed, demultiplexed, half rate |
//! | `etb.rs` | words of the RAM of an Embedded Trace Buffer |
//! | `openocd.rs` | what OpenOCD's `etm dump` writes |
//! | `etmp.rs` | the `.etmp` file: a header that says all that decoding needs, and records |
//! | `text.rs` | the same as text |
//!
//! (IHI 0014, chapter 8 and 4.4 "Decoding required by trace capture devices")
//!
//! ```
//! use tracewright_frames::cycles::{Cycle, Version, Width, text};
//!
//! let cycles: Vec<_> = text::cycles("BE*:80 IE:08 TD:00", Version::V1).map(Result::unwrap).collect();
//! assert_eq!(cycles[0], Cycle { status: 4, sync: true, packet: 0x80 });
//! assert_eq!(cycles[0].record(Width::W8).as_ref(), [0x0c, 0x08]);
//! assert!(!cycles[2].action(Version::V1).stores());
//! ```

pub mod etb;
pub mod etmp;
pub mod openocd;
pub mod port;
pub mod text;

use crate::pins::Action;

/// The levels of a trace port in one core cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Cycle {
    /// PIPESTAT\[2:0].
    pub status: u8,
    /// Trace signal 4: TRACESYNC of an ETMv1, PIPESTAT\[3] of an ETMv2. (Table 8-2)
    pub sync: bool,
    /// TRACEPKT; pins that the port does not have are 0.
    pub packet: u16,
}

/// Which trace unit drives the port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Version {
    /// ETMv1: three status pins and TRACESYNC.
    V1,
    /// ETMv2: four status pins.
    V2,
}

/// How many TRACEPKT pins a port has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Width {
    /// 4 pins.
    #[default]
    W4,
    /// 8 pins.
    W8,
    /// 16 pins.
    W16,
}

impl Width {
    /// All of them.
    pub const ALL: [Width; 3] = [Width::W4, Width::W8, Width::W16];

    /// The width of a port with so many TRACEPKT pins.
    pub const fn of_pins(pins: u8) -> Option<Width> {
        match pins {
            4 => Some(Width::W4),
            8 => Some(Width::W8),
            16 => Some(Width::W16),
            _ => None,
        }
    }

    /// The width that ETMCR asks for, bits \[6:4]. (IHI 0014, Table 3-6)
    pub const fn of_control(etmcr: u32) -> Option<Width> {
        match etmcr >> 4 & 0b111 {
            0 => Some(Width::W4),
            1 => Some(Width::W8),
            2 => Some(Width::W16),
            _ => None,
        }
    }

    /// The number of TRACEPKT pins.
    pub const fn pins(self) -> u8 {
        match self {
            Width::W4 => 4,
            Width::W8 => 8,
            Width::W16 => 16,
        }
    }

    /// Bytes of a record: 1, 2 or 4.
    pub const fn record(self) -> usize {
        match self {
            Width::W4 => 1,
            Width::W8 => 2,
            Width::W16 => 4,
        }
    }

    /// The TRACEPKT pins that there are.
    pub const fn mask(self) -> u16 {
        match self {
            Width::W4 => 0xf,
            Width::W8 => 0xff,
            Width::W16 => 0xffff,
        }
    }
}

/// PIPESTAT of a trigger: what it replaces is on TRACEPKT.
pub const TRIGGER: u8 = 6;
/// PIPESTAT of Trace Disabled.
pub const DISABLED: u8 = 7;

impl Cycle {
    /// Nothing to send, and nothing to keep.
    pub const NOTHING: Cycle = Cycle { status: DISABLED, sync: false, packet: 0 };

    /// The cycle of an ETMv2 whose PIPESTAT\[3:0] is `pipestat`.
    pub const fn of_pipestat(pipestat: u8, packet: u16) -> Cycle {
        Cycle { status: pipestat & 0b111, sync: pipestat >> 3 & 1 != 0, packet }
    }

    /// PIPESTAT\[3:0] of an ETMv2.
    pub const fn pipestat(self) -> u8 {
        self.status & 0b111 | (self.sync as u8) << 3
    }

    /// Trace signals 1 to 20 in bits \[19:0]. (IHI 0014, Table 8-2)
    pub const fn signals(self) -> u32 {
        self.pipestat() as u32 | (self.packet as u32) << 4
    }

    /// The cycle that trace signals 1 to 20 in bits \[19:0] show; `None` where a signal is high
    /// that a port of this width does not have.
    pub const fn of_signals(signals: u32, width: Width) -> Option<Cycle> {
        if signals >> 4 > width.mask() as u32 {
            return None;
        }
        Some(Cycle::of_pipestat(signals as u8 & 0xf, (signals >> 4) as u16))
    }

    /// The cycle's record: its trace signals, little endian, in [`Width::record`] bytes.
    pub fn record(self, width: Width) -> Record {
        let signals = Cycle { packet: self.packet & width.mask(), ..self }.signals();
        Record { bytes: signals.to_le_bytes(), len: width.record() }
    }

    /// The cycle whose record is at the start of `bytes`; `None` where bits are set that the port
    /// does not have, or `bytes` end too early.
    pub fn of_record(bytes: &[u8], width: Width) -> Option<Cycle> {
        let mut signals = [0; 4];
        let record = bytes.get(..width.record())?;
        signals.get_mut(..record.len())?.copy_from_slice(record);
        Cycle::of_signals(u32::from_le_bytes(signals), width)
    }

    /// What a trace capture device does with it. (IHI 0014, 4.4.1 and 4.4.2)
    pub const fn action(self, version: Version) -> Action {
        // An ETMv2 has other statuses with the same three low bits.
        let plain = matches!(version, Version::V1) || !self.sync;
        match self.status & 0b111 {
            TRIGGER if plain => Action::StoreTrigger,
            DISABLED if plain && self.packet & 1 == 0 => Action::Discard,
            _ => Action::Store,
        }
    }
}

/// A record: 1, 2 or 4 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    bytes: [u8; 4],
    len: usize,
}

impl AsRef<[u8]> for Record {
    fn as_ref(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }
}

impl IntoIterator for Record {
    type Item = u8;
    type IntoIter = core::iter::Take<core::array::IntoIter<u8, 4>>;

    fn into_iter(self) -> Self::IntoIter {
        self.bytes.into_iter().take(self.len)
    }
}

/// The cycles of whole records. Records with bits that the port does not have, and a piece of one
/// at the end, are left out.
pub fn cycles(records: &[u8], width: Width) -> impl Iterator<Item = Cycle> + '_ {
    records.chunks_exact(width.record()).filter_map(move |record| Cycle::of_record(record, width))
}

/// The records of `cycles`.
pub fn records(cycles: impl IntoIterator<Item = Cycle>, width: Width) -> impl Iterator<Item = u8> {
    cycles.into_iter().flat_map(move |cycle| cycle.record(width))
}

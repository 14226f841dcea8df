//! The Micro Trace Buffer, which writes a branch of the core as two words into its SRAM.
//! (Arm DDI 0486; the Cortex-M33 has one, too)
//!
//! ```
//! use tracewright_units::buffers::mtb::Mtb;
//!
//! let mut mtb = Mtb::new(0x2000_0000, 64);
//! mtb.start();
//! mtb.packet(0x100, 0x200);
//! mtb.packet(0x210, 0x104);
//! assert_eq!(mtb.memory()[..8], [0x00, 0x01, 0, 0, 0x01, 0x02, 0, 0]);
//! assert_eq!(mtb.registers()[0], ("POSITION", 0x10));
//! ```

use tracewright_base::registers;

use super::ring::ring;
use crate::register::{Register, RegisterRow};
use crate::values::Values;

const YES: &[(u64, &str)] = &[(0, "no"), (1, "yes")];

/// The registers. (Arm DDI 0486, 3.2)
pub static REGISTERS: &[Register<()>] = registers! { row:
    POSITION | MTB_POSITION 0x000 RW "where the next packet goes" "DDI 0486, 3.2" {
        POINTER[31:3] "offset from BASE, shifted right by 3";
        WRAP[2] "the buffer has wrapped" YES;
    },
    MASTER | MTB_MASTER 0x004 RW "control" "DDI 0486, 3.2" {
        EN[31] "tracing" YES;
        HALTREQ[9] "halt request to the core" YES;
        RAMPRIV[8] "SRAM for privileged accesses only" YES;
        SFRWPRIV[7] "registers for privileged writes only" YES;
        TSTOPEN[6] "TSTOP stops tracing" YES;
        TSTARTEN[5] "TSTART starts tracing" YES;
        MASK[4:0] "log2 of the size of the buffer in bytes, minus 4";
    },
    FLOW | MTB_FLOW 0x008 RW "what happens at the watermark" "DDI 0486, 3.2" {
        WATERMARK[31:3] "POINTER at which it happens";
        AUTOHALT[1] "the core is halted" YES;
        AUTOSTOP[0] "tracing stops" YES;
    },
    BASE | MTB_BASE 0x00c RO "address of the SRAM" "DDI 0486, 3.2",
};

const fn row(row: RegisterRow) -> Register<()> {
    Register::of(row, ())
}

/// The state in sentences.
pub fn explain(values: &Values) -> Vec<String> {
    let (position, master) = (values.get("POSITION"), values.get("MASTER"));
    let flow = values.get("FLOW").unwrap_or(0);
    let mut lines = Vec::new();
    match master.map(|master| master >> 31 & 1) {
        Some(0) => lines.push("Tracing is disabled.".to_owned()),
        Some(_) => lines.push("Tracing is enabled.".to_owned()),
        None => lines.push("MASTER is unknown: it has the enable and the size.".to_owned()),
    }
    if let (Some(position), Some(master)) = (position, master) {
        let size = 1u64 << ((master & 0x1f) + 4);
        let pointer = position & 0xffff_fff8;
        lines.push(ring(size, pointer & (size - 1), Some(position >> 2 & 1 != 0), "POSITION"));
        let start = pointer & !(size - 1);
        if start != 0 {
            lines.push(format!(
                "The buffer begins at offset {start:#x} of the SRAM, if the SRAM is larger than it."
            ));
        }
    } else if position.is_none() {
        lines.push("POSITION is unknown: it has the write pointer and the wrap.".to_owned());
    }
    let what = match flow & 0b11 {
        0 => return lines,
        1 => "tracing stops",
        2 => "the core is halted",
        _ => "tracing stops, and the core is halted",
    };
    lines.push(format!("At the watermark, POINTER {:#x}, {what}.", flow & 0xffff_fff8));
    lines
}

/// A Micro Trace Buffer whose buffer begins at the start of its SRAM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mtb {
    base: u32,
    memory: Vec<u8>,
    /// POSITION.POINTER, in bytes.
    at: usize,
    wrapped: bool,
    enabled: bool,
    /// The next packet is the first since tracing started.
    first: bool,
    /// FLOW.WATERMARK in bytes, where AUTOSTOP is set.
    autostop: Option<usize>,
    dropped: u64,
}

impl Mtb {
    /// A buffer of `len` bytes, a power of two from 16 to 2^20, at `base`. Other lengths are
    /// rounded down.
    pub fn new(base: u32, len: usize) -> Mtb {
        let len = len.clamp(16, 1 << 20);
        let memory = vec![0; 1 << len.ilog2()];
        let (autostop, dropped) = (None, 0);
        Mtb { base, memory, at: 0, wrapped: false, enabled: false, first: true, autostop, dropped }
    }

    /// Tracing stops when POSITION reaches `watermark` bytes.
    #[must_use]
    pub fn autostop(mut self, watermark: usize) -> Mtb {
        self.autostop = Some(watermark & !7);
        self
    }

    /// MASTER.EN is set: the next packet has the S bit.
    pub fn start(&mut self) {
        self.first |= !self.enabled;
        self.enabled = true;
    }

    /// MASTER.EN is cleared.
    pub fn stop(&mut self) {
        self.enabled = false;
    }

    /// The core branches: `source` has the A bit in bit 0. The S bit of the destination is added
    /// here.
    pub fn packet(&mut self, source: u32, destination: u32) {
        if !self.enabled {
            self.dropped += 1;
            return;
        }
        let destination = destination & !1 | u32::from(self.first);
        self.first = false;
        let words = u64::from(destination) << 32 | u64::from(source);
        if let Some(to) = self.memory.get_mut(self.at..self.at + 8) {
            to.copy_from_slice(&words.to_le_bytes());
        }
        self.at += 8;
        if self.at == self.memory.len() {
            self.at = 0;
            self.wrapped = true;
        }
        if self.autostop == Some(self.at) {
            self.enabled = false;
        }
    }

    /// The memory of the buffer.
    pub fn memory(&self) -> &[u8] {
        &self.memory
    }

    /// Whether it records.
    pub fn is_enabled(&self) -> bool {
        self.enabled
    }

    /// Packets that were not recorded.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// The registers, by name.
    pub fn registers(&self) -> [(&'static str, u64); 4] {
        let mask = u64::from(self.memory.len().ilog2() - 4);
        let flow = self.autostop.map_or(0, |watermark| watermark as u64 | 1);
        [
            ("POSITION", self.at as u64 | u64::from(self.wrapped) << 2),
            ("MASTER", u64::from(self.enabled) << 31 | mask),
            ("FLOW", flow),
            ("BASE", self.base.into()),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// DDI 0486, 3.2.1: POSITION wraps at the size in MASTER.MASK.
    #[test]
    fn wraps() {
        let mut mtb = Mtb::new(0x2000_0000, 32);
        mtb.start();
        for n in 0..5 {
            mtb.packet(0x100 * n, 0x100 * n + 0x80);
        }
        assert_eq!(mtb.registers()[..2], [("POSITION", 8 | 4), ("MASTER", 1 << 31 | 1)]);
        let words: Vec<u32> =
            mtb.memory().chunks(4).map(|c| u32::from_le_bytes(c.try_into().unwrap())).collect();
        assert_eq!(words, [0x400, 0x480, 0x100, 0x180, 0x200, 0x280, 0x300, 0x380]);
    }

    /// DDI 0486, 3.2.3: at the watermark, AUTOSTOP clears EN. The S bit marks each start.
    #[test]
    fn stops_at_the_watermark() {
        let mut mtb = Mtb::new(0x2000_0000, 64).autostop(16);
        mtb.start();
        mtb.packet(2, 4);
        mtb.packet(2, 4);
        assert!(!mtb.is_enabled());
        mtb.packet(2, 4);
        assert_eq!((mtb.dropped(), mtb.registers()[0].1), (1, 16));
        mtb.start();
        mtb.packet(2, 4);
        let starts: Vec<u8> = mtb.memory().chunks(8).map(|packet| packet[4] & 1).collect();
        assert_eq!(starts[..3], [1, 0, 1]);
    }
}

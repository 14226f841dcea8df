//! The pins of an ETMv3 trace port: levels at a clock edge to bytes, and back.
//!
//! What a logic analyser or a probe records before anything is thrown away. (IHI 0014, 4.4
//! "Decoding required by trace capture devices", 7.8.1 and 8.2)
//!
//! ```
//! use tracewright_frames::pins::{Action, Driver, Sample, Sampler, Width};
//!
//! let width = Width::new(16).unwrap();
//! let (mut driver, mut samples) = (Driver::new(width), Vec::new());
//! driver.push(&[0x84, 0x88, 0xc8, 0x84], &mut samples);
//! samples.push(Sample::DISABLED);
//!
//! let (mut sampler, mut bytes) = (Sampler::new(width), Vec::new());
//! let actions: Vec<Action> = samples.iter().map(|&s| sampler.sample(s, &mut bytes)).collect();
//! assert_eq!(actions, [Action::Store, Action::Store, Action::Discard]);
//! assert_eq!(bytes, [0x84, 0x88, 0xc8, 0x84]);
//! ```

/// Header of an ETMv3 Trigger packet. (IHI 0014, figure 7-47)
const TRIGGER: u8 = 0x0c;
/// Header of an ETMv3 Ignore packet. (IHI 0014, figure 7-48)
const IGNORE: u8 = 0x66;

/// The levels of the pins at one edge of TRACECLK that counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Sample {
    /// TRACECTL is high.
    pub control: bool,
    /// TRACEDATA; pins that the port does not have are 0.
    pub data: u64,
}

/// What becomes of a sample. (IHI 0014, Table 4-1)
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// The data are trace.
    Store,
    /// A trigger, and the data are trace: so says every ETMv3.
    StoreTrigger,
    /// A trigger, and the data are not trace: so says a TPIU.
    DiscardTrigger,
    /// Trace is disabled: the data are not trace.
    Discard,
}

impl Action {
    /// The sample marks a trigger.
    pub const fn trigger(self) -> bool {
        matches!(self, Action::StoreTrigger | Action::DiscardTrigger)
    }

    /// The sample's data are trace.
    pub const fn stores(self) -> bool {
        matches!(self, Action::Store | Action::StoreTrigger)
    }
}

impl Sample {
    /// Nothing to send.
    pub const DISABLED: Sample = Sample { control: true, data: 0b01 };
    /// A trigger that is no packet.
    pub const TRIGGER: Sample = Sample { control: true, data: 0b10 };

    /// What becomes of it.
    pub const fn action(self) -> Action {
        match (self.control, self.data & 0b11) {
            (false, _) => Action::Store,
            (true, 0b01 | 0b11) => Action::Discard,
            (true, 0b00) => Action::StoreTrigger,
            (true, _) => Action::DiscardTrigger,
        }
    }

    /// PIPESTAT\[3:0] as a probe made for ETMv1 and v2 sees it on the same pins. (IHI 0014, Table
    /// 8-4)
    pub const fn pipestat(self) -> u8 {
        0b0100 | (self.control as u8) << 1 | (self.data & 1) as u8
    }

    /// TRACEPKT as such a probe sees it: TRACEDATA without bit 0, whose place is wired to 0.
    /// (IHI 0014, Table 8-2)
    pub const fn tracepkt(self) -> u64 {
        self.data & !1
    }

    /// The sample behind what such a probe recorded. `None` where no ETMv3 was there:
    /// PIPESTAT\[3:2] is b01 for all of them.
    pub const fn from_pipestat(pipestat: u8, tracepkt: u64) -> Option<Sample> {
        if pipestat & !0b11 != 0b0100 {
            return None;
        }
        let data = tracepkt & !1 | (pipestat & 1) as u64;
        Some(Sample { control: pipestat & 0b10 != 0, data })
    }
}

/// How many TRACEDATA pins a port has: 1, 2, 4, or whole bytes up to 64.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Width(u8);

impl Width {
    /// `None` where no port has so many pins.
    pub const fn new(pins: u8) -> Option<Width> {
        match pins {
            1 | 2 | 4 | 8 | 16 | 24 | 32 | 40 | 48 | 56 | 64 => Some(Width(pins)),
            _ => None,
        }
    }

    /// The number of pins.
    pub const fn pins(self) -> u8 {
        self.0
    }
}

/// Samples to bytes. A plain value.
///
/// Where the port is narrower than a byte, the first pins hold the low bits first, and the first
/// sample need not begin a byte of the trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sampler {
    width: Width,
    /// Of the byte that is not whole yet: what came, and how many bits that is.
    byte: u8,
    bits: u8,
}

impl Sampler {
    /// A sampler at the beginning of a recording.
    pub const fn new(width: Width) -> Self {
        Sampler { width, byte: 0, bits: 0 }
    }

    /// Takes the next sample, and appends the bytes that it completes.
    pub fn sample(&mut self, sample: Sample, out: &mut impl Extend<u8>) -> Action {
        let action = sample.action();
        if !action.stores() {
            return action;
        }
        let pins = self.width.0;
        if pins >= 8 {
            out.extend(sample.data.to_le_bytes().into_iter().take(usize::from(pins / 8)));
            return action;
        }
        let data = sample.data as u8 & ((1 << pins) - 1);
        self.byte |= data << self.bits;
        self.bits += pins;
        if self.bits == 8 {
            out.extend([self.byte]);
            (self.byte, self.bits) = (0, 0);
        }
        action
    }
}

/// Bytes to samples. A plain value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Driver {
    width: Width,
    /// The sample that is not whole yet, and how many bits of it came.
    next: Sample,
    bits: u8,
}

impl Driver {
    /// A driver of a port that has sent nothing.
    pub const fn new(width: Width) -> Self {
        Driver { width, next: Sample { control: false, data: 0 }, bits: 0 }
    }

    /// Sends `bytes`. What does not fill the pins waits.
    pub fn push(&mut self, bytes: &[u8], out: &mut impl Extend<Sample>) {
        for &byte in bytes {
            self.byte(byte, false, out);
        }
    }

    /// Sends a Trigger packet, which must not be inside of another packet. It begins on pin 0:
    /// Ignore packets fill the sample before it. (IHI 0014, 7.8.1)
    pub fn trigger(&mut self, out: &mut impl Extend<Sample>) {
        self.finish(out);
        self.byte(TRIGGER, true, out);
    }

    /// Fills the sample that waits with Ignore packets.
    pub fn finish(&mut self, out: &mut impl Extend<Sample>) {
        while self.bits != 0 {
            self.byte(IGNORE, false, out);
        }
    }

    fn byte(&mut self, byte: u8, trigger: bool, out: &mut impl Extend<Sample>) {
        let pins = self.width.0;
        if pins < 8 {
            let parts = (0..8).step_by(usize::from(pins));
            // Only the first part is marked, so that all of them are stored.
            return out.extend(parts.map(|low| Sample {
                control: trigger && low == 0,
                data: u64::from(byte >> low & ((1 << pins) - 1)),
            }));
        }
        self.next.control |= trigger;
        self.next.data |= u64::from(byte) << self.bits;
        self.bits += 8;
        if self.bits == pins {
            out.extend([core::mem::take(&mut self.next)]);
            self.bits = 0;
        }
    }
}

//! The pins of an ETMv3 trace port: converts samples of the signals to bytes, and back.
//!
//! A logic analyser or a probe records such samples before it discards cycles without trace. (IHI
//! 0014, 4.4 "Decoding required by trace capture devices", 7.8.1 and 8.2)
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

/// The levels of the signals at one active edge of TRACECLK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Sample {
    /// TRACECTL is high.
    pub control: bool,
    /// TRACEDATA. Signals that the port does not have are 0.
    pub data: u64,
}

/// What a trace capture device does with a sample. (IHI 0014, Table 4-1)
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// The data are trace.
    Store,
    /// A trigger, and the data are trace. Every ETMv3 signals triggers in this way.
    StoreTrigger,
    /// A trigger, and the data are not trace. A TPIU signals triggers in this way.
    DiscardTrigger,
    /// Trace is disabled: the data are not trace.
    Discard,
}

impl Action {
    /// Whether the sample marks a trigger.
    pub const fn trigger(self) -> bool {
        matches!(self, Action::StoreTrigger | Action::DiscardTrigger)
    }

    /// Whether the sample's data are trace.
    pub const fn stores(self) -> bool {
        matches!(self, Action::Store | Action::StoreTrigger)
    }
}

impl Sample {
    /// Trace is disabled.
    pub const DISABLED: Sample = Sample { control: true, data: 0b01 };
    /// A trigger without a packet.
    pub const TRIGGER: Sample = Sample { control: true, data: 0b10 };

    /// What a trace capture device does with the sample.
    pub const fn action(self) -> Action {
        match (self.control, self.data & 0b11) {
            (false, _) => Action::Store,
            (true, 0b01 | 0b11) => Action::Discard,
            (true, 0b00) => Action::StoreTrigger,
            (true, _) => Action::DiscardTrigger,
        }
    }

    /// PIPESTAT\[3:0] as a probe for ETMv1 and ETMv2 reads it from the same pins. (IHI 0014, Table
    /// 8-4)
    pub const fn pipestat(self) -> u8 {
        0b0100 | (self.control as u8) << 1 | (self.data & 1) as u8
    }

    /// TRACEPKT as such a probe reads it: TRACEDATA with bit 0 wired to 0.
    /// (IHI 0014, Table 8-2)
    pub const fn tracepkt(self) -> u64 {
        self.data & !1
    }

    /// The sample that such a probe recorded as `pipestat` and `tracepkt`. `None` where
    /// PIPESTAT\[3:2] is not b01, the value for every ETMv3.
    pub const fn from_pipestat(pipestat: u8, tracepkt: u64) -> Option<Sample> {
        if pipestat & !0b11 != 0b0100 {
            return None;
        }
        let data = tracepkt & !1 | (pipestat & 1) as u64;
        Some(Sample { control: pipestat & 0b10 != 0, data })
    }
}

/// The number of TRACEDATA signals of a port: 1, 2, 4, or whole bytes up to 64.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Width(u8);

impl Width {
    /// The width of a port with `pins` TRACEDATA signals. `None` where no port has that width.
    pub const fn new(pins: u8) -> Option<Width> {
        match pins {
            1 | 2 | 4 | 8 | 16 | 24 | 32 | 40 | 48 | 56 | 64 => Some(Width(pins)),
            _ => None,
        }
    }

    /// The number of TRACEDATA signals.
    pub const fn pins(self) -> u8 {
        self.0
    }
}

/// Converts samples to bytes. A plain value.
///
/// On a port narrower than a byte, the low bits of a byte come first. The first sample may be
/// inside a byte of the trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sampler {
    width: Width,
    /// The low bits of an incomplete byte, and their number.
    byte: u8,
    bits: u8,
}

impl Sampler {
    /// A sampler at the beginning of a recording.
    pub const fn new(width: Width) -> Self {
        Sampler { width, byte: 0, bits: 0 }
    }

    /// Takes the next sample and appends the bytes that it completes.
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

/// Converts bytes to samples. A plain value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Driver {
    width: Width,
    /// An incomplete sample, and the number of its bits that are set.
    next: Sample,
    bits: u8,
}

impl Driver {
    /// A driver of a port that has sent nothing.
    pub const fn new(width: Width) -> Self {
        Driver { width, next: Sample { control: false, data: 0 }, bits: 0 }
    }

    /// Sends `bytes`. Bytes that do not fill a sample wait.
    pub fn push(&mut self, bytes: &[u8], out: &mut impl Extend<Sample>) {
        for &byte in bytes {
            self.byte(byte, false, out);
        }
    }

    /// Sends a Trigger packet, which must not be inside another packet. It begins at TRACEDATA\[0]:
    /// Ignore packets fill the sample before it. (IHI 0014, 7.8.1)
    pub fn trigger(&mut self, out: &mut impl Extend<Sample>) {
        self.finish(out);
        self.byte(TRIGGER, true, out);
    }

    /// Fills the incomplete sample with Ignore packets.
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

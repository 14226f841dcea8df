//! Pins and clock edges: what a probe or a logic analyser records, to cycles and back.
//!
//! (IHI 0014, 2.10.1 "Trace port clocking modes" and 8.2)
//!
//! ```
//! use tracewright_frames::cycles::{Cycle, Width};
//! use tracewright_frames::cycles::port::{Driver, Mode, Sampler, Wiring};
//!
//! let wiring = Wiring { mode: Mode::Multiplexed, half_rate: false, width: Width::W8 };
//! let sent = [Cycle { status: 4, sync: true, packet: 0xa5 }, Cycle { status: 0, sync: false, packet: 3 }];
//! let (mut levels, mut cycles) = (Vec::new(), Vec::new());
//! Driver::new(wiring).push(&sent, &mut levels);
//! let mut sampler = Sampler::new(wiring);
//! levels.iter().for_each(|&level| sampler.sample(level, &mut cycles));
//! assert_eq!(cycles, sent);
//! ```

use super::{Cycle, Width};

/// How the trace signals are led to the pins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Mode {
    /// A pin a signal.
    #[default]
    Normal,
    /// A pin for two signals, one on each edge of the clock.
    Multiplexed,
    /// Two pins a signal, which show two cycles: `_B` the older one, `_A` the newer one.
    Demultiplexed,
}

impl Mode {
    /// The mode of ETMCR bits \[17:16].
    pub const fn of_bits(bits: u32) -> Option<Mode> {
        match bits {
            0 => Some(Mode::Normal),
            1 => Some(Mode::Multiplexed),
            2 => Some(Mode::Demultiplexed),
            _ => None,
        }
    }

    /// ETMCR bits \[17:16].
    pub const fn bits(self) -> u8 {
        self as u8
    }

    /// The mode that is called `word`.
    pub fn of_word(word: &str) -> Option<Mode> {
        [Mode::Normal, Mode::Multiplexed, Mode::Demultiplexed]
            .into_iter()
            .find(|m| m.word() == word)
    }

    /// What it is called.
    pub const fn word(self) -> &'static str {
        match self {
            Mode::Normal => "normal",
            Mode::Multiplexed => "multiplexed",
            Mode::Demultiplexed => "demultiplexed",
        }
    }
}

/// A port as it is wired and clocked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Wiring {
    /// How the signals are led to the pins.
    pub mode: Mode,
    /// TRACECLK runs at half the speed of the port, and both edges count.
    pub half_rate: bool,
    /// TRACEPKT signals.
    pub width: Width,
}

/// Speeds and pins of a wiring, each a ratio. (IHI 0014, Table 2-17)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rates {
    /// Both edges of TRACECLK count, not the rising edge only.
    pub both_edges: bool,
    /// TRACECLK to the core clock.
    pub clock: (u8, u8),
    /// Samples to core clocks.
    pub data: (u8, u8),
    /// Pins to signals.
    pub pins: (u8, u8),
}

impl Wiring {
    /// How ETMCR says that the port is wired; `None` where it has a reserved value. (IHI 0014,
    /// Table 3-5)
    pub const fn of_control(etmcr: u32) -> Option<Wiring> {
        let (Some(mode), Some(width)) =
            (Mode::of_bits(etmcr >> 16 & 0b11), Width::of_control(etmcr))
        else {
            return None;
        };
        Some(Wiring { mode, half_rate: etmcr >> 13 & 1 != 0, width })
    }

    /// Its speeds; `None` for half-rate clocking of a multiplexed port, which there is not.
    pub const fn rates(self) -> Option<Rates> {
        let (both_edges, clock, data, pins) = match (self.half_rate, self.mode) {
            (false, Mode::Normal) => (false, (1, 1), (1, 1), (1, 1)),
            (false, Mode::Multiplexed) => (true, (1, 1), (2, 1), (1, 2)),
            (false, Mode::Demultiplexed) => (false, (1, 2), (1, 2), (2, 1)),
            (true, Mode::Normal) => (true, (1, 2), (1, 1), (1, 1)),
            (true, Mode::Demultiplexed) => (true, (1, 4), (1, 2), (2, 1)),
            (true, Mode::Multiplexed) => return None,
        };
        Some(Rates { both_edges, clock, data, pins })
    }

    const fn both_edges(self) -> bool {
        self.half_rate || matches!(self.mode, Mode::Multiplexed)
    }
}

/// Levels at one moment. Bit n - 1 of `a` is the pin of trace signal n (or n_A); of a multiplexed
/// port the pins in the order of [`PAIRS`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Levels {
    /// TRACECLK.
    pub clock: bool,
    /// The pins.
    pub a: u32,
    /// The `_B` pins of a demultiplexed port.
    pub b: u32,
}

/// The trace signals, from 0, that share a pin of a multiplexed port: at the rising edge, at the
/// falling edge. (IHI 0014, Table 8-8) Signal 0 is PIPESTAT\[0], 3 is TRACESYNC or PIPESTAT\[3], 4
/// is TRACEPKT\[0].
pub const PAIRS: [(u8, u8); 10] =
    [(0, 3), (1, 5), (2, 6), (4, 7), (8, 9), (10, 11), (12, 13), (14, 15), (16, 17), (18, 19)];

/// The pins of the Mictor connector that trace signals 1 to 20 are on. (IHI 0014, Table 8-3)
pub const MICTOR: [u8; 20] =
    [38, 36, 34, 32, 30, 28, 26, 24, 22, 20, 18, 16, 37, 35, 33, 31, 29, 27, 25, 23];

/// The pins that signal n_B of a demultiplexed 4-bit port is on, n from 1 to 8; n_A has those of
/// [`MICTOR`]. (IHI 0014, Table 8-9)
pub const MICTOR_B: [u8; 8] = [37, 35, 33, 31, 29, 27, 25, 23];

/// Levels to cycles. A plain value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sampler {
    wiring: Wiring,
    clock: Option<bool>,
    /// The signals that a rising edge showed.
    risen: Option<u32>,
}

impl Sampler {
    /// A sampler at the beginning of a recording.
    pub const fn new(wiring: Wiring) -> Self {
        Sampler { wiring, clock: None, risen: None }
    }

    /// Takes the next levels, and appends the cycles that they complete. Levels between edges say
    /// nothing, so a recording may be oversampled; the first levels tell no edge.
    pub fn sample(&mut self, levels: Levels, out: &mut impl Extend<Cycle>) {
        let before = self.clock.replace(levels.clock);
        let counts = levels.clock || self.wiring.both_edges();
        if before.is_none_or(|before| before == levels.clock) || !counts {
            return;
        }
        match self.wiring.mode {
            Mode::Normal => out.extend(self.cycle(levels.a)),
            Mode::Demultiplexed => {
                out.extend(self.cycle(levels.b));
                out.extend(self.cycle(levels.a));
            }
            Mode::Multiplexed if levels.clock => self.risen = Some(spread(levels.a, |pair| pair.0)),
            Mode::Multiplexed => {
                if let Some(risen) = self.risen.take() {
                    out.extend(self.cycle(risen | spread(levels.a, |pair| pair.1)));
                }
            }
        }
    }

    /// Pins that the port does not have show nothing.
    fn cycle(&self, signals: u32) -> Option<Cycle> {
        Cycle::of_signals(
            signals & (u32::from(self.wiring.width.mask()) << 4 | 0xf),
            self.wiring.width,
        )
    }
}

/// The signals on the pins of a multiplexed port.
fn spread(pins: u32, signal: fn((u8, u8)) -> u8) -> u32 {
    let offsets = PAIRS.iter().enumerate();
    offsets.map(|(pin, &pair)| (pins >> pin & 1) << signal(pair)).fold(0, |all, one| all | one)
}

/// The pins of a multiplexed port that show the signals.
fn gather(signals: u32, signal: fn((u8, u8)) -> u8) -> u32 {
    let offsets = PAIRS.iter().enumerate();
    offsets.map(|(pin, &pair)| (signals >> signal(pair) & 1) << pin).fold(0, |all, one| all | one)
}

/// Cycles to levels. A plain value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Driver {
    wiring: Wiring,
    clock: Option<bool>,
    /// The older cycle of a demultiplexed sample.
    older: Option<u32>,
}

impl Driver {
    /// A driver of a port that has sent nothing.
    pub const fn new(wiring: Wiring) -> Self {
        Driver { wiring, clock: None, older: None }
    }

    /// Sends `cycles`. A demultiplexed port sends two at a time; one waits.
    pub fn push(&mut self, cycles: &[Cycle], out: &mut impl Extend<Levels>) {
        if self.clock.is_none() {
            // The clock rests low before its first edge.
            self.clock = Some(false);
            out.extend([Levels::default()]);
        }
        for cycle in cycles {
            let signals = cycle.signals();
            match self.wiring.mode {
                Mode::Normal => self.edge(signals, 0, out),
                Mode::Demultiplexed => match self.older.take() {
                    Some(older) => self.edge(signals, older, out),
                    None => self.older = Some(signals),
                },
                Mode::Multiplexed => {
                    self.edge(gather(signals, |pair| pair.0), 0, out);
                    self.edge(gather(signals, |pair| pair.1), 0, out);
                }
            }
        }
    }

    /// Sends the cycle that waits, with one of Trace Disabled after it.
    pub fn finish(&mut self, out: &mut impl Extend<Levels>) {
        if self.older.is_some() {
            self.push(&[Cycle::NOTHING], out);
        }
    }

    fn edge(&mut self, a: u32, b: u32, out: &mut impl Extend<Levels>) {
        let clock = self.clock == Some(false);
        out.extend([Levels { clock, a, b }]);
        self.clock = Some(clock);
        if clock && !self.wiring.both_edges() {
            out.extend([Levels { clock: false, a, b }]);
            self.clock = Some(false);
        }
    }
}

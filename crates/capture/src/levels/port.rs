//! A port whose levels are sampled.

use tracewright_frames::cycles::Cycle;
use tracewright_frames::cycles::port::{Levels, Sampler as CycleSampler, Wiring};
use tracewright_frames::pins::{Sample, Sampler, Width};

use super::Sends;
use crate::limits::MAX_LEVELS;

/// The bit of TRACECLK in the levels.
pub(super) const CLOCK: u8 = 0;
/// The bit of TRACECTL in the levels of a port that sends bytes.
pub(super) const CONTROL: u8 = 1;
/// The bit of TRACEDATA\[0], or of the first pin of a port that sends cycles.
pub(super) const DATA: u8 = 2;
/// The bit of the first `_B` pin of a demultiplexed port.
pub(super) const OTHER: u8 = 32;

/// Samples the levels of a port.
pub(super) struct Port {
    kind: Kind,
    clock: Option<bool>,
    /// What the port sent.
    pub(super) bytes: Vec<u8>,
}

enum Kind {
    Bytes(Option<Sampler>),
    Cycles(CycleSampler, Wiring, Vec<Cycle>),
}

impl Port {
    pub(super) fn new(sends: Sends) -> Port {
        let kind = match sends {
            Sends::Bytes => Kind::Bytes(None),
            Sends::Cycles(wiring) => {
                Kind::Cycles(CycleSampler::new(wiring), wiring, Vec::with_capacity(2))
            }
        };
        Port { kind, clock: None, bytes: Vec::new() }
    }

    /// Sets the number of TRACEDATA signals.
    pub(super) fn set_width(&mut self, width: Width) {
        if let Kind::Bytes(sampler) = &mut self.kind {
            *sampler = Some(Sampler::new(width));
        }
    }

    /// Takes the levels at one moment, of which those of `unknown` are not known. The recording
    /// begins when all levels are known.
    pub(super) fn levels(&mut self, levels: u128, unknown: u128) -> Result<(), String> {
        let clock = levels >> CLOCK & 1 != 0;
        let before = self.clock;
        if unknown != 0 {
            let edge = before.is_some_and(|before| before != clock) || unknown >> CLOCK & 1 != 0;
            return match before {
                Some(_) if edge => {
                    Err("a level is unknown (x or z) at an edge of TRACECLK, after \
                                        all levels were known"
                        .to_owned())
                }
                _ => Ok(()),
            };
        }
        self.clock = Some(clock);
        match &mut self.kind {
            Kind::Bytes(sampler) => {
                if before.is_some_and(|before| before != clock)
                    && let Some(sampler) = sampler
                {
                    let control = levels >> CONTROL & 1 != 0;
                    let sample = Sample { control, data: (levels >> DATA) as u64 };
                    sampler.sample(sample, &mut self.bytes);
                }
            }
            Kind::Cycles(sampler, wiring, cycles) => {
                let mask = (1 << 20) - 1;
                let a = (levels >> DATA) as u32 & mask;
                let b = (levels >> OTHER) as u32 & mask;
                sampler.sample(Levels { clock, a, b }, cycles);
                for cycle in cycles.drain(..) {
                    self.bytes.extend(cycle.record(wiring.width));
                }
            }
        }
        if self.bytes.len() as u64 > MAX_LEVELS {
            return Err(format!("the port sends more than {MAX_LEVELS} bytes"));
        }
        Ok(())
    }
}

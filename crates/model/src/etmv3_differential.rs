//! Random streams of ETMv3 packets over small programs, given to the decoder and to the
//! [transcription](crate::etmv3_analyzer) of the architecture specification, which must agree.
//!
//! Compared are the executed instructions, one by one, with their contexts, outcomes and cycles;
//! exceptions and returns; data transfers; triggers and timestamps; and where tracing starts.
//!
//! The comparison ends before the first packet that is malformed.

mod compare;
mod program;
mod streams;

pub use compare::{Stated, compare};
pub use program::Program;
pub use streams::Streams;

use tracewright_base::{CoreType, Profile};
use tracewright_protocols::etmv3::Config;
use tracewright_protocols::registry::AnyConfig;

use crate::Random;
use crate::etmv3_analyzer::{Analysis, Unit, analyze};
use crate::harness::{self, cut, hex};
pub use crate::harness::{Differential, check};

/// A trace unit, a program, and a stream.
#[derive(Clone, Debug)]
pub struct Trial {
    /// The unit.
    pub unit: Unit,
    /// The program.
    pub program: Program,
    /// The packets, in order. The first is an A-sync.
    pub packets: Vec<Vec<u8>>,
    /// Bits before the first packet: 0 to 7.
    pub shift: u8,
}

/// Units: an ETM10RV, ETM11RV, CoreSight ETM11, ETM-R4, ETM-A8, ETM-M3, and with other options.
const IDS: [u32; 12] = [
    0x4100_2200,
    0x4100_3210,
    0x4101_3211,
    0x4101_3220,
    0x4105_3220,
    0x4104_f230,
    0x410c_f230,
    0x4110_f240,
    0x4114_f240,
    0x4104_f240,
    0x4104_f250,
    0x4114_f250,
];

impl Trial {
    /// A random trial. `damage`: some packets are changed, lost, repeated or not packets at all.
    pub fn random(random: &mut Random, damage: bool) -> Trial {
        let id = random.pick(&IDS);
        let minor = id >> 4 & 0xf;
        // The ETM of the M profile traces a 32-bit instruction as one.
        let m_profile = minor >= 4 && id >> 18 & 1 == 1 && random.chance(160);
        let data = random.pick(&[0, 0, 0b0100, 0b1000, 0b1100, 0b1100, 0b1110, 0b0010]);
        let only = minor >= 1 && data & 0b1100 != 0 && random.one_in(12);
        let control = data
            | u32::from(random.one_in(4)) << 8
            | u32::from(random.chance(128) && !only) << 12
            | random.pick(&[0, 0, 1, 2, 3]) << 14
            | u32::from(only) << 20
            | u32::from(minor >= 5 && random.chance(128)) << 30;
        let extension = random.below(4) as u32 * u32::from(minor >= 5) << 28;
        let unit = Unit { control, id, extension, m_profile };
        let program = Program::random(random, m_profile);
        let shift = if random.one_in(8) { random.between(1, 7) as u8 } else { 0 };
        let len = random.between(3, 50);
        let packets = Streams::generate(random, unit, &program, len);
        let mut trial = Trial { unit, program, packets, shift };
        if damage {
            for _ in 0..random.between(1, 3) {
                harness::damage(&mut trial.packets, random, 3);
            }
        }
        trial
    }

    /// The trial of a seed, with a legal stream.
    pub fn legal(seed: u64) -> Trial {
        Trial::random(&mut Random::new(seed), false)
    }

    /// The trial of a seed, with a damaged stream.
    pub fn damaged(seed: u64) -> Trial {
        Trial::random(&mut Random::new(seed), true)
    }

    /// The trial of a seed, with a legal stream that ends anywhere.
    pub fn cut(seed: u64) -> Trial {
        let mut random = Random::new(seed);
        let mut trial = Trial::random(&mut random, false);
        cut(&mut trial.packets, &mut random);
        trial
    }

    /// `bytes`, with bits before them.
    fn shifted(&self, bytes: &[u8]) -> Vec<u8> {
        if self.shift == 0 {
            return bytes.to_vec();
        }
        let low = 0b0101_0101 & ((1 << self.shift) - 1);
        let before = std::iter::once(low << (8 - self.shift)).chain(bytes.iter().copied());
        let after = bytes.iter().copied().chain([0]);
        before.zip(after).map(|(low, high)| low >> (8 - self.shift) | high << self.shift).collect()
    }

    /// What the analyzer finds.
    pub fn analyzed(&self) -> Analysis {
        analyze(self.unit, &self.program.memory, &self.shifted(&self.packets.concat()))
    }

    /// What the decoder finds in the bytes that the analyzer accepts. `each`: it takes each packet
    /// on its own, without the fast path.
    ///
    /// # Errors
    /// A message if a register is missing.
    pub fn decoded(&self, analyzed: &Analysis, each: bool) -> Result<Stated, String> {
        let unit = self.unit;
        let register = |name: &str| match name {
            "ETMCR" => Some(unit.control.into()),
            "ETMIDR" => Some(unit.id.into()),
            "ETMCCER" => Some(unit.extension.into()),
            _ => None,
        };
        let profile = if unit.m_profile { Profile::Microcontroller } else { Profile::Application };
        let core = CoreType { profile, version: 7 };
        let config = Config::new(Some(core), &register).map_err(|missing| missing.to_string())?;
        let config = AnyConfig::Etmv3(config);
        let mut stated = Stated::new(unit);
        let bytes = self.packets.concat();
        let first = self.packets.first().map_or(0, Vec::len);
        let bytes = self.shifted(bytes.get(..first + analyzed.len).unwrap_or_default());
        harness::decode(&config, &self.program.memory.blocks, &bytes, each, &mut stated);
        Ok(stated)
    }
}

impl Differential for Trial {
    // The A-sync.
    const NEEDED: usize = 1;

    fn packets(&mut self) -> &mut Vec<Vec<u8>> {
        &mut self.packets
    }

    fn outputs(&self) -> Result<usize, String> {
        let analyzed = self.analyzed();
        for each in [false, true] {
            let stated = self.decoded(&analyzed, each)?;
            compare(&analyzed.outputs, &stated)?;
        }
        Ok(analyzed.outputs.len())
    }

    fn report(&self) -> String {
        use std::fmt::Write;
        let mut text = String::new();
        let Unit { control, id, extension, m_profile } = self.unit;
        let _ = writeln!(
            text,
            "ETMCR={control:#x} ETMIDR={id:#x} ETMCCER={extension:#x} M={m_profile} shift={}",
            self.shift
        );
        for (start, bytes) in &self.program.memory.blocks {
            let _ = writeln!(text, "code {start:#x}: {}", hex(bytes, " "));
        }
        for packet in &self.packets {
            let _ = writeln!(text, "bytes {}", hex(packet, " "));
        }
        let analyzed = self.analyzed();
        let _ = writeln!(text, "analyzer, {} bytes", analyzed.len);
        for output in compare::normal(&analyzed.outputs) {
            let _ = writeln!(text, "  {output}");
        }
        let _ = writeln!(text, "decoder");
        match self.decoded(&analyzed, false) {
            Ok(stated) => {
                for output in compare::normal(&stated.outputs()) {
                    let _ = writeln!(text, "  {output}");
                }
                for element in &stated.texts {
                    let _ = writeln!(text, "    {element}");
                }
            }
            Err(error) => text.push_str(&error),
        }
        text
    }
}

#[cfg(test)]
mod tests;

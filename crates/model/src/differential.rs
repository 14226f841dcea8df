//! Random streams of ETMv4 and ETE packets over small programs, given to the decoder and to the
//! [transcription](crate::analyzer) of the trace analyzer, which must agree.
//!
//! Compared are the executed instructions, one by one, with their contexts and outcomes; exceptions
//! with addresses; transactions; events, timestamps and cycle counts; and where trace begins and is
//! lost. How a decoder divides instructions into ranges, and what it warns of, is not compared.
//!
//! A source address where the address is unknown has no meaning in K10.5.5.7.1. The decoder
//! continues at it, and so does the analyzer here. The unknown target of a branch is address 0 in
//! the pseudocode of K10.5.2.13: neither continues there. (See
//! [`analyze_as_decoded`](crate::analyzer::analyze_as_decoded).)
//!
//! The comparison ends at the first point where the stream is malformed (see
//! [`Malformed`](crate::analyzer::Malformed)): the specification defines no meaning from there on,
//! and a decoder reports an inconsistency. What precedes it must be equal.

mod code;
mod compare;
mod packets;
mod streams;

pub use code::Code;
pub use compare::{Stated, compare, is_legal};
pub use packets::Packets;
pub use streams::Streams;

use tracewright_protocols::etmv4::Config;
use tracewright_protocols::registry::AnyConfig;

use crate::Random;
use crate::analyzer::{self, Output, Unit};
use crate::harness::{self, cut, hex};
pub use crate::harness::{Differential, check};

/// A trace unit, a program, and a stream.
#[derive(Clone, Debug)]
pub struct Trial {
    /// The unit is an ETE.
    pub ete: bool,
    /// The registers of the unit.
    pub registers: Vec<(&'static str, u32)>,
    /// The program.
    pub code: Code,
    /// The packets, in order.
    pub packets: Vec<Vec<u8>>,
}

impl Trial {
    /// A random trial. `damage`: some packets are changed, lost, repeated or not packets at all.
    pub fn random(random: &mut Random, damage: bool) -> Trial {
        let ete = random.chance(170);
        let depth = random.pick(&[0, 0, 2, 4, 8]);
        let stack = random.chance(150);
        let counting = random.chance(128);
        let mode_1 = random.one_in(4);
        let transactions = random.chance(128);
        let q = random.chance(128);
        let waits = random.chance(64);
        let id0 = 0x0801_8ea0
            | u32::from(mode_1) << 29
            | u32::from(ete && transactions) << 30
            | u32::from(stack) << 9;
        let vmid = if random.chance(128) { 4 } else { 0 };
        let cid = if ete || random.chance(128) { 4 } else { 0 };
        let configuration = 0x0800
            | u32::from(counting) << 4
            | u32::from(cid > 0) << 6
            | u32::from(vmid > 0) << 7
            | u32::from(stack) << 12
            | u32::from(q) * 0x6000
            | 1;
        let registers = vec![
            ("TRCCONFIGR", configuration),
            ("TRCTRACEIDR", 0x10),
            ("TRCIDR0", id0),
            ("TRCIDR1", 0x4100_f463),
            ("TRCIDR2", 0x8 | cid << 5 | vmid << 10 | u32::from(waits) << 31),
            ("TRCIDR8", depth),
            ("TRCDEVARCH", 0x4770_5a13),
        ];
        let code = Code::random(random, waits);
        let mut trial = Trial { ete, registers, code, packets: Vec::new() };
        let unit = trial.unit();
        let len = random.between(4, 60);
        trial.packets = Streams::generate(random, unit, &trial.code, counting, q, len);
        if damage {
            for _ in 0..random.between(1, 3) {
                harness::damage(&mut trial.packets, random, 4);
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

    /// The trial of a seed, with a legal stream that begins at one of its alignment
    /// synchronisations and ends anywhere.
    pub fn cut(seed: u64) -> Trial {
        let mut random = Random::new(seed);
        let mut trial = Trial::random(&mut random, false);
        let is_sync = |packet: &[u8]| packet.len() > 11 && packet.iter().all(|b| b & 0x7f == 0);
        let syncs = trial.packets.iter().enumerate().filter(|(_, packet)| is_sync(packet));
        let syncs: Vec<usize> = syncs.map(|(n, _)| n).collect();
        trial.packets.drain(..random.pick(&syncs));
        cut(&mut trial.packets, &mut random);
        trial
    }

    /// The trial of a seed. One in four has a damaged stream.
    pub fn of_seed(seed: u64) -> Trial {
        let mut random = Random::new(seed);
        let damage = random.one_in(4);
        Trial::random(&mut random, damage)
    }

    fn register(&self, name: &str) -> Option<u32> {
        self.registers.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
    }

    /// The unit as the analyzer knows it.
    pub fn unit(&self) -> Unit {
        Unit::read(self.ete, &|name| self.register(name).unwrap_or(0))
    }

    /// The stream.
    pub fn bytes(&self) -> Vec<u8> {
        self.packets.concat()
    }

    /// What the analyzer finds, with the choices of the decoder.
    pub fn analyzed(&self) -> Vec<Output> {
        analyzer::analyze_as_decoded(&self.unit(), &self.code.memory, &self.bytes())
    }

    /// What the decoder finds. `each`: it takes each packet on its own, without the fast path.
    ///
    /// # Errors
    /// A message if a register is missing.
    pub fn decoded(&self, each: bool) -> Result<Stated, String> {
        let register = |name: &str| self.register(name).map(u64::from);
        let config = match self.ete {
            true => Config::ete(None, &register).map(AnyConfig::Ete),
            false => Config::etmv4(None, &register).map(AnyConfig::Etmv4),
        };
        let config = config.map_err(|missing| missing.to_string())?;
        let mut stated = Stated::new(&self.code.memory);
        harness::decode(&config, &self.code.memory.blocks, &self.bytes(), each, &mut stated);
        stated.finish();
        Ok(stated)
    }

    /// Compares the two.
    ///
    /// # Errors
    /// The first difference.
    pub fn compare(&self) -> Result<Vec<Output>, String> {
        let analyzed = self.analyzed();
        for each in [false, true] {
            let stated = self.decoded(each)?;
            compare(self, &analyzed, &stated.out)?;
        }
        Ok(analyzed)
    }
}

impl Differential for Trial {
    const NEEDED: usize = 0;

    fn packets(&mut self) -> &mut Vec<Vec<u8>> {
        &mut self.packets
    }

    fn outputs(&self) -> Result<usize, String> {
        self.compare().map(|analyzed| analyzed.len())
    }

    fn report(&self) -> String {
        let mut text = String::new();
        let mut line = |one: String| {
            text.push_str(&one);
            text.push('\n');
        };
        line(format!("protocol {}", if self.ete { "ETE" } else { "ETM4" }));
        for (name, value) in &self.registers {
            line(format!("config {name}={value:#x}"));
        }
        for ((start, bytes), isa) in self.code.memory.blocks.iter().zip(["A64", "A32", "T32"]) {
            let words: Vec<String> = match isa {
                "T32" => bytes
                    .chunks(2)
                    .map(|b| hex(&b.iter().rev().copied().collect::<Vec<_>>(), ""))
                    .collect(),
                _ => bytes
                    .chunks(4)
                    .map(|b| hex(&b.iter().rev().copied().collect::<Vec<_>>(), ""))
                    .collect(),
            };
            line(format!("code {start:#x} {isa}: {}", words.join(" ")));
        }
        for packet in &self.packets {
            line(format!("bytes {}", hex(packet, " ")));
        }
        line(String::from("analyzer"));
        for (n, output) in self.analyzed().iter().enumerate() {
            line(format!("  {n:3} {output}"));
        }
        line(String::from("decoder"));
        match self.decoded(false) {
            Ok(stated) => {
                for (n, output) in stated.out.iter().enumerate() {
                    line(format!("  {n:3} {output}"));
                }
                line(String::from("elements"));
                for element in &stated.texts {
                    line(format!("  {element}"));
                }
            }
            Err(error) => line(error),
        }
        text
    }
}

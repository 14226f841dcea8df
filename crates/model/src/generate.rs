//! Random programs: functions with branches, loops, calls of every kind, returns, exception
//! handlers, transactions. A program never ends, and all its branches lead to code.

mod body;
mod code;

use std::sync::Arc;

use tracewright_base::Isa;
use tracewright_image::{Image, Region};

use self::body::{Body, Place};
use self::code::Code;
use crate::Random;
use crate::program::Program;

/// The parameters of a random program.
#[derive(Clone, Copy, Debug)]
pub struct Recipe {
    /// Seed of all random choices.
    pub seed: u64,
    /// The instruction sets of the program.
    pub isa: Sets,
    /// Number of functions, apart from the main function.
    pub functions: usize,
    /// Whether functions are distributed over the address space.
    pub far: bool,
    /// Whether there are transactions (A64).
    pub transactions: bool,
    /// Whether there are WFI and WFE.
    pub waits: bool,
    /// Whether there are SVC, UDF, and loads that fault.
    pub exceptions: bool,
}

/// Combinations of instruction sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sets {
    /// A64.
    A64,
    /// A32.
    A32,
    /// T32.
    T32,
    /// A32 and T32, with calls between them.
    Both,
}

impl Default for Recipe {
    fn default() -> Self {
        Recipe {
            seed: 1,
            isa: Sets::A64,
            functions: 8,
            far: false,
            transactions: false,
            waits: true,
            exceptions: true,
        }
    }
}

/// Number of functions for handlers, which cause no exceptions.
const SAFE: usize = 2;

/// The program of `recipe`.
pub fn program(recipe: &Recipe) -> Program {
    let mut random = Random::new(recipe.seed);
    let count = 1 + recipe.functions.max(1) + SAFE;
    let isas: Vec<Isa> = (0..count + 1)
        .map(|_| match recipe.isa {
            Sets::A64 => Isa::A64,
            Sets::A32 => Isa::A32,
            Sets::T32 => Isa::T32,
            Sets::Both => random.pick(&[Isa::A32, Isa::T32]),
        })
        .collect();
    // Main, functions, functions for handlers, the handler.
    let codes: Vec<Code> = (0..count + 1)
        .map(|k| {
            let place = match k {
                0 => Place::Main,
                k if k == count => Place::Handler,
                k if k >= count - SAFE => Place::Safe,
                _ => Place::Function,
            };
            let callees = match place {
                Place::Main | Place::Function => k + 1..count,
                Place::Safe => 0..0,
                Place::Handler => count - SAFE..count,
            };
            Body::new(recipe, &mut random, isas[k], place, callees).write()
        })
        .collect();
    let addresses = layout(recipe, &mut random, &codes);
    let ends: Vec<(u64, Isa)> = addresses.iter().copied().zip(isas.iter().copied()).collect();
    let mut regions: Vec<Region> = codes
        .iter()
        .zip(&ends)
        .enumerate()
        .map(|(k, (code, &(at, _)))| Region::new(format!("function {k}"), at, code.link(at, &ends)))
        .collect();
    let handler = ends[count];
    let vectors = handler.0 & !0xffff | 0xf000;
    for n in 0..4 {
        let at = vectors + n * Program::VECTOR;
        let mut code = Code::new(handler.1);
        code.jump_to_function(count);
        regions.push(Region::new(format!("vector {n}"), at, code.link(at, &ends)));
    }
    Program {
        image: Arc::new(Image::new(regions)),
        entry: ends[0].0,
        isa: ends[0].1,
        ram: (0x40_0000, 0x4000),
        vectors,
        vector_isa: handler.1,
    }
}

/// The address of each function.
fn layout(recipe: &Recipe, random: &mut Random, codes: &[Code]) -> Vec<u64> {
    const BASES_64: [u64; 4] = [0x8_0000, 0x7f_1234_0000, 0xffff_8000_1000_0000, 0x1_0000_0000];
    const BASES_32: [u64; 4] = [0x8_0000, 0x1000_0000, 0xc000_0000, 0xffff_0000];
    let bases = if recipe.isa == Sets::A64 { BASES_64 } else { BASES_32 };
    let mut cursors = bases;
    let near = random.below(3) as usize;
    codes
        .iter()
        .map(|code| {
            let base = if recipe.far { random.below(3) as usize } else { near };
            let gap = match random.below(8) {
                0 => random.below(0x4000),
                1 => 0x100,
                _ => 0,
            };
            let at = (cursors[base] + gap + 3) & !3;
            // Vectors are in the last 4 KiB of the 64 KiB that the handler is in.
            let at = if at & 0xffff > 0xc000 { (at | 0xffff) + 1 } else { at };
            cursors[base] = at + code.len() as u64;
            at
        })
        .collect()
}

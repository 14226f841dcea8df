//! Trials: a random program, random external events and a random configuration of a trace unit,
//! from one seed. [`Way::round_trip`] must find no difference in any trial.

use tracewright_base::{CoreType, Profile, Step};
use tracewright_protocols::registry::AnyProtocol;

use crate::Random;
use crate::generate::{self, Recipe, Sets};
use crate::machine::{Machine, Stimulus};
use crate::program::Program;
use crate::round_trip::RoundTrip;
use crate::round_trip::Way;

/// One trial of an ETMv4 or an ETE.
#[derive(Clone, Debug)]
pub struct Trial {
    /// The parameters of the program.
    pub recipe: Recipe,
    /// External events.
    pub stimulus: Stimulus,
    /// The trace unit.
    pub way: Way,
    /// Number of instructions.
    pub instructions: usize,
}

impl Trial {
    /// The trial of `seed`.
    pub fn new(seed: u64) -> Trial {
        let mut random = Random::new(seed);
        let protocol = random.pick(&[AnyProtocol::Etmv4, AnyProtocol::Ete]);
        let ete = protocol == AnyProtocol::Ete;
        let isa = random.pick(&[Sets::A64, Sets::A64, Sets::A32, Sets::T32, Sets::Both]);
        let recipe = Recipe {
            seed: random.next(),
            isa,
            functions: 1 + random.below(12) as usize,
            far: random.one_in(3),
            transactions: ete && random.one_in(2),
            waits: random.one_in(2),
            exceptions: !random.one_in(3),
        };
        let registers = registers(&mut random, ete, isa);
        let rate = |random: &mut Random, often: u64| match random.below(3) {
            0 => 0,
            _ => (often + random.below(often * 8)) as u32,
        };
        let stimulus = Stimulus {
            seed: random.next(),
            interrupts: rate(&mut random, 20),
            faults: rate(&mut random, 50),
            resets: rate(&mut random, 300),
            halts: rate(&mut random, 300),
            switches: rate(&mut random, 2),
            timestamps: rate(&mut random, 20),
            events: rate(&mut random, 20),
            instrumentation: rate(&mut random, 40),
            pauses: if random.one_in(4) { rate(&mut random, 50) } else { 0 },
            overflows: if random.one_in(4) { rate(&mut random, 100) } else { 0 },
            failures: 2 + random.below(20) as u32,
            cycles: random.one_in(2),
            accesses: random.one_in(4),
            // The effect of a filter on a cancelled instruction is implementation defined.
            cancels: random.one_in(2)
                && !registers.iter().any(|(name, _)| name.starts_with("TRCVI")),
        };
        // The M profile has T32 alone; a return from an exception is any branch.
        let microcontroller = isa == Sets::T32 && !ete && random.one_in(2);
        let profile = if microcontroller { Profile::Microcontroller } else { Profile::Application };
        let core = Some(CoreType { profile, version: 8 });
        let instructions = 50 + random.below(1500) as usize;
        Trial { recipe, stimulus, way: Way { protocol, core, registers }, instructions }
    }

    /// The program, and the steps of its execution.
    pub fn steps(&self) -> (Program, Vec<Step>) {
        let program = generate::program(&self.recipe);
        let steps = Machine::new(&program, self.stimulus).collect(self.instructions);
        (program, steps)
    }

    /// Encodes and decodes the steps, and compares the result.
    ///
    /// # Errors
    /// A description of the first difference.
    pub fn run(&self) -> Result<RoundTrip, String> {
        let (program, steps) = self.steps();
        self.way.round_trip(&program.image, &steps)
    }
}

/// Registers and settings.
fn registers(random: &mut Random, ete: bool, isa: Sets) -> Vec<(&'static str, u64)> {
    let mut registers = Vec::new();
    let one = |random: &mut Random, n: u32| u64::from(random.one_in(n.into()));
    // Implementation options.
    let commit_mode_1 = random.below(2);
    let q_support = random.below(4);
    let transaction_start_is_not_p0 = random.below(2);
    let timestamp_size = random.pick(&[0b0_0110, 0b0_1000]);
    let marker = one(random, 3);
    registers.push((
        "TRCIDR0",
        0xea1
            | q_support << 15
            | marker << 23
            | timestamp_size << 24
            | commit_mode_1 << 29
            | transaction_start_is_not_p0 << 30,
    ));
    let vmid_size = random.pick(&[0, 1, 2, 4]);
    let id_size = random.pick(&[0, 4]);
    let addresses = if isa == Sets::A64 { 8 } else { random.pick(&[4, 8]) };
    let wait_is_p0 = random.below(2);
    let counter_size = random.below(9);
    registers.push((
        "TRCIDR2",
        addresses | id_size << 5 | vmid_size << 10 | counter_size << 25 | wait_is_p0 << 31,
    ));
    let speculation = random.pick(&[0, 0, 1, 2, 3, 8, 40, 200]);
    registers.push(("TRCIDR8", speculation));
    if ete {
        registers.push(("TRCDEVARCH", 0x4770_5a13 | random.below(4) << 16));
    } else {
        registers.push(("TRCIDR1", 0x4100_f403 | random.below(7) << 4));
    }
    // What is traced: BB, CCI, CID, VMID, TS, RS, QE, ITO.
    let mut configuration = 1 | one(random, 6) << 3 | one(random, 2) << 4;
    configuration |= random.below(4) << 6 | random.below(4) << 11 | random.pick(&[0, 1, 3]) << 13;
    registers.push(("TRCCONFIGR", configuration | one(random, 2) << 18));
    // Programmable options.
    registers.push(("TRCSYNCPR", random.pick(&[0, 4, 6, 8, 12])));
    registers.push(("TRCCCCTLR", random.pick(&[0, 1, 4, 16, 100])));
    registers.push(("TRCEVENTCTL1R", random.pick(&[0xf, 0xf, 5])));
    registers.push(("return-stack-depth", random.below(16)));
    registers.push(("seed", random.next()));
    if random.one_in(3) {
        filter(random, isa, &mut registers);
    }
    for (name, rate) in [("speculation", 3), ("q-elements", 3), ("source-addresses", 3)] {
        if random.one_in(rate) {
            registers.push((name, random.pick(&[10, 60, 255])));
        }
    }
    for (name, values) in [
        ("commit-batch", [0, 0, 1, 5]),
        ("late-address", [0, 0, 1, 7]),
        ("shared-address", [1, 1, 1, 0]),
        ("discard-at-end", [0, 0, 0, 1]),
        ("late-mispredicts", [0, 1, 0, 1]),
    ] {
        registers.push((name, random.pick(&values)));
    }
    if random.one_in(6) {
        registers.push(("fifo", 40 + random.below(100)));
        registers.push(("fifo-drain", 1 + random.below(40)));
    }
    registers
}

/// Address ranges and exception levels.
fn filter(random: &mut Random, isa: Sets, registers: &mut Vec<(&'static str, u64)>) {
    if random.one_in(3) {
        // Not at EL1, or not at EL0.
        registers.push(("TRCVICTLR", random.pick(&[1 << 21, 1 << 20])));
    }
    let base: u64 = match (isa, random.below(3)) {
        (_, 0) => 0x8_0000,
        (Sets::A64, 1) => 0x7f_1234_0000,
        (Sets::A64, _) => 0xffff_8000_1000_0000,
        (_, 1) => 0x1000_0000,
        _ => 0xc000_0000,
    };
    let first = base + random.below(0x300) * 4;
    registers.push(("TRCACVR0", first));
    registers.push(("TRCACVR1", first + 3 + random.below(0x400) * 4));
    registers.push(("TRCVIIECTLR", random.pick(&[1, 1 << 16])));
    if random.one_in(2) {
        registers.push(("TRCBBCTLR", 0x101));
    }
}

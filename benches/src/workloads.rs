//! The workloads.

use tracewright_model::Random;

use crate::{Op, Program, Taken};

/// Address of the programs: in the upper half of the address space, so that addresses are long.
const ADDRESS: u64 = 0xffff_8000_1008_0000;

/// A program to trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workload {
    /// A loop of one block, 99 times, in a loop of two blocks: nearly all atoms are E.
    Loop,
    /// Functions with calls 6 levels deep. Returns hit the return stack; one call in eight is
    /// indirect.
    Calls,
    /// 8 MB of functions with equal probability.
    Large,
    /// Unpredictable branches and jump tables in 28 KB of code.
    Branchy,
}

impl Workload {
    /// All workloads.
    pub const ALL: [Workload; 4] =
        [Workload::Loop, Workload::Calls, Workload::Large, Workload::Branchy];

    /// The name of the workload.
    pub const fn name(self) -> &'static str {
        match self {
            Workload::Loop => "loop",
            Workload::Calls => "calls",
            Workload::Large => "large",
            Workload::Branchy => "branchy",
        }
    }

    /// The workload called `name`.
    pub fn named(name: &str) -> Option<Self> {
        Workload::ALL.into_iter().find(|workload| workload.name() == name)
    }

    /// The program.
    pub fn program(self) -> Program {
        match self {
            Workload::Loop => tight(),
            Workload::Calls => functions(&[8, 16, 32, 64, 128, 256], 4, &mut Random::from_state(1)),
            Workload::Large => functions(&[8192, 8192, 8192, 8192], 12, &mut Random::from_state(2)),
            Workload::Branchy => branchy(&mut Random::from_state(3)),
        }
    }
}

fn tight() -> Program {
    let mut program = Program { address: ADDRESS, ops: Vec::new() };
    program.plain(6);
    let inner = program.ops.len();
    program.plain(3);
    program.op(Op::Conditional(inner, Taken::Times(98)));
    program.plain(2);
    program.op(Op::Jump(0));
    program
}

/// A program with levels of functions, of `levels[n]` functions each. Functions of one level call
/// those of the next. A function has `parts` parts of a few instructions, with a branch over some
/// of them, and a short loop or a call in some parts. The program calls functions of the first
/// level indirectly.
fn functions(levels: &[usize], parts: usize, random: &mut Random) -> Program {
    let mut program = Program { address: ADDRESS, ops: Vec::new() };
    let main = program.op(Op::CallOneOf(Vec::new()));
    program.plain(3);
    program.op(Op::Jump(main));
    // Callees come first, so that their indexes are known.
    let mut callees: Vec<usize> = Vec::new();
    for &count in levels.iter().rev() {
        let made: Vec<usize> =
            (0..count).map(|_| function(&mut program, &callees, parts, random)).collect();
        callees = made;
    }
    if let Some(op) = program.ops.get_mut(main) {
        *op = Op::CallOneOf(callees);
    }
    program
}

/// Adds a function and returns its index.
fn function(program: &mut Program, callees: &[usize], parts: usize, random: &mut Random) -> usize {
    let start = program.ops.len();
    let mut calls = 0;
    program.plain(random.between(1, 3));
    for _ in 0..parts {
        // A branch over the part.
        let over = program.op(Op::Plain);
        let begin = program.ops.len();
        program.plain(random.between(1, 6));
        // At most two calls, or each execution would run the whole tree.
        if !callees.is_empty() && calls < 2 && random.chance(128) {
            calls += 1;
            if random.chance(32) {
                let some = (0..8).map(|_| random.pick(callees)).collect();
                program.op(Op::CallOneOf(some));
            } else {
                program.op(Op::Call(random.pick(callees)));
            }
            program.plain(random.between(1, 3));
        } else if random.chance(40) {
            program.op(Op::Conditional(begin, Taken::Times(random.between(1, 6) as u32)));
        }
        let likely = random.pick(&[16, 64, 128, 230]);
        program.ops[over] = Op::Conditional(program.ops.len(), Taken::Often(likely));
    }
    program.plain(random.between(1, 3));
    program.op(Op::Return);
    start
}

fn branchy(random: &mut Random) -> Program {
    const BLOCKS: usize = 1600;
    let mut program = Program { address: ADDRESS, ops: Vec::new() };
    let mut starts = Vec::new();
    let mut ends = Vec::new();
    for _ in 0..BLOCKS {
        starts.push(program.ops.len());
        program.plain(random.between(0, 7));
        ends.push(program.op(Op::Plain));
    }
    program.op(Op::Jump(0));
    for end in ends {
        let near = |random: &mut Random| random.pick(&starts);
        program.ops[end] = match random.below(16) {
            0 => Op::JumpOneOf((0..8).map(|_| near(random)).collect()),
            1 => Op::Jump(near(random)),
            _ => Op::Conditional(near(random), Taken::Often(random.between(64, 192) as u8)),
        };
    }
    program
}

#[cfg(test)]
mod tests {
    use tracewright::Listener;
    use tracewright::base::Element;
    use tracewright::decode::{Memory, Options, Plan, Session, Tally};

    use super::*;
    use crate::{capture, trace};

    /// The sum of the addresses of branches.
    #[derive(Default)]
    struct Branches(u64);

    impl Listener for Branches {
        fn element(&mut self, _: usize, _: u64, element: Element) {
            if let Element::Range(range) = element {
                self.0 = self.0.wrapping_add(range.last_address());
            }
        }
    }

    /// The decoder finds every branch of every workload.
    #[test]
    fn programs_decode_to_what_ran() {
        const BYTES: usize = 1 << 16;
        for workload in Workload::ALL {
            let capture = capture::made(workload, BYTES).unwrap();
            let traced = trace(&workload.program(), capture::SEED, BYTES / 16 * 15).unwrap();
            let options = Options::default();
            let plan = Plan::new(&capture, 0, &options).unwrap();
            let memory = Memory::new(&capture);
            let mut seen = (Tally::default(), Branches::default());
            Session::new(&capture, &plan, &memory, &options)
                .unwrap()
                .run(plan.parts(&capture), &mut seen);
            let (name, counts) = (workload.name(), seen.0.of(0));
            assert!(!seen.0.flawed(), "{name}: {counts:?}");
            assert_eq!(counts.ranges, traced.branches, "{name}");
            assert_eq!(counts.instructions, traced.instructions, "{name}");
            assert_eq!(seen.1.0, traced.addresses, "{name}");
            assert!(counts.syncs >= 10, "{name}: {} places to start at", counts.syncs);
        }
    }

    #[test]
    fn workloads_have_the_documented_size() {
        let size = |workload: Workload| workload.program().code().unwrap().len();
        assert!(size(Workload::Loop) < 100);
        assert!((20_000..40_000).contains(&size(Workload::Branchy)));
        assert!((40_000..80_000).contains(&size(Workload::Calls)));
        assert!((8_000_000..10_000_000).contains(&size(Workload::Large)));
    }
}
